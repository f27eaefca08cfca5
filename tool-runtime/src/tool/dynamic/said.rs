//! What stands between a validator of a user's, typed, and the engine.

use std::marker::PhantomData;

use futures_util::FutureExt;
use serde::Serialize;
use serde_json::Value;

use super::{Asking, IntoVerdict, Settled, board::Kept, engine::UNCHECKED};
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

/// Asks a validator: the demand on it is made here, in one place.
pub fn validator<F, T, C>(validator: F, value: Option<T>, known: C) -> Said<T, F::Said>
where
    F: Validate<T, C>,
{
    Said(validator.ask(value, known), PhantomData)
}

/// What a validator of a `T` returned: told later by a future, at once by anything else. An inherent method is found before
/// a trait's.
#[derive(Debug)]
pub struct Said<T, R>(R, PhantomData<fn() -> T>);

impl<T: Serialize + Send + Sync + 'static, R: IntoVerdict<T>> Said<T, R> {
    /// What came of the parameter that was given as `before`.
    pub fn settle<'a>(self, before: Option<Vec<u8>>) -> Asking<'a> {
        Asking::Told(settle(self.0.into_verdict(), before))
    }
}

/// What is told later.
pub trait Later<'a> {
    /// What comes of the parameter that was given as `before`.
    fn settle(self, before: Option<Vec<u8>>) -> Asking<'a>;
}

impl<'a, T, R> Later<'a> for Said<T, R>
where
    T: Serialize + Send + Sync + 'static,
    R: Future<Output: IntoVerdict<T>> + Send + 'a,
{
    fn settle(self, before: Option<Vec<u8>>) -> Asking<'a> {
        Asking::Later(self.0.map(move |said| settle(said.into_verdict(), before)).boxed())
    }
}

/// The value that was given, also written down, so that a change can be told.
pub fn given<T: Serialize + 'static>(held: Option<Kept>) -> (Option<T>, Option<Vec<u8>>) {
    let value = held.and_then(|held| held.downcast::<T>().ok()).map(|value| *value);
    let before = value.as_ref().and_then(|value| serde_json::to_vec(value).ok());
    (value, before)
}

fn settle<T>(said: Result<super::Verdict<T>, Failure>, before: Option<Vec<u8>>) -> Settled
where
    T: Serialize + Send + Sync + 'static,
{
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
