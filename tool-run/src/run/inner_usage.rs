//! The usage by the runs inside of calls, and by tools that ask a model by themselves.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{GrantedBy, LogEntry};
use crate::message::Usage;

/// The share of a run's limits that a run inside of one of its calls used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct InnerUsage {
    /// The tokens of all turns.
    pub usage: Usage,
    /// The tokens of each turn with its model. Older records have only the sum.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub turns: Vec<ModelUsage>,
    /// The number of calls.
    pub calls: u32,
    /// The number of retries of failed calls and turns.
    pub retries: u32,
}

/// The tokens that a model used in one turn of an inner run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ModelUsage {
    /// The model, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Arc<str>>,
    /// The tokens used.
    pub usage: Usage,
}

/// The name of the durable steps with the usage that a tool reports. It has spaces, so that it is no name that a tool chooses.
pub const USAGE_STEP: &str = "usage of a model";

impl InnerUsage {
    /// Returns the usage of one request to a model.
    pub fn of_model(model: Option<Arc<str>>, usage: Usage) -> Self {
        let mut used = Self::default();
        used.add_turn(usage, model);
        used
    }

    /// Returns the usage by the run of these entries, and by the functions of its tools. `with_inner` adds the usage by the runs inside
    /// of its calls.
    pub fn of(entries: &[LogEntry], with_inner: bool) -> Self {
        let mut used = Self::default();
        for entry in entries {
            match entry {
                LogEntry::TurnEnded { usage, model, .. }
                | LogEntry::Repaired { usage, model, .. }
                | LogEntry::Summarized { usage, model, .. } => {
                    used.add_turn(*usage, model.clone());
                }
                LogEntry::TurnFailed { usage, model, again, .. } => {
                    used.add_turn(*usage, model.clone());
                    used.retries = used.retries.saturating_add(u32::from(*again));
                }
                LogEntry::Called { .. } => used.calls = used.calls.saturating_add(1),
                LogEntry::CallGranted { by: GrantedBy::Retry, .. } => used.retries = used.retries.saturating_add(1),
                LogEntry::DurableStepEnded { name, spent, .. } if with_inner || name == USAGE_STEP => {
                    used += spent.clone();
                }
                _ => {}
            }
        }
        used
    }

    fn add_turn(&mut self, usage: Usage, model: Option<Arc<str>>) {
        self.usage += usage;
        if model.is_some() || usage != Usage::default() {
            self.turns.push(ModelUsage { model, usage });
        }
    }
}

impl std::ops::AddAssign for InnerUsage {
    fn add_assign(&mut self, other: Self) {
        if other.turns.is_empty() {
            self.add_turn(other.usage, None);
        } else {
            self.usage += other.usage;
            self.turns.extend(other.turns);
        }
        self.calls = self.calls.saturating_add(other.calls);
        self.retries = self.retries.saturating_add(other.retries);
    }
}
