//! The loop that drives a run: it takes the actions that the log requires, and records their results in the log.
//!
//! An input leads to entries ([`advance`](tool_run::run::advance)). The entries go into the store, and only then the loop takes the
//! actions that follow.

use std::{
    future::{pending, poll_fn},
    pin::{Pin, pin},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
};

use futures_util::task::AtomicWaker;
use tokio::time::{Instant, Sleep, sleep_until};

use crate::agent::{
    Agent, AgentError, Event,
    ask::AnswerProblem,
    calls::Calls,
    driver::Driver,
    follower::Follower,
    guard::Verdict,
    handle::{Listener, Signal},
    logged_run::{Added, LoggedRun},
    observers::{Observers, observer_with_hooks, report, within},
    operator::{OperatorAnswer, OperatorRequests},
    pieces,
    turn::ModelTurns,
};
use crate::gate::Gate;
use crate::model::{ModelError, ModelErrorKind};
use crate::run::{Phase, StopReason};
use crate::tool::yield_once;
use tool_run::run::{Action, LogInput};

/// The settings of one drive of a run.
#[derive(Default)]
pub struct DriveOptions {
    /// Set if the loop ends where it would ask the model.
    pub stops_before_model: bool,
    /// Set if this drive follows the run while another worker has its lease. Otherwise, such a drive fails.
    pub follows: bool,
}

impl DriveOptions {
    /// Passes `input` to a run and drives the run until it has finished, was stopped, or needs a decision that nobody here can
    /// make. Follows the run as long as another process drives it.
    pub async fn run(
        self,
        agent: &Agent,
        gate: &Gate,
        stored: &mut LoggedRun,
        mut input: Option<LogInput>,
    ) -> Result<Phase, AgentError> {
        let begun = stored.begin(agent, &self).await;
        if begun.is_ok()
            && !stored.drives()
            && let Some(done) = self.follow(agent, gate, stored, &mut input).await.transpose()
        {
            return done;
        }
        let (observer, hook_tasks) = observer_with_hooks(agent);
        report(&*observer, Event::RunStarted(stored.run()));
        let mut observers = Observers::new(agent, gate, Arc::clone(&observer));
        let span = observers.trace.begin(stored.run());
        let driven = async {
            let done = match begun {
                Ok(()) => self.drive(agent, gate, stored, input, &mut observers).await,
                Err(error) => Err(error),
            };
            observers.trace.end(stored.run(), &done);
            done
        };
        let done = within(span, driven).await;
        if let Err(error) = &done {
            report(&*observer, Event::RunFailed(error));
        }
        drop((observers, observer));
        hook_tasks.done().await;
        done
    }

    /// Follows a run that is driven elsewhere, until nothing is left to do there. Returns `None` if this process has acquired the
    /// right to drive it. The hooks and the trace of the run belong to the process that drives it.
    async fn follow(
        &self,
        agent: &Agent,
        gate: &Gate,
        stored: &mut LoggedRun,
        input: &mut Option<LogInput>,
    ) -> Result<Option<Phase>, AgentError> {
        let mut observers = Observers::new(agent, gate, Arc::clone(&agent.setup.observer));
        observers.report(Event::RunStarted(stored.run()));
        let known = stored.run().rev();
        let mut follower = Follower::new(stored, self);
        // If this process may drive the run later, it records the input then.
        let input = input.take_if(|_| !follower.may_take_over());
        let done = match follower.resume(input, &mut observers).await {
            Ok(()) => follow_loop(&mut follower, &mut observers).await,
            Err(error) => Err(error),
        };
        if matches!(done, Ok(None)) {
            return done;
        }
        let released = stored.release().await;
        let done = done.and_then(|phase| released.map(|()| phase));
        let done = done.inspect(|phase| phase.iter().for_each(|phase| observers.report(Event::RunAtRest(phase))));
        let done = match done {
            Ok(Some(Phase::Stopped(StopReason::Cancelled))) => Err(AgentError::Cancelled),
            Ok(Some(Phase::Stopped(StopReason::Blocked { by, reason }))) if stored.run().rev() > known => {
                Err(AgentError::Blocked { by, reason })
            }
            Ok(Some(Phase::Stopped(StopReason::ModelFailed(message)))) if stored.run().rev() > known => {
                // The log does not have the kind of the error.
                Err(ModelError::new(ModelErrorKind::Unavailable, message).into())
            }
            done => done,
        };
        done.inspect_err(|error| observers.report(Event::RunFailed(error)))
    }

