//! What happened in a run: the entries of its log.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    Allowance, Answer, CallId, CallResult, Decision, GrantedBy, Obligation, ObligationId, Principal, RunId, RunOptions,
    StopReason, Time, ToolRef,
};
use crate::digest::Digest;
use crate::message::{AssistantPart, FinishReason, Message, Part, Usage};
use crate::tool::Fingerprint;

/// One thing that happened in a run. The log of a run is all there is to it: [`Run::fold`](super::Run::fold) makes the
/// run of it, in any process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum LogEvent {
    /// The run was created. Always the first, and only the first.
    Created {
        /// Its id.
        run: RunId,
        /// Who may prompt it, and decide in it.
        owner: Principal,
        /// What it may use, and what it does where systems differ.
        options: RunOptions,
        /// The conversation before it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        messages: Vec<Message>,
        /// When.
        at: Time,
    },
    /// Somebody said something while the run was busy; it waits.
    Queued {
        /// The prompt.
        prompt: Prompt,
    },
    /// Somebody said something.
    Prompted {
        /// The prompt.
        prompt: Prompt,
        /// Whether it is the first of those that waited.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        queued: bool,
    },
    /// The model is asked.
    TurnStarted {
        /// When.
        at: Time,
    },
    /// The model asked for a call, whose arguments are complete.
    Called {
        /// The id that was minted for the call.
        call: CallId,
        /// The id that the model's provider gave.
        provider_id: String,
        /// The name that the model called.
        name: String,
        /// The arguments.
        arguments: Arc<str>,
    },
    /// The model's turn ended.
    TurnEnded {
        /// What it said, in order.
        parts: Vec<TurnPart>,
        /// Why it ended.
        finish: FinishReason,
        /// Tokens used.
        #[serde(default)]
        usage: Usage,
        /// When.
        at: Time,
    },
    /// The model's turn came to nothing. Calls that were complete are kept; the rest of it is not.
    TurnFailed {
        /// Why.
        error: String,
        /// Whether the model is asked again when the calls have ended.
        again: bool,
        /// When.
        at: Time,
    },
    /// The validators of a call's tool understood its arguments otherwise than they were written. Comes before `Checked`.
    Normalized {
        /// The call.
        call: CallId,
        /// All of the arguments, as they are understood.
        arguments: Arc<str>,
    },
    /// A call's tool accepted its arguments.
    Checked {
        /// The call.
        call: CallId,
        /// The tool.
        tool: Arc<ToolRef>,
        /// The digest of the arguments.
        arguments: Digest,
    },
    /// A call waits for somebody.
    Opened {
        /// The call.
        call: CallId,
        /// For what.
        obligation: Box<Obligation>,
    },
    /// Somebody decided.
    Decided {
        /// About what.
        obligation: ObligationId,
        /// What.
        decision: Decision,
        /// Who.
        by: Principal,
        /// When.
        at: Time,
    },
    /// A person replaced a call's arguments.
    Edited {
        /// The call.
        call: CallId,
        /// All of the arguments.
        arguments: Arc<str>,
        /// Who.
        by: Principal,
    },
    /// A question of a tool was answered.
    Answered {
        /// The call.
        call: CallId,
        /// The digest of the question.
        question: Digest,
        /// The answer.
        answer: Answer,
    },
    /// Somebody allowed calls of one kind for the rest of the run.
    Allowed {
        /// Which, and who.
        allowance: Allowance,
    },
    /// A call may start.
    Granted {
        /// The call.
        call: CallId,
        /// The tool it may start.
        tool: Fingerprint,
        /// The digest of the arguments it may start with.
        arguments: Digest,
        /// The digest of what the person was shown.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        shown: Option<Digest>,
        /// By whom.
        by: GrantedBy,
        /// Until when it must be used.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expires: Option<Time>,
    },
    /// A call starts. Logged before it does.
    Started {
        /// The call.
        call: CallId,
        /// When.
        at: Time,
    },
    /// A tool took a step that must not be taken twice.
    Stepped {
        /// The call.
        call: CallId,
        /// The step's name.
        name: String,
        /// What came of it.
        value: Value,
    },
    /// The process that ran a call is gone.
    Lost {
        /// The call.
        call: CallId,
    },
    /// A waiting call was taken over by a newer version of its tool; it is looked at anew.
    Migrated {
        /// The call.
        call: CallId,
        /// The version that the tool had.
        from: Option<String>,
    },
    /// A call ended.
    Ended {
        /// The call.
        call: CallId,
        /// How.
        result: Arc<CallResult>,
        /// When.
        at: Time,
    },
    /// The run came to an end until somebody prompts it again: the model had no more calls to make.
    Finished {
        /// When.
        at: Time,
    },
    /// The run came to an end until somebody prompts or continues it.
    Stopped {
        /// Why.
        reason: StopReason,
        /// When.
        at: Time,
    },
}

/// Something that somebody said to a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Prompt {
    /// Text and images.
    pub content: Vec<Part>,
    /// Who said it.
    pub by: Principal,
    /// When.
    pub at: Time,
    /// The tool that ends the run when a call of it succeeds: how a typed answer is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
}

impl Prompt {
    /// A prompt of `content`.
    pub fn new(content: Vec<Part>, by: Principal, at: Time) -> Self {
        Self { content, by, at, until: None }
    }

    /// The same, answered by a successful call of the tool `name`.
    pub fn until(mut self, name: impl Into<String>) -> Self {
        self.until = Some(name.into());
        self
    }
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

/// An event that an earlier one of the log contradicts, or whose run it is not.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Corrupt {
    /// How many events were good.
    pub rev: u64,
    /// What is wrong with the next.
    pub reason: String,
}

impl std::fmt::Display for Corrupt {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "the run's log is wrong after {} entries: {}", self.rev, self.reason)
    }
}

impl std::error::Error for Corrupt {}
