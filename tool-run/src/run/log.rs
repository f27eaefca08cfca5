//! The log of a run: its entries, and the texts in which they are stored.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::message::{FinishReason, Message, Usage};
use crate::run::{
    Allowance, Answer, ArgumentRevision, Author, Call, CallId, CallResult, CallState, Decision, Grant, GrantedBy,
    Interrupt, InterruptId, NestedUsage, Principal, Prompt, Run, RunId, RunOptions, Said, StopReason, Time, ToolRef,
    TurnPart, TurnUsage,
    call::Past,
    fold::as_u32,
    state::{Activity, STAGES},
};
use crate::tool::spec::Digest;
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

/// The version of the stored form that is written. Older ones are read.
pub const RECORD_VERSION: u32 = 1;

#[derive(Serialize)]
struct Write<'a, T: ?Sized> {
    v: u32,
    data: &'a T,
}

#[derive(Deserialize)]
struct Read<T> {
    data: T,
}

#[derive(Deserialize)]
struct Version {
    v: u32,
}

/// Entries of a log that belong together, as one text.
pub fn encode(events: &[LogEvent]) -> String {
    write(events)
}

/// The entries of a text that [`encode`] made, in this version or an earlier one.
pub fn decode(text: &str) -> Result<Vec<LogEvent>, RecordError> {
    read(text)
}

pub(super) fn write<T: Serialize + ?Sized>(data: &T) -> String {
    // Nothing here has keys that are not texts, so there is nothing that could fail.
    serde_json::to_string(&Write { v: RECORD_VERSION, data }).unwrap_or_default()
}

/// The version comes first: what a newer one wrote is not even looked at.
pub(super) fn read<T: for<'de> Deserialize<'de>>(text: &str) -> Result<T, RecordError> {
    let malformed = |error: serde_json::Error| RecordError::Malformed(error.to_string());
    let v = match leading(text) {
        Some(v) => v,
        None => serde_json::from_str::<Version>(text).map_err(malformed)?.v,
    };
    match v {
        1..=RECORD_VERSION => {}
        _ => return Err(RecordError::Version(v)),
    }
    let Read { data } = serde_json::from_str(text).map_err(malformed)?;
    Ok(data)
}

/// The version where [`write`] puts it, so that a long text is not read twice.
fn leading(text: &str) -> Option<u32> {
    let (version, _) = text.strip_prefix(r#"{"v":"#)?.split_once(',')?;
    version.parse().ok()
}

/// A stored text that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecordError {
    /// A version of this program wrote it that is newer than this one, or none.
    Version(u32),
    /// It is no record.
    Malformed(String),
    /// Its entries do not follow from one another.
    Corrupt(Corrupt),
}

impl fmt::Display for RecordError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version(version) => write!(
                out,
                "the run was written in version {version} of the stored form, and this program reads 1 to \
                 {RECORD_VERSION}; update it"
            ),
            Self::Malformed(error) => write!(out, "the run's record cannot be read: {error}"),
            Self::Corrupt(error) => error.fmt(out),
        }
    }
}

impl std::error::Error for RecordError {}

impl From<Corrupt> for RecordError {
    fn from(error: Corrupt) -> Self {
        Self::Corrupt(error)
    }
}

/// More than this, no call has waited for: its limits are far below.
const MOST_OBLIGATIONS: u32 = 1 << 20;

#[derive(Serialize, Deserialize)]
struct Frozen<M> {
    run: RunId,
    owner: Principal,
    options: RunOptions,
    rev: u64,
    messages: M,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    prompts: Vec<Said>,
    bytes: u64,
    calls: Vec<FrozenCall>,
    /// Ids of calls of the conversation before the run.
    #[serde(default)]
    reserved: Vec<CallId>,
    turn: u32,
    steps: u32,
    usage: Usage,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    turns: Vec<TurnUsage>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    offered: Option<Vec<String>>,
    activity: Activity,
    first: u32,
    retries: u32,
    #[serde(default)]
    inner_calls: u32,
    until: Option<String>,
    #[serde(default)]
    stopping: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    answer: Option<Arc<Value>>,
    queue: Vec<Prompt>,
    allowances: Vec<Allowance>,
    taint: Vec<String>,
}

#[derive(Serialize, Deserialize)]
struct FrozenCall {
    id: CallId,
    provider_id: String,
    turn: u32,
    index: u32,
    name: String,
    tool: Option<Arc<ToolRef>>,
    attempts: u32,
    retries: u32,
    state: FrozenState,
    arguments: ArgumentRevision,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    touches: Option<Arc<Resources>>,
    past: Option<Past>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum FrozenState {
    Proposed,
    Open(Box<Interrupt>),
    Ready { tool: Fingerprint, arguments: Digest, shown: Option<Digest>, by: GrantedBy, expires: Option<Time> },
    Running,
    Unknown,
    Done(Arc<CallResult>),
}

impl Run {
    /// The run as one text: what [`Run::thaw`] makes the run of again, without its log.
    pub fn freeze(&self) -> String {
        write(&Frozen {
            run: self.id.clone(),
            owner: self.owner.clone(),
            options: self.options,
            rev: self.rev,
            messages: &self.messages,
            prompts: self.prompts.clone(),
            bytes: self.bytes,
            calls: self.calls.iter().map(freeze).collect(),
            reserved: self.index.iter().filter(|(_, at)| **at == u32::MAX).map(|(id, _)| id.clone()).collect(),
            turn: self.turn,
            steps: self.steps,
            usage: self.usage,
            turns: self.turns.clone(),
            offered: self.offered.clone(),
            activity: self.activity.clone(),
            first: self.first,
            retries: self.retries,
            inner_calls: self.inner_calls,
            until: self.until.clone(),
            stopping: self.stopping,
            answer: self.answer.clone(),
            queue: self.queue.clone(),
            allowances: self.allowances.clone(),
            taint: self.taint.clone(),
        })
    }

