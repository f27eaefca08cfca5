//! The inputs of the state machine, the actions that follow, and the reasons for a refusal.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::feedback::Rejection;
use crate::message::{AssistantPart, FinishReason, Message, Part, ToolCall, Usage};
use crate::run::{
    Author, CallId, CheckedCall, CheckedDecision, Decision, InnerUsage, Interrupt, InterruptId, Principal, Question,
    RunId, StopReason, Timestamp,
};
use crate::tool::{CallError, Output};

/// An input of [`advance`](super::advance): a fact about a run that its driver reports.
///
/// Common fields: `call` is the call that the input concerns, `at` is its time, and `model` is the model, if it is known.
#[allow(missing_docs, reason = "fields of the same name are documented once, above")]
#[derive(Debug)]
#[non_exhaustive]
pub enum LogInput {
    /// A prompt.
    Prompt(Prompt),
    /// A call from outside, such as a client's: the turn of `prompt` has only this call, and no model is asked for it.
    CallFromOutside { prompt: Prompt, call: ToolCall },
    /// The owner continues a run without a new prompt. The run was stopped, or was created with a conversation.
    Continue {
        by: Principal,
        at: Timestamp,
        /// The answer that the run must give from now on; `None` for that of its last prompt.
        answer: Option<Box<WantedAnswer>>,
    },
    /// The tools that the model sees in its present turn. A call of any other tool ends as if that tool did
    /// not exist, whichever process continues the run. The driver sends this input before the first call.
    Offered { tools: Vec<String> },
    /// A call is complete, but the model's turn is not. Drivers report this only for calls that may start early.
    Called {
        /// The position of the call in the turn, from 0; in order.
        index: u32,
        provider_id: String,
        /// The tool's name.
        name: String,
        arguments: String,
    },
    /// The model's turn ended.
    TurnEnded {
        /// The content of the turn, in order.
        parts: Vec<AssistantPart>,
        /// The reason why it ended.
        finish: FinishReason,
        /// The tokens that the turn used.
        usage: Usage,
        model: Option<Arc<str>>,
        at: Timestamp,
    },
    /// The model failed.
    TurnFailed {
        error: String,
        /// Set if another attempt may succeed. The run makes one as long as it has retries left ([`Limits`](super::Limits)).
        again: bool,
        /// The tokens used, as far as the model reported them.
        usage: Usage,
        model: Option<Arc<str>>,
        at: Timestamp,
    },
    /// The model had written this text of a turn that ends early, or has ended so. The driver sends it right before the input that
    /// ends the turn, or after another process has stopped the run.
    Written {
        /// The number of the turn ([`Run::turn`](super::Run::turn)).
        turn: u32,
        text: String,
    },
    /// The judge has checked a call.
    Checked { call: CallId, checked: CheckedCall, at: Timestamp },
    /// A principal decided an open interrupt.
    Decide {
        interrupt: InterruptId,
        /// The decision, after the judge's check.
        decision: Box<CheckedDecision>,
        by: Principal,
        at: Timestamp,
    },
    /// A call that was started has ended.
    Ended {
        call: CallId,
        /// The number of the start, from 1.
        attempt: u32,
        outcome: Result<Output, CallError>,
        /// The handover to another agent, if the call succeeds and is one.
        handover: Option<Handover>,
        at: Timestamp,
    },
    /// The function of a started call never began: the call waited in a layer or a queue of this process, and cannot begin any
    /// more. So the call is as if it had not been started, and is checked again. The log ignores this if the call may have run
    /// before.
    Withdrawn {
        call: CallId,
        /// The number of the start, from 1.
        attempt: u32,
        /// The reason, if the call ends because of it: the limit of the wait, or what a layer did. A repeatable call that a layer
        /// timed out may be retried instead.
        error: Option<CallError>,
        at: Timestamp,
    },
    /// A call that was started asks a question.
    Asked {
        call: CallId,
        /// The number of the start, from 1.
        attempt: u32,
        question: Question,
        at: Timestamp,
    },
    /// A call that was started has a run of its own, and an interrupt is open in that run.
    AskedInside {
        call: CallId,
        /// The number of the start, from 1.
        attempt: u32,
        /// The tool of the inner call that waits.
        tool: String,
        /// The interrupt of the inner run.
        interrupt: Box<Interrupt>,
        /// The problem with the previous decision, if there was one.
        feedback: Option<Box<Rejection>>,
        at: Timestamp,
    },
    /// A running call of a `resumable` tool begins a durable step.
    DurableStepStarted {
        call: CallId,
        /// The number of the start, from 1.
        attempt: u32,
        /// The step's name.
        name: String,
    },
    /// A durable step of a running call has ended.
    DurableStepEnded {
        call: CallId,
        /// The number of the start, from 1.
        attempt: u32,
        /// The step's name.
        name: String,
        /// The result.
        value: Value,
        /// The share of the run's limits that the step used.
        spent: InnerUsage,
    },
    /// Time has passed: calls whose interrupts or grants have expired end.
    Tick { at: Timestamp },
    /// The process that drove the run is gone, and another one takes over.
    Recover { at: Timestamp },
    /// A call that its tool rejected, or whose tool does not exist, was repaired.
    Repaired {
        call: CallId,
        /// The tool that the call names now, if that is another tool.
        name: Option<String>,
        arguments: String,
        by: Author,
        /// The tokens that the repair used.
        usage: Usage,
        /// The model that was asked for the repair.
        model: Option<Arc<str>>,
    },
    /// The application adds a message to the conversation of a run that is at rest.
    AddMessage {
        /// A message of a person, or a text of the assistant.
        message: Message,
        /// The reason.
        reason: String,
        by: Principal,
        at: Timestamp,
    },
    /// The application lets another agent go on with a run at rest.
    HandOver {
        /// The agent; `None` for the run's own.
        to: Option<Arc<str>>,
        /// The run's owner.
        by: Principal,
        /// The time.
        at: Timestamp,
    },
    /// The beginning of the conversation was summarized for the model. The driver sends this before the first call of a turn.
    Summarized {
        summary: Summary,
        /// The reason.
        reason: String,
        /// The tokens that the summary used.
        usage: Usage,
        model: Option<Arc<str>>,
    },
    /// The conversation could not be summarized, so the model gets all of it.
    SummaryFailed {
        /// The problem.
        error: String,
        at: Timestamp,
    },
    /// The run must stop at the end of its step.
    StopRequested {
        /// The principal that stops it.
        by: Principal,
        at: Timestamp,
    },
    /// The owner gives the run a title.
    Title {
        /// The title.
        title: String,
        /// The principal that gives it.
        by: Principal,
        at: Timestamp,
    },
    /// The driver ends the run: its time is over, or a condition holds. Work under way ends as in a cancellation, and the run
    /// stops for this reason. If a prompt waits, the run accepts it then.
    Stop { reason: StopReason, at: Timestamp },
    /// The run is cancelled. Waiting prompts are dropped.
    Cancel { by: Principal, at: Timestamp },
}

