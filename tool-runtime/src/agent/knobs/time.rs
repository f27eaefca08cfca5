//! How long things may take.

use std::time::Duration;

use super::super::Agent;

/// How long the parts of a run may take; `None` for any time. A tool's own limit is declared with it
/// (`#[tool(timeout = "5s")]`), that of the whole run is [`Agent::max_time`].
///
/// A model that is too slow is left alone: its turn has failed, and is asked for again or goes to the next model where
/// [`Agent::model_retries`] and [`Agent::fallback`] say so, otherwise the run has failed. When a step is over its time,
/// what goes on ends (calls that run are cancelled) and the run is
/// [`Stopped::TimedOut`](crate::agent::Stopped::TimedOut). In both cases it can go on with
/// [`Session::resume`](crate::agent::Session::resume).
///
/// ```
/// use std::time::Duration;
/// use tool_runtime::agent::Timeouts;
///
/// let timeouts = Timeouts { first_chunk: Some(Duration::from_secs(20)), ..Timeouts::default() };
/// # let _ = timeouts;
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timeouts {
    /// A turn of the model with its calls, tries again included. The time in which only a person could go on is not counted.
    pub step: Option<Duration>,
    /// A turn of the model, from the request to its end.
    pub model: Option<Duration>,
    /// From the request to the first piece of the answer.
    pub first_chunk: Option<Duration>,
    /// From one piece of the answer to the next.
    pub chunk: Option<Duration>,
}

impl Agent {
    /// Sets how long the parts of a run may take.
    pub fn timeouts(mut self, timeouts: Timeouts) -> Self {
        self.knobs.timeouts = timeouts;
        self
    }
}
