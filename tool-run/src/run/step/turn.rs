//! Handles prompts, the inputs about the model's turns, and the inputs that stop a run or let another process continue it.

use std::sync::Arc;

use crate::json::exceeds_depth;
use crate::message::{AssistantPart, FinishReason, Part, ToolCall, Usage};
use crate::run::{
    AbortCause, Action, CallId, CallResult, CallState, CallView, GrantedBy, InterruptId, InterruptKind, LogEntry,
    OnDeny, OnPrompt, Phase, Principal, Prompt, Refusal, Run, Stage, StopReason, SupersededBy, TurnPart,
    fold::as_u32,
    messages::message_bytes,
    state::{Activity, TurnEnd, tokens_used},
    step::Draft,
};

impl Draft<'_> {
    /// Begins a turn with the prompt. While the run is busy, queues a steering prompt, and treats others by [`OnPrompt`].
    pub fn accept_prompt(&mut self, prompt: Prompt) -> Result<(), Refusal> {
        self.check_owner(&prompt.by)?;
        if prompt.content.iter().all(Part::is_blank) {
            return Err(Refusal::EmptyPrompt);
        }
        if self.run.has_key(&prompt) {
            return Err(Refusal::Repeated);
        }
        self.check_bytes(prompt.size())?;
        if self.is_busy() {
            match self.run.options.on_prompt {
                _ if prompt.steers => return self.queue_prompt(prompt),
                OnPrompt::Refuse => return Err(Refusal::Busy),
                OnPrompt::Queue => return self.queue_prompt(prompt),
                OnPrompt::Supersede => self.supersede(),
            }
        }
        if prompt.steers {
            return Err(Refusal::NotActive);
        }
        self.log.push(LogEntry::Prompted { prompt, queued: false });
        self.start_turn();
        Ok(())
    }

    fn queue_prompt(&mut self, prompt: Prompt) -> Result<(), Refusal> {
        if self.run.queue.len() >= self.run.options.limits.open_interrupts as usize {
            return Err(Refusal::LimitReached {
                limit: "too many prompts wait already; wait until the run has accepted one".to_owned(),
            });
        }
        self.log.push(LogEntry::Queued { prompt });
        Ok(())
    }

    /// Begins a turn of a run that was stopped, or that has a conversation and no prompt.
    pub fn continue_run(&mut self, by: &Principal) -> Result<(), Refusal> {
        self.check_owner(by)?;
        match self.run.activity {
            // A run that was created with a conversation may answer its last message.
            Activity::Idle if self.run.messages.is_empty() => Err(Refusal::NotStopped),
            Activity::Stopped(_) | Activity::Idle => {
                self.check_bytes(0)?;
                self.start_turn();
                Ok(())
            }
            _ => Err(Refusal::NotStopped),
        }
    }

    /// Ends the run at once, and drops waiting prompts.
    pub fn cancel(&mut self, by: &Principal) -> Result<(), Refusal> {
        self.check_owner(by)?;
        if self.is_busy() {
            self.clear("it was cancelled");
            self.stop(StopReason::Cancelled);
        }
        Ok(())
    }

    /// Lets the run stop when the calls of its turn have ended.
    pub fn stop_after_step(&mut self, by: Principal) -> Result<(), Refusal> {
        self.check_owner(&by)?;
        if self.is_busy() && !self.run.stopping {
            self.log.push(LogEntry::StopRequested { by, at: self.now });
        }
        Ok(())
    }

    pub fn set_title(&mut self, title: String, by: Principal) -> Result<(), Refusal> {
        self.check_owner(&by)?;
        self.log.push(LogEntry::Titled { title, by, at: self.now });
        Ok(())
    }

    /// Ends the run at once, for `reason`.
    pub fn stop_now(&mut self, reason: StopReason) {
        if self.is_busy() {
            self.clear("the run was stopped");
            self.stop(reason);
        }
    }

    pub fn start_turn(&mut self) {
        self.log.push(LogEntry::TurnStarted { at: self.now });
        self.actions.push(Action::CallModel);
    }

    /// Checks that `by` owns the run.
    fn check_owner(&self, by: &Principal) -> Result<(), Refusal> {
        if self.run.is_owner(by) { Ok(()) } else { Err(Refusal::Forbidden) }
    }

    fn is_busy(&self) -> bool {
        matches!(self.run.phase(), Phase::Generating | Phase::Acting | Phase::Suspended)
    }

    /// Ends the turn and all of its calls. Calls that were not started never start, and the run does not wait for the others.
    fn clear(&mut self, why: &str) {
        self.give_up(why);
        self.end_all();
    }

    /// Ends the turn and all of its calls, because a new prompt comes first.
    fn supersede(&mut self) {
        self.give_up("a new prompt came first");
        self.end_waiting(SupersededBy::Prompt, AbortCause::Prompt);
        self.end_all();
    }

    /// Aborts the request to the model, and the running calls.
    fn give_up(&mut self, why: &str) {
        if self.turn_end.is_none() {
            self.actions.push(Action::AbortModel);
            self.log_failure(why, false);
        }
        self.end_at(&[Stage::Running], &CallResult::Cancelled);
    }

    /// Logs the failure of a turn whose model reported no usage.
    fn log_failure(&mut self, error: &str, again: bool) {
        let (error, usage, at) = (error.to_owned(), Usage::default(), self.now);
        self.log.push(LogEntry::TurnFailed { error, again, usage, model: None, at });
    }

    fn end_all(&mut self) {
        use Stage::{Lost, Open, Proposed, Ready, Running};
        self.end_at(&[Proposed, Open, Ready, Running, Lost], &CallResult::Cancelled);
    }

    /// Records the tools on offer in the turn.
    pub fn record_offer(&mut self, tools: Vec<String>) -> Result<(), Refusal> {
        self.check_asked()?;
        if !self.run.current_calls().is_empty() {
            return Err(Refusal::Misplaced { reason: "`Offered` must come before the first call" });
        }
        self.log.push(LogEntry::Offered { tools });
        Ok(())
    }

    /// Records a call before the end of its turn, and requests its check.
    pub fn record_call(
        &mut self,
        index: u32,
        provider_id: String,
        name: String,
        arguments: String,
    ) -> Result<(), Refusal> {
        self.check_asked()?;
        let known = as_u32(self.run.current_calls().len());
        if index < known {
            return Err(Refusal::Misplaced { reason: "`Called` must come once for each call, in order" });
        }
        if index > known || !self.run.offers(&name) || self.exceeded_limit_of_call(index, &arguments).is_some() {
            // The call is logged with the end of the turn.
            return Ok(());
        }
        let call = self.log_call(ToolCall { id: provider_id, name, arguments });
        self.actions.push(Action::Check(call));
        Ok(())
    }

    /// Records the end of a turn. Ends the calls that are over a limit or were cut off, and requests checks of the others.
    pub fn record_turn_end(
        &mut self,
        parts: Vec<AssistantPart>,
        finish: FinishReason,
        usage: Usage,
        model: Option<Arc<str>>,
    ) -> Result<(), Refusal> {
        self.check_asked()?;
        let cut = abort_cause(&finish);
        let known = self.run.current_calls();
        let mut logged = Vec::with_capacity(parts.len());
        let (mut ended, mut kept) = (Vec::new(), Vec::new());
        let mut index = 0;
        for part in parts {
            let AssistantPart::Call(call) = part else {
                logged.push(TurnPart::Content(part));
                continue;
            };
            let id = match known.get(index) {
                Some(early) if is_same(early, &call) => early.id.clone(),
                Some(_) => {
                    return Err(Refusal::Misplaced { reason: "the turn has another call than the one reported early" });
                }
                None => {
                    let result = self.result_without_check(as_u32(index), &call);
                    let id = self.log_call(call);
                    match (result, cut) {
                        (Some(result), _) => ended.push((id.clone(), result)),
                        (None, Some(by)) => ended.push((id.clone(), CallResult::Aborted { by })),
                        (None, None) => kept.push(id.clone()),
                    }
                    id
                }
            };
            index += 1;
            logged.push(TurnPart::Call { call: id });
        }
        if index < known.len() {
            return Err(Refusal::Misplaced { reason: "the turn lacks a call that was reported early" });
        }
        self.turn_end = Some(TurnEnd::of(finish.clone()));
        self.log.push(LogEntry::TurnEnded { parts: logged, finish, usage, model, at: self.now });
        self.new_calls = ended.len() + kept.len();
        self.new_done = ended.len();
        let now = self.now;
        let end = |(call, result)| LogEntry::CallEnded { call, result: Arc::new(result), at: now };
        self.log.extend(ended.into_iter().map(end));
        if let Some(by) = cut {
            self.abort_unstarted(by);
        }
        let early = self.run.current_range().filter(|at| self.stage(*at) == Stage::Proposed);
        let early: Vec<CallId> = early.map(|at| self.call(at).id.clone()).collect();
        self.actions.extend(early.into_iter().chain(kept).map(Action::Check));
        self.schedule();
        Ok(())
    }

    /// Records the failure of a turn, and ends those of its calls that are not running.
    pub fn record_turn_failure(
        &mut self,
        error: String,
        again: bool,
        usage: Usage,
        model: Option<Arc<str>>,
    ) -> Result<(), Refusal> {
        self.check_asked()?;
        // Calls and turns share one limit of retries.
        let (asked, again) = (again, again && self.has_retries());
        let error = if asked == again { error } else { format!("{error}; {}", self.retries_used()) };
        self.log.push(LogEntry::TurnFailed { error: error.clone(), again, usage, model, at: self.now });
        self.turn_end = Some(if again { TurnEnd::Again } else { TurnEnd::Failed(error) });
        self.abort_unstarted(AbortCause::UnfinishedTurn);
        self.schedule();
        Ok(())
    }

    /// Records the text of a turn that ends early.
    pub fn record_text(&mut self, turn: u32, text: String) -> Result<(), Refusal> {
        let is_missing = match self.run.activity {
            Activity::Generating => true,
            Activity::Stopped(_) => self.run.cut_text.is_none(),
            _ => false,
        };
        if turn != self.run.turn || text.is_empty() || !is_missing {
            return Err(Refusal::Misplaced { reason: "the text is of no turn that ends early" });
        }
        self.log.push(LogEntry::Written { text: text.into() });
        Ok(())
    }

    /// Returns whether the run, and the runs around it, have a retry left.
    pub fn has_retries(&self) -> bool {
        self.run.retries < self.run.options.limits.retries && self.outer.is_none_or(|outer| outer.retries.left > 0)
    }

    /// Returns the text about the limit of retries that is used up.
    fn retries_used(&self) -> String {
        let outer = self.outer.filter(|outer| outer.retries.left == 0).map(|outer| outer.retries.limit);
        let limit = outer.unwrap_or_else(|| self.run.options.limits.retries.into());
        format!("the run has used its {limit} retries (`Limits::retries`)")
    }

    /// Checks that the model is being asked.
    fn check_asked(&self) -> Result<(), Refusal> {
        if self.run.activity == Activity::Generating {
            return Ok(());
        }
        Err(Refusal::Misplaced { reason: "the model was not asked" })
    }

    /// Ends the calls that are not running.
    pub fn abort_unstarted(&mut self, by: AbortCause) {
        self.end_at(&[Stage::Proposed, Stage::Ready, Stage::Open], &CallResult::Aborted { by });
    }

    /// Logs a call under a new id, and returns the id.
    fn log_call(&mut self, called: ToolCall) -> CallId {
        let ToolCall { id: provider_id, name, mut arguments } = called;
        if arguments.len() > self.run.options.limits.argument_bytes {
            // The run answers every call, so this call is logged, too, but without its arguments, which are too large.
            arguments.clear();
        }
        let call = self.run.new_call_id(&provider_id, &self.minted);
        self.minted.insert(call.clone());
        self.log.push(LogEntry::Called { call: call.clone(), provider_id, name, arguments: arguments.into() });
        call
    }

    /// Returns the result of the call number `index` of this turn if it ends without a check.
    fn result_without_check(&self, index: u32, call: &ToolCall) -> Option<CallResult> {
        if !self.run.offers(&call.name) {
            return Some(CallResult::NotAvailable { suggestion: None });
        }
        Some(CallResult::LimitReached { limit: self.exceeded_limit_of_call(index, &call.arguments)? })
    }

    /// Returns the text about the limit that the call number `index` of this turn exceeds, if any.
    fn exceeded_limit_of_call(&self, index: u32, arguments: &str) -> Option<String> {
        let limits = &self.run.options.limits;
        if index >= limits.calls_per_turn {
            return Some(format!("at most {} calls are run in one turn", limits.calls_per_turn));
        }
        let in_one_run = |limit: u64| format!("at most {limit} calls are made in one run");
        if self.run.calls_before().saturating_add(index) >= limits.calls {
            return Some(in_one_run(limits.calls.into()));
        }
        // Calls of this turn that are in the log already are not part of what is left.
        let new = u64::from(index).saturating_sub(self.run.current_calls().len() as u64);
        if let Some(outer) = self.outer.filter(|outer| new >= outer.calls.left) {
            return Some(format!("{}, with those of its inner runs", in_one_run(outer.calls.limit)));
        }
        self.exceeded_size(arguments)
    }

    /// Declares the running calls as lost. Calls that are safe to repeat start again. The run asks a person about each
    /// other call.
    pub fn recover(&mut self) {
        let gave_up = self.run.activity == Activity::Generating && !self.run.current_calls().is_empty();
        if gave_up {
            self.log_failure("the process that asked the model is gone", true);
            self.turn_end = Some(TurnEnd::Again);
            self.abort_unstarted(AbortCause::UnfinishedTurn);
        }
        for at in self.run.current_range() {
            let call = self.call(at);
            let is_lost = match self.stage(at) {
                Stage::Running => {
                    self.log.push(LogEntry::CallLost { call: call.id.clone() });
                    self.enter(at, Stage::Lost);
                    true
                }
                stage => stage == Stage::Lost,
            };
            if !is_lost {
                continue;
            }
            if call.may_start_again() {
                self.grant(at, GrantedBy::Rerun, None);
            } else {
                self.open(at, InterruptKind::Reconcile, CallView::of_running(call), Vec::new(), None);
            }
        }
        self.schedule();
        for action in pending_actions(self.run) {
            let is_stale = match &action {
                Action::CallModel => gave_up,
                Action::Check(id) | Action::Announce(InterruptId { call: id, .. }) => {
                    self.find(id).is_some_and(|at| self.stage(at) == Stage::Done)
                }
                _ => false,
            };
            if !is_stale && !self.actions.contains(&action) {
                self.actions.push(action);
            }
        }
    }
}

