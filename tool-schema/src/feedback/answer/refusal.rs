//! The answer to a call that was refused.

use std::{borrow::Cow, ops::Deref};

use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::Value;

use crate::feedback::{Choices, Problem, ProblemKind, Rejection, Report, wire, words};

/// The answer to a call that was refused: why, of the call as a whole and by parameter; or, where the input is one value and
/// no object of parameters, of that value.
///
/// It is made from a [`Rejection`], which knows more of each problem, or read. Its JSON has `ok`, `problems`,
/// `validationResults` or what is said of the value, `feedback` and `instructions`.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    pub(super) problems: Vec<String>,
    /// Not empty, unless there are `problems`.
    pub(super) reports: Vec<(String, Report)>,
    /// What is said of an input that is one value; nothing, where there are `reports`.
    pub(super) normalized: Option<Value>,
    pub(super) schema: Option<Value>,
    pub(super) choices: Choices,
    pub(super) feedback: Vec<String>,
    pub(super) instructions: Vec<String>,
}

impl Refusal {
    /// A refusal of an input that is one value and no object of parameters, for what `report` says of it.
    ///
    /// `None` where the report accepts the value, or has it wait for a parameter: there are none.
    pub fn of_value(report: Report) -> Option<Self> {
        let reasons = report.refused.filter(|reasons| reasons.required().is_empty())?;
        Some(Self {
            problems: reasons.problems().to_vec(),
            reports: Vec::new(),
            normalized: report.normalized,
            schema: report.schema,
            choices: match report.choices {
                Choices::Suggested(values) if values.is_empty() => Choices::Open,
                choices => choices,
            },
            feedback: report.feedback,
            instructions: report.instructions,
        })
    }

    /// What is wrong with the call as a whole, or with the value that is its input.
    pub fn problems(&self) -> &[String] {
        &self.problems
    }

    /// What is said of each parameter, in the order in which it is told.
    pub fn reports(&self) -> &[(String, Report)] {
        &self.reports
    }

    /// The value that is the input, as the tool understands it.
    pub fn normalized(&self) -> Option<&Value> {
        self.normalized.as_ref()
    }

    /// A JSON Schema for the value that is the input, given what is known.
    pub fn schema(&self) -> Option<&Value> {
        self.schema.as_ref()
    }

    /// The choices for the value that is the input.
    pub fn choices(&self) -> &Choices {
        &self.choices
    }

    /// Remarks.
    pub fn feedback(&self) -> &[String] {
        &self.feedback
    }

    /// What the caller should do.
    pub fn instructions(&self) -> &[String] {
        &self.instructions
    }

    /// The refusal as a few words: see [`Rejection::to_text`].
    pub fn to_text(&self) -> String {
        words::of_view(&self.view())
    }

    fn view(&self) -> View<'_> {
        View {
            problems: self.problems.iter().map(|problem| Cow::Borrowed(&**problem)).collect(),
            reports: self.reports.iter().map(|(name, report)| (Cow::Borrowed(&**name), Told::Kept(report))).collect(),
            value: (self.normalized.as_ref(), self.schema.as_ref(), &self.choices),
            feedback: &self.feedback,
            instructions: &self.instructions,
        }
    }
}

impl From<&Rejection> for Refusal {
    fn from(rejection: &Rejection) -> Self {
        let view = View::of(rejection);
        Self {
            problems: view.problems.into_iter().map(Cow::into_owned).collect(),
            reports: view.reports.into_iter().map(|(name, report)| (name.into_owned(), report.into_owned())).collect(),
            normalized: None,
            schema: None,
            choices: Choices::Open,
            feedback: view.feedback.to_vec(),
            instructions: view.instructions.to_vec(),
        }
    }
}

