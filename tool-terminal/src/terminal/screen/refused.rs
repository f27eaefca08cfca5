//! A refusal of arguments, for a person.

use serde_json::Value;

use tool_runtime::feedback::{Rejection, Report};

/// What a person sees of a refusal: what is wrong with what was given, or else what the tool asks for. The model is told
/// the rest, and says it in its own words.
pub(super) fn told(feedback: &Rejection, arguments: &str) -> String {
    let arguments: Value = serde_json::from_str(arguments).unwrap_or_default();
    let given = |name: &str| {
        let inside = || name.split('.').try_fold(&arguments, |value, step| value.get(step));
        arguments.get(name).or_else(inside).is_some()
    };
    let refused: Vec<_> = feedback.reports().filter(|(_, report)| !report.is_valid()).collect();
    let judged = |report: &Report| report.refused.as_ref().is_some_and(|reasons| reasons.required().is_empty());
    let wrong = refused.iter().filter(|(name, report)| given(name) && judged(report));
    let wrong: Vec<_> = wrong.map(|(name, report)| ((*name).to_owned(), (*report).clone())).collect();
    match (feedback.problems().is_empty() && !refused.is_empty(), wrong.is_empty()) {
        (true, true) => {
            let asked = refused.iter().map(|(name, _)| *name).filter(|name| !given(name));
            format!(" {arguments} asks for {}", asked.collect::<Vec<_>>().join(", "))
        }
        (_, false) => format!(": {}", Rejection::reported(feedback.problems().to_vec(), wrong)),
        (false, true) => format!(": {feedback}"),
    }
}
