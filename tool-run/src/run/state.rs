//! A run: the state that its log leads to.

use std::{collections::HashMap, fmt, ops::Range, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::message::{AssistantPart, FinishReason, Message, Part, Usage};
use crate::run::{
    Call, CallId, CallResult, CallState, CorruptLog, Grant, InnerUsage, Interrupt, InterruptId, Principal, Prompt,
    PromptPosition, RunApproval, RunId, Stage, Summary, Timestamp,
};

/// A run: a conversation with its calls and their results. The whole state follows from the log.
#[derive(Debug)]
pub struct Run {
    pub(super) id: RunId,
    pub(super) owner: Principal,
    pub(super) made_by: Option<Arc<str>>,
    pub(super) options: RunOptions,
    pub(super) rev: u64,
    pub(super) messages: Vec<Message>,
    pub(super) prompts: Vec<PromptPosition>,
    pub(super) bytes: u64,
    pub(super) calls: Vec<Call>,
    pub(super) index: Index,
    pub(super) turn: u32,
    pub(super) steps: u32,
    pub(super) usage: Usage,
    /// The tokens used before the last prompt.
    pub(super) earlier_usage: Usage,
    /// The usage of each turn since the run was last prompted or continued.
    pub(super) turns: Vec<TurnUsage>,
    /// The names of the tools on offer in the present turn; all tools if `None`.
    pub(super) offered: Option<Vec<String>>,
    pub(super) activity: Activity,
    pub(super) cut_text: Option<Arc<str>>,
    /// The position of the first call of the present turn.
    pub(super) first_of_turn: u32,
    /// All calls before this position are settled: none can start, and none delays another. [`Run::skip_settled`] moves it.
    pub(super) first_unsettled: u32,
    /// The position of the call that changed last.
    pub(super) last_changed: u32,
    pub(super) stages: [u32; STAGES],
    pub(super) retries: u32,
    /// The number of calls that the runs inside of this run's calls made.
    pub(super) inner_calls: u32,
    pub(super) final_tools: Vec<Arc<str>>,
    /// Set if the last prompt began with a call from outside.
    pub(super) from_outside: bool,
    /// The number of turns since the last prompt, before the present one, whose typed answer was refused.
    pub(super) refused_answers: u32,
    /// Set if the run must stop at the end of its step.
    pub(super) stopping: bool,
    pub(super) answer: Option<Arc<Value>>,
    pub(super) queue: Vec<Prompt>,
    pub(super) approvals: Vec<RunApproval>,
    pub(super) taint: Vec<String>,
    /// The agent that acts, if another one than the run's own.
    pub(super) acting_agent: Option<Arc<str>>,
    pub(super) claims: Option<Arc<Value>>,
    /// The summary of the beginning of the conversation.
    pub(super) summary: Option<Summary>,
    pub(super) title: Option<String>,
    /// Set if the run did not accept an entry of its own step. It has a part of that step, and accepts nothing any more.
    pub(super) inconsistent: Option<Box<CorruptLog>>,
    pub(super) replaced_keys: Vec<String>,
}

pub const STAGES: usize = 6;

/// The maximum number of bytes of a prompt that serve as the title of a run.
const MAX_TITLE_BYTES: usize = 80;

/// The positions of calls by their ids; `u32::MAX` for calls of the conversation before the run.
pub type Index = HashMap<CallId, u32, foldhash::fast::RandomState>;

impl Run {
    /// Returns the id, which is unique in a store.
    pub fn id(&self) -> &RunId {
        &self.id
    }

    /// Returns the principal that may prompt the run, and decides all interrupts that name no other decider.
    pub fn owner(&self) -> &Principal {
        &self.owner
    }

    /// Returns the claims with which the owner sent the last prompt: what the application knows of the owner beside the id, such as a
    /// plan or a role. Another process reads here for whom it continues the run. `None` if the application uses no claims.
    pub fn claims(&self) -> Option<&Arc<Value>> {
        self.claims.as_ref()
    }

    /// Returns the name of the application's agent that made the run; `None` if that agent had no name, or an older version of
    /// this crate made the run. The agent that acts in the run may be another one.
    pub fn made_by(&self) -> Option<&str> {
        self.made_by.as_deref()
    }

    /// Returns the number of entries in the log.
    pub fn rev(&self) -> u64 {
        self.rev
    }

    /// Returns the limits and the options of the run.
    pub fn options(&self) -> &RunOptions {
        &self.options
    }

    /// Returns the conversation. A turn's results enter it when all calls of the turn have ended.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// Returns the positions of the prompts among the messages, oldest first.
    pub fn prompts(&self) -> &[PromptPosition] {
        &self.prompts
    }

    /// Returns all calls, oldest first.
    pub fn calls(&self) -> &[Call] {
        &self.calls
    }

    /// Returns the calls of the present turn.
    pub fn current_calls(&self) -> &[Call] {
        &self.calls[self.first_of_turn as usize..]
    }

    /// Returns the positions of the present turn's calls in [`Run::calls`].
    pub(super) fn current_range(&self) -> Range<usize> {
        self.first_of_turn as usize..self.calls.len()
    }

    /// Returns the open interrupts, in the model's order.
    pub fn interrupts(&self) -> impl Iterator<Item = &Interrupt> {
        self.current_calls().iter().filter_map(Call::interrupt).take(self.count(Stage::Open) as usize)
    }

    /// Returns the interrupt with this id, if it is open.
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

    /// Returns the time at which the next interrupt or grant expires.
    pub fn next_expiry(&self) -> Option<Timestamp> {
        let most = self.count(Stage::Open) + self.count(Stage::Ready);
        self.current_calls().iter().filter_map(Call::expires).take(most as usize).min()
    }

    /// Returns whether all calls of the turn have ended, and neither another turn nor the run's end has followed yet. The next input
    /// leads to one of them ([`AdvanceOptions::pauses_between_turns`](super::AdvanceOptions::pauses_between_turns)).
    pub fn is_between_turns(&self) -> bool {
        matches!(self.activity, Activity::Acting(_)) && self.count(Stage::Done) as usize == self.current_calls().len()
    }

    /// Returns the number of the last turn, from 1; 0 before the first turn.
    pub fn turn(&self) -> u32 {
        self.turn
    }

    /// Returns the number of steps since the run was last prompted or continued.
    pub fn steps(&self) -> u32 {
        self.steps
    }

    /// Returns the tokens used since the last prompt.
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// Returns the tokens used by the whole conversation, since the run was created. Snapshots of before this number lack the tokens
    /// of earlier prompts.
    pub fn total_usage(&self) -> Usage {
        let mut total = self.earlier_usage;
        total += self.usage;
        total
    }

    /// Returns the usage since the run was last prompted or continued: of turns, and of repairs, tools and inner runs during them.
    pub fn turn_usages(&self) -> &[TurnUsage] {
        &self.turns
    }

    /// Returns whether the run stops after its present step, because a principal requested it.
    pub fn is_stopping(&self) -> bool {
        self.stopping
    }

    /// Returns the number of retries of failed calls and turns in the whole run, with those of inner runs.
    pub fn retries(&self) -> u32 {
        self.retries
    }

    /// Returns whether the model sees the tool `name` in the present turn, if the application has such a tool.
    pub fn offers(&self, name: &str) -> bool {
        self.offered.as_ref().is_none_or(|offered| offered.iter().any(|tool| tool == name))
    }

    /// Returns the tools whose successful call ends the run.
    pub fn final_tools(&self) -> &[Arc<str>] {
        &self.final_tools
    }

    /// Returns the schema of the arguments of the only final tool, if the application has no such tool.
    pub fn answer_schema(&self) -> Option<&Arc<Value>> {
        self.answer.as_ref()
    }

    /// Returns the number of refused answers to the last prompt, before the present turn.
    pub fn refused_answers(&self) -> u32 {
        self.refused_answers
    }

    /// Returns whether a successful call of the tool `name` ends the run.
    pub fn is_final(&self, name: &str) -> bool {
        self.final_tools.iter().any(|tool| **tool == *name)
    }

    /// Returns whether a result is the refusal of an answer to the last prompt.
    pub(super) fn is_refused_answer(&self, name: &str, result: &CallResult) -> bool {
        self.is_final(name)
            && !self.from_outside
            && matches!(
                result,
                CallResult::Rejected { .. }
                    | CallResult::Failed { .. }
                    | CallResult::PolicyDenied { .. }
                    | CallResult::Denied { .. }
            )
    }

    /// Returns the title that the owner gave the run, or else the first line of its first prompt, cut at 80 bytes, as it was written.
    pub fn title(&self) -> Option<&str> {
        let prompt = || match self.messages.get(self.prompts.first()?.at as usize)? {
            Message::User { content } => content.iter().find_map(Part::as_text)?.trim().lines().next(),
            _ => None,
        };
        self.title.as_deref().or_else(|| prompt().map(|line| &line[..line.floor_char_boundary(MAX_TITLE_BYTES)]))
    }

    /// Returns the tools whose untrusted output is in the conversation.
    pub fn taint(&self) -> &[String] {
        &self.taint
    }

    /// Returns the calls that are allowed for the rest of the run.
    pub fn run_approvals(&self) -> &[RunApproval] {
        &self.approvals
    }

    /// Returns the prompts that wait.
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

    /// Returns the number of calls of the present turn that are at `stage`.
    pub fn count(&self, stage: Stage) -> u32 {
        self.stages[stage as usize]
    }

    /// Returns whether `by` may decide the interrupt `open`.
    pub fn may_decide(&self, open: &Interrupt, by: &Principal) -> bool {
        open.may_be_decided(&self.owner, by)
    }

    /// Returns whether this principal may prompt, cancel and continue the run.
    pub(super) fn is_owner(&self, by: &Principal) -> bool {
        self.owner == *by
    }

    pub(super) fn grant_of(&self, at: usize) -> Option<&Grant> {
        match &self.calls[at].state {
            CallState::Ready(grant) => Some(grant),
            _ => None,
        }
    }

    /// Returns the call with this id.
    pub fn call(&self, id: &CallId) -> Option<&Call> {
        self.calls.get(self.position_of(id)?)
    }

    /// Returns the call with this id, and sets `last` to its position. The search is fast if `last` was at this call or at the one
    /// before. Without a `last`, it begins at the call that changed last.
    #[doc(hidden)]
    pub fn call_near(&self, last: &mut Option<usize>, id: &CallId) -> Option<&Call> {
        let at = self.position_near(last.unwrap_or(self.last_changed as usize), id)?;
        *last = Some(at);
        self.calls.get(at)
    }

    /// Returns the position of a call in [`Run::calls`].
    pub(super) fn position_of(&self, id: &CallId) -> Option<usize> {
        self.position_near(self.last_changed as usize, id)
    }

    /// Returns the position of a call. Most entries are about the same call as the last entry, or about the next call. So the
    /// calls at `near` and behind it are compared before the id is hashed.
    fn position_near(&self, near: usize, id: &CallId) -> Option<usize> {
        let is_it = |at: &usize| self.calls.get(*at).is_some_and(|call| call.id.is(id));
        [near, near.saturating_add(1)].into_iter().find(is_it).or_else(|| Some(*self.index.get(id)? as usize))
    }

    /// Returns the calls, retries and tokens that the run has left.
    pub fn remaining(&self) -> RemainingLimits {
        let Limits { calls, retries, .. } = self.options.limits;
        let made = u32::try_from(self.calls.len()).unwrap_or(u32::MAX).saturating_add(self.inner_calls);
        let used: Usage = self.turns.iter().map(|turn| turn.usage).sum();
        let tokens = self.options.limits.tokens.map(|most| most.saturating_sub(used.total()));
        RemainingLimits { calls: calls.saturating_sub(made), retries: retries.saturating_sub(self.retries), tokens }
    }

    /// Returns the number of calls before this turn, including those of runs inside of calls.
    pub(super) fn calls_before(&self) -> u32 {
        self.first_of_turn.saturating_add(self.inner_calls)
    }
}

/// The rules that delay calls: `sequential` calls and conflicting resources.
impl Run {
    /// Returns whether the run cannot go on without a decision.
    pub(super) fn is_waiting(&self) -> bool {
        let moving = [Stage::Proposed, Stage::Running, Stage::Lost];
        self.count(Stage::Open) > 0
            && moving.iter().all(|stage| self.count(*stage) == 0)
            && (self.count(Stage::Ready) == 0 || self.is_blocked())
    }

    /// Returns whether open interrupts block every ready call.
    fn is_blocked(&self) -> bool {
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

    /// Returns whether the call must run alone: after all earlier calls have ended, and while later ones wait.
    pub(super) fn runs_alone(&self, call: &Call) -> bool {
        self.options.call_order == CallOrder::Sequential || call.tool.as_ref().is_some_and(|tool| tool.sequential)
    }

    /// Returns whether the call at `at` has to wait before it begins: for each conflicting call that has not ended, if that call
    /// comes before it or has begun.
    ///
    /// A call that has begun keeps its resources until it ends. So a call that continues after an answer, or is retried, does
    /// not wait. No two calls can wait for each other.
    pub(super) fn is_held(&self, at: usize) -> bool {
        let Some(touches) = self.calls[at].touches().filter(|_| !self.has_begun(at)) else { return false };
        self.current_range().filter(|other| *other != at).any(|other| {
            let call = &self.calls[other];
            call.stage() != Stage::Done
                && call.touches().is_some_and(|touched| touched.conflicts(touches))
                && (other < at || self.has_begun(other))
        })
    }

    fn has_begun(&self, at: usize) -> bool {
        let call = &self.calls[at];
        call.attempts > 0 || call.past.as_ref().is_some_and(|past| past.announced)
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Activity {
    /// The run has no prompt yet.
    Idle,
    /// A prompt was accepted, and the next input starts a turn.
    Prompted,
    /// The model is asked.
    Generating,
    /// The calls of the turn are handled.
    Acting(TurnEnd),
    Finished,
    Stopped(StopReason),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnEnd {
    Safe,
    /// The turn was cut: the run stops when the calls have ended.
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
            finish if finish.allows_calls() => Self::Safe,
            finish => Self::Cut(finish),
        }
    }
}

/// The phase of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Phase {
    /// The run waits for its first prompt.
    Idle,
    /// The model is asked.
    Generating,
    /// Calls are checked, or run.
    Acting,
    /// The run cannot go on without a decision.
    Suspended,
    /// The model made no more calls, or a call of the final tool succeeded. The run can be prompted again.
    Finished,
    /// The run was stopped. It can be prompted again, or continued.
    Stopped(StopReason),
}

/// The reason why a run was stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StopReason {
    /// The run reached its step limit.
    StepLimit,
    /// The model's turn was cut.
    TurnCut(FinishReason),
    /// The model failed.
    ModelFailed(String),
    /// A call was denied, and [`OnDeny::StopTurn`](super::OnDeny::StopTurn) holds.
    Denied,
    /// The run was cancelled.
    Cancelled,
    /// A principal requested a stop at the end of the step.
    Requested,
    /// A limit on the whole run was reached.
    LimitReached(String),
    /// The run or one of its steps took longer than the driver allows. The text names the limit.
    TimedOut(String),
    /// A condition of the application, with this name, holds.
    Condition(String),
    /// A guard or a check of the application blocked the run.
    Blocked {
        /// The name of the guard or the check.
        by: String,
        /// The reason.
        reason: String,
    },
}

impl fmt::Display for Phase {
    /// Formats the phase in a few words, such as `finished`, or as the reason of the stop.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Idle => "it has no prompt yet",
            Self::Generating => "the model is asked",
            Self::Acting => "calls run",
            Self::Suspended => "it waits for a decision",
            Self::Finished => "finished",
            Self::Stopped(reason) => return reason.fmt(out),
        })
    }
}

