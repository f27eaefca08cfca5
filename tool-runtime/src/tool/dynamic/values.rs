//! The known values of the parameters of one call, and the witnesses that validators can see the values of a type.

use std::{any::Any, borrow::Cow, fmt, marker::PhantomData, sync::OnceLock};

use serde::Serialize;

use crate::feedback::{Choices, Report};
use crate::tool::{ToolSecret, field::Tag};
use tool_schema::feedback::{CompactReport, Reports};

/// A value whose type is not known statically: a box of an `Option` of the type. Validators take the value and reuse the box.
pub type StoredValue = Box<dyn Any + Send + Sync>;

/// The result for one parameter.
pub struct ParameterResult {
    /// The value, if it is accepted.
    pub(crate) value: Option<StoredValue>,
    /// The report about the parameter; most accepted ones have none.
    pub(crate) report: Option<Box<Report>>,
    /// The data that most parameters do not have.
    rare: Option<Box<Rare>>,
}

/// A separate struct, so that the part that is moved for each parameter is small.
#[derive(Default)]
struct Rare {
    changed: Option<Box<str>>,
    derived: Option<StoredValue>,
    parts: Option<Reports>,
    causes: Vec<String>,
}

impl ParameterResult {
    /// Creates the result of a value that was accepted without a report.
    pub(crate) fn accepted(value: StoredValue) -> Self {
        Self { value: Some(value), report: None, rare: None }
    }

    /// Creates the result of a value that was rejected.
    pub(crate) fn rejected(report: impl Into<Box<Report>>) -> Self {
        Self { value: None, report: Some(report.into()), rare: None }
    }

    /// Creates the result of a parameter with reports about its parts.
    pub(super) fn of_parts(value: Option<StoredValue>, report: Report, parts: Reports) -> Self {
        Self { value, report: Some(report.into()), rare: Some(Rare { parts: Some(parts), ..Rare::default() }.into()) }
    }

    fn rare(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }

    fn parts(&self) -> Option<&Reports> {
        self.rare.as_ref()?.parts.as_ref()
    }

    /// Returns the JSON text of the accepted value, if it differs from the given one.
    pub(crate) fn changed(&self) -> Option<&str> {
        self.rare.as_ref()?.changed.as_deref()
    }

    /// Sets the JSON text of a changed value, if there is one.
    pub(super) fn change(&mut self, text: Option<Box<str>>) {
        if text.is_some() {
            self.rare().changed = text;
        }
    }

    /// Sets the data that the validator derived from the accepted value.
    pub(super) fn derive(&mut self, data: StoredValue) {
        self.rare().derived = Some(data);
    }

    fn derived(&self) -> Option<&StoredValue> {
        self.rare.as_ref()?.derived.as_ref()
    }

    /// Adds causes, for hooks and observers only.
    pub(super) fn because(mut self, causes: impl IntoIterator<Item = String>) -> Self {
        let mut causes = causes.into_iter().peekable();
        if causes.peek().is_some() {
            self.rare().causes.extend(causes);
        }
        self
    }

    pub(super) fn take_causes(&mut self) -> Vec<String> {
        self.rare.as_mut().map(|rare| std::mem::take(&mut rare.causes)).unwrap_or_default()
    }

    /// Combines the result with the fault of a value that could not be read. The validator's opinion about the absent value is
    /// dropped, but its choices are kept.
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
        report.rejected = match (report.rejected.take().filter(|_| in_parts), fault.rejected) {
            (Some(own), Some(fault)) => Some(fault.and(own)),
            (own, fault) => fault.or(own),
        };
        self
    }

    /// Moves the reports about the parameter, which is called `name`, and about its parts into `reports`.
    pub(super) fn take_reports(&mut self, name: Cow<'static, str>, reports: &mut Reports) {
        let Some(parts) = self.rare.as_mut().and_then(|rare| rare.parts.take()) else {
            reports.push((name, self.report.take().into()));
            return;
        };
        let whole = self.report.take().filter(|report| !report.is_valid());
        reports.extend(whole.map(|report| (name.clone(), Some(report).into())));
        reports.extend(parts.into_iter().map(|(part, report)| {
            let report = report.into_report().inside(&name);
            (dotted(&name, &part).into(), report.into())
        }));
    }

    pub(super) fn reports(&self, name: &str) -> impl Iterator<Item = (String, &Report)> {
        let own = self.parts().is_none().then(|| (name.to_owned(), CompactReport::of(self.report.as_deref())));
        let parts = self.parts().into_iter().flatten();
        own.into_iter().chain(parts.map(move |(part, report)| (dotted(name, part), &**report)))
    }

    /// Returns the names of the rejected parts, and of the parameter itself if it has problems of its own.
    pub(super) fn rejected_names(&self, name: &str) -> Vec<String> {
        let parts = self.parts().into_iter().flatten().filter(|(_, report)| !report.is_valid());
        let mut names: Vec<String> = parts.map(|(part, _)| dotted(name, part)).collect();
        if names.is_empty() || self.report.iter().any(|report| !report.is_valid()) {
            names.push(name.to_owned());
        }
        names
    }
}

