//! What nested inputs take of the application's state.

use std::marker::PhantomData;

use crate::tool::Provide;

/// What is taken of a state: nothing (`()`), one type ([`One`]), or two such things (a pair).
pub trait Wanted: 'static {
    /// It.
    type Given<'a>: Copy + 'a;
}

/// A state of type `T`.
#[derive(Debug)]
pub struct One<T>(PhantomData<fn() -> T>);

impl Wanted for () {
    type Given<'a> = ();
}

impl<T: 'static> Wanted for One<T> {
    type Given<'a> = &'a T;
}

impl<A: Wanted, B: Wanted> Wanted for (A, B) {
    type Given<'a> = (A::Given<'a>, B::Given<'a>);
}

/// A state that holds what a nested input takes of it.
#[diagnostic::on_unimplemented(
    message = "the state `{Self}` does not provide what a nested parameter takes",
    label = "lacks some of it",
    note = "what it takes is the `state = ...` of `#[dynamic_input]` on its type; a state struct provides its fields with `#[derive(tool_runtime::Provide)]`"
)]
pub trait Lend<W: Wanted> {
    /// What it takes.
    fn lend(&self) -> W::Given<'_>;
}

impl<S> Lend<()> for S {
    fn lend(&self) {}
}

impl<S: Provide<T>, T: 'static> Lend<One<T>> for S {
    fn lend(&self) -> &T {
        self.provide()
    }
}

impl<S: Lend<A> + Lend<B>, A: Wanted, B: Wanted> Lend<(A, B)> for S {
    fn lend(&self) -> (A::Given<'_>, B::Given<'_>) {
        (Lend::<A>::lend(self), Lend::<B>::lend(self))
    }
}