    /// Drives a run that this process has the right to drive.
    async fn drive(
        self,
        agent: &Agent,
        gate: &Gate,
        stored: &mut LoggedRun,
        input: Option<LogInput>,
        observers: &mut Observers,
    ) -> Result<Phase, AgentError> {
        let mut driver = Driver::new(stored, &self);
        let mut turn = ModelTurns::new(agent, gate);
        let mut calls = Calls::new(agent, gate, Arc::clone(&observers.observer));
        let mut requests = OperatorRequests::new(agent, gate);
        let done = match driver.resume(input, observers).await {
            Ok(()) => run_loop(&mut driver, &mut turn, &mut calls, &mut requests, observers).await,
            Err(error) => Err(error),
        };
        // Running work is dropped before the lease is released, because only its holder may record the results.
        drop((calls, requests));
        let released = stored.release().await;
        let phase = done?;
        released?;
        observers.report(Event::RunAtRest(&phase));
        turn.outcome(phase)
    }
}

/// Takes the actions that the log requires, and records their results, until this process has nothing left to do.
async fn run_loop(
    driver: &mut Driver<'_>,
    turn: &mut ModelTurns,
    calls: &mut Calls,
    requests: &mut OperatorRequests,
    observers: &mut Observers,
) -> Result<Phase, AgentError> {
    let mut sources = None;
    loop {
        // The entry goes into the same append as the end of the call, so no process goes on between the two.
        if let Some(reason) = calls.take_blocked() {
            block(reason, driver, turn, calls, observers);
        }
        pass_on_changes(driver, turn, calls, observers);
        // All checks of one pass of the loop have the same time.
        let mut now = None;
        while let Some(action) = driver.next_action() {
            match action {
                Action::Check(call) => {
                    let now = *now.get_or_insert_with(|| driver.now());
                    calls.check(&call, now, driver, observers);
                }
                Action::CallModel => turn.start(driver, observers),
                Action::AbortModel => turn.abort(),
                Action::Execute { call, attempt } => calls.execute(call, attempt, driver, observers),
                Action::Abort(call) => calls.abort(&call, observers),
                Action::Announce(interrupt) => requests.announce(interrupt, driver),
                Action::Wake(at) => driver.wake_at(at),
            }
        }
        if driver.has_pending_work() {
            driver.commit(observers).await?;
            continue;
        }
        requests.ask_next(driver);
        if driver.is_at_rest(requests.is_busy()) && turn.may_rest(driver.run()) {
            if !calls.take_request(driver, observers).await? && !driver.queue_late_messages(observers).await? {
                return Ok(driver.run().phase());
            }
        } else if !stop_if_abandoned(driver, turn, calls, observers).await? {
            handle_next_event(&mut sources, driver, turn, calls, requests, observers).await?;
        }
    }
}

/// Cancels the run if no client follows it, like [`Driver::stop_if_abandoned`].
async fn stop_if_abandoned(
    driver: &mut Driver<'_>,
    turn: &mut ModelTurns,
    calls: &mut Calls,
    observers: &mut Observers,
) -> Result<bool, AgentError> {
    let before = |driver: &mut Driver<'_>, observers: &mut Observers| {
        calls.withdraw_waiting(driver, observers);
        turn.keep_text(driver);
    };
    driver.stop_if_abandoned(observers, before).await
}