fn dotted(name: &str, part: &str) -> String {
    format!("{name}.{part}")
}

impl fmt::Debug for ParameterResult {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("ParameterResult").field("report", &self.report).finish_non_exhaustive()
    }
}

/// The results so far for the parameters of one call: a place for each, in the order of the declaration.
#[derive(Debug)]
pub struct ParameterResults(Vec<OnceLock<ParameterResult>>);

impl ParameterResults {
    pub(crate) fn new(parameters: usize) -> Self {
        Self(std::iter::repeat_with(OnceLock::new).take(parameters).collect())
    }

    /// Returns the accepted value of a parameter.
    pub fn get<T: 'static>(&self, field: usize) -> Option<&T> {
        self.0[field].get()?.value.as_deref()?.downcast_ref::<Option<T>>()?.as_ref()
    }

    /// Returns the data that a validator derived from the accepted value of a parameter.
    pub fn derived<D: 'static>(&self, field: usize) -> Option<&D> {
        self.0[field].get()?.derived()?.downcast_ref()
    }

    /// Returns the result for a parameter.
    pub(crate) fn settled(&self, field: usize) -> Option<&ParameterResult> {
        self.0[field].get()
    }

    /// Returns whether a parameter has an accepted value.
    pub(crate) fn has(&self, field: usize) -> bool {
        self.settled(field).is_some_and(|settled| settled.value.is_some())
    }

    pub(crate) fn settle(&self, field: usize, settled: ParameterResult) {
        let twice = self.0[field].set(settled).is_err();
        debug_assert!(!twice, "a parameter is settled once");
    }

    /// Takes the results of every parameter.
    pub(crate) fn into_settled(self) -> impl Iterator<Item = Option<ParameterResult>> {
        self.0.into_iter().map(OnceLock::into_inner)
    }
}

/// The data that validators derived from the parameters of one call, for the tool.
#[derive(Debug)]
pub struct DerivedValues(Vec<(usize, StoredValue)>);

impl DerivedValues {
    /// Takes the data out of the results.
    pub(super) fn take_from(settled: &mut [Option<ParameterResult>]) -> Self {
        let each = settled.iter_mut().enumerate();
        Self(
            each.filter_map(|(field, settled)| Some((field, settled.as_mut()?.rare.as_mut()?.derived.take()?)))
                .collect(),
        )
    }

    /// Takes the data that was derived from a parameter.
    ///
    /// # Panics
    ///
    /// If it is not there, which is a mistake in an expansion.
    pub fn take<D: 'static>(&mut self, field: usize) -> D {
        let index = self.0.iter().position(|(known, _)| *known == field);
        let data = index.and_then(|index| self.0.swap_remove(index).1.downcast().ok());
        *data.expect("the validator of an accepted parameter derived the data")
    }
}