    /// The run that [`Run::freeze`] wrote, in this version or an earlier one.
    ///
    /// Fails when it is of a newer version, cut or changed.
    pub fn thaw(text: &str) -> Result<Self, RecordError> {
        let frozen: Frozen<Vec<Message>> = read(text)?;
        let rev = frozen.rev;
        let corrupt =
            |reason: &str| RecordError::Corrupt(Corrupt { rev, entry: "snapshot", reason: reason.to_owned() });
        let mut run = Self {
            id: frozen.run,
            owner: frozen.owner,
            options: frozen.options,
            rev,
            messages: frozen.messages,
            prompts: frozen.prompts,
            bytes: frozen.bytes,
            calls: Vec::with_capacity(frozen.calls.len()),
            index: frozen.reserved.into_iter().map(|id| (id, u32::MAX)).collect(),
            turn: frozen.turn,
            steps: frozen.steps,
            usage: frozen.usage,
            turns: frozen.turns,
            offered: frozen.offered,
            activity: frozen.activity,
            first: frozen.first,
            passed: frozen.first,
            recent: frozen.first,
            stages: [0; STAGES],
            retries: frozen.retries,
            inner_calls: frozen.inner_calls,
            until: frozen.until,
            stopping: frozen.stopping,
            answer: frozen.answer,
            queue: frozen.queue,
            allowances: frozen.allowances,
            taint: frozen.taint,
        };
        if run.first as usize > frozen.calls.len() {
            return Err(corrupt("its turn begins behind its calls"));
        }
        for frozen in frozen.calls {
            let at = as_u32(run.calls.len());
            let is_current = at >= run.first;
            let call = thaw(frozen, &run.id);
            if run.index.insert(call.id.clone(), at).is_some() {
                return Err(corrupt("two calls have one id"));
            }
            if let CallState::Ready(grant) = &call.state
                && (grant.arguments != call.arguments.digest
                    || call.tool.as_ref().map(|tool| tool.fingerprint) != Some(grant.tool))
            {
                return Err(corrupt("a call is granted for another tool or other arguments"));
            }
            if call.past.as_ref().is_some_and(|past| past.interrupts > MOST_OBLIGATIONS) {
                return Err(corrupt("a call has waited more often than it can"));
            }
            if is_current {
                run.stages[call.stage() as usize] += 1;
                if call.arguments.digest != Digest::of(call.arguments.text.as_bytes()) {
                    return Err(corrupt("the arguments of a call are not those that were checked"));
                }
            } else if call.result().is_none() {
                return Err(corrupt("a call of an earlier turn has not ended"));
            }
            run.calls.push(call);
        }
        run.pass();
        Ok(run)
    }
}

fn freeze(call: &Call) -> FrozenCall {
    let state = match &call.state {
        CallState::Proposed => FrozenState::Proposed,
        CallState::Open(open) => FrozenState::Open(open.clone()),
        CallState::Ready(grant) => FrozenState::Ready {
            tool: grant.tool,
            arguments: grant.arguments,
            shown: grant.shown,
            by: grant.by.clone(),
            expires: grant.expires,
        },
        CallState::Running => FrozenState::Running,
        CallState::Unknown => FrozenState::Unknown,
        CallState::Done(result) => FrozenState::Done(result.clone()),
    };
    let past = call.past.as_deref().map(|past| Past {
        revisions: past.revisions.clone(),
        interrupts: past.interrupts,
        edited: past.edited,
        handed_out: past.handed_out,
        decided: past.decided.clone(),
        answers: past.answers.clone(),
        steps: past.steps.clone(),
        begun: past.begun.clone(),
    });
    FrozenCall {
        id: call.id.clone(),
        provider_id: call.provider_id.clone(),
        turn: call.turn,
        index: call.index,
        name: call.name.clone(),
        tool: call.tool.clone(),
        attempts: call.attempts,
        retries: call.retries,
        state,
        arguments: call.arguments.clone(),
        touches: call.touches.clone(),
        past,
    }
}

fn thaw(frozen: FrozenCall, run: &RunId) -> Call {
    let state = match frozen.state {
        FrozenState::Proposed => CallState::Proposed,
        FrozenState::Open(open) => CallState::Open(open),
        FrozenState::Ready { tool, arguments, shown, by, expires } => {
            let (run, call) = (run.clone(), frozen.id.clone());
            CallState::Ready(Box::new(Grant { run, call, tool, arguments, shown, by, expires }))
        }
        FrozenState::Running => CallState::Running,
        FrozenState::Unknown => CallState::Unknown,
        FrozenState::Done(result) => CallState::Done(result),
    };
    Call {
        id: frozen.id,
        provider_id: frozen.provider_id,
        turn: frozen.turn,
        index: frozen.index,
        name: frozen.name,
        tool: frozen.tool,
        attempts: frozen.attempts,
        retries: frozen.retries,
        state,
        arguments: frozen.arguments,
        touches: frozen.touches,
        past: frozen.past.map(Box::new),
    }
}
