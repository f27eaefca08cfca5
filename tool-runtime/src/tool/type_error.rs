//! Errors of a parameter's type: the place of the refused value, and serde's words as an expectation in JSON's words.
//!
//! An error of serde is only a text. The text of another library or of the application stays as it is, apart from a few of
//! std, chrono and url that name no expectation.

use std::{borrow::Cow, ops::Range};

use serde_json::{Error, value::RawValue};

use crate::feedback::{Problem, ProblemKind};
use tool_schema::feedback::{excerpt, quote_name, quote_names, suggest, summarize};
use tool_schema::json::text;
use tool_schema::schema::pointer::join;

/// The maximum number of characters of a type's own error message that are reported: the message may contain the value.
const MAX_MESSAGE_CHARACTERS: usize = 300;

/// Returns the problem in `error`, with which `read` refused the JSON value `json` at `path`.
pub fn explain(path: &str, json: &str, error: &Error, read: &mut dyn FnMut(&str) -> Option<Error>) -> Problem {
    let message = message_of(error);
    let place = find_place(json, error, &message, read);
    let path = format!("{path}{}", place.pointer);
    let mut problem = describe(&path, &message);
    match (problem.kind, place.key) {
        (ProblemKind::Missing | ProblemKind::Unknown | ProblemKind::Duplicate, _) | (ProblemKind::Message, None) => {}
        (kind, Some(key)) => {
            problem.path = join(&path, &key);
            if kind != ProblemKind::Message {
                problem.kind = ProblemKind::Unknown;
                problem.expected = format!("names that are each {}", problem.expected);
            }
        }
        (_, None) => problem.got = Some(summarize_json(&json[place.range])),
    }
    problem
}

/// Returns a JSON value as a short phrase, and a number with all its digits.
pub fn summarize_json(json: &str) -> String {
    match serde_json::from_str(json) {
        Ok(serde_json::Value::Number(_)) | Err(_) => excerpt(json.trim(), MAX_MESSAGE_CHARACTERS),
        Ok(value) => summarize(&value),
    }
}

/// Returns the message of an error without its place in the text.
fn message_of(error: &Error) -> String {
    let message = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    message.strip_suffix(&place).map(str::to_owned).unwrap_or(message)
}

/// A value inside of a JSON text, or one of its keys.
struct Place {
    /// The JSON Pointer of the value.
    pointer: String,
    range: Range<usize>,
    /// The key of the value that was read last, if no value followed.
    key: Option<String>,
}

/// Returns the place of the value that `read` refused with `error`.
///
/// The error has the position up to which the text was read. Several values may end there, such as a list and its last item. So
/// the innermost one counts at whose end a shortened text is refused with the same message.
fn find_place(json: &str, error: &Error, message: &str, read: &mut dyn FnMut(&str) -> Option<Error>) -> Place {
    let mut places = places_at(json, offset_of(json, error).unwrap_or(0));
    while places.len() > 1 {
        let end = places.last().map_or(0, |place| place.range.end);
        if read(&json[..end]).is_some_and(|again| message_of(&again) == message) {
            break;
        }
        places.pop();
    }
    places.pop().unwrap_or(Place { pointer: String::new(), range: 0..json.len(), key: None })
}

/// Returns the number of bytes of `json` that were read before the error, or `None` if the error does not have it.
fn offset_of(json: &str, error: &Error) -> Option<usize> {
    let line = error.line().checked_sub(1)?;
    let start: usize = json.split_inclusive('\n').take(line).map(str::len).sum();
    Some(json.len().min(start + error.column()))
}