/// Returns the cause with which a turn's end aborts its calls, or `None` if they may run.
fn abort_cause(finish: &FinishReason) -> Option<AbortCause> {
    match finish {
        FinishReason::Stop | FinishReason::ToolCalls | FinishReason::Paused => None,
        FinishReason::Length => Some(AbortCause::Length),
        FinishReason::ContentFilter => Some(AbortCause::ContentFilter),
        FinishReason::Other(_) => Some(AbortCause::UnfinishedTurn),
    }
}

/// Returns whether a call of the ended turn is the one that was reported early. Its arguments may have changed since.
fn is_same(early: &crate::run::Call, call: &ToolCall) -> bool {
    let written = early.revisions().first().unwrap_or(&early.arguments);
    early.provider_id == call.id && early.name == call.name && *written.text == *call.arguments
}

/// Returns the actions of a driver that has just loaded the run, or whose append failed because of another writer's append.
///
/// Running calls are not among them. The driver that started them waits for them, or
/// [`StepInput::Recover`](crate::run::StepInput::Recover) declares them lost.
pub fn pending_actions(run: &Run) -> Vec<Action> {
    let mut actions = Vec::new();
    if matches!(run.activity, Activity::Generating) {
        actions.push(Action::CallModel);
    }
    for call in run.current_calls() {
        match &call.state {
            CallState::Proposed => actions.push(Action::Check(call.id.clone())),
            CallState::Ready(grant) => {
                actions.push(Action::Check(call.id.clone()));
                actions.extend(grant.expires.map(Action::Wake));
            }
            CallState::Open(open) => {
                // The tool may have changed.
                actions.push(Action::Check(call.id.clone()));
                actions.push(Action::Announce(open.id.clone()));
                actions.extend(open.expires_at.map(Action::Wake));
            }
            CallState::Running | CallState::Lost | CallState::Done(_) => {}
        }
    }
    actions
}

