//! The log of a run: its entries, and the texts that store them.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::input::read_claims;
use crate::message::{FinishReason, Message, Usage};
use crate::run::{
    ArgumentRevision, Author, Call, CallId, CallResult, CallState, Decision, Grant, GrantedBy, InnerUsage, Interrupt,
    InterruptId, Principal, Prompt, PromptPosition, QuestionAnswer, Run, RunApproval, RunId, RunOptions, StopReason,
    Summary, Timestamp, ToolRef, TurnPart, TurnUsage,
    call::CallHistory,
    is_default,
    state::{Activity, Index, STAGES},
};
use crate::tool::fingerprint::Digest;
use crate::tool::{Fingerprint, TouchedResources};

/// An entry of the log of a run. The log holds everything about the run: [`Run::fold`](super::Run::fold) rebuilds the run
/// from it, in any process.
///
/// Common fields: `call` is the call that the entry concerns, `at` is its time, and `model` is the model, if it is known.
#[allow(missing_docs, reason = "fields of the same name are documented once, above")]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "entry", rename_all = "snake_case")]
#[non_exhaustive]
pub enum LogEntry {
    /// The run was created. The first entry, and only the first, is of this kind.
    Created {
        run: RunId,
        /// The principal that may prompt the run, and decides in it.
        owner: Principal,
        /// The name of the application's agent that made the run ([`Run::made_by`](super::Run::made_by)).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        made_by: Option<Arc<str>>,
        options: Box<RunOptions>,
        /// The conversation before the run.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        messages: Vec<Message>,
        at: Timestamp,
    },
    /// The run begins with the conversation of another run, up to one of its prompts. This entry directly follows
    /// `Created`.
    Branched {
        of: RunId,
        /// The positions of the prompts in that conversation.
        prompts: Vec<PromptPosition>,
        /// The tools whose untrusted output may be in the conversation.
        taint: Vec<String>,
        /// The title that the owner gave the other run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
        /// The idempotency keys of the prompts that are not in that conversation any more
        /// ([`Run::replaced_keys`](super::Run::replaced_keys)).
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        replaced: Vec<String>,
        /// The summary of the other run, if it summarizes only messages of this one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        summary: Option<Summary>,
        /// The agent that acted at that prompt, if another one than the run's own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        acting_agent: Option<Arc<str>>,
        /// The owner's claims in the other run.
        #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "read_claims")]
        claims: Option<Arc<Value>>,
    },
    /// The owner gave the run a title.
    Titled {
        /// The title.
        title: String,
        /// The owner.
        by: Principal,
        at: Timestamp,
    },
    /// A prompt came while the run was busy, and waits.
    Queued { prompt: Prompt },
    /// The run accepted a prompt.
    Prompted {
        prompt: Prompt,
        /// Set if it was the first of the waiting prompts.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        queued: bool,
    },
    /// The run that continues must end with a call of one of these tools, as if its last prompt had asked for it
    /// ([`Prompt::final_tools`]).
    AnswerWanted {
        final_tools: Vec<Arc<str>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answer_schema: Option<Arc<Value>>,
    },
    /// The model is asked.
    TurnStarted { at: Timestamp },
    /// The model sees only these tools in this turn.
    Offered { tools: Vec<String> },
    /// The model made a call, and its arguments are complete.
    Called {
        call: CallId,
        provider_id: String,
        /// The name that the model called.
        name: String,
        arguments: Arc<str>,
    },
    /// The model's turn ended.
    TurnEnded {
        /// The content of the turn, in order.
        parts: Vec<TurnPart>,
        /// The reason why the turn ended.
        finish: FinishReason,
        /// The tokens that the turn used.
        #[serde(default)]
        usage: Usage,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<Arc<str>>,
        at: Timestamp,
    },
    /// The model's turn failed. The run keeps complete calls and the text in `Written`, and drops the rest of the turn. If it asks the
    /// model again, it drops the text, too.
    TurnFailed {
        error: String,
        /// Set if the run asks the model again when the calls have ended.
        again: bool,
        /// The tokens used, as far as known.
        #[serde(default, skip_serializing_if = "is_default")]
        usage: Usage,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<Arc<str>>,
        at: Timestamp,
    },
    /// The text that the model had written of a turn that ends early, or has ended so: the run was stopped, or the model failed. It
    /// becomes a part of the conversation with the end of the turn. A turn that is complete has its text in `TurnEnded`.
    Written { text: Arc<str> },
    /// A call has other arguments than the model sent: validators changed them, the application refined them, or values of another form
    /// were read. This entry comes before `CallAccepted`.
    Normalized {
        call: CallId,
        /// The complete arguments, after the change.
        arguments: Arc<str>,
        /// The author of the last change.
        #[serde(default = "Author::validators", skip_serializing_if = "Author::is_validators")]
        by: Author,
        /// For the author [`Author::Reading`], a sentence for each value that was read.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        readings: Vec<String>,
    },
    /// The application or the model repaired a call whose tool does not exist or rejected the arguments. The judge checks the
    /// call again.
    Repaired {
        call: CallId,
        /// The tool that the call names now.
        name: String,
        arguments: Arc<str>,
        by: Author,
        /// The tokens that the repair used.
        #[serde(default)]
        usage: Usage,
        /// The model that was asked for the repair, if it is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<Arc<str>>,
    },
    /// The application added a message to the conversation of a run at rest.
    MessageAdded {
        message: Message,
        /// The reason.
        reason: String,
        by: Principal,
        at: Timestamp,
    },
    /// Another agent goes on with the conversation.
    HandedOver {
        /// The agent; `None` for the run's own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<Arc<str>>,
        /// The call that asked for it; `None` if the application did.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<CallId>,
        by: Principal,
        at: Timestamp,
    },
    /// A summary takes the place of the beginning of the conversation, for the model.
    Summarized {
        summary: Summary,
        /// The reason.
        reason: String,
        /// The tokens that the summary used.
        #[serde(default, skip_serializing_if = "is_default")]
        usage: Usage,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<Arc<str>>,
    },
    /// The conversation could not be summarized: the model got all of it.
    SummaryFailed {
        /// The problem.
        error: String,
        at: Timestamp,
    },
    /// The owner requested a stop of the run at the end of its step.
    StopRequested { by: Principal, at: Timestamp },
    /// A call's tool accepted its arguments.
    CallAccepted {
        call: CallId,
        tool: Arc<ToolRef>,
        arguments: Digest,
        /// The resources that the call reads and writes, if its tool names them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        touches: Option<Arc<TouchedResources>>,
    },
    /// A call waits for a decision.
    Opened { call: CallId, interrupt: Box<Interrupt> },
    /// A principal decided about an interrupt.
    Decided { interrupt: InterruptId, decision: Decision, by: Principal, at: Timestamp },
    /// A person replaced a call's arguments.
    Edited {
        call: CallId,
        arguments: Arc<str>,
        by: Principal,
        /// The resources that the call reads and writes with the new arguments.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        touches: Option<Arc<TouchedResources>>,
    },
    /// A decision answered a running tool's question, or concerned a call inside it.
    Answered { call: CallId, question: Digest, answer: QuestionAnswer },
    /// A person approved later calls that match a pattern.
    RunApproved { run_approval: RunApproval },
    /// A call may start.
    CallGranted {
        call: CallId,
        /// The fingerprint of the granted tool.
        tool: Fingerprint,
        /// The digest of the granted arguments.
        arguments: Digest,
        /// The digest of the view that the person saw.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        shown: Option<Digest>,
        by: GrantedBy,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expires: Option<Timestamp>,
    },
    /// A call starts. The driver stores this entry before the start.
    CallStarted { call: CallId, at: Timestamp },
    /// A `resumable` tool starts a durable step. The driver stores this entry before the step.
    DurableStepStarted {
        call: CallId,
        /// The step's name.
        name: String,
    },
    /// A durable step of a tool has a result.
    DurableStepEnded {
        call: CallId,
        /// The step's name.
        name: String,
        /// The result.
        value: Value,
        /// The share of the run's limits that the step used.
        #[serde(default, skip_serializing_if = "is_default")]
        spent: InnerUsage,
    },
    /// The process that ran a call died.
    CallLost { call: CallId },
    /// The start of a call was withdrawn, because its function had not begun. The call is as it was before its check.
    CallWithdrawn { call: CallId },
    /// A waiting call moved to a newer version of its tool. The judge checks it again.
    Migrated {
        call: CallId,
        /// The earlier version of the tool.
        from: Option<String>,
    },
    /// A call ended.
    CallEnded { call: CallId, result: Arc<CallResult>, at: Timestamp },
    /// The run finished: the model made no more calls, or a call of the final tool succeeded. The run can be prompted again.
    Finished { at: Timestamp },
    /// The run stopped. A prompt or a continuation starts it again.
    Stopped { reason: StopReason, at: Timestamp },
}

