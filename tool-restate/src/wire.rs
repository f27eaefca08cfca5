//! The values that cross the network: appends, records, and the head of each run.

use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use tool_runtime::run::{Interrupt, Principal, Timestamp};
use tool_runtime::store::{Append, Head, Record, StoreError};

/// The maximum size in bytes of the text of an append. Restate takes messages of up to 32 MiB. In a message, the text is a JSON
/// string, at most twice as long, and the head repeats the arguments of its interrupts.
pub const MAX_APPEND_BYTES: usize = 10 << 20;

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
    /// As `Yes`. The driver then pauses for a moment: the given number of appends by others have failed, because the driver was
    /// faster.
    YesBeforeOthers(u32),
    Conflict,
    NotFound,
}

impl Appended {
    pub fn into_result(self) -> Result<(), StoreError> {
        match self {
            Self::Yes | Self::YesBeforeOthers(_) => Ok(()),
            Self::Conflict => Err(StoreError::Conflict),
            Self::NotFound => Err(StoreError::NotFound),
        }
    }
}

/// A page of a run's records.
#[derive(Debug, Serialize, Deserialize)]
pub struct Page {
    /// The number of entries in the log.
    pub rev: u64,
    pub records: Vec<Record>,
}

/// A summary of a run that can be read without its log. Fields with a default are missing in heads of earlier versions.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunHead {
    /// The number of entries in the log.
    pub rev: u64,
    pub owner: Principal,
    pub open: Vec<Interrupt>,
    pub changed: Option<Timestamp>,
    pub title: Option<String>,
    /// The time from which the run must be driven; `None` for never.
    #[serde(default = "at_once")]
    pub due: Option<Timestamp>,
    /// The number of drives that have begun.
    #[serde(default)]
    pub drives: u64,
    /// The number of appends by others that failed since the last that succeeded, and that number at the driver's last pause.
    #[serde(default)]
    pub failed: (u32, u32),
}

#[allow(clippy::unnecessary_wraps, reason = "it is the default of an optional field")]
fn at_once() -> Option<Timestamp> {
    Some(Timestamp(0))
}

impl RunHead {
    /// Returns the head after the append of `entries`. Fails with the reason if they do not continue the log.
    pub fn after(before: Option<Self>, entries: &Entries) -> Result<Self, Appended> {
        let mut kept = match before {
            // A log never becomes shorter: the run was deleted, and this is a later one with the same id.
            Some(kept) if kept.rev < entries.expected => return Err(Appended::NotFound),
            Some(kept) if kept.rev > entries.expected => return Err(Appended::Conflict),
            Some(kept) => kept,
            None if entries.expected > 0 => return Err(Appended::NotFound),
            None => Self {
                rev: 0,
                owner: entries.head.owner.clone(),
                open: Vec::new(),
                changed: None,
                title: None,
                due: None,
                drives: 0,
                failed: (0, 0),
            },
        };
        kept.rev += entries.count;
        let head = &entries.head;
        kept.open.retain(|open| !head.closed.contains(&open.id));
        kept.open.extend(head.opened.iter().cloned());
        kept.changed = head.changed.or(kept.changed);
        kept.title = head.title.clone().or(kept.title);
        kept.due = head.due_at();
        Ok(kept)
    }
}

/// Returns the time on this machine's clock.
pub fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns one entry after `expected` others.
    fn entries(expected: u64) -> Entries {
        let head =
            r#"{"owner":"anna","is_active":true,"wake":null,"opened":[],"closed":[],"changed":null,"title":null}"#;
        let (head, text) = (serde_json::from_str(head).unwrap(), String::new());
        Entries { expected, count: 1, text, head, now: Timestamp(0) }
    }

    #[test]
    fn an_append_continues_the_log_or_is_refused() {
        let head = RunHead::after(None, &entries(0)).unwrap();
        assert_eq!((head.rev, head.due), (1, Some(Timestamp(0))));
        let after =
            |before: &RunHead, expected| RunHead::after(Some(before.clone()), &entries(expected)).map(|head| head.rev);
        assert_eq!([after(&head, 0), after(&head, 1)], [Err(Appended::Conflict), Ok(2)]);
        // A log never becomes shorter: this is another run with the same id.
        assert_eq!(after(&head, 2), Err(Appended::NotFound));
        assert_eq!(RunHead::after(None, &entries(1)).unwrap_err(), Appended::NotFound);
    }

    #[test]
    fn a_head_of_an_earlier_version_counts_as_due() {
        let head: RunHead =
            serde_json::from_str(r#"{"rev":3,"owner":"anna","open":[],"changed":null,"title":null}"#).unwrap();
        assert_eq!((head.due, head.drives, head.failed), (Some(Timestamp(0)), 0, (0, 0)));
    }
}