/// An action for the driver, to be taken when the entries that caused it are in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Ask the model for a turn.
    CallModel,
    /// Abort the request to the model.
    AbortModel,
    /// Check a call, and answer with [`LogInput::Checked`]. A repetition does no harm.
    Check(CallId),
    /// Start the work of a call, or continue it after an answer.
    Execute {
        /// The call.
        call: CallId,
        /// The number of the start, from 1. [`LogInput::Ended`] repeats it.
        attempt: u32,
    },
    /// Cancel a running call, and do not wait for it.
    Abort(CallId),
    /// Notify those who may decide that an interrupt is open.
    Announce(InterruptId),
    /// Send [`LogInput::Tick`] at this time.
    Wake(Timestamp),
}

/// A message to a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Prompt {
    /// Text and images.
    pub content: Vec<Part>,
    /// The principal that sent it.
    pub by: Principal,
    /// The time of the message.
    pub at: Timestamp,
    /// The tools that end the run when a call of one of them succeeds. Its output is the answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub final_tools: Vec<Arc<str>>,
    /// The id that the author gave the prompt, such as a frontend's id of the message. It grants no rights.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The tools whose outputs contain untrusted text that may be in the prompt.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub taint: Vec<String>,
    /// The schema of the arguments of the only one of `final_tools`, if the application has no such tool. With it, another process
    /// can offer the tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_schema: Option<Arc<Value>>,
    /// Set if the prompt steers an active run: it joins between two turns, ends nothing, and resets no limits.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub steers: bool,
    /// The idempotency key of the request that brought the prompt. A run accepts one prompt of each key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Set if the prompt tells the model why a check refused its answer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub corrects: bool,
    /// Set if the first turn of the prompt is a call from outside. Wrong calls are then no wrong answers of the model.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub from_outside: bool,
    /// The claims of the principal ([`Run::claims`](super::Run::claims)). The log leaves out those that the run has already.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "read_claims")]
    pub claims: Option<Arc<Value>>,
}

