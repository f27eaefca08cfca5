//! The log of a run as its workflow keeps it. These types are plain data, so the workflow stays deterministic.

use serde::{Deserialize, Serialize};
use tool_runtime::run::{Interrupt, InterruptId, Principal, RunId, Timestamp};
use tool_runtime::store::{Append, Head, Record};

use crate::pages::{Page, Part, PartInput, Position, page, split_text};

/// The maximum length of an interrupt that a summary contains, in bytes. A longer one is read in the log.
const MAX_LISTED_BYTES: usize = 4 << 10;

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
    /// The head of the run after these entries, without the interrupts in `unlisted`.
    pub head: Head,
    /// The interrupts that were opened, and are too long for the summary.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unlisted: Vec<InterruptId>,
    /// The pieces with which the text of the record begins, if the workflow has received them before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begun: Option<String>,
}

/// A piece of the text of an addition that is too long for one update.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Piece {
    /// The name of the pieces of this addition.
    pub of: String,
    /// The number of the piece, from 0.
    pub number: usize,
    pub text: String,
}

impl Addition {
    /// Creates the addition of `append` by `drive`.
    pub fn new(append: Append, drive: Option<DriveAttempt>) -> Self {
        let Append { expected, count, text, mut head, .. } = append;
        let is_long =
            |interrupt: &Interrupt| serde_json::to_vec(interrupt).is_ok_and(|text| text.len() > MAX_LISTED_BYTES);
        let (unlisted, opened): (Vec<_>, Vec<_>) = std::mem::take(&mut head.opened).into_iter().partition(is_long);
        head.opened = opened;
        let unlisted = unlisted.into_iter().map(|interrupt| interrupt.id).collect();
        Self { record: Record::new(expected, count, text), drive, head, unlisted, begun: None }
    }

    /// Removes the beginning of a long text, and returns it in pieces that each fit into an update. The rest fits, too.
    pub fn take_pieces(&mut self, name: &str) -> Vec<Piece> {
        let mut texts = split_text(&self.record.text);
        let Some(rest) = texts.pop().filter(|_| !texts.is_empty()).map(str::to_owned) else { return Vec::new() };
        let piece = |(number, text): (usize, &str)| Piece { of: name.to_owned(), number, text: text.to_owned() };
        let pieces = texts.into_iter().enumerate().map(piece).collect();
        (self.record.text, self.begun) = (rest, Some(name.to_owned()));
        pieces
    }

    /// Returns whether the addition changes the summary that lists show.
    pub fn changes_summary(&self) -> bool {
        let head = &self.head;
        head.changed.is_some() || !head.opened.is_empty() || !head.closed.is_empty() || !self.unlisted.is_empty()
    }
}

/// The result of an addition or a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Added {
    /// The entries were added, or the drive has the log.
    Stored,
    /// As `Stored`. The drive then pauses for a moment: the given number of additions by others have failed, because the drive was
    /// faster.
    StoredBeforeOthers(u32),
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
    /// The records after those in `parts`. One without entries is a piece: the text of the next record begins with it.
    records: Vec<Record>,
    /// The part of the run that lists show.
    pub summary: Summary,
    /// The workflows with the oldest records, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
    /// The ids of the earlier executions of the workflow.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub executions: Vec<String>,
    /// The number of additions by others than the drive that failed since the last that succeeded, and that number at the drive's
    /// last pause.
    #[serde(default)]
    failed: (u32, u32),
    /// The pieces of an addition that has not come yet, and their name.
    #[serde(skip)]
    begun: Option<(String, Vec<String>)>,
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
    /// The open interrupts, except for those in `unlisted`.
    pub waits: Vec<Interrupt>,
    /// The open interrupts that are too long for a list.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unlisted: Vec<InterruptId>,
}