impl fmt::Display for StopReason {
    /// Formats the reason in a few words, such as `no steps are left`.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::StepLimit => out.write_str("no steps are left"),
            Self::TurnCut(finish) => write!(out, "the model was cut off ({finish:?})"),
            Self::ModelFailed(error) => write!(out, "the model failed: {error}"),
            Self::Denied => out.write_str("a call was denied"),
            Self::Cancelled => out.write_str("the run was cancelled"),
            Self::Requested => out.write_str("a stop was requested"),
            Self::LimitReached(limit) | Self::TimedOut(limit) | Self::Condition(limit) => out.write_str(limit),
            Self::Blocked { by, reason } => write!(out, "{by} blocked the run: {reason}"),
        }
    }
}

/// The part of the limits that a run has not used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RemainingLimits {
    /// The number of calls that the run may still make.
    pub calls: u32,
    /// The number of retries of failed calls and turns that the run has left.
    pub retries: u32,
    /// The number of tokens that the run's models may still use; `None` for no limit.
    pub tokens: Option<u64>,
}

/// The tokens that one turn of the model used, or a repair, a tool or an inner run during that turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TurnUsage {
    /// The turn's number, from 1. A failed turn has a number, too.
    pub turn: u32,
    /// The model, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Arc<str>>,
    /// The tokens used.
    pub usage: Usage,
}

