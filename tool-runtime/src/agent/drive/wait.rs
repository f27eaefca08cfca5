//! Waiting for whatever happens next in a run.

use std::{
    future::{pending, poll_fn},
    pin::{Pin, pin},
    task::{Context, Poll},
};

use tokio::time::{Instant, Sleep, sleep_until};

use super::alert::Alert;
use crate::agent::{
    calls::{CallEvent, Calls},
    log::{Listeners, Log, Signal},
    questions::{Answered, Questions},
    turn::{ModelTurn, TurnEvent},
};

/// Something that the loop waited for. It is moved with every piece of text, so what is large and rare is in boxes.
pub enum Happened {
    Signal(Signal),
    Call(CallEvent),
    Answered(Box<Answered>),
    Time,
    Turn(Option<TurnEvent>),
}

impl Happened {
    /// Returns whether it is a piece of the model's turn.
    pub fn is_piece(&self) -> bool {
        matches!(self, Self::Turn(Some(TurnEvent::Delta(Ok(_)))))
    }
}

/// The means of waiting, kept from one time to the next: to begin costs more than a piece of text.
#[derive(Default)]
pub struct Waits {
    /// Raised by all but the model.
    alert: Alert,
    alarm: Alarm,
    listeners: Listeners,
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
    /// Has everything asked once: what has changed may be waited for in another way.
    pub fn refresh(&self) {
        self.alert.raise();
    }

    /// Waits until something happens. All but the model is asked only when the alert is raised.
    pub async fn next(
        &mut self,
        log: &mut Log,
        turn: &mut ModelTurn,
        calls: &mut Calls,
        questions: &mut Questions,
    ) -> Happened {
        poll_fn(|task| self.poll_next(task, log, turn, calls, questions)).await
    }

    fn poll_next(
        &mut self,
        task: &mut Context<'_>,
        log: &mut Log,
        turn: &mut ModelTurn,
        calls: &mut Calls,
        questions: &mut Questions,
    ) -> Poll<Happened> {
        let model = turn.deadline();
        let is_sooner = model.is_some_and(|model| self.alarm.until.is_none_or(|until| model < until));
        let mut is_late = false;
        if self.alert.take(task.waker()) || is_sooner {
            self.alarm.until = log.deadline().into_iter().chain(calls.deadline()).chain(model).min();
            let waker = self.alert.waker();
            let rare = pin!(rarely(&mut self.alarm, &mut self.listeners, log, calls, questions));
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
    }
}

/// Waits for everything but the model. Dropped, it loses nothing: each source remembers who is to be woken.
async fn rarely(
    alarm: &mut Alarm,
    listeners: &mut Listeners,
    log: &mut Log,
    calls: &mut Calls,
    questions: &mut Questions,
) -> Happened {
    tokio::select! {
        biased;
        signal = log.next_signal(listeners) => match signal {
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
