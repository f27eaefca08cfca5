//! Problems, and rejections with all problems of a call's arguments.

use std::{borrow::Cow, fmt};

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::{
    Report,
    answer::View,
    excerpt, for_model,
    report::{CompactReport, Reports},
    text,
};
use crate::schema::pointer;

/// The maximum number of characters of a shown path.
const MAX_PATH_CHARACTERS: usize = 300;

/// One mistake in the arguments of a call: its place, the expected and the given value, and a suggestion.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Problem {
    /// The place: a JSON Pointer (RFC 6901) into the arguments, such as `/unit` or `/stops/2/city`. It is empty for the
    /// arguments as a whole.
    pub path: String,
    /// The kind of mistake.
    pub kind: ProblemKind,
    /// The expectation, as a phrase that follows "expected"; for [`ProblemKind::Message`] a sentence.
    pub expected: String,
    /// The given value, shortened if it is long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub got: Option<String>,
    /// The known name or value that is nearest to the given one. The suggestion is a guess, which is never used automatically.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<String>,
    /// All allowed values, if they are few enough to list.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed: Vec<Value>,
}

/// The kind of a [`Problem`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ProblemKind {
    /// The text is not JSON.
    Malformed,
    /// The arguments are too large or nested too deep.
    TooLarge,
    /// A required parameter or field was not given.
    Missing,
    /// A name that the tool does not know.
    Unknown,
    /// A name that was given twice.
    Duplicate,
    /// A value of the wrong JSON type.
    WrongType,
    /// A number outside its declared range.
    OutOfRange,
    /// A text, list or object that is too short or too long.
    WrongLength,
    /// A text that does not match its declared pattern or format.
    NoMatch,
    /// A value that is not among the allowed ones.
    NotAllowed,
    /// Any other value that the parameter's type rejected.
    Invalid,
    /// A sentence of the tool or of one of its checks, in place of an expectation.
    Message,
}

impl Problem {
    /// Creates a problem at `path`, with a description of the expected value.
    pub fn new(path: impl Into<String>, kind: ProblemKind, expected: impl Into<String>) -> Self {
        Self { path: path.into(), kind, expected: expected.into(), got: None, suggestion: None, allowed: Vec::new() }
    }

    /// Adds the given value.
    pub fn got(mut self, got: impl Into<String>) -> Self {
        self.got = Some(got.into());
        self
    }

    /// Sets or removes the suggestion.
    pub fn suggest(mut self, suggestion: Option<String>) -> Self {
        self.suggestion = suggestion;
        self
    }

    /// Adds the values that are allowed.
    pub fn allowed(mut self, allowed: Vec<Value>) -> Self {
        self.allowed = allowed;
        self
    }

    /// Returns the name of the parameter that the problem is in, or `None` for the arguments as a whole.
    pub fn parameter(&self) -> Option<String> {
        let first = self.path.strip_prefix('/')?.split('/').next()?;
        Some(pointer::last(first))
    }

    /// Returns the parameter that the problem belongs to, or `None` for the call as a whole, as for an unknown parameter.
    pub fn about(&self) -> Option<String> {
        self.parameter().filter(|_| self.kind != ProblemKind::Unknown || self.is_nested())
    }

    /// Returns the place as names and indices with dots between them, such as `stops.2.city`. A long place is truncated.
    pub(super) fn dotted_path(&self) -> String {
        let path: Vec<String> = self.path.split('/').skip(1).map(pointer::last).collect();
        excerpt(&path.join("."), MAX_PATH_CHARACTERS)
    }

    /// Returns whether the problem is inside the parameter's value.
    pub fn is_nested(&self) -> bool {
        self.path.matches('/').count() > 1
    }

