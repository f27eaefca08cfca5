//! A text that is not JSON: where it goes wrong, and which of the usual mistakes it is.

mod mistake;
mod scan;

use super::{Problem, ProblemKind, excerpt};
use mistake::Mistake;

/// Explains why `text` is not JSON, given what `serde_json` said about it.
///
/// The problem tells the line and column, shows the text around that place, and names the mistake if it is one of those
/// that models make: a code fence, words around the JSON, a trailing comma, single quotes, names without quotes,
/// `True`, `NaN`, comments, raw line breaks in a text, half a surrogate pair, a text that was cut off. Nothing is
/// repaired; where one token is wrong, the right one is suggested.
///
/// ```
/// use tool_schema::feedback::malformed;
///
/// let text = "{'city': 1}";
/// let error = serde_json::from_str::<serde_json::Value>(text).unwrap_err();
/// assert_eq!(
///     malformed(text, &error).to_string(),
///     r#"expected names in double quotes, got `{'city': 1}` with a single quote at line 1, column 2; did you mean "city"?"#
/// );
/// ```
pub fn malformed(text: &str, error: &serde_json::Error) -> Problem {
    let message = error.to_string();
    let message = message.rsplit_once(" at line ").map_or(message.as_str(), |(message, _)| message);
    if text.trim().is_empty() {
        return Problem::new("", ProblemKind::Malformed, "JSON, at least `{}`").got("an empty text");
    }
    let at = offset(text, error);
    let Mistake { expected, got, suggestion } = mistake::find(text, message, at);
    let kind = if message.starts_with("recursion limit") { ProblemKind::TooLarge } else { ProblemKind::Malformed };
    let before = &text[..at];
    let line = 1 + before.matches('\n').count();
    let column = 1 + before.chars().rev().take_while(|&c| c != '\n').count();
    let got = match got {
        Some(got) => format!("`{}` with {got} at line {line}, column {column}", around(text, at)),
        None => format!("`{}` at line {line}, column {column}", around(text, at)),
    };
    Problem::new("", kind, expected).got(got).suggest(suggestion)
}

/// The byte that the error is about, at a character's boundary.
fn offset(text: &str, error: &serde_json::Error) -> usize {
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

/// The text around a place, shortened at both ends.
fn around(text: &str, at: usize) -> String {
    const BEFORE: usize = 30;
    const AFTER: usize = 20;
    let start = text[..at].char_indices().rev().take(BEFORE).last().map_or(at, |(start, _)| start);
    let cut = if start > 0 { "…" } else { "" };
    let shown = text[start..at].chars().count() + AFTER;
    format!("{cut}{}", excerpt(&text[start..], shown))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    fn told(text: &str) -> String {
        let error = serde_json::from_str::<Value>(text).expect_err(text);
        malformed(text, &error).to_string()
    }

    #[track_caller]
    fn says(text: &str, expected: &str) {
        let told = told(text);
        assert!(told.contains(expected), "{text}\n  {told}\n  should say: {expected}");
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
        says("{'a': 1}", "names in double quotes");
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
        says("{\"a\" 1}", "a colon between name and value");
        says("{\"a\": \"say \"hi\"\"}", "quotes inside a text escaped");
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
        says("{\"city\": \"Ber", "the rest of the JSON: it ends in the middle of a text");
        says("{\"city\": \"Berlin\", \"stops\": [1, 2", "it ends inside a list inside an object");
        says("{\"city\": \"Berlin\"", "it ends inside an object");
        says("{\"city\":", "it ends before a value");
        says("{\"city\": tr", "it ends in the middle of a value");
    }

    #[test]
    fn tells_the_place() {
        says("{\n  \"a\": 1,\n  \"b\": ä\n}", "at line 3, column 8");
        let long = format!("{{\"a\": \"{}\", b}}", "x".repeat(500));
        let told = told(&long);
        assert!(told.contains("…xxxx") && told.len() < 200, "{told}");
    }

    #[test]
    fn too_deep_is_too_large() {
        let text = "[".repeat(200);
        let error = serde_json::from_str::<Value>(&text).expect_err("too deep");
        let problem = malformed(&text, &error);
        assert_eq!(problem.kind, ProblemKind::TooLarge);
        assert!(problem.expected.contains("128"), "{problem}");
    }

    proptest! {
        #[test]
        fn never_panics(text in any::<String>()) {
            if let Err(error) = serde_json::from_str::<Value>(&text) {
                let told = malformed(&text, &error).to_string();
                prop_assert!(told.len() < 1000, "{}", told);
                prop_assert!(!told.chars().any(char::is_control));
            }
        }

        #[test]
        fn never_panics_near_json(text in r#"[\[\]{}:,"'\\a-cTFNé\u{1f600}0-9. \n/#`+-]{0,40}"#, other in any::<String>()) {
            if let Err(error) = serde_json::from_str::<Value>(&text) {
                prop_assert!(!malformed(&text, &error).expected.is_empty());
                // An error that belongs to another text is a mistake of the caller, not a reason to panic.
                let _ = malformed(&other, &error);
            }
        }
    }
}
