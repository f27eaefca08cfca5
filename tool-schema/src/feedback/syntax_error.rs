//! Explanations of texts that are not JSON: the place of the error, and the likely mistake.

use super::{Problem, ProblemKind, excerpt};
use crate::json::Nesting;

/// Explains why `text` is not JSON, given the error of `serde_json`.
///
/// The problem contains the line and column, and the text around them. It names the typical mistakes of models:
///
/// - a code fence, or words around the JSON
/// - a trailing comma, single quotes, or names without quotes
/// - `True`, `NaN` or comments
/// - raw line breaks in a text, or half a surrogate pair
/// - a text that was cut off
///
/// Nothing is repaired. If one token is wrong, the problem suggests the right one.
///
/// ```
/// use tool_schema::feedback::explain_syntax_error;
///
/// let text = "{'city': 1}";
/// let error = serde_json::from_str::<serde_json::Value>(text).unwrap_err();
/// assert_eq!(
///     explain_syntax_error(text, &error).to_string(),
///     r#"expected keys in double quotes, got `{'city': 1}` with a single quote at line 1, column 2; did you mean "city"?"#
/// );
/// ```
pub fn explain_syntax_error(text: &str, error: &serde_json::Error) -> Problem {
    let message = error.to_string();
    let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(message, _)| message);
    if text.trim().is_empty() {
        return expected("JSON, at least `{}`").got("an empty text");
    }
    let at = byte_offset(text, error);
    let mut problem = find_mistake(text, message, at);
    let before = &text[..at];
    let line = 1 + before.matches('\n').count();
    let column = 1 + before.chars().rev().take_while(|&c| c != '\n').count();
    let with = problem.got.take().map(|got| format!(" with {got}")).unwrap_or_default();
    problem.got(format!("`{}`{with} at line {line}, column {column}", excerpt_around(text, at)))
}

