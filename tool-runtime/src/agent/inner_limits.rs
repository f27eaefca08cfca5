//! The part of a run that the runs inside of its calls share: the rest of its limits, and the request to stop.

use std::sync::{Arc, Mutex, MutexGuard};

use crate::agent::Budget;
use crate::run::{Run, StopReason};
use crate::sync::lock;
use tool_run::run::{InnerUsage, SharedLimits};

/// The part of a driven run that the runs inside of its calls see. Each of these runs counts what it uses here and in the runs
/// further out, as soon as its state machine has the entries. The log of this run counts the same when they are stored, so
/// another driver begins with what the log leaves.
pub struct InnerLimits {
    state: Mutex<State>,
    /// The state of the run around this one.
    outer: Option<Arc<Self>>,
    /// The budgets of this run, and of those further out.
    pub budgets: Vec<Budget>,
}

struct State {
    /// The turn that this state belongs to.
    turn: u32,
    left: SharedLimits,
    /// Set if the runs inside stop after their steps.
    stop: Option<StopReason>,
}

impl InnerLimits {
    /// Creates the state of `run`, which is inside of a call of the run with the state `outer`.
    pub fn new(run: &Run, stop: Option<StopReason>, outer: Option<Arc<Self>>, budgets: Vec<Budget>) -> Self {
        Self { state: Mutex::new(State { turn: run.turn(), left: SharedLimits::of(run), stop }), outer, budgets }
    }

    /// Lets the runs inside stop after their steps.
    pub fn stop(&self, reason: StopReason) {
        lock(&self.state).stop.get_or_insert(reason);
    }

    /// Returns the reason why the runs inside ask no model any more, if there is one in this run or further out.
    pub fn stop_reason(&self) -> Option<StopReason> {
        let own = {
            let state = lock(&self.state);
            state.stop.clone().or_else(|| state.left.exceeded())
        };
        own.or_else(|| self.outer.as_ref()?.stop_reason())
    }

    /// Calls `advance` with what the runs around `run` have left, and subtracts what it uses. `own` is the state of `run`, if there
    /// may be runs inside of its calls, and `outer` that of the run around it.
    pub fn spend<E>(
        run: &mut Run,
        own: Option<&Arc<Self>>,
        outer: Option<&Arc<Self>>,
        advance: impl FnOnce(&mut Run, Option<SharedLimits>) -> Result<InnerUsage, E>,
    ) -> Result<(), E> {
        // The locks are held during the step, so that no two runs use the same rest. Every run locks from the inside out.
        let mut own = own.map(|own| lock(&own.state));
        let mut around: Vec<MutexGuard<'_, State>> = Vec::new();
        let mut next = outer;
        while let Some(shared) = next {
            around.push(lock(&shared.state));
            next = shared.outer.as_ref();
        }
        if let Some(own) = own.as_mut().filter(|own| own.turn != run.turn()) {
            // All calls of the last turn have ended, and the log has what they used.
            **own = State { turn: run.turn(), left: SharedLimits::of(run), stop: None };
        }
        let left = around.iter().map(|state| state.left).reduce(SharedLimits::min);
        let used = advance(run, left)?;
        own.iter_mut().chain(&mut around).for_each(|state| state.left.subtract(&used));
        Ok(())
    }
}

impl std::fmt::Debug for InnerLimits {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("InnerLimits").field("left", &lock(&self.state).left).finish_non_exhaustive()
    }
}