impl LogEntry {
    /// Returns the name of the entry's kind, as stored.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Created { .. } => "created",
            Self::Branched { .. } => "branched",
            Self::Titled { .. } => "titled",
            Self::Queued { .. } => "queued",
            Self::Prompted { .. } => "prompted",
            Self::AnswerWanted { .. } => "answer_wanted",
            Self::TurnStarted { .. } => "turn_started",
            Self::Offered { .. } => "offered",
            Self::Called { .. } => "called",
            Self::TurnEnded { .. } => "turn_ended",
            Self::TurnFailed { .. } => "turn_failed",
            Self::Written { .. } => "written",
            Self::Normalized { .. } => "normalized",
            Self::Repaired { .. } => "repaired",
            Self::MessageAdded { .. } => "message_added",
            Self::HandedOver { .. } => "handed_over",
            Self::Summarized { .. } => "summarized",
            Self::SummaryFailed { .. } => "summary_failed",
            Self::StopRequested { .. } => "stop_requested",
            Self::CallAccepted { .. } => "call_accepted",
            Self::Opened { .. } => "opened",
            Self::Decided { .. } => "decided",
            Self::Edited { .. } => "edited",
            Self::Answered { .. } => "answered",
            Self::RunApproved { .. } => "run_approved",
            Self::CallGranted { .. } => "call_granted",
            Self::CallStarted { .. } => "call_started",
            Self::DurableStepStarted { .. } => "durable_step_started",
            Self::DurableStepEnded { .. } => "durable_step_ended",
            Self::CallLost { .. } => "call_lost",
            Self::CallWithdrawn { .. } => "call_withdrawn",
            Self::Migrated { .. } => "migrated",
            Self::CallEnded { .. } => "call_ended",
            Self::Finished { .. } => "finished",
            Self::Stopped { .. } => "stopped",
        }
    }
}

