//! What stands between a validator of a user's, typed, and the engine.

use std::marker::PhantomData;

use futures_util::{FutureExt, future::BoxFuture};
use serde_json::Value;

use super::{Asking, IntoVerdict, Judged, Settled, Verdict, board::Kept, engine::UNCHECKED};
use crate::feedback::Report;
use crate::tool::Failure;

/// A function that can judge a `T`, given what is known in `C`: `fn(Option<T>, C) -> Verdict<T>`, or async.
#[diagnostic::on_unimplemented(
    message = "this is not a validator of a `{T}`",
    label = "expected a function of `(Option<{T}>, {C})`",
    note = "write `fn name(value: Option<{T}>, known: {C}) -> Verdict<{T}>`, or the same as an `async fn`"
)]
pub trait Validate<T, C> {
    /// What comes back.
    type Said;
    /// Asks.
    fn ask(self, value: Option<T>, known: C) -> Self::Said;
}

#[diagnostic::do_not_recommend]
impl<F, T, C, R> Validate<T, C> for F
where
    F: FnOnce(Option<T>, C) -> R,
{
    type Said = R;

    fn ask(self, value: Option<T>, known: C) -> R {
        self(value, known)
    }
}

/// Asks validators of a `T` that know a `C`.
///
/// A type that validators cannot look at is reported at its parameter, and state that threads cannot share where it is given
/// to the tools; then [`NoValidator`] asks for nothing more.
#[derive(Debug)]
pub struct Validator<T, C>(PhantomData<fn() -> (T, C)>);

impl<T: Judged, C: Send> Validator<T, C> {
    /// Asks a validator: the demand on it is made here, in one place.
    pub fn ask<F>(validator: F, given: Option<Kept>, known: C) -> Said<T, F::Said>
    where
        F: Validate<T, C>,
    {
        let value = given.and_then(|given| given.downcast::<T>().ok()).map(|value| *value);
        // Written down, so that a change can be told.
        let before = value.as_ref().and_then(|value| serde_json::to_vec(value).ok());
        Said { said: validator.ask(value, known), before, judged: PhantomData }
    }
}

/// The validator of a parameter that does not compile: an inherent function is found before a trait's.
pub trait NoValidator {
    /// See [`Validator::ask`].
    fn ask<F, C>(_: F, _: Option<Kept>, _: C) -> Unsaid {
        Unsaid
    }
}

impl<T, C> NoValidator for Validator<T, C> {}

/// What nobody says.
#[derive(Debug)]
pub struct Unsaid;

impl Unsaid {
    /// Nothing comes of it.
    pub fn settle<'a>(self) -> Asking<'a> {
        Asking::Told(Settled::refused(Report::refused(UNCHECKED)))
    }
}

/// What a validator of a `T` returned: told later by a future, at once by anything else. An inherent method is found before
/// a trait's.
#[derive(Debug)]
pub struct Said<T, R> {
    said: R,
    before: Option<Vec<u8>>,
    judged: PhantomData<fn() -> T>,
}

impl<T: Judged, R: IntoVerdict<T>> Said<T, R> {
    /// What came of the parameter.
    pub fn settle<'a>(self) -> Asking<'a> {
        Asking::Told(settle(self.said.into_verdict(), self.before))
    }
}

/// What is told later.
pub trait Later<T, R> {
    /// What comes of the parameter.
    fn settle<'a>(self) -> Asking<'a>
    where
        R: ToldLater<T> + Send + 'a;
}

impl<T: Judged, R> Later<T, R> for Said<T, R> {
    fn settle<'a>(self) -> Asking<'a>
    where
        R: ToldLater<T> + Send + 'a,
    {
        Asking::Later(self.said.settled(self.before))
    }
}

/// A future of what a validator of a `T` may return.
#[diagnostic::on_unimplemented(
    message = "a validator of a parameter of type `{T}` cannot return `{Self}`",
    label = "does not return a `Verdict<{T}>`",
    note = "return `Verdict<{T}>` or `Result<Verdict<{T}>, Failure>`, from a `fn` or an `async fn`"
)]
pub trait ToldLater<T> {
    /// What comes of the parameter that was given as `before`.
    fn settled<'a>(self, before: Option<Vec<u8>>) -> BoxFuture<'a, Settled>
    where
        Self: Send + 'a;
}

#[diagnostic::do_not_recommend]
impl<T, R> ToldLater<T> for R
where
    T: Judged,
    R: Future<Output: IntoVerdict<T>>,
{
    fn settled<'a>(self, before: Option<Vec<u8>>) -> BoxFuture<'a, Settled>
    where
        Self: Send + 'a,
    {
        self.map(move |said| settle(said.into_verdict(), before)).boxed()
    }
}

fn settle<T: Judged>(said: Result<Verdict<T>, Failure>, before: Option<Vec<u8>>) -> Settled {
    let verdict = match said {
        Ok(verdict) => verdict,
        Err(failure) => return failed(&failure),
    };
    let write = |value: &T| serde_json::to_value(value).ok();
    let (value, mut report) = verdict.into_parts(write);
    let Some(value) = value else { return Settled::refused(report) };
    let changed = match serde_json::to_vec(&value) {
        Ok(after) if before.as_ref() == Some(&after) => None,
        Ok(after) => serde_json::from_slice::<Value>(&after).ok(),
        Err(error) => return failed(&Failure::from(error)),
    };
    report.normalized.clone_from(&changed);
    let mut settled = Settled::accepted(Box::new(value));
    settled.report = report;
    settled.changed = changed;
    settled
}

/// A validator that failed refuses the value, and tells no more than it was made for.
fn failed(failure: &Failure) -> Settled {
    let mut settled = Settled::refused(Report::refused(failure.told_text().unwrap_or(UNCHECKED)));
    settled.cause = Some(failure.for_log());
    settled
}