/// Reads claims that are there. `null` is the claims of a principal that has none any more.
pub(super) fn read_claims<'de, D: Deserializer<'de>>(input: D) -> Result<Option<Arc<Value>>, D::Error> {
    Value::deserialize(input).map(|claims| Some(Arc::new(claims)))
}

impl Prompt {
    /// Creates a prompt of `content`.
    pub fn new(content: Vec<Part>, by: Principal, at: Timestamp) -> Self {
        let (final_tools, id, taint, answer_schema, steers, key, corrects, from_outside, claims) = Default::default();
        Self { content, by, at, final_tools, id, taint, answer_schema, steers, key, corrects, from_outside, claims }
    }

    /// Sets the id that the author gave the prompt.
    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Sets the idempotency key of the request that brought the prompt. The run refuses a second prompt with this key
    /// ([`Refusal::Repeated`]).
    pub fn with_key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Adds a tool whose successful call ends the run.
    pub fn final_tool(mut self, name: impl Into<Arc<str>>) -> Self {
        self.final_tools.push(name.into());
        self
    }

    /// Sets the schema of the arguments of the final tool, for every process that continues the run.
    pub fn answer_schema(mut self, schema: Value) -> Self {
        self.answer_schema = Some(Arc::new(schema));
        self
    }

    /// Marks the prompt as steering: it joins an active run between two turns.
    pub fn steering(mut self) -> Self {
        self.steers = true;
        self
    }

    /// Marks the prompt as the correction of the model's last answer, which counts as refused. Such a prompt steers the run.
    pub fn correcting(mut self) -> Self {
        self.corrects = true;
        self.steering()
    }
}

/// A text that takes the place of the beginning of a conversation, for the model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Summary {
    /// The number of messages whose place it takes. No call is separated from its result.
    pub messages: u32,
    /// The text.
    pub text: Arc<str>,
}

impl Summary {
    /// Creates the summary of the first `messages` messages.
    pub fn new(messages: u32, text: impl Into<Arc<str>>) -> Self {
        Self { messages, text: text.into() }
    }
}

/// A handover of the run to another agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Handover {
    /// The agent that goes on; `None` for the run's own.
    pub to: Option<Arc<str>>,
}

/// The answer that a run must give: the output of one of these tools.
#[derive(Clone, Debug, PartialEq)]
pub struct WantedAnswer {
    /// The tools that end the run when a call of one of them succeeds.
    pub final_tools: Vec<Arc<str>>,
    /// The schema of the arguments of the only tool, if the application has no such tool.
    pub answer_schema: Option<Arc<Value>>,
}

/// The place of a prompt in the conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PromptPosition {
    /// The id that the author gave the prompt ([`Prompt::id`](super::Prompt::id)).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The position among the messages ([`Run::messages`](super::Run::messages)).
    pub at: u32,
    /// Set if the prompt joined an active run ([`Prompt::steers`](super::Prompt::steers)).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub steers: bool,
    /// The idempotency key of the request that brought the prompt ([`Prompt::key`](super::Prompt::key)).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Set if the prompt tells the model why a check refused its answer ([`Prompt::corrects`](super::Prompt::corrects)).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub corrects: bool,
    /// The agent that acted before the prompt, if another one than the run's own ([`Run::acting_agent`](super::Run::acting_agent)).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acting_agent: Option<Arc<str>>,
}

