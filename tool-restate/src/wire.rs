//! The values that cross the network: appends, records, and the head of each run.

use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use tool_runtime::run::{Interrupt, Principal, Timestamp};
use tool_runtime::store::{Append, Head, StoreError};

/// Entries to append, as they cross the network.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Entries {
    /// The number of entries that the log has before.
    pub expected: u64,
    /// The number of entries to append.
    pub count: u64,
    /// The encoded entries.
    pub text: String,
    /// The run's head after these entries, with the interrupts that they open and close.
    head: Head,
    /// The time on the clock of the process that appends. Delays are computed from this time alone.
    pub now: Timestamp,
}

impl Entries {
    pub fn new(append: Append, now: Timestamp) -> Self {
        let Append { expected, count, text, head, .. } = append;
        Self { expected, count, text, head, now }
    }

    /// Returns the time in milliseconds after which the run must be resumed; `None` for never.
    pub fn due(&self) -> Option<u64> {
        self.head.due_at().map(|due| due.0.saturating_sub(self.now.0))
    }
}

/// The result of an append.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Appended {
    Yes,
    Conflict,
    NotFound,
}

impl Appended {
    pub fn into_result(self) -> Result<(), StoreError> {
        match self {
            Self::Yes => Ok(()),
            Self::Conflict => Err(StoreError::Conflict),
            Self::NotFound => Err(StoreError::NotFound),
        }
    }
}

/// A summary of a run that can be read without its log.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunHead {
    /// The number of entries in the log.
    pub rev: u64,
    pub owner: Principal,
    pub open: Vec<Interrupt>,
    pub changed: Option<Timestamp>,
    pub title: Option<String>,
}

impl RunHead {
    /// Returns the head after the append of `entries`. Fails with the reason if they do not continue the log.
    pub fn after(before: Option<Self>, entries: &Entries) -> Result<Self, Appended> {
        let mut kept = match before {
            Some(kept) => kept,
            None if entries.expected > 0 => return Err(Appended::NotFound),
            None => Self { rev: 0, owner: entries.head.owner.clone(), open: Vec::new(), changed: None, title: None },
        };
        if kept.rev != entries.expected {
            return Err(Appended::Conflict);
        }
        kept.rev += entries.count;
        let head = &entries.head;
        kept.open.retain(|open| !head.closed.contains(&open.id));
        kept.open.extend(head.opened.iter().cloned());
        kept.changed = head.changed.or(kept.changed);
        kept.title = head.title.clone().or(kept.title);
        Ok(kept)
    }
}

/// Returns the time on this machine's clock.
pub fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
