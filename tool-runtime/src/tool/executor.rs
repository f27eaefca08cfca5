//! The evidence that a struct can do its work.

use std::{fmt, marker::PhantomData};

use schemars::{Schema, SchemaGenerator};

use super::{CallFuture, Context, Execute, ExecuteWith, Returned, ToolError, ToolOutput, expansion, returned::encode};

/// The evidence that the struct `T` can do its work with the state `S`, and that its output can be given back.
pub struct Executor<T, S> {
    start: for<'a> fn(T, &'a S, &'a Context) -> CallFuture<'a>,
    schema: fn(&mut SchemaGenerator) -> Option<Schema>,
}

impl<T, S> Executor<T, S> {
    /// The work of a call.
    pub fn start<'a>(&self, input: T, state: &'a S, cx: &'a Context) -> CallFuture<'a> {
        (self.start)(input, state, cx)
    }

    /// Returns one that does nothing.
    pub const fn idle() -> Self {
        Self { start: |_, _, _| expansion::outside(), schema: |_| None }
    }

    /// The code that describes the output.
    pub const fn returned(&self) -> Returned {
        Returned::described(self.schema)
    }
}

impl<T, S> fmt::Debug for Executor<T, S> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Executor")
    }
}

/// Tells a struct that implements [`Execute`] from one that does not: an inherent constant is found before a trait's.
#[derive(Debug)]
pub struct Executing<T>(PhantomData<fn() -> T>);

/// Tells a struct that implements [`ExecuteWith<S>`] from one that does not.
#[derive(Debug)]
pub struct ExecutingWith<T, S>(PhantomData<fn() -> (T, S)>);

/// A struct that implements [`Execute`].
#[derive(Debug)]
pub struct Alone<T>(PhantomData<fn() -> T>);

/// A struct that implements [`ExecuteWith<S>`].
#[derive(Debug)]
pub struct With<T, S>(PhantomData<fn() -> (T, S)>);

impl<T: Execute + Send> Executing<T> {
    /// What the struct is.
    pub const KIND: Alone<T> = Alone(PhantomData);
}

impl<T: ExecuteWith<S> + Send, S: Sync> ExecutingWith<T, S> {
    /// What the struct is.
    pub const KIND: With<T, S> = With(PhantomData);
}

impl<T: Execute + Send> Alone<T> {
    /// The evidence.
    #[allow(clippy::unused_self, reason = "a method, so that the compiler chooses the kind")]
    pub const fn executor(self) -> Executor<T, ()>
    where
        T: 'static,
        T::Output: ToolOutput,
        T::Error: ToolError,
    {
        Executor {
            start: |input, (), cx| {
                let work = input.execute(cx);
                Box::pin(async move { encode(work.await) })
            },
            schema: T::Output::output_schema,
        }
    }
}

impl<T: ExecuteWith<S> + Send, S: Sync> With<T, S> {
    /// The evidence.
    #[allow(clippy::unused_self, reason = "a method, so that the compiler chooses the kind")]
    pub const fn executor(self) -> Executor<T, S>
    where
        T: 'static,
        T::Output: ToolOutput,
        T::Error: ToolError,
    {
        Executor {
            start: |input, state, cx| {
                let work = input.execute(state, cx);
                Box::pin(async move { encode(work.await) })
            },
            schema: T::Output::output_schema,
        }
    }
}