/// Returns the values that had begun when the first `offset` bytes of `json` were read: the last one at each depth, outermost first.
fn places_at(json: &str, offset: usize) -> Vec<Place> {
    let at = |part: &str| part.as_ptr().addr() - json.as_ptr().addr();
    let mut places = vec![Place { pointer: String::new(), range: 0..json.len(), key: None }];
    while let Some(place) = places.last_mut() {
        let part = json[place.range.clone()].trim_ascii_start();
        let next = if part.starts_with('{') {
            let mut last: Option<(Cow<'_, str>, &str)> = None;
            for (name, value) in text::raw_entries(part) {
                if at(value) >= offset {
                    let before = last.as_ref().map_or(at(part), |(_, value)| at(value) + value.len());
                    // The key was read, and its value was not.
                    let read = &json.as_bytes()[before..offset.max(before)];
                    place.key = read.contains(&b'"').then(|| name.into_owned());
                    break;
                }
                last = Some((name, value));
            }
            last.map(|(name, value)| (join(&place.pointer, &name), value))
        } else if part.starts_with('[') {
            let items: Vec<&RawValue> = serde_json::from_str(part).unwrap_or_default();
            let begun = items.iter().map(|item| item.get()).take_while(|item| at(item) < offset);
            begun.enumerate().last().map(|(index, item)| (format!("{}/{index}", place.pointer), item))
        } else {
            None
        };
        let Some((pointer, value)) = next else { break };
        places.push(Place { pointer, range: at(value)..at(value) + value.len(), key: None });
    }
    places
}

/// Returns the problem that `message` describes with the value at `path`.
fn describe(path: &str, message: &str) -> Problem {
    let of_value = |kind, expected: &str| Problem::new(path, kind, excerpt(expected, MAX_MESSAGE_CHARACTERS));
    if let Some(expected) = known_message(message) {
        return of_value(ProblemKind::Invalid, expected);
    }
    if let Some((kind, expected)) = misfit(message) {
        return match known_message(expected) {
            Some(known) => of_value(kind, known),
            // `url` gives its error in place of an expectation.
            None if expected.starts_with("invalid ") => of_value(kind, &format!("another value: {expected}")),
            None => of_value(kind, &in_words_of_json(expected)),
        };
    }
    if let Some((name, known)) = unknown(message, "unknown variant `") {
        return of_value(ProblemKind::NotAllowed, &one_of(&known)).suggest(nearest(name, &known));
    }
    if let Some((name, known)) = unknown(message, "unknown field `") {
        return Problem::new(join(path, name), ProblemKind::Unknown, one_of(&known)).suggest(nearest(name, &known));
    }
    if let Some(name) = quoted(message, "missing field `") {
        return Problem::new(join(path, name), ProblemKind::Missing, "a value");
    }
    if let Some(name) = quoted(message, "duplicate field `") {
        return Problem::new(join(path, name), ProblemKind::Duplicate, "one value for each name");
    }
    if message.trim().is_empty() {
        return of_value(
            ProblemKind::Invalid,
            "another value: the type of the parameter refuses this one without a reason",
        );
    }
    of_value(ProblemKind::Message, message)
}

/// Returns the expectation in serde's error about a type, a value or a length. Returns `None` for another error, also for one that
/// only begins like it: serde names the given value in one of a few ways.
fn misfit(message: &str) -> Option<(ProblemKind, &str)> {
    if let Some(rest) = message.strip_prefix("invalid length ") {
        let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        return Some((ProblemKind::WrongLength, rest.strip_prefix(", expected ")?));
    }
    let (kind, rest) = match message.strip_prefix("invalid type: ") {
        Some(rest) => (ProblemKind::WrongType, rest),
        None => (ProblemKind::Invalid, message.strip_prefix("invalid value: ")?),
    };
    Some((kind, skip_unexpected(rest)?.strip_prefix(", expected ")?))
}

/// Returns the text behind the beginning that `serde::de::Unexpected` writes.
fn skip_unexpected(unexpected: &str) -> Option<&str> {
    const PLAIN: [&str; 13] = [
        "null",
        "unit value",
        "Option value",
        "newtype struct",
        "newtype variant",
        "sequence",
        "map",
        "enum",
        "unit variant",
        "tuple variant",
        "struct variant",
        "byte array",
        "unit struct",
    ];
    const QUOTED: [&str; 4] = ["boolean `", "integer `", "floating point `", "character `"];
    if let Some(rest) = unexpected.strip_prefix("string \"") {
        return Some(&rest[text::end_of_text(rest)?..]);
    }
    if let Some(rest) = QUOTED.iter().find_map(|word| unexpected.strip_prefix(word)) {
        // A character may be a backtick itself.
        let first = rest.chars().next()?.len_utf8();
        return Some(&rest[first + rest[first..].find('`')? + 1..]);
    }
    PLAIN.iter().find_map(|word| unexpected.strip_prefix(word).filter(|rest| rest.starts_with(", expected ")))
}

/// Returns the unknown name in a message, and the known ones. They follow "expected", or there are none.
fn unknown<'m>(message: &'m str, beginning: &str) -> Option<(&'m str, Vec<&'m str>)> {
    let rest = message.strip_prefix(beginning)?;
    if let Some((name, _)) = rest.rsplit_once("`, there are no ") {
        return Some((name, Vec::new()));
    }
    let (name, known) = rest.rsplit_once("`, expected ")?;
    let is_list = known.starts_with('`') || known.starts_with("one of `");
    is_list.then(|| (name, known.split('`').skip(1).step_by(2).collect()))
}

