//! The model's turn: the request, the deltas of the answer, and its record in the log.

use std::{
    collections::HashSet,
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use futures_util::future::BoxFuture;
use serde::de::IgnoredAny;
use tokio::{task::coop, time::Instant};

use crate::agent::{
    Agent, AgentError, Event, NextStep, PartialArguments,
    driver::Driver,
    event::View,
    guard::Guards,
    model_request::{Mailbox, PendingTurn, TurnEvent, TurnPlan, tools_on_offer},
    observers::{AfterFailure, Observers, WatchedCalls},
    pieces::{PublishedTurn, Publisher},
    team::Acting,
    typed::{FinalAnswer, is_json},
};
use crate::feedback::Rejection;
use crate::gate::Gate;
use crate::message::{AssistantPart, Part, Usage};
use crate::model::{Delta, FinishReason, ModelError, ModelErrorKind, ToolChoice, Turn};
use crate::run::{CallId, Phase, Prompt, Run, StopReason, Timestamp};
use crate::toolset::{ToolList, Toolset};
use tool_run::run::LogInput;

/// The largest number of calls of a turn. The run's [`Limits`](crate::run::Limits) allow far fewer to run; each gets an answer.
const MAX_CALLS: usize = 1 << 16;

/// The wait before the first retry of a failed model, unless the model's error states one. It doubles with each further retry, up
/// to one minute.
pub const DEFAULT_RETRY_WAIT: Duration = Duration::from_millis(250);

/// The longest wait before a retry. A model that needs a longer wait is given up.
const MAX_RETRY_WAIT: Duration = Duration::from_mins(1);

/// The turns of the model in one drive of a run. At most one is open.
pub struct ModelTurns {
    voice: Voice,
    gate: Gate,
    open: Option<OpenTurn>,
    /// The tools on offer, for steps without tools of their own.
    list: Option<ToolList>,
    attempts: Attempts,
    failure: Option<ModelError>,
    /// Set while other processes follow the run. They get the pieces of its turns.
    is_followed: bool,
    pub guards: Guards,
    /// Set if the next turn waits for the guards of the first one.
    waits_to_start: bool,
    /// The summary for which the next turn waits.
    pub summary: Option<BoxFuture<'static, Result<LogInput, String>>>,
    /// Set if a summary has failed in this drive, so that no other one is tried.
    has_failed_to_summarize: bool,
}

/// The agent that acts.
struct Voice {
    agent: Agent,
    /// The tools of that agent.
    tools: Toolset,
    /// The name of that agent, if another one than the run's own.
    name: Option<Arc<str>>,
    /// Set once `agent` is the one that acts.
    is_known: bool,
}

/// The failures of the turn so far.
#[derive(Default)]
struct Attempts {
    /// The index of the model that is asked, among the agent's models.
    model: usize,
    /// The number of failures of that model in a row.
    tries: u32,
    /// The number of failures of any model in a row.
    failures: usize,
    /// The wait before the next try.
    wait: Duration,
}

impl ModelTurns {
    /// Creates the turns of a run of `agent`.
    pub fn new(agent: &Agent, gate: &Gate) -> Self {
        Self {
            voice: Voice { agent: agent.clone(), tools: gate.tools().clone(), name: None, is_known: false },
            gate: gate.clone(),
            open: None,
            list: None,
            attempts: Attempts::default(),
            failure: None,
            is_followed: false,
            guards: Guards::default(),
            waits_to_start: false,
            summary: None,
            has_failed_to_summarize: false,
        }
    }

    /// Asks the model. Does nothing if a request is open, because another writer may have logged the same start.
    pub fn start(&mut self, driver: &mut Driver<'_>, observers: &Observers) {
        self.waits_to_start = false;
        if self.open.is_some() {
            return;
        }
        if driver.run().steps() > 1 && !self.guards.is_empty() {
            self.waits_to_start = true;
            return;
        }
        if self.summary.is_some() {
            return;
        }
        if let Some(reason) = driver.stored.stop_outside() {
            return driver.record(LogInput::Stop { reason, at: driver.now() });
        }
        if let Err(error) = self.act(driver) {
            let (message, usage) = (error.to_string(), Usage::default());
            self.failure = Some(error);
            return driver.record(LogInput::TurnFailed {
                error: message,
                again: false,
                usage,
                model: None,
                at: driver.now(),
            });
        }
        let compaction = self.voice.agent.setup.compaction.as_ref().filter(|_| !self.has_failed_to_summarize);
        if let Some(summary) = compaction.and_then(|compaction| compaction.due(driver.run())) {
            if let Some(reason) = driver.stored.begin_request() {
                return driver.record(LogInput::Stop { reason, at: driver.now() });
            }
            // The turn begins when the run has the summary.
            self.summary = Some(Box::pin(summary.make()));
            return;
        }
        if let Some(reason) = driver.stored.begin_request() {
            return driver.record(LogInput::Stop { reason, at: driver.now() });
        }
        self.failure = None;
        // This event is not reported with its log entry, because another process may have written that entry.
        observers.report(Event::StepStarted { step: driver.run().steps() as usize });
        if self.attempts.failures == 0 {
            driver.restart_step_clock();
        }
        let messages = driver.stored.extend_conversation();
        self.guards.start(&self.voice.agent, driver.run(), driver.stored.shared_context());
        let tools = self.voice.tools.clone();
        let (agent, run) = (&self.voice.agent, driver.run());
        let setup = &agent.setup;
        let until = run.final_tools().to_vec();
        let answer_tool = run.answer_schema().map(|_| FinalAnswer::NAME);
        let active = setup.active.as_deref();
        let list =
            self.list.get_or_insert_with(|| tools_on_offer(&tools, active, &setup.order, &until, &setup.provided));
        let Attempts { model, failures, wait, .. } = self.attempts;
        let next =
            (!setup.prepare.is_empty()).then(|| NextStep::new(agent, run, failures, model, Arc::clone(&messages)));
        let (list, agent) = (list.clone(), agent.clone());
        let number = run.turn();
        let media = driver.stored.media().to_vec();
        let turn = PendingTurn { agent, model, wait, messages, media, tools, list, until, answer_tool, next };
        self.open = Some(OpenTurn::new(Box::new(turn), number, driver.now()));
    }

    /// Takes the voice of the agent that acts in the run.
    ///
    /// Fails if the team does not have that agent.
    fn act(&mut self, driver: &mut Driver<'_>) -> Result<(), ModelError> {
        let acting = driver.run().acting_agent();
        if self.voice.name.as_deref() == acting && self.voice.is_known {
            return Ok(());
        }
        let own = driver.stored.agent();
        let Some(Acting { agent, tools, guards }) = own.acting_in(driver.run()) else {
            let reason = own.missing_member(driver.run()).unwrap_or_default();
            return Err(ModelError::new(ModelErrorKind::Configuration, reason));
        };
        if driver.run().steps() > 1 {
            self.guards.check_again(&guards, driver.run(), driver.stored.shared_context());
        }
        let name = acting.map(Arc::from);
        driver.stored.speak_as(&agent);
        self.voice = Voice { agent, tools, name, is_known: true };
        (self.list, self.attempts) = (None, Attempts::default());
        Ok(())
    }

    /// Publishes the present turn so far, and then its further pieces, while other processes follow the run.
    pub fn set_followed(&mut self, is_followed: bool, driver: &Driver<'_>) {
        self.is_followed = is_followed;
        if let Some(open) = &mut self.open {
            open.published = PublishedTurn::default();
            self.publish(driver);
        }
    }

    /// Publishes the new content of the turn, without new arguments of calls that were published before.
    fn publish(&mut self, driver: &Driver<'_>) {
        if let Some(open) = self.open.as_mut().filter(|_| self.is_followed)
            && let Some(publisher) = Publisher::new(&self.voice.agent, driver.run(), open.asked)
        {
            publisher.publish(&open.turn, &open.calls, &mut open.published);
        }
    }

    pub fn abort(&mut self) {
        (self.open, self.summary, self.waits_to_start) = (None, None, false);
    }

    /// Records a summary of the conversation, or its failure, and begins the turn.
    pub fn receive_summary(&mut self, made: Result<LogInput, String>, driver: &mut Driver<'_>, observers: &Observers) {
        self.summary = None;
        let recorded = made.and_then(|summary| driver.try_record(summary).map_err(|error| error.to_string()));
        if let Err(error) = recorded {
            self.has_failed_to_summarize = true;
            driver.record(LogInput::SummaryFailed { error, at: driver.now() });
        }
        if driver.run().phase() == Phase::Generating {
            self.start(driver, observers);
        }
    }

    /// Aborts the request to the model if another writer ended its turn. If that writer stopped the run, the log gets the text of
    /// the turn.
    pub fn abort_if_stale(&mut self, driver: &mut Driver<'_>) {
        let (phase, turn) = (driver.run().phase(), driver.run().turn());
        if phase != Phase::Generating || self.open.as_ref().is_some_and(|open| open.number != turn) {
            if matches!(phase, Phase::Stopped(_)) {
                self.keep_text(driver);
            }
            self.abort();
        }
    }

    /// Records the text of the open turn, which ends early.
    pub fn keep_text(&mut self, driver: &mut Driver<'_>) {
        // By `&mut`, because shared references to the turns cannot be sent to another thread.
        if let Some(open) = &mut self.open {
            driver.record(LogInput::Written { turn: open.number, text: text_of(&open.turn) });
        }
    }

    /// Resets the failures, and begins with the agent's first model.
    pub fn reset_attempts(&mut self) {
        self.attempts = Attempts::default();
    }

    pub fn is_asking(&self) -> bool {
        self.open.is_some()
    }

    /// Returns the time at which the model has taken too long.
    pub fn deadline(&self) -> Option<Instant> {
        self.open.as_ref().and_then(|turn| turn.deadline.into_iter().chain(turn.delta_deadline).min())
    }

    /// Receives and handles the next event of the turn. Returns `Pending`, and wakes `task` later, if there is none.
    pub fn poll_receive(&mut self, task: &mut Context<'_>, driver: &mut Driver<'_>, observers: &Observers) -> Poll<()> {
        let Some(open) = self.open.as_mut().filter(|open| open.held.is_none()) else { return Poll::Pending };
        // While a hook handles the last delta, no further delta of the turn is read.
        ready!(pin!(open.watched.idle()).poll(task));
        match ready!(open.poll(task)) {
            Some(TurnEvent::Asked(plan)) => self.receive_plan(plan, driver, observers),
            Some(TurnEvent::Unprepared(failure)) => {
                // The model is not asked without the preparation that the agent requires.
                let message = format!("the step could not be prepared: {}", failure.for_log());
                self.fail(
                    ModelError::new(ModelErrorKind::Configuration, message),
                    false,
                    self.attempts.model,
                    driver,
                    observers,
                );
            }
            Some(TurnEvent::Delta(Ok(delta))) => {
                open.delta_deadline =
                    self.voice.agent.setup.timeouts.delta.and_then(|limit| Instant::now().checked_add(limit));
                self.receive_delta(delta, driver, observers);
            }
            Some(TurnEvent::Delta(Err(error))) => self.fail_or_retry(error, driver, observers),
            None => {
                let cut = "the model's answer was cut off before its end";
                self.fail_or_retry(ModelError::new(ModelErrorKind::Protocol, cut), driver, observers);
            }
        }
        Poll::Ready(())
    }

    /// Returns the outcome of the run, which is at `phase`: an error if the model failed or the run was cancelled.
    pub fn outcome(&mut self, phase: Phase) -> Result<Phase, AgentError> {
        match (phase, self.failure.take()) {
            (Phase::Stopped(StopReason::ModelFailed(_)), Some(error)) => Err(error.into()),
            (Phase::Stopped(StopReason::Cancelled), _) => Err(AgentError::Cancelled),
            (Phase::Stopped(StopReason::Blocked { by, reason }), _) => Err(AgentError::Blocked { by, reason }),
            (phase, _) => Ok(phase),
        }
    }

    /// Handles the start of the request to the model.
    fn receive_plan(&mut self, mut plan: TurnPlan, driver: &mut Driver<'_>, observers: &Observers) {
        let failures = self.attempts.failures;
        observers.report(Event::ModelAsked { model: &plan.model, failures });
        if !plan.reasons.is_empty() {
            observers.report(Event::HistoryChanged { reasons: &std::mem::take(&mut plan.reasons) });
        }
        for (part, call) in std::mem::take(&mut plan.described).iter() {
            if driver.stored.is_new_description(part, &plan.model) {
                observers.trace.described(driver.run(), part, &plan.model);
                observers.report(Event::PartDescribed { part, call, model: &plan.model });
            }
        }
        let names = || self.voice.tools.names().map(str::to_owned).collect();
        // An earlier driver may have logged a narrower offer, and other agents of the team may have more tools.
        let is_narrow = self.voice.tools.len() < self.gate.tools().len()
            || self.voice.tools.names().any(|name| !driver.run().offers(name));
        if let Some(tools) = plan.offered.clone().or_else(|| is_narrow.then(names)) {
            driver.record(LogInput::Offered { tools });
        }
        let (timeouts, now) = (self.voice.agent.setup.timeouts, Instant::now());
        if let Some(open) = &mut self.open {
            // A limit beyond the range of the clock is no limit.
            open.deadline = timeouts.model.and_then(|limit| now.checked_add(limit));
            open.delta_deadline = timeouts.first_delta.and_then(|limit| now.checked_add(limit));
            open.plan = Some(plan);
        }
    }

    /// Ends the turn of a model that is too slow.
    pub fn end_overdue(&mut self, driver: &mut Driver<'_>, observers: &Observers) {
        let (timeouts, now) = (self.voice.agent.setup.timeouts, Instant::now());
        let Some(open) = &self.open else { return };
        let is_over = |end: Option<Instant>| end.is_some_and(|end| end <= now);
        let has_begun = !open.turn.content.is_empty() || open.turn.usage != Usage::default();
        let (what, limit) = if is_over(open.deadline) {
            ("did not finish its answer", timeouts.model)
        } else if !is_over(open.delta_deadline) {
            return;
        } else if has_begun {
            ("did not go on with its answer", timeouts.delta)
        } else {
            ("did not begin its answer", timeouts.first_delta)
        };
        let seconds = limit.unwrap_or_default().as_secs_f64();
        let message = format!("the model {what} within {seconds} s");
        self.fail_or_retry(ModelError::new(ModelErrorKind::Unavailable, message), driver, observers);
    }

    fn receive_delta(&mut self, delta: Delta, driver: &mut Driver<'_>, observers: &Observers) {
        let Some(open) = &mut self.open else { return };
        open.bytes = open.bytes.saturating_add(bytes(&delta));
        let max = driver.run().options().limits.message_bytes.min(driver.stored.max_append_bytes() as u64 / 2);
        if open.bytes > max || open.calls.len() >= MAX_CALLS {
            // The turn is larger than the run or its store can hold, so it is cut here, as by the provider's own limit.
            return self.finish(FinishReason::Length, driver, observers);
        }
        match delta {
            Delta::CallStart { .. } => self.begin_call(delta, driver, observers),
            Delta::CallArguments { index, text } => self.add_arguments(index, text, driver, observers),
            Delta::CallEnd { index } => {
                if let Some(call) = open.turn.number_of(index).and_then(|number| open.calls.get_mut(number)) {
                    call.is_complete = true;
                }
                self.record_early(driver);
            }
            Delta::Finish(reason) => self.finish(reason, driver, observers),
            delta => {
                match &delta {
                    Delta::Text(text) => observers.report(Event::Text(text)),
                    // An empty delta only begins a part.
                    Delta::Reasoning(text) if !text.is_empty() => observers.report(Event::Reasoning(text)),
                    Delta::Provider(part) => observers.report(Event::ProviderPart(part)),
                    _ => {}
                }
                open.turn.push(delta);
                self.publish(driver);
            }
        }
    }

    fn begin_call(&mut self, mut delta: Delta, driver: &Driver<'_>, observers: &Observers) {
        let (Delta::CallStart { id, name, .. }, Some(open)) = (&mut delta, &mut self.open) else { return };
        *name = self.gate.tools().own_name(name).to_owned();
        let id = driver.run().new_call_id(id, &open.unrecorded);
        observers.report(Event::CallAnnounced { id: &id, name });
        if let Some(hooks) = &observers.argument_hooks {
            open.watched.start(open.calls.len(), hooks.watch(name, &id, driver.stored.shared_context()));
        }
        open.unrecorded.insert(id.clone());
        open.calls.push(AnnouncedCall { id, is_complete: false, view: View::default() });
        open.turn.push(delta);
        self.publish(driver);
    }

    /// Handles a delta of a call's arguments.
    fn add_arguments(&mut self, index: usize, text: String, driver: &Driver<'_>, observers: &Observers) {
        let Some(OpenTurn { turn, calls, watched, asked, .. }) = &mut self.open else { return };
        let (Some(number), Some(before)) = (turn.number_of(index), turn.call_at(index)) else { return };
        let (call, length) = (&calls[number], before.arguments.len());
        if text.is_empty() || call.is_complete || is_repeated(&before.arguments, &text) {
            return;
        }
        turn.push(Delta::CallArguments { index, text });
        let arguments = turn.call_at(index).map_or("", |call| &call.arguments);
        let (text, so_far) = (&arguments[length..], PartialArguments::new(arguments, &call.view));
        observers.report(Event::CallArguments { id: &call.id, text, so_far });
        if self.is_followed
            && let Some(publisher) = Publisher::new(&self.voice.agent, driver.run(), *asked)
        {
            publisher.publish_arguments(number, length, text);
        }
        watched.delta(number, text);
    }

    /// Records complete calls that may start early, in order. A call that may not start early delays those behind it.
    fn record_early(&mut self, driver: &mut Driver<'_>) {
        while !self.guards.hold_calls() {
            let Some(open) = &mut self.open else { return };
            let number = open.recorded;
            if !open.calls.get(number).is_some_and(|call| call.is_complete) {
                return;
            }
            let Some(call) = open.turn.calls().nth(number) else { return };
            if !self.gate.tool(&call.name).is_some_and(|tool| tool.may_be_early()) {
                return;
            }
            let call = call.clone();
            let index = u32::try_from(number).unwrap_or(u32::MAX);
            let before = driver.run().current_calls().len();
            driver.record(LogInput::Called { index, provider_id: call.id, name: call.name, arguments: call.arguments });
            if driver.run().current_calls().len() == before {
                return;
            }
            open.unrecorded.remove(&open.calls[number].id);
            open.recorded += 1;
        }
    }

    /// Ends the turn, or holds its end back until the guards and the checks of an answer have allowed it.
    fn finish(&mut self, finish: FinishReason, driver: &mut Driver<'_>, observers: &Observers) {
        let Some(open) = &mut self.open else { return };
        let run = driver.run();
        let has_calls = open.turn.calls().next().is_some();
        let may_end_run = !has_calls || open.turn.calls().any(|call| run.is_final(&call.name));
        let mut waits = self.guards.hold_calls() || may_end_run && !self.guards.is_empty();
        let is_answer = matches!(finish, FinishReason::Stop | FinishReason::ToolCalls) && !has_calls;
        if !waits && is_answer && !open.is_checked {
            open.is_checked = true;
            // A typed answer has a check of its own.
            let is_typed = run.answer_schema().is_some();
            let checks = self.voice.agent.setup.answer_checks.iter().filter(|check| check.is_typed == is_typed);
            let checks: Vec<_> = checks.cloned().collect();
            waits = !checks.is_empty();
            if waits {
                self.guards.check_answer(checks, text_of(&open.turn), driver.stored.shared_context());
            }
        }
        if waits {
            (open.held, open.deadline, open.delta_deadline) = (Some(finish), None, None);
            return;
        }
        let Some(OpenTurn { turn, plan, .. }) = self.open.take() else { return };
        self.attempts = Attempts { model: self.attempts.model, ..Attempts::default() };
        observers.report(Event::TurnEnded { reason: &finish, usage: turn.usage });
        let run = driver.run();
        let model = plan.map(|plan| {
            // A typed answer may be JSON text in place of a call.
            let is_json_answer = || run.answer_schema().is_some() && is_json(&text_of(&turn));
            let obeys = match &plan.choice {
                ToolChoice::Required => turn.calls().next().is_some() || is_json_answer(),
                ToolChoice::Tool(name) => {
                    turn.calls().any(|call| call.name == *name) || name == FinalAnswer::NAME && is_json_answer()
                }
                _ => true,
            };
            if !obeys && finish.allows_calls() {
                observers.report(Event::ChoiceIgnored(&plan.choice));
            }
            plan.model
        });
        let Turn { content: parts, usage, .. } = turn;
        // The run computes the same ids for the calls as were announced, from the same counts.
        driver.record(LogInput::TurnEnded { parts, finish, usage, model, at: driver.now() });
        if let Phase::Stopped(StopReason::ModelFailed(message)) = driver.run().phase() {
            // The store does not take a turn of this size.
            self.failure = Some(ModelError::new(ModelErrorKind::Unavailable, message));
        }
    }

    /// Returns whether a run at rest waits for no guard. A run that has ended waits for none.
    pub fn may_rest(&mut self, run: &Run) -> bool {
        if matches!(run.phase(), Phase::Idle | Phase::Finished | Phase::Stopped(_)) {
            self.guards.clear();
        }
        self.guards.is_empty()
    }

    /// Returns whether the end of the turn waits for guards or checks.
    pub fn is_held(&self) -> bool {
        self.open.as_ref().is_some_and(|open| open.held.is_some())
    }

    /// Goes on with what has waited for guards and checks, if all have answered. Otherwise asks the next one.
    pub fn go_on(&mut self, driver: &mut Driver<'_>, observers: &Observers) {
        self.record_early(driver);
        if let Some(finish) = self.open.as_mut().and_then(|open| open.held.take()) {
            self.finish(finish, driver, observers);
        }
        if self.guards.is_empty() && self.waits_to_start && driver.run().phase() == Phase::Generating {
            self.start(driver, observers);
        }
    }

    /// Sends the model back with `problem`, which `by` found in its answer. Returns the reason to block the run if it has no retries
    /// of answers left.
    pub fn correct(
        &mut self,
        by: &str,
        problem: &Rejection,
        driver: &mut Driver<'_>,
        observers: &Observers,
    ) -> Option<String> {
        let (refused, retries) = (driver.run().refused_answers(), driver.run().options().limits.answer_retries);
        let text = problem.to_string();
        if refused >= retries {
            return Some(format!("{text} (the number of retries has reached its limit, {retries})"));
        }
        let text = format!("Your answer was not accepted by {by}: {text}");
        let prompt = Prompt::new(vec![Part::text(&text)], driver.stored.owner(), driver.now()).correcting();
        if let Err(refused) = driver.try_record(LogInput::Prompt(prompt)) {
            return Some(format!("{problem} (the model cannot be asked again: {refused})"));
        }
        self.go_on(driver, observers);
        None
    }

    fn fail_or_retry(&mut self, error: ModelError, driver: &mut Driver<'_>, observers: &Observers) {
        let failed = self.attempts.model;
        let again = self.plan_retry(&error);
        self.fail(error, again, failed, driver, observers);
    }

    /// Returns whether the failed turn is retried, and selects the model for it.
    fn plan_retry(&mut self, error: &ModelError) -> bool {
        let (setup, attempts) = (&self.voice.agent.setup, &mut self.attempts);
        attempts.failures += 1;
        attempts.tries += 1;
        attempts.wait = Duration::ZERO;
        let may_pass = error.is_transient() || error.kind() == ModelErrorKind::Protocol;
        let doubled = || (DEFAULT_RETRY_WAIT * 2u32.pow(attempts.tries.saturating_sub(1).min(10))).min(MAX_RETRY_WAIT);
        let wait = error.retry_after().unwrap_or_else(doubled);
        if may_pass && attempts.tries <= setup.model_retries && wait <= MAX_RETRY_WAIT {
            attempts.wait = wait;
            return true;
        }
        let has_next = attempts.model < setup.fallbacks.len() && error.kind() != ModelErrorKind::Script;
        if has_next {
            (attempts.model, attempts.tries) = (attempts.model + 1, 0);
        }
        has_next
    }

    /// Records that the turn failed. `asked` is the index of the model that failed.
    fn fail(&mut self, error: ModelError, again: bool, asked: usize, driver: &mut Driver<'_>, observers: &Observers) {
        if !again {
            self.keep_text(driver);
        }
        let Some(OpenTurn { turn, plan, number, .. }) = self.open.take() else { return };
        let (message, model) = (error.to_string(), plan.map(|plan| plan.model));
        let name = |index| self.voice.agent.setup.model_at(index).name();
        let after = match again {
            false => AfterFailure::Stop,
            true if asked == self.attempts.model => AfterFailure::Retry,
            true => AfterFailure::Fallback(name(self.attempts.model)),
        };
        observers.trace.model_failed(driver.run(), model.as_deref().unwrap_or_else(|| name(asked)), &error, after);
        self.failure = Some(error);
        driver.record(LogInput::TurnFailed { error: message, again, usage: turn.usage, model, at: driver.now() });
        if again {
            // The run refuses the text, unless it has stopped because it has no retries left.
            driver.record(LogInput::Written { turn: number, text: text_of(&turn) });
        }
    }
}

/// Returns the text of a turn so far; an empty one if it is blank.
fn text_of(turn: &Turn) -> String {
    let texts = turn.content.iter().filter_map(|part| match part {
        AssistantPart::Text { text } => Some(text.as_str()),
        _ => None,
    });
    Some(texts.collect::<String>()).filter(|text| !text.trim().is_empty()).unwrap_or_default()
}

/// Returns whether a piece repeats all complete arguments before it. Some providers end a call in this way.
fn is_repeated(before: &str, piece: &str) -> bool {
    before == piece && before.trim_ascii().ends_with('}') && serde_json::from_str::<IgnoredAny>(before).is_ok()
}

/// Returns the part of [`Limits::message_bytes`](crate::run::Limits::message_bytes) that a delta uses.
fn bytes(delta: &Delta) -> u64 {
    let length = match delta {
        Delta::Text(text) | Delta::Reasoning(text) | Delta::CallArguments { text, .. } => text.len(),
        Delta::ReasoningSignature(signature) => signature.value.len(),
        Delta::CallStart { id, name, .. } => id.len() + name.len(),
        Delta::Provider(part) => part.block.len(),
        Delta::CallEnd { .. } | Delta::Usage(_) | Delta::Finish(_) => 0,
    };
    length as u64
}

/// A turn of the model under way.
pub struct OpenTurn {
    /// The future that sends the model's answer to the mailbox; `None` after its end.
    pump: Option<BoxFuture<'static, ()>>,
    mailbox: Mailbox,
    pub turn: Turn,
    /// The bytes of the turn so far.
    pub bytes: u64,
    pub calls: Vec<AnnouncedCall>,
    /// The number of the turn in the run.
    number: u32,
    /// The time at which the turn began. It differs if another process repeats the turn.
    asked: Timestamp,
    published: PublishedTurn,
    /// The ids of calls that are not in the run yet.
    pub unrecorded: HashSet<CallId, foldhash::fast::RandomState>,
    /// The number of calls that are in the run.
    pub recorded: usize,
    pub plan: Option<TurnPlan>,
    pub deadline: Option<Instant>,
    /// The deadline of its next delta.
    pub delta_deadline: Option<Instant>,
    /// The hooks that follow the arguments of calls.
    pub watched: WatchedCalls,
    /// The end of the turn, while it waits for guards or checks.
    held: Option<FinishReason>,
    /// Set if the checks of an answer were asked about the turn.
    is_checked: bool,
}

/// A call of the turn that was announced.
pub struct AnnouncedCall {
    pub id: CallId,
    pub is_complete: bool,
    pub view: View,
}

impl OpenTurn {
    pub fn new(turn: Box<PendingTurn>, number: u32, asked: Timestamp) -> Self {
        let mailbox = Mailbox::default();
        Self {
            pump: Some(Box::pin(turn.pump(mailbox.clone()))),
            mailbox,
            turn: Turn::default(),
            bytes: 0,
            calls: Vec::new(),
            number,
            asked,
            published: PublishedTurn::default(),
            unrecorded: HashSet::default(),
            recorded: 0,
            plan: None,
            deadline: None,
            delta_deadline: None,
            watched: WatchedCalls::default(),
            held: None,
            is_checked: false,
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<TurnEvent>> {
        // A model that never pauses lets other tasks run.
        let budget = ready!(coop::poll_proceed(cx));
        if let Some(pump) = &mut self.pump
            && Pin::as_mut(pump).poll(cx).is_ready()
        {
            self.pump = None;
        }
        let event = self.mailbox.receive();
        if event.is_none() && self.pump.is_some() {
            return Poll::Pending;
        }
        budget.made_progress();
        Poll::Ready(event)
    }
}
