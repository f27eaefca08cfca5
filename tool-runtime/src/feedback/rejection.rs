//! Everything that is wrong with the arguments of one call.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Choices, Problem, ProblemKind, Reasons, Report};

/// Why a call was refused: everything that is wrong with its arguments, in one answer, and what would be right.
///
/// The same answer goes to the model, to a person who edits the arguments, and to a form. A tool may also return one as its
/// error, and so may a check across parameters:
///
/// ```
/// use tool_runtime::{Rejection, feedback::{Choices, Report}};
///
/// let mut seats = Report::refused("only 2 seats are left");
/// seats.choices = Choices::Allowed(vec![1.into(), 2.into()]);
/// let told = Rejection::told("this flight is nearly full").field("passengers", seats).instruct("Ask for fewer seats.");
/// assert_eq!(told.to_json().to_string(), concat!(
///     r#"{"ok":false,"problems":["this flight is nearly full"],"validationResults":{"passengers":{"valid":false,"#,
///     r#""problems":["only 2 seats are left"],"allowedValues":[1,2]}},"instructions":["Ask for fewer seats."]}"#,
/// ));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rejection {
    problems: Vec<Problem>,
    /// What is said about parameters beyond `problems`, in the order in which it is told.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    reports: Vec<(String, Report)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    feedback: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    instructions: Vec<String>,
    /// What nobody is told, for the log.
    #[serde(skip)]
    causes: Vec<String>,
}

impl Rejection {
    /// A rejection for `problems`, in the order in which they are told.
    ///
    /// An empty list becomes one problem that says so: a rejection always has a reason.
    pub fn new(problems: Vec<Problem>) -> Self {
        Self::reported(problems, Vec::new())
    }

    /// A rejection for one problem.
    pub fn one(problem: Problem) -> Self {
        Self::new(vec![problem])
    }

    /// A rejection of the call as a whole, for a reason in plain words.
    pub fn told(problem: impl Into<String>) -> Self {
        Self::one(Problem::new("", ProblemKind::Told, problem))
    }

    /// A rejection for what is wrong with one parameter.
    pub fn of(parameter: impl Into<String>, reasons: impl Into<Reasons>) -> Self {
        Self::reported(Vec::new(), vec![(parameter.into(), Report::refused(reasons))])
    }

    /// A rejection for `problems`, with `reports` about parameters in the order in which they are told.
    ///
    /// If nothing is wrong by either, a problem says so: a rejection always has a reason.
    pub fn reported(mut problems: Vec<Problem>, reports: Vec<(String, Report)>) -> Self {
        if problems.is_empty() && reports.iter().all(|(_, report)| report.is_valid()) {
            problems.push(Problem::new("", ProblemKind::Invalid, "arguments that the tool accepts"));
        }
        Self { problems, reports, feedback: Vec::new(), instructions: Vec::new(), causes: Vec::new() }
    }

    /// Adds a reason in plain words.
    pub fn and(mut self, problem: impl Into<String>) -> Self {
        self.problems.push(Problem::new("", ProblemKind::Told, problem));
        self
    }

