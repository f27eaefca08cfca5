//! Layers for tools that fail: retries, circuit breakers, and failures in the form of a rejection.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use crate::feedback::Rejection;
use crate::tool::{CallError, CallFuture, DynTool, Effect, Failure};
use crate::toolset::{Invocation, Layer, Next};

/// Tries a call again that failed in a way that may pass: a failure marked [`retryable`](crate::Failure::retryable), or a time
/// limit further inside. Only read-only or idempotent tools are tried again.
#[derive(Clone, Copy, Debug)]
pub struct Retry {
    more: u32,
    wait: Duration,
}

impl Retry {
    /// Creates a layer with up to `more` tries after the first, 100 ms, 200 ms, 400 ms, … apart.
    pub fn new(more: u32) -> Self {
        Self { more, wait: Duration::from_millis(100) }
    }

    /// Sets the wait before the second try. It doubles with each further one.
    pub fn wait(mut self, wait: Duration) -> Self {
        self.wait = wait;
        self
    }
}

impl Layer for Retry {
    fn call<'a>(&'a self, call: Invocation<'a>, mut next: Next<'a>) -> CallFuture<'a> {
        let harmless = call.spec.options.idempotent || call.spec.options.effect == Effect::ReadOnly;
        Box::pin(async move {
            let mut wait = self.wait;
            let mut left = if harmless { self.more } else { 0 };
            loop {
                let result = next.run().await;
                if left == 0 || !result.as_ref().is_err_and(may_pass) {
                    return result;
                }
                tokio::select! {
                    biased;
                    () = call.cx.cancellation().cancelled() => return result,
                    () = tokio::time::sleep(wait) => {}
                }
                left -= 1;
                wait = wait.saturating_mul(2);
            }
        })
    }
}

/// Pauses a tool that has failed several times in a row. Each tool of the set has its own breaker, which all runs that use the
/// set share.
///
/// A *closed* breaker lets every call through. After several failures in a row it *opens*: it refuses calls at once with
/// [`CallError::OverBudget`]. The message tells the model for how long, and to do something else meanwhile. When the pause is
/// over, it lets one call through as a test (*half open*). A success closes it, a failure opens it for another pause.
///
/// A failure is a call that failed, panicked or took too long. Rejected arguments, denials and cancelled calls are not failures,
/// nor is a failure with feedback about the arguments.
#[derive(Clone, Copy, Debug)]
pub struct CircuitBreaker {
    failures: u32,
    pause: Duration,
}

struct OfTool {
    breaker: CircuitBreaker,
    state: Mutex<State>,
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
        Self { failures: failures.max(1), pause }
    }
}

impl Layer for CircuitBreaker {
    fn apply(self: Arc<Self>, tool: Arc<dyn DynTool>) -> Arc<dyn DynTool> {
        let state = Mutex::new(State::Closed { failures: 0 });
        Arc::new(OfTool { breaker: *self, state }).apply(tool)
    }
}

impl OfTool {
    fn lock(&self) -> MutexGuard<'_, State> {
        // The state is always consistent.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets a call through, or fails with the time during which none is.
    fn admit(&self) -> Result<Probe<'_>, Duration> {
        let mut state = self.lock();
        let is_tried = match &*state {
            State::Closed { .. } => false,
            State::Open { until } => match until.checked_duration_since(Instant::now()) {
                Some(left) if !left.is_zero() => return Err(left),
                _ => true,
            },
            State::HalfOpen => return Err(self.breaker.pause),
        };
        if is_tried {
            *state = State::HalfOpen;
        }
        Ok(Probe { of: self, is_tried, is_over: false })
    }

    fn opened(&self) -> State {
        State::Open { until: Instant::now() + self.breaker.pause }
    }
}

/// A call that was let through.
struct Probe<'a> {
    of: &'a OfTool,
    is_tried: bool,
    is_over: bool,
}

