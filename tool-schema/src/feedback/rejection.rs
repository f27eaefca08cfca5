//! Everything that is wrong with the arguments of one call.

use std::{borrow::Cow, fmt};

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::{
    Problem, ProblemKind, Report,
    answer::View,
    report::{Brief, Reports},
    words,
};

/// Why a call was refused: everything that is wrong with its arguments, in one answer, and what would be right.
///
/// One answer goes to the model, to a person who edits the arguments, and to a form. A tool may also return one as its
/// error, and so may a check across parameters:
///
/// ```
/// use tool_schema::feedback::{Rejection, Choices, Report};
///
/// let mut seats = Report::refused("only 2 seats are left");
/// seats.choices = Choices::Allowed(vec![1.into(), 2.into()]);
/// let told = Rejection::from_message("this flight is nearly full").field("passengers", seats).instruct("Ask for fewer seats.");
/// assert_eq!(told.to_json().to_string(), concat!(
///     r#"{"ok":false,"problems":["this flight is nearly full"],"validationResults":{"passengers":{"valid":false,"#,
///     r#""problems":["only 2 seats are left"],"allowedValues":[1,2]}},"instructions":["Ask for fewer seats."]}"#,
/// ));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rejection(Box<Parts>);

/// In a box, so that what can go wrong does not make everything large that goes well.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Parts {
    problems: Vec<Problem>,
    /// Reports on parameters beyond `problems`, in the order of the answer, one on each.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "reports")]
    reports: Reports,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    feedback: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    instructions: Vec<String>,
    /// The answer in place of all this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    verbatim: Option<Value>,
    /// Causes for the log, which no answer contains.
    #[serde(skip)]
    causes: Vec<String>,
}

impl Rejection {
    /// Returns a rejection for `problems`, in the order of the answer.
    ///
    /// An empty list becomes one problem that says so: a rejection always has a reason.
    pub fn new(problems: Vec<Problem>) -> Self {
        Self::reported(problems, Vec::new())
    }

    /// Returns a rejection for one problem.
    pub fn one(problem: Problem) -> Self {
        Self::new(vec![problem])
    }

    /// Returns a rejection of the call as a whole, for a reason in plain words.
    pub fn from_message(problem: impl Into<String>) -> Self {
        Self::one(Problem::new("", ProblemKind::Told, problem))
    }

    /// Returns a rejection for what is wrong with one parameter: a problem in plain words, or a whole report.
    ///
    /// ```
    /// use tool_schema::feedback::{Rejection, Report};
    ///
    /// let missing = Rejection::of("query", "say what to search for");
    /// let refused = Report::refused("this word is not allowed").instruct("Try another word.");
    /// let told = Rejection::of("query", refused).to_json_text();
    /// # assert_eq!(missing.lines(), ["`query`: say what to search for"]);
    /// # assert!(told.contains(r#""instructions":["Try another word."]"#));
    /// ```
    pub fn of(parameter: impl Into<String>, report: impl Into<Report>) -> Self {
        Self::reported(Vec::new(), vec![(parameter.into(), report.into())])
    }

    /// Returns a rejection for `problems`, with `reports` on parameters in the order of the answer.
    ///
    /// If nothing is wrong by either, a problem says so: a rejection always has a reason. Of a parameter that is reported
    /// twice, the last counts.
    pub fn reported(problems: Vec<Problem>, reports: Vec<(String, Report)>) -> Self {
        let owned = reports.into_iter().map(|(name, report)| (Cow::Owned(name), report.into()));
        Self::distinct(problems, distinct(owned))
    }

    /// Returns a rejection as [`reported`](Self::reported) makes it, for reports that are known to be on different
    /// parameters.
    #[doc(hidden)]
    pub fn distinct(mut problems: Vec<Problem>, reports: Reports) -> Self {
        if problems.is_empty() && reports.iter().all(|(_, report)| report.is_valid()) {
            problems.push(Problem::new("", ProblemKind::Invalid, "arguments that the tool accepts"));
        }
        let (feedback, instructions, causes) = (Vec::new(), Vec::new(), Vec::new());
        Self(Box::new(Parts { problems, reports, feedback, instructions, verbatim: None, causes }))
    }

    /// Adds a reason in plain words.
    pub fn and(mut self, problem: impl Into<String>) -> Self {
        self.0.problems.push(Problem::new("", ProblemKind::Told, problem));
        self
    }

    /// Reports on the parameter `name`, in place of an earlier report on it.
    pub fn field(mut self, name: impl Into<String>, report: impl Into<Report>) -> Self {
        put(&mut self.0.reports, Cow::Owned(name.into()), report.into().into());
        self
    }

