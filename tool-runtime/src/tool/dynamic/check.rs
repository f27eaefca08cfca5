//! A check of a whole call, whose parameters are all accepted.

use std::marker::PhantomData;

use futures_util::{FutureExt, future::BoxFuture};

use crate::feedback::Rejection;

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
pub struct CheckSaid<R>(R);

impl<R> CheckSaid<R> {
    /// Returns the answer `answer`.
    pub fn new(answer: R) -> Self {
        Self(answer)
    }

    /// Returns what the check returned.
    pub fn into_answer(self) -> R {
        self.0
    }
}

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
