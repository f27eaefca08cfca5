//! Validators and checks of users, which are typed: what they are, what they return, and how the engine asks them.

use std::{borrow::Borrow, marker::PhantomData};

use futures_util::{FutureExt, future::BoxFuture};
use serde::Serialize;
use serde_json::Value;

use super::{Asking, Judged, Settled, board::Kept, engine::UNCHECKED};
use crate::feedback::{Choices, Reasons, Rejection, Report};
use crate::tool::Failure;

/// A function that can judge a `T`, given what is known in `C`: `fn(Option<T>, C) -> Validation<T>`, or async.
///
/// Nothing implements it: what is such a function is asked by [`Asks::ask`], and anything else must be this. So what is wrong
/// is said in these words, and not in the compiler's about signatures.
#[diagnostic::on_unimplemented(
    message = "this is not a validator of a `{T}`",
    label = "expected a function of `(Option<{T}>, {C})`",
    note = "write `fn name(value: Option<{T}>, known: {C}) -> Validation<{T}>`, or the same as an `async fn`; there is no `self`: state is in `known`"
)]
pub trait Validate<T, C> {}

/// Asks validators of a `T` that know a `C`.
///
/// A type that validators cannot look at is reported at its parameter, and state that threads cannot share where it is given
/// to the tools; then `ValidatorFallback` asks for nothing more.
#[derive(Debug)]
pub struct Validator<T, C>(PhantomData<fn() -> (T, C)>);

impl<T: Judged, C: Send> Validator<T, C> {
    /// A validator.
    pub fn of<F>(validator: F) -> Asks<F, T, C> {
        Asks { validator, of: PhantomData }
    }
}

/// A validator of a `T` that knows a `C`, if it is one.
#[derive(Debug)]
pub struct Asks<F, T, C> {
    validator: F,
    of: PhantomData<fn() -> (T, C)>,
}

impl<F, T, C, R> Asks<F, T, C>
where
    F: FnOnce(Option<T>, C) -> R,
    T: Judged,
{
    /// Asks it.
    pub fn ask(self, given: Option<Kept>, known: C) -> Said<T, R> {
        let mut place = given.and_then(|given| given.downcast::<Option<T>>().ok());
        let value = place.as_deref_mut().and_then(Option::take);
        // Written now, because a validator may return the value changed.
        let text = value.as_ref().and_then(|value| serde_json::to_string(value).ok());
        Said { answer: (self.validator)(value, known), before: Before { place, text } }
    }
}

/// What a validator of a `T` returned: told later by a future, at once by anything else. An inherent method is found before
/// a trait's.
#[derive(Debug)]
pub struct Said<T, R> {
    pub(in crate::tool) answer: R,
    pub(in crate::tool) before: Before<T>,
}

/// What was given.
#[derive(Debug)]
pub struct Before<T> {
    /// Where it stood.
    place: Option<Box<Option<T>>>,
    text: Option<String>,
}

impl<T: Judged, R: IntoValidation<T>> Said<T, R> {
    /// What came of the parameter.
    pub fn settle<'a>(self) -> Asking<'a> {
        Asking::Told(settle(self.answer.into_verdict(), self.before))
    }
}

/// A future of what a validator of a `T` may return.
#[diagnostic::on_unimplemented(
    message = "a validator of a parameter of type `{T}` cannot return `{Self}`",
    label = "does not return a `Validation<{T}>`",
    note = "return `Validation<{T}>` or `Result<Validation<{T}>, Failure>`, from a `fn` or an `async fn`"
)]
pub trait ToldLater<T> {
    /// What comes of the parameter that was given as `before`.
    fn settled<'a>(self, before: Before<T>) -> BoxFuture<'a, Settled>
    where
        Self: Send + 'a;
}

#[diagnostic::do_not_recommend]
impl<T, R> ToldLater<T> for R
where
    T: Judged,
    R: Future<Output: IntoValidation<T>>,
{
    fn settled<'a>(self, before: Before<T>) -> BoxFuture<'a, Settled>
    where
        Self: Send + 'a,
    {
        self.map(move |said| settle(said.into_verdict(), before)).boxed()
    }
}

