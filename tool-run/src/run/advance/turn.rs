//! Handles prompts, the inputs about the model's turns, and the inputs that stop a run or let another process continue it.

use std::sync::Arc;

use serde_json::Value;

use crate::json::exceeds_depth;
use crate::message::{AssistantPart, FinishReason, Message, Part, ToolCall, Usage};
use crate::run::{
    AbortCause, Action, Call, CallId, CallResult, CallState, CallView, GrantedBy, InterruptKind, LogEntry, OnDeny,
    OnPrompt, Phase, Principal, Prompt, Refusal, Run, Stage, StopReason, Summary, SupersededBy, TurnPart, WantedAnswer,
    advance::Advance,
    fold::as_u32,
    history::may_be_added,
    messages::size,
    state::{Activity, TurnEnd, tokens_used},
};

type NoIds = std::collections::HashSet<CallId, foldhash::fast::RandomState>;

impl Advance<'_> {
    /// Begins a turn with the prompt. While the run is busy, queues a steering prompt, and treats others by [`OnPrompt`].
    pub fn accept_prompt(&mut self, mut prompt: Prompt) -> Result<(), Refusal> {
        self.check_prompt(&prompt)?;
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
        self.drop_known_claims(&mut prompt);
        self.push(LogEntry::Prompted { prompt, queued: false });
        self.start_turn();
        Ok(())
    }

    /// Records a turn of the prompt that makes one call, without a request to the model.
    pub fn accept_call(&mut self, mut prompt: Prompt, call: ToolCall) -> Result<(), Refusal> {
        prompt.from_outside = true;
        self.check_prompt(&prompt)?;
        if self.is_busy() || prompt.steers {
            return Err(Refusal::Busy);
        }
        self.drop_known_claims(&mut prompt);
        self.push(LogEntry::Prompted { prompt, queued: false });
        self.push(LogEntry::TurnStarted { at: self.now });
        self.record_turn_end(vec![AssistantPart::Call(call)], FinishReason::ToolCalls, Usage::default(), None)
    }

    /// Removes the claims of a prompt that the run has already. A run without claims has none that differ from `null`.
    fn drop_known_claims(&self, prompt: &mut Prompt) {
        let known = self.run.claims.as_deref().unwrap_or(&Value::Null);
        prompt.claims.take_if(|claims| **claims == *known);
    }

    fn check_prompt(&self, prompt: &Prompt) -> Result<(), Refusal> {
        self.check_owner(&prompt.by)?;
        if prompt.content.iter().all(Part::is_blank) {
            return Err(Refusal::EmptyPrompt);
        }
        if self.run.has_key(prompt) {
            return Err(Refusal::Repeated);
        }
        self.check_bytes(prompt.size())
    }

    fn queue_prompt(&mut self, prompt: Prompt) -> Result<(), Refusal> {
        if self.run.queue.len() >= self.run.options.limits.open_interrupts as usize {
            return Err(Refusal::LimitReached {
                limit: "too many prompts wait already; wait until the run has accepted one".to_owned(),
            });
        }
        self.push(LogEntry::Queued { prompt });
        Ok(())
    }

    /// Begins a turn of a run that was stopped, or that has a conversation and no prompt.
    pub fn continue_run(&mut self, by: &Principal, answer: Option<Box<WantedAnswer>>) -> Result<(), Refusal> {
        self.check_owner(by)?;
        match self.run.activity {
            // A run that was created with a conversation may answer its last message.
            Activity::Idle if self.run.messages.is_empty() => Err(Refusal::NotStopped),
            Activity::Stopped(_) | Activity::Idle => {
                self.check_bytes(0)?;
                if let Some(answer) = answer {
                    let WantedAnswer { final_tools, answer_schema } = *answer;
                    self.push(LogEntry::AnswerWanted { final_tools, answer_schema });
                }
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
            self.push(LogEntry::StopRequested { by, at: self.now });
        }
        Ok(())
    }

    pub fn set_title(&mut self, title: String, by: Principal) -> Result<(), Refusal> {
        self.check_owner(&by)?;
        self.push(LogEntry::Titled { title, by, at: self.now });
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
        self.push(LogEntry::TurnStarted { at: self.now });
        self.actions.push_back(Action::CallModel);
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
        if !matches!(self.run.activity, Activity::Acting(_)) {
            self.actions.push_back(Action::AbortModel);
            self.log_failure(why, false);
        }
        self.end_at(&[Stage::Running], &CallResult::Cancelled);
    }

    /// Logs the failure of a turn whose model reported no usage.
    fn log_failure(&mut self, error: &str, again: bool) {
        let (error, usage, at) = (error.to_owned(), Usage::default(), self.now);
        self.push(LogEntry::TurnFailed { error, again, usage, model: None, at });
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
        self.push(LogEntry::Offered { tools });
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
        if index > known || !self.run.offers(&name) || self.exceeded_limit_of_call(0, &arguments).is_some() {
            // The call is logged with the end of the turn.
            return Ok(());
        }
        self.log_call(ToolCall { id: provider_id, name, arguments });
        self.actions.extend(self.run.calls.last().map(|call| Action::Check(call.id.clone())));
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
        self.check_early_calls(&parts)?;
        let cut = abort_cause(&finish);
        let (early, mut next, mut ended) = (self.run.calls.len(), self.run.current_range().start, Vec::new());
        let logged = parts.into_iter().map(|part| {
            let AssistantPart::Call(call) = part else { return Some(TurnPart::Content(part)) };
            if next == self.run.calls.len() {
                let result = self.result_without_check(next - early, &call);
                let result = result.or_else(|| cut.map(|by| CallResult::Aborted { by }));
                ended.extend(result.map(|result| (next, result)));
                self.log_call(call);
            }
            // The log has every call from here on, unless an entry failed.
            let call = self.run.calls.get(next)?.id.clone();
            next += 1;
            Some(TurnPart::Call { call })
        });
        let Some(parts) = logged.collect() else { return Ok(()) };
        self.push(LogEntry::TurnEnded { parts, finish, usage, model, at: self.now });
        for (at, result) in ended {
            self.end(at, result);
        }
        if let Some(by) = cut {
            self.abort_unstarted(by);
        }
        let unchecked = self.run.current_calls().iter().filter(|call| call.stage() == Stage::Proposed);
        self.actions.extend(unchecked.map(|call| Action::Check(call.id.clone())));
        self.schedule();
        Ok(())
    }

    /// Fails if a call that was reported early is another one in the turn, or is not in it.
    fn check_early_calls(&self, parts: &[AssistantPart]) -> Result<(), Refusal> {
        let mut calls = parts.iter().filter_map(|part| match part {
            AssistantPart::Call(call) => Some(call),
            _ => None,
        });
        for early in self.run.current_calls() {
            let reason = match calls.next() {
                Some(call) if is_same(early, call) => continue,
                Some(_) => "the turn has another call than the one reported early",
                None => "the turn lacks a call that was reported early",
            };
            return Err(Refusal::Misplaced { reason });
        }
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
        self.push(LogEntry::TurnFailed { error, again, usage, model, at: self.now });
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
        self.push(LogEntry::Written { text: text.into() });
        Ok(())
    }

    /// Returns whether the run, and the runs around it, have a retry left.
    pub fn has_retries(&self) -> bool {
        self.run.retries < self.run.options.limits.retries
            && self.options.outer.is_none_or(|outer| outer.retries.left > 0)
    }

    /// Returns the text about the limit of retries that is used up.
    fn retries_used(&self) -> String {
        let outer = self.options.outer.filter(|outer| outer.retries.left == 0).map(|outer| outer.retries.limit);
        let limit = outer.unwrap_or_else(|| self.run.options.limits.retries.into());
        format!("the run has used its {limit} retries (`Limits::retries`)")
    }

    /// Adds a message of the application to a run at rest.
    pub fn add_from_application(&mut self, message: Message, reason: String, by: Principal) -> Result<(), Refusal> {
        self.check_owner(&by)?;
        if self.is_busy() {
            return Err(Refusal::Busy);
        }
        if !may_be_added(&message) {
            let reason = "only a person's message that is not blank, or a text of the assistant, can be added";
            return Err(Refusal::Misplaced { reason });
        }
        self.check_bytes(size(&message))?;
        self.push(LogEntry::MessageAdded { message, reason, by, at: self.now });
        Ok(())
    }

    /// Lets another agent go on with a run at rest.
    pub fn hand_over(&mut self, to: Option<Arc<str>>, by: Principal) -> Result<(), Refusal> {
        self.check_owner(&by)?;
        if self.is_busy() {
            return Err(Refusal::Busy);
        }
        if to.as_deref() != self.run.acting_agent() {
            self.push(LogEntry::HandedOver { to, call: None, by, at: self.now });
        }
        Ok(())
    }

    /// Records a summary of the beginning of the conversation.
    pub fn record_summary(
        &mut self,
        summary: Summary,
        reason: String,
        (usage, model): (Usage, Option<Arc<str>>),
    ) -> Result<(), Refusal> {
        self.check_asked()?;
        if self.run.check_summary(&summary).is_err() {
            return Err(Refusal::Misplaced { reason: "the summary does not fit the conversation" });
        }
        self.push(LogEntry::Summarized { summary, reason, usage, model });
        Ok(())
    }

    /// Checks that the model is being asked.
    pub fn check_asked(&self) -> Result<(), Refusal> {
        if self.run.activity == Activity::Generating {
            return Ok(());
        }
        Err(Refusal::Misplaced { reason: "the model was not asked" })
    }

    /// Ends the calls that are not running.
    pub fn abort_unstarted(&mut self, by: AbortCause) {
        self.end_at(&[Stage::Proposed, Stage::Ready, Stage::Open], &CallResult::Aborted { by });
    }

    /// Logs a call under a new id.
    fn log_call(&mut self, called: ToolCall) {
        let ToolCall { id: provider_id, name, mut arguments } = called;
        if arguments.len() > self.run.options.limits.argument_bytes {
            // The run answers every call, so this call is logged, too, but without its arguments, which are too large.
            arguments.clear();
        }
        let call = self.run.new_call_id(&provider_id, &NoIds::default());
        self.push(LogEntry::Called { call, provider_id, name, arguments: arguments.into() });
    }

    /// Returns the result of the next call of this turn if it ends without a check. This input has logged `new` calls.
    fn result_without_check(&self, new: usize, call: &ToolCall) -> Option<CallResult> {
        if !self.run.offers(&call.name) {
            return Some(CallResult::NotAvailable { suggestion: None });
        }
        Some(CallResult::LimitReached { limit: self.exceeded_limit_of_call(new, &call.arguments)? })
    }

    /// Returns the text about the limit that the next call of this turn exceeds, if any. This input has logged `new` calls.
    fn exceeded_limit_of_call(&self, new: usize, arguments: &str) -> Option<String> {
        let (limits, index) = (&self.run.options.limits, as_u32(self.run.current_calls().len()));
        if index >= limits.calls_per_turn {
            return Some(format!("at most {} calls are run in one turn", limits.calls_per_turn));
        }
        let in_one_run = |limit: u64| format!("at most {limit} calls are made in one run");
        if self.run.calls_before().saturating_add(index) >= limits.calls {
            return Some(in_one_run(limits.calls.into()));
        }
        // Calls of earlier inputs are not part of what is left.
        if let Some(outer) = self.options.outer.filter(|outer| new as u64 >= outer.calls.left) {
            return Some(format!("{}, with those of its inner runs", in_one_run(outer.calls.limit)));
        }
        self.exceeded_size(arguments)
    }

    /// Declares the running calls as lost. Calls that are safe to repeat start again. The run asks a person about each
    /// other call.
    pub fn recover(&mut self) {
        if self.run.activity == Activity::Generating && !self.run.current_calls().is_empty() {
            self.log_failure("the process that asked the model is gone", true);
            self.abort_unstarted(AbortCause::UnfinishedTurn);
        }
        for at in self.run.current_range() {
            if self.call(at).stage() == Stage::Running {
                let call = self.call(at).id.clone();
                self.push(LogEntry::CallLost { call });
            }
            let call = self.call(at);
            if call.stage() != Stage::Lost {
                continue;
            }
            if call.may_start_again() {
                self.grant(at, GrantedBy::Rerun, None);
            } else {
                let shown = CallView::of_running(call);
                self.open(at, InterruptKind::Reconcile, shown, Vec::new(), None);
            }
        }
        self.schedule();
        for action in pending_actions(self.run) {
            if !self.actions.contains(&action) {
                self.actions.push_back(action);
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
/// [`LogInput::Recover`](crate::run::LogInput::Recover) declares them lost.
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

impl Advance<'_> {
    /// Asks the model again, or ends the run, after all calls of the turn have ended.
    pub fn end_step(&mut self) {
        let Activity::Acting(end) = &self.run.activity else { return };
        let options = &self.run.options;
        let has_calls = !self.run.current_calls().is_empty();
        let is_steered = || self.run.queue.iter().any(|prompt| prompt.steers);
        let stopped = match end {
            TurnEnd::Cut(finish) => Some(StopReason::TurnCut(finish.clone())),
            TurnEnd::Failed(error) => Some(StopReason::ModelFailed(error.clone())),
            TurnEnd::Safe if self.was_denied() && options.on_deny == OnDeny::StopTurn => Some(StopReason::Denied),
            TurnEnd::Safe if self.is_answered() || !has_calls && !is_steered() => {
                // The prompts that wait cannot begin a turn.
                self.exceeded_bytes(0).filter(|_| !self.run.queue.is_empty()).map(StopReason::LimitReached)
            }
            TurnEnd::Safe | TurnEnd::Again if self.run.stopping => Some(StopReason::Requested),
            TurnEnd::Safe | TurnEnd::Again => match self.exceeded_limit().or_else(|| self.exceeded_answers()) {
                Some(reason) => Some(reason),
                None if self.options.pauses_between_turns => return,
                None => return self.start_next_turn(),
            },
        };
        match stopped {
            None => {
                self.push(LogEntry::Finished { at: self.now });
                self.accept_queued();
            }
            Some(reason) => self.stop(reason),
        }
    }

    /// Begins the next turn. Messages that steer the run join it now.
    fn start_next_turn(&mut self) {
        let steering: Vec<Prompt> = self.run.queue.iter().filter(|prompt| prompt.steers).cloned().collect();
        for prompt in steering {
            self.push(LogEntry::Prompted { prompt, queued: true });
        }
        self.start_turn();
    }

    /// Stops the run for `reason`. A waiting prompt is accepted at once, unless the run drops it.
    fn stop(&mut self, reason: StopReason) {
        let drops_prompts = reason.drops_prompts();
        self.push(LogEntry::Stopped { reason, at: self.now });
        if !drops_prompts {
            self.accept_queued();
        }
    }

    /// Begins a turn with the first waiting prompt, if there is one and the conversation is not too large.
    pub fn accept_queued(&mut self) {
        if self.exceeded_bytes(0).is_some() {
            return;
        }
        if let Some(prompt) = self.run.queue.first().cloned() {
            self.push(LogEntry::Prompted { prompt, queued: true });
            self.start_turn();
        }
    }

    /// Returns the limit that keeps the model from being asked again, if there is one.
    fn exceeded_limit(&self) -> Option<StopReason> {
        let limits = &self.run.options.limits;
        if let Some(limit) = self.exceeded_bytes(0) {
            return Some(StopReason::LimitReached(limit));
        }
        let tokens = || self.run.turns.iter().map(|turn| turn.usage).sum::<Usage>().total();
        if let Some(most) = limits.tokens.filter(|most| tokens() >= *most) {
            return Some(StopReason::LimitReached(tokens_used(most)));
        }
        (self.run.steps >= limits.steps).then_some(StopReason::StepLimit)
    }

    /// Returns the text about the limit of bytes, if the conversation exceeds it with `more` bytes.
    fn exceeded_bytes(&self, more: u64) -> Option<String> {
        let limit = self.run.options.limits.message_bytes;
        let now = self.run.conversation_bytes();
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

    /// If the run must stop after a denial, ends the calls that are not running.
    pub fn follow_denial(&mut self) {
        if self.run.options.on_deny == OnDeny::StopTurn {
            self.end_waiting(SupersededBy::Denial, AbortCause::Denial);
        }
    }

    /// Returns whether a person denied a call of the turn.
    fn was_denied(&self) -> bool {
        let is_denial = |result: &CallResult| {
            matches!(result, CallResult::Denied { .. } | CallResult::Aborted { by: AbortCause::Denial })
        };
        self.run.current_calls().iter().filter_map(Call::result).any(is_denial)
    }

    /// Returns whether a call of a tool that ends the run has succeeded.
    fn is_answered(&self) -> bool {
        self.has_ended(|name, result| result.is_success() && self.run.is_final(name))
    }

    /// Returns the limit of wrong answers, if this turn exceeds it.
    fn exceeded_answers(&self) -> Option<StopReason> {
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
        self.run.current_calls().iter().any(|call| call.result().is_some_and(|result| holds(&call.name, result)))
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
