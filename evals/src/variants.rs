//! Answers to a wrong call that differ in one part.

use serde_json::Value;
use tool_runtime::{Rejection, Toolset};

use crate::answers::{Case, FORM, reject};

/// The answers, from the most important one on.
pub const VARIANTS: [&str; 12] = [
    TODAY, "sentence", "filled", "problems", "json", "again", "form", "first", "plain", "schema", "unlisted", "nothing",
];

/// The answer that a model receives by default.
pub const TODAY: &str = "today";

/// Returns the text of a variant for a case:
///
/// | variant | text |
/// |---|---|
/// | `today` | the default: the sentence, all problems, and the form of the right call |
/// | `sentence` | the sentence and the problems |
/// | `filled` | as `today`, with the accepted values in the form |
/// | `problems` | the problems |
/// | `json` | the JSON of tool2agent |
/// | `again` | a request to try again |
/// | `form` | the sentence and the form |
/// | `first` | as `today`, with the first problem only |
/// | `plain` | as `today`, without "did you mean" |
/// | `schema` | a request to try again, and the schema |
/// | `unlisted` | as `today`, without the allowed values in the problems |
/// | `nothing` | an empty text |
pub async fn text(variant: &str, tools: &Toolset, case: &Case) -> Option<String> {
    let rejection = reject(tools, case).await?;
    let today = rejection.for_model()?.to_owned();
    let (sentence, rest) = today.split_once('\n')?;
    let (form, problems): (Vec<&str>, Vec<&str>) = rest.lines().partition(|line| line.starts_with(FORM));
    let join = |parts: &[&[&str]]| parts.concat().join("\n");
    let without_hint = |line: &&str| line.split("; did you mean").next().unwrap_or_default().to_owned();
    Some(match variant {
        "today" => today.clone(),
        "sentence" => join(&[&[sentence], &problems]),
        "filled" => {
            let filled: Vec<String> = form.iter().map(|line| fill(line, case, &rejection)).collect();
            let filled: Vec<&str> = filled.iter().map(String::as_str).collect();
            join(&[&[sentence], &problems, &filled])
        }
        "problems" => join(&[&problems]),
        "json" => rejection.to_json_text(),
        "again" => "Error: invalid arguments. Please try again.".to_owned(),
        "form" => join(&[&[sentence], &form]),
        "first" => join(&[&[sentence], &problems[..problems.len().min(1)], &form]),
        "plain" => {
            let plain: Vec<String> = problems.iter().map(without_hint).collect();
            let plain: Vec<&str> = plain.iter().map(String::as_str).collect();
            join(&[&[sentence], &plain, &form])
        }
        "schema" => {
            let schema = tools.get(&case.tool)?.spec().input.neutral().to_string();
            format!("Error: invalid arguments. The tool's parameters: {schema}")
        }
        "unlisted" => {
            let unlisted: Vec<String> = problems.iter().map(|line| unlist(line)).collect();
            let unlisted: Vec<&str> = unlisted.iter().map(String::as_str).collect();
            join(&[&[sentence], &unlisted, &form])
        }
        "nothing" => String::new(),
        _ => return None,
    })
}

/// Returns the line with the form, with the values of the call that have no problem in place of their types.
fn fill(line: &str, case: &Case, rejection: &Rejection) -> String {
    let mut line = line.to_owned();
    let wrong: Vec<String> =
        rejection.problems().iter().filter_map(tool_runtime::feedback::Problem::parameter).collect();
    for (name, value) in case.sent.iter().filter(|(name, _)| !wrong.contains(name)) {
        let key = format!("{}: ", Value::from(name.as_str()));
        let Some(from) = line.find(&key).map(|at| at + key.len()) else { continue };
        let Some(length) = placeholder(&line[from..]) else { continue };
        line.replace_range(from..from + length, &value.to_string());
    }
    line
}

/// Returns the length of the value at the beginning of `text`, which ends before a comma or a bracket that it has not opened.
fn placeholder(text: &str) -> Option<usize> {
    let (mut depth, mut quoted) = (0, false);
    for (at, c) in text.char_indices() {
        match c {
            '"' => quoted = !quoted,
            _ if quoted => {}
            '}' | ']' | ',' if depth == 0 => return Some(at),
            '{' | '[' | '<' => depth += 1,
            '}' | ']' | '>' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// Returns the line without the values between "one of" and ", got".
fn unlist(line: &str) -> String {
    match (line.find("one of "), line.find(", got ")) {
        (Some(from), Some(to)) if from < to => format!("{}another value{}", &line[..from], &line[to..]),
        _ => line.to_owned(),
    }
}
