//! What a run is at, how its turns end, and why it stops.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::message::{FinishReason, Usage};

/// What the run is at.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Activity {
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

/// How the turn at hand ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum TurnEnd {
    Safe,
    /// The run stops when the calls have ended.
    Cut(FinishReason),
    /// The same, because the model failed.
    Failed(String),
    /// The model is asked again when the calls have ended.
    Again,
}

impl TurnEnd {
    pub(super) fn of(finish: FinishReason) -> Self {
        match finish {
            FinishReason::Paused => Self::Again,
            finish if finish.is_safe() => Self::Safe,
            finish => Self::Cut(finish),
        }
    }
}

/// What a run is at.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
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

/// Why a run was stopped.
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
    /// Somebody denied a call, and [`OnDeny::StopTurn`](super::OnDeny::StopTurn) holds.
    Denied,
    /// Somebody cancelled it.
    Cancelled,
    /// Somebody wanted it to stop when its step had ended.
    Requested,
    /// A limit on the whole run was reached.
    OverBudget(String),
    /// What it took was longer than the driver gives it.
    TimedOut(String),
    /// A condition of the application holds, called this.
    Condition(String),
}

/// What one turn of the model used.
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