/// The part of one limit that is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitLeft {
    /// The part that is left.
    pub left: u64,
    /// The whole limit.
    pub limit: u64,
}

impl LimitLeft {
    /// Returns the one of which less is left.
    fn min(self, other: Self) -> Self {
        if other.left < self.left { other } else { self }
    }
}

/// The part of a run's limits that is left for all runs inside of its calls together. A driver counts it while they run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedLimits {
    /// The calls.
    pub calls: LimitLeft,
    /// The retries of failed calls and turns.
    pub retries: LimitLeft,
    /// The tokens; `None` for no limit.
    pub tokens: Option<LimitLeft>,
}

impl SharedLimits {
    /// Returns the limits of `run`, and the part that its log leaves.
    pub fn of(run: &Run) -> Self {
        let (limits, left) = (run.options.limits, run.remaining());
        let of = |left: u32, limit: u32| LimitLeft { left: left.into(), limit: limit.into() };
        Self {
            calls: of(left.calls, limits.calls),
            retries: of(left.retries, limits.retries),
            tokens: left.tokens.zip(limits.tokens).map(|(left, limit)| LimitLeft { left, limit }),
        }
    }

    /// Returns the limits of both, each with the smaller part left.
    pub fn min(self, other: Self) -> Self {
        let tokens = self.tokens.into_iter().chain(other.tokens).reduce(LimitLeft::min);
        Self { calls: self.calls.min(other.calls), retries: self.retries.min(other.retries), tokens }
    }

