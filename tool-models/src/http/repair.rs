//! The repair of events that are not JSON. Some servers write several values on one line, or numbers that only Python knows.

use serde::de::IgnoredAny;
use serde_json::{Deserializer, value::RawValue};

/// Returns the events in data that is not JSON, but several values one after the other, or a value with `NaN` or `Infinity`, for which
/// `null` stands. Returns `None` for other data.
pub fn repair_events(data: &str) -> Option<Vec<String>> {
    let begins_another = |(at, _): (usize, &str)| data[at + 1..].trim_ascii_start().starts_with('{');
    let has_no_number = data.contains("NaN") || data.contains("Infinity");
    let may_be_odd = has_no_number || data.match_indices('}').any(begins_another);
    if !may_be_odd || serde_json::from_str::<IgnoredAny>(data).is_ok() {
        return None;
    }
    let data = with_null_numbers(data);
    let values = Deserializer::from_str(&data).into_iter::<&RawValue>();
    let values: Vec<_> = values.collect::<Result<_, _>>().ok()?;
    Some(values.into_iter().map(|value| value.get().to_owned()).collect())
}

/// Replaces the numbers that JSON does not have by `null`, outside of texts.
fn with_null_numbers(data: &str) -> String {
    let (mut out, mut rest, mut is_text) = (String::with_capacity(data.len()), data, false);
    while let Some(first) = rest.chars().next() {
        let number = ["NaN", "Infinity", "-Infinity"].into_iter().find(|number| !is_text && rest.starts_with(number));
        // A character after a backslash ends no text.
        let escaped = rest.chars().nth(1).filter(|_| is_text && first == '\\').map_or(0, char::len_utf8);
        let length = number.map_or(first.len_utf8() + escaped, str::len);
        out.push_str(number.map_or(&rest[..length], |_| "null"));
        is_text ^= first == '"';
        rest = &rest[length..];
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_that_is_no_json_is_repaired() {
        let same = [r#"{"a":1}"#, r#"{"a":"}{"}"#, r#"{"a":"NaN"}"#, r#"{"a":NaN"#, "{]}{", "NaN of them", ""];
        for data in same {
            assert_eq!(repair_events(data), None, "{data}");
        }
        let repaired: [(&str, &[&str]); 4] = [
            (r#"{"a":1}{"b":2}"#, &[r#"{"a":1}"#, r#"{"b":2}"#]),
            ("{\"a\":\"}\"} \n {\"b\":[{}]}", &[r#"{"a":"}"}"#, r#"{"b":[{}]}"#]),
            (r#"{"a":[NaN,-Infinity,Infinity],"ä\"":"\"NaN\\"}"#, &[r#"{"a":[null,null,null],"ä\"":"\"NaN\\"}"#]),
            (r#"{"a":NaN}{"a":1}"#, &[r#"{"a":null}"#, r#"{"a":1}"#]),
        ];
        for (data, expected) in repaired {
            assert_eq!(repair_events(data).unwrap(), expected, "{data}");
        }
    }
}
