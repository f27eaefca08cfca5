//! A run: what its log adds up to.

use std::{collections::HashMap, ops::Range, sync::Arc};

use serde_json::Value;

pub(super) use super::phase::{Activity, TurnEnd};
use super::{
    Allowance, Call, CallId, CallState, Obligation, ObligationId, OnTaint, Principal, Prompt, RunId, RunOptions, Said,
    Stage, Time, ToolRef,
};
use super::{Phase, TurnUsage};
use crate::message::{AssistantPart, Message, Usage};
use crate::tool::Effect;
use crate::toolset::Permission;

/// A run: a conversation with its calls, and what became of each. Nothing but its log, added up.
#[derive(Debug)]
pub struct Run {
    pub(super) id: RunId,
    pub(super) owner: Principal,
    pub(super) options: RunOptions,
    pub(super) rev: u64,
    pub(super) messages: Vec<Message>,
    pub(super) prompts: Vec<Said>,
    pub(super) bytes: u64,
    pub(super) calls: Vec<Call>,
    pub(super) index: HashMap<CallId, u32, foldhash::fast::RandomState>,
    pub(super) turn: u32,
    pub(super) steps: u32,
    pub(super) usage: Usage,
    /// What each turn used since the run was last prompted or continued.
    pub(super) turns: Vec<TurnUsage>,
    /// The tools on offer in the turn at hand; all, if it is not said.
    pub(super) offered: Option<Vec<String>>,
    pub(super) activity: Activity,
    /// The calls of the turn at hand begin here.
    pub(super) first: u32,
    /// The calls before this one hold nothing back, and do not start: [`Run::pass`].
    pub(super) passed: u32,
    /// The call that was changed last.
    pub(super) recent: u32,
    pub(super) stages: [u32; STAGES],
    pub(super) retries: u32,
    /// Calls of runs inside of calls.
    pub(super) inner_calls: u32,
    pub(super) until: Option<String>,
    /// Whether it is to stop when its step has ended.
    pub(super) stopping: bool,
    pub(super) answer: Option<Arc<Value>>,
    pub(super) queue: Vec<Prompt>,
    pub(super) allowances: Vec<Allowance>,
    pub(super) taint: Vec<String>,
}

pub(super) const STAGES: usize = 6;

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

    /// Where the prompts are among the messages, oldest first.
    pub fn prompts(&self) -> &[Said] {
        &self.prompts
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

    /// What each turn used since the run was last prompted or continued.
    pub fn turns(&self) -> &[TurnUsage] {
        &self.turns
    }

    /// Tries again of failed calls and turns, in the whole run.
    pub fn retries(&self) -> u32 {
        self.retries
    }

    /// Whether the model gets to see the tool `name` in the turn at hand, if the application has it.
    pub fn offers(&self, name: &str) -> bool {
        self.offered.as_ref().is_none_or(|offered| offered.iter().any(|tool| tool == name))
    }

    /// The tool that ends the run when a call of it succeeds, and the schema of its arguments if the run brings it along.
    pub fn until(&self) -> Option<(&str, Option<&Arc<Value>>)> {
        Some((self.until.as_deref()?, self.answer.as_ref()))
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

    pub(super) fn count(&self, stage: Stage) -> u32 {
        self.stages[stage as usize]
    }

    /// The permission about a call of `tool`, with what the run itself adds to it.
    pub(super) fn tighten(&self, tool: &ToolRef, permission: Permission) -> Permission {
        let asks = self.options.on_taint == OnTaint::Ask && !self.taint.is_empty() && tool.effect != Effect::ReadOnly;
        if asks { permission.and(Permission::Ask) } else { permission }
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
