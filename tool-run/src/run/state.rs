//! A run: what its log adds up to.

use std::{collections::HashMap, ops::Range, sync::Arc};

use serde_json::Value;

pub use super::phase::{Activity, TurnEnd};
use super::{
    Allowance, Call, CallId, CallState, Execution, Grant, Interrupt, InterruptId, Limits, OnTaint, Phase, Principal,
    Prompt, RunId, RunOptions, Said, Stage, Time, ToolRef, TurnUsage,
};
use crate::message::{AssistantPart, Message, Usage};
use crate::tool::{Effect, Permission, Resources};

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
    /// The usage of each turn since the run was last prompted or continued.
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
    /// Set if it is to stop when its step has ended.
    pub(super) stopping: bool,
    pub(super) answer: Option<Arc<Value>>,
    pub(super) queue: Vec<Prompt>,
    pub(super) allowances: Vec<Allowance>,
    pub(super) taint: Vec<String>,
}

pub const STAGES: usize = 6;

impl Run {
    /// The id.
    pub fn id(&self) -> &RunId {
        &self.id
    }

    /// Returns the principal that may prompt it, and decide where nobody else is named.
    pub fn owner(&self) -> &Principal {
        &self.owner
    }

    /// Returns the number of entries of the log.
    pub fn rev(&self) -> u64 {
        self.rev
    }

    /// Returns the limits of the run, and its behaviour where systems differ.
    pub fn options(&self) -> &RunOptions {
        &self.options
    }

    /// The conversation so far. The calls of the turn at hand are answered in it when all have ended.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// Returns the places of the prompts among the messages, oldest first.
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

    /// Returns the places of the calls of the turn at hand in [`Run::calls`].
    pub(super) fn current_range(&self) -> Range<usize> {
        self.first as usize..self.calls.len()
    }

    /// Returns the open interrupts, in the model's order.
    pub fn interrupts(&self) -> impl Iterator<Item = &Interrupt> {
        self.current().iter().filter_map(Call::interrupt).take(self.count(Stage::Open) as usize)
    }

    /// The interrupt with this id, if it is open.
    pub fn interrupt(&self, id: &InterruptId) -> Option<&Interrupt> {
        self.call(&id.call)?.interrupt().filter(|interrupt| interrupt.id == *id)
    }

    /// Returns the phase of the run.
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

    /// Returns the time at which the next thing in the run is over.
    pub fn wake(&self) -> Option<Time> {
        let most = self.count(Stage::Open) + self.count(Stage::Ready);
        self.current().iter().filter_map(Call::expires).take(most as usize).min()
    }

    /// The last turn's number, from 1.
    pub fn turn(&self) -> u32 {
        self.turn
    }

    /// Returns the number of turns since the run was last prompted or continued.
    pub fn steps(&self) -> u32 {
        self.steps
    }

    /// Tokens used since the last prompt.
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// Returns the usage of each turn since the run was last prompted or continued.
    pub fn turns(&self) -> &[TurnUsage] {
        &self.turns
    }

    /// Tries again of failed calls and turns, in the whole run.
    pub fn retries(&self) -> u32 {
        self.retries
    }

    /// Returns whether the model gets to see the tool `name` in the turn at hand, if the application has it.
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

    /// Returns the calls that are allowed for the rest of the run.
    pub fn allowances(&self) -> &[Allowance] {
        &self.allowances
    }

    /// Prompts that wait.
    pub fn queue(&self) -> &[Prompt] {
        &self.queue
    }

    /// Returns the text of the model's last turn.
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

    /// Returns how many calls of the turn at hand are at `stage`.
    pub fn count(&self, stage: Stage) -> u32 {
        self.stages[stage as usize]
    }

    /// The permission about a call of `tool`, with what the run itself adds to it.
    pub(super) fn tighten(&self, tool: &ToolRef, permission: Permission) -> Permission {
        let asks = self.options.on_taint == OnTaint::Ask && !self.taint.is_empty() && tool.effect != Effect::ReadOnly;
        if asks { permission.and(Permission::Ask) } else { permission }
    }

    /// Returns whether `by` may decide about what waits.
    pub fn may_decide(&self, open: &Interrupt, by: &Principal) -> bool {
        if open.deciders.is_empty() { self.is_owner(by) } else { open.deciders.contains(by) }
    }

    /// Returns whether this principal may prompt, cancel and continue.
    pub(super) fn is_owner(&self, by: &Principal) -> bool {
        self.owner == *by
    }

    pub(super) fn grant_of(&self, at: usize) -> Option<&Grant> {
        match &self.calls[at].state {
            CallState::Ready(grant) => Some(grant),
            _ => None,
        }
    }

