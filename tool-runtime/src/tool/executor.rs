//! The state that calls share, and the witnesses that a struct can be executed.

use std::marker::PhantomData;

use super::{
    CallFuture, Context, Execute, ExecuteWith, ToolError, ToolOutput,
    output::{Returned, encode},
};

/// State that a tool takes by value.
#[diagnostic::on_unimplemented(
    message = "a tool takes state by value only if it is `Clone`, and `{Self}` is not",
    label = "cloned for each call",
    note = "take `&{Self}`, or `Arc<{Self}>`"
)]
pub trait Owned: Clone {}

#[diagnostic::do_not_recommend]
impl<T: Clone> Owned for T {}

/// Clones a state that a tool takes by value.
#[derive(Debug)]
pub struct StateCloner<T>(PhantomData<fn() -> T>);

impl<T> StateCloner<T> {
    /// Returns the function that clones the state.
    pub const fn by_value() -> fn(&T) -> T
    where
        T: Owned,
    {
        T::clone
    }
}

/// Application state that a toolset can hold.
#[diagnostic::on_unimplemented(
    message = "the state `{Self}` cannot be shared between threads",
    label = "not `Send` and `Sync`, but calls run side by side, on any thread",
    note = "hold a `Mutex` or an atomic instead of a `Cell`, a `Mutex` or `RwLock` instead of a `RefCell`, an `Arc` instead of an `Rc`"
)]
pub trait State: Send + Sync + 'static {}

#[diagnostic::do_not_recommend]
impl<T: Send + Sync + 'static> State for T {}

/// The witness that the struct `T` can be executed with the state `S`, and that its output can be returned.
#[derive(Debug)]
pub struct Executor<T, S> {
    pub(super) start: for<'a> fn(T, &'a S, &'a Context) -> CallFuture<'a>,
    /// The code that describes the output.
    pub returned: Returned,
}

impl<T, S> Executor<T, S> {
    /// Returns the work of a call.
    pub fn start<'a>(&self, input: T, state: &'a S, cx: &'a Context) -> CallFuture<'a> {
        (self.start)(input, state, cx)
    }
}

/// The witness that the struct `T` implements [`Execute`].
#[derive(Debug)]
pub struct ExecuteWitness<T>(PhantomData<fn() -> T>);

/// The witness that the struct `T` implements [`ExecuteWith<S>`].
#[derive(Debug)]
pub struct ExecuteWithWitness<T, S>(PhantomData<fn() -> (T, S)>);

impl<T: Execute + Send + 'static> ExecuteWitness<T> {
    /// The marker value, on which the method `fits` is called.
    pub const KIND: &'static Self = &Self(PhantomData);
}

impl<T: ExecuteWith<S> + Send + 'static, S: Sync + 'static> ExecuteWithWitness<T, S> {
    /// The marker value, on which the method `fits` is called.
    pub const KIND: &'static Self = &Self(PhantomData);
}

impl<T: Execute<Output: ToolOutput> + Send + 'static> ExecuteWitness<T> {
    /// Returns the executor, if the output and the error types fit.
    pub const fn fits<L: ?Sized>(&self) -> Executor<T, ()>
    where
        T::Error: ToolError,
    {
        Executor {
            start: |input, (), cx| {
                let work = input.execute(cx);
                Box::pin(async move { encode(work.await) })
            },
            returned: Returned::described(T::Output::output_schema),
        }
    }
}

impl<T: ExecuteWith<S, Output: ToolOutput> + Send + 'static, S: Sync> ExecuteWithWitness<T, S> {
    /// Returns the executor, if the output and the error types fit.
    pub const fn fits<L: ?Sized>(&self) -> Executor<T, S>
    where
        T::Error: ToolError,
    {
        Executor {
            start: |input, state, cx| {
                let work = input.execute(state, cx);
                Box::pin(async move { encode(work.await) })
            },
            returned: Returned::described(T::Output::output_schema),
        }
    }
}
