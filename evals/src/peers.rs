//! A table of what models receive from other frameworks for the same wrong calls.

use std::{collections::BTreeSet, fmt, fs, path::Path};

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::answers::{Case, FORM, Mistake, as_number, has_word};
use crate::tools;
use crate::variants;

/// Our answers: the name in the table, and the variant.
const OURS: [(&str, &str); 3] =
    [("ours", variants::DEFAULT), ("ours, without the form of the call", "sentence"), ("ours, as JSON", "json")];

/// The outcome of a case in a framework: a line of its file.
#[derive(Debug, Deserialize)]
struct Answered {
    case: usize,
    /// The arguments of the tool, if it ran.
    ran: Option<Value>,
    /// The text that the model receives.
    answer: String,
}

/// Counts of one framework.
#[derive(Debug, Default, PartialEq)]
struct Row {
    name: String,
    /// The wrong calls that ran with the right values.
    ran_as_meant: usize,
    ran_wrong: usize,
    /// The mistakes of the calls that were rejected.
    mistakes: usize,
    named: usize,
    /// The mistakes whose right value can be known from the schema and the call.
    knowable: usize,
    right_value: usize,
    bytes: usize,
}

/// Returns the table in Markdown: a row for each of our answers, and for each file `NAME.jsonl` of the directory.
pub async fn table(cases: &[Case], directory: &Path) -> Result<String, String> {
    let own = tools::all();
    let mut rows = Vec::new();
    for (name, variant) in OURS {
        let mut row = Row { name: name.to_owned(), ..Row::default() };
        for case in cases {
            let answer = variants::text(variant, &own, case).await;
            row.add(case, &answer.ok_or_else(|| format!("case {} was not rejected", case.id))?);
        }
        rows.push(row);
    }
    let failed = |path: &Path, error: &dyn fmt::Display| format!("{}: {error}", path.display());
    let entries = fs::read_dir(directory).map_err(|error| failed(directory, &error))?;
    let mut files: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
    files.sort();
    for path in files {
        let text = fs::read_to_string(&path).map_err(|error| failed(&path, &error))?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        rows.push(Row::read(name, cases, &text).map_err(|error| failed(&path, &error))?);
    }
    let rows: String = rows.iter().map(ToString::to_string).collect();
    Ok(format!(
        "| what the model receives | ran as meant | ran wrong | mistakes named | right value named | bytes per mistake |\n\
         |---|---|---|---|---|---|\n{rows}"
    ))
}

impl Row {
    /// Reads the answers of a framework, one a line. Every case must have one.
    fn read(name: String, cases: &[Case], text: &str) -> Result<Self, String> {
        let answers: Vec<Answered> = text
            .lines()
            .map(serde_json::from_str)
            .collect::<Result<_, _>>()
            .map_err(|error| format!("a line is no answer: {error}"))?;
        let mut row = Self { name, ..Self::default() };
        for case in cases {
            let answered = answers.iter().find(|answered| answered.case == case.id);
            match answered.ok_or_else(|| format!("case {} has no answer", case.id))? {
                Answered { ran: None, answer, .. } => row.add(case, answer),
                Answered { ran: Some(ran), .. } if is_same(ran, &Value::from(case.right.clone())) => {
                    row.ran_as_meant += 1;
                }
                Answered { .. } => row.ran_wrong += 1,
            }
        }
        Ok(row)
    }

    /// Counts the answer to a rejected call.
    fn add(&mut self, case: &Case, answer: &str) {
        let lines: Vec<&str> = answer.lines().filter(|line| !line.starts_with(FORM)).collect();
        let said = without_copies(&lines.join("\n"), &case.sent);
        self.bytes += answer.len();
        self.mistakes += case.mistakes.len();
        for mistake in &case.mistakes {
            self.named += usize::from(has_word(&said, &mistake.parameter));
            if let Some(has_value) = has_right_value(&said, case, mistake) {
                self.knowable += 1;
                self.right_value += usize::from(has_value);
            }
        }
    }
}

impl fmt::Display for Row {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, ran_as_meant, ran_wrong, mistakes, named, knowable, right_value, bytes } = self;
        let per_mistake = as_number(*bytes) / as_number((*mistakes).max(1));
        writeln!(
            out,
            "| {name} | {ran_as_meant} | {ran_wrong} | {named} of {mistakes} | {right_value} of {knowable} | {per_mistake:.0} |"
        )
    }
}

