//! The time limits of the parts of a run.

use std::time::Duration;

/// The time limits of the parts of a run; `None` for no limit.
///
/// A tool's own limit is part of its declaration (`#[tool(timeout = "5s")]`), and [`Agent::max_time`](crate::Agent::max_time) limits the whole run.
///
/// If a model is too slow, its turn fails. [`Agent::model_retries`](crate::Agent::model_retries) and [`Agent::fallback`](crate::Agent::fallback) decide whether the agent asks the
/// same or the next model; otherwise the run fails. If a step is too slow, the model's turn is dropped, running calls are
/// cancelled, and the run stops with [`StopReason::TimedOut`](crate::run::StopReason::TimedOut). In both cases
/// [`Session::resume`](crate::agent::Session::resume) continues the run.
///
/// ```
/// use std::time::Duration;
/// use tool_runtime::agent::Timeouts;
///
/// let timeouts = Timeouts { first_delta: Some(Duration::from_secs(20)), ..Timeouts::default() };
/// # let _ = timeouts;
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timeouts {
    /// The limit of a model's turn with its calls and retries. Time in which the run only waits for decisions does not count.
    pub step: Option<Duration>,
    /// The limit of a turn of the model, from the request to its end.
    pub model: Option<Duration>,
    /// The limit from the request to the first delta of the answer.
    pub first_delta: Option<Duration>,
    /// The limit from one delta of the answer to the next.
    pub delta: Option<Duration>,
    /// The limit of a started call's wait before its function begins, for example in the queue of
    /// [`ConcurrencyLimit`](crate::layer::ConcurrencyLimit). At its end, the model reads that the call did not run. This time does
    /// not count for the `timeout` of the tool, which begins with the function.
    pub start: Option<Duration>,
}