    /// Subtracts what was used.
    pub fn subtract(&mut self, used: &InnerUsage) {
        let subtract = |from: &mut LimitLeft, used: u64| from.left = from.left.saturating_sub(used);
        subtract(&mut self.calls, used.calls.into());
        subtract(&mut self.retries, used.retries.into());
        if let Some(tokens) = &mut self.tokens {
            subtract(tokens, used.usage.total());
        }
    }

    /// Returns the reason why no model may be asked any more, if there is one.
    pub fn exceeded(&self) -> Option<StopReason> {
        let tokens = self.tokens.filter(|tokens| tokens.left == 0)?;
        Some(StopReason::LimitReached(tokens_used(tokens.limit)))
    }
}

/// Returns the text about a limit of tokens that a run has used.
pub fn tokens_used(limit: u64) -> String {
    format!("the model may use {limit} tokens, and has used them")
}

/// The limits of a run. The result of a call over a limit names the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Limits {
    /// The maximum number of steps after one prompt or one continuation.
    pub steps: u32,
    /// The maximum number of calls of one turn.
    pub calls_per_turn: u32,
    /// The maximum number of calls that run in parallel.
    pub parallel_calls: u32,
    /// The maximum number of calls of the whole run, with those of inner runs.
    pub calls: u32,
    /// The maximum number of calls that wait for a decision at one time, and of prompts that wait.
    pub open_interrupts: u32,
    /// The maximum number of retries of failed calls and failed turns, in the whole run and its inner runs.
    pub retries: u32,
    /// The maximum number of times that the model tries again after a wrong typed answer, after one prompt. A record leaves out
    /// the default.
    #[serde(skip_serializing_if = "is_default_retries")]
    pub answer_retries: u32,
    /// The maximum number of tokens, of requests and answers, after one prompt or one continuation; `None` for no limit. Those
    /// of inner runs count. The limit is checked between turns, so the turns under way may exceed it.
    pub tokens: Option<u64>,
    /// The time that the run may work after one prompt or one continuation; `None` for no limit. Time in which the run waits
    /// for a decision does not count. The driver enforces this limit ([`LogInput::Stop`](super::LogInput::Stop)), and another
    /// process counts from zero.
    #[serde(with = "duration")]
    pub time: Option<Duration>,
    /// The largest size of the arguments of one call, in bytes.
    pub argument_bytes: usize,
    /// The deepest nesting of arguments.
    pub argument_depth: u32,
    /// The largest size of all messages, with results of ended calls and prompts that wait, in bytes. A run that has more stops
    /// before it asks the model, and refuses to continue. A prompt that would exceed the limit is refused.
    pub message_bytes: u64,
    /// The maximum number of recorded steps and answers of one call. Each append of an inner run is such a step: about two for
    /// each of its calls. So the default lets inner runs use all the calls of the default `calls`.
    pub recorded_steps: u32,
}

