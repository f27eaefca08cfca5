//! The loop: what the log asks for is done, and what comes of it goes into the log.
//!
//! An event leads to entries ([`step`](tool_run::run::step)), the entries go into the store, and only then anything is done.

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
    /// A call that somebody outside makes, in place of the model's next turn.
    pub injected: Option<ToolCall>,
    /// Set if the run is left where its model would be asked.
    pub leaves_model: bool,
}

impl Drive {
    /// Drives a run after `event`, until it has finished, was stopped, or waits for somebody who is not there.
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
        // Whatever still runs is given up with the right to report it.
        drop((calls, questions));
        let released = log.end().await;
        let phase = done?;
        released?;
        observers.tell(Event::RunPaused(&phase));
        turn.outcome(phase)
    }
}

/// Does what the log asks for, and gives it what comes of that, until nothing is left to do here.
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
        while let Some(action) = log.next_action() {
            match action {
                Action::Inspect(call) => calls.check(&call, log, observers),
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

/// Lets the parts know of what others have added to the log, or the run was prompted with.
fn follow(log: &mut Log, turn: &mut ModelTurn, calls: &mut Calls, observers: &mut Observers) {
    if log.take_changed_by_others() {
        calls.follow(log, observers);
        turn.follow(log);
    }
    if log.take_prompted() {
        turn.prompted();
    }
}

/// Waits until something happens, and gives it to the log. Pieces of the model's turn from which nothing follows are received
/// one after the other.
async fn receive(
    waits: &mut Waits,
    log: &mut Log,
    turn: &mut ModelTurn,
    calls: &mut Calls,
    questions: &mut Questions,
    observers: &mut Observers,
) -> Result<(), AgentError> {
    // What has changed may be waited for in another way.
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
                // However often this comes, the tasks of the calls get their turn.
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
    // What is there already goes into the same append.
    calls.take_ended(log, observers);
    Ok(())
}

/// Something that the loop waited for. It is moved with every piece of text, so what is large and rare is in boxes.
pub enum Happened {
    Signal(Signal),
    Call(CallEvent),
    Answered(Box<Answered>),
    Time,
    Turn(Option<TurnEvent>),
}

/// The means of waiting, kept from one time to the next: to begin costs more than a piece of text.
#[derive(Default)]
pub struct Waits {
    /// Raised by all but the model.
    alert: Arc<Alert>,
    alarm: Alarm,
    listener: Option<Listener>,
    /// Set if time was the last that happened.
    was_time: bool,
}

/// A timer that is set again and again.
#[derive(Default)]
struct Alarm {
    sleep: Option<Pin<Box<Sleep>>>,
    /// The time that is waited for.
    until: Option<Instant>,
}

impl Waits {
    /// Waits until something happens. All but the model is asked only when the alert is raised.
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
                    // Others were not asked.
                    self.alert.raise();
                    let is_time = matches!(happened, Happened::Time);
                    // Time comes first, so that a model that never pauses cannot keep a lease from being prolonged; but not twice
                    // in a row, so that a lease that is over at once cannot keep the model from being received.
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

/// Waits for everything but the model. Dropped, it loses nothing: each source remembers who is to be woken.
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
    /// Waits until then. Without a time there is no timer, which not every runtime has. The time is mostly the one that was
    /// waited for before, and a timer that stands is not set again: that costs more than a piece of text.
    async fn rings(&mut self) {
        let Some(time) = self.until else { return pending().await };
        let sleep = self.sleep.get_or_insert_with(|| Box::pin(sleep_until(time)));
        if sleep.deadline() != time || sleep.is_elapsed() {
            sleep.as_mut().reset(time);
        }
        sleep.as_mut().await;
    }
}

/// The waker of everything that is rare. A loop that was woken without it was woken for the model's next piece, and does not ask
/// everything else: that would cost more than the piece.
#[derive(Default)]
struct Alert {
    is_raised: AtomicBool,
    /// The driver's own.
    task: AtomicWaker,
}

impl Alert {
    /// Has everything asked once.
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
    fn who_raises_it_wakes_the_task_and_it_is_taken_once() {
        let (alert, woken) = (Arc::new(Alert::default()), Arc::new(Woken::default()));
        let task = Waker::from(Arc::clone(&woken));
        assert!(!alert.take(&task));
        Waker::from(Arc::clone(&alert)).wake();
        assert_eq!(woken.0.load(Ordering::SeqCst), 1);
        assert!(alert.take(&task) && !alert.take(&task));
        // The driver raises it for itself, and is awake.
        alert.raise();
        assert_eq!(woken.0.load(Ordering::SeqCst), 1);
        assert!(alert.take(&task));
    }
}