fn settle<T: Judged>(said: Result<Validation<T>, Failure>, before: Before<T>) -> Settled {
    let validation = match said {
        Ok(validation) => validation,
        Err(failure) => return failed(&failure),
    };
    let (value, report) = validation.into_parts(|value| serde_json::to_value(value).ok());
    let Some(value) = value else {
        return Settled::refused(report.unwrap_or_else(|| Report::refused(UNCHECKED).into()));
    };
    let text = match serde_json::to_string(&value) {
        Ok(text) => text,
        Err(error) => return failed(&error.into()),
    };
    let mut place = before.place.unwrap_or_default();
    *place = Some(value);
    let mut settled = Settled::accepted(place);
    settled.report = report;
    if before.text.as_ref() != Some(&text) {
        settled.report.get_or_insert_with(|| Report::accepted().into()).normalized = serde_json::from_str(&text).ok();
        settled.change(Some(text.into()));
    }
    settled
}

/// A validator that failed refuses the value, and tells no more than it was made for.
pub fn failed(failure: &Failure) -> Settled {
    Settled::refused(Report::refused(failure.message().unwrap_or(UNCHECKED))).because([failure.for_log()])
}

/// What a validator says about the value of a parameter: accepted, as the value that the tool gets, or refused with
/// reasons; and in both cases what there is to choose from, remarks and instructions.
///
/// A value that is accepted otherwise than it was given is a normalised one: the caller is told. Nothing needs to have been
/// given: accepting then gives a default.
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
pub struct Validation<T> {
    outcome: Outcome<T>,
    /// What is told. Most values are accepted without a word.
    report: Option<Box<Report>>,
}

#[derive(Clone, Debug)]
enum Outcome<T> {
    Accepted(T),
    Refused { understood: Option<T> },
}

impl<T> Validation<T> {
    /// The value is accepted, and `value` is what the tool gets.
    pub fn accept(value: T) -> Self {
        Self { outcome: Outcome::Accepted(value), report: None }
    }

    /// The value is refused, or there is none: for a problem in plain words, or for [`Reasons`].
    pub fn reject(reasons: impl Into<Reasons>) -> Self {
        Self { outcome: Outcome::Refused { understood: None }, report: Some(Report::refused(reasons).into()) }
    }

    fn report(&mut self) -> &mut Report {
        self.report.get_or_insert_with(|| Report::accepted().into())
    }

    /// Whether the value is accepted.
    pub fn is_accepted(&self) -> bool {
        matches!(self.outcome, Outcome::Accepted(_))
    }

    /// Says how a refused value was understood. It changes nothing about a value that is accepted.
    pub fn understood(mut self, value: T) -> Self {
        if let Outcome::Refused { understood } = &mut self.outcome {
            *understood = Some(value);
        }
        self
    }

    /// Says which values are allowed, and no others; none at all if it is empty. Takes the place of what was suggested.
    pub fn allowed(mut self, values: impl IntoIterator<Item: Choice<T>>) -> Self
    where
        T: Serialize,
    {
        self.report().choices = Choices::Allowed(json(values));
        self
    }

    /// Suggests some of the values that are allowed; if there are any. Takes the place of what was allowed.
    pub fn suggested(mut self, values: impl IntoIterator<Item: Choice<T>>) -> Self
    where
        T: Serialize,
    {
        let values: Vec<Value> = json(values);
        self.report().choices = if values.is_empty() { Choices::Open } else { Choices::Suggested(values) };
        self
    }

    /// Gives a JSON Schema that is narrower than the declared one, such as a range that depends on other parameters.
    pub fn narrowed(mut self, schema: Value) -> Self {
        self.report().schema = Some(schema);
        self
    }

    /// Adds a remark.
    pub fn remark(mut self, text: impl Into<String>) -> Self {
        self.report().feedback.push(text.into());
        self
    }

    /// Adds what the caller should do.
    pub fn instruct(mut self, text: impl Into<String>) -> Self {
        self.report().instructions.push(text.into());
        self
    }

    /// The accepted value if there is one, and what is told; `write` writes a value as JSON.
    pub(crate) fn into_parts(mut self, write: impl FnOnce(&T) -> Option<Value>) -> (Option<T>, Option<Box<Report>>) {
        let value = match self.outcome {
            Outcome::Accepted(value) => Some(value),
            Outcome::Refused { understood } => {
                if let Some(report) = &mut self.report {
                    report.normalized = understood.as_ref().and_then(write);
                }
                None
            }
        };
        (value, self.report)
    }
}

