//! The typed validators and checks of users: their types, their return values, and the code that calls them.

use std::{any::TypeId, borrow::Borrow, marker::PhantomData};

use futures_util::{FutureExt, future::BoxFuture};
use serde::Serialize;
use serde_json::Value;

use super::{ParameterResult, ValidatorAnswer, VisibleToValidators, validation::UNCHECKED, values::StoredValue};
use crate::feedback::{Choices, Reasons, Rejection, Report};
use crate::tool::Failure;

/// A function that can validate a `T` with the known values in `C`: `fn(Option<T>, C) -> Validation<T>`, or async.
///
/// Nothing implements it. [`ParameterValidator::ask`] calls such a function, and anything else is required to implement this
/// trait. So a mistake is reported with this trait's message, not with the compiler's message about signatures.
#[diagnostic::on_unimplemented(
    message = "this is not a validator of a `{T}`",
    label = "expected a function of `(Option<{T}>, {C})`",
    note = "write `fn name(value: Option<{T}>, known: {C}) -> Validation<{T}>`, or the same as an `async fn`; there is no `self`: state is in `known`"
)]
pub trait Validate<T, C> {}

/// Data that a validator can derive from a value.
#[diagnostic::on_unimplemented(
    message = "a validator cannot derive a `{Self}`",
    label = "cannot be shared between threads",
    note = "validators run side by side and look at it: hold a `Mutex` or an atomic instead of a `Cell` or `RefCell`"
)]
pub trait DerivedData: Send + Sync + 'static {}

#[diagnostic::do_not_recommend]
impl<D: Send + Sync + 'static> DerivedData for D {}

/// Requires that a validator can derive a `D`.
pub const fn derived_data<D: DerivedData>() {}

/// Wraps validators of a `T` that know a `C` and derive a `D`.
///
/// `ValidatorFallback` handles a type that validators cannot see, and a state that threads cannot share: see the module
/// `expansion`.
#[derive(Debug)]
pub struct Validator<T, C, D>(PhantomData<fn() -> (T, C)>, PhantomData<fn() -> D>);

impl<T: VisibleToValidators, C: Send, D: DerivedData> Validator<T, C, D> {
    /// Wraps a validator.
    pub fn of<F>(validator: F) -> ParameterValidator<F, T, C, D> {
        ParameterValidator { validator, of: PhantomData, derives: PhantomData }
    }
}

/// A validator of a `T` that knows a `C` and derives a `D`, if it is one.
#[derive(Debug)]
pub struct ParameterValidator<F, T, C, D> {
    validator: F,
    of: PhantomData<fn() -> (T, C)>,
    derives: PhantomData<fn() -> D>,
}

impl<F, T, C, D, R> ParameterValidator<F, T, C, D>
where
    F: FnOnce(Option<T>, C) -> R,
    T: VisibleToValidators,
{
    /// Calls the validator.
    pub fn ask(self, given: Option<StoredValue>, known: C) -> ValidatorReturned<T, R, D> {
        let mut place = given.and_then(|given| given.downcast::<Option<T>>().ok());
        let value = place.as_deref_mut().and_then(Option::take);
        // Serialized now, because the validator may return another value.
        let text = value.as_ref().and_then(|value| serde_json::to_string(value).ok());
        ValidatorReturned {
            answer: (self.validator)(value, known),
            before: Before { place, text },
            derives: PhantomData,
        }
    }
}

/// The return value of a validator of a `T` that derives a `D`. A future gives its answer later, anything else at once: see the module `expansion`.
#[derive(Debug)]
pub struct ValidatorReturned<T, R, D> {
    pub(in crate::tool) answer: R,
    pub(in crate::tool) before: Before<T>,
    derives: PhantomData<fn() -> D>,
}

/// The given value, as it was before the validator took it.
#[derive(Debug)]
pub struct Before<T> {
    /// The emptied box of the value, for reuse.
    place: Option<Box<Option<T>>>,
    text: Option<String>,
}

impl<T: VisibleToValidators, D: DerivedData, R: IntoValidation<T, D>> ValidatorReturned<T, R, D> {
    /// Returns the result for the parameter.
    pub fn settle<'a>(self) -> ValidatorAnswer<'a> {
        ValidatorAnswer::Now(settle(self.answer.into_verdict(), self.before))
    }
}

