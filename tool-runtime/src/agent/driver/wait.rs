//! What the driver waits for, and who is told when it happens.

use std::{
    future::poll_fn,
    pin::{Pin, pin},
    task::{Context, Poll},
    time::Duration,
};

use futures_util::{FutureExt, future::BoxFuture};
use tokio::{
    task::JoinError,
    time::{Instant, Sleep, sleep_until},
};

use super::{
    Asked, Asking, Driver, Live, Person, Worked, alert::Alert, ask::Heard, look::Looked, mend::Mending, people::Decided,
};
use crate::agent::{AgentError, handle::Wish, steering::Steered};
use crate::message::Part;
use crate::run::{Event, Time};

/// How often a run that waits for somebody is looked up in its store.
const POLL: Duration = Duration::from_millis(200);

/// How often any other is: somebody may have called it off.
const WATCH: Duration = Duration::from_secs(1);

/// What the driver waits with, kept from one time to the next: to begin costs more than a piece of text.
#[derive(Default)]
pub(super) struct Waits {
    /// Raised by all of them.
    pub(super) alert: Alert,
    /// Wakes it at the time that it was waiting for last.
    alarm: Option<Pin<Box<Sleep>>>,
    /// That time.
    until: Option<Instant>,
    /// Ends when a test sets the clock.
    moved: Option<BoxFuture<'static, ()>>,
    /// Ends when the run is called off.
    cancelled: Option<BoxFuture<'static, ()>>,
    /// Ends when somebody wishes something of the session.
    wished: Option<BoxFuture<'static, Wish>>,
    /// When the lease is to be prolonged, and that by the clock of timers.
    prolong: Option<(Time, Instant)>,
}

/// Something that the driver waited for. It is moved with every piece of text, so what is large and rare is in boxes.
pub(super) enum Happened {
    Worked(Worked),
    Looked(Result<Looked, JoinError>),
    Asked(Box<Asked>),
    Heard(Option<Heard>),
    Steered(Vec<Part>),
    Decided(Box<Decided>),
    Time,
    Mended(Result<Box<Mending>, JoinError>),
    Wished(Wish),
    Cancelled,
}

impl Happened {
    /// Whether it is a piece of the model's turn.
    pub(super) fn is_piece(&self) -> bool {
        matches!(self, Self::Heard(Some(Heard::Said(Ok(_)))))
    }
}

