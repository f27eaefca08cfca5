//! What stands between a validator of a user's, typed, and the engine.

use std::{
    io::{self, Write},
    marker::PhantomData,
};

use futures_util::{FutureExt, future::BoxFuture};
use serde::Serialize;
use smallvec::SmallVec;

use super::{Asking, IntoValidation, Judged, Settled, Validation, board::Kept, engine::UNCHECKED};
use crate::feedback::Report;
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
        // Written down, so that a change can be told.
        let text = value.as_ref().and_then(|value| {
            let mut text = Written::new();
            serde_json::to_writer(&mut text, value).is_ok().then_some(text)
        });
        Said { answer: (self.validator)(value, known), before: Before { place, text } }
    }
}

/// What a validator of a `T` returned: told later by a future, at once by anything else. An inherent method is found before
/// a trait's.
#[derive(Debug)]
pub struct Said<T, R> {
    answer: R,
    before: Before<T>,
}

/// What was given.
#[derive(Debug)]
pub struct Before<T> {
    /// Where it stood.
    place: Option<Box<Option<T>>>,
    text: Option<Written>,
}

/// JSON text; of most values so little that it needs no heap.
type Written = SmallVec<[u8; 48]>;

impl<T, R> Said<T, R> {
    /// Returns what the validator returned, and what it was given.
    pub fn into_parts(self) -> (R, Before<T>) {
        (self.answer, self.before)
    }
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
    let changed = match changed(&value, before.text.as_deref()) {
        Ok(changed) => changed,
        Err(error) => return failed(&error.into()),
    };
    let mut place = before.place.unwrap_or_default();
    *place = Some(value);
    let mut settled = Settled::accepted(place);
    settled.report = report;
    if let Some(changed) = changed {
        settled.report.get_or_insert_with(|| Report::accepted().into()).normalized =
            serde_json::from_str(&changed).ok();
        settled.change(Some(changed.into()));
    }
    settled
}

/// The value as JSON, where it is not written as `before`.
fn changed<T: Serialize>(value: &T, before: Option<&[u8]>) -> Result<Option<String>, serde_json::Error> {
    if let Some(before) = before {
        let mut same = Same(before);
        if serde_json::to_writer(&mut same, value).is_ok() && same.0.is_empty() {
            return Ok(None);
        }
    }
    serde_json::to_string(value).map(Some)
}

/// Takes what was written before, again, and nothing else.
struct Same<'a>(&'a [u8]);

impl Write for Same<'_> {
    #[inline]
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        self.write_all(text)?;
        Ok(text.len())
    }

    #[inline]
    fn write_all(&mut self, text: &[u8]) -> io::Result<()> {
        self.0 = self.0.strip_prefix(text).ok_or(io::ErrorKind::InvalidData)?;
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A validator that failed refuses the value, and tells no more than it was made for.
pub fn failed(failure: &Failure) -> Settled {
    Settled::refused(Report::refused(failure.message().unwrap_or(UNCHECKED))).because([failure.for_log()])
}
