//! Texts for values, names and reports, short enough for a sentence and safe to show.

use std::{borrow::Cow, error::Error};

use serde_json::Value;

use super::answer::View;
use super::{Choices, Reasons, Report};

/// The maximum number of characters of a shown text.
const MAX_CHARACTERS: usize = 60;

/// Returns a reason, or words for one that is blank.
pub fn or_no_reason(reason: String) -> String {
    if reason.trim().is_empty() { "this is refused without a reason".to_owned() } else { reason }
}

/// Returns a value as a short phrase: a text in quotes, a number as it is, and a list or an object by its contents.
///
/// A text of more than 60 characters ends with an ellipsis. Control, direction and invisible characters are escaped.
///
/// ```
/// use serde_json::json;
/// use tool_schema::feedback::summarize;
///
/// assert_eq!(summarize(&json!("celcius")), r#""celcius""#);
/// assert_eq!(summarize(&json!(70)), "70");
/// assert_eq!(summarize(&json!([1, 2])), "[1, 2]");
/// assert_eq!(summarize(&json!([[1], [2]])), "a list of 2 items");
/// assert_eq!(summarize(&json!({ "city": "Oslo" })), "an object with `city`");
/// ```
pub fn summarize(value: &Value) -> String {
    match value {
        Value::String(text) => format!("\"{}\"", escape_excerpt(text, MAX_CHARACTERS, true)),
        Value::Array(items) if items.is_empty() => "an empty list".to_owned(),
        Value::Array(items) => list_scalars(items).unwrap_or_else(|| match items.len() {
            1 => "a list of 1 item".to_owned(),
            many => format!("a list of {many} items"),
        }),
        Value::Object(map) if map.is_empty() => "an empty object".to_owned(),
        Value::Object(map) => format!("an object with {}", quote_names(map.keys().map(String::as_str), "and")),
        scalar => scalar.to_string(),
    }
}

/// Returns a short list of scalars as JSON, or `None` for another list.
fn list_scalars(items: &[Value]) -> Option<String> {
    const MAX_ITEMS: usize = 5;
    if items.len() > MAX_ITEMS || items.iter().any(|item| item.is_array() || item.is_object()) {
        return None;
    }
    let list = format!("[{}]", items.iter().map(summarize).collect::<Vec<_>>().join(", "));
    (list.len() <= MAX_CHARACTERS).then_some(list)
}

/// Returns the text of an error and of its causes, from the outside to the inside. A cause whose text is already there is left out.
///
/// ```
/// use tool_schema::feedback::describe_error;
///
/// #[derive(Debug)]
/// struct Unreachable(std::io::Error);
///
/// impl std::fmt::Display for Unreachable {
///     fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
///         out.write_str("the bank cannot be reached")
///     }
/// }
///
/// impl std::error::Error for Unreachable {
///     fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
///         Some(&self.0)
///     }
/// }
///
/// let error = Unreachable(std::io::Error::other("no route"));
/// assert_eq!(describe_error(&error), "the bank cannot be reached: no route");
/// ```
pub fn describe_error(error: &(dyn Error + 'static)) -> String {
    let (mut text, mut source) = (error.to_string(), error.source());
    while let Some(error) = source {
        let cause = error.to_string();
        if !text.contains(&cause) {
            text.push_str(": ");
            text.push_str(&cause);
        }
        source = error.source();
    }
    text
}

/// Returns the first `max` characters of a text, on one line and escaped. A longer text ends with an ellipsis.
pub fn excerpt(text: &str, max: usize) -> String {
    escape_excerpt(text, max, false)
}

/// Returns the first 100 characters of a name, unescaped. A longer name ends with an ellipsis.
pub fn truncate_name(name: &str) -> Cow<'_, str> {
    const MAX_CHARACTERS: usize = 100;
    match name.char_indices().nth(MAX_CHARACTERS) {
        Some((end, _)) => Cow::Owned(format!("{}…", &name[..end])),
        None => Cow::Borrowed(name),
    }
}

/// Returns a name between backticks, escaped and shortened to 60 characters.
pub fn quote_name(name: &str) -> String {
    format!("`{}`", escape_excerpt(name, MAX_CHARACTERS, false))
}