fn quoted<'m>(message: &'m str, beginning: &str) -> Option<&'m str> {
    message.strip_prefix(beginning)?.strip_suffix('`')
}

fn nearest(name: &str, known: &[&str]) -> Option<String> {
    // Whole, unlike `quote_name`: a suggestion is never shortened.
    suggest::nearest(name, known.iter().copied()).map(|near| format!("`{near}`"))
}

fn one_of(names: &[&str]) -> String {
    match names {
        [] => "no names".to_owned(),
        [only] => quote_name(only),
        names => format!("one of {}", quote_names(names.iter().copied(), "or")),
    }
}

/// Returns the expectation behind a message that names none: of serde, `serde_with`, std, chrono, url or ipnet.
fn known_message(message: &str) -> Option<&'static str> {
    if message.starts_with("data did not match any variant of untagged enum ")
        || message.starts_with("PickFirst could not deserialize any variant")
    {
        return Some("a value in one of the forms that the schema lists");
    }
    if message.starts_with("OneOrMany could not deserialize any variant") {
        return Some("one item, or a list of items");
    }
    if message.starts_with("no variant of enum ") && message.ends_with(" found in flattened data") {
        return Some("an object with the name of an alternative");
    }
    if message.starts_with("can only flatten structs and maps") {
        return Some("an object");
    }
    Some(match message {
        "number out of range" => "a number nearer to zero",
        "invalid number" => "a number that fits 64 bits",
        "u128 is not supported" | "i128 is not supported" => "a whole number that fits 64 bits",
        "premature end of input" | "input is not enough for unique date and time" => {
            "a complete date or time: this one ends too early"
        }
        "trailing input" => "a date or time with nothing behind it",
        "input contains invalid characters" => "a date or time in the form that the schema describes",
        "input is out of range" | "no possible date and time matching input" => "a date and time that exists",
        "invalid IP address syntax" => "an IP address",
        "invalid IPv4 address syntax" | "invalid IPv4 address" => "an IPv4 address",
        "invalid IPv6 address syntax" | "invalid IPv6 address" => "an IPv6 address",
        "invalid socket address syntax" | "invalid IPv4 socket address syntax" => {
            "an IP address and a port, such as 192.0.2.1:80"
        }
        "invalid IPv6 socket address syntax" => "an IPv6 address and a port, such as [2001:db8::1]:80",
        "cannot parse integer from empty string" | "invalid digit found in string" => "a whole number in quotes",
        "number too large to fit in target type" => "a smaller number",
        "number too small to fit in target type" => "a larger number",
        "number would be zero for non-zero type" => "a number other than 0",
        "invalid float literal"
        | "cannot parse float from empty string"
        | "invalid value: expected key to be a number in quotes" => "a number in quotes",
        "provided string was not `true` or `false`" => "\"true\" or \"false\"",
        "too many characters in string" | "cannot parse char from empty string" => "a string of exactly 1 character",
        "out of range integral type conversion attempted" => "a number that fits the type of the parameter",
        "overflow deserializing Duration" | "TimeDelta out of bounds" => "a duration that is less long",
        "overflow deserializing SystemTime epoch offset" => "a time that is less far away",
        "empty host" => "a URL with a host",
        "relative URL without a base" => "a URL with its scheme, such as https://example.com/",
        "invalid port number" => "a URL whose port is a number up to 65535",
        "invalid international domain name" | "invalid domain character" => "a URL with a valid host name",
        _ => return None,
    })
}

