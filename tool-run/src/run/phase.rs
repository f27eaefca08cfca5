//! The phases of a run, the ends of its turns, and the reasons for which it stops.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};

use crate::message::{FinishReason, Usage};

/// The activity of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Activity {
    /// Nothing was asked yet.
    Idle,
    /// The next event starts a turn: a prompt was taken.
    Prompted,
    /// The model is asked.
    Generating,
    /// The turn's calls are dealt with.
    Acting(TurnEnd),
    Finished,
    Stopped(StopReason),
}

/// The end of the turn at hand.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnEnd {
    Safe,
    /// The run stops when the calls have ended.
    Cut(FinishReason),
    /// The model failed: the run stops when the calls have ended.
    Failed(String),
    /// The model is asked again when the calls have ended.
    Again,
}

impl TurnEnd {
    pub fn of(finish: FinishReason) -> Self {
        match finish {
            FinishReason::Paused => Self::Again,
            finish if finish.is_safe() => Self::Safe,
            finish => Self::Cut(finish),
        }
    }
}

/// The phase of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Phase {
    /// It waits for its first prompt.
    Idle,
    /// The model is asked.
    Generating,
    /// Calls are looked at, or run.
    Acting,
    /// Nothing can go on before somebody decides.
    Suspended,
    /// The model had no more calls to make. It can be prompted again.
    Finished,
    /// It was stopped. It can be prompted again.
    Stopped(StopReason),
}

/// The reason why a run was stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StopReason {
    /// The model wanted to go on, and had used all its steps.
    StepLimit,
    /// The model's turn was cut.
    Cut(FinishReason),
    /// The model failed.
    ModelFailed(String),
    /// A call was denied, and [`OnDeny::StopTurn`](super::OnDeny::StopTurn) holds.
    Denied,
    /// It was cancelled.
    Cancelled,
    /// It was asked to stop when its step had ended.
    Requested,
    /// A limit on the whole run was reached.
    OverBudget(String),
    /// What it took was longer than the driver gives it.
    TimedOut(String),
    /// A condition of the application holds, called this.
    Condition(String),
}

impl fmt::Display for Phase {
    /// The phase in a few words, such as `finished`, or the reason why the run was stopped.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Idle => "it was not prompted",
            Self::Generating => "the model is asked",
            Self::Acting => "calls run",
            Self::Suspended => "it waits for somebody",
            Self::Finished => "finished",
            Self::Stopped(reason) => return reason.fmt(out),
        })
    }
}

impl fmt::Display for StopReason {
    /// The reason in a few words, such as `no steps are left`.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::StepLimit => out.write_str("no steps are left"),
            Self::Cut(finish) => write!(out, "the model was cut off ({finish:?})"),
            Self::ModelFailed(error) => write!(out, "the model failed: {error}"),
            Self::Denied => out.write_str("a call was denied"),
            Self::Cancelled => out.write_str("it was cancelled"),
            Self::Requested => out.write_str("somebody wanted it to stop"),
            Self::OverBudget(limit) | Self::TimedOut(limit) | Self::Condition(limit) => out.write_str(limit),
        }
    }
}

/// The tokens that one turn of the model used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TurnUsage {
    /// The turn's number, from 1. A turn that failed has one, too.
    pub turn: u32,
    /// The model, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Arc<str>>,
    /// Tokens used.
    pub usage: Usage,
}

/// What a call used of the limits of its run, because a run of its own went on inside of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct NestedUsage {
    /// Tokens.
    pub usage: Usage,
    /// Calls.
    pub calls: u32,
    /// Tries again of failed calls.
    pub retries: u32,
}

impl NestedUsage {
    pub(super) fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

impl std::ops::AddAssign for NestedUsage {
    fn add_assign(&mut self, other: Self) {
        self.usage += other.usage;
        self.calls = self.calls.saturating_add(other.calls);
        self.retries = self.retries.saturating_add(other.retries);
    }
}
