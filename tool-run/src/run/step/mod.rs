//! Computes the entries and actions that follow from an input. It has no clock and no randomness, never waits, and only
//! reads the run.

mod calls;
mod decide;
mod turn;

use std::{collections::HashSet, sync::Arc, time::Duration};

use crate::run::{
    AbortCause, Action, CallId, CallResult, CallView, GrantedBy, Interrupt, InterruptKind, LogEntry, OnDeny, Phase,
    Principal, Refusal, Run, Stage, StepInput, StopReason, SupersededBy, Time,
    call::Call,
    state::{Activity, STAGES, TurnEnd},
};
use crate::tool::{Fingerprint, Resources, spec::Digest};

pub use turn::pending_actions;

/// Returns the entries that follow from `input`, and the actions to take when the entries are in the log.
///
/// The cost does not grow with the run, only with the calls of the present turn. Inputs that come too late, such as the end
/// of a call that was cancelled, have no effect.
///
/// Fails if the run refuses the input. Then nothing has happened.
pub fn step(run: &Run, input: StepInput) -> Result<(Vec<LogEntry>, Vec<Action>), Refusal> {
    step_into(run, input, (Vec::new(), Vec::new()))
}

/// Takes a step like [`step`], with existing empty lists, so that a driver need not allocate new ones for each input.
pub fn step_into(
    run: &Run,
    input: StepInput,
    lists: (Vec<LogEntry>, Vec<Action>),
) -> Result<(Vec<LogEntry>, Vec<Action>), Refusal> {
    let mut draft = Draft::new(run, lists, time_of(&input));
    match input {
        StepInput::Prompt(prompt) => draft.accept_prompt(prompt)?,
        StepInput::Continue { by, .. } => draft.continue_run(&by)?,
        StepInput::Offered { tools } => draft.record_offer(tools)?,
        StepInput::Called { index, provider_id, name, arguments } => {
            draft.record_call(index, provider_id, name, arguments)?;
        }
        StepInput::TurnEnded { parts, finish, usage, model, .. } => {
            draft.record_turn_end(parts, finish, usage, model)?;
        }
        StepInput::TurnFailed { error, again, usage, model, .. } => {
            draft.record_turn_failure(error, again, usage, model)?;
        }
        StepInput::Checked { call, checked, .. } => draft.record_check(&call, checked),
        StepInput::Decide { interrupt, ruling, by, .. } => draft.decide(interrupt, ruling, by)?,
        StepInput::Ended { call, attempt, outcome, .. } => draft.end_or_retry(&call, attempt, outcome),
        StepInput::Asked { call, attempt, question, .. } => draft.open_question(&call, attempt, question)?,
        StepInput::AskedInside { call, attempt, tool, interrupt, feedback, .. } => {
            draft.open_inner_interrupt(&call, attempt, InterruptKind::Inner { tool, interrupt, feedback })?;
        }
        StepInput::StepStarted { call, attempt, name } => draft.record_step_start(call, attempt, name)?,
        StepInput::StepEnded { call, attempt, name, value, spent } => {
            draft.record_step_end(call, attempt, name, value, spent)?;
        }
        StepInput::Tick { .. } => draft.end_expired(),
        StepInput::Recover { .. } => draft.recover(),
        StepInput::Repaired { call, name, arguments, by, usage } => {
            draft.record_repair(call, name, arguments, by, usage)?;
        }
        StepInput::StopRequested { by, .. } => draft.stop_after_step(by)?,
        StepInput::Title { title, by, .. } => draft.set_title(title, by)?,
        StepInput::Cancel { by, .. } => draft.cancel(&by)?,
        StepInput::Stop { reason, .. } => draft.stop_now(reason),
    }
    Ok((draft.log, draft.actions))
}

