//! Reports on parameters, in words.

use serde_json::Value;

use super::answer::View;
use super::{Choices, Reasons, Report, join, name, names, one_line, shorten};

/// Returns why a parameter is refused and what there is to choose from, as phrases for a person: long lists and values
/// are cut.
pub fn of_refused(report: &Report) -> Vec<String> {
    const SHOWN: usize = 12;
    let mut phrases = Vec::new();
    if let Some(reasons) = &report.refused {
        phrases.extend_from_slice(reasons.problems());
        if !reasons.required().is_empty() {
            phrases.push(wait_phrase(&names(reasons.required().iter().map(String::as_str), "and")));
        }
    }
    phrases.extend(choices_phrase(&report.choices, SHOWN, shorten));
    phrases
}

/// Returns all of a refusal for a model: a line for the call, and one for each parameter.
pub fn of_view(view: &View<'_>) -> String {
    let problems = view.whole.refused.as_ref().map_or(&[][..], Reasons::problems);
    let mut call: Vec<String> = problems.iter().map(|problem| one_line(problem)).collect();
    about(&mut call, &view.whole);
    let mut lines = Vec::new();
    if !call.is_empty() {
        lines.push(format!("call: {}", call.join("; ")));
    }
    for (name, report) in &view.reports {
        lines.push(format!("{}: {}", one_line(name), line(report)));
    }
    for (word, texts) in [("note", &view.whole.feedback), ("do", &view.whole.instructions)] {
        lines.extend(texts.iter().map(|text| format!("{word}: {}", one_line(text))));
    }
    lines.join("\n")
}

fn line(report: &Report) -> String {
    let mut phrases: Vec<String> = Vec::new();
    match &report.refused {
        None => phrases.push("ok".to_owned()),
        Some(reasons) => {
            phrases.extend(reasons.problems().iter().map(|problem| one_line(problem)));
            if !reasons.required().is_empty() {
                let all: Vec<String> = reasons.required().iter().map(|one| name(one)).collect();
                phrases.push(wait_phrase(&join(&all, "and")));
            }
        }
    }
    about(&mut phrases, report);
    for (word, texts) in [("note", &report.feedback), ("do", &report.instructions)] {
        phrases.extend(texts.iter().map(|text| format!("{word}: {}", one_line(text))));
    }
    phrases.join("; ")
}

/// Adds phrases for all of a report but why the value is refused.
fn about(phrases: &mut Vec<String>, report: &Report) {
    phrases.extend(report.normalized.iter().map(|value| format!("understood as {}", write_value(value))));
    phrases.extend(choices_phrase(&report.choices, usize::MAX, write_value));
    phrases.extend(report.schema.iter().map(|schema| format!("JSON Schema {}", write_value(schema))));
}

fn wait_phrase(names: &str) -> String {
    format!("cannot be judged before {names}")
}

/// Returns which values there are to choose from; of many only the first `most`.
fn choices_phrase(choices: &Choices, most: usize, write: fn(&Value) -> String) -> Option<String> {
    let (values, words) = match choices {
        Choices::Open => return None,
        Choices::Allowed(values) if values.is_empty() => return Some("there is no value to choose".to_owned()),
        Choices::Suggested(values) if values.is_empty() => return None,
        Choices::Allowed(values) => (values, "choose from"),
        Choices::Suggested(values) => (values, "for example"),
    };
    let shown: Vec<String> = values.iter().take(most).map(write).collect();
    let more = if values.len() > most { format!(" and {} more", values.len() - most) } else { String::new() };
    Some(format!("{words} {}{more}", shown.join(", ")))
}

/// Returns a value as it is, on one line.
fn write_value(value: &Value) -> String {
    one_line(&value.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::feedback::{Choices, Reasons, Refusal, Rejection, Report};

    #[test]
    fn everything_is_told_and_each_parameter_has_a_line() {
        let full = Report {
            refused: Some(Reasons::problem("too\nmany").and_problem("odd").and_requires("date").and_requires("time")),
            normalized: Some(json!(3)),
            schema: Some(json!({ "maximum": 2 })),
            choices: Choices::Suggested(vec![json!(1), json!("two")]),
            feedback: vec!["2 are left".into()],
            instructions: vec!["Ask for fewer.".into()],
        };
        let none = Report { choices: Choices::Allowed(vec![]), ..Report::accepted() };
        let told = Rejection::from_message("closed today")
            .and("and tomorrow")
            .field("seats", full)
            .field("a\nb", none)
            .remark("sorry")
            .instruct("Wait.");
        assert_eq!(
            told.to_text(),
            concat!(
                "call: closed today; and tomorrow\n",
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
        let mut report = Report::refused("no");
        report.choices = Choices::Allowed(all);
        let told = Rejection::reported(vec![], vec![("n".into(), report)]);
        assert!(told.to_text().ends_with("37, 38, 39"));
        assert_eq!(told.lines()[1], "`n`: choose from 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 28 more");
    }

    #[test]
    fn an_input_that_is_one_value_is_told_of_as_the_call() {
        let mut report = Report::refused("too short");
        report.choices = Choices::Allowed(vec![json!("abc")]);
        let refusal = Refusal::of_value(report).expect("a reason of its own");
        assert_eq!(refusal.to_text(), r#"call: too short; choose from "abc""#);
    }
}
