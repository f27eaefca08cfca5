//! The log of a run: its entries, and the texts in which they are stored.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::message::{FinishReason, Message, Usage};
use crate::run::{
    Allowance, Answer, ArgumentRevision, Author, Call, CallId, CallResult, CallState, Decision, Grant, GrantedBy,
    Interrupt, InterruptId, NestedUsage, Principal, Prompt, Run, RunId, RunOptions, Said, StopReason, Time, ToolRef,
    TurnPart, TurnUsage,
    call::Past,
    is_default,
    state::{Activity, Index, STAGES},
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
        /// The time of the event.
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
        /// The time of the event.
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
        /// The time of the event.
        at: Time,
    },
    /// The model's turn came to nothing. Calls that were complete are kept; the rest of it is not.
    TurnFailed {
        /// The reason.
        error: String,
        /// Set if the model is asked again when the calls have ended.
        again: bool,
        /// Tokens used, as far as they are known.
        #[serde(default, skip_serializing_if = "is_default")]
        usage: Usage,
        /// The model, where it is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<Arc<str>>,
        /// The time of the event.
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
        /// The time of the event.
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
        /// The time of the event.
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
        /// The principal that allowed it.
        by: GrantedBy,
        /// Until when it must be used.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expires: Option<Time>,
    },
    /// A call starts. Logged before it does.
    Started {
        /// The call.
        call: CallId,
        /// The time of the event.
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
        #[serde(default, skip_serializing_if = "is_default")]
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
        /// The error.
        result: Arc<CallResult>,
        /// The time of the event.
        at: Time,
    },
    /// The run came to an end until somebody prompts it again: the model had no more calls to make.
    Finished {
        /// The time of the event.
        at: Time,
    },
    /// The run came to an end until somebody prompts or continues it.
    Stopped {
        /// The reason.
        reason: StopReason,
        /// The time of the event.
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
const MOST_INTERRUPTS: u32 = 1 << 20;

/// The form in which a run is stored without its log. What follows from the rest is left out, and set by [`Run::thaw`].
#[derive(Serialize, Deserialize)]
#[serde(remote = "Run")]
struct FrozenRun {
    #[serde(rename = "run")]
    id: RunId,
    owner: Principal,
    options: RunOptions,
    rev: u64,
    messages: Vec<Message>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    prompts: Vec<Said>,
    bytes: u64,
    #[serde(serialize_with = "write_calls", deserialize_with = "read_calls")]
    calls: Vec<Call>,
    /// Ids of calls of the conversation before the run.
    #[serde(default, rename = "reserved", serialize_with = "write_reserved", deserialize_with = "read_reserved")]
    index: Index,
    turn: u32,
    steps: u32,
    usage: Usage,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    turns: Vec<TurnUsage>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    offered: Option<Vec<String>>,
    activity: Activity,
    first: u32,
    #[serde(skip)]
    passed: u32,
    #[serde(skip)]
    recent: u32,
    #[serde(skip)]
    stages: [u32; STAGES],
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
#[serde(remote = "Call")]
struct FrozenCall {
    id: CallId,
    provider_id: String,
    turn: u32,
    index: u32,
    name: String,
    tool: Option<Arc<ToolRef>>,
    attempts: u32,
    retries: u32,
    #[serde(with = "FrozenState")]
    state: CallState,
    arguments: ArgumentRevision,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    touches: Option<Arc<Resources>>,
    past: Option<Box<Past>>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "CallState", rename_all = "snake_case")]
enum FrozenState {
    Proposed,
    Open(Box<Interrupt>),
    Ready(#[serde(serialize_with = "FrozenGrant::serialize", deserialize_with = "read_grant")] Box<Grant>),
    Running,
    Unknown,
    Done(Arc<CallResult>),
}

/// A grant within its call. It is stored without the ids of run and call.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Grant")]
struct FrozenGrant {
    #[serde(skip, default = "unset")]
    run: RunId,
    #[serde(skip, default = "unset")]
    call: CallId,
    tool: Fingerprint,
    arguments: Digest,
    shown: Option<Digest>,
    by: GrantedBy,
    expires: Option<Time>,
}

#[derive(Serialize)]
struct RunRef<'a>(#[serde(with = "FrozenRun")] &'a Run);

#[derive(Deserialize)]
struct OwnedRun(#[serde(with = "FrozenRun")] Run);

#[derive(Serialize)]
struct CallRef<'a>(#[serde(with = "FrozenCall")] &'a Call);

#[derive(Deserialize)]
struct OwnedCall(#[serde(with = "FrozenCall")] Call);

fn write_calls<S: Serializer>(calls: &[Call], out: S) -> Result<S::Ok, S::Error> {
    out.collect_seq(calls.iter().map(CallRef))
}

fn read_calls<'de, D: Deserializer<'de>>(input: D) -> Result<Vec<Call>, D::Error> {
    Ok(Vec::deserialize(input)?.into_iter().map(|OwnedCall(call)| call).collect())
}

fn write_reserved<S: Serializer>(index: &Index, out: S) -> Result<S::Ok, S::Error> {
    out.collect_seq(index.iter().filter(|(_, at)| **at == u32::MAX).map(|(id, _)| id))
}

fn read_reserved<'de, D: Deserializer<'de>>(input: D) -> Result<Index, D::Error> {
    Ok(Vec::deserialize(input)?.into_iter().map(|id: CallId| (id, u32::MAX)).collect())
}

fn read_grant<'de, D: Deserializer<'de>>(input: D) -> Result<Box<Grant>, D::Error> {
    FrozenGrant::deserialize(input).map(Box::new)
}

fn unset<T: From<&'static str>>() -> T {
    "".into()
}

impl Run {
    /// Returns the run as one text, of which [`Run::thaw`] makes it again without its log. So loading does not take longer
    /// the longer the log is.
    pub fn freeze(&self) -> String {
        write(&RunRef(self))
    }

    /// The run that [`Run::freeze`] wrote, in this version or an earlier one.
    ///
    /// Fails when it is of a newer version, cut or changed.
    pub fn thaw(text: &str) -> Result<Self, RecordError> {
        let OwnedRun(mut run) = read(text)?;
        let rev = run.rev;
        let corrupt = |reason: &str| Corrupt { rev, entry: "snapshot", reason: reason.to_owned() };
        let Self { id, calls, index, stages, first, .. } = &mut run;
        if *first as usize > calls.len() {
            return Err(corrupt("its turn begins behind its calls").into());
        }
        for (at, call) in (0..).zip(calls) {
            if index.insert(call.id.clone(), at).is_some() {
                return Err(corrupt("two calls have one id").into());
            }
            if let CallState::Ready(grant) = &mut call.state {
                if grant.arguments != call.arguments.digest
                    || call.tool.as_ref().map(|tool| tool.fingerprint) != Some(grant.tool)
                {
                    return Err(corrupt("a call is granted for another tool or other arguments").into());
                }
                (grant.run, grant.call) = (id.clone(), call.id.clone());
            }
            if call.past.as_ref().is_some_and(|past| past.interrupts > MOST_INTERRUPTS) {
                return Err(corrupt("a call has waited more often than it can").into());
            }
            if at >= *first {
                stages[call.stage() as usize] += 1;
                if call.arguments.digest != Digest::of(call.arguments.text.as_bytes()) {
                    return Err(corrupt("the arguments of a call are not those that were checked").into());
                }
            } else if call.result().is_none() {
                return Err(corrupt("a call of an earlier turn has not ended").into());
            }
        }
        (run.passed, run.recent) = (run.first, run.first);
        run.pass();
        Ok(run)
    }
}