/// Returns the time of `input`. If it has none, no entry or action that follows from it has a time.
fn time_of(input: &StepInput) -> Time {
    match input {
        StepInput::Prompt(prompt) => prompt.at,
        StepInput::Continue { at, .. }
        | StepInput::TurnEnded { at, .. }
        | StepInput::TurnFailed { at, .. }
        | StepInput::Checked { at, .. }
        | StepInput::Decide { at, .. }
        | StepInput::Ended { at, .. }
        | StepInput::Asked { at, .. }
        | StepInput::AskedInside { at, .. }
        | StepInput::Tick { at }
        | StepInput::Recover { at }
        | StepInput::StopRequested { at, .. }
        | StepInput::Title { at, .. }
        | StepInput::Stop { at, .. }
        | StepInput::Cancel { at, .. } => *at,
        StepInput::Offered { .. }
        | StepInput::Called { .. }
        | StepInput::StepStarted { .. }
        | StepInput::StepEnded { .. }
        | StepInput::Repaired { .. } => Time::default(),
    }
}

/// A run, with the entries that are about to be logged, and the actions that follow from them.
pub struct Draft<'a> {
    pub run: &'a Run,
    pub now: Time,
    pub log: Vec<LogEntry>,
    pub actions: Vec<Action>,
    /// The call whose stage changed last. It is stored apart, because most inputs change no other call.
    latest: Option<(usize, Stage)>,
    /// The calls whose stages changed before that one.
    changed: Vec<(usize, Stage)>,
    /// The numbers of calls of the turn that will be at each stage.
    stages: [u32; STAGES],
    pub turn_end: Option<TurnEnd>,
    /// The position of a call whose check is part of the input, so that it may start now.
    pub fresh: Option<usize>,
    /// The position of a call that this input checks for the first time, and that runs alone. The run does not have its tool
    /// yet.
    pub alone: Option<usize>,
    /// The position and the resources of a call that this input accepts or edits.
    pub touched: Option<(usize, Option<Arc<Resources>>)>,
    /// The number of calls that this input adds to the turn, and the number of these that have ended.
    pub new_calls: usize,
    pub new_done: usize,
    pub minted: HashSet<CallId, foldhash::fast::RandomState>,
    /// Set if this input denies a call of the turn.
    pub denied: bool,
}

impl<'a> Draft<'a> {
    pub fn new(run: &'a Run, (log, actions): (Vec<LogEntry>, Vec<Action>), now: Time) -> Self {
        let turn_end = match &run.activity {
            Activity::Acting(end) => Some(end.clone()),
            _ => None,
        };
        Self {
            run,
            now,
            log,
            actions,
            latest: None,
            changed: Vec::new(),
            stages: run.stages,
            turn_end,
            fresh: None,
            alone: None,
            touched: None,
            new_calls: 0,
            new_done: 0,
            minted: HashSet::default(),
            denied: false,
        }
    }

    /// Returns the stage that a call will have.
    pub fn stage(&self, at: usize) -> Stage {
        let changed = self.latest.iter().chain(self.changed.iter().rev()).find(|(call, _)| *call == at);
        changed.map_or_else(|| self.run.calls[at].stage(), |(_, stage)| *stage)
    }

    /// Returns the position of the first call that may delay others, or may start.
    pub fn first_unpassed(&self) -> usize {
        let changed = self.changed.iter().chain(&self.latest).map(|(call, _)| *call);
        changed.fold(self.run.settled_before as usize, usize::min)
    }

    /// Returns the number of calls of the turn that will be at `stage`.
    pub fn count(&self, stage: Stage) -> u32 {
        self.stages[stage as usize]
    }

    /// Sets the stage that the call at `at` will have.
    pub fn enter(&mut self, at: usize, stage: Stage) {
        self.stages[self.stage(at) as usize] -= 1;
        self.stages[stage as usize] += 1;
        let before = self.latest.replace((at, stage));
        self.changed.extend(before.filter(|(call, _)| *call != at));
    }

