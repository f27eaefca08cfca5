//! What a declaration names must fit: the predicate of its approval, and the type of its context.

use std::{
    marker::PhantomData,
    panic::{AssertUnwindSafe, catch_unwind},
};

use super::Context;

/// A function that can say whether a call with the input `I` needs approval: `fn(&I) -> bool`.
///
/// Nothing implements it: what is such a function is asked by [`Asked::asks`], and anything else must be this. So what is
/// wrong is said in these words, and not in the compiler's about signatures.
#[diagnostic::on_unimplemented(
    message = "this cannot say whether a call of `{I}` needs approval",
    label = "expected a function of `(&{I})` that returns a `bool`",
    note = "write `fn name(input: &{I}) -> bool`, which is not async; what has to look something up is a `Policy`"
)]
pub trait Predicate<I> {}

/// Asks predicates of calls with the input `I`.
#[derive(Debug)]
pub struct When<I>(PhantomData<fn() -> I>);

impl<I> When<I> {
    /// A predicate.
    pub fn of<F>(predicate: F) -> Asked<F, I> {
        Asked { predicate, of: PhantomData }
    }
}

/// A predicate of calls with the input `I`, if it is one.
#[derive(Debug)]
pub struct Asked<F, I> {
    predicate: F,
    of: PhantomData<fn() -> I>,
}

impl<F: FnOnce(&I) -> bool, I> Asked<F, I> {
    /// Whether a person is to be asked. A predicate that panics wants it: nobody knows what it would have said.
    pub fn asks(self, input: &I) -> bool {
        catch_unwind(AssertUnwindSafe(|| (self.predicate)(input))).unwrap_or(true)
    }
}

/// The type of a parameter marked `#[context]`.
#[diagnostic::on_unimplemented(
    message = "the context of a call is a `Context`, and `{Self}` is none",
    label = "write `&Context`, or `Context`",
    note = "application state is marked `#[state]`; what the model gives has no mark"
)]
pub trait CallContext: Sized {
    /// The context.
    fn of(cx: &Context) -> &Self;
}

#[diagnostic::do_not_recommend]
impl CallContext for Context {
    #[inline]
    fn of(cx: &Context) -> &Self {
        cx
    }
}

/// The context, as the parameter of a function wants it.
#[inline]
pub fn context<T>(cx: &Context) -> &T
where
    T: CallContext,
{
    T::of(cx)
}
