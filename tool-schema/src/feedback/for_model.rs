//! The text that a model receives for a rejected call, and texts that a model could take for one.

use std::{
    cell::Cell,
    collections::{HashMap, HashSet},
};

use serde_json::Value;

use super::{Problem, ProblemKind, Rejection, answer::View, call_form::RejectedCall, text};
use crate::json::text::entries;

/// The words with which the text for a rejected call begins. An order to correct the problems follows, if the arguments are wrong.
///
/// No output of a tool begins with these words: an output that does is sent in quotation marks ([`resembles_rejection`]).
///
/// ```
/// use tool_schema::feedback::{REJECTED, resembles_rejection};
///
/// assert!(resembles_rejection([REJECTED]));
/// assert!(resembles_rejection(["**The call was", " rejected**, sorry"]));
/// assert!(!resembles_rejection(["The caller was rejected."]));
/// ```
pub const REJECTED: &str = "The call was rejected";

/// The letters of the beginning by which a model knows a rejection.
const BEGINNING: &str = "thecallwasrejected";

/// The number of letters from which a whole text counts as a part of [`BEGINNING`].
const MIN_LETTERS: usize = "thecall".len();

/// The form in which a model receives a rejection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum FeedbackFormat {
    /// Text: a line that begins with [`REJECTED`], a line for each problem, and the form of the right call.
    #[default]
    Text,
    /// The JSON of [`Rejection::to_json`].
    Json,
}

/// Returns whether texts, one after the other, begin like the text for a rejected call, or are a part of its beginning. Case,
/// spaces and all that is no letter or digit are ignored.
pub fn resembles_rejection<'a>(texts: impl IntoIterator<Item = &'a str>) -> bool {
    let letters = texts.into_iter().flat_map(str::chars).filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase);
    let mut expected = BEGINNING.chars();
    let mut common = 0;
    for letter in letters {
        match expected.next() {
            None => return true,
            Some(next) if next != letter => return false,
            Some(_) => common += 1,
        }
    }
    common >= MIN_LETTERS
}

/// Returns the text that a model receives for a rejected call of `tool`, whose arguments have this schema and this text.
pub fn explain(rejection: &Rejection, tool: &str, schema: &Value, arguments: &str) -> String {
    let view = View::of(rejection);
    let mut lines = Vec::new();
    let rejected = view.reports.iter().filter(|(_, report)| !report.is_valid());
    let mut wrong: HashSet<String> = rejected.map(|(name, _)| first_name(name, schema)).collect();
    wrong.extend(rejection.problems().iter().filter_map(suggested_name));
    let is_message = |problem: &Problem| problem.kind == ProblemKind::Message;
    // The arguments need no correction if all reasons are of the application, such as "the flight is full".
    if wrong.is_empty() && rejection.problems().iter().all(is_message) {
        lines.push(format!("{REJECTED}:"));
        lines.extend(text::describe_problems(&view));
    } else {
        lines.push(format!("{REJECTED}. Correct these problems and call again:"));
        lines.extend(text::describe_problems(&view));
        let reports = view.reports.iter().map(|(name, report)| (&**name, &**report)).collect();
        let mut given: HashMap<String, String> = entries(arguments).into_iter().collect();
        for (name, report) in view.reports.iter().filter(|(name, _)| !wrong.contains(&**name)) {
            if let (Some(given), Some(value)) = (given.get_mut(&**name), &report.normalized) {
                *given = value.to_string();
            }
        }
        lines.extend(RejectedCall { tool, schema, given, wrong, reports, count: Cell::default() }.sentence());
    }
    lines.join("\n")
}

/// Returns the parameter that a path with dots is in.
fn first_name(path: &str, schema: &Value) -> String {
    let is_whole = schema.get("properties").is_some_and(|properties| properties.get(path).is_some());
    if is_whole { path.to_owned() } else { path.split('.').next().unwrap_or_default().to_owned() }
}

/// Returns the name that a problem suggests in place of an unknown parameter.
fn suggested_name(problem: &Problem) -> Option<String> {
    let is_name = problem.kind == ProblemKind::Unknown && !problem.is_nested();
    Some(problem.suggestion.as_ref().filter(|_| is_name)?.trim_matches('`').to_owned())
}
