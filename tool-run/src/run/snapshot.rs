//! A run as one text, so that loading it does not take longer the longer its log is.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::fold::as_u32;
use super::past::Past;
use super::record::{self, RecordError};
use super::state::{Activity, STAGES};
use super::{
    Allowance, ArgumentRevision, Call, CallId, CallResult, CallState, Corrupt, Grant, GrantedBy, Interrupt, Principal,
    Prompt, Run, RunId, RunOptions, Said, Time, ToolRef, TurnUsage,
};
use crate::digest::Digest;
use crate::message::{Message, Usage};
use crate::tool::{Fingerprint, Resources};

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
        record::write(&Frozen {
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
        let frozen: Frozen<Vec<Message>> = record::read(text)?;
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
