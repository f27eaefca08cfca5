//! One call that may come again.

use std::sync::{Mutex, MutexGuard, PoisonError};

use event_listener::{Event, EventListener};
use tokio::time::Instant;

use crate::tool::Output;

/// What is known of a call: reserved while it runs, then what came of it.
#[derive(Debug, Default)]
pub(super) struct Place {
    state: Mutex<State>,
    changed: Event,
}

#[derive(Debug, Default)]
enum State {
    /// It may run.
    #[default]
    Free,
    Running,
    Ended(Came, Instant),
}

/// What came of a call.
#[derive(Clone, Debug)]
pub(super) enum Came {
    /// It gave an output; `None` where nobody will want it again.
    Done(Option<Output>),
    /// It failed, and that is kept.
    Failed,
    /// It was dropped on the way: nobody knows what it has done.
    Lost,
}

/// What whoever comes with a call is told.
#[derive(Debug)]
pub(super) enum Claim {
    /// The call is yours: run it.
    Run,
    /// Somebody runs it; this is heard when that changes.
    Wait(EventListener),
    /// It was made before.
    Came(Came),
}

impl Place {
    /// Reserves the call, if it may run. One that was lost may, if `again`.
    pub(super) fn claim(&self, again: bool) -> Claim {
        let mut state = self.lock();
        match &*state {
            State::Running => return Claim::Wait(self.changed.listen()),
            State::Ended(Came::Lost, _) if again => {}
            State::Ended(came, _) => return Claim::Came(came.clone()),
            State::Free => {}
        }
        *state = State::Running;
        Claim::Run
    }

    /// Ends the reservation: with what came of it, or so that the call may run again.
    pub(super) fn end(&self, came: Option<Came>) {
        *self.lock() = came.map_or(State::Free, |came| State::Ended(came, Instant::now()));
        self.changed.notify(usize::MAX);
    }

    /// When the call ended, if it did.
    pub(super) fn ended(&self) -> Option<Instant> {
        match &*self.lock() {
            State::Ended(_, at) => Some(*at),
            _ => None,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