/// Returns a name between backticks, or `None` if it is too long for a sentence: a suggestion is never shortened.
pub(crate) fn quote_whole_name(name: &str) -> Option<String> {
    (name.chars().count() <= MAX_CHARACTERS).then(|| quote_name(name))
}

/// Returns a value as JSON, or `None` if it is too long for a sentence: a suggestion is never shortened.
pub(crate) fn write_whole(value: &Value) -> Option<String> {
    const MAX_CHARACTERS: usize = 200;
    let text = match value {
        Value::String(text) => format!("\"{}\"", escape_excerpt(text, MAX_CHARACTERS, true)),
        value => value.to_string(),
    };
    let is_whole = value.as_str().unwrap_or(&text).chars().count() <= MAX_CHARACTERS;
    (is_whole && text.chars().all(is_harmless)).then_some(text)
}

/// Returns names as a phrase, such as "`a`, `b` and `c`". Of more than 8 names, it has the first 8 and the number of others.
pub fn quote_names<'a>(all: impl IntoIterator<Item = &'a str>, conjunction: &str) -> String {
    const MAX_NAMES: usize = 8;
    let mut all = all.into_iter();
    let mut shown: Vec<String> = all.by_ref().take(MAX_NAMES).map(quote_name).collect();
    let more = all.count();
    if more > 0 {
        shown.push(format!("{more} more"));
    }
    join(&shown, conjunction)
}

/// Joins phrases into one: "a, b or c".
pub(crate) fn join(phrases: &[String], conjunction: &str) -> String {
    match phrases {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} {conjunction} {last}", first.join(", ")),
    }
}

fn escape_excerpt(text: &str, max: usize, quoted: bool) -> String {
    let mut out = String::new();
    for (count, c) in text.chars().enumerate() {
        if count == max {
            out.push('…');
            break;
        }
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '"' | '\\' if quoted => out.extend(['\\', c]),
            c if !is_harmless(c) => {
                let mut units = [0; 2];
                out.extend(c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")));
            }
            c => out.push(c),
        }
    }
    out
}

/// Escapes all characters in `text` that could deceive a reader: control characters except line breaks and tabs, and characters
/// that are invisible or change the direction of text. So no escape sequence has an effect. No character is removed.
///
/// ```
/// use tool_schema::feedback::escape;
///
/// assert_eq!(escape("a\u{1b}[2Jb\u{202e}c"), "a\\u{1b}[2Jb\\u{202e}c");
/// ```
pub fn escape(text: &str) -> String {
    escape_unless(text, |c| c == '\n' || c == '\t' || is_harmless(c))
}

/// Returns [`escape`]d `text` on one line, so that it cannot look like several lines.
pub fn one_line(text: &str) -> String {
    escape_unless(text, is_harmless)
}

fn escape_unless(text: &str, is_harmless: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_harmless(c) {
            out.push(c);
        } else {
            out.extend(c.escape_unicode());
        }
    }
    out
}

/// Returns `text` without its control characters, and without characters that are invisible or change the display of others. A
/// joiner between two visible characters stays, because scripts and emoji need it.
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let is_joiner = matches!(c, '\u{200c}' | '\u{200d}')
            && out.ends_with(|last: char| !last.is_whitespace() && is_harmless(last))
            && rest.peek().is_some_and(|next| !next.is_whitespace() && is_harmless(*next));
        if is_joiner || is_harmless(c) {
            out.push(c);
        }
    }
    out
}

/// Returns whether a character cannot deceive a reader. Line breaks and tabs can.
fn is_harmless(c: char) -> bool {
    !c.is_control() && !is_invisible(c)
}

/// Returns whether a character is invisible or changes the display of others. These are the soft hyphen, zero-width and
/// direction marks, separators, isolates, the byte order mark, annotations and tags.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// Returns the reasons why a parameter is rejected, and its choices, as phrases for a person. Long lists and values are shortened.
pub fn describe_refusal(report: &Report) -> Vec<String> {
    const MAX_CHOICES: usize = 12;
    let mut phrases = Vec::new();
    if let Some(reasons) = &report.rejected {
        phrases.extend_from_slice(reasons.problems());
        if !reasons.required().is_empty() {
            phrases.push(describe_wait(&quote_names(reasons.required().iter().map(String::as_str), "and")));
        }
    }
    phrases.extend(describe_choices(&report.choices, MAX_CHOICES, summarize));
    phrases
}

