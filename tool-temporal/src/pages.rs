//! Logs in pieces that each fit into an update, an answer or an input. The server refuses more than two megabytes.
//!
//! A long text is stored in pieces. A piece is a record without entries, and the text of the next record begins with it. An answer
//! that ends with a piece, perhaps an empty one, is not the end of the log.

use serde::{Deserialize, Serialize};
use tool_runtime::store::Record;

/// The maximum length of a piece, in bytes. The text is JSON inside of JSON, which at most doubles it.
const MAX_PIECE: usize = 512 << 10;

/// The maximum length of the texts in an answer or an input, in bytes, unless one record alone is longer.
const MAX_PAGE: usize = 768 << 10;

/// A position in a log: after the first `known` entries, and the first `pieces` pieces of the next record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Position {
    pub known: u64,
    pub pieces: usize,
}

impl Position {
    /// Returns the position after `record`, which is at this one.
    fn after(self, record: &Record) -> Self {
        match record.count {
            0 => Self { pieces: self.pieces + 1, ..self },
            count => Self { known: record.rev + count, pieces: 0 },
        }
    }
}

/// The answer to a reader of a log.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Page {
    /// The records from the position on.
    Records(Vec<Record>),
    /// The workflow that has the records at this position.
    In(String),
}

/// A workflow that keeps old records of a log.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Part {
    /// The id of the workflow.
    pub workflow: String,
    /// The position after its records.
    pub end: Position,
}

/// The input of a workflow that keeps old records.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PartInput {
    begin: Position,
    pub records: Vec<Record>,
}

impl PartInput {
    /// Creates the input with the first of `records`, which begin at `begin`.
    pub fn new(begin: Position, records: &[Record]) -> Self {
        Self { begin, records: records[..count_within(records, MAX_PAGE)].to_vec() }
    }

    /// Returns the position after the records.
    pub fn end(&self) -> Position {
        self.records.iter().fold(self.begin, Position::after)
    }

    /// Returns the records from `at` on. The log goes on after them.
    pub fn read(&self, at: Position) -> Vec<Record> {
        page(&self.records, self.begin, at, true)
    }
}

/// Returns those of `records` that end after `at`, as far as they fit into one answer. `records` begin at `begin`, and the log
/// goes on after them if `has_more` is set.
pub fn page(records: &[Record], begin: Position, at: Position, has_more: bool) -> Vec<Record> {
    let mut position = begin;
    let is_before = |record: &Record| {
        position = position.after(record);
        position <= at
    };
    let records = &records[records.iter().map(is_before).take_while(|is_before| *is_before).count()..];
    let count = count_within(records, MAX_PAGE);
    let mut page = records[..count].to_vec();
    if (has_more || count < records.len()) && page.last().is_none_or(|last| last.count > 0) {
        let known = page.last().map_or(at.known, |last| last.rev + last.count);
        page.push(Record::new(known, 0, String::new()));
    }
    page
}

/// Returns the number of the first records whose texts have at most `max` bytes together, but at least one.
fn count_within(records: &[Record], max: usize) -> usize {
    let mut bytes = 0;
    let fits = |record: &&Record| {
        bytes += record.text.len();
        bytes <= max
    };
    records.iter().take_while(fits).count().max(1).min(records.len())
}

/// Splits a text into pieces that each fit into an update.
pub fn split_text(mut text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    while text.len() > MAX_PIECE {
        let (piece, rest) = text.split_at(text.floor_char_boundary(MAX_PIECE));
        pieces.push(piece);
        text = rest;
    }
    pieces.push(text);
    pieces
}

/// A reader of a log, page by page.
pub struct Reader {
    records: Vec<Record>,
    /// The pieces of the next record.
    begun: String,
    at: Position,
}

impl Reader {
    /// Creates the reader of the records after the first `known` entries.
    pub fn new(known: u64) -> Self {
        Self { records: Vec::new(), begun: String::new(), at: Position { known, pieces: 0 } }
    }

    /// Adds the next page. Returns the position at which to read on, or `None` at the end of the log.
    pub fn add(&mut self, page: Vec<Record>) -> Option<Position> {
        let mut has_more = false;
        for record in page {
            has_more = record.count == 0;
            if record.count == 0 && record.text.is_empty() {
                continue;
            }
            self.at = self.at.after(&record);
            self.begun.push_str(&record.text);
            if record.count > 0 {
                self.records.push(Record::new(record.rev, record.count, std::mem::take(&mut self.begun)));
            }
        }
        has_more.then_some(self.at)
    }

    /// Returns the records, with their whole texts.
    pub fn into_records(self) -> Vec<Record> {
        self.records
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a log whose first records are in parts, as a process does.
    fn read(parts: &[PartInput], rest: &[Record], known: u64) -> Vec<Record> {
        let (mut reader, mut at) = (Reader::new(known), Position { known, pieces: 0 });
        loop {
            let part = parts.iter().find(|part| at < part.end());
            let begin = parts.last().map_or(Position::default(), PartInput::end);
            let records = part.map_or_else(|| page(rest, begin, at, false), |part| part.read(at));
            assert!(records.iter().map(|record| record.text.len()).sum::<usize>() <= MAX_PAGE.max(MAX_PIECE));
            match reader.add(records) {
                Some(next) => at = next,
                None => return reader.into_records(),
            }
        }
    }

    #[test]
    fn a_log_is_read_whole_wherever_it_is_cut() {
        // Texts of every kind: short ones, one that fills a page, and those of several pieces with letters of two bytes.
        let sizes = [3, 700_000, 1_500_001, 10, 2_000_000, 5, 5];
        let (mut whole, mut stored, mut rev) = (Vec::new(), Vec::new(), 0);
        for (count, size) in (1..).zip(sizes) {
            let text = format!("a{}", "é".repeat(size / 2));
            whole.push(Record::new(rev, count, text.clone()));
            let mut pieces = split_text(&text);
            let last = pieces.pop().unwrap();
            stored.extend(pieces.into_iter().map(|piece| Record::new(rev, 0, piece.to_owned())));
            stored.push(Record::new(rev, count, last.to_owned()));
            rev += count;
        }
        let (mut parts, mut begin) = (Vec::new(), Position::default());
        loop {
            for (at, record) in whole.iter().enumerate() {
                assert_eq!(read(&parts, &stored, record.rev), whole[at..]);
            }
            assert!(read(&parts, &stored, rev).is_empty());
            if stored.is_empty() {
                break;
            }
            let part = PartInput::new(begin, &stored);
            stored.drain(..part.records.len());
            begin = part.end();
            parts.push(part);
        }
        assert!(parts.len() > 4, "{}", parts.len());
    }
}
