//! Failures in the form of a refusal.

use crate::feedback::Rejection;
use crate::tool::{CallError, CallFuture, Failure};
use crate::toolset::{Invocation, Layer, Next};

/// Tells a model of failures, panics and time limits as it is told of refusals: `{"ok":false,"problems":[…]}`.
///
/// A model is told what it would be told anyway: what the tool's author said, and of hidden failures and panics only that
/// there was one. The causes stay in the log. What has that form already, stays as it is.
///
/// tool2agent's `catchExceptions` tells a model everything, paths in stack traces included;
/// `Problems::new().prefix(Problems::PREFIX).in_full()` does that.
#[derive(Clone, Debug, Default)]
pub struct Problems {
    prefix: String,
    in_full: bool,
}

impl Problems {
    /// The text that tool2agent puts before that of an exception, letter by letter.
    pub const PREFIX: &'static str = "Exception occured during tool call execution: ";

    /// Failures as problems, in the words that a model is told.
    pub fn new() -> Self {
        Self::default()
    }

    /// Puts `text` before each problem.
    pub fn prefix(mut self, text: impl Into<String>) -> Self {
        self.prefix = text.into();
        self
    }

    /// Tells the model what is meant for the log: causes, and the texts of panics. For tools without secrets.
    pub fn in_full(mut self) -> Self {
        self.in_full = true;
        self
    }

    fn told(&self, error: CallError) -> CallError {
        let may_pass = match &error {
            CallError::Failed(failure) if failure.feedback().is_some() => return error,
            CallError::Failed(failure) => failure.is_retryable(),
            CallError::TimedOut { .. } => true,
            CallError::Panicked { .. } => false,
            _ => return error,
        };
        let text = match &error {
            CallError::Panicked { message } if self.in_full => message.clone(),
            error if self.in_full => error.for_log(),
            error => error.to_string(),
        };
        let problem = Rejection::from_message(format!("{}{text}", self.prefix));
        let failure = Failure::from(problem).source(format_args!("{}", error.for_log()));
        if may_pass { failure.retryable() } else { failure }.into()
    }
}

impl Layer for Problems {
    fn call<'a>(&'a self, _: Invocation<'a>, mut next: Next<'a>) -> CallFuture<'a> {
        Box::pin(async move { next.run().await.map_err(|error| self.told(error)) })
    }
}