impl Probe<'_> {
    fn ended(mut self, failed: bool) {
        self.is_over = true;
        let mut state = self.of.lock();
        let next = match (&*state, failed) {
            // Calls that were running when it opened give no new information.
            (State::Open { .. } | State::HalfOpen, _) if !self.is_tried => return,
            (State::Closed { failures }, true) if failures + 1 < self.of.breaker.failures => {
                State::Closed { failures: failures + 1 }
            }
            (_, true) => self.of.opened(),
            (_, false) => State::Closed { failures: 0 },
        };
        *state = next;
    }
}

impl Drop for Probe<'_> {
    fn drop(&mut self) {
        if self.is_tried && !self.is_over {
            // The call was dropped, so its outcome is unknown; the next call is the test.
            *self.of.lock() = State::Open { until: Instant::now() };
        }
    }
}

impl Layer for OfTool {
    fn call<'a>(&'a self, call: Invocation<'a>, mut next: Next<'a>) -> CallFuture<'a> {
        Box::pin(async move {
            let probe = self.admit().map_err(|left| refused(&call.spec.name, left))?;
            let result = next.run().await;
            probe.ended(result.as_ref().is_err_and(is_failure));
            result
        })
    }
}

/// Returns whether the same call may succeed later.
fn may_pass(error: &CallError) -> bool {
    match error {
        CallError::Failed(failure) => failure.is_retryable(),
        CallError::TimedOut { .. } => true,
        _ => false,
    }
}

/// Returns whether the tool failed for another reason than its arguments.
fn is_failure(error: &CallError) -> bool {
    match error {
        CallError::Failed(failure) => failure.feedback().is_none(),
        CallError::Panicked { .. } | CallError::TimedOut { .. } => true,
        _ => false,
    }
}

fn refused(name: &str, left: Duration) -> CallError {
    let seconds = left.as_secs() + u64::from(left.subsec_nanos() > 0);
    let limit = format!(
        "`{name}` has failed several times in a row and is switched off for {seconds} s; go on without it, use another \
         tool, or say that it does not work now"
    );
    CallError::OverBudget { limit }
}

/// Reports failures, panics and time limits to the model in the form of a rejection: `{"ok":false,"problems":[…]}`.
///
/// The model receives the same information as without this layer: the message of the tool's author, and only the fact of hidden
/// failures and panics. The causes stay in the log. A failure that already has this form stays as it is.
///
/// tool2agent's `catchExceptions` sends everything to the model, even paths in stack traces.
/// `Problems::new().prefix(Problems::PREFIX).in_full()` does that.
#[derive(Clone, Debug, Default)]
pub struct Problems {
    prefix: String,
    in_full: bool,
}

impl Problems {
    /// The prefix that tool2agent puts before the text of an exception, spelled exactly as there.
    pub const PREFIX: &'static str = "Exception occured during tool call execution: ";

    /// Creates a layer that reports failures as problems, with their usual texts for the model.
    pub fn new() -> Self {
        Self::default()
    }

    /// Puts `text` before each problem.
    pub fn prefix(mut self, text: impl Into<String>) -> Self {
        self.prefix = text.into();
        self
    }

    /// Sends the model what is meant for the log: causes, and the texts of panics. For tools without secrets.
    pub fn in_full(mut self) -> Self {
        self.in_full = true;
        self
    }

    fn translate(&self, error: CallError) -> CallError {
        if !is_failure(&error) {
            return error;
        }
        let text = match &error {
            CallError::Panicked { message } if self.in_full => message.clone(),
            error if self.in_full => error.for_log(),
            error => error.to_string(),
        };
        let problem = Rejection::from_message(format!("{}{text}", self.prefix));
        let failure = Failure::from(problem).source(format_args!("{}", error.for_log()));
        if may_pass(&error) { failure.retryable() } else { failure }.into()
    }
}

impl Layer for Problems {
    fn call<'a>(&'a self, _: Invocation<'a>, mut next: Next<'a>) -> CallFuture<'a> {
        Box::pin(async move { next.run().await.map_err(|error| self.translate(error)) })
    }
}
