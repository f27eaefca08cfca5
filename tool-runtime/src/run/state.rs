//! A run: what its log adds up to.

use std::{collections::HashMap, ops::Range};

use serde::{Deserialize, Serialize};

use super::{
    Allowance, Call, CallId, CallState, Obligation, ObligationId, OnTaint, Principal, Prompt, RunId, RunOptions, Stage,
    Time, ToolRef,
};
use crate::message::{AssistantPart, FinishReason, Message, Usage};
use crate::tool::Effect;
use crate::toolset::Verdict;

/// A run: a conversation with its calls, and what became of each. Nothing but its log, added up.
#[derive(Debug)]
pub struct Run {
    pub(super) id: RunId,
    pub(super) owner: Principal,
    pub(super) options: RunOptions,
    pub(super) rev: u64,
    pub(super) messages: Vec<Message>,
    pub(super) bytes: u64,
    pub(super) calls: Vec<Call>,
    pub(super) index: HashMap<CallId, u32, foldhash::fast::RandomState>,
    pub(super) turn: u32,
    pub(super) steps: u32,
    pub(super) usage: Usage,
    pub(super) activity: Activity,
    /// The calls of the turn at hand begin here.
    pub(super) first: u32,
    /// The calls before this one hold nothing back, and do not start: [`Run::pass`].
    pub(super) passed: u32,
    /// The call that was changed last.
    pub(super) recent: u32,
    pub(super) stages: [u32; STAGES],
    pub(super) retries: u32,
    pub(super) until: Option<String>,
    pub(super) queue: Vec<Prompt>,
    pub(super) allowances: Vec<Allowance>,
    pub(super) taint: Vec<String>,
}

pub(super) const STAGES: usize = 6;

/// What the run is at.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Activity {
    /// Nothing was asked yet.
    Idle,
    /// The next event starts a turn: a prompt was taken.
    Prompted,
    /// The model is asked.
    Generating,
    /// The turn's calls are dealt with.
    Acting(TurnEnd),
    Finished,
    Stopped(StopReason),
}

/// How the turn at hand ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum TurnEnd {
    Safe,
    /// The run stops when the calls have ended.
    Cut(FinishReason),
    /// The same, because the model failed.
    Failed(String),
    /// The model is asked again when the calls have ended.
    Again,
}

/// What a run is at.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Phase {
    /// It waits for its first prompt.
    Idle,
    /// The model is asked.
    Generating,
    /// Calls are looked at, or run.
    Acting,
    /// Nothing can go on before somebody decides.
    Suspended,
    /// The model had no more calls to make. It can be prompted again.
    Finished,
    /// It was stopped. It can be prompted again.
    Stopped(StopReason),
}

/// Why a run was stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StopReason {
    /// The model wanted to go on, and had used all its steps.
    StepLimit,
    /// The model's turn was cut.
    Cut(FinishReason),
    /// The model failed.
    ModelFailed(String),
    /// Somebody denied a call, and [`OnDeny::StopTurn`](super::OnDeny::StopTurn) holds.
    Denied,
    /// Somebody cancelled it.
    Cancelled,
    /// A limit on the whole run was reached.
    OverBudget(String),
}

impl Run {
    /// The id.
    pub fn id(&self) -> &RunId {
        &self.id
    }

    /// Who may prompt it, and decide where nobody else is named.
    pub fn owner(&self) -> &Principal {
        &self.owner
    }

    /// How many entries the log has.
    pub fn rev(&self) -> u64 {
        self.rev
    }

    /// What the run may use, and what it does where systems differ.
    pub fn options(&self) -> &RunOptions {
        &self.options
    }

    /// The conversation so far. The calls of the turn at hand are answered in it when all have ended.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// All calls, oldest first.
    pub fn calls(&self) -> &[Call] {
        &self.calls
    }

    /// The calls of the turn at hand.
    pub fn current(&self) -> &[Call] {
        &self.calls[self.first as usize..]
    }

    /// Where in [`Run::calls`] those of the turn at hand are.
    pub(super) fn current_range(&self) -> Range<usize> {
        self.first as usize..self.calls.len()
    }

    /// What calls wait for, in the model's order.
    pub fn obligations(&self) -> impl Iterator<Item = &Obligation> {
        self.current().iter().filter_map(Call::obligation).take(self.count(Stage::Open) as usize)
    }

    /// The obligation with this id, if it is open.
    pub fn obligation(&self, id: &ObligationId) -> Option<&Obligation> {
        self.call(&id.call)?.obligation().filter(|obligation| obligation.id == *id)
    }