/// Returns an expectation of serde in JSON's words. Other words stay.
fn in_words_of_json(expected: &str) -> String {
    let known = match expected {
        "a boolean" | "bool" => "true or false",
        "unit" => "null",
        "option" => "a value or null",
        "f32" | "f64" => "a number",
        "integer with support for saturating semantics" => "a whole number",
        "a character" => "a string of exactly 1 character",
        "a borrowed string" | "path string" | "a borrowed path" | "os string" => "a string",
        "byte array" | "a byte array" | "a borrowed byte array" => "a list of whole numbers from 0 to 255",
        "a map" | "map" => "an object",
        "map with a single key" => "an object with one name",
        "string or map" => "a string or an object",
        "a sequence" => "a list",
        "an empty array" => "an empty list",
        "unit variant" => "the name of the alternative alone",
        "newtype variant" | "tuple variant" | "struct variant" => "an object with this name and its content",
        "a Decimal type representing a fixed-point number" => "a decimal number",
        "variant identifier" => "the name of an alternative",
        "field identifier" => "a name",
        _ => "",
    };
    if !known.is_empty() {
        return known.to_owned();
    }
    if let Some(number) = expected.strip_prefix("a nonzero ").and_then(whole_number) {
        return format!("{number} other than 0");
    }
    whole_number(expected).or_else(|| container(expected)).unwrap_or_else(|| expected.to_owned())
}

/// Returns the values of an integer type in words.
fn whole_number(name: &str) -> Option<String> {
    let (least, most): (i64, i64) = match name {
        "u8" => (0, u8::MAX.into()),
        "u16" => (0, u16::MAX.into()),
        "u32" => (0, u32::MAX.into()),
        "i8" => (i8::MIN.into(), i8::MAX.into()),
        "i16" => (i16::MIN.into(), i16::MAX.into()),
        "i32" => (i32::MIN.into(), i32::MAX.into()),
        "u64" | "u128" | "usize" => return Some("a whole number of at least 0".to_owned()),
        "i64" | "i128" | "isize" => return Some("a whole number".to_owned()),
        _ => return None,
    };
    Some(format!("a whole number from {least} to {most}"))
}

