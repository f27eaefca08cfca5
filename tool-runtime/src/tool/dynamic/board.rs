//! What is known so far about the parameters of one call.

use std::{any::Any, borrow::Cow, fmt, sync::OnceLock};

use crate::feedback::{Choices, Report};
use tool_schema::feedback::{Brief, Reports};

/// A value whose type is not known here: an `Option` of it, which a validator empties and fills again without another box.
pub type Kept = Box<dyn Any + Send + Sync>;

/// What came of one parameter.
pub struct Settled {
    /// The value, if it is accepted.
    pub(crate) value: Option<Kept>,
    /// What is told of it; of most that are accepted, nothing.
    pub(crate) report: Option<Box<Report>>,
    /// What most parameters have not.
    rare: Option<Box<Rare>>,
}

/// Apart, so that what is moved for each parameter is small.
#[derive(Default)]
struct Rare {
    changed: Option<Box<str>>,
    parts: Option<Reports>,
    causes: Vec<String>,
}

impl Settled {
    /// A parameter whose value was accepted without a word.
    pub(crate) fn accepted(value: Kept) -> Self {
        Self { value: Some(value), report: None, rare: None }
    }

    /// A parameter whose value was refused.
    pub(crate) fn refused(report: impl Into<Box<Report>>) -> Self {
        Self { value: None, report: Some(report.into()), rare: None }
    }

    /// A parameter of which `parts` tells, too.
    pub(super) fn of_parts(value: Option<Kept>, report: Report, parts: Reports) -> Self {
        Self { value, report: Some(report.into()), rare: Some(Rare { parts: Some(parts), ..Rare::default() }.into()) }
    }

    fn rare(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }

    fn parts(&self) -> Option<&Reports> {
        self.rare.as_ref()?.parts.as_ref()
    }

    /// The JSON text of the accepted value, where it is another than was given.
    pub(crate) fn changed(&self) -> Option<&str> {
        self.rare.as_ref()?.changed.as_deref()
    }

    /// The same with this text.
    pub(super) fn change(&mut self, text: Option<Box<str>>) {
        if text.is_some() {
            self.rare().changed = text;
        }
    }

    /// Adds what is not told, for the log.
    pub(super) fn because(mut self, causes: impl IntoIterator<Item = String>) -> Self {
        let mut causes = causes.into_iter().peekable();
        if causes.peek().is_some() {
            self.rare().causes.extend(causes);
        }
        self
    }

    /// Takes what is not told.
    pub(super) fn take_causes(&mut self) -> Vec<String> {
        self.rare.as_mut().map(|rare| std::mem::take(&mut rare.causes)).unwrap_or_default()
    }

    /// The same of a parameter whose value could not be read: what the validator says of its absence counts for nothing, but
    /// what there is to choose from does.
    pub(super) fn with_fault(mut self, fault: Option<Box<Report>>) -> Self {
        let Some(fault) = fault else { return self };
        self.value = None;
        if let Some(rare) = &mut self.rare {
            rare.changed = None;
        }
        let in_parts = self.parts().is_some();
        let report = self.report.get_or_insert_with(|| Report::accepted().into());
        report.normalized = None;
        if report.choices == Choices::Open {
            report.choices = fault.choices;
        }
        report.refused = match (report.refused.take().filter(|_| in_parts), fault.refused) {
            (Some(own), Some(fault)) => Some(fault.and(own)),
            (own, fault) => fault.or(own),
        };
        self
    }

    /// Takes what is told of it, under its name and those of its parts.
    pub(super) fn take_reports(&mut self, name: Cow<'static, str>, told: &mut Reports) {
        let Some(parts) = self.rare.as_mut().and_then(|rare| rare.parts.take()) else {
            told.push((name, self.report.take().into()));
            return;
        };
        let whole = self.report.take().filter(|report| !report.is_valid());
        told.extend(whole.map(|report| (name.clone(), Some(report).into())));
        told.extend(parts.into_iter().map(|(part, report)| {
            let report = report.into_report().inside(&name);
            (dotted(&name, &part).into(), report.into())
        }));
    }

    /// What is told of it, each with the name that it is told under.
    pub(super) fn reports(&self, name: &str) -> impl Iterator<Item = (String, &Report)> {
        let own = self.parts().is_none().then(|| (name.to_owned(), Brief::of(self.report.as_deref())));
        let parts = self.parts().into_iter().flatten();
        own.into_iter().chain(parts.map(move |(part, report)| (dotted(name, part), &**report)))
    }

    /// What must be repaired before it is accepted, each by its name.
    pub(super) fn refused_names(&self, name: &str) -> Vec<String> {
        let parts = self.parts().into_iter().flatten().filter(|(_, report)| !report.is_valid());
        let mut names: Vec<String> = parts.map(|(part, _)| dotted(name, part)).collect();
        if names.is_empty() || self.report.iter().any(|report| !report.is_valid()) {
            names.push(name.to_owned());
        }
        names
    }
}

/// The name of a part of `name`.
fn dotted(name: &str, part: &str) -> String {
    format!("{name}.{part}")
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
        self.0[field].get()?.value.as_deref()?.downcast_ref::<Option<T>>()?.as_ref()
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