/// Stores the entries of this process, and reports those of others, until nothing is left to do. Returns `None` if this process
/// has acquired the right to drive the run.
async fn follow_loop(follower: &mut Follower<'_>, observers: &mut Observers) -> Result<Option<Phase>, AgentError> {
    let (mut signals, mut timer) = (SignalWaits::default(), Timer::default());
    loop {
        if follower.store_pending(observers).await? {
            continue;
        }
        if follower.is_at_rest() {
            if !follower.read_late(observers).await? {
                follower.stored.flush_others(observers);
                return Ok(Some(follower.run().phase()));
            }
        } else if !follower.stop_if_abandoned(observers).await? {
            timer.until = follower.deadline();
            tokio::select! {
                signal = follower.next_signal(&mut signals, observers) => {
                    follower.handle_signal(signal?, observers).await?;
                }
                () = timer.wait() => follower.renew_if_due(observers).await?,
            }
            if follower.stored.drives() {
                follower.stored.flush_others(observers);
                return Ok(None);
            }
        }
    }
}

/// Notifies `calls` and `turn` of entries that others added to the log, and `turn` of new prompts.
fn pass_on_changes(driver: &mut Driver<'_>, turn: &mut ModelTurns, calls: &mut Calls, observers: &mut Observers) {
    if driver.take_changed_by_others() {
        calls.abort_ended_elsewhere(driver, observers);
        turn.abort_if_stale(driver);
    }
    if driver.take_prompted() {
        turn.reset_attempts();
    }
}

/// Waits for an event, and records it in the log.
async fn handle_next_event(
    sources: &mut Option<EventSources>,
    driver: &mut Driver<'_>,
    turn: &mut ModelTurns,
    calls: &mut Calls,
    requests: &mut OperatorRequests,
    observers: &mut Observers,
) -> Result<(), AgentError> {
    if calls.take_started() && !driver.stored.outside.has_urgent(driver.stored.agent()) {
        // Many calls end at once. To look for that costs less than to listen to every source. The yield is short: tokio's own one
        // also waits for tasks that come later.
        yield_once().await;
        if calls.has_message() {
            return calls.receive(driver, observers).await;
        }
    }
    let sources = sources.get_or_insert_with(EventSources::default);
    // The last changes may have added sources to wait for, so every source is polled once.
    sources.rare_waker.raise();
    let event = sources.next(driver, turn, calls, requests, observers).await;
    if matches!(event, LoopEvent::Time | LoopEvent::Signal(Signal::Added)) {
        // A source that is always ready must not keep the tasks of the calls from running.
        tokio::task::yield_now().await;
    }
    match event {
        LoopEvent::Signal(Signal::Followed(is_followed)) => turn.set_followed(is_followed, driver),
        LoopEvent::Signal(signal) => {
            if signal.is_cancellation() {
                calls.close_waiting(driver, observers);
                turn.keep_text(driver);
            }
            driver.handle_signal(signal, observers).await?;
        }
        LoopEvent::Call => calls.receive(driver, observers).await?,
        LoopEvent::Answered(answered) => requests.receive(*answered, driver),
        LoopEvent::Turn => {}
        LoopEvent::Summary(made) => turn.receive_summary(*made, driver, observers),
        LoopEvent::Guard(verdict) => handle_verdict(*verdict, driver, turn, calls, observers),
        LoopEvent::Time => {
            driver.tick();
            calls.end_overdue(driver, observers);
            turn.end_overdue(driver, observers);
            driver.stop_if_overdue(|driver| {
                calls.close_waiting(driver, observers);
                turn.keep_text(driver);
            });
            driver.renew_if_due(observers).await?;
        }
    }
    // The ends of calls that have already ended go into the same append.
    calls.take_ended(driver, observers);
    Ok(())
}