/// A future of a value that a validator of a `T` that derives a `D` may return.
#[diagnostic::on_unimplemented(
    message = "a validator of a parameter of type `{T}` cannot return `{Self}`",
    label = "does not return a `Validation<{T}>`, or a `Validation<{T}, {D}>` if it derives data",
    note = "return `Validation` or `Result<Validation, Failure>`, from a `fn` or an `async fn`"
)]
pub trait LaterValidation<T, D> {
    /// Returns the result for the parameter that was given as `before`.
    fn settled<'a>(self, before: Before<T>) -> BoxFuture<'a, ParameterResult>
    where
        Self: Send + 'a;
}

#[diagnostic::do_not_recommend]
impl<T, D, R> LaterValidation<T, D> for R
where
    T: VisibleToValidators,
    D: DerivedData,
    R: Future<Output: IntoValidation<T, D>>,
{
    fn settled<'a>(self, before: Before<T>) -> BoxFuture<'a, ParameterResult>
    where
        Self: Send + 'a,
    {
        self.map(move |verdict| settle(verdict.into_verdict(), before)).boxed()
    }
}

fn settle<T: VisibleToValidators, D: DerivedData>(
    verdict: Result<Validation<T, D>, Failure>,
    before: Before<T>,
) -> ParameterResult {
    let validation = match verdict {
        Ok(validation) => validation,
        Err(failure) => return failed(&failure),
    };
    let (value, report) = validation.into_parts(|value| serde_json::to_value(value).ok());
    let Some((value, derived)) = value else {
        return ParameterResult::rejected(report.unwrap_or_else(|| Report::rejected(UNCHECKED).into()));
    };
    let text = match serde_json::to_string(&value) {
        Ok(text) => text,
        Err(error) => return failed(&error.into()),
    };
    let mut place = before.place.unwrap_or_default();
    *place = Some(value);
    let mut settled = ParameterResult::accepted(place);
    settled.report = report;
    if TypeId::of::<D>() != TypeId::of::<()>() {
        settled.derive(Box::new(derived));
    }
    if before.text.as_ref() != Some(&text) {
        settled.report.get_or_insert_with(|| Report::accepted().into()).normalized = serde_json::from_str(&text).ok();
        settled.change(Some(text.into()));
    }
    settled
}

/// Refuses a value because its validator failed. The model receives the failure's own message only.
pub fn failed(failure: &Failure) -> ParameterResult {
    ParameterResult::rejected(Report::rejected(failure.message().unwrap_or(UNCHECKED))).because([failure.for_log()])
}

/// The answer of a validator about the value of a parameter. The answer accepts the value that the tool gets, or rejects the
/// value with reasons. Both may have choices, remarks and instructions.
///
/// An accepted value that differs from the given one is normalized, and the caller receives it. If no value was given, accepting
/// one supplies a default.
///
/// ```
/// use tool_runtime::Validation;
///
/// fn airport(value: Option<String>) -> Validation<String> {
///     let known = ["Berlin", "Paris"].map(str::to_owned);
///     let near = value.and_then(|name| known.iter().find(|known| known.eq_ignore_ascii_case(&name)).cloned());
///     match near {
///         Some(name) => Validation::accept(name),
///         None => Validation::reject("no flights from there").allowed(&known),
///     }
/// }
/// assert!(airport(Some("berlin".into())).is_accepted());
/// assert!(!airport(Some("Rome".into())).is_accepted());
/// ```
#[derive(Clone, Debug)]
#[must_use = "it is what the validator says"]
pub struct Validation<T, D = ()> {
    outcome: Outcome<T, D>,
    /// The report. Most values are accepted without one.
    report: Option<Box<Report>>,
}

#[derive(Clone, Debug)]
enum Outcome<T, D> {
    Accepted(T, D),
    Rejected { understood: Option<T> },
}

impl<T> Validation<T> {
    /// Accepts the value; the tool gets `value`.
    pub fn accept(value: T) -> Self {
        Self { outcome: Outcome::Accepted(value, ()), report: None }
    }

