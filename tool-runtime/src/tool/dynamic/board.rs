//! What is known so far about the parameters of one call.

use std::{any::Any, fmt, sync::OnceLock};

use serde_json::Value;

use crate::feedback::{Choices, Report};

/// A value whose type is not known here.
pub type Kept = Box<dyn Any + Send + Sync>;

/// What came of one parameter.
pub struct Settled {
    /// The value, if it is accepted.
    pub(crate) value: Option<Kept>,
    pub(crate) report: Report,
    /// The accepted value as JSON, where it is another than was given.
    pub(crate) changed: Option<Value>,
    /// What is told of the parts of the value instead of the value as a whole.
    pub(crate) parts: Vec<(String, Report)>,
    /// What is not told, for the log.
    pub(crate) cause: Option<String>,
}

impl Settled {
    /// A parameter whose value was accepted without a word.
    pub(crate) fn accepted(value: Kept) -> Self {
        Self { value: Some(value), report: Report::accepted(), changed: None, parts: Vec::new(), cause: None }
    }

    /// A parameter whose value was refused.
    pub(crate) fn refused(report: Report) -> Self {
        Self { value: None, report, changed: None, parts: Vec::new(), cause: None }
    }

    /// The same of a parameter whose value could not be read: what the validator says of its absence counts for nothing, but
    /// what there is to choose from does.
    pub(super) fn with_fault(mut self, fault: Option<Report>) -> Self {
        let Some(fault) = fault else { return self };
        (self.value, self.changed, self.report.normalized) = (None, None, None);
        if self.report.choices == Choices::Open {
            self.report.choices = fault.choices;
        }
        self.report.refused = fault.refused;
        self
    }

    /// Takes what is told of it, under its name or those of its parts.
    pub(super) fn take_reports(&mut self, name: &str) -> impl Iterator<Item = (String, Report)> {
        let own = self.parts.is_empty().then(|| {
            let report = std::mem::replace(&mut self.report, Report::accepted());
            (name.to_owned(), report)
        });
        let parts = std::mem::take(&mut self.parts).into_iter();
        own.into_iter().chain(parts.map(move |(part, report)| (format!("{name}.{part}"), report)))
    }
}

impl fmt::Debug for Settled {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Settled").field("report", &self.report).finish_non_exhaustive()
    }
}

/// What is known so far about the parameters of one call: a place for each, in the order of the declaration.
#[derive(Debug)]
pub struct Board(Vec<OnceLock<Settled>>);

impl Board {
    /// A board for so many parameters.
    pub(crate) fn new(parameters: usize) -> Self {
        Self(std::iter::repeat_with(OnceLock::new).take(parameters).collect())
    }

    /// The accepted value of a parameter.
    pub fn get<T: 'static>(&self, field: usize) -> Option<&T> {
        self.0[field].get()?.value.as_deref()?.downcast_ref()
    }

    /// What came of a parameter.
    pub(crate) fn settled(&self, field: usize) -> Option<&Settled> {
        self.0[field].get()
    }

    /// Whether a parameter has an accepted value.
    pub(crate) fn has(&self, field: usize) -> bool {
        self.settled(field).is_some_and(|settled| settled.value.is_some())
    }

    pub(crate) fn settle(&self, field: usize, settled: Settled) {
        let twice = self.0[field].set(settled).is_err();
        debug_assert!(!twice, "a parameter is settled once");
    }

    /// Takes what came of every parameter.
    pub(crate) fn into_settled(self) -> impl Iterator<Item = Option<Settled>> {
        self.0.into_iter().map(OnceLock::into_inner)
    }
}