/// The error for a log entry that contradicts earlier ones, or belongs to another run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CorruptLog {
    /// The number of correct entries before the wrong one.
    pub rev: u64,
    /// The kind of the wrong entry, as stored; `snapshot` if the error is in a snapshot.
    pub entry: &'static str,
    /// The problem with the entry.
    pub reason: String,
}

impl std::fmt::Display for CorruptLog {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "the stored log is wrong after {} entries: {}", self.rev, self.reason)
    }
}

impl std::error::Error for CorruptLog {}

/// The version of the stored form that this crate writes. The crate also reads older versions.
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

/// Returns log entries that belong together, such as those of one append, as one text.
pub fn encode(entries: &[LogEntry]) -> String {
    write(entries)
}

/// Returns the entries in a text of [`encode`]. Fails if a newer version wrote the text, or if the text is not a record.
pub fn decode(text: &str) -> Result<Vec<LogEntry>, RecordError> {
    read(text)
}

pub(super) fn write<T: Serialize + ?Sized>(data: &T) -> String {
    // No value here has keys that are not strings, so serialization cannot fail.
    serde_json::to_string(&Write { v: RECORD_VERSION, data }).unwrap_or_default()
}

/// Reads `text`. Checks the version first, so it never parses a newer form.
pub(super) fn read<T: for<'de> Deserialize<'de>>(text: &str) -> Result<T, RecordError> {
    let malformed = |error: serde_json::Error| RecordError::Malformed(error.to_string());
    let v = match leading_version(text) {
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

/// Returns the version if the text begins with it, as in the texts of [`write`]. So [`read`] parses a long text only once.
fn leading_version(text: &str) -> Option<u32> {
    let (version, _) = text.strip_prefix(r#"{"v":"#)?.split_once(',')?;
    version.parse().ok()
}

/// The error for a stored text that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RecordError {
    /// A newer version of this crate wrote the text, or the version is not valid.
    Version(u32),
    /// The text is not a record.
    Malformed(String),
    /// The entries contradict each other.
    Corrupt(CorruptLog),
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

impl From<CorruptLog> for RecordError {
    fn from(error: CorruptLog) -> Self {
        Self::Corrupt(error)
    }
}

/// The maximum number of interrupts of one call in a snapshot. The default limits of a run are far lower.
const MAX_INTERRUPTS: u32 = 1 << 20;

/// The stored form of a run without its log. [`Run::thaw`] computes the skipped fields.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Run")]
struct FrozenRun {
    id: RunId,
    owner: Principal,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    made_by: Option<Arc<str>>,
    options: RunOptions,
    rev: u64,
    messages: Vec<Message>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    prompts: Vec<PromptPosition>,
    bytes: u64,
    #[serde(serialize_with = "write_calls", deserialize_with = "read_calls")]
    calls: Vec<Call>,
    /// The ids of calls of the conversation before the run.
    #[serde(default, rename = "reserved", serialize_with = "write_reserved", deserialize_with = "read_reserved")]
    index: Index,
    turn: u32,
    steps: u32,
    usage: Usage,
    #[serde(default, skip_serializing_if = "is_default")]
    earlier_usage: Usage,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    turns: Vec<TurnUsage>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    offered: Option<Vec<String>>,
    activity: Activity,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cut_text: Option<Arc<str>>,
    first_of_turn: u32,
    #[serde(skip)]
    first_unsettled: u32,
    #[serde(skip)]
    last_changed: u32,
    #[serde(skip)]
    stages: [u32; STAGES],
    retries: u32,
    #[serde(default)]
    inner_calls: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    final_tools: Vec<Arc<str>>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    from_outside: bool,
    #[serde(default, skip_serializing_if = "is_zero")]
    refused_answers: u32,
    #[serde(default)]
    stopping: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    answer: Option<Arc<Value>>,
    queue: Vec<Prompt>,
    approvals: Vec<RunApproval>,
    taint: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    acting_agent: Option<Arc<str>>,
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "read_claims")]
    claims: Option<Arc<Value>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    summary: Option<Summary>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        serialize_with = "write_corrupt",
        deserialize_with = "read_corrupt"
    )]
    inconsistent: Option<Box<CorruptLog>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    replaced_keys: Vec<String>,
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
    touches: Option<Arc<TouchedResources>>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    was_accepted: bool,
    past: Option<Box<CallHistory>>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "CallState", rename_all = "snake_case")]