    /// Adds data that the validator computed from the accepted value: it looked the value up, and nobody needs to do so again. The
    /// parameter is marked with `derives(name: Type)`. Validators that require it see the data, and the tool's function takes it as
    /// `#[derived]`. A rejected value has no data, so `data` is dropped.
    ///
    /// ```
    /// use tool_runtime::Validation;
    ///
    /// struct Airport(u8);
    ///
    /// fn airport(value: Option<String>) -> Validation<String, Airport> {
    ///     match value {
    ///         Some(name) if name == "Rome" => Validation::accept(name).derive(Airport(7)),
    ///         _ => Validation::reject("no flights from there"),
    ///     }
    /// }
    /// assert!(airport(Some("Rome".into())).is_accepted());
    /// ```
    pub fn derive<D>(self, data: D) -> Validation<T, D> {
        let outcome = match self.outcome {
            Outcome::Accepted(value, ()) => Outcome::Accepted(value, data),
            Outcome::Rejected { understood } => Outcome::Rejected { understood },
        };
        Validation { outcome, report: self.report }
    }
}

impl<T, D> Validation<T, D> {
    /// Rejects the value, or its absence, with a problem in plain words or with [`Reasons`].
    pub fn reject(reasons: impl Into<Reasons>) -> Self {
        Self { outcome: Outcome::Rejected { understood: None }, report: Some(Report::rejected(reasons).into()) }
    }

    fn report(&mut self) -> &mut Report {
        self.report.get_or_insert_with(|| Report::accepted().into())
    }

    /// Returns whether the value is accepted.
    pub fn is_accepted(&self) -> bool {
        matches!(self.outcome, Outcome::Accepted(..))
    }

    /// Sets how a rejected value was understood. It has no effect on an accepted value.
    pub fn understood(mut self, value: T) -> Self {
        if let Outcome::Rejected { understood } = &mut self.outcome {
            *understood = Some(value);
        }
        self
    }

    /// Sets the allowed values, in place of suggested ones. No others are allowed; with an empty list, none at all.
    pub fn allowed(mut self, values: impl IntoIterator<Item: Choice<T>>) -> Self
    where
        T: Serialize,
    {
        self.report().choices = Choices::Allowed(json(values));
        self
    }

    /// Suggests some of the allowed values, in place of a list of all. An empty list suggests nothing.
    pub fn suggested(mut self, values: impl IntoIterator<Item: Choice<T>>) -> Self
    where
        T: Serialize,
    {
        let values: Vec<Value> = json(values);
        self.report().choices = if values.is_empty() { Choices::Open } else { Choices::Suggested(values) };
        self
    }

    /// Sets a JSON Schema that is narrower than the declared one, such as a range that depends on other parameters.
    pub fn narrowed(mut self, schema: Value) -> Self {
        self.report().schema = Some(schema);
        self
    }

    /// Adds a remark.
    pub fn remark(mut self, text: impl Into<String>) -> Self {
        self.report().feedback.push(text.into());
        self
    }

    /// Adds an instruction for the caller.
    pub fn instruct(mut self, text: impl Into<String>) -> Self {
        self.report().instructions.push(text.into());
        self
    }

    /// Returns the accepted value with the derived data, if there is one, and the report. `write` converts a value to JSON.
    pub(crate) fn into_parts(
        mut self,
        write: impl FnOnce(&T) -> Option<Value>,
    ) -> (Option<(T, D)>, Option<Box<Report>>) {
        let value = match self.outcome {
            Outcome::Accepted(value, derived) => Some((value, derived)),
            Outcome::Rejected { understood } => {
                if let Some(report) = &mut self.report {
                    report.normalized = understood.as_ref().and_then(write);
                }
                None
            }
        };
        (value, self.report)
    }
}

/// A value that a parameter of type `T` can have, or a reference to one, as [`Validation::allowed`] takes it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a value of this parameter, which has the type `{T}`",
    label = "not a `{T}`, and no reference to one",
    note = "give values of the parameter's type, or references to some: strings for a `String` with `.map(String::from)`"
)]
pub trait Choice<T>: Borrow<T> {}