/// Goes on with a turn that a guard or a check has allowed, sends the model back, or blocks the run.
fn handle_verdict(
    Verdict { by, outcome, .. }: Verdict,
    driver: &mut Driver<'_>,
    turn: &mut ModelTurns,
    calls: &mut Calls,
    observers: &mut Observers,
) {
    let blocked = match outcome {
        Ok(()) => {
            turn.go_on(driver, observers);
            None
        }
        Err(AnswerProblem::Retry(problem)) => turn.correct(&by, &problem, driver, observers),
        Err(AnswerProblem::Refuse(reason)) => Some(reason),
    };
    if let Some(reason) = blocked {
        block(StopReason::Blocked { by: by.to_string(), reason }, driver, turn, calls, observers);
    }
}

/// Ends the run's turn and its calls, and stops the run.
fn block(
    reason: StopReason,
    driver: &mut Driver<'_>,
    turn: &mut ModelTurns,
    calls: &mut Calls,
    observers: &mut Observers,
) {
    turn.guards.clear();
    calls.close_waiting(driver, observers);
    turn.keep_text(driver);
    driver.record(LogInput::Stop { reason, at: driver.now() });
}

/// An event that the loop waited for.
pub enum LoopEvent {
    Signal(Signal),
    /// A call, a check or a repair has sent something.
    Call,
    Answered(Box<OperatorAnswer>),
    Time,
    /// The model's turn led to entries, or has ended.
    Turn,
    /// A guard or a check has answered.
    Guard(Box<Verdict>),
    /// The conversation was summarized, or could not be.
    Summary(Box<Result<LogInput, String>>),
}

/// The sources of the loop's events. The loop keeps them: creating them costs more than receiving a delta.
#[derive(Default)]
pub struct EventSources {
    /// The waker of all sources but the model.
    rare_waker: Arc<RareWaker>,
    timer: Timer,
    signals: SignalWaits,
    /// Set if the last event was a signal.
    was_signal: bool,
    /// Set if another source had an event since the model was polled.
    is_models_turn: bool,
}

/// The waits for signals from outside, which the loop keeps, too.
#[derive(Default)]
pub struct SignalWaits {
    pub listener: Option<Listener>,
    pub added: Added,
    pub pieces: pieces::Source,
}

/// A timer that is reused.
#[derive(Default)]
struct Timer {
    sleep: Option<Pin<Box<Sleep>>>,
    /// The time at which the timer fires; `None` for never.
    until: Option<Instant>,
}

impl EventSources {
    /// Waits until something happens, and lets `turn` receive the model's deltas meanwhile. The other sources are polled only
    /// after one of them woke the task.
    pub async fn next(
        &mut self,
        driver: &mut Driver<'_>,
        turn: &mut ModelTurns,
        calls: &mut Calls,
        requests: &mut OperatorRequests,
        observers: &Observers,
    ) -> LoopEvent {
        poll_fn(|task| {
            loop {
                // The other sources come first, so that a model that never pauses cannot prevent the renewal of a lease. But after
                // each of their events the model comes first once, so that a source that is always ready cannot stop the model.
                if !std::mem::take(&mut self.is_models_turn) {
                    let rare = self.poll_rare(task, driver, turn, calls, requests);
                    if let Poll::Ready(event) = &rare {
                        self.is_models_turn = true;
                        self.was_signal = matches!(event, LoopEvent::Signal(_));
                        return rare;
                    }
                    if turn.poll_receive(task, driver, observers).is_pending() {
                        return Poll::Pending;
                    }
                } else if turn.poll_receive(task, driver, observers).is_pending() {
                    continue;
                }
                if !turn.is_asking() || turn.is_held() || driver.has_pending_work() {
                    return Poll::Ready(LoopEvent::Turn);
                }
            }
        })
        .await
    }

