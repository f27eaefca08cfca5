//! Events that can be kept.

use std::fmt;

use crate::agent::Event;
use crate::feedback::one_line;
use crate::message::Part;
use crate::model::{FinishReason, Usage};
use crate::run::{Call, CallId, CallResult, Decision, Interrupt, InterruptId, Phase, Principal, Prompt};
use crate::tool::Progress;

/// An [`Event`] that can be kept: what it says of a call, it has of its own. `Display` is a line for it, as
/// [`Events::lines`](super::Events::lines) shows.
#[derive(Clone, Debug, PartialEq)]
#[allow(clippy::large_enum_variant, reason = "a test has few of them")]
#[non_exhaustive]
pub enum Seen {
    /// The model is asked.
    StepStarted {
        /// Which turn of the model since the prompt, from 1.
        step: usize,
    },
    /// A model is asked, for the first time in a step or again.
    ModelAsked {
        /// Its name.
        model: String,
        /// How often this turn failed before.
        failures: usize,
    },
    /// The turn came to nothing.
    StepFailed {
        /// The error.
        error: String,
        /// Set if the model is asked again, or the next one.
        again: bool,
    },
    /// The run took up what somebody said.
    Prompted(Prompt),
    /// The model said more.
    Text(String),
    /// The model thought more.
    Reasoning(String),
    /// The model begins a call.
    CallAnnounced {
        /// The call's id.
        id: CallId,
        /// The tool's name, as the model wrote it.
        name: String,
    },
    /// More of a call's arguments.
    CallArguments {
        /// The call's id.
        id: CallId,
        /// The next piece of text.
        text: String,
    },
    /// The model's turn ended.
    StepFinished {
        /// Why.
        reason: FinishReason,
        /// Tokens used by the turn.
        usage: Usage,
    },
    /// A call's tool accepted its arguments.
    CallAccepted(SeenCall),
    /// A call waits for somebody.
    CallOpened {
        /// The call.
        call: SeenCall,
        /// The interrupt.
        interrupt: Interrupt,
    },
    /// A decision about a call was made.
    CallDecided {
        /// The call.
        call: SeenCall,
        /// About what.
        interrupt: InterruptId,
        /// The decision.
        decision: Decision,
        /// The principal.
        by: Principal,
    },
    /// A call runs now.
    CallStarted(SeenCall),
    /// A running call reports.
    CallProgress(Progress),
    /// A call ended.
    CallFinished {
        /// The call.
        call: SeenCall,
        /// The result.
        result: CallResult,
        /// The detail of a failure that only the log gets.
        detail: Option<String>,
    },
    /// The run finished, was stopped, or waits.
    RunPaused(Phase),
    /// Another event, as `Debug` shows it.
    Other(String),
}

/// A call as it was when something happened to it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SeenCall {
    /// Its id.
    pub id: CallId,
    /// The tool's name.
    pub name: String,
    /// Its arguments' text.
    pub arguments: String,
}

impl Seen {
    /// The id of the call that it is about.
    pub fn call(&self) -> Option<&str> {
        Some(match self {
            Self::CallAnnounced { id, .. } | Self::CallArguments { id, .. } => id.as_str(),
            Self::CallProgress(progress) => &progress.call_id,
            Self::CallAccepted(call)
            | Self::CallStarted(call)
            | Self::CallOpened { call, .. }
            | Self::CallDecided { call, .. }
            | Self::CallFinished { call, .. } => call.id.as_str(),
            _ => return None,
        })
    }
}

impl From<&Call> for SeenCall {
    fn from(call: &Call) -> Self {
        Self { id: call.id.clone(), name: call.name.clone(), arguments: call.arguments().text.to_string() }
    }
}

