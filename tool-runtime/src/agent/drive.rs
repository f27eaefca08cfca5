//! The loop that drives a run: it takes the actions that the log requires, and records their results in the log.
//!
//! An event leads to entries ([`step`](tool_run::run::step)). The entries go into the store, and only then the loop takes the
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
    Agent, AgentError, Event, Observer,
    calls::{CallEvent, Calls},
    log::Log,
    observers::{Observers, within},
    operator::{Answered, Questions},
    outside::{Listener, Signal},
    turn::{ModelTurn, TurnEvent},
};
use crate::gate::Gate;
use crate::message::ToolCall;
use crate::run::Phase;
use tool_run::run::{Action, StepEvent};

/// The way in which a run is driven.
pub struct Drive {
    /// The observer, with the hooks before it.
    pub observer: Arc<dyn Observer>,
    /// A call from outside, in place of the model's next turn.
    pub injected: Option<ToolCall>,
    /// Set if the run is left at the point where its model would be asked.
    pub leaves_model: bool,
}

impl Drive {
    /// Drives a run after `event`, until it has finished, was stopped, or needs a decision that nobody here can make.
    pub async fn run(
        self,
        agent: &Agent,
        gate: &Gate,
        log: &mut Log,
        event: Option<StepEvent>,
    ) -> Result<Phase, AgentError> {
        let mut observers = Observers::new(agent, gate, Arc::clone(&self.observer));
        let span = observers.trace.begin(agent, log.run());
        let driven = async {
            let done = self.begin(agent, gate, log, event, &mut observers).await;
            observers.trace.end(log.run(), &done);
            done
        };
        within(span, driven).await
    }

    async fn begin(
        self,
        agent: &Agent,
        gate: &Gate,
        log: &mut Log,
        event: Option<StepEvent>,
        observers: &mut Observers,
    ) -> Result<Phase, AgentError> {
        log.begin(agent, self.leaves_model, observers).await?;
        let mut turn = ModelTurn::new(agent, gate, self.injected);
        let (mut calls, mut questions) = (Calls::new(agent, gate, self.observer), Questions::new(agent, gate));
        let done = match log.resume(event, observers).await {
            Ok(()) => drive(log, &mut turn, &mut calls, &mut questions, observers).await,
            Err(error) => Err(error),
        };
        // Running work is dropped together with the lease, which is the right to report it.
        drop((calls, questions));
        let released = log.end().await;
        let phase = done?;
        released?;
        observers.report(Event::RunPaused(&phase));
        turn.outcome(phase)
    }
}

/// Takes the actions that the log requires, and records their results, until nothing is left to do here.
async fn drive(
    log: &mut Log,
    turn: &mut ModelTurn,
    calls: &mut Calls,
    questions: &mut Questions,
    observers: &mut Observers,
) -> Result<Phase, AgentError> {
    let mut waits = Waits::default();
    loop {
        follow(log, turn, calls, observers);
        let now = log.now();
        while let Some(action) = log.next_action() {
            match action {
                Action::Inspect(call) => calls.check(&call, now, log, observers),
                Action::CallModel => turn.start(log, observers),
                Action::AbortModel => turn.abort(),
                Action::Execute { call, attempt } => calls.execute(call, attempt, log, observers),
                Action::Abort(call) => calls.abort(&call, observers),
                Action::Announce(interrupt) => questions.announce(interrupt, log),
                Action::Wake(at) => log.wake_at(at),
            }
        }
        if log.has_news() {
            log.keep(observers).await?;
            continue;
        }
        questions.ask_next(log);
        if log.is_at_rest(questions.is_busy()) {
            if !calls.take_asked(log, observers).await? && !log.take_up_late(observers).await? {
                return Ok(log.run().phase());
            }
        } else if !log.leave(observers).await? {
            receive(&mut waits, log, turn, calls, questions, observers).await?;
        }
    }
}

/// Notifies the parts of entries that others added to the log, and of new prompts.
fn follow(log: &mut Log, turn: &mut ModelTurn, calls: &mut Calls, observers: &mut Observers) {
    if log.take_changed_by_others() {
        calls.follow(log, observers);
        turn.follow(log);
    }
    if log.take_prompted() {
        turn.prompted();
    }
}

/// Waits until something happens, and records it in the log. Pieces of the model's turn that lead to no entry are received
/// one after the other.
async fn receive(
    waits: &mut Waits,
    log: &mut Log,
    turn: &mut ModelTurn,
    calls: &mut Calls,
    questions: &mut Questions,
    observers: &mut Observers,
) -> Result<(), AgentError> {
    // After the last changes, the loop may wait for other sources.
    waits.alert.raise();
    loop {
        let happened = waits.next(log, turn, calls, questions).await;
        let is_piece = matches!(happened, Happened::Turn(Some(TurnEvent::Delta(Ok(_)))));
        match happened {
            Happened::Signal(signal) => log.receive(signal, observers).await?,
            Happened::Call(event) => calls.receive(event, log, observers).await?,
            Happened::Answered(answered) => questions.receive(*answered, log),
            Happened::Turn(event) => turn.receive(event, log, observers),
            Happened::Time => {
                // However often this happens, the tasks of the calls must get their turn.
                tokio::task::yield_now().await;
                log.tick();
                calls.end_overdue(log, observers);
                turn.end_overdue(log);
                log.stay(observers).await?;
            }
        }
        if !(is_piece && turn.is_asking() && !log.has_news()) {
            break;
        }
    }
    // Calls that have ended already go into the same append.
    calls.take_ended(log, observers);
    Ok(())
}