impl Driver<'_> {
    /// What happens next. Everything is asked for it only when the alert is raised.
    pub(super) async fn next(&mut self) -> Happened {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Happened> {
        let model = self.asking.as_ref().and_then(Asking::deadline);
        let is_sooner = model.is_some_and(|model| self.waits.until.is_none_or(|until| model < until));
        let mut is_late = false;
        if self.waits.alert.take(cx.waker()) || is_sooner {
            let waker = self.waits.alert.waker();
            let asked = pin!(self.rarely()).poll(&mut Context::from_waker(&waker));
            if let Poll::Ready(happened) = asked {
                // Others were not asked.
                self.waits.alert.raise();
                let is_time = matches!(happened, Happened::Time);
                // Time comes first, so that a model that never pauses cannot keep a lease from being prolonged; but not twice
                // in a row, so that a lease that is over at once cannot keep the model from being heard.
                is_late = is_time && std::mem::replace(&mut self.was_time, is_time);
                if !is_late {
                    return Poll::Ready(happened);
                }
            }
        }
        match pin!(Asking::next(&mut self.asking)).poll(cx) {
            Poll::Ready(heard) => {
                self.was_time = false;
                Poll::Ready(Happened::Heard(heard))
            }
            Poll::Pending if is_late => Poll::Ready(Happened::Time),
            Poll::Pending => Poll::Pending,
        }
    }

    /// What happens beside the model's turn. To drop it loses nothing: who is waited for remembers who is to be woken.
    async fn rarely(&mut self) -> Happened {
        let clocks = self.clocks_end();
        let timer = self.timer().into_iter().chain(clocks).min();
        let Waits { alarm, until: known, cancelled, wished, moved, .. } = &mut self.waits;
        *known = timer;
        let moved = moved.get_or_insert_with(|| self.agent.clock.moved().boxed());
        let cancelled = cancelled.get_or_insert_with(|| {
            let cancellation = self.agent.context.cancellation().clone();
            Box::pin(async move { cancellation.cancelled().await })
        });
        let wished = wished.get_or_insert_with(|| {
            let handle = self.kept.handle.clone();
            Box::pin(async move { handle.wished().await })
        });
        tokio::select! {
            biased;
            () = cancelled.as_mut() => {
                self.waits.cancelled = None;
                Happened::Cancelled
            }
            wish = wished.as_mut() => {
                self.waits.wished = None;
                Happened::Wished(wish)
            }
            Some(worked) = self.worked.recv() => Happened::Worked(worked),
            Some(looked) = self.readings.join_next(), if !self.readings.is_empty() => Happened::Looked(looked),
            Some(mended) = self.mending.join_next(), if !self.mending.is_empty() => Happened::Mended(mended),
            Some(asked) = self.asked.recv() => Happened::Asked(asked),
            decided = Person::decided(&mut self.person) => Happened::Decided(decided),
            Some(said) = Steered::next(&mut self.kept.steered) => Happened::Steered(said),
            () = until(alarm, timer) => Happened::Time,
            () = moved.as_mut() => {
                (self.waits.moved, self.waits.prolong) = (None, None);
                Happened::Time
            }
        }
    }

    /// Does what follows from it.
    pub(super) async fn handle(&mut self, happened: Happened) -> Result<(), AgentError> {
        match happened {
            Happened::Worked(worked) => self.worked(worked, self.now()),
            Happened::Looked(joined) => self.joined_look(joined),
            Happened::Asked(asked) => self.asked(*asked).await?,
            Happened::Heard(heard) => self.heard(heard),
            Happened::Steered(said) => self.steered(said),
            Happened::Decided(decided) => self.person_decided(*decided),
            Happened::Time => self.time_passed().await?,
            // What panics there is contained; the call would be looked at when the run is loaded again.
            Happened::Mended(mended) => mended.into_iter().for_each(|mended| self.mended(*mended)),
            Happened::Wished(Wish::Look) => {
                self.refresh().await?;
            }
            Happened::Wished(Wish::Stop) => {
                let by = self.kept.run.owner().clone();
                self.feed_late(Event::StopRequested { by, at: self.now() });
            }
            Happened::Cancelled | Happened::Wished(Wish::Cancel) => {
                let by = self.kept.run.owner().clone();
                self.feed(Event::Cancel { by, at: self.now() })?;
            }
        }
        Ok(())
    }

    /// When something is to be looked at again.
    fn timer(&mut self) -> Option<Instant> {
        let limits = self.live.values().filter_map(Live::deadline);
        let wake = self.wakes.first().map(|at| self.agent.clock.instant(*at));
        let waits = self.kept.run.obligations().next().is_some();
        let poll = self.agent.store.is_some().then(|| self.refreshed + if waits { POLL } else { WATCH });
        let lease = self.prolong_at().map(|at| match self.waits.prolong {
            Some((known, instant)) if known == at => instant,
            _ => self.waits.prolong.insert((at, self.agent.clock.instant(at))).1,
        });
        let model = self.asking.as_ref().and_then(Asking::deadline);
        limits.chain(wake).chain(poll).chain(lease).chain(model).min()
    }

    pub(super) async fn time_passed(&mut self) -> Result<(), AgentError> {
        // Somebody may have set the clock.
        self.waits.prolong = None;
        // However often this comes, the tasks of the calls get their turn.
        tokio::task::yield_now().await;
        let time = self.now();
        if self.wakes.first().is_some_and(|at| *at <= time) {
            self.wakes.retain(|at| *at > time);
            self.feed_late(Event::Tick { at: time });
        }
        // What came to its end just in time is not over.
        self.take_worked();
        self.end_overdue();
        self.end_slow_model();
        self.end_clocks();
        self.prolong_lease().await?;
        self.refresh().await?;
        Ok(())
    }

    pub(super) fn now(&self) -> Time {
        self.agent.now()
    }

    /// Takes what has ended already.
    pub(super) fn take_worked(&mut self) {
        let mut at = None;
        while let Ok(worked) = self.worked.try_recv() {
            let at = *at.get_or_insert_with(|| self.now());
            self.worked(worked, at);
        }
    }
}

/// Waits until then. Without a time there is no timer, which not every runtime has. The time is mostly the one that was
/// waited for before, and a timer that stands is not set again: that costs more than a piece of text.
async fn until(alarm: &mut Option<Pin<Box<Sleep>>>, time: Option<Instant>) {
    let Some(time) = time else { return std::future::pending().await };
    let alarm = alarm.get_or_insert_with(|| Box::pin(sleep_until(time)));
    if alarm.deadline() != time || alarm.is_elapsed() {
        alarm.as_mut().reset(time);
    }
    alarm.as_mut().await;
}