/// Returns whether the text has the right value of a mistake; `None` if the value cannot be known from the schema and the call.
fn has_right_value(text: &str, case: &Case, mistake: &Mistake) -> Option<bool> {
    let right = case.right.get(&mistake.parameter)?;
    match mistake.class.as_str() {
        // A list of all values has it, too.
        "near-choice" => Some(has_word(text, right.as_str()?)),
        "number-as-text" | "boolean-as-text" => Some(says_meant(text, &right.to_string())),
        "misspelt-name" => Some(says_meant(text, &mistake.parameter)),
        _ => None,
    }
}

/// Returns whether the text has a word such as "mean" just before `right`. Elsewhere, `right` may be a copy, or the number of a column.
fn says_meant(text: &str, right: &str) -> bool {
    text.match_indices("mean").any(|(at, word)| {
        let rest: String = text[at + word.len()..].chars().take(right.chars().count() + 8).collect();
        has_word(&rest, right)
    })
}

/// Returns the text without the call that it repeats: to repeat a name is not to name a mistake.
fn without_copies(text: &str, sent: &Map<String, Value>) -> String {
    let (mut rest, mut out) = (text, String::new());
    while let Some(at) = rest.find('{') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        let length = match values.next() {
            Some(Ok(value)) if is_same(&value, &Value::from(sent.clone())) => values.byte_offset(),
            // Pydantic repeats it in the notation of Python.
            _ if out.ends_with("input_value=") => rest.find(", input_type=").unwrap_or(rest.len()),
            _ => {
                out.push('{');
                1
            }
        };
        rest = &rest[length..];
    }
    out + rest
}

/// Returns whether two values mean the same: numbers by their value, and null as a missing member.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let names: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
            let member = |members: &Map<String, Value>, name: &str| members.get(name).cloned().unwrap_or_default();
            names.into_iter().all(|name| is_same(&member(one, name), &member(other, name)))
        }
        _ => one == other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn answers_of_others_are_counted() {
        let case = |id: usize, class: &str, sent: Value, right: Value| {
            let mistakes = json!([{ "class": class, "parameter": "stars" }]);
            let case = json!({ "id": id, "tool": "rate_film", "mistakes": mistakes, "sent": sent, "right": right });
            serde_json::from_value(case).expect("a case")
        };
        let right = json!({ "film": "M", "stars": 2 });
        let cases: Vec<Case> = vec![
            case(0, "misspelt-name", json!({ "film": "M", "stras": 2 }), right.clone()),
            case(1, "number-as-text", json!({ "film": "M", "stars": "2" }), right.clone()),
            case(2, "number-as-text", json!({ "film": "M", "stars": "2" }), right.clone()),
            case(3, "out-of-range", json!({ "film": "M", "stars": 38 }), right.clone()),
            case(4, "words-for-number", json!({ "film": "M", "stars": "a few" }), right.clone()),
            case(5, "words-for-number", json!({ "film": "M", "stars": "a few" }), right),
        ];
        let lines = [
            r#"{"case": 0, "ran": null, "answer": "stras: unknown; did you mean `stars`?"}"#,
            r#"{"case": 1, "ran": null, "answer": "stars: not an integer: \"2\""}"#,
            r#"{"case": 2, "ran": {"film": "M", "stars": 2.0, "review": null}, "answer": "done"}"#,
            r#"{"case": 3, "ran": {"film": "M", "stars": 38}, "answer": "done"}"#,
            r#"{"case": 4, "ran": null, "answer": "Bad: {\"stars\": \"a few\", \"film\": \"M\"}"}"#,
            r#"{"case": 5, "ran": null, "answer": "bad [input_value={'stars': 'a few'}, input_type=dict]"}"#,
        ];
        let bytes = [37, 26, 36, 53].iter().sum();
        let row = Row::read("other".to_owned(), &cases, &lines.join("\n")).expect("it is readable");
        let counts = Row {
            ran_as_meant: 1,
            ran_wrong: 1,
            mistakes: 4,
            named: 2,
            knowable: 2,
            right_value: 1,
            bytes,
            ..Row::default()
        };
        assert_eq!(row, Row { name: "other".to_owned(), ..counts });
        let error = Row::read(String::new(), &cases, lines[0]).expect_err("answers are missing");
        assert_eq!(error, "case 1 has no answer");
    }
}