/// A part of a model's turn in the log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum TurnPart {
    /// A call, whose own entry is earlier in the log.
    Call {
        /// The id of the call.
        call: CallId,
    },
    /// Text, reasoning, or a block of the provider.
    Content(AssistantPart),
}

/// The reason for the refusal of an input. The run does not change.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Refusal {
    /// The run is busy, and accepts no prompt.
    Busy,
    /// The prompt has no content, or only blank text. Providers refuse a conversation with such a message.
    EmptyPrompt,
    /// The run has a prompt with the same idempotency key.
    Repeated,
    /// The store has another run with the id of a new one.
    Exists {
        /// The id.
        run: RunId,
    },
    /// The run is not active, so nothing can be steered.
    NotActive,
    /// The team has no agent of this name.
    NoSuchAgent {
        /// The name.
        name: String,
    },
    /// The run cannot be continued, because it was not stopped.
    NotStopped,
    /// The principal may not do this in this run.
    Forbidden,
    /// The run never had this interrupt.
    Unknown {
        /// The id that the input named.
        interrupt: InterruptId,
    },
    /// The interrupt is closed, or has expired.
    Closed {
        /// The id that the input named.
        interrupt: InterruptId,
    },
    /// Another decision was made before.
    Conflict {
        /// The earlier decision.
        decided: Box<Decision>,
    },
    /// The interrupt does not accept this decision.
    NotOffered {
        /// The decision that was made.
        decision: &'static str,
        /// The decisions that the interrupt accepts.
        possible: &'static [&'static str],
    },
    /// The edited arguments, the output or the answer are wrong. The interrupt is still open.
    Invalid {
        /// The problem.
        feedback: Rejection,
    },
    /// A policy denies the call with the edited arguments. The interrupt is still open.
    PolicyDenied {
        /// The reason.
        reason: Option<String>,
    },
    /// The tool has changed since the call was checked. The interrupt is still open.
    ToolChanged,
    /// A limit was reached.
    LimitReached {
        /// The text about the limit.
        limit: String,
    },
    /// The input does not fit the state of the run, for example the end of a turn that was not requested.
    Misplaced {
        /// The problem.
        reason: &'static str,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Busy => out.write_str(
                "the run is busy; resume it, decide its open interrupts or cancel it before the next prompt",
            ),
            Self::EmptyPrompt => out.write_str("the prompt is empty; send a text or an image"),
            Self::Repeated => out.write_str("the run has the prompt of this request already; follow the run"),
            Self::Exists { run } => {
                write!(out, "the store has a run `{run}` already; open it to continue it, or choose another id")
            }
            Self::NotActive => out.write_str("the run is not active; prompt it"),
            Self::NoSuchAgent { name } => write!(out, "there is no agent called `{name}` to hand over to"),
            Self::NotStopped => out.write_str("the run was not stopped; prompt it"),
            Self::Forbidden => out.write_str("this principal may not do this in the run; its owner or a decider may"),
            Self::Unknown { interrupt } => {
                write!(out, "the run never had an interrupt {interrupt}")
            }
            Self::Closed { interrupt } => {
                write!(out, "interrupt {interrupt} is already closed; load the run again to see its open interrupts")
            }
            Self::Conflict { decided } => {
                write!(out, "another decision was made before ({}); load the run again", decided.verb())
            }
            Self::NotOffered { decision, possible } => {
                write!(out, "this interrupt does not accept `{decision}`; use one of: {}", possible.join(", "))
            }
            Self::Invalid { feedback } => write!(out, "the decision does not fit: {feedback}"),
            Self::PolicyDenied { reason: None } => out.write_str("a policy does not allow the edited call"),
            Self::PolicyDenied { reason: Some(reason) } => {
                write!(out, "a policy does not allow the edited call: {reason}")
            }
            Self::ToolChanged => {
                out.write_str("the tool has changed since the call was checked; resume the run to check the call again")
            }
            Self::LimitReached { limit } => out.write_str(limit),
            Self::Misplaced { reason } => out.write_str(reason),
        }
    }
}

impl std::error::Error for Refusal {}