    /// Returns the problem moved below `place`, a JSON Pointer.
    pub fn below(&self, place: &str) -> Cow<'_, Self> {
        if place.is_empty() {
            return Cow::Borrowed(self);
        }
        Cow::Owned(Self { path: format!("{place}{}", self.path), ..self.clone() })
    }

    /// Returns the problem without its place, as one sentence.
    pub fn sentence(&self) -> String {
        let mut text = match self.kind {
            ProblemKind::Message => text::or_no_reason(self.expected.clone()),
            ProblemKind::Missing => format!("missing: expected {}", self.expected),
            ProblemKind::Unknown => format!("unknown name: expected {}", self.expected),
            ProblemKind::Duplicate => format!("given more than once: expected {}", self.expected),
            _ => format!("expected {}", self.expected),
        };
        if let Some(got) = &self.got {
            text.push_str(", got ");
            text.push_str(got);
        }
        if let Some(suggestion) = &self.suggestion {
            text.push_str("; did you mean ");
            text.push_str(suggestion);
            text.push('?');
        }
        text
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            out.write_str(&self.sentence())
        } else {
            let path = self.path.trim_start_matches('/').replace('/', ".");
            write!(out, "`{}`: {}", excerpt(&path, MAX_PATH_CHARACTERS), self.sentence())
        }
    }
}

/// The answer to wrong arguments: all their problems at once, and the values that would be accepted.
///
/// The model, a person who edits the arguments, and a form all receive the rejection. A tool, or a check across parameters, may
/// also return a rejection as its error:
///
/// ```
/// use tool_schema::feedback::{Rejection, Choices, Report};
///
/// let mut seats = Report::rejected("only 2 seats are left");
/// seats.choices = Choices::Allowed(vec![1.into(), 2.into()]);
/// let rejection = Rejection::from_message("this flight is nearly full");
/// let rejection = rejection.report("passengers", seats).instruct("Ask for fewer seats.");
/// assert_eq!(rejection.to_json().to_string(), concat!(
///     r#"{"ok":false,"problems":["this flight is nearly full"],"validationResults":{"passengers":{"valid":false,"#,
///     r#""problems":["only 2 seats are left"],"allowedValues":[1,2]}},"instructions":["Ask for fewer seats."]}"#,
/// ));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rejection(Box<Parts>);

/// The contents of a rejection. They are boxed, so that error types stay small.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Parts {
    problems: Vec<Problem>,
    /// Reports on parameters in addition to `problems`, in the order of the answer, one per parameter.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "deserialize_reports")]
    reports: Reports,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    feedback: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    instructions: Vec<String>,
    /// The text for the model. Without it, the model receives the JSON.
    #[serde(default, rename = "text", skip_serializing_if = "Option::is_none")]
    for_model: Option<Box<str>>,
    /// Causes for hooks and observers, which no answer contains.
    #[serde(skip)]
    causes: Vec<String>,
}

impl Rejection {
    /// Creates a rejection with `problems`, in the order of the answer.
    ///
    /// An empty list is replaced by a general problem, because a rejection always has a reason.
    pub fn new(problems: Vec<Problem>) -> Self {
        Self::reported(problems, Vec::new())
    }

    /// Creates a rejection with one problem.
    pub fn one(problem: Problem) -> Self {
        Self::new(vec![problem])
    }

    /// Creates a rejection of the call as a whole, with a reason in plain words.
    pub fn from_message(problem: impl Into<String>) -> Self {
        Self::one(Problem::new("", ProblemKind::Message, problem))
    }

    /// Creates a rejection because of one parameter, with a problem in plain words or a whole report.
    ///
    /// ```
    /// use tool_schema::feedback::{Rejection, Report};
    ///
    /// let missing = Rejection::of("query", "say what to search for");
    /// let report = Report::rejected("this word is not allowed").instruct("Try another word.");
    /// let text = Rejection::of("query", report).to_json_text();
    /// # assert_eq!(missing.lines(), ["`query`: say what to search for"]);
    /// # assert!(text.contains(r#""instructions":["Try another word."]"#));
    /// ```
    pub fn of(parameter: impl Into<String>, report: impl Into<Report>) -> Self {
        Self::reported(Vec::new(), vec![(parameter.into(), report.into())])
    }