/// Returns a complete answer for a model: a line for each problem of the call, and for each parameter, remark and instruction.
pub fn describe(view: &View<'_>) -> String {
    describe_first(view, usize::MAX).join("\n")
}

/// Returns the lines of [`describe`]. Of more than 20 lines with problems, returns the first 20 and the number of others.
pub fn describe_problems(view: &View<'_>) -> Vec<String> {
    const MAX_PROBLEMS: usize = 20;
    describe_first(view, MAX_PROBLEMS)
}

fn describe_first(view: &View<'_>, max: usize) -> Vec<String> {
    let problems = view.whole.rejected.as_ref().map_or(&[][..], Reasons::problems);
    let mut call: Vec<String> = problems.iter().map(|problem| one_line(problem)).collect();
    let mut rest = Vec::new();
    add_rest(&mut rest, &view.whole);
    match call.last_mut() {
        Some(last) => rest.iter().for_each(|phrase| *last = format!("{last}; {phrase}")),
        None => call = rest,
    }
    let mut lines: Vec<String> = call.iter().take(max).map(|problem| format!("call: {problem}")).collect();
    let mut more = call.len() - lines.len();
    let mut shown = lines.len();
    for (name, report) in &view.reports {
        if shown == max && !report.is_valid() {
            more += 1;
            continue;
        }
        shown += usize::from(!report.is_valid());
        lines.push(format!("{}: {}", one_line(name), describe_report(report)));
    }
    match more {
        0 => {}
        1 => lines.push("and 1 more problem".to_owned()),
        more => lines.push(format!("and {more} more problems")),
    }
    for (word, texts) in [("note", &view.whole.feedback), ("do", &view.whole.instructions)] {
        lines.extend(texts.iter().map(|text| format!("{word}: {}", one_line(text))));
    }
    lines
}

fn describe_report(report: &Report) -> String {
    let mut phrases: Vec<String> = Vec::new();
    match &report.rejected {
        None => phrases.push("ok".to_owned()),
        Some(reasons) => {
            phrases.extend(reasons.problems().iter().map(|problem| one_line(problem)));
            if !reasons.required().is_empty() {
                let all: Vec<String> = reasons.required().iter().map(|one| quote_name(one)).collect();
                phrases.push(describe_wait(&join(&all, "and")));
            }
        }
    }
    add_rest(&mut phrases, report);
    for (word, texts) in [("note", &report.feedback), ("do", &report.instructions)] {
        phrases.extend(texts.iter().map(|text| format!("{word}: {}", one_line(text))));
    }
    phrases.join("; ")
}

/// Adds phrases for the value, choices and schema of a report. A problem that lists the choices already is enough.
fn add_rest(phrases: &mut Vec<String>, report: &Report) {
    let is_listed = match &report.choices {
        Choices::Allowed(values) if !values.is_empty() => {
            let all = values.iter().map(write_value).collect::<Vec<_>>().join(", ");
            let listed = [format!("expected {all}"), format!("expected one of {all}")];
            phrases.iter().any(|phrase| listed.iter().any(|list| phrase.contains(list)))
        }
        _ => false,
    };
    phrases.extend(report.normalized.iter().map(|value| format!("understood as {}", write_value(value))));
    if !is_listed {
        phrases.extend(describe_choices(&report.choices, usize::MAX, write_value));
    }
    phrases.extend(report.schema.iter().map(|schema| format!("JSON Schema {}", write_value(schema))));
}

fn describe_wait(names: &str) -> String {
    format!("cannot be judged before {names}")
}

/// Returns the choices as a phrase, with at most the first `max` values.
fn describe_choices(choices: &Choices, max: usize, write: fn(&Value) -> String) -> Option<String> {
    let (values, words) = match choices {
        Choices::Open => return None,
        Choices::Allowed(values) if values.is_empty() => return Some("there is no value to choose".to_owned()),
        Choices::Suggested(values) if values.is_empty() => return None,
        Choices::Allowed(values) => (values, "choose from"),
        Choices::Suggested(values) => (values, "for example"),
    };
    let shown: Vec<String> = values.iter().take(max).map(write).collect();
    let more = if values.len() > max { format!(" and {} more", values.len() - max) } else { String::new() };
    Some(format!("{words} {}{more}", shown.join(", ")))
}

