//! A run: what its log adds up to, and what it may do.

use std::{collections::HashMap, fmt, ops::Range, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::json::is_deeper;
use crate::message::{AssistantPart, FinishReason, Message, Usage};
use crate::run::{
    Allowance, Call, CallId, CallState, Grant, Interrupt, InterruptId, Principal, Prompt, RunId, Said, Stage, Time,
    ToolRef,
};
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
    pub(super) index: Index,
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

/// The places of calls by their ids; `u32::MAX` for those of the conversation before the run.
pub type Index = HashMap<CallId, u32, foldhash::fast::RandomState>;

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

/// The activity of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Activity {
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

/// The end of the turn at hand.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnEnd {
    Safe,
    /// The run stops when the calls have ended.
    Cut(FinishReason),
    /// The model failed: the run stops when the calls have ended.
    Failed(String),
    /// The model is asked again when the calls have ended.
    Again,
}

impl TurnEnd {
    pub fn of(finish: FinishReason) -> Self {
        match finish {
            FinishReason::Paused => Self::Again,
            finish if finish.is_safe() => Self::Safe,
            finish => Self::Cut(finish),
        }
    }
}

/// The phase of a run.
#[derive(Clone, Debug, PartialEq)]
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

/// The reason why a run was stopped.
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
    /// A call was denied, and [`OnDeny::StopTurn`](super::OnDeny::StopTurn) holds.
    Denied,
    /// It was cancelled.
    Cancelled,
    /// It was asked to stop when its step had ended.
    Requested,
    /// A limit on the whole run was reached.
    OverBudget(String),
    /// What it took was longer than the driver gives it.
    TimedOut(String),
    /// A condition of the application holds, called this.
    Condition(String),
}

impl fmt::Display for Phase {
    /// The phase in a few words, such as `finished`, or the reason why the run was stopped.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Idle => "it was not prompted",
            Self::Generating => "the model is asked",
            Self::Acting => "calls run",
            Self::Suspended => "it waits for somebody",
            Self::Finished => "finished",
            Self::Stopped(reason) => return reason.fmt(out),
        })
    }
}

impl fmt::Display for StopReason {
    /// The reason in a few words, such as `no steps are left`.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::StepLimit => out.write_str("no steps are left"),
            Self::Cut(finish) => write!(out, "the model was cut off ({finish:?})"),
            Self::ModelFailed(error) => write!(out, "the model failed: {error}"),
            Self::Denied => out.write_str("a call was denied"),
            Self::Cancelled => out.write_str("it was cancelled"),
            Self::Requested => out.write_str("somebody wanted it to stop"),
            Self::OverBudget(limit) | Self::TimedOut(limit) | Self::Condition(limit) => out.write_str(limit),
        }
    }
}

/// The tokens that one turn of the model used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TurnUsage {
    /// The turn's number, from 1. A turn that failed has one, too.
    pub turn: u32,
    /// The model, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Arc<str>>,
    /// Tokens used.
    pub usage: Usage,
}

/// What a call used of the limits of its run, because a run of its own went on inside of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct NestedUsage {
    /// Tokens.
    pub usage: Usage,
    /// Calls.
    pub calls: u32,
    /// Tries again of failed calls.
    pub retries: u32,
}

impl std::ops::AddAssign for NestedUsage {
    fn add_assign(&mut self, other: Self) {
        self.usage += other.usage;
        self.calls = self.calls.saturating_add(other.calls);
        self.retries = self.retries.saturating_add(other.retries);
    }
}

/// The limits of a run. A call over a limit gets a result that says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Limits {
    /// Turns of the model after one prompt, or after somebody lets a stopped run go on.
    pub steps: u32,
    /// Calls of one turn.
    pub calls_per_turn: u32,
    /// Calls that run side by side.
    pub in_flight: u32,
    /// Calls of the whole run.
    pub calls: u32,
    /// Calls that wait for somebody at one time.
    pub open: u32,
    /// Tries again of failed calls and of failed turns of the model, in the whole run.
    pub retries: u32,
    /// Tokens that the model may use after one prompt, or after somebody lets a stopped run go on, asked and answered
    /// together; `None` for any number. Looked at between turns, so the last turn may be over it.
    pub tokens: Option<u64>,
    /// Milliseconds that the run may work after one prompt, or after somebody lets it go on; `None` for any time. The time
    /// in which it waits for somebody is not counted. Whoever drives the run keeps it ([`StepEvent::Stop`](super::StepEvent::Stop)),
    /// and begins anew in another process.
    pub time: Option<u64>,
    /// Bytes of the arguments of one call.
    pub argument_bytes: usize,
    /// How deep arguments may be nested.
    pub depth: u32,
    /// Bytes of all messages; the run stops when it has more.
    pub bytes: u64,
    /// Recorded steps and answers of one call.
    pub records: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            steps: 32,
            calls_per_turn: 64,
            in_flight: 8,
            calls: 4096,
            open: 256,
            retries: 64,
            tokens: None,
            time: None,
            argument_bytes: 4 * 1024 * 1024,
            depth: 127,
            bytes: 256 * 1024 * 1024,
            records: 1024,
        }
    }
}

impl Limits {
    /// Returns which limit on the arguments of one call these are over.
    pub fn too_large(&self, arguments: &str) -> Option<String> {
        if arguments.len() > self.argument_bytes {
            return Some(format!("arguments have at most {} bytes", self.argument_bytes));
        }
        if is_deeper(arguments, self.depth) {
            return Some(format!("arguments are nested at most {} deep", self.depth));
        }
        None
    }
}

/// The limits of a run, and its behaviour where systems differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct RunOptions {
    /// The limits.
    pub limits: Limits,
    /// The treatment of a prompt while the run is busy or waits.
    pub on_prompt: OnPrompt,
    /// The treatment of a turn when a person denies one of its calls.
    pub on_deny: OnDeny,
    /// The order in which the calls of one turn run.
    pub execution: Execution,
    /// The consequence of untrusted text in the run.
    pub on_taint: OnTaint,
    /// After how many milliseconds an approval or a question that nobody answered ends; `None` for never.
    pub approval_expiry: Option<u64>,
    /// After how many milliseconds an external call that nobody answered ends; `None` for never.
    pub external_expiry: Option<u64>,
    /// How many milliseconds an approval that was given, and not used yet, is good for; `None` for ever.
    pub grant_expiry: Option<u64>,
}

/// The treatment of a prompt while the run is busy or waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnPrompt {
    /// It waits until the calls have ended.
    Block,
    /// It ends the calls; those that wait are superseded, those that run are cancelled.
    Supersede,
    /// It is refused.
    #[default]
    Refuse,
}

/// The treatment of a turn when a person denies one of its calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnDeny {
    /// The model is told, and goes on.
    #[default]
    Continue,
    /// Calls of the turn that have not started are superseded, and the run stops.
    StopTurn,
}

/// The order in which the calls of one turn run. Calls of tools declared `sequential` run alone in either case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Execution {
    /// Side by side, up to [`Limits::in_flight`].
    #[default]
    Parallel,
    /// One after the other, in the model's order.
    Sequential,
}

/// The consequence of untrusted text in the run: outputs of tools declared `untrusted` or `open_world`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnTaint {
    /// Nothing by itself. Policies see it.
    #[default]
    Ignore,
    /// Every call that is not read-only needs an approval from then on.
    Ask,
}
