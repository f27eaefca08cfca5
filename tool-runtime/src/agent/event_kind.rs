//! The events of a run that own their data.

use std::{fmt, sync::Arc};

use crate::agent::Event;
use crate::feedback::one_line;
use crate::message::{Part, ProviderPart};
use crate::model::{FinishReason, ToolChoice, Usage};
use crate::run::{
    Call, CallId, CallResult, Decision, Extent, Interrupt, InterruptId, Phase, Principal, Prompt, Refusal,
};
use crate::tool::Progress;
use tool_run::run::CallState;

/// An [`Event`] that can be kept, because it owns its data. `Display` writes one line.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum EventKind {
    /// The runtime drives the run. This is the first event.
    RunStarted,
    /// A step begins.
    StepStarted {
        /// The number of the step since the run was last prompted or continued, from 1.
        step: usize,
    },
    /// A model is asked, for the first time in a step or again.
    ModelAsked {
        /// The model's name.
        model: String,
        /// The number of earlier failures of this turn.
        failures: usize,
    },
    /// The turn failed. Its text is void ([`Event::TurnFailed`]).
    TurnFailed {
        /// The error.
        error: String,
        /// Set if this model, or the next one, is asked again.
        again: bool,
    },
    /// The model sees other messages than the run has.
    HistoryChanged {
        /// The reasons, in the order of the changes.
        reasons: Vec<String>,
    },
    /// The model cannot take a part of the conversation, so the request describes it in words.
    PartDescribed {
        /// The part.
        part: Box<Part>,
        /// The id of the call whose result has the part; `None` if it is one of a prompt.
        call: Option<String>,
        /// The model's name.
        model: String,
    },
    /// The model ignored the choice of tools. The turn stands.
    ChoiceIgnored(ToolChoice),
    /// A prompt came, and waits until the run can accept it.
    PromptQueued(Box<Prompt>),
    /// The run refused a message that should steer it.
    PromptRefused(Box<Refusal>),
    /// The run accepted a prompt.
    Prompted(Box<Prompt>),
    /// The model sent more text.
    Text(String),
    /// The model sent more reasoning.
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
    /// The provider called a tool that it executes itself, or such a call ended.
    ProviderPart(Box<ProviderPart>),
    /// The model's turn ended.
    TurnEnded {
        /// The reason.
        reason: FinishReason,
        /// Tokens used by the turn.
        usage: Usage,
    },
    /// The model's turn and all of its calls have ended.
    StepEnded {
        /// The number of the step since the run was last prompted or continued, from 1.
        step: usize,
    },
    /// A call's tool accepted its arguments. The call may still be denied.
    CallAccepted(EventCall),
    /// Another agent of the team goes on.
    HandedOver {
        /// The name of the agent; `None` for the run's own.
        to: Option<String>,
    },
    /// A call waits for a decision.
    InterruptOpened {
        /// The call.
        call: EventCall,
        /// The interrupt.
        interrupt: Box<Interrupt>,
    },
    /// A decision about a call was made.
    CallDecided {
        /// The call.
        call: EventCall,
        /// The interrupt.
        interrupt: InterruptId,
        /// The decision.
        decision: Box<Decision>,
        /// The principal that decided.
        by: Principal,
    },
    /// A call runs now.
    CallStarted(EventCall),
    /// A running call reports progress.
    CallProgress(Box<Progress>),
    /// An event of the run inside of a call whose tool is an agent. A stream never has it: the event comes as itself there.
    Inner {
        /// The id of the call.
        call: CallId,
        /// The name of the inner agent, or of its tool.
        agent: String,
        /// The event of the inner run.
        event: Box<EventKind>,
    },
    /// A call ended.
    CallEnded {
        /// The call.
        call: EventCall,
        /// The result.
        result: Arc<CallResult>,
        /// The cause of a failure, which neither the model nor the run's log receives.
        detail: Option<String>,
        /// The extent to which the call may have run.
        extent: Extent,
    },
    /// The run finished, was stopped, or waits for a decision.
    RunAtRest(Phase),
    /// The run could not go on. This is the text of the error.
    RunFailed(String),
    /// A hook failed. This has no other effect.
    HookFailed {
        /// The number of the hook, in the order in which hooks were added, from 0.
        hook: usize,
        /// The text of the error.
        error: String,
    },
}

/// A call at the time of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EventCall {
    /// The call's id.
    pub id: CallId,
    /// The tool's name.
    pub name: String,
    /// The text of the arguments.
    pub arguments: Arc<str>,
}

impl EventKind {
    /// Returns the id of the call to which the event belongs.
    pub fn call(&self) -> Option<&str> {
        Some(match self {
            Self::CallAnnounced { id, .. } | Self::CallArguments { id, .. } => id.as_str(),
            Self::CallProgress(progress) => &progress.call_id,
            Self::CallAccepted(call)
            | Self::CallStarted(call)
            | Self::InterruptOpened { call, .. }
            | Self::CallDecided { call, .. }
            | Self::CallEnded { call, .. } => call.id.as_str(),
            _ => return None,
        })
    }
}

impl From<&Call> for EventCall {
    fn from(call: &Call) -> Self {
        Self { id: call.id.clone(), name: call.name.clone(), arguments: Arc::clone(&call.arguments().text) }
    }
}