/// Records without the limit mean this number, so it must not change.
const DEFAULT_ANSWER_RETRIES: u32 = 1;

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_default_retries(retries: &u32) -> bool {
    *retries == DEFAULT_ANSWER_RETRIES
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            steps: 32,
            calls_per_turn: 64,
            parallel_calls: 8,
            calls: 4096,
            open_interrupts: 256,
            retries: 64,
            answer_retries: DEFAULT_ANSWER_RETRIES,
            tokens: None,
            time: None,
            argument_bytes: 4 * 1024 * 1024,
            argument_depth: 127,
            message_bytes: 256 * 1024 * 1024,
            recorded_steps: 32 * 1024,
        }
    }
}

/// The limits of a run, and its options. The log stores durations in whole milliseconds.
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
    pub call_order: CallOrder,
    /// The consequence of untrusted text in the run.
    pub on_taint: OnTaint,
    /// The time after which an unanswered approval or question expires; `None` for never.
    #[serde(with = "duration")]
    pub approval_expiry: Option<Duration>,
    /// The time after which an unanswered external call expires; `None` for never.
    #[serde(with = "duration")]
    pub external_expiry: Option<Duration>,
    /// The time for which an unused approval stays valid; `None` for ever.
    #[serde(with = "duration")]
    pub grant_expiry: Option<Duration>,
}

