//! The inputs of the state machine, the actions that follow, and the reasons of a refusal.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::feedback::Rejection;
use crate::message::{AssistantPart, FinishReason, Part, Usage};
use crate::run::{
    Author, CallId, CheckedCall, CheckedDecision, Decision, Interrupt, InterruptId, NestedUsage, Principal, Question,
    StopReason, Time,
};
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
        /// The time of the event.
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
        /// The time of the event.
        at: Time,
    },
    /// The model failed.
    TurnFailed {
        /// The error.
        error: String,
        /// Set if it is worth asking again. The run does as long as it has retries left ([`Limits`](super::Limits)).
        again: bool,
        /// Tokens used, as far as the model had told.
        usage: Usage,
        /// The model, where it is known.
        model: Option<Arc<str>>,
        /// The time of the event.
        at: Time,
    },
    /// A call was looked at.
    Inspected {
        /// The call.
        call: CallId,
        /// The finding of a check.
        inspection: CheckedCall,
        /// The time of the event.
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
        /// The time of the event.
        at: Time,
    },
    /// A started call came to an end.
    Ended {
        /// The call.
        call: CallId,
        /// The number of the start, from 1.
        attempt: u32,
        /// The result.
        outcome: Result<Output, CallError>,
        /// The time of the event.
        at: Time,
    },
    /// A started call asks somebody.
    Asked {
        /// The call.
        call: CallId,
        /// The number of the start, from 1.
        attempt: u32,
        /// The question.
        question: Question,
        /// The time of the event.
        at: Time,
    },
    /// A started call is a run of its own, in which something waits for somebody.
    AskedInside {
        /// The call.
        call: CallId,
        /// The number of the start, from 1.
        attempt: u32,
        /// The tool of the call in there that waits.
        tool: String,
        /// The interrupt inside.
        interrupt: Box<Interrupt>,
        /// The problem with the decision that was given before.
        feedback: Option<Box<Rejection>>,
        /// The time of the event.
        at: Time,
    },
    /// A started call of a `resumable` tool begins a step that must not be taken twice.
    Stepping {
        /// The call.
        call: CallId,
        /// The number of the start, from 1.
        attempt: u32,
        /// The step's name.
        name: String,
    },
    /// A started call took a step that must not be taken twice.
    Stepped {
        /// The call.
        call: CallId,
        /// The number of the start, from 1.
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
        /// The time of the event.
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
        /// The time of the event.
        at: Time,
    },
    /// The driver does not want the run to go on: its time is over, or what it was to come to is reached. What goes on
    /// ends, as when it is cancelled, and the run stops for this reason; a prompt that waits is taken then.
    Stop {
        /// The reason.
        reason: StopReason,
        /// The time of the event.
        at: Time,
    },
    /// The run is cancelled. Prompts that wait are dropped.
    Cancel {
        /// The principal that wants it.
        by: Principal,
        /// The time of the event.
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

/// Something that somebody said to a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Prompt {
    /// Text and images.
    pub content: Vec<Part>,
    /// The principal that said it.
    pub by: Principal,
    /// The time of the event.
    pub at: Time,
    /// The tool that ends the run when a call of it succeeds: how a typed answer is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// The id that its author has for it, such as a frontend's id of the message. A claim: nothing is allowed because of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Tools whose outputs hold text of strangers, and may have made their way into it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taint: Vec<String>,
    /// The schema of that tool's arguments, where it is no tool of the application: so that another process can offer it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Arc<Value>>,
    /// Set if it joins what goes on: said between two turns, without ending anything and without beginning anew.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub steers: bool,
}

impl Prompt {
    /// A prompt of `content`.
    pub fn new(content: Vec<Part>, by: Principal, at: Time) -> Self {
        Self { content, by, at, until: None, id: None, taint: Vec::new(), answer: None, steers: false }
    }