    /// Says something about the parameter `name`, in place of what was said of it before.
    pub fn field(mut self, name: impl Into<String>, report: Report) -> Self {
        let name = name.into();
        match self.reports.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => *known = report,
            None => self.reports.push((name, report)),
        }
        self
    }

    /// Adds a remark.
    pub fn remark(mut self, text: impl Into<String>) -> Self {
        self.feedback.push(text.into());
        self
    }

    /// Adds what the caller should do.
    pub fn instruct(mut self, text: impl Into<String>) -> Self {
        self.instructions.push(text.into());
        self
    }

    /// Adds what is for the log only.
    pub(crate) fn because(mut self, causes: impl IntoIterator<Item = String>) -> Self {
        self.causes.extend(causes);
        self
    }

    /// What happened that nobody is told, for the log: how validators failed. It is not kept with the run.
    pub fn causes(&self) -> &[String] {
        &self.causes
    }

    /// The problems that were found when the arguments were read, and those of the call as a whole.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// What is said about parameters beyond [`problems`](Self::problems), in the order in which it is told.
    pub fn reports(&self) -> &[(String, Report)] {
        &self.reports
    }

    /// Remarks.
    pub fn feedback(&self) -> &[String] {
        &self.feedback
    }

    /// What the caller should do.
    pub fn instructions(&self) -> &[String] {
        &self.instructions
    }

    /// What is wrong, a line for each problem, for a person to read.
    pub fn lines(&self) -> Vec<String> {
        let mut lines: Vec<String> = self.problems.iter().map(Problem::to_string).collect();
        for (name, report) in &self.reports {
            let Some(reasons) = &report.refused else { continue };
            let name = super::name(name);
            lines.extend(reasons.problems().iter().map(|problem| format!("{name}: {problem}")));
            if !reasons.required().is_empty() {
                let first = super::names(reasons.required().iter().map(String::as_str), "and");
                lines.push(format!("{name}: cannot be judged before {first}"));
            }
            if let (Choices::Allowed(values) | Choices::Suggested(values), true) = (&report.choices, !report.is_valid())
            {
                lines.push(format!("{name}: {}", offered(values)));
            }
        }
        lines.extend(self.feedback.iter().chain(&self.instructions).cloned());
        lines
    }

    /// The rejection as the JSON object that a model gets: `ok`, `problems` of the call as a whole, `validationResults` by
    /// parameter, `feedback` and `instructions`.
    pub fn to_json(&self) -> Value {
        let mut call = Vec::new();
        let mut fields: Vec<(String, Report)> = Vec::new();
        for problem in &self.problems {
            match problem.about() {
                None => call.push(Value::String(problem.to_string())),
                Some(name) => add(&mut fields, name, problem),
            }
        }
        for (name, report) in &self.reports {
            match fields.iter_mut().find(|(known, _)| known == name) {
                None => fields.push((name.clone(), report.clone())),
                Some((_, known)) => *known = merge(known, report),
            }
        }
        let mut out = Map::new();
        out.insert("ok".into(), Value::Bool(false));
        if !call.is_empty() {
            out.insert("problems".into(), Value::Array(call));
        }
        if !fields.is_empty() {
            let fields = fields.iter().map(|(name, report)| (name.clone(), serde_json::json!(report)));
            out.insert("validationResults".into(), Value::Object(fields.collect()));
        }
        for (key, texts) in [("feedback", &self.feedback), ("instructions", &self.instructions)] {
            if !texts.is_empty() {
                out.insert(key.into(), serde_json::json!(texts));
            }
        }
        Value::Object(out)
    }
}

/// Which values there are to choose from, in words; of many only the first.
fn offered(values: &[Value]) -> String {
    const SHOWN: usize = 12;
    if values.is_empty() {
        return "there is no value to choose".to_owned();
    }
    let shown: Vec<String> = values.iter().take(SHOWN).map(super::shorten).collect();
    let more = if values.len() > SHOWN { format!(" and {} more", values.len() - SHOWN) } else { String::new() };
    format!("choose from {}{more}", shown.join(", "))
}

/// Adds `problem` to what is said about the parameter `name`.
fn add(fields: &mut Vec<(String, Report)>, name: String, problem: &Problem) {
    let at = fields.iter().position(|(known, _)| *known == name).unwrap_or(fields.len());
    if at == fields.len() {
        fields.push((name, Report::accepted()));
    }
    fields[at].1.add(problem);
}

/// What a tool says of a parameter, with what was wrong with it already when it was read.
fn merge(read: &Report, told: &Report) -> Report {
    let mut report = told.clone();
    report.refused = match (read.refused.clone(), report.refused) {
        (Some(first), Some(second)) => Some(first.and(second)),
        (first, second) => first.or(second),
    };
    if report.choices == Choices::Open {
        report.choices = read.choices.clone();
    }
    report
}

impl fmt::Display for Rejection {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.lines().join("\n"))
    }
}

impl std::error::Error for Rejection {}