    /// Creates a rejection with `problems`, and with `reports` on parameters in the order of the answer.
    ///
    /// If neither list contains a problem, a general problem is added, because a rejection always has a reason. Of two reports
    /// on one parameter, the last counts.
    pub fn reported(problems: Vec<Problem>, reports: Vec<(String, Report)>) -> Self {
        let owned = reports.into_iter().map(|(name, report)| (Cow::Owned(name), report.into()));
        Self::from_distinct(problems, deduplicate(owned))
    }

    /// Creates a rejection like [`reported`](Self::reported) from reports on different parameters.
    #[doc(hidden)]
    pub fn from_distinct(mut problems: Vec<Problem>, reports: Reports) -> Self {
        if problems.is_empty() && reports.iter().all(|(_, report)| report.is_valid()) {
            problems.push(Problem::new("", ProblemKind::Invalid, "arguments that the tool accepts"));
        }
        let (feedback, instructions, causes) = (Vec::new(), Vec::new(), Vec::new());
        Self(Box::new(Parts { problems, reports, feedback, instructions, for_model: None, causes }))
    }

    /// Adds a reason in plain words.
    pub fn and(mut self, problem: impl Into<String>) -> Self {
        self.0.for_model = None;
        self.0.problems.push(Problem::new("", ProblemKind::Message, problem));
        self
    }

    /// Adds a report on the parameter `name`, or replaces an earlier one.
    pub fn report(mut self, name: impl Into<String>, report: impl Into<Report>) -> Self {
        self.0.for_model = None;
        put(&mut self.0.reports, Cow::Owned(name.into()), report.into().into());
        self
    }

    /// Adds a remark.
    pub fn remark(mut self, text: impl Into<String>) -> Self {
        self.0.for_model = None;
        self.0.feedback.push(text.into());
        self
    }

    /// Adds an instruction for the caller.
    pub fn instruct(mut self, text: impl Into<String>) -> Self {
        self.0.for_model = None;
        self.0.instructions.push(text.into());
        self
    }

    /// Adds the text for the model, for a call of `tool` with this text of its arguments. `schema` is the schema of the arguments.
    ///
    /// It begins with [`REJECTED`](super::REJECTED), and has a line for each problem, and the form of the right call with types and choices. Of many
    /// problems, it has the first ones and the number of others. A form of more than 600 bytes has only the wrong and missing
    /// parameters. If a problem or a report is added later, the rejection has no such text until it is explained again.
    ///
    /// ```
    /// use serde_json::json;
    /// use tool_schema::{feedback::Rejection, schema::CompiledSchema};
    ///
    /// let unit = json!({ "enum": ["celsius", "kelvin"] });
    /// let schema = json!({ "type": "object", "properties": { "city": { "type": "string" }, "unit": unit }, "required": ["city", "unit"] });
    /// let sent = json!({ "city": "Oslo", "unit": "celcius" });
    /// let rejection = Rejection::new(CompiledSchema::compile(&schema)?.problems(&sent, ""));
    /// let rejection = rejection.explain("weather", &schema, &sent.to_string());
    /// assert_eq!(rejection.for_model(), Some(concat!(
    ///     "The call was rejected. Correct these problems and call again:\n",
    ///     "unit: expected one of \"celsius\", \"kelvin\", got \"celcius\"; did you mean \"celsius\"?\n",
    ///     "Call it like this: {\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\", \"unit\": \"<celsius|kelvin>\"}}",
    /// )));
    /// # Ok::<(), tool_schema::schema::CompileError>(())
    /// ```
    pub fn explain(mut self, tool: &str, schema: &Value, arguments: &str) -> Self {
        self.0.for_model = Some(for_model::explain(&self, tool, schema, arguments).into());
        self
    }

    /// Returns the text for the model ([`explain`](Self::explain)). Without one, the model receives [`to_json`](Self::to_json).
    pub fn for_model(&self) -> Option<&str> {
        self.0.for_model.as_deref()
    }

    /// Adds causes for hooks and observers, which neither the model nor the person sees.
    pub fn with_causes(mut self, causes: impl IntoIterator<Item = String>) -> Self {
        self.0.causes.extend(causes);
        self
    }