/// A value that a parameter of type `T` can have, or a reference to one: what [`Validation::allowed`] takes.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no value of this parameter, which is a `{T}`",
    label = "not a `{T}`, and no reference to one",
    note = "give values of the parameter's type, or references to some: texts for a `String` with `.map(String::from)`"
)]
pub trait Choice<T>: Borrow<T> {}

#[diagnostic::do_not_recommend]
impl<T, V: Borrow<T>> Choice<T> for V {}

fn json<T: Serialize>(values: impl IntoIterator<Item: Borrow<T>>) -> Vec<Value> {
    values.into_iter().filter_map(|value| serde_json::to_value(value.borrow()).ok()).collect()
}

/// What a validator of a `T` may return: a [`Validation`], or a `Result` of one with a [`Failure`], which any error becomes
/// with `?`. A failure refuses the value; the model is told no more of it than [`Failure::new`] says.
#[diagnostic::on_unimplemented(
    message = "a validator of a parameter of type `{T}` cannot return `{Self}`",
    label = "not a `Validation<{T}>`",
    note = "return `Validation<{T}>` or `Result<Validation<{T}>, Failure>`, from a `fn` or an `async fn`"
)]
pub trait IntoValidation<T> {
    /// What the validator says, or how it failed.
    fn into_verdict(self) -> Result<Validation<T>, Failure>;
}

impl<T> IntoValidation<T> for Validation<T> {
    fn into_verdict(self) -> Result<Self, Failure> {
        Ok(self)
    }
}

impl<T> IntoValidation<T> for Result<Validation<T>, Failure> {
    fn into_verdict(self) -> Self {
        self
    }
}

/// What is wrong with parameters that are all accepted, taken together.
pub type Checked = Result<(), Rejection>;

/// A function that can check a call with the input `I`, given what is known in `C`: `fn(&I, C) -> Result<(), Rejection>`, or
/// async. Nothing implements it: see [`Validate`](super::Validate).
#[diagnostic::on_unimplemented(
    message = "this is not a check of a call of `{I}`",
    label = "expected a function of `(&{I}, {C})`",
    note = "write `fn name(input: &{I}, known: {C}) -> Result<(), Rejection>`, or the same as an `async fn`; there is no `self`: state is in `known`"
)]
pub trait CheckCall<I, C> {}

/// Asks the check of a call with the input `I`, which knows a `C`. What cannot be shared between threads is reported
/// elsewhere; then `CheckerFallback` asks for nothing more.
#[derive(Debug)]
pub struct Checker<I, C>(PhantomData<fn() -> (I, C)>);

impl<I: Sync, C: Send> Checker<I, C> {
    /// A check.
    pub fn of<'b, F>(check: F) -> Checks<F, &'b I, C> {
        Checks { check, of: PhantomData }
    }
}

/// A check of a call with the input `I`, a reference, that knows a `C`, if it is one.
#[derive(Debug)]
pub struct Checks<F, I, C> {
    check: F,
    of: PhantomData<fn() -> (I, C)>,
}

impl<'b, F, I: 'b, C, R> Checks<F, &'b I, C>
where
    F: FnOnce(&'b I, C) -> R,
{
    /// Asks it.
    pub fn ask(self, input: &'b I, known: C) -> CheckSaid<R> {
        CheckSaid((self.check)(input, known))
    }
}

/// What a check returned: told later by a future, at once by anything else. An inherent method is found before a trait's.
#[derive(Debug)]
pub struct CheckSaid<R>(pub(in crate::tool) R);

impl CheckSaid<Checked> {
    /// What came of it.
    pub fn told<'b>(self) -> BoxFuture<'b, Checked> {
        std::future::ready(self.0).boxed()
    }
}

/// A future of what a check may return.
#[diagnostic::on_unimplemented(
    message = "a check cannot return `{Self}`",
    label = "does not return a `Result<(), Rejection>`",
    note = "return `Result<(), Rejection>`, from a `fn` or an `async fn`"
)]
pub trait CheckFuture {
    /// What the check says.
    fn told<'b>(self) -> BoxFuture<'b, Checked>
    where
        Self: Send + 'b;
}

#[diagnostic::do_not_recommend]
impl<R: Future<Output = Checked>> CheckFuture for R {
    fn told<'b>(self) -> BoxFuture<'b, Checked>
    where
        Self: Send + 'b,
    {
        self.boxed()
    }
}
