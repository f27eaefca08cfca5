//! The lines of the log that say why something failed: one for each failure, with its cause.
//!
//! The process that drives a run writes its lines. They are events of `tracing`, in the span that they concern, and have the fields
//! `run`, `call`, `tool` and `model`. A text from outside is on one line and cut, and has no secret of the context.

use tool_schema::feedback::{describe_error, excerpt};
use tracing::{Level, debug, error, info, warn};

use super::trace::TARGET;
use crate::agent::{Agent, AgentError};
use crate::model::ModelError;
use crate::run::{AbortCause, Call, CallResult, Run, StopReason};
use crate::store::StoreError;
use crate::tool::CallError;

/// The maximum length of a text from outside, in characters.
const MAX_TEXT: usize = 500;

/// The reaction to a failure of the model.
#[derive(Clone, Copy)]
pub enum AfterFailure<'a> {
    /// The model is asked again.
    Retry,
    /// The model with this name is asked.
    Fallback(&'a str),
    /// The run stops.
    Stop,
}

/// The reason why a call failed, for observers and the log.
#[derive(Debug, Default)]
pub struct FailureDetail {
    /// The complete text about the error.
    pub error: Option<String>,
    /// A text about the tool that is no error. The log had it already.
    pub warning: Option<String>,
    /// Set if the tool panicked.
    pub panicked: bool,
}

impl FailureDetail {
    /// Creates the detail of a call that ended with `error`.
    pub fn new(error: Option<&CallError>, warning: Option<String>) -> Self {
        let panicked = matches!(error, Some(CallError::Panicked { .. }));
        Self { error: error.map(CallError::for_log), warning, panicked }
    }

    /// Returns the text for observers, or `None` if there is nothing to say.
    pub fn text(&self) -> Option<String> {
        let texts: Vec<&str> = [&self.error, &self.warning].into_iter().flatten().map(String::as_str).collect();
        (!texts.is_empty()).then(|| texts.join("\n"))
    }
}

/// The failures of a run's parts, as lines of the log.
#[derive(Clone, Copy)]
pub struct Failures<'a> {
    pub agent: &'a Agent,
    pub run: &'a Run,
}

impl Failures<'_> {
    /// Reports that a turn of `model` failed.
    pub fn model_failed(self, model: &str, error: &ModelError, after: AfterFailure<'_>) {
        let cause =
            self.clean(&if self.agent.setup.trace_content { describe_error(error) } else { error.without_excerpt() });
        let (level, text) = match after {
            AfterFailure::Retry => (Level::WARN, format!("the model failed and is asked again: {cause}")),
            AfterFailure::Fallback(next) => {
                (Level::WARN, format!("the model failed, and `{next}` is asked next: {cause}"))
            }
            AfterFailure::Stop => (Level::ERROR, format!("the model failed, and the run stopped: {cause}")),
        };
        self.write(level, None, Some(model), &text);
    }

    /// Reports that a call failed and starts again.
    pub fn call_retried(self, call: &Call, detail: Option<&FailureDetail>) {
        let cause = detail.and_then(|detail| detail.error.as_deref()).unwrap_or("it gave no reason");
        self.write_call(
            Level::WARN,
            call,
            &format!("the tool failed, and the call starts again: {}", self.clean(cause)),
        );
    }

    /// Reports that a call ended without an output.
    pub fn call_ended(self, call: &Call, result: &CallResult, detail: Option<&FailureDetail>) {
        let error = detail.and_then(|detail| detail.error.as_deref());
        let shows_content = self.agent.setup.trace_content;
        let sentence = |result: &CallResult| self.clean(&result.for_people(&call.name, call.extent()));
        let (level, text) = match result {
            CallResult::Succeeded { .. } | CallResult::Responded { .. } => return,
            CallResult::Failed { .. } if detail.is_some_and(|detail| detail.panicked) => {
                (Level::ERROR, format!("the tool {}", self.clean(error.unwrap_or_default())))
            }
            CallResult::Failed { error: text, .. } => {
                (Level::WARN, format!("the tool failed: {}", self.clean(error.unwrap_or(text))))
            }
            // The rejection quotes arguments. Its causes are only for the log.
            CallResult::Rejected { .. } if shows_content => (Level::INFO, sentence(result)),
            CallResult::Rejected { .. } => match error {
                Some(cause) => {
                    (Level::WARN, format!("the arguments were rejected; the call did not run: {}", self.clean(cause)))
                }
                None => (Level::INFO, "the arguments were rejected; the call did not run".to_owned()),
            },
            // The reason is in a person's words.
            CallResult::Denied { by, .. } if !shows_content => {
                (Level::INFO, sentence(&CallResult::Denied { reason: None, by: by.clone() }))
            }
            CallResult::TimedOut { .. }
            | CallResult::Expired
            | CallResult::LimitReached { .. }
            | CallResult::Aborted { by: AbortCause::LostProcess | AbortCause::NoAnswer } => {
                (Level::WARN, sentence(result))
            }
            _ => (Level::INFO, sentence(result)),
        };
        self.write_call(level, call, &text);
    }

    /// Reports that the run stopped, unless the model's failure was reported as the reason.
    pub fn run_stopped(self, reason: &StopReason) {
        let level = match reason {
            StopReason::ModelFailed(_) => return,
            StopReason::StepLimit | StopReason::TurnCut(_) | StopReason::LimitReached(_) | StopReason::TimedOut(_) => {
                Level::WARN
            }
            _ => Level::INFO,
        };
        let advice = if *reason == StopReason::StepLimit { " (`Agent::max_steps` sets their number)" } else { "" };
        let reason = self.clean(&reason.to_string());
        self.write(level, None, None, &format!("the run stopped: {reason}{advice}"));
    }

    /// Reports that the run cannot go on here. The failures that other lines report, and those that only the caller caused, get no
    /// line.
    pub fn run_failed(self, error: &AgentError) {
        let level = match error {
            AgentError::Model(_)
            | AgentError::Cancelled
            | AgentError::Blocked { .. }
            | AgentError::NoAnswer { .. }
            | AgentError::Refused(_) => return,
            AgentError::Store(StoreError::Leased { .. } | StoreError::Conflict) => Level::INFO,
            AgentError::Store(StoreError::Fenced | StoreError::NotFound) => Level::WARN,
            AgentError::Store(_) | AgentError::Caller { .. } | AgentError::Inconsistent { .. } => Level::ERROR,
        };
        self.write(level, None, None, &format!("the run cannot go on: {}", self.clean(&describe_error(error))));
    }

    /// Returns a text from outside on one line, cut, and without the secrets of the context.
    fn clean(self, text: &str) -> String {
        let words: Vec<&str> = text.split_whitespace().collect();
        excerpt(&self.agent.setup.context.without_secrets(&words.join(" ")), MAX_TEXT)
    }

    fn write_call(self, level: Level, call: &Call, text: &str) {
        self.write(level, Some(call), None, text);
    }

    fn write(self, level: Level, call: Option<&Call>, model: Option<&str>, text: &str) {
        let run = self.run.id().as_str();
        let (tool, call) = (call.map(|call| call.name.as_str()), call.map(|call| call.id.as_str()));
        match level {
            Level::ERROR => error!(target: TARGET, { run, call, tool, model }, "{text}"),
            Level::WARN => warn!(target: TARGET, { run, call, tool, model }, "{text}"),
            Level::INFO => info!(target: TARGET, { run, call, tool, model }, "{text}"),
            _ => debug!(target: TARGET, { run, call, tool, model }, "{text}"),
        }
    }
}