    /// Returns the call at `at` as the run has it, without the changes of this input.
    pub fn call(&self, at: usize) -> &'a Call {
        &self.run.calls[at]
    }

    /// Returns the position of a call of the present turn.
    pub fn find(&self, id: &CallId) -> Option<usize> {
        self.run.position_of(id).filter(|at| self.run.current_range().contains(at))
    }

    /// Returns the position of a call that was started for the `attempt`th time and has not ended.
    pub fn find_running(&self, id: &CallId, attempt: u32) -> Option<usize> {
        self.find(id).filter(|at| self.stage(*at) == Stage::Running && self.call(*at).attempts == attempt)
    }

    /// Ends the call at `at` with `result`.
    pub fn end(&mut self, at: usize, result: CallResult) {
        let call = self.call(at).id.clone();
        self.log.push(LogEntry::Ended { call, result: Arc::new(result), at: self.now });
        self.enter(at, Stage::Done);
    }

    /// Ends the calls of the turn at `stages` with `result`, and aborts those that were started.
    pub fn end_at(&mut self, stages: &[Stage], result: &CallResult) {
        for at in self.run.current_range() {
            if stages.contains(&self.stage(at)) {
                if self.call(at).attempts > 0 {
                    self.actions.push(Action::Abort(self.call(at).id.clone()));
                }
                self.end(at, result.clone());
            }
        }
    }

    /// Ends a call that does not run, with `result`; or as aborted, with the cause `or`, if it was started before.
    pub fn end_unstarted(&mut self, at: usize, result: CallResult, or: AbortCause) {
        let was_started = self.call(at).attempts > 0;
        if was_started {
            self.actions.push(Action::Abort(self.call(at).id.clone()));
        }
        self.end(at, if was_started { CallResult::Aborted { by: or } } else { result });
    }

    /// Ends every call that has not ended and does not run.
    pub fn end_waiting(&mut self, by: SupersededBy, or: AbortCause) {
        for at in self.run.current_range() {
            if matches!(self.stage(at), Stage::Proposed | Stage::Open | Stage::Ready | Stage::Unknown) {
                self.end_unstarted(at, CallResult::Superseded { by }, or);
            }
        }
    }

    /// Opens and announces an interrupt of the call at `at`, which expires after `expiry`.
    pub fn open(
        &mut self,
        at: usize,
        kind: InterruptKind,
        shown: CallView,
        deciders: Vec<Principal>,
        expiry: Option<Duration>,
    ) {
        let id = self.call(at).next_interrupt_id();
        let expires = expiry.map(|expiry| self.now.after(expiry));
        let interrupt = Interrupt { id: id.clone(), kind, shown, since: self.now, expires, deciders };
        let call = id.call.clone();
        self.log.push(LogEntry::Opened { call, interrupt: Box::new(interrupt) });
        self.enter(at, Stage::Open);
        self.actions.push(Action::Announce(id));
        self.actions.extend(expires.map(Action::Wake));
    }

    /// Grants the call with its present tool and arguments.
    pub fn grant(&mut self, at: usize, by: GrantedBy, shown: Option<Digest>) {
        let call = self.call(at);
        if let Some(tool) = &call.tool {
            self.grant_for(at, tool.fingerprint, call.arguments.digest, by, shown);
        }
    }

    /// Grants the call at `at` for this tool and these arguments. Only a person's grant can expire.
    pub fn grant_for(&mut self, at: usize, tool: Fingerprint, arguments: Digest, by: GrantedBy, shown: Option<Digest>) {
        let expires = match by {
            GrantedBy::Person(_) => self.run.options.grant_expiry.map(|expiry| self.now.after(expiry)),
            _ => None,
        };
        let call = self.call(at).id.clone();
        self.log.push(LogEntry::Granted { call, tool, arguments, shown, by, expires });
        self.actions.extend(expires.map(Action::Wake));
        self.enter(at, Stage::Ready);
    }

    /// Starts the calls that may start. If every call has ended, the model is asked again, or the run ends.
    pub fn schedule(&mut self) {
        match self.run.phase() {
            Phase::Idle => return,
            // Another process queued a prompt just after the run had ended.
            Phase::Finished | Phase::Stopped(_) => return self.accept_queued(),
            _ => {}
        }
        self.start_calls();
        let calls = self.run.current_calls().len() + self.new_calls;
        let done = self.count(Stage::Done) as usize + self.new_done;
        if let Some(end) = self.turn_end.take_if(|_| done == calls) {
            self.end_turn(end, calls);
        }
    }

    /// Starts ready calls in the model's order, as far as the limits, their resources and `sequential` tools allow.
    fn start_calls(&mut self) {
        if self.count(Stage::Ready) == 0 {
            return;
        }
        let options = &self.run.options;
        // There is always room for one call; otherwise the run would never go on.
        let mut room = options.limits.in_flight.max(1).saturating_sub(self.count(Stage::Running));
        let from = self.first_unpassed();
        let mut unfinished = false;
        for at in from..self.run.calls.len() {
            let stage = self.stage(at);
            let alone = self.alone == Some(at) || self.run.runs_alone(self.call(at));
            match stage {
                Stage::Done => continue,
                // Calls behind it may have to wait for it, but that is not known yet.
                Stage::Proposed => return,
                Stage::Ready if alone && (unfinished || self.is_unfinished_before(from)) => return,
                Stage::Ready if self.may_start(at) && !self.is_held(at) => {
                    if room == 0 {
                        return;
                    }
                    room -= 1;
                    self.start(at);
                }
                _ => {}
            }
            if alone {
                return;
            }
            unfinished = true;
        }
    }

    fn is_unfinished_before(&self, from: usize) -> bool {
        self.run.calls[self.run.current_range().start..from].iter().any(|call| call.stage() != Stage::Done)
    }

    /// Returns whether a call has to wait for others with conflicting resources.
    pub fn is_held(&self, at: usize) -> bool {
        let Some(touches) = self.touches(at) else { return false };
        // The resources of a call that was not checked yet are unknown.
        self.run.is_held_by(at, Some(touches), |other| (self.stage(other), self.touches(other)))
            || self.call(at).attempts == 0
                && self.run.current_range().any(|other| other < at && self.stage(other) == Stage::Proposed)
    }

    fn touches(&self, at: usize) -> Option<&Resources> {
        match &self.touched {
            Some((call, touches)) if *call == at => touches.as_deref(),
            _ => self.run.calls[at].touches(),
        }
    }

    /// Returns whether the model's turn allows a ready call to start.
    fn may_start(&self, at: usize) -> bool {
        self.turn_end.is_some() || self.call(at).attempts > 0 || self.fresh == Some(at)
    }

    /// Starts a ready call that this input checked. Another one is checked again first, because the policies, the tool and
    /// the time may have changed.
    fn start(&mut self, at: usize) {
        let call = self.call(at);
        if self.fresh != Some(at) {
            self.actions.push(Action::Check(call.id.clone()));
            return;
        }
        self.fresh = None;
        self.log.push(LogEntry::Started { call: call.id.clone(), at: self.now });
        self.actions.push(Action::Execute { call: call.id.clone(), attempt: call.attempts.saturating_add(1) });
        self.enter(at, Stage::Running);
    }

    /// Asks the model again, or ends the run, after all calls of the turn have ended.
    fn end_turn(&mut self, end: TurnEnd, calls: usize) {
        let options = &self.run.options;
        let steered = || self.run.queue.iter().any(|prompt| prompt.steers);
        let stopped = match end {
            TurnEnd::Cut(finish) => Some(StopReason::Cut(finish)),
            TurnEnd::Failed(error) => Some(StopReason::ModelFailed(error)),
            TurnEnd::Safe if self.was_denied() && options.on_deny == OnDeny::StopTurn => Some(StopReason::Denied),
            TurnEnd::Safe if self.is_answered() || calls == 0 && !steered() => None,
            TurnEnd::Safe | TurnEnd::Again if self.run.stopping => Some(StopReason::Requested),
            TurnEnd::Safe | TurnEnd::Again => match self.exceeded_limit(calls) {
                Some(reason) => Some(reason),
                None => {
                    // Messages that steer the run join it now.
                    let steering = self.run.queue.iter().filter(|prompt| prompt.steers);
                    self.log.extend(steering.map(|prompt| LogEntry::Prompted { prompt: prompt.clone(), queued: true }));
                    return self.start_turn();
                }
            },
        };
        let at = self.now;
        match stopped {
            None => self.conclude(LogEntry::Finished { at }),
            // Waiting prompts are dropped with it.
            Some(reason @ StopReason::Requested) => self.log.push(LogEntry::Stopped { reason, at }),
            Some(reason) => self.conclude(LogEntry::Stopped { reason, at }),
        }
    }

    /// Ends the run until the next prompt. A waiting prompt is accepted at once.
    pub fn conclude(&mut self, entry: LogEntry) {
        self.log.push(entry);
        self.accept_queued();
    }

    /// Begins a turn with the first waiting prompt, if there is one.
    fn accept_queued(&mut self) {
        if let Some(prompt) = self.run.queue.first() {
            self.log.push(LogEntry::Prompted { prompt: prompt.clone(), queued: true });
            self.start_turn();
        }
    }

    /// Returns the limit that keeps the model from being asked again, if there is one.
    fn exceeded_limit(&self, calls: usize) -> Option<StopReason> {
        let limits = &self.run.options.limits;
        if self.run.bytes > limits.bytes {
            return Some(StopReason::OverBudget(format!("the conversation has more than {} bytes", limits.bytes)));
        }
        if let Some(most) = limits.tokens.filter(|most| self.tokens() >= *most) {
            return Some(StopReason::OverBudget(format!("the model may use {most} tokens, and has used them")));
        }
        // A failed turn without calls is not a step.
        let failed = |entry: &LogEntry| matches!(entry, LogEntry::TurnFailed { again: true, .. });
        let steps = self.run.steps.saturating_sub(u32::from(calls == 0 && self.log.iter().any(failed)));
        (steps >= limits.steps).then_some(StopReason::StepLimit)
    }

    /// Returns the tokens used since the run was last prompted or continued.
    fn tokens(&self) -> u64 {
        let before = self.run.turns.iter().map(|turn| turn.usage);
        let now = self.log.iter().filter_map(|entry| match entry {
            LogEntry::TurnEnded { usage, .. } | LogEntry::TurnFailed { usage, .. } => Some(*usage),
            _ => None,
        });
        before.chain(now).map(|used| used.input_tokens.saturating_add(used.output_tokens)).sum()
    }

    /// Records a denial; if the run must stop after one, ends the calls that have not started.
    pub fn record_denial(&mut self) {
        self.denied = true;
        if self.run.options.on_deny == OnDeny::StopTurn {
            self.end_waiting(SupersededBy::Denial, AbortCause::Denial);
        }
    }

    fn was_denied(&self) -> bool {
        let denied = |result: Option<&CallResult>| matches!(result, Some(CallResult::Denied { .. }));
        self.denied || self.run.current_calls().iter().any(|call| denied(call.result()))
    }

    /// Returns whether a call of the tool that ends the run has succeeded.
    fn is_answered(&self) -> bool {
        let Some(until) = &self.run.until else { return false };
        let before = self.run.current_calls().iter().filter_map(|call| Some((&call.id, call.result()?)));
        let now = self.log.iter().filter_map(|entry| match entry {
            LogEntry::Ended { call, result, .. } => Some((call, &**result)),
            _ => None,
        });
        before
            .chain(now)
            .any(|(id, result)| result.is_success() && self.run.call(id).is_some_and(|call| call.name == *until))
    }
}