    /// What the run is at.
    pub fn phase(&self) -> Phase {
        match &self.activity {
            Activity::Idle => Phase::Idle,
            Activity::Prompted | Activity::Generating => Phase::Generating,
            Activity::Acting(_) if self.is_waiting() => Phase::Suspended,
            Activity::Acting(_) => Phase::Acting,
            Activity::Finished => Phase::Finished,
            Activity::Stopped(reason) => Phase::Stopped(reason.clone()),
        }
    }

    /// When the next thing in the run is over.
    pub fn wake(&self) -> Option<Time> {
        let most = self.count(Stage::Open) + self.count(Stage::Ready);
        self.current().iter().filter_map(Call::expires).take(most as usize).min()
    }

    /// The last turn's number, from 1.
    pub fn turn(&self) -> u32 {
        self.turn
    }

    /// How many turns there were since the run was last prompted or continued.
    pub fn steps(&self) -> u32 {
        self.steps
    }

    /// Tokens used since the last prompt.
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// Tools whose outputs hold text of strangers, and are in the conversation.
    pub fn taint(&self) -> &[String] {
        &self.taint
    }

    /// What somebody allowed for the rest of the run.
    pub fn allowances(&self) -> &[Allowance] {
        &self.allowances
    }

    /// Prompts that wait.
    pub fn queue(&self) -> &[Prompt] {
        &self.queue
    }

    /// What the model said in its last turn.
    pub fn last_text(&self) -> String {
        let last = self.messages.iter().rev().find_map(|message| match message {
            Message::Assistant { content } => Some(content),
            _ => None,
        });
        let text = |part: &AssistantPart| match part {
            AssistantPart::Text { text } => Some(text.clone()),
            _ => None,
        };
        last.into_iter().flatten().filter_map(text).collect()
    }

    /// The id of a call that is not in the run yet, if the provider calls it `provider_id`: that, where it is usable and
    /// new in this run. `others` are the ids of calls of the turn that come before it, and are not in the run either.
    pub fn mint(&self, provider_id: &str, others: &[CallId]) -> CallId {
        let is_taken = |id: &str| self.index.contains_key(id) || others.iter().any(|other| other.as_str() == id);
        let usable = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let is_usable = (1..=64).contains(&provider_id.len()) && provider_id.chars().all(usable);
        if is_usable && !is_taken(provider_id) {
            return provider_id.into();
        }
        let base = if is_usable { &provider_id[..provider_id.len().min(50)] } else { "call" };
        let mut number = self.calls.len() + others.len() + 1;
        loop {
            let id = format!("{base}_{number}");
            if !is_taken(&id) {
                return id.into();
            }
            number += 1;
        }
    }

    pub(super) fn count(&self, stage: Stage) -> u32 {
        self.stages[stage as usize]
    }

    fn is_waiting(&self) -> bool {
        let moving = [Stage::Proposed, Stage::Running, Stage::Unknown];
        self.count(Stage::Open) > 0
            && moving.iter().all(|stage| self.count(*stage) == 0)
            && (self.count(Stage::Ready) == 0 || self.is_barred())
    }

    /// Whether every call that is ready has to wait for one that is open.
    fn is_barred(&self) -> bool {
        let mut is_first_unfinished = true;
        for call in self.current().iter().filter(|call| call.stage() != Stage::Done) {
            let alone = self.runs_alone(call);
            match call.stage() {
                Stage::Ready => return alone && !is_first_unfinished,
                _ if alone => return true,
                _ => is_first_unfinished = false,
            }
        }
        true
    }

    /// Whether a call runs when those before it have ended, and those behind it wait.
    pub(super) fn runs_alone(&self, call: &Call) -> bool {
        self.options.execution == super::Execution::Sequential || call.tool.as_ref().is_some_and(|tool| tool.sequential)
    }

    /// The verdict about a call of `tool`, with what the run itself adds to it.
    pub(super) fn tighten(&self, tool: &ToolRef, verdict: Verdict) -> Verdict {
        let asks = self.options.on_taint == OnTaint::Ask && !self.taint.is_empty() && tool.effect != Effect::ReadOnly;
        if asks { verdict.and(Verdict::Ask) } else { verdict }
    }

    /// Whether `by` may decide about what waits.
    pub fn may_decide(&self, open: &Obligation, by: &Principal) -> bool {
        if open.deciders.is_empty() { self.is_owner(by) } else { open.deciders.contains(by) }
    }

    /// Whether this principal may prompt, cancel and continue.
    pub(super) fn is_owner(&self, by: &Principal) -> bool {
        self.owner == *by
    }

    pub(super) fn grant_of(&self, at: usize) -> Option<&super::Grant> {
        match &self.calls[at].state {
            CallState::Ready(grant) => Some(grant),
            _ => None,
        }
    }
}