    /// Polls every source but the model, if one of them woke the task or the model's deadline comes first.
    fn poll_rare(
        &mut self,
        task: &Context<'_>,
        driver: &mut Driver<'_>,
        turn: &mut ModelTurns,
        calls: &mut Calls,
        requests: &mut OperatorRequests,
    ) -> Poll<LoopEvent> {
        let model = turn.deadline();
        let is_sooner = model.is_some_and(|model| self.timer.until.is_none_or(|until| model < until));
        if !self.rare_waker.take(task.waker()) && !is_sooner {
            return Poll::Pending;
        }
        self.timer.until = driver.deadline().into_iter().chain(calls.deadline()).chain(model).min();
        let waker = Waker::from(Arc::clone(&self.rare_waker));
        let order = (&mut self.signals, self.was_signal);
        let rare = pin!(next_rare(&mut self.timer, order, driver, calls, requests, turn));
        let happened = rare.poll(&mut Context::from_waker(&waker));
        if happened.is_ready() {
            // The other sources were not polled.
            self.rare_waker.raise();
        }
        happened
    }
}

/// Waits for every source but the model. Signals come first, unless the last event was a signal. If the future is dropped, nothing
/// is lost: each source remembers whom to wake.
async fn next_rare(
    timer: &mut Timer,
    (signals, was_signal): (&mut SignalWaits, bool),
    driver: &mut Driver<'_>,
    calls: &mut Calls,
    requests: &mut OperatorRequests,
    turn: &mut ModelTurns,
) -> LoopEvent {
    let ModelTurns { guards, summary, .. } = turn;
    let summary = async {
        match summary {
            Some(summary) => LoopEvent::Summary(Box::new(summary.await)),
            None => pending().await,
        }
    };
    let signal = async { LoopEvent::Signal(driver.stored.next_signal(signals).await) };
    let others = async {
        tokio::select! {
            biased;
            () = calls.wait_for_message() => LoopEvent::Call,
            verdict = guards.next() => LoopEvent::Guard(Box::new(verdict)),
            event = summary => event,
            answered = requests.next() => LoopEvent::Answered(answered),
            () = timer.wait() => LoopEvent::Time,
        }
    };
    if was_signal {
        tokio::select! { biased; event = others => event, event = signal => event }
    } else {
        tokio::select! { biased; event = signal => event, event = others => event }
    }
}

impl Timer {
    /// Waits until the set time. Without a time no timer is created, because not every runtime has timers. Usually the time has
    /// not changed since the last wait. Then the timer is not reset, because a reset costs more than a delta.
    async fn wait(&mut self) {
        let Some(time) = self.until else { return pending().await };
        let sleep = self.sleep.get_or_insert_with(|| Box::pin(sleep_until(time)));
        if sleep.deadline() != time || sleep.is_elapsed() {
            sleep.as_mut().reset(time);
        }
        sleep.as_mut().await;
    }
}

/// Wakes the loop for every source but the model. If the loop wakes without it, only the model can have an event. Then the loop
/// does not poll the other sources, which would cost more than the delta.
#[derive(Default)]
struct RareWaker {
    is_raised: AtomicBool,
    task: AtomicWaker,
}

impl RareWaker {
    /// Requests one poll of every source.
    fn raise(&self) {
        self.is_raised.store(true, Ordering::Release);
    }

    /// Resets the waker, and returns whether it was woken. If it is woken later, it wakes `task`.
    fn take(&self, task: &Waker) -> bool {
        self.task.register(task);
        self.is_raised.swap(false, Ordering::AcqRel)
    }
}

impl Wake for RareWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.raise();
        self.task.wake();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn a_rare_waker_wakes_the_task_once() {
        let (rare_waker, woken) = (Arc::new(RareWaker::default()), Arc::new(Woken::default()));
        let task = Waker::from(Arc::clone(&woken));
        assert!(!rare_waker.take(&task));
        Waker::from(Arc::clone(&rare_waker)).wake();
        assert_eq!(woken.0.load(Ordering::SeqCst), 1);
        assert!(rare_waker.take(&task) && !rare_waker.take(&task));
        // Raising does not wake the task: the loop that raises the waker is awake.
        rare_waker.raise();
        assert_eq!(woken.0.load(Ordering::SeqCst), 1);
        assert!(rare_waker.take(&task));
    }
}
