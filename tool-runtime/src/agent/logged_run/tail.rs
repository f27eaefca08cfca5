//! The entries of a log that are not stored yet.

use super::KEPT_CAPACITY;
use crate::agent::AgentError;
use tool_run::run::LogEntry;

/// The entries that the run has, and the store does not.
#[derive(Default)]
pub struct Tail {
    pub entries: Vec<LogEntry>,
    /// The positions in `entries` at which the entries of each input begin.
    pub begins: Vec<usize>,
    /// Set if the run refused an entry that followed from its own step.
    pub refused: Option<AgentError>,
    /// Set if the entries create the run of a request with an idempotency key, which another process may have, too.
    pub may_join: bool,
}

impl Tail {
    /// Removes the first `count` entries, which end an input, and returns them.
    pub fn take_first(&mut self, count: usize) -> Vec<LogEntry> {
        self.begins.retain(|begin| *begin >= count);
        self.begins.iter_mut().for_each(|begin| *begin -= count);
        self.entries.drain(..count).collect()
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.refused.is_none()
    }

    /// Puts back entries that were removed from the beginning.
    pub fn put_before(&mut self, mut first: Vec<LogEntry>) {
        if !first.is_empty() {
            first.append(&mut self.entries);
            self.entries = first;
        }
    }

    pub fn clear(&mut self) {
        self.entries.clear();
        self.entries.shrink_to(KEPT_CAPACITY);
        self.begins.clear();
        self.begins.shrink_to(KEPT_CAPACITY);
    }
}

/// Returns whether `entry` is a part of the model's turn, or its failure.
pub fn is_of_model(entry: &LogEntry) -> bool {
    match entry {
        LogEntry::Offered { .. } | LogEntry::Called { .. } | LogEntry::Written { .. } | LogEntry::TurnEnded { .. } => {
            true
        }
        LogEntry::TurnFailed { model, .. } => model.is_some(),
        _ => false,
    }
}

pub fn has_new_prompt(entries: &[LogEntry]) -> bool {
    entries.iter().any(|entry| matches!(entry, LogEntry::Prompted { prompt, .. } if !prompt.steers))
}