/// The stored form of a duration: milliseconds.
mod duration {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::run::id::millis;

    #[allow(clippy::ref_option, reason = "serde asks for it")]
    pub fn serialize<S: Serializer>(duration: &Option<Duration>, out: S) -> Result<S::Ok, S::Error> {
        duration.map(millis).serialize(out)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(input: D) -> Result<Option<Duration>, D::Error> {
        Ok(Option::deserialize(input)?.map(Duration::from_millis))
    }
}

/// The treatment of a prompt while the run is busy or waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnPrompt {
    /// The prompt waits until the run has finished or stopped. A cancellation or a requested stop drops it.
    Queue,
    /// The prompt ends the calls: waiting ones are superseded, running ones are cancelled.
    Supersede,
    /// The prompt is refused.
    #[default]
    Refuse,
}

/// The treatment of a turn when a person denies one of its calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnDeny {
    /// The model sees the denial, and goes on.
    #[default]
    Continue,
    /// The calls of the turn that are not running end, and the run stops after the others.
    StopTurn,
}

/// The order in which the calls of one turn run. Calls of tools declared `sequential` run alone in either case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallOrder {
    /// In parallel, up to [`Limits::parallel_calls`].
    #[default]
    Parallel,
    /// One after the other, in the model's order.
    Sequential,
}

/// The consequence of untrusted text in the run, such as outputs of tools declared `untrusted` or `open_world`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnTaint {
    /// Nothing changes; policies can read the taint.
    #[default]
    Ignore,
    /// Every call that is not read-only needs an approval from then on.
    Ask,
}