    /// Sets the id that its author has for it.
    pub fn named(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Lets a successful call of the tool `name` answer it.
    pub fn until(mut self, name: impl Into<String>) -> Self {
        self.until = Some(name.into());
        self
    }

    /// Sets the schema of that tool's arguments, for any process that goes on with the run.
    pub fn answered_as(mut self, schema: Value) -> Self {
        self.answer = Some(Arc::new(schema));
        self
    }

    /// Lets it join a run that goes on, between two turns.
    pub fn steering(mut self) -> Self {
        self.steers = true;
        self
    }
}

/// The place of a prompt in the conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Said {
    /// The id that its author has for it ([`Prompt::id`](super::Prompt::id)).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The place among the messages ([`Run::messages`](super::Run::messages)).
    pub at: u32,
    /// Set if it joined what went on ([`Prompt::steers`](super::Prompt::steers)).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub steers: bool,
}

/// A piece of a model's turn in the log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum TurnPart {
    /// A call, logged before.
    Call {
        /// Its id.
        call: CallId,
    },
    /// Text or reasoning.
    Said(AssistantPart),
}

/// The reason why an event was refused. The run is as it was before.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Refusal {
    /// The run is busy, and takes no prompt.
    Busy,
    /// Nothing goes on in the run that could be steered.
    Idle,
    /// The run has nothing to go on with: it was not stopped.
    NotStopped,
    /// This principal may not do that in this run.
    Forbidden,
    /// There never was such an interrupt in this run.
    Unknown {
        /// The id that was named.
        interrupt: InterruptId,
    },
    /// The interrupt is closed: it expired, or something else came first.
    Closed {
        /// The id that was named.
        interrupt: InterruptId,
    },
    /// Another decision was made before.
    Conflict {
        /// The decision.
        decided: Box<Decision>,
    },
    /// The interrupt takes other decisions.
    NotOffered {
        /// The decision.
        decision: &'static str,
        /// The decisions that are possible.
        possible: &'static [&'static str],
    },
    /// The edited arguments, the output or the answer are wrong. The interrupt is still open.
    Invalid {
        /// The problem.
        feedback: Rejection,
    },
    /// A policy does not allow the call with the edited arguments. The interrupt is still open.
    PolicyDenied {
        /// The reason.
        reason: Option<String>,
    },
    /// The tool is not the one that the call was checked with. The interrupt is still open.
    ToolChanged,
    /// A limit was reached.
    OverBudget {
        /// Which.
        limit: String,
    },
    /// The event does not belong to the run as it is, for example the end of a turn that nobody asked for.
    Misplaced {
        /// The problem.
        reason: &'static str,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Busy => {
                out.write_str("the run is busy; decide about what waits, or cancel it, before the next prompt")
            }
            Self::Idle => out.write_str("nothing goes on in the run; prompt it"),
            Self::NotStopped => out.write_str("the run was not stopped; prompt it"),
            Self::Forbidden => out.write_str("this principal may not decide here"),
            Self::Unknown { interrupt } => {
                write!(out, "nothing in this run waits, or waited, under the id {interrupt}")
            }
            Self::Closed { interrupt } => {
                write!(out, "{interrupt} is closed: it expired, or something else came first")
            }
            Self::Conflict { decided } => write!(out, "somebody decided before: {}", decided.verb()),
            Self::NotOffered { decision, possible } => {
                write!(out, "cannot {decision} here; possible: {}", possible.join(", "))
            }
            Self::Invalid { feedback } => write!(out, "the decision does not fit: {feedback}"),
            Self::PolicyDenied { reason: None } => out.write_str("a policy does not allow the edited call"),
            Self::PolicyDenied { reason: Some(reason) } => {
                write!(out, "a policy does not allow the edited call: {reason}")
            }
            Self::ToolChanged => out.write_str("the tool was changed since the call was checked"),
            Self::OverBudget { limit } => out.write_str(limit),
            Self::Misplaced { reason } => out.write_str(reason),
        }
    }
}

impl std::error::Error for Refusal {}