/// The value of a parameter whose validator ran before. The context of a validator has one for each parameter in `after`.
///
/// A refused value shows what the caller meant. Use it to report more mistakes in one answer, and never to look up data that only a
/// caller with an accepted value may see.
///
/// ```
/// use tool_runtime::{Judged, Validation};
///
/// fn seats(value: Option<u8>, route: Judged<'_, String>) -> Validation<u8> {
///     match (value, route.value()) {
///         (Some(5..), Some(to)) if to == "Oslo" => Validation::reject("small planes fly to Oslo"),
///         (value, _) => Validation::accept(value.unwrap_or(1)),
///     }
/// }
/// assert!(!seats(Some(6), Judged::Refused(&"Oslo".to_owned())).is_accepted());
/// assert!(seats(Some(6), Judged::Missing).is_accepted());
/// ```
#[derive(Debug)]
pub enum Judged<'a, T> {
    /// The accepted value, which the tool gets.
    Accepted(&'a T),
    /// The given value, which was refused.
    Refused(&'a T),
    /// No value of the parameter's type was given, and no validator supplied one.
    Missing,
}

impl<T> Clone for Judged<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Judged<'_, T> {}

impl<'a, T> Judged<'a, T> {
    /// Returns the value if it was accepted.
    pub fn accepted(self) -> Option<&'a T> {
        match self {
            Self::Accepted(value) => Some(value),
            Self::Refused(_) | Self::Missing => None,
        }
    }

    /// Returns the value, accepted or refused.
    pub fn value(self) -> Option<&'a T> {
        match self {
            Self::Accepted(value) | Self::Refused(value) => Some(value),
            Self::Missing => None,
        }
    }
}

/// The code that moves a parameter's value between its place, an `Option` of its type, and a [`StoredValue`].
#[derive(Clone, Copy, Debug)]
pub struct ValueSlot {
    pub(super) take: fn(&mut dyn Any) -> Option<StoredValue>,
    pub(super) put: fn(&mut dyn Any, StoredValue) -> bool,
}

impl ValueSlot {
    /// Code that moves nothing.
    pub const NOTHING: Self = Self { take: |_| None, put: |_, _| false };
}

/// A type that a dynamic parameter can have.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the type of a dynamic parameter",
    label = "cannot be written as JSON, or shared between threads",
    note = "add `#[derive(serde::Serialize)]` to it, because allowed and changed values are written as JSON; and hold nothing that is not `Send` and `Sync`, because validators run side by side"
)]
pub trait VisibleToValidators: Serialize + Send + Sync + 'static {}

#[diagnostic::do_not_recommend]
impl<T: Serialize + Send + Sync + 'static> VisibleToValidators for T {}

/// A type that a parameter beside dynamic ones can have.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the type of a parameter beside dynamic ones",
    label = "cannot be shared between threads",
    note = "validators run side by side and look at it: hold a `Mutex` or an atomic instead of a `Cell` or `RefCell`"
)]
pub trait Seen: Send + Sync + 'static {}

#[diagnostic::do_not_recommend]
impl<T: Send + Sync + 'static> Seen for T {}

/// Distinguishes a type that a parameter can have from any other, which the compiler reports where it is decoded: see the module
/// `expansion`.
#[derive(Debug)]
pub struct SlotWitness<T>(PhantomData<fn() -> T>);

/// The kind of a type that a parameter can have.
#[derive(Debug)]
pub struct SlotType<T>(PhantomData<fn() -> T>);

impl<T: ToolSecret> SlotWitness<T> {
    /// The kind of the type.
    pub const KIND: SlotType<T> = SlotType(PhantomData);
}

impl<T> SlotType<T> {
    /// Returns the witness for a dynamic parameter.
    pub const fn dynamic(self) -> ValueSlot
    where
        T: VisibleToValidators,
    {
        keep::<T>()
    }

    /// Returns the witness for any other parameter.
    pub const fn fixed(self) -> ValueSlot
    where
        T: Seen,
    {
        keep::<T>()
    }
}

/// Distinguishes a struct that can be an input from one with an unsuitable field, which the compiler reports: see the module
/// `expansion`.
#[derive(Debug)]
pub struct InputWitness<T>(PhantomData<fn() -> T>);

impl<T: Send + Sync + 'static> InputWitness<T> {
    /// The witness.
    pub const KEEP: ValueSlot = keep::<T>();
}

impl Tag {
    /// The witness.
    pub const KEEP: ValueSlot = keep::<Self>();
}

const fn keep<T: Send + Sync + 'static>() -> ValueSlot {
    ValueSlot {
        take: |place| {
            let value = place.downcast_mut::<Option<T>>()?.take()?;
            Some(Box::new(Some(value)))
        },
        put: |place, value| match (place.downcast_mut::<Option<T>>(), value.downcast::<Option<T>>()) {
            (Some(place), Ok(value)) => {
                *place = *value;
                place.is_some()
            }
            _ => false,
        },
    }
}
