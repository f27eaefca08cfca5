//! The log of a run as its workflow keeps it. These types are plain data, so the workflow stays deterministic.

use serde::{Deserialize, Serialize};
use tool_runtime::run::{Interrupt, Principal, RunId, Timestamp};
use tool_runtime::store::{Append, Head, Record};

/// An attempt to execute the activity that drives a run. A later attempt fences an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct DriveAttempt {
    /// The number of the activity in the workflow.
    pub number: u64,
    /// The number of the attempt at this activity.
    pub attempt: u32,
}

/// The input of the activity.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Task {
    /// The run.
    pub run: RunId,
    /// The number of the activity in the workflow.
    pub number: u64,
}

/// An append in the form that the workflow receives.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Addition {
    /// The entries, with the number of entries that the log has before.
    pub record: Record,
    /// The drive that appends; `None` for a decision, a prompt or a stop from outside.
    pub drive: Option<DriveAttempt>,
    /// The head of the run after these entries.
    pub head: Head,
}

impl Addition {
    /// Creates the addition of `append` by `drive`.
    pub fn new(append: Append, drive: Option<DriveAttempt>) -> Self {
        let Append { expected, count, text, head, .. } = append;
        Self { record: Record::new(expected, count, text), drive, head }
    }

    /// Returns whether the addition changes the summary that lists show.
    pub fn changes_summary(&self) -> bool {
        self.head.changed.is_some() || !self.head.opened.is_empty() || !self.head.closed.is_empty()
    }
}

/// The result of an addition or a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Added {
    /// The entries were added, or the drive has the log.
    Stored,
    /// The log does not have the expected number of entries.
    Conflict,
    /// A later drive has begun.
    Fenced,
    /// The run was deleted.
    Deleted,
}

/// The log of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RunLog {
    /// The run.
    pub run: RunId,
    /// The time from which the run must be driven; 0 for at once.
    pub due: Option<Timestamp>,
    /// Set if the run was deleted.
    pub is_deleted: bool,
    /// The number of entries.
    pub rev: u64,
    /// The number of drives that have begun.
    drives: u64,
    /// The drive that has the log. Earlier ones are fenced.
    claimed: Option<DriveAttempt>,
    records: Vec<Record>,
    /// The part of the run that lists show.
    pub summary: Summary,
}

/// The part of a run that can be listed without reading its log. The workflow's memo contains it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Summary {
    /// The owner.
    pub owner: Principal,
    /// The title.
    pub title: Option<String>,
    /// The time of the last change that a person sees.
    pub changed: Timestamp,
    /// The open interrupts.
    pub waits: Vec<Interrupt>,
}

impl RunLog {
    /// Creates the log of a run that begins with `first`.
    pub fn new(run: RunId, first: Addition) -> Self {
        let summary =
            Summary { owner: first.head.owner.clone(), title: None, changed: Timestamp(0), waits: Vec::new() };
        let mut log =
            Self { run, due: None, is_deleted: false, rev: 0, drives: 0, claimed: None, records: Vec::new(), summary };
        log.add(first);
        log
    }

    /// Adds entries, if they continue the log and their drive is not fenced.
    pub fn add(&mut self, addition: Addition) -> Added {
        if self.is_deleted {
            return Added::Deleted;
        }
        if addition.drive.is_some() && addition.drive < self.claimed {
            return Added::Fenced;
        }
        if addition.record.rev != self.rev {
            return Added::Conflict;
        }
        let Addition { record, head, .. } = addition;
        if record.count > 0 {
            self.rev += record.count;
            self.records.push(record);
        }
        self.due = head.due_at();
        let summary = &mut self.summary;
        summary.owner = head.owner;
        summary.waits.retain(|interrupt| !head.closed.contains(&interrupt.id));
        summary.waits.extend(head.opened);
        if let Some(changed) = head.changed {
            summary.changed = summary.changed.max(changed);
            summary.title = head.title;
        }
        Added::Stored
    }

    /// Counts a new drive, and gives the log to its first attempt. Returns the drive's task, and the present number of entries.
    pub fn begin_drive(&mut self) -> (Task, u64) {
        self.drives += 1;
        self.claimed = Some(DriveAttempt { number: self.drives, attempt: 1 });
        (Task { run: self.run.clone(), number: self.drives }, self.rev)
    }

    /// Gives the log to `drive`, unless a later drive or attempt has the log.
    pub fn claim(&mut self, drive: DriveAttempt) -> Added {
        if self.is_deleted {
            return Added::Deleted;
        }
        if Some(drive) < self.claimed {
            return Added::Fenced;
        }
        self.claimed = Some(drive);
        Added::Stored
    }

    /// Returns the records after the first `known` entries; `None` if the run was deleted.
    pub fn read(&self, known: u64) -> Option<Vec<Record>> {
        let is_new = |record: &&Record| record.rev + record.count > known;
        (!self.is_deleted).then(|| self.records.iter().filter(is_new).cloned().collect())
    }

    /// Returns the number of bytes in the texts of the records.
    pub fn byte_len(&self) -> usize {
        self.records.iter().map(|record| record.text.len()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addition(rev: u64, drive: Option<DriveAttempt>) -> Addition {
        let head = serde_json::json!({ "owner": "anna", "is_active": true, "wake": null, "opened": [], "closed": [] });
        let record = Record::new(rev, 1, "entry".to_owned());
        Addition { record, drive, head: serde_json::from_value(head).unwrap() }
    }

    #[test]
    fn a_later_drive_or_attempt_fences_the_earlier_ones() {
        let mut log = RunLog::new("run".into(), addition(0, None));
        let drive = |number, attempt| Some(DriveAttempt { number, attempt });
        assert_eq!(log.begin_drive().0.number, 1);
        assert_eq!(log.add(addition(1, drive(1, 1))), Added::Stored);
        assert_eq!(log.claim(DriveAttempt { number: 1, attempt: 2 }), Added::Stored);
        assert_eq!(log.add(addition(2, drive(1, 1))), Added::Fenced);
        assert_eq!(log.claim(DriveAttempt { number: 1, attempt: 1 }), Added::Fenced);
        assert_eq!(log.add(addition(2, drive(1, 2))), Added::Stored);
        // The next drive needs no claim.
        assert_eq!(log.begin_drive().0.number, 2);
        assert_eq!(log.add(addition(3, drive(1, 2))), Added::Fenced);
        assert_eq!(log.claim(DriveAttempt { number: 1, attempt: 3 }), Added::Fenced);
        assert_eq!(log.add(addition(3, drive(2, 1))), Added::Stored);
        // An append from outside, such as a decision, has no drive and is never fenced.
        assert_eq!(log.add(addition(4, None)), Added::Stored);
    }
}
