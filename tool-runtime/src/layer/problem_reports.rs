//! Failures in the form of a rejection.

use super::{circuit_breaker::is_failure, retry::may_pass};
use crate::feedback::Rejection;
use crate::tool::{CallError, CallFuture, Effect, Failure};
use crate::toolset::{Invocation, Layer, Next};

/// A layer that reports failures, panics and time limits to the model in the form of a rejection.
///
/// The model receives the same information as without this layer: the message of the tool's author, but no details of hidden
/// failures and panics. The causes stay in the log. A failure that already has this form stays as it is.
///
/// tool2agent's `catchExceptions` sends everything to the model, even paths in stack traces.
/// `ProblemReports::new().prefix(ProblemReports::PREFIX).in_full()` does that.
#[derive(Clone, Debug, Default)]
pub struct ProblemReports {
    prefix: String,
    in_full: bool,
}

impl ProblemReports {
    /// The prefix that tool2agent puts before the text of an exception, spelled exactly as there.
    pub const PREFIX: &'static str = "Exception occured during tool call execution: ";

    /// Creates a layer that reports failures as problems, with their usual texts for the model.
    pub fn new() -> Self {
        Self::default()
    }

    /// Puts `text` before each problem.
    pub fn prefix(mut self, text: impl Into<String>) -> Self {
        self.prefix = text.into();
        self
    }

    /// Sends the model what is meant for hooks and observers: causes, and the texts of panics. For tools without secrets.
    pub fn in_full(mut self) -> Self {
        self.in_full = true;
        self
    }

    fn translate(&self, error: CallError, effect: Effect) -> CallError {
        if !is_failure(&error) {
            return error;
        }
        let text = match &error {
            CallError::Panicked { message } if self.in_full => message.clone(),
            error if self.in_full => error.for_log(),
            error => error.text_of(effect),
        };
        let problem = Rejection::from_message(format!("{}{text}", self.prefix));
        let failure = Failure::from(problem).source(format_args!("{}", error.for_log())).marked_like(&error);
        if may_pass(&error) { failure.retryable() } else { failure }.into()
    }
}

impl Layer for ProblemReports {
    fn call<'a>(&'a self, call: Invocation<'a>, mut next: Next<'a>) -> CallFuture<'a> {
        let effect = call.spec.options.effect;
        Box::pin(async move { next.run().await.map_err(|error| self.translate(error, effect)) })
    }
}