/// A refusal that is written, and copies nothing for that where it need not.
#[derive(Debug)]
pub(in crate::feedback) struct View<'a> {
    pub(in crate::feedback) problems: Vec<Cow<'a, str>>,
    pub(in crate::feedback) reports: Vec<(Cow<'a, str>, Told<'a>)>,
    pub(in crate::feedback) value: (Option<&'a Value>, Option<&'a Value>, &'a Choices),
    pub(in crate::feedback) feedback: &'a [String],
    pub(in crate::feedback) instructions: &'a [String],
}

/// What is said of a parameter: kept with the refusal, or put together for the view.
#[derive(Debug)]
pub(in crate::feedback) enum Told<'a> {
    Kept(&'a Report),
    Made(Box<Report>),
}

impl Told<'_> {
    fn add(&mut self, problem: &Problem) {
        match self {
            Self::Kept(report) => *self = Self::Made(Box::new((*report).clone())),
            Self::Made(report) => return report.add(problem),
        }
        self.add(problem);
    }

    fn into_owned(self) -> Report {
        match self {
            Self::Kept(report) => report.clone(),
            Self::Made(report) => *report,
        }
    }
}

impl Deref for Told<'_> {
    type Target = Report;

    fn deref(&self) -> &Report {
        match self {
            Self::Kept(report) => report,
            Self::Made(report) => report,
        }
    }
}

impl<'a> View<'a> {
    /// What `rejection` says, by parameter.
    pub(in crate::feedback) fn of(rejection: &'a Rejection) -> Self {
        let (mut call, mut reports) = (Vec::new(), Vec::<(Cow<'a, str>, Told<'a>)>::new());
        for problem in rejection.problems() {
            match problem.about() {
                None => call.push(Cow::Owned(problem.to_string())),
                Some(name) => {
                    let at = reports.iter().position(|(known, _)| *known == name).unwrap_or(reports.len());
                    if at == reports.len() {
                        reports.push((name.into(), Told::Made(Report::accepted().into())));
                    }
                    reports[at].1.add(problem);
                }
            }
        }
        let read = reports.len();
        reports.reserve(rejection.reports().len());
        for (name, report) in rejection.reports() {
            match reports[..read].iter().position(|(known, _)| known == name) {
                None => reports.push((Cow::Borrowed(name), Told::Kept(report))),
                Some(at) => reports[at].1 = Told::Made(merged(&reports[at].1, report).into()),
            }
        }
        if call.is_empty() && reports.is_empty() {
            // From a record that somebody made: a refusal has a reason.
            call.push(Cow::Owned(
                Problem::new("", ProblemKind::Invalid, "arguments that the tool accepts").to_string(),
            ));
        }
        Self {
            problems: call,
            reports,
            value: (None, None, &Choices::Open),
            feedback: rejection.feedback(),
            instructions: rejection.instructions(),
        }
    }
}

/// What a tool says of a parameter, with what was wrong with it already when it was read.
fn merged(read: &Report, told: &Report) -> Report {
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

impl Serialize for Refusal {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        self.view().serialize(out)
    }
}

impl Serialize for View<'_> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        struct Reports<'a>(&'a [(Cow<'a, str>, Told<'a>)]);

        impl Serialize for Reports<'_> {
            fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
                out.collect_map(self.0.iter().map(|(name, report)| (name, &**report)))
            }
        }

        let mut map = out.serialize_map(None)?;
        map.serialize_entry("ok", &false)?;
        wire::list(&mut map, "problems", &self.problems)?;
        if !self.reports.is_empty() {
            map.serialize_entry("validationResults", &Reports(&self.reports))?;
        }
        let (normalized, schema, choices) = self.value;
        if let Some(value) = normalized {
            map.serialize_entry("normalizedValue", value)?;
        }
        if let Some(schema) = schema {
            map.serialize_entry("dynamicParameterSchema", schema)?;
        }
        wire::write_choices(&mut map, choices)?;
        wire::list(&mut map, "feedback", self.feedback)?;
        wire::list(&mut map, "instructions", self.instructions)?;
        map.end()
    }
}