impl RunLog {
    /// Creates the log of a run that begins with `first`.
    pub fn new(run: RunId, first: Addition) -> Self {
        let owner = first.head.owner.clone();
        let summary = Summary { owner, title: None, changed: Timestamp(0), waits: Vec::new(), unlisted: Vec::new() };
        let mut log = Self {
            run,
            due: None,
            is_deleted: false,
            rev: 0,
            drives: 0,
            claimed: None,
            records: Vec::new(),
            summary,
            parts: Vec::new(),
            executions: Vec::new(),
            failed: (0, 0),
            begun: None,
        };
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
        let is_driven = addition.drive.is_some();
        if addition.record.rev != self.rev {
            self.failed.0 = self.failed.0.saturating_add(u32::from(!is_driven));
            return Added::Conflict;
        }
        let Addition { record, head, unlisted, begun, .. } = addition;
        if let Some(name) = begun {
            // Another writer's pieces may have replaced these. The writer then adds its entries again.
            let Some((_, pieces)) = self.begun.take_if(|(known, _)| *known == name) else { return Added::Conflict };
            self.records.extend(pieces.into_iter().map(|text| Record::new(self.rev, 0, text)));
        }
        if record.count > 0 {
            self.rev += record.count;
            self.records.push(record);
        }
        self.due = head.due_at();
        let summary = &mut self.summary;
        summary.owner = head.owner;
        summary.waits.retain(|interrupt| !head.closed.contains(&interrupt.id));
        summary.waits.extend(head.opened);
        summary.unlisted.retain(|id| !head.closed.contains(id));
        summary.unlisted.extend(unlisted);
        if let Some(changed) = head.changed {
            summary.changed = summary.changed.max(changed);
            summary.title = head.title;
        }
        if !is_driven {
            self.failed = (0, 0);
            return Added::Stored;
        }
        let before = std::mem::replace(&mut self.failed.1, self.failed.0);
        if self.failed.0 > before { Added::StoredBeforeOthers(self.failed.0) } else { Added::Stored }
    }

    /// Keeps a piece of the next addition.
    pub fn begin(&mut self, piece: Piece) -> Added {
        if self.is_deleted {
            return Added::Deleted;
        }
        match &mut self.begun {
            begun if piece.number == 0 => *begun = Some((piece.of, vec![piece.text])),
            Some((name, pieces)) if *name == piece.of && pieces.len() == piece.number => pieces.push(piece.text),
            _ => return Added::Conflict,
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

    /// Returns the records from `at` on, as far as they fit into one answer, or the workflow that has them; `None` if the run was
    /// deleted.
    pub fn read(&self, at: Position) -> Option<Page> {
        if self.is_deleted {
            return None;
        }
        Some(match self.parts.iter().find(|part| at < part.end) {
            Some(part) => Page::In(part.workflow.clone()),
            None => Page::Records(page(&self.records, self.first_position(), at, false)),
        })
    }

    /// Returns the position at which the records of this workflow begin.
    fn first_position(&self) -> Position {
        self.parts.last().map_or(Position::default(), |part| part.end)
    }

    /// Returns the oldest records, for a workflow of their own, if the records have more than `max` bytes.
    pub fn oldest(&self, max: usize) -> Option<PartInput> {
        (self.byte_len() > max).then(|| PartInput::new(self.first_position(), &self.records))
    }

    /// Removes the oldest records, which `workflow` has.
    pub fn move_out(&mut self, workflow: String, moved: &PartInput) {
        self.records.drain(..moved.records.len());
        self.parts.push(Part { workflow, end: moved.end() });
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
        Addition { record, drive, head: serde_json::from_value(head).unwrap(), unlisted: Vec::new(), begun: None }
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

    #[test]
    fn a_fast_drive_pauses_for_others_until_one_of_them_was_faster() {
        let mut log = RunLog::new("run".into(), addition(0, None));
        log.begin_drive();
        let drive = Some(DriveAttempt { number: 1, attempt: 1 });
        assert_eq!(log.add(addition(1, drive)), Added::Stored);
        for failed in 1..4 {
            assert_eq!(log.add(addition(0, None)), Added::Conflict);
            assert_eq!(log.add(addition(2 * u64::from(failed), drive)), Added::StoredBeforeOthers(failed));
            assert_eq!(log.add(addition(2 * u64::from(failed) + 1, drive)), Added::Stored, "once for each");
        }
        assert_eq!(log.add(addition(8, None)), Added::Stored);
        assert_eq!(log.add(addition(9, drive)), Added::Stored);
        assert_eq!(log.add(addition(0, None)), Added::Conflict);
        assert_eq!(log.add(addition(10, drive)), Added::StoredBeforeOthers(1), "counted anew");
    }
}