/// Returns the offset of the error in bytes, at a character's boundary.
fn byte_offset(text: &str, error: &serde_json::Error) -> usize {
    if error.is_eof() {
        return text.trim_end().len();
    }
    let above: usize = text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
    let mut at = (above + error.column().saturating_sub(1)).min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// The maximum lengths of a suggested string and number, and the maximum number of described containers.
const MAX_STRING: usize = 60;
const MAX_NUMBER: usize = 30;
const MAX_CONTAINERS: usize = 3;

/// Returns the text around a place, truncated at both ends.
fn excerpt_around(text: &str, at: usize) -> String {
    const BEFORE: usize = 30;
    const AFTER: usize = 20;
    let start = text[..at].char_indices().rev().take(BEFORE).last().map_or(at, |(start, _)| start);
    let cut = if start > 0 { "…" } else { "" };
    let shown = text[start..at].chars().count() + AFTER;
    format!("{cut}{}", excerpt(&text[start..], shown))
}

/// Creates the problem of a text that is not JSON.
fn expected(expected: impl Into<String>) -> Problem {
    Problem::new("", ProblemKind::Malformed, expected)
}

/// Returns the mistake in `text` at the byte `at`, given the `message` of `serde_json`.
fn find_mistake(text: &str, message: &str, at: usize) -> Problem {
    let here = text[at..].chars().next();
    let before = text[..at].trim_end().chars().next_back();
    if message.starts_with("recursion limit") {
        return Problem::new("", ProblemKind::TooLarge, "values that are nested less than 128 levels deep");
    }
    if text.trim_start().starts_with("```") {
        return expected("JSON alone, without a code fence around it");
    }
    if message.starts_with("EOF") {
        return expected(format!("the rest of the JSON: it ends {}", describe_end(&Nesting::of(text))));
    }
    if message == "trailing characters" {
        return match here {
            Some('{' | '[' | '"') => expected("one JSON value, not several after each other"),
            _ => expected("nothing after the JSON value"),
        };
    }
    if let Some(mistake) = find_mistake_in_string(text, message, at) {
        return mistake;
    }
    match (before, here) {
        (Some(','), Some(',')) => return expected("a value between the commas"),
        (Some(','), Some(close @ ('}' | ']'))) => return expected(format!("no comma before the closing `{close}`")),
        _ => {}
    }
    let is_name = message == "key must be a string" || message == "expected `\"`";
    match here {
        Some(mark @ '\'') => {
            let inner = text[at + 1..].split(mark).next().unwrap_or_default();
            let what = if is_name { "keys in double quotes" } else { "strings in double quotes" };
            expected(what).got("a single quote").suggest((inner.len() < MAX_STRING).then(|| in_quotes(inner)))
        }
        Some('“' | '”' | '„' | '‘' | '’') => expected("straight double quotes around keys and strings"),
        Some('/' | '#') => expected("JSON without comments"),
        _ => find_foreign_number(text, message, at)
            .or_else(|| find_missing_separator(message, here, before))
            .or_else(|| find_bare_word(text, at, is_name))
            .unwrap_or_else(|| {
                let message = if message == "expected ident" { "expected value" } else { message };
                expected(format!("JSON ({message})"))
            }),
    }
}

/// Recognizes mistakes inside a text between quotes.
fn find_mistake_in_string(text: &str, message: &str, at: usize) -> Option<Problem> {
    if message.starts_with("control character") {
        // The error's place is just after the character.
        let control =
            text[..at].chars().next_back().into_iter().chain(text[at..].chars().next()).find(|c| c.is_control());
        let escape = control.map(|control| excerpt(&control.to_string(), 1));
        return Some(expected("line breaks and other control characters in strings to be escaped").suggest(escape));
    }
    if message.contains("surrogate") || message == "unexpected end of hex escape" {
        return Some(expected("both halves of a surrogate pair (such as \\ud83d\\ude00), or the character itself"));
    }
    if message != "invalid escape" {
        return None;
    }
    let escaped = text[at..].chars().next()?;
    Some(match escaped {
        _ if ends_in_hex_escape(&text[..at]) => expected("four hexadecimal digits after \\u"),
        '\'' => expected("a single quote in a string as it is, without a backslash").suggest(Some("'".to_owned())),
        c => expected("a backslash in a string to be written twice").suggest(Some(format!("\\\\{c}"))),
    })
}

/// Returns whether `text` ends in `\u` and at most four more characters.
fn ends_in_hex_escape(text: &str) -> bool {
    let mut last = text.char_indices().rev().take(r"\u0000".len());
    last.any(|(index, _)| text[index..].starts_with("\\u"))
}

/// Recognizes a missing separator.
fn find_missing_separator(message: &str, here: Option<char>, before: Option<char>) -> Option<Problem> {
    let starts_value = here.is_some_and(|c| c.is_alphanumeric() || "\"{[-".contains(c));
    Some(match message {
        "expected `:`" => expected("a colon between key and value"),
        "expected `,` or `}`" | "expected `,` or `]`"
            if before == Some('"') && here.is_some_and(|c| c != '"' && c != '{' && c != '[') =>
        {
            expected("a comma, or quotes inside a string escaped as \\\"")
        }
        "expected `,` or `}`" if starts_value => expected("a comma between the entries"),
        "expected `,` or `]`" if starts_value => expected("a comma between the items"),
        _ => return None,
    })
}

/// Returns the start and the text of the token around `at`, whose characters all satisfy `part`.
fn token_at(text: &str, at: usize, part: impl Fn(char) -> bool) -> (usize, &str) {
    let start = text[..at].trim_end_matches(&part).len();
    (start, text[start..].split(|c| !part(c)).next().unwrap_or_default())
}

/// Recognizes a word in place of a value or of a name in quotes.
fn find_bare_word(text: &str, at: usize, is_name: bool) -> Option<Problem> {
    let (start, word) = token_at(text, at, |c| c.is_alphanumeric() || c == '_');
    if !word.starts_with(|c: char| c.is_alphabetic() || c == '_') {
        return None;
    }
    if is_name {
        return Some(expected("keys in double quotes").suggest(Some(in_quotes(word))));
    }
    Some(match word {
        "True" | "TRUE" => expected("true or false in lower case").suggest(Some("true".to_owned())),
        "False" | "FALSE" => expected("true or false in lower case").suggest(Some("false".to_owned())),
        "None" | "nil" | "Null" | "NULL" | "undefined" => expected("null for nothing").suggest(Some("null".to_owned())),
        "NaN" | "nan" => expected("a number or null: JSON has no NaN"),
        "Infinity" | "inf" | "Inf" => expected("a number or null: JSON has no Infinity"),
        _ if text[..start].trim().is_empty() => expected("JSON alone, without words before it"),
        word if word.len() < MAX_STRING => expected("strings in double quotes").suggest(Some(in_quotes(word))),
        _ => expected("strings in double quotes"),
    })
}

/// Recognizes a number in the notation of another language.
fn find_foreign_number(text: &str, message: &str, at: usize) -> Option<Problem> {
    let (_, number) = token_at(text, at, |c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    let digits = number.trim_start_matches('-');
    if message == "number out of range" {
        return Some(expected("a number that fits 64 bits, or the number as a string"));
    }
    if let Some(rest) = number.strip_prefix('+') {
        return Some(expected("a number without a plus sign").suggest(Some(rest.chars().take(MAX_NUMBER).collect())));
    }
    if digits.starts_with("0x") || digits.starts_with("0X") || digits.starts_with("0b") {
        return Some(expected("a decimal number"));
    }
    if digits.starts_with('.') && digits[1..].starts_with(|c: char| c.is_ascii_digit()) {
        return Some(expected("a number with a digit before its point").suggest(Some(number.replacen('.', "0.", 1))));
    }
    if digits.starts_with('0') && digits[1..].starts_with(|c: char| c.is_ascii_digit()) {
        return Some(expected("a number without leading zeros"));
    }
    if digits == "Infinity" || digits == "inf" {
        return Some(expected("a number or null: JSON has no Infinity"));
    }
    (message == "invalid number").then(|| expected("a number such as 0.5 or -12"))
}

fn in_quotes(text: &str) -> String {
    format!("\"{}\"", excerpt(text, MAX_STRING))
}

/// Returns the place where a cut text ends, as a phrase that follows "it ends".
fn describe_end(nesting: &Nesting) -> String {
    let mut phrase = match nesting.last {
        _ if nesting.in_text => "in the middle of a string".to_owned(),
        Some(':') => "before a value".to_owned(),
        Some(c) if c.is_ascii_alphabetic() || c == '-' || c == '.' => "in the middle of a value".to_owned(),
        _ => String::new(),
    };
    for (index, open) in nesting.open.chars().rev().enumerate() {
        if index == MAX_CONTAINERS {
            phrase = format!("{phrase}, {} levels deep", nesting.open.len());
            break;
        }
        if !phrase.is_empty() {
            phrase.push(' ');
        }
        phrase.push_str(if open == '{' { "inside an object" } else { "inside a list" });
    }
    if phrase.is_empty() { "too early".to_owned() } else { phrase }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    fn explain(text: &str) -> String {
        let error = serde_json::from_str::<Value>(text).expect_err(text);
        explain_syntax_error(text, &error).to_string()
    }

    #[track_caller]
    fn says(text: &str, expected: &str) {
        let sentence = explain(text);
        assert!(sentence.contains(expected), "{text}\n  {sentence}\n  should say: {expected}");
    }

    #[test]
    fn names_the_usual_mistakes() {
        says("```json\n{\"a\": 1}\n```", "JSON alone, without a code fence around it");
        says("{\"a\": 1}\n```", "nothing after the JSON");
        says("Here you are: {\"a\": 1}", "JSON alone, without words before it");
        says("{\"a\": 1} Hope this helps!", "nothing after the JSON");
        says("{\"a\": 1}{\"a\": 2}", "one JSON value, not several");
        says("{\"a\": 1}}", "nothing after the JSON");
        says("{\"a\": 1,}", "no comma before the closing `}`");
        says("[1, 2, ]", "no comma before the closing `]`");
        says("[1,, 2]", "a value between the commas");
        says("{'a': 1}", "keys in double quotes");
        says("{\"a\": 'x y'}", "did you mean \"x y\"?");
        says("{a: 1}", "did you mean \"a\"?");
        says("{\"a\": True}", "did you mean true?");
        says("{\"a\": False}", "did you mean false?");
        says("{\"a\": None}", "did you mean null?");
        says("{\"a\": nil}", "did you mean null?");
        says("{\"a\": undefined}", "did you mean null?");
        says("{\"a\": NaN}", "a number or null: JSON has no NaN");
        says("{\"a\": -Infinity}", "a number or null: JSON has no Infinity");
        says("{\"a\": celsius}", "did you mean \"celsius\"?");
        says("{\"a\": “x”}", "straight double quotes");
        says("{\"a\": 1 // one\n}", "JSON without comments");
        says("{\"a\": 1 \"b\": 2}", "a comma between the entries");
        says("[1 2]", "a comma between the items");
        says("{\"a\" 1}", "a colon between key and value");
        says("{\"a\": \"say \"hi\"\"}", "quotes inside a string escaped");
        says("{\"a\": 01}", "a number without leading zeros");
        says("{\"a\": +1}", "a number without a plus sign");
        says("{\"a\": .5}", "did you mean 0.5?");
        says("{\"a\": 0x1F}", "a decimal number");
        says("{\"a\": 1e999}", "a number that fits 64 bits");
        says("{\"a\": \"line\nbreak\"}", "did you mean \\n?");
        says("{\"a\": \"C:\\dir\"}", "did you mean \\\\d?");
        says("{\"a\": \"it\\'s\"}", "did you mean '?");
        says("{\"a\": \"\\ud83d\"}", "both halves of a surrogate pair");
        says("{\"a\": \"\\u12\"}", "four hexadecimal digits");
        says("  ", "got an empty text");
        says("{\"a\": (1)}", "expected JSON");
    }

    #[test]
    fn says_where_a_cut_text_ends() {
        says("{\"city\": \"Ber", "the rest of the JSON: it ends in the middle of a string");
        says("{\"city\": \"Berlin\", \"stops\": [1, 2", "it ends inside a list inside an object");
        says("{\"city\": \"Berlin\"", "it ends inside an object");
        says("{\"city\":", "it ends before a value");
        says("{\"city\": tr", "it ends in the middle of a value");
    }

    #[test]
    fn reports_the_place() {
        says("{\n  \"a\": 1,\n  \"b\": ä\n}", "at line 3, column 8");
        let long = format!("{{\"a\": \"{}\", b}}", "x".repeat(500));
        let sentence = explain(&long);
        assert!(sentence.contains("…xxxx") && sentence.len() < 200, "{sentence}");
    }

    #[test]
    fn too_deep_is_too_large() {
        let text = "[".repeat(200);
        let error = serde_json::from_str::<Value>(&text).expect_err("too deep");
        let problem = explain_syntax_error(&text, &error);
        assert_eq!(problem.kind, ProblemKind::TooLarge);
        assert!(problem.expected.contains("128"), "{problem}");
    }

    proptest! {
        #[test]
        fn never_panics(text in any::<String>()) {
            if let Err(error) = serde_json::from_str::<Value>(&text) {
                let sentence = explain_syntax_error(&text, &error).to_string();
                prop_assert!(sentence.len() < 1000, "{}", sentence);
                prop_assert!(!sentence.chars().any(char::is_control));
            }
        }

        #[test]
        fn never_panics_near_json(text in r#"[\[\]{}:,"'\\a-cTFNé\u{1f600}0-9. \n/#`+-]{0,40}"#, other in any::<String>()) {
            if let Err(error) = serde_json::from_str::<Value>(&text) {
                prop_assert!(!explain_syntax_error(&text, &error).expected.is_empty());
                // An error that belongs to another text is a mistake of the caller, but must not cause a panic.
                let _ = explain_syntax_error(&other, &error);
            }
        }
    }
}
