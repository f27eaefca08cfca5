//! Answers to a wrong call that differ in one part.

use tool_runtime::{
    Rejection, Toolset,
    feedback::{Problem, ProblemKind},
};

use crate::answers::{Case, FORM, reject};

/// The answers, from the most important one on.
pub const VARIANTS: [&str; 12] = [
    DEFAULT, "types", "sentence", "problems", "json", "again", "form", "first", "plain", "schema", "unlisted",
    "nothing",
];

/// The answer that a model receives by default.
pub const DEFAULT: &str = "default";

/// Returns the text of a variant for a case:
///
/// | variant | text |
/// |---|---|
/// | `default` | the sentence, all problems, and the form of the right call with the accepted values |
/// | `types` | as `default`, with types in place of the accepted values |
/// | `sentence` | the sentence and the problems |
/// | `problems` | the problems |
/// | `json` | the JSON of tool2agent |
/// | `again` | a request to try again |
/// | `form` | the sentence and the form |
/// | `first` | as `default`, with the first problem only |
/// | `plain` | as `default`, without "did you mean" |
/// | `schema` | a request to try again, and the schema |
/// | `unlisted` | as `default`, without the allowed values in the problems |
/// | `nothing` | an empty text |
pub async fn text(variant: &str, tools: &Toolset, case: &Case) -> Option<String> {
    let rejection = reject(tools, case).await?;
    let default = rejection.for_model()?.to_owned();
    let (sentence, rest) = default.split_once('\n')?;
    let (form, problems): (Vec<&str>, Vec<&str>) = rest.lines().partition(|line| line.starts_with(FORM));
    let join = |parts: &[&[&str]]| parts.concat().join("\n");
    let rewritten = |change: fn(&str) -> String| {
        let problems: Vec<String> = problems.iter().map(|line| change(line)).collect();
        let problems: Vec<&str> = problems.iter().map(String::as_str).collect();
        join(&[&[sentence], &problems, &form])
    };
    Some(match variant {
        DEFAULT => default.clone(),
        "sentence" => join(&[&[sentence], &problems]),
        "types" => {
            let types = types_of(tools, case);
            join(&[&[sentence], &problems, types.as_deref().as_slice()])
        }
        "problems" => join(&[&problems]),
        "json" => rejection.to_json_text(),
        "again" => "Error: invalid arguments. Please try again.".to_owned(),
        "form" => join(&[&[sentence], &form]),
        "first" => join(&[&[sentence], &problems[..problems.len().min(1)], &form]),
        "plain" => rewritten(|line| line.split("; did you mean").next().unwrap_or_default().to_owned()),
        "schema" => {
            let schema = tools.get(&case.tool)?.spec().input.neutral().to_string();
            format!("Error: invalid arguments. The tool's parameters: {schema}")
        }
        "unlisted" => rewritten(unlist),
        "nothing" => String::new(),
        _ => return None,
    })
}

/// Returns the line with the form, in which every parameter of the call has its type: that of a call in which each of them is wrong.
fn types_of(tools: &Toolset, case: &Case) -> Option<String> {
    let schema = tools.get(&case.tool)?.spec().input.neutral();
    let missing = schema["required"].as_array().into_iter().flatten().filter_map(serde_json::Value::as_str);
    let names = case.sent.keys().map(String::as_str).chain(missing);
    let wrong = names.map(|name| Problem::new(format!("/{name}"), ProblemKind::WrongType, "another value"));
    let sent = serde_json::Value::from(case.sent.clone()).to_string();
    let explained = Rejection::new(wrong.collect()).explain(&case.tool, schema, &sent);
    explained.for_model()?.lines().find(|line| line.starts_with(FORM)).map(str::to_owned)
}

/// Returns the line without the values between "one of" and ", got".
fn unlist(line: &str) -> String {
    match (line.find("one of "), line.find(", got ")) {
        (Some(from), Some(to)) if from < to => format!("{}another value{}", &line[..from], &line[to..]),
        _ => line.to_owned(),
    }
}
