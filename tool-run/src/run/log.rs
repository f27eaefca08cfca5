//! The entries of a run's log.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    Allowance, Answer, Author, CallId, CallResult, Decision, GrantedBy, Interrupt, InterruptId, NestedUsage, Principal,
    Prompt, RunId, RunOptions, Said, StopReason, Time, ToolRef, TurnPart,
};
use crate::digest::Digest;
use crate::message::{FinishReason, Message, Usage};
use crate::tool::{Fingerprint, Resources};

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
        /// The principal that may prompt it, and decide in it.
        owner: Principal,
        /// What it may use, and what it does where systems differ.
        options: RunOptions,
        /// The conversation before it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        messages: Vec<Message>,
        /// When.
        at: Time,
    },
    /// The conversation before the run is that of another, up to one of its prompts. Only behind the creation.
    Branched {
        /// The other.
        of: RunId,
        /// Where the prompts of that conversation are.
        prompts: Vec<Said>,
        /// Tools whose outputs hold text of strangers, and may be in it.
        taint: Vec<String>,
    },
    /// A prompt came while the run was busy; it waits.
    Queued {
        /// The prompt.
        prompt: Prompt,
    },
    /// The run took up a prompt.
    Prompted {
        /// The prompt.
        prompt: Prompt,
        /// Set if it is the first of those that waited.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        queued: bool,
    },
    /// The model is asked.
    TurnStarted {
        /// When.
        at: Time,
    },
    /// In this turn the model gets to see no other tools than these.
    Offered {
        /// Their names.
        tools: Vec<String>,
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
        /// The content of the turn, in order.
        parts: Vec<TurnPart>,
        /// Why it ended.
        finish: FinishReason,
        /// Tokens used.
        #[serde(default)]
        usage: Usage,
        /// The model, where it is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<Arc<str>>,
        /// When.
        at: Time,
    },
    /// The model's turn came to nothing. Calls that were complete are kept; the rest of it is not.
    TurnFailed {
        /// Why.
        error: String,
        /// Set if the model is asked again when the calls have ended.
        again: bool,
        /// Tokens used, as far as they are known.
        #[serde(default, skip_serializing_if = "is_unused")]
        usage: Usage,
        /// The model, where it is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<Arc<str>>,
        /// When.
        at: Time,
    },
    /// The validators of a call's tool understood its arguments otherwise than they were written, or the application refined
    /// them. Comes before `Checked`.
    Normalized {
        /// The call.
        call: CallId,
        /// All of the arguments, as they are understood.
        arguments: Arc<str>,
        /// The author of the last change.
        #[serde(default = "Author::validators", skip_serializing_if = "Author::is_validators")]
        by: Author,
    },
    /// A call that could not run as it was written was repaired; it is looked at anew.
    Repaired {
        /// The call.
        call: CallId,
        /// The tool that it calls now.
        name: String,
        /// All of the arguments.
        arguments: Arc<str>,
        /// The author of the repair.
        by: Author,
        /// Tokens that were used for it.
        #[serde(default)]
        usage: Usage,
    },
    /// The run is to stop when its step has ended.
    StopRequested {
        /// The principal.
        by: Principal,
        /// When.
        at: Time,
    },
    /// A call's tool accepted its arguments.
    Checked {
        /// The call.
        call: CallId,
        /// The tool.
        tool: Arc<ToolRef>,
        /// The digest of the arguments.
        arguments: Digest,
        /// The resources that the call reads and writes, where its tool names them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        touches: Option<Arc<Resources>>,
    },
    /// A call waits for somebody.
    Opened {
        /// The call.
        call: CallId,
        /// For what.
        #[serde(rename = "obligation")]
        interrupt: Box<Interrupt>,
    },
    /// A decision was made.
    Decided {
        /// About what.
        #[serde(rename = "obligation")]
        interrupt: InterruptId,
        /// What.
        decision: Decision,
        /// The principal.
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
        /// The principal.
        by: Principal,
        /// The resources that the call reads and writes with them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        touches: Option<Arc<Resources>>,
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
    /// Calls of one kind are allowed for the rest of the run.
    Allowed {
        /// The allowance.
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
    /// A `resumable` tool begins a step that must not be taken twice. Logged before it does.
    Stepping {
        /// The call.
        call: CallId,
        /// The step's name.
        name: String,
    },
    /// A tool took a step that must not be taken twice.
    Stepped {
        /// The call.
        call: CallId,
        /// The step's name.
        name: String,
        /// The result.
        value: Value,
        /// The part of the run's limits that it used.
        #[serde(default, skip_serializing_if = "NestedUsage::is_nothing")]
        spent: NestedUsage,
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

impl LogEvent {
    /// Returns the kind's name, as it is stored.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Created { .. } => "created",
            Self::Branched { .. } => "branched",
            Self::Queued { .. } => "queued",
            Self::Prompted { .. } => "prompted",
            Self::TurnStarted { .. } => "turn_started",
            Self::Offered { .. } => "offered",
            Self::Called { .. } => "called",
            Self::TurnEnded { .. } => "turn_ended",
            Self::TurnFailed { .. } => "turn_failed",
            Self::Normalized { .. } => "normalized",
            Self::Repaired { .. } => "repaired",
            Self::StopRequested { .. } => "stop_requested",
            Self::Checked { .. } => "checked",
            Self::Opened { .. } => "opened",
            Self::Decided { .. } => "decided",
            Self::Edited { .. } => "edited",
            Self::Answered { .. } => "answered",
            Self::Allowed { .. } => "allowed",
            Self::Granted { .. } => "granted",
            Self::Started { .. } => "started",
            Self::Stepping { .. } => "stepping",
            Self::Stepped { .. } => "stepped",
            Self::Lost { .. } => "lost",
            Self::Migrated { .. } => "migrated",
            Self::Ended { .. } => "ended",
            Self::Finished { .. } => "finished",
            Self::Stopped { .. } => "stopped",
        }
    }
}

fn is_unused(usage: &Usage) -> bool {
    *usage == Usage::default()
}

/// An event that an earlier one of the log contradicts, or whose run it is not.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Corrupt {
    /// How many events were good.
    pub rev: u64,
    /// The kind of the next, as it is stored; `snapshot` where the wrong one is in a snapshot.
    pub entry: &'static str,
    /// The problem with the next.
    pub reason: String,
}

impl std::fmt::Display for Corrupt {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "the run's log is wrong after {} entries: {}", self.rev, self.reason)
    }
}

impl std::error::Error for Corrupt {}