impl From<Event<'_>> for Seen {
    fn from(event: Event<'_>) -> Self {
        match event {
            Event::StepStarted { step } => Self::StepStarted { step },
            Event::ModelAsked { model, failures } => Self::ModelAsked { model: model.to_owned(), failures },
            Event::StepFailed { error, again } => Self::StepFailed { error: error.to_owned(), again },
            Event::Prompted(prompt) => Self::Prompted(prompt.clone()),
            Event::Text(text) => Self::Text(text.to_owned()),
            Event::Reasoning(text) => Self::Reasoning(text.to_owned()),
            Event::CallAnnounced { id, name } => Self::CallAnnounced { id: id.clone(), name: name.to_owned() },
            Event::CallArguments { id, text, .. } => Self::CallArguments { id: id.clone(), text: text.to_owned() },
            Event::StepFinished { reason, usage } => Self::StepFinished { reason: reason.clone(), usage },
            Event::CallAccepted(call) => Self::CallAccepted(call.into()),
            Event::CallOpened { call, interrupt } => {
                Self::CallOpened { call: call.into(), interrupt: interrupt.clone() }
            }
            Event::CallDecided { call, interrupt, decision, by } => Self::CallDecided {
                call: call.into(),
                interrupt: interrupt.clone(),
                decision: decision.clone(),
                by: by.clone(),
            },
            Event::CallStarted(call) => Self::CallStarted(call.into()),
            Event::CallProgress(progress) => Self::CallProgress(progress.clone()),
            Event::CallFinished { call, result, detail } => {
                Self::CallFinished { call: call.into(), result: result.clone(), detail: detail.map(str::to_owned) }
            }
            Event::RunPaused(phase) => Self::RunPaused(phase.clone()),
            Event::RunStarted(_) => Self::Other("run begins".to_owned()),
            #[allow(unreachable_patterns, reason = "events that come with other features are kept as text")]
            other => Self::Other(format!("{other:?}")),
        }
    }
}

impl fmt::Display for Seen {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = match self {
            Self::StepStarted { step } => format!("step {step}"),
            Self::ModelAsked { model, failures: 0 } => format!("asked {model}"),
            Self::ModelAsked { model, failures } => format!("asked {model} after {failures} failures"),
            Self::StepFailed { error, again } => format!("step failed{}: {error}", if *again { ", again" } else { "" }),
            Self::Prompted(prompt) => {
                let said = prompt.content.iter().filter_map(Part::as_text).collect::<Vec<_>>().join(" ");
                format!("prompted {said:?}")
            }
            Self::Text(text) => format!("text {text:?}"),
            Self::Reasoning(text) => format!("reasoning {text:?}"),
            Self::CallAnnounced { id, name } => format!("announced {id} {name}"),
            Self::CallArguments { id, text } => format!("arguments {id} {text}"),
            Self::StepFinished { reason, .. } => format!("step ended: {reason:?}"),
            Self::CallAccepted(call) => format!("accepted {call}"),
            Self::CallOpened { call, interrupt } => format!("opened {call}: {}", interrupt.kind.name()),
            Self::CallDecided { call, decision, by, .. } => {
                let by = if by.as_str().is_empty() { String::new() } else { format!(" by {by}") };
                format!("decided {call}: {}{by}", decision.verb())
            }
            Self::CallStarted(call) => format!("started {call}"),
            Self::CallProgress(progress) => {
                let total = progress.total.map(|total| format!(" of {total}")).unwrap_or_default();
                let message = progress.message.as_deref().unwrap_or_default();
                let preliminary = progress.preliminary.as_ref().map(|value| format!(" {value}")).unwrap_or_default();
                format!("progress {} {}{total} {message}{preliminary}", progress.call_id, progress.done)
            }
            Self::CallFinished { call, result, detail } => {
                let output = result.output().and_then(|output| output.as_json().map(|json| format!(": {json}")));
                let told = output.unwrap_or_else(|| format!(": {}", result.for_people(&call.name, true)));
                let detail = detail.as_ref().map(|detail| format!(" ({detail})")).unwrap_or_default();
                format!("finished {} {} {}{told}{detail}", call.id, call.name, result.name())
            }
            Self::RunPaused(phase) => format!("paused: {phase:?}"),
            Self::Other(text) => text.clone(),
        };
        out.write_str(&one_line(&line))
    }
}

impl fmt::Display for SeenCall {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {} {}", self.id, self.name, self.arguments)
    }
}