impl Draft<'_> {
    /// Asks the model again, or ends the run, after all calls of the turn have ended.
    pub fn end_step(&mut self, end: TurnEnd, calls: usize) {
        let options = &self.run.options;
        let steered = || self.run.queue.iter().any(|prompt| prompt.steers);
        let stopped = match end {
            TurnEnd::Cut(finish) => Some(StopReason::TurnCut(finish)),
            TurnEnd::Failed(error) => Some(StopReason::ModelFailed(error)),
            TurnEnd::Safe if self.was_denied() && options.on_deny == OnDeny::StopTurn => Some(StopReason::Denied),
            TurnEnd::Safe if self.is_answered() || calls == 0 && !steered() => {
                // The prompts that wait cannot begin a turn.
                self.exceeded_bytes(0).filter(|_| !self.run.queue.is_empty()).map(StopReason::LimitReached)
            }
            TurnEnd::Safe | TurnEnd::Again if self.run.stopping => Some(StopReason::Requested),
            TurnEnd::Safe | TurnEnd::Again => match self.exceeded_limit(calls).or_else(|| self.exceeded_answers()) {
                Some(reason) => Some(reason),
                None => {
                    // Messages that steer the run join it now.
                    let steering = self.run.queue.iter().filter(|prompt| prompt.steers);
                    self.log.extend(steering.map(|prompt| LogEntry::Prompted { prompt: prompt.clone(), queued: true }));
                    return self.start_turn();
                }
            },
        };
        match stopped {
            None => {
                self.log.push(LogEntry::Finished { at: self.now });
                self.accept_queued();
            }
            Some(reason) => self.stop(reason),
        }
    }

    /// Stops the run for `reason`. A waiting prompt is accepted at once, unless the run drops it.
    fn stop(&mut self, reason: StopReason) {
        let drops_prompts = reason.drops_prompts();
        self.log.push(LogEntry::Stopped { reason, at: self.now });
        if !drops_prompts {
            self.accept_queued();
        }
    }

    /// Begins a turn with the first waiting prompt, if there is one and the conversation is not too large.
    pub fn accept_queued(&mut self) {
        if self.exceeded_bytes(0).is_some() {
            return;
        }
        if let Some(prompt) = self.run.queue.first() {
            self.log.push(LogEntry::Prompted { prompt: prompt.clone(), queued: true });
            self.start_turn();
        }
    }

    /// Returns the limit that keeps the model from being asked again, if there is one.
    fn exceeded_limit(&self, calls: usize) -> Option<StopReason> {
        let limits = &self.run.options.limits;
        if let Some(limit) = self.exceeded_bytes(0) {
            return Some(StopReason::LimitReached(limit));
        }
        if let Some(most) = limits.tokens.filter(|most| self.tokens() >= *most) {
            return Some(StopReason::LimitReached(tokens_used(most)));
        }
        // A failed turn without calls is not a step.
        let failed = |entry: &LogEntry| matches!(entry, LogEntry::TurnFailed { again: true, .. });
        let steps = self.run.steps.saturating_sub(u32::from(calls == 0 && self.log.iter().any(failed)));
        (steps >= limits.steps).then_some(StopReason::StepLimit)
    }

    /// Returns the text about the limit of bytes, if the conversation exceeds it with `more` bytes.
    fn exceeded_bytes(&self, more: u64) -> Option<String> {
        let limit = self.run.options.limits.message_bytes;
        let now = self.log.iter().map(message_bytes).fold(self.run.conversation_bytes(), u64::saturating_add);
        match (now > limit, now.saturating_add(more) > limit) {
            (true, _) => Some(format!("the conversation has more than {limit} bytes")),
            (false, true) => Some(format!("the conversation would have more than {limit} bytes")),
            (false, false) => None,
        }
    }

    /// Checks that the conversation does not exceed its limit with `more` bytes.
    fn check_bytes(&self, more: u64) -> Result<(), Refusal> {
        let limit = self.exceeded_bytes(more);
        limit.map_or(Ok(()), |limit| Err(Refusal::LimitReached { limit: format!("{limit}; begin another one") }))
    }

    /// Returns the tokens used since the run was last prompted or continued.
    fn tokens(&self) -> u64 {
        let before = self.run.turns.iter().map(|turn| turn.usage);
        let now = self.log.iter().filter_map(|entry| match entry {
            LogEntry::TurnEnded { usage, .. } | LogEntry::TurnFailed { usage, .. } => Some(*usage),
            _ => None,
        });
        before.chain(now).sum::<Usage>().total()
    }

    /// Records a denial. If the run must stop after a denial, ends the calls that are not running.
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
        let Some(until) = &self.run.final_tool else { return false };
        self.has_ended(|name, result| result.is_success() && name == until)
    }

    /// Returns the limit of wrong answers, if this turn exceeds it.
    fn exceeded_answers(&self) -> Option<StopReason> {
        self.run.answer.as_ref()?;
        let is_refused = self.has_ended(|name, result| self.run.is_refused_answer(name, result));
        let refused = self.run.refused_answers.saturating_add(u32::from(is_refused));
        let retries = self.run.options.limits.answer_retries;
        (is_refused && refused > retries).then(|| {
            let after = if refused == 1 { "a wrong answer".to_owned() } else { format!("{refused} wrong answers") };
            StopReason::LimitReached(format!("after {after}, the number of retries has reached its limit, {retries}"))
        })
    }

    /// Returns whether a call of the turn has ended with a result for which `holds` returns `true`.
    fn has_ended(&self, holds: impl Fn(&str, &CallResult) -> bool) -> bool {
        let before = self.run.current_calls().iter().filter_map(|call| Some((&call.id, call.result()?)));
        let now = self.log.iter().filter_map(|entry| match entry {
            LogEntry::CallEnded { call, result, .. } => Some((call, &**result)),
            _ => None,
        });
        before.chain(now).any(|(id, result)| self.run.call(id).is_some_and(|call| holds(&call.name, result)))
    }

    /// Returns the text about the limit that the arguments of one call exceed, if any.
    pub fn exceeded_size(&self, arguments: &str) -> Option<String> {
        let limits = &self.run.options.limits;
        if arguments.len() > limits.argument_bytes {
            return Some(format!("the arguments are too large: the limit is {} bytes", limits.argument_bytes));
        }
        if exceeds_depth(arguments, limits.argument_depth) {
            return Some(format!("the arguments are nested too deeply: the limit is {} levels", limits.argument_depth));
        }
        None
    }
}