    /// The call with this id.
    pub fn call(&self, id: &CallId) -> Option<&Call> {
        self.calls.get(self.place(id)?)
    }

    /// Returns the call with this id, for calls that are asked for in their order: `last` is the place of the one before.
    pub fn call_behind(&self, last: &mut usize, id: &CallId) -> Option<&Call> {
        let at = self.place_near(id, *last)?;
        *last = at;
        self.calls.get(at)
    }

    /// Returns the place of a call in [`Run::calls`].
    pub(super) fn place(&self, id: &CallId) -> Option<usize> {
        self.place_near(id, self.recent as usize)
    }

    /// Most of what happens, happens several times to one call, and then to the one behind it: these two are tried before
    /// the id is hashed.
    fn place_near(&self, id: &CallId, near: usize) -> Option<usize> {
        let is_it = |at: usize| self.calls.get(at).is_some_and(|call| call.id.is(id));
        let next = near.saturating_add(1);
        if is_it(near) {
            Some(near)
        } else if is_it(next) {
            Some(next)
        } else {
            Some(*self.index.get(id)? as usize)
        }
    }

    /// Returns how many calls the run may still make, how many failed ones it may try again, and how many tokens it may use.
    pub fn left(&self) -> (u32, u32, Option<u64>) {
        let Limits { calls, retries, .. } = self.options.limits;
        let made = u32::try_from(self.calls.len()).unwrap_or(u32::MAX).saturating_add(self.inner_calls);
        let used = self.turns.iter().map(|turn| turn.usage.input_tokens.saturating_add(turn.usage.output_tokens)).sum();
        let tokens = self.options.limits.tokens.map(|most| most.saturating_sub(used));
        (calls.saturating_sub(made), retries.saturating_sub(self.retries), tokens)
    }

    /// Returns the number of calls before this turn, those of runs inside of calls included.
    pub(super) fn calls_before(&self) -> u32 {
        self.first.saturating_add(self.inner_calls)
    }
}

/// Calls of a turn that wait for others: for one that runs alone, or because both touch the same.
impl Run {
    /// Returns whether nothing can go on before somebody decides.
    pub(super) fn is_waiting(&self) -> bool {
        let moving = [Stage::Proposed, Stage::Running, Stage::Unknown];
        self.count(Stage::Open) > 0
            && moving.iter().all(|stage| self.count(*stage) == 0)
            && (self.count(Stage::Ready) == 0 || self.is_barred())
    }

    /// Returns whether every call that is ready has to wait for one that is open.
    fn is_barred(&self) -> bool {
        let mut is_first_unfinished = true;
        for at in self.current_range() {
            let call = &self.calls[at];
            let alone = self.runs_alone(call);
            match call.stage() {
                Stage::Done => {}
                Stage::Ready if (is_first_unfinished || !alone) && !self.is_held(at) => return false,
                _ if alone => return true,
                _ => is_first_unfinished = false,
            }
        }
        true
    }

    /// Returns whether a call runs when those before it have ended, and those behind it wait.
    pub(super) fn runs_alone(&self, call: &Call) -> bool {
        self.options.execution == Execution::Sequential || call.tool.as_ref().is_some_and(|tool| tool.sequential)
    }

    /// Returns whether the call at `at`, which touches `touches`, has to wait before it begins: for one that comes before it, or for
    /// one that has begun already. `now` says how far the others are, and what they touch.
    ///
    /// A call that has begun has what it touches until it ends: it is not held when it goes on after an answer, or is tried
    /// again. So no two calls wait for each other.
    pub(super) fn is_held_by<'a>(
        &self,
        at: usize,
        touches: Option<&Resources>,
        now: impl Fn(usize) -> (Stage, Option<&'a Resources>),
    ) -> bool {
        let Some(touches) = touches.filter(|_| !self.has_begun(at)) else { return false };
        self.current_range().filter(|other| *other != at).any(|other| {
            let (stage, touched) = now(other);
            stage != Stage::Done
                && touched.is_some_and(|touched| touched.conflicts(touches))
                && (other < at || self.has_begun(other))
        })
    }

    /// Returns whether the call at `at` has to wait, as the run stands.
    pub(super) fn is_held(&self, at: usize) -> bool {
        let call = |at: usize| &self.calls[at];
        self.is_held_by(at, call(at).touches(), |other| (call(other).stage(), call(other).touches()))
    }

    fn has_begun(&self, at: usize) -> bool {
        let call = &self.calls[at];
        call.attempts > 0 || call.past.as_ref().is_some_and(|past| past.handed_out)
    }
}