    /// Adds a remark.
    pub fn remark(mut self, text: impl Into<String>) -> Self {
        self.0.feedback.push(text.into());
        self
    }

    /// Adds what the caller should do.
    pub fn instruct(mut self, text: impl Into<String>) -> Self {
        self.0.instructions.push(text.into());
        self
    }

    /// Adds causes for the log, which neither a model nor a person sees.
    pub fn with_causes(mut self, causes: impl IntoIterator<Item = String>) -> Self {
        self.0.causes.extend(causes);
        self
    }

    /// Causes for the log, which no answer contains: how validators failed. They are not kept with the run.
    pub fn causes(&self) -> &[String] {
        &self.0.causes
    }

    /// Returns the problems that were found when the arguments were read, and those of the call as a whole.
    pub fn problems(&self) -> &[Problem] {
        &self.0.problems
    }

    /// Returns the reports on parameters beyond [`problems`](Self::problems), in the order of the answer, each under its
    /// name.
    pub fn reports(&self) -> impl ExactSizeIterator<Item = (&str, &Report)> {
        self.0.reports.iter().map(|(name, report)| (&**name, &**report))
    }

    /// Returns the remarks.
    pub fn feedback(&self) -> &[String] {
        &self.0.feedback
    }

    /// Returns the instructions for the caller.
    pub fn instructions(&self) -> &[String] {
        &self.0.instructions
    }

    /// Returns a line for each problem, for a person to read.
    pub fn lines(&self) -> Vec<String> {
        let mut lines: Vec<String> = self.0.problems.iter().map(Problem::to_string).collect();
        for (name, report) in self.reports().filter(|(_, report)| !report.is_valid()) {
            let name = super::name(name);
            lines.extend(words::of_refused(report).into_iter().map(|phrase| format!("{name}: {phrase}")));
        }
        lines.extend(self.0.feedback.iter().chain(&self.0.instructions).cloned());
        lines
    }

    /// Returns the rejection as the JSON object that a model gets: `ok`, `problems` of the call as a whole,
    /// `validationResults` by parameter, `feedback` and `instructions`.
    pub fn to_json(&self) -> Value {
        self.0.verbatim.clone().unwrap_or_else(|| serde_json::json!(View::of(self)))
    }

    /// Returns the text of [`to_json`](Self::to_json), made without the tree.
    pub fn to_json_text(&self) -> String {
        // Nothing in it can fail to be written: all keys are texts.
        match &self.0.verbatim {
            Some(json) => json.to_string(),
            None => serde_json::to_string(&View::of(self)).unwrap_or_default(),
        }
    }

    /// Returns [`to_json`](Self::to_json) in fewer tokens: a line for the call, a line for each parameter, then remarks
    /// (`note`) and instructions (`do`). Values are JSON; all that may be chosen are listed.
    ///
    /// ```
    /// use tool_schema::feedback::{Rejection, Choices, Reasons, Report};
    ///
    /// let mut arrival = Report::refused("no flight goes there");
    /// arrival.choices = Choices::Allowed(vec!["Paris".into(), "New York".into()]);
    /// let told = Rejection::reported(vec![], vec![("departure".into(), Report::accepted()), ("arrival".into(), arrival)])
    ///     .field("date", Report::refused(Reasons::requires("arrival")))
    ///     .instruct("Ask where the person wants to go.");
    /// assert_eq!(told.to_text(), "\
    /// departure: ok
    /// arrival: no flight goes there; choose from \"Paris\", \"New York\"
    /// date: cannot be judged before `arrival`
    /// do: Ask where the person wants to go.");
    /// ```
    pub fn to_text(&self) -> String {
        words::of_view(&View::of(self))
    }
}

fn put(reports: &mut Reports, name: Cow<'static, str>, report: Brief) {
    match reports.iter_mut().find(|(known, _)| *known == name) {
        Some((_, known)) => *known = report,
        None => reports.push((name, report)),
    }
}

fn distinct(reports: impl ExactSizeIterator<Item = (Cow<'static, str>, Brief)>) -> Reports {
    let mut told = Vec::with_capacity(reports.len());
    reports.for_each(|(name, report)| put(&mut told, name, report));
    told
}

/// Reads reports of a record that may not have been written here.
fn reports<'de, D: Deserializer<'de>>(from: D) -> Result<Reports, D::Error> {
    Reports::deserialize(from).map(|reports| distinct(reports.into_iter()))
}

impl fmt::Display for Rejection {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.lines().join("\n"))
    }
}

impl std::error::Error for Rejection {}