    /// Returns the causes for hooks and observers, such as failures of validators. No answer contains them, and the run does not store them.
    pub fn causes(&self) -> &[String] {
        &self.0.causes
    }

    /// Returns the problems that were found when the arguments were read, and those of the call as a whole.
    pub fn problems(&self) -> &[Problem] {
        &self.0.problems
    }

    /// Returns the reports on parameters in addition to [`problems`](Self::problems), by name, in the order of the answer.
    pub fn reports(&self) -> impl ExactSizeIterator<Item = (&str, &Report)> {
        self.0.reports.iter().map(|(name, report)| (&**name, &**report))
    }

    /// Returns the remarks.
    pub fn remarks(&self) -> &[String] {
        &self.0.feedback
    }

    /// Returns the instructions for the caller.
    pub fn instructions(&self) -> &[String] {
        &self.0.instructions
    }

    /// Returns lines for people: one for each problem, reason, remark and instruction, and one for a parameter's choices.
    pub fn lines(&self) -> Vec<String> {
        let mut lines: Vec<String> = self.0.problems.iter().map(Problem::to_string).collect();
        for (name, report) in self.reports().filter(|(_, report)| !report.is_valid()) {
            let name = super::quote_name(name);
            lines.extend(text::describe_refusal(report).into_iter().map(|phrase| format!("{name}: {phrase}")));
        }
        lines.extend(self.0.feedback.iter().chain(&self.0.instructions).cloned());
        lines
    }

    /// Returns the rejection as a JSON object, for programs, and for models in [`FeedbackFormat::Json`](super::FeedbackFormat): `ok`, `problems` of the call as a whole,
    /// `validationResults` by parameter, `feedback` and `instructions`.
    pub fn to_json(&self) -> Value {
        serde_json::json!(View::of(self))
    }

    /// Returns the text of [`to_json`](Self::to_json), without building a [`Value`].
    pub fn to_json_text(&self) -> String {
        // Serialization cannot fail, because all keys are texts.
        serde_json::to_string(&View::of(self)).unwrap_or_default()
    }

    /// Returns [`to_json`](Self::to_json) as a text of fewer tokens: a line for the call, a line for each parameter, then
    /// remarks (`note`) and instructions (`do`). Values are JSON, and all choices are listed.
    ///
    /// ```
    /// use tool_schema::feedback::{Rejection, Choices, Reasons, Report};
    ///
    /// let mut arrival = Report::rejected("no flight goes there");
    /// arrival.choices = Choices::Allowed(vec!["Paris".into(), "New York".into()]);
    /// let reported = Rejection::reported(vec![], vec![("departure".into(), Report::accepted()), ("arrival".into(), arrival)])
    ///     .report("date", Report::rejected(Reasons::requires("arrival")))
    ///     .instruct("Ask where the person wants to go.");
    /// assert_eq!(reported.to_text(), "\
    /// departure: ok
    /// arrival: no flight goes there; choose from \"Paris\", \"New York\"
    /// date: cannot be judged before `arrival`
    /// do: Ask where the person wants to go.");
    /// ```
    pub fn to_text(&self) -> String {
        text::describe(&View::of(self))
    }
}

fn put(reports: &mut Reports, name: Cow<'static, str>, report: CompactReport) {
    match reports.iter_mut().find(|(known, _)| *known == name) {
        Some((_, known)) => *known = report,
        None => reports.push((name, report)),
    }
}

fn deduplicate(reports: impl ExactSizeIterator<Item = (Cow<'static, str>, CompactReport)>) -> Reports {
    let mut reported = Vec::with_capacity(reports.len());
    reports.for_each(|(name, report)| put(&mut reported, name, report));
    reported
}

/// Reads reports of a record that another program may have written.
fn deserialize_reports<'de, D: Deserializer<'de>>(from: D) -> Result<Reports, D::Error> {
    Reports::deserialize(from).map(|reports| deduplicate(reports.into_iter()))
}

impl fmt::Display for Rejection {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.lines().join("\n"))
    }
}

impl std::error::Error for Rejection {}