fn write_value(value: &Value) -> String {
    one_line(&value.to_string())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::feedback::{RejectedAnswer, Rejection};

    #[test]
    fn deceptive_characters_are_removed_and_joiners_stay() {
        assert_eq!(visible("Pay \u{202e}001\u{202c} now\u{200b}\n\u{feff}"), "Pay 001 now");
        assert_eq!(visible("\u{2066}\u{200d} \u{200d}\u{e0041}"), " ");
        for kept in ["\u{1f468}\u{200d}\u{1f469}", "می\u{200c}خواهم", "Zoë 1\u{a0}€"] {
            assert_eq!(visible(kept), kept);
        }
    }

    #[test]
    fn values_are_short() {
        assert_eq!(summarize(&json!(null)), "null");
        assert_eq!(summarize(&json!(0.5)), "0.5");
        assert_eq!(summarize(&json!([])), "an empty list");
        assert_eq!(summarize(&json!({ "a": 1, "b": 2, "c": 3 })), "an object with `a`, `b` and `c`");
        assert_eq!(summarize(&json!("say \"hi\"\n\u{202e}\u{7}")), r#""say \"hi\"\n\u202e\u0007""#);
        assert_eq!(summarize(&json!("x".repeat(100))), format!("\"{}…\"", "x".repeat(60)));
    }

    #[test]
    fn long_lists_of_names_are_cut() {
        let all: Vec<String> = (0..12).map(|number| format!("n{number}")).collect();
        assert_eq!(
            quote_names(all.iter().map(String::as_str), "or"),
            "`n0`, `n1`, `n2`, `n3`, `n4`, `n5`, `n6`, `n7` or 4 more"
        );
        assert_eq!(quote_names([], "and"), "");
    }

    proptest! {
        #[test]
        fn texts_have_no_control_characters(text in any::<String>()) {
            let shown = summarize(&Value::from(text));
            prop_assert!(!shown.chars().any(|c| c.is_control() || is_invisible(c)));
            prop_assert!(shown.len() < 1000);
        }
    }

    #[test]
    fn every_part_is_written_and_each_parameter_has_a_line() {
        let full = Report {
            rejected: Some(Reasons::problem("too\nmany").and_problem("odd").and_requires("date").and_requires("time")),
            normalized: Some(json!(3)),
            schema: Some(json!({ "maximum": 2 })),
            choices: Choices::Suggested(vec![json!(1), json!("two")]),
            feedback: vec!["2 are left".into()],
            instructions: vec!["Ask for fewer.".into()],
        };
        let none = Report { choices: Choices::Allowed(vec![]), ..Report::accepted() };
        let text = Rejection::from_message("closed today")
            .and("and tomorrow")
            .report("seats", full)
            .report("a\nb", none)
            .remark("sorry")
            .instruct("Wait.");
        assert_eq!(
            text.to_text(),
            concat!(
                "call: closed today\ncall: and tomorrow\n",
                r#"seats: too\u{a}many; odd; cannot be judged before `date` and `time`; understood as 3; "#,
                r#"for example 1, "two"; JSON Schema {"maximum":2}; note: 2 are left; do: Ask for fewer."#,
                "\n",
                r"a\u{a}b: ok; there is no value to choose",
                "\nnote: sorry\ndo: Wait.",
            )
        );
    }

    #[test]
    fn a_model_sees_all_choices_and_a_person_the_first() {
        let all: Vec<_> = (0..40).map(Into::into).collect();
        let mut report = Report::rejected("no");
        report.choices = Choices::Allowed(all);
        let text = Rejection::reported(vec![], vec![("n".into(), report)]);
        assert!(text.to_text().ends_with("37, 38, 39"));
        assert_eq!(text.lines()[1], "`n`: choose from 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 28 more");
    }

    #[test]
    fn an_input_that_is_one_value_is_reported_as_the_call() {
        let mut report = Report::rejected("too short");
        report.choices = Choices::Allowed(vec![json!("abc")]);
        let answer = RejectedAnswer::of_value(report).expect("a reason of its own");
        assert_eq!(answer.to_text(), r#"call: too short; choose from "abc""#);
    }
}