/// An event that the loop waited for. It is moved with every piece of text, so its large, rare parts are boxed.
pub enum Happened {
    Signal(Signal),
    Call(CallEvent),
    Answered(Box<Answered>),
    Time,
    Turn(Option<TurnEvent>),
}

/// The state of the wait. It is kept between waits, because to set it up costs more than to receive a piece of text.
#[derive(Default)]
pub struct Waits {
    /// The alert of all sources but the model.
    alert: Arc<Alert>,
    alarm: Alarm,
    listener: Option<Listener>,
    /// Set if the last event was a timer.
    was_time: bool,
}

/// A timer that is reused.
#[derive(Default)]
struct Alarm {
    sleep: Option<Pin<Box<Sleep>>>,
    /// The time of the timer.
    until: Option<Instant>,
}

impl Waits {
    /// Waits until something happens. The sources other than the model are polled only if the alert is raised.
    pub async fn next(
        &mut self,
        log: &mut Log,
        turn: &mut ModelTurn,
        calls: &mut Calls,
        questions: &mut Questions,
    ) -> Happened {
        poll_fn(|task| {
            let model = turn.deadline();
            let is_sooner = model.is_some_and(|model| self.alarm.until.is_none_or(|until| model < until));
            let mut is_late = false;
            if self.alert.take(task.waker()) || is_sooner {
                self.alarm.until = log.deadline().into_iter().chain(calls.deadline()).chain(model).min();
                let waker = Waker::from(Arc::clone(&self.alert));
                let rare = pin!(rarely(&mut self.alarm, &mut self.listener, log, calls, questions));
                if let Poll::Ready(happened) = rare.poll(&mut Context::from_waker(&waker)) {
                    // The other sources were not polled.
                    self.alert.raise();
                    let is_time = matches!(happened, Happened::Time);
                    // Timers come first, so that a model that never pauses cannot prevent the renewal of a lease. But they do
                    // not come twice in a row, so that a lease that expires at once cannot prevent the receipt of the model's
                    // pieces.
                    is_late = is_time && std::mem::replace(&mut self.was_time, is_time);
                    if !is_late {
                        return Poll::Ready(happened);
                    }
                }
            }
            match pin!(turn.next()).poll(task) {
                Poll::Ready(event) => {
                    self.was_time = false;
                    Poll::Ready(Happened::Turn(event))
                }
                Poll::Pending if is_late => Poll::Ready(Happened::Time),
                Poll::Pending => Poll::Pending,
            }
        })
        .await
    }
}

/// Waits for every source but the model. If the future is dropped, nothing is lost: each source remembers whom to wake.
async fn rarely(
    alarm: &mut Alarm,
    listener: &mut Option<Listener>,
    log: &mut Log,
    calls: &mut Calls,
    questions: &mut Questions,
) -> Happened {
    tokio::select! {
        biased;
        signal = log.next_signal(listener) => match signal {
            Signal::ClockMoved => Happened::Time,
            signal => Happened::Signal(signal),
        },
        event = calls.next() => Happened::Call(event),
        answered = questions.next() => Happened::Answered(answered),
        () = alarm.rings() => Happened::Time,
    }
}

impl Alarm {
    /// Waits until the set time. Without a time no timer is created, because not every runtime has timers. Mostly the time is
    /// still that of the last wait. Then the timer is not set again, which would cost more than a piece of text.
    async fn rings(&mut self) {
        let Some(time) = self.until else { return pending().await };
        let sleep = self.sleep.get_or_insert_with(|| Box::pin(sleep_until(time)));
        if sleep.deadline() != time || sleep.is_elapsed() {
            sleep.as_mut().reset(time);
        }
        sleep.as_mut().await;
    }
}

/// The waker of all rare sources. If the loop wakes without it, the reason is the model's next piece. Then the loop does not
/// poll the rare sources, which would cost more than the piece.
#[derive(Default)]
struct Alert {
    is_raised: AtomicBool,
    task: AtomicWaker,
}

impl Alert {
    /// Requests one poll of every source.
    fn raise(&self) {
        self.is_raised.store(true, Ordering::Release);
    }

    /// Lowers the alert, and returns whether it was raised. If it is raised later, `task` is woken.
    fn take(&self, task: &Waker) -> bool {
        self.task.register(task);
        self.is_raised.swap(false, Ordering::AcqRel)
    }
}

impl Wake for Alert {
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
    fn an_alert_wakes_the_task_and_is_taken_once() {
        let (alert, woken) = (Arc::new(Alert::default()), Arc::new(Woken::default()));
        let task = Waker::from(Arc::clone(&woken));
        assert!(!alert.take(&task));
        Waker::from(Arc::clone(&alert)).wake();
        assert_eq!(woken.0.load(Ordering::SeqCst), 1);
        assert!(alert.take(&task) && !alert.take(&task));
        // The driver raises the alert itself, and is awake.
        alert.raise();
        assert_eq!(woken.0.load(Ordering::SeqCst), 1);
        assert!(alert.take(&task));
    }
}
