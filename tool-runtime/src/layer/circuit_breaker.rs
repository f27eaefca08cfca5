//! Pauses of tools that keep failing.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::time::Instant;

use super::by_key::{ByKey, CallKey, MAX_KEYS, key_settings};
use crate::sync::lock;
use crate::tool::{CallError, CallFuture, ErasedTool};
use crate::toolset::{Invocation, Layer, Next};

/// A layer that pauses a tool that has failed several times in a row. Each tool of the set has a breaker for each principal, which
/// all runs of the principal share. So the failures that one principal causes pause nothing for others.
/// [`for_all`](Self::for_all) and [`key`](Self::key) set other breakers.
///
/// The layer knows at most 10,000 principals for each tool ([`ByKey`]). An open breaker is kept.
///
/// A *closed* breaker lets every call through. After several failures in a row it *opens*: it refuses calls at once with
/// [`CallError::LimitReached`]. The message tells the model for how long. After the pause, the breaker lets one call through as
/// a test (*half open*). A failure opens the breaker for another pause, and a success closes it.
///
/// ```
/// use std::time::Duration;
/// use tool_runtime::layer::CircuitBreaker;
///
/// // The service behind the tools is the same for everybody, so its failures count for all.
/// let breaker = CircuitBreaker::new(5, Duration::from_secs(30)).for_all();
/// # let _ = breaker;
/// ```
///
/// A call whose tool returned an error, panicked or timed out counts as a failure. An output ends a row of failures, and so does a
/// failure with feedback about the arguments. A call that was dropped or cancelled, or whose tool
/// did not run, counts for neither: the next call is the test.
#[derive(Clone, Debug)]
pub struct CircuitBreaker {
    failures: u32,
    pause: Duration,
    key: CallKey,
}

/// The pause in place of one that is too long for the clock: 30 years.
const MAX_PAUSE: Duration = Duration::from_hours(30 * 365 * 24);

struct ToolBreaker {
    breaker: CircuitBreaker,
    states: ByKey<Mutex<State>>,
}

enum State {
    Closed {
        failures: u32,
    },
    Open {
        until: Instant,
    },
    /// One call is testing the tool.
    HalfOpen,
}

impl CircuitBreaker {
    /// Creates a breaker that opens after `failures` (at least one) in a row, for `pause`.
    pub fn new(failures: u32, pause: Duration) -> Self {
        Self { failures: failures.max(1), pause, key: CallKey::Principal }
    }

    /// Counts the failures of a tool for all principals together.
    pub fn for_all(mut self) -> Self {
        self.key = CallKey::All;
        self
    }
}

key_settings!(CircuitBreaker: "Counts the failures of", "share a breaker");

impl Layer for CircuitBreaker {
    fn apply(self: Arc<Self>, tool: Arc<dyn ErasedTool>) -> Arc<dyn ErasedTool> {
        let states = ByKey::new(MAX_KEYS, || Mutex::new(State::Closed { failures: 0 }));
        let states = states.keep_while(|state| lock(state).is_open());
        Arc::new(ToolBreaker { breaker: (*self).clone(), states }).apply(tool)
    }
}

impl State {
    /// Returns whether the breaker refuses calls.
    fn is_open(&self) -> bool {
        match self {
            Self::Closed { .. } => false,
            Self::Open { until } => *until > Instant::now(),
            Self::HalfOpen => true,
        }
    }
}

impl ToolBreaker {
    /// Admits a call, or returns the time until the next attempt.
    fn admit(&self, call: &Invocation<'_>) -> Result<AdmittedCall<'_>, Duration> {
        let kept = self.breaker.key.state(call, &self.states);
        let mut state = lock(&kept);
        let is_probe = match &*state {
            State::Closed { .. } => false,
            State::Open { until } => match until.checked_duration_since(Instant::now()) {
                Some(left) if !left.is_zero() => return Err(left),
                _ => true,
            },
            State::HalfOpen => return Err(self.breaker.pause),
        };
        if is_probe {
            *state = State::HalfOpen;
        }
        drop(state);
        Ok(AdmittedCall { of: self, state: kept, is_probe, is_over: false })
    }

    fn open_state(&self) -> State {
        let now = Instant::now();
        State::Open { until: now.checked_add(self.breaker.pause).unwrap_or(now + MAX_PAUSE) }
    }
}

/// A call that the breaker admitted.
struct AdmittedCall<'a> {
    of: &'a ToolBreaker,
    state: Arc<Mutex<State>>,
    is_probe: bool,
    is_over: bool,
}

impl AdmittedCall<'_> {
    fn record_end(mut self, failed: bool) {
        self.is_over = true;
        let mut state = lock(&self.state);
        let next = match (&*state, failed) {
            // Calls that were running when it opened give no new information.
            (State::Open { .. } | State::HalfOpen, _) if !self.is_probe => return,
            (State::Closed { failures }, true) if failures + 1 < self.of.breaker.failures => {
                State::Closed { failures: failures + 1 }
            }
            (_, true) => self.of.open_state(),
            (_, false) => State::Closed { failures: 0 },
        };
        *state = next;
    }
}

impl Drop for AdmittedCall<'_> {
    fn drop(&mut self) {
        if self.is_probe && !self.is_over {
            // The call tested nothing; the next call is the test.
            *lock(&self.state) = State::Open { until: Instant::now() };
        }
    }
}

impl Layer for ToolBreaker {
    fn call<'a>(&'a self, call: Invocation<'a>, mut next: Next<'a>) -> CallFuture<'a> {
        Box::pin(async move {
            let admitted = self.admit(&call).map_err(|left| refused(&call.spec.name, left))?;
            let result = next.run().await;
            match &result {
                Err(error) if is_failure(error) => admitted.record_end(true),
                Ok(_) | Err(CallError::Failed(_)) => admitted.record_end(false),
                // The tool did not run, or did not end, so its state is still unknown.
                Err(_) => drop(admitted),
            }
            result
        })
    }
}

fn refused(name: &str, left: Duration) -> CallError {
    let seconds = left.as_secs() + u64::from(left.subsec_nanos() > 0);
    let limit = format!(
        "`{name}` has failed several times in a row and is switched off for {seconds} s; go on without it, use another \
         tool, or say that it does not work now"
    );
    CallError::LimitReached { limit }
}

/// Returns whether the tool failed for another reason than its arguments.
pub(super) fn is_failure(error: &CallError) -> bool {
    match error {
        CallError::Failed(failure) => failure.rejection().is_none(),
        CallError::Panicked { .. } | CallError::TimedOut { .. } => true,
        _ => false,
    }
}