enum FrozenState {
    Proposed,
    Open(Box<Interrupt>),
    Ready(#[serde(serialize_with = "FrozenGrant::serialize", deserialize_with = "read_grant")] Box<Grant>),
    Running,
    Lost,
    Done(Arc<CallResult>),
}

/// The stored form of a grant in its call, without the ids of the run and the call.
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
    expires: Option<Timestamp>,
}

#[derive(Serialize)]
struct RunRef<'a>(#[serde(with = "FrozenRun")] &'a Run);

#[derive(Deserialize)]
struct OwnedRun(#[serde(with = "FrozenRun")] Run);

#[derive(Serialize)]
struct CallRef<'a>(#[serde(with = "FrozenCall")] &'a Call);

#[derive(Deserialize)]
struct OwnedCall(#[serde(with = "FrozenCall")] Call);

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

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

#[allow(clippy::ref_option, reason = "serde asks for it")]
fn write_corrupt<S: Serializer>(corrupt: &Option<Box<CorruptLog>>, out: S) -> Result<S::Ok, S::Error> {
    corrupt.as_ref().map(|corrupt| (corrupt.rev, &corrupt.reason)).serialize(out)
}

fn read_corrupt<'de, D: Deserializer<'de>>(input: D) -> Result<Option<Box<CorruptLog>>, D::Error> {
    let corrupt = <Option<(u64, String)>>::deserialize(input)?;
    Ok(corrupt.map(|(rev, reason)| Box::new(CorruptLog { rev, entry: "snapshot", reason })))
}

fn unset<T: From<&'static str>>() -> T {
    "".into()
}

impl Run {
    /// Returns the run as one text, from which [`Run::thaw`] rebuilds the run without its log. So a long log does not slow down
    /// loading.
    pub fn freeze(&self) -> String {
        write(&RunRef(self))
    }

    /// Reads a run that [`Run::freeze`] wrote, in this version or an earlier one.
    ///
    /// Fails if a newer version wrote the text, or if the text is cut or contradicts itself. Fails if the run had become
    /// [inconsistent](super::InputError::Inconsistent).
    pub fn thaw(text: &str) -> Result<Self, RecordError> {
        let OwnedRun(mut run) = read(text)?;
        if let Some(corrupt) = run.inconsistent.take() {
            return Err(CorruptLog::clone(&corrupt).into());
        }
        let rev = run.rev;
        let corrupt = |reason: &str| CorruptLog { rev, entry: "snapshot", reason: reason.to_owned() };
        let Self { id, calls, index, stages, first_of_turn: first, .. } = &mut run;
        if *first as usize > calls.len() {
            return Err(corrupt("its turn begins after its calls").into());
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
            if call.past.as_ref().is_some_and(|past| past.interrupts > MAX_INTERRUPTS) {
                return Err(corrupt("a call has too many interrupts").into());
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
        (run.first_unsettled, run.last_changed) = (run.first_of_turn, run.first_of_turn);
        run.skip_settled();
        Ok(run)
    }
}
