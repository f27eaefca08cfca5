//! What may happen to a run: the inputs of its state machine.

use std::sync::Arc;

use serde_json::Value;

use super::{
    Author, CallId, CheckedCall, CheckedDecision, Interrupt, InterruptId, NestedUsage, Principal, Prompt, Question,
    StopReason, Time,
};
use crate::feedback::Rejection;
use crate::message::{AssistantPart, FinishReason, Usage};
use crate::tool::{CallError, Output};

/// Something that happened to a run, as its driver saw it.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event {
    /// A prompt.
    Prompt(Prompt),
    /// A run that stopped, or was created with a conversation, is to go on without a new prompt: the model is asked.
    Continue {
        /// The principal that wants it.
        by: Principal,
        /// When.
        at: Time,
    },
    /// The model gets to see only these tools in the turn that it is asked for. Calls of others are answered as those of
    /// tools that do not exist, whoever offers them later. To be told before the first of them.
    Offered {
        /// The names of the tools.
        tools: Vec<String>,
    },
    /// A call of the turn that the model is still at is complete. Only calls of tools that may be early are told so.
    Called {
        /// Which call of the turn, from 0; in order.
        index: u32,
        /// The provider's id.
        provider_id: String,
        /// The tool's name.
        name: String,
        /// The arguments.
        arguments: String,
    },
    /// The model's turn ended.
    TurnEnded {
        /// All that it said, in order.
        parts: Vec<AssistantPart>,
        /// Why it ended.
        finish: FinishReason,
        /// Tokens used.
        usage: Usage,
        /// The model, where it is known.
        model: Option<Arc<str>>,
        /// When.
        at: Time,
    },
    /// The model failed.
    TurnFailed {
        /// How.
        error: String,
        /// Set if it is worth asking again. The run does as long as it has retries left ([`Limits`](super::Limits)).
        again: bool,
        /// Tokens used, as far as the model had told.
        usage: Usage,
        /// The model, where it is known.
        model: Option<Arc<str>>,
        /// When.
        at: Time,
    },
    /// A call was looked at.
    Inspected {
        /// The call.
        call: CallId,
        /// The finding of a check.
        inspection: CheckedCall,
        /// When.
        at: Time,
    },
    /// A decision.
    Decide {
        /// About what.
        interrupt: InterruptId,
        /// What; checked as far as the tool can tell.
        ruling: CheckedDecision,
        /// The principal.
        by: Principal,
        /// When.
        at: Time,
    },
    /// A started call came to an end.
    Ended {
        /// The call.
        call: CallId,
        /// Which start of it.
        attempt: u32,
        /// The result.
        outcome: Result<Output, CallError>,
        /// When.
        at: Time,
    },
    /// A started call asks somebody.
    Asked {
        /// The call.
        call: CallId,
        /// Which start of it.
        attempt: u32,
        /// The question.
        question: Question,
        /// When.
        at: Time,
    },
    /// A started call is a run of its own, in which something waits for somebody.
    AskedInside {
        /// The call.
        call: CallId,
        /// Which start of it.
        attempt: u32,
        /// The tool of the call in there that waits.
        tool: String,
        /// The interrupt inside.
        interrupt: Box<Interrupt>,
        /// The problem with the decision that was given before.
        feedback: Option<Box<Rejection>>,
        /// When.
        at: Time,
    },
    /// A started call of a `resumable` tool begins a step that must not be taken twice.
    Stepping {
        /// The call.
        call: CallId,
        /// Which start of it.
        attempt: u32,
        /// The step's name.
        name: String,
    },
    /// A started call took a step that must not be taken twice.
    Stepped {
        /// The call.
        call: CallId,
        /// Which start of it.
        attempt: u32,
        /// The step's name.
        name: String,
        /// The result.
        value: Value,
        /// The part of the run's limits that it used.
        spent: NestedUsage,
    },
    /// Time passed: whatever is over ends.
    Tick {
        /// What time it is.
        at: Time,
    },
    /// The process that drove the run is gone, and another takes over.
    Recover {
        /// When.
        at: Time,
    },
    /// A refused call was repaired.
    Repaired {
        /// The call.
        call: CallId,
        /// The tool that it calls now, if that is another.
        name: Option<String>,
        /// All of the arguments.
        arguments: String,
        /// The author of the repair.
        by: Author,
        /// Tokens that were used for it.
        usage: Usage,
    },
    /// The run is to stop when its step has ended.
    StopRequested {
        /// The principal that wants it.
        by: Principal,
        /// When.
        at: Time,
    },
    /// The driver does not want the run to go on: its time is over, or what it was to come to is reached. What goes on
    /// ends, as when it is cancelled, and the run stops for this reason; a prompt that waits is taken then.
    Stop {
        /// Why.
        reason: StopReason,
        /// When.
        at: Time,
    },
    /// The run is cancelled. Prompts that wait are dropped.
    Cancel {
        /// The principal that wants it.
        by: Principal,
        /// When.
        at: Time,
    },
}

/// An action that a driver takes when the entries that it follows from are in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Ask the model for a turn.
    CallModel,
    /// Stop asking the model.
    AbortModel,
    /// Look at a call and answer with [`Event::Inspected`]. Asking twice does no harm.
    Inspect(CallId),
    /// Start the work of a call, or let it go on where it waited for an answer.
    Execute {
        /// The call.
        call: CallId,
        /// Which start of it; its end must name it.
        attempt: u32,
    },
    /// Tell a tool that nobody waits for it any more, and do not wait for it.
    Abort(CallId),
    /// Tell those who may decide that there is something to decide.
    Announce(InterruptId),
    /// Send [`Event::Tick`] at this time.
    Wake(Time),
}