impl From<Event<'_>> for EventKind {
    fn from(event: Event<'_>) -> Self {
        match event {
            Event::RunStarted(_) => Self::RunStarted,
            Event::StepStarted { step } => Self::StepStarted { step },
            Event::ModelAsked { model, failures } => Self::ModelAsked { model: model.to_owned(), failures },
            Event::TurnFailed { error, again } => Self::TurnFailed { error: error.to_owned(), again },
            Event::PartDescribed { part, call, model } => Self::PartDescribed {
                part: Box::new(part.clone()),
                call: call.map(str::to_owned),
                model: model.to_owned(),
            },
            Event::ChoiceIgnored(choice) => Self::ChoiceIgnored(choice.clone()),
            Event::PromptQueued(prompt) => Self::PromptQueued(Box::new(prompt.clone())),
            Event::PromptRefused(refusal) => Self::PromptRefused(Box::new(refusal.clone())),
            Event::Prompted(prompt) => Self::Prompted(Box::new(prompt.clone())),
            Event::Text(text) => Self::Text(text.to_owned()),
            Event::Reasoning(text) => Self::Reasoning(text.to_owned()),
            Event::CallAnnounced { id, name } => Self::CallAnnounced { id: id.clone(), name: name.to_owned() },
            Event::CallArguments { id, text, .. } => Self::CallArguments { id: id.clone(), text: text.to_owned() },
            Event::HistoryChanged { reasons } => Self::HistoryChanged { reasons: reasons.to_vec() },
            Event::HandedOver { to } => Self::HandedOver { to: to.map(str::to_owned) },
            Event::ProviderPart(part) => Self::ProviderPart(Box::new(part.clone())),
            Event::TurnEnded { reason, usage } => Self::TurnEnded { reason: reason.clone(), usage },
            Event::StepEnded { step } => Self::StepEnded { step },
            Event::CallAccepted(call) => Self::CallAccepted(call.into()),
            Event::InterruptOpened { call, interrupt } => {
                Self::InterruptOpened { call: call.into(), interrupt: Box::new(interrupt.clone()) }
            }
            Event::CallDecided { call, interrupt, decision, by } => Self::CallDecided {
                call: call.into(),
                interrupt: interrupt.clone(),
                decision: Box::new(decision.clone()),
                by: by.clone(),
            },
            Event::CallStarted(call) => Self::CallStarted(call.into()),
            Event::CallProgress(progress) => Self::CallProgress(Box::new(progress.clone())),
            Event::Inner { call, agent, event } => {
                Self::Inner { call: call.clone(), agent: agent.to_owned(), event: Box::new((*event).into()) }
            }
            Event::CallEnded { call, result, detail } => {
                let (extent, detail) = (call.extent(), detail.map(str::to_owned));
                // The run has the result, too, and shares it.
                let result = match &call.state {
                    CallState::Done(shared) => Arc::clone(shared),
                    _ => Arc::new(result.clone()),
                };
                Self::CallEnded { call: call.into(), result, detail, extent }
            }
            Event::RunAtRest(phase) => Self::RunAtRest(phase.clone()),
            Event::RunFailed(error) => Self::RunFailed(error.to_string()),
            Event::HookFailed { hook, error } => Self::HookFailed { hook, error: error.to_owned() },
        }
    }
}

impl fmt::Display for EventKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = |prompt: &Prompt| prompt.content.iter().filter_map(Part::as_text).collect::<Vec<_>>().join(" ");
        let line = match self {
            Self::RunStarted => "run begins".to_owned(),
            Self::StepStarted { step } => format!("step {step}"),
            Self::ModelAsked { model, failures: 0 } => format!("asked {model}"),
            Self::ModelAsked { model, failures } => format!("asked {model} after {failures} failures"),
            Self::TurnFailed { error, again } => format!("turn failed{}: {error}", if *again { ", again" } else { "" }),
            Self::HistoryChanged { reasons } => format!("history changed: {}", reasons.join("; ")),
            Self::HandedOver { to } => format!("handed over to {}", to.as_deref().unwrap_or("the run's own agent")),
            Self::PartDescribed { part, model, .. } => format!("described for {model}: {part:?}"),
            Self::ChoiceIgnored(choice) => format!("ignored {choice:?}"),
            Self::PromptQueued(prompt) => format!("queued {:?}", words(prompt)),
            Self::PromptRefused(refusal) => format!("refused a prompt: {refusal}"),
            Self::Prompted(prompt) => format!("prompted {:?}", words(prompt)),
            Self::Text(text) => format!("text {text:?}"),
            Self::Reasoning(text) => format!("reasoning {text:?}"),
            Self::CallAnnounced { id, name } => format!("announced {id} {name}"),
            Self::CallArguments { id, text } => format!("arguments {id} {text}"),
            Self::ProviderPart(part) => format!("provider {:?} {}", part.kind, part.name),
            Self::TurnEnded { reason, .. } => format!("turn finished: {reason:?}"),
            Self::StepEnded { step } => format!("step ended: {step}"),
            Self::CallAccepted(call) => format!("accepted {call}"),
            Self::InterruptOpened { call, interrupt } => format!("opened {call}: {}", interrupt.kind.name()),
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
            Self::Inner { call, agent, event } => format!("inside {call} {agent}: {event}"),
            Self::CallEnded { call, result, detail, extent } => {
                let output = result.output().and_then(|output| output.as_json().map(|json| format!(": {json}")));
                let outcome = output.unwrap_or_else(|| format!(": {}", result.for_people(&call.name, *extent)));
                let detail = detail.as_ref().map(|detail| format!(" ({detail})")).unwrap_or_default();
                format!("finished {} {} {}{outcome}{detail}", call.id, call.name, result.name())
            }
            Self::RunAtRest(phase) => format!("paused: {phase:?}"),
            Self::RunFailed(error) => format!("failed: {error}"),
            Self::HookFailed { hook, error } => format!("hook {hook} failed: {error}"),
        };
        out.write_str(&one_line(&line))
    }
}

impl fmt::Display for EventCall {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {} {}", self.id, self.name, self.arguments)
    }
}