#[diagnostic::do_not_recommend]
impl<T, V: Borrow<T>> Choice<T> for V {}

fn json<T: Serialize>(values: impl IntoIterator<Item: Borrow<T>>) -> Vec<Value> {
    values.into_iter().filter_map(|value| serde_json::to_value(value.borrow()).ok()).collect()
}

/// A type that a validator of a `T` that derives a `D` may return: a [`Validation`], or a `Result` of one with a [`Failure`]. `?`
/// converts any error into a `Failure`. A failure rejects the value. The model receives no more of it than the text of
/// [`Failure::new`].
#[diagnostic::on_unimplemented(
    message = "a validator of a parameter of type `{T}` cannot return `{Self}`",
    label = "not a `Validation<{T}>`, and no `Validation<{T}, {D}>` with derived data",
    note = "return `Validation` or `Result<Validation, Failure>`, from a `fn` or an `async fn`"
)]
pub trait IntoValidation<T, D = ()> {
    /// Returns the validator's answer, or its failure.
    fn into_verdict(self) -> Result<Validation<T, D>, Failure>;
}

impl<T, D> IntoValidation<T, D> for Validation<T, D> {
    fn into_verdict(self) -> Result<Self, Failure> {
        Ok(self)
    }
}

impl<T, D> IntoValidation<T, D> for Result<Validation<T, D>, Failure> {
    fn into_verdict(self) -> Self {
        self
    }
}

/// The result of checking parameters together, after all of them are accepted.
pub type Checked = Result<(), Rejection>;

/// A function that can check a call with the input `I` and the known values in `C`: `fn(&I, C) -> Result<(), Rejection>`, or
/// async. Nothing implements it: see [`Validate`](super::Validate).
#[diagnostic::on_unimplemented(
    message = "this is not a check of a call of `{I}`",
    label = "expected a function of `(&{I}, {C})`",
    note = "write `fn name(input: &{I}, known: {C}) -> Result<(), Rejection>`, or the same as an `async fn`; there is no `self`: state is in `known`"
)]
pub trait CheckCall<I, C> {}

/// Wraps the check of a call with the input `I`, which knows a `C`. `CheckerFallback` handles a type that threads cannot share:
/// see the module `expansion`.
#[derive(Debug)]
pub struct Checker<I, C>(PhantomData<fn() -> (I, C)>);

impl<I: Sync, C: Send> Checker<I, C> {
    /// Wraps a check.
    pub fn of<'b, F>(check: F) -> CallCheck<F, &'b I, C> {
        CallCheck { check, of: PhantomData }
    }
}

/// A check of a call with the input `I`, a reference, that knows a `C`, if it is one.
#[derive(Debug)]
pub struct CallCheck<F, I, C> {
    check: F,
    of: PhantomData<fn() -> (I, C)>,
}

impl<'b, F, I: 'b, C, R> CallCheck<F, &'b I, C>
where
    F: FnOnce(&'b I, C) -> R,
{
    /// Calls the check.
    pub fn ask(self, input: &'b I, known: C) -> CheckReturned<R> {
        CheckReturned((self.check)(input, known))
    }
}

/// The return value of a check. A future gives its answer later, anything else at once: see the module `expansion`.
#[derive(Debug)]
pub struct CheckReturned<R>(pub(in crate::tool) R);

impl CheckReturned<Checked> {
    /// Returns the result of the check.
    pub fn done<'b>(self) -> BoxFuture<'b, Checked> {
        std::future::ready(self.0).boxed()
    }
}

/// A future of a value that a check may return.
#[diagnostic::on_unimplemented(
    message = "a check cannot return `{Self}`",
    label = "does not return a `Result<(), Rejection>`",
    note = "return `Result<(), Rejection>`, from a `fn` or an `async fn`"
)]
pub trait CheckFuture {
    /// Returns the result of the check.
    fn done<'b>(self) -> BoxFuture<'b, Checked>
    where
        Self: Send + 'b;
}

#[diagnostic::do_not_recommend]
impl<R: Future<Output = Checked>> CheckFuture for R {
    fn done<'b>(self) -> BoxFuture<'b, Checked>
    where
        Self: Send + 'b,
    {
        self.boxed()
    }
}