/// Returns the JSON that a struct, a tuple or an enum is read from, in words.
fn container(expected: &str) -> Option<String> {
    let list = |count: &str| match count {
        "1" => "a list of exactly 1 item".to_owned(),
        count => format!("a list of exactly {count} items"),
    };
    let is_count = |text: &&str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let counted = ["an array of length ", "a tuple of size "].iter().find_map(|start| expected.strip_prefix(start));
    if let Some(count) = counted.filter(is_count) {
        return Some(list(count));
    }
    if let Some((count, rest)) = expected.split_once(' ').filter(|(count, _)| is_count(count)) {
        return match rest {
            "element in sequence" | "elements in sequence" => Some(list(count)),
            "element in map" | "elements in map" => Some(format!("an object with exactly {count} of its names")),
            _ => None,
        };
    }
    let (whole, count) = match expected.rsplit_once(" with ") {
        Some((whole, end)) if end.ends_with(" element") || end.ends_with(" elements") => (whole, end.split(' ').next()),
        _ => (expected, None),
    };
    let (kind, name) = whole.rsplit_once(' ')?;
    // A name of Rust follows. "struct engineers" are the words of somebody else, but nothing tells them apart.
    if !name.starts_with(|c: char| c.is_uppercase() || c == '_' || c == '(') {
        return None;
    }
    Some(match kind {
        "unit struct" => "null".to_owned(),
        "struct" | "struct variant" | "internally tagged enum" | "adjacently tagged enum" => "an object".to_owned(),
        "tuple struct" | "tuple variant" => count.map_or_else(|| "a list".to_owned(), list),
        "enum" => "the name of an alternative, or an object with it".to_owned(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, net::IpAddr, num::NonZeroU8};

    use serde::{Deserialize, Deserializer, de::DeserializeOwned};

    use super::*;

    /// Returns the problem of `json` at `p`, as a line.
    fn line<T: DeserializeOwned>(json: &str) -> String {
        let error = serde_json::from_str::<T>(json).map(drop).expect_err(json);
        explain("/p", json, &error, &mut |text| serde_json::from_str::<T>(text).err()).to_string()
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code, reason = "only its reading is tested")]
    struct Point {
        #[serde(alias = "ex")]
        x: u8,
        y: Option<Box<Point>>,
    }

    #[derive(Debug, Deserialize, PartialEq, Eq, PartialOrd, Ord)]
    #[serde(rename_all = "snake_case")]
    enum Shape {
        Dot,
        Circle(u8),
        Line(i16, i16),
        Rect { width: u32 },
    }

    #[derive(Debug, Deserialize)]
    #[serde(untagged)]
    #[allow(dead_code, reason = "only its reading is tested")]
    enum Either {
        Number(u8),
        Flag(bool),
    }

    /// A list of at most two points, none of which is far.
    #[derive(Debug, Deserialize)]
    #[serde(try_from = "Vec<Near>")]
    #[allow(dead_code, reason = "only its reading is tested")]
    struct Few(usize);

    impl TryFrom<Vec<Near>> for Few {
        type Error = &'static str;

        fn try_from(all: Vec<Near>) -> Result<Self, &'static str> {
            if all.len() > 2 { Err("too many points") } else { Ok(Self(all.len())) }
        }
    }

    #[derive(Debug, Deserialize)]
    #[serde(try_from = "Point")]
    #[allow(dead_code, reason = "only its reading is tested")]
    struct Near(u8);

    impl TryFrom<Point> for Near {
        type Error = &'static str;

        fn try_from(point: Point) -> Result<Self, &'static str> {
            if point.x > 9 { Err("too far") } else { Ok(Self(point.x)) }
        }
    }

    #[test]
    fn the_words_of_serde_become_those_of_json() {
        assert_eq!(line::<u8>("300"), "`p`: expected a whole number from 0 to 255, got 300");
        assert_eq!(line::<u32>("5.5"), "`p`: expected a whole number from 0 to 4294967295, got 5.5");
        assert_eq!(line::<i64>("99999999999999999999"), "`p`: expected a whole number, got 99999999999999999999");
        assert_eq!(line::<u64>("-1"), "`p`: expected a whole number of at least 0, got -1");
        assert_eq!(line::<NonZeroU8>("0"), "`p`: expected a whole number from 0 to 255 other than 0, got 0");
        assert_eq!(line::<f32>("\"x\""), "`p`: expected a number, got \"x\"");
        assert_eq!(line::<bool>("null"), "`p`: expected true or false, got null");
        assert_eq!(line::<()>("\"a\\\", expected b\""), "`p`: expected null, got \"a\\\", expected b\"");
        assert_eq!(line::<char>("\"ab\""), "`p`: expected a string of exactly 1 character, got \"ab\"");
        assert_eq!(line::<String>("[1]"), "`p`: expected a string, got [1]");
        assert_eq!(line::<Vec<u8>>("{}"), "`p`: expected a list, got an empty object");
        assert_eq!(line::<[u8; 3]>("[1,2]"), "`p`: expected a list of exactly 3 items, got [1, 2]");
        assert_eq!(line::<(u8, u8)>("[1]"), "`p`: expected a list of exactly 2 items, got [1]");
        assert_eq!(line::<BTreeMap<String, u8>>("7"), "`p`: expected an object, got 7");
        assert_eq!(line::<Point>("7"), "`p`: expected an object, got 7");
        assert_eq!(
            line::<Either>("\"x\""),
            "`p`: expected a value in one of the forms that the schema lists, got \"x\""
        );
        assert_eq!(line::<IpAddr>("\"1.2\""), "`p`: expected an IP address, got \"1.2\"");
    }

    #[test]
    fn names_are_named() {
        assert_eq!(line::<Point>("{}"), "`p.x`: missing: expected a value");
        assert_eq!(line::<Point>(r#"{"x":1,"ex":2}"#), "`p.x`: given more than once: expected one value for each name");
        assert_eq!(
            line::<Point>(r#"{"x":1,"exx":null}"#),
            "`p.exx`: unknown name: expected one of `ex`, `x` or `y`; did you mean `ex`?"
        );
        assert_eq!(
            line::<Shape>("\"dto\""),
            "`p`: expected one of `dot`, `circle`, `line` or `rect`, got \"dto\"; did you mean `dot`?"
        );
    }

    #[test]
    fn a_nested_place_is_named() {
        assert_eq!(line::<Vec<u8>>("[1,\n 2, 300 ]"), "`p.2`: expected a whole number from 0 to 255, got 300");
        assert_eq!(line::<Vec<Point>>(r#"[{"x":1},{"y":null}]"#), "`p.1.x`: missing: expected a value");
        assert_eq!(
            line::<Vec<Point>>(r#"[{"x":1},{"x":2,"y":{"x":"é"}},{"x":3}]"#),
            "`p.1.y.x`: expected a whole number from 0 to 255, got \"é\""
        );
        assert_eq!(
            line::<Shape>(r#"{"rect":{"width":-1}}"#),
            "`p.rect.width`: expected a whole number from 0 to 4294967295, got -1"
        );
        assert_eq!(line::<Shape>(r#"{"line":[1]}"#), "`p.line`: expected a list of exactly 2 items, got [1]");
        assert_eq!(line::<BTreeMap<String, Near>>(r#"{"a/b":{"x":1},"c":{"x":20}}"#), "`p.c`: too far");
    }

    #[test]
    fn a_list_differs_from_its_last_item() {
        assert_eq!(line::<BTreeMap<String, Few>>(r#"{"a":[{"x":1},{"x":20}]}"#), "`p.a.1`: too far");
        assert_eq!(line::<BTreeMap<String, Few>>(r#"{"a":[{"x":1},{"x":1},{"x":1}]}"#), "`p.a`: too many points");
        assert_eq!(
            line::<BTreeMap<String, Few>>(r#"{"a":[{"x":1},{"x":1},{"x":1}],"b":[]}"#),
            "`p.a`: too many points"
        );
    }

    #[test]
    fn a_key_is_named() {
        assert_eq!(
            line::<BTreeMap<IpAddr, u8>>(r#"{"::1":1,"host":2}"#),
            "`p.host`: unknown name: expected names that are each an IP address"
        );
        assert_eq!(
            line::<BTreeMap<u8, u8>>(r#"{"1":1,"x":2}"#),
            "`p.x`: unknown name: expected names that are each a number in quotes"
        );
        assert_eq!(
            line::<BTreeMap<u8, u8>>(r#"{"1":1,"2":"x"}"#),
            "`p.2`: expected a whole number from 0 to 255, got \"x\""
        );
    }

    #[test]
    fn the_words_of_others_stay() {
        #[derive(Debug)]
        struct Strict;

        impl<'de> Deserialize<'de> for Strict {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                Err(serde::de::Error::custom(String::deserialize(from)?))
            }
        }

        for own in [
            "invalid value: x, expected y",
            "invalid value: strings, expected y",
            "invalid length of the rope, expected 3 m",
            "unknown variant `a`, expected something else",
            "missing field",
            "expected a struct engineer",
        ] {
            assert_eq!(line::<Vec<Strict>>(&serde_json::json!([own]).to_string()), format!("`p.0`: {own}"));
        }
        let silent =
            "`p`: expected another value: the type of the parameter refuses this one without a reason, got \"\"";
        assert_eq!(line::<Strict>("\"\""), silent);
        assert_eq!(in_words_of_json("struct engineers"), "struct engineers");
        assert_eq!(in_words_of_json("a date such as 2025-01-31"), "a date such as 2025-01-31");
    }
}
