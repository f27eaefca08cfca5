//! A check of a whole call, whose parameters are all accepted.

use std::marker::PhantomData;

use futures_util::{FutureExt, future::BoxFuture};

use crate::feedback::Rejection;

/// What is wrong with parameters that are all accepted, taken together.
pub type Checked = Result<(), Rejection>;

/// A function that can check a call with the input `I`, given what is known in `C`: `fn(&I, C) -> Result<(), Rejection>`, or
/// async.
#[diagnostic::on_unimplemented(
    message = "this is not a check of a call of `{I}`",
    label = "expected a function of `(&{I}, {C})`",
    note = "write `fn name(input: &{I}, known: {C}) -> Result<(), Rejection>`, or the same as an `async fn`"
)]
pub trait CheckCall<'b, I: 'b, C> {
    /// What comes back.
    type Said;
    /// Asks.
    fn ask(self, input: &'b I, known: C) -> Self::Said;
}

#[diagnostic::do_not_recommend]
impl<'b, F, I: 'b, C, R> CheckCall<'b, I, C> for F
where
    F: FnOnce(&'b I, C) -> R,
{
    type Said = R;

    fn ask(self, input: &'b I, known: C) -> R {
        self(input, known)
    }
}

/// Asks the check of a call with the input `I`, which knows a `C`. What cannot be shared between threads is reported
/// elsewhere; then [`NoChecker`] asks for nothing more.
#[derive(Debug)]
pub struct Checker<I, C>(PhantomData<fn() -> (I, C)>);

impl<I: Sync, C: Send> Checker<I, C> {
    /// Asks a check: the demand on it is made here, in one place.
    pub fn ask<'b, F>(check: F, input: &'b I, known: C) -> CheckSaid<F::Said>
    where
        F: CheckCall<'b, I, C>,
    {
        CheckSaid(check.ask(input, known))
    }
}

/// The check of a call that does not compile: an inherent function is found before a trait's.
pub trait NoChecker {
    /// See [`Checker::ask`].
    fn ask<F, I, C>(_: F, _: &I, _: C) -> CheckSaid<Checked> {
        CheckSaid(Ok(()))
    }
}

impl<I, C> NoChecker for Checker<I, C> {}

/// What a check returned: told later by a future, at once by anything else. An inherent method is found before a trait's.
#[derive(Debug)]
pub struct CheckSaid<R>(R);

impl CheckSaid<Checked> {
    /// What came of it.
    pub fn told<'b>(self) -> BoxFuture<'b, Checked> {
        std::future::ready(self.0).boxed()
    }
}

/// What is told later.
pub trait CheckLater<R> {
    /// What comes of it.
    fn told<'b>(self) -> BoxFuture<'b, Checked>
    where
        R: CheckFuture + Send + 'b;
}

impl<R> CheckLater<R> for CheckSaid<R> {
    fn told<'b>(self) -> BoxFuture<'b, Checked>
    where
        R: CheckFuture + Send + 'b,
    {
        self.0.told()
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
