//! A tool as the runtime handles it: its declaration, and the code that starts a call.

use std::{fmt, sync::Arc};

use futures_util::future::BoxFuture;

use super::{CallError, Context, Def, Output, Refused, ToolSpec};
use crate::feedback::Rejection;

/// The work of a call. Nothing happens until it is polled.
pub type CallFuture<'a> = BoxFuture<'a, Result<Output, CallError>>;

/// A call whose arguments were accepted, and which has not run yet.
pub struct Started<'a> {
    /// Whether somebody must approve the call first.
    pub needs_approval: bool,
    /// The work.
    pub work: CallFuture<'a>,
}

impl fmt::Debug for Started<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Started").field("needs_approval", &self.needs_approval).finish_non_exhaustive()
    }
}

/// The code that reads arguments and prepares a call.
pub enum Start<S: 'static> {
    /// For a tool that needs no state.
    Free(for<'a> fn(&'a str, &'a Context) -> Result<Started<'a>, Refused>),
    /// For a tool that needs the state.
    On(for<'a> fn(&'a S, &'a str, &'a Context) -> Result<Started<'a>, Refused>),
}

/// The code that reads the output that somebody outside gave to a call.
pub type ReadAnswer = fn(&str) -> Result<Output, Rejection>;

/// A tool for the state `S`, as constants.
pub struct Part<S: 'static> {
    /// The declaration; behind a function, because a constant must not look at what changes.
    pub def: fn() -> &'static Def,
    /// Starts a call.
    pub start: Start<S>,
}

impl<S> Clone for Start<S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S> Copy for Start<S> {}

impl<S> fmt::Debug for Start<S> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Free(_) => "Free",
            Self::On(_) => "On",
        })
    }
}

impl<S> Clone for Part<S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S> Copy for Part<S> {}

impl<S> fmt::Debug for Part<S> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Part").field("def", &(self.def)()).finish_non_exhaustive()
    }
}

/// A tool whose types are not known here.
pub trait DynTool: Send + Sync {
    /// The name.
    fn name(&self) -> &str;

    /// What is known about the tool.
    fn spec(&self) -> &Arc<ToolSpec>;

    /// Reads the arguments and prepares the call. Nothing runs before [`Started::work`] is polled.
    fn start<'a>(&'a self, arguments: &'a str, cx: &'a Context) -> Result<Started<'a>, CallError>;

    /// Reads the output that somebody outside gave to a call of an external tool.
    ///
    /// Fails when the tool is not external, or the output is not of its type. An answer from outside the program goes
    /// through [`Toolset::answer`](crate::Toolset::answer), which also limits its size.
    fn answer(&self, output: &str) -> Result<Output, CallError>;
}

/// A tool bound to its state.
pub(crate) struct Bound<S: 'static> {
    pub(crate) def: &'static Def,
    pub(crate) start: Start<S>,
    pub(crate) state: Arc<S>,
}

impl<S: Send + Sync> DynTool for Bound<S> {
    fn name(&self) -> &str {
        self.def.name
    }

    fn spec(&self) -> &Arc<ToolSpec> {
        self.def.spec()
    }

    #[inline]
    fn start<'a>(&'a self, arguments: &'a str, cx: &'a Context) -> Result<Started<'a>, CallError> {
        let started = match self.start {
            Start::Free(start) => start(arguments, cx),
            Start::On(start) => start(&self.state, arguments, cx),
        };
        started.map_err(CallError::from)
    }

    fn answer(&self, output: &str) -> Result<Output, CallError> {
        self.def.read_answer(output)
    }
}
