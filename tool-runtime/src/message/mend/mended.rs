//! What was mended, told.

use std::fmt;

/// What was mended in a history. Positions are those in the history as it came, from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mended {
    /// A call had no answer. It has one now that says so.
    Dangling {
        /// The message with the call.
        at: usize,
        /// The call's id, as it is now.
        call_id: String,
    },
    /// An answer stood further behind than right behind its turn, or in another order than the calls. It was moved there.
    Late {
        /// Where it stood.
        at: usize,
        /// The call's id, as it is now.
        call_id: String,
    },
    /// A call was answered before. The later answer is gone.
    Duplicate {
        /// Where it stood.
        at: usize,
        /// The id that it named.
        call_id: String,
    },
    /// An answer to no call before it. It is gone.
    Orphan {
        /// Where it stood.
        at: usize,
        /// The id that it named.
        call_id: String,
    },
    /// A call had no id, or that of an earlier one. It has one of its own now, and so has its answer.
    SameId {
        /// The message with the call.
        at: usize,
        /// The id that it had.
        from: String,
        /// The id that it has.
        to: String,
    },
    /// A call, or an answer, had a name that no tool can have, or an answer another name than its call.
    Name {
        /// The message.
        at: usize,
        /// The name that it had.
        from: String,
        /// The name that it has.
        to: String,
    },
    /// A message, or a part of one, said nothing. It is gone.
    Empty {
        /// The message.
        at: usize,
    },
    /// A message follows one of the same role. They are one now.
    Merged {
        /// The second of them.
        at: usize,
    },
    /// A message, or a part of one, that this version cannot read. It is gone.
    Unread {
        /// The message.
        at: usize,
        /// What is wrong with it.
        what: String,
    },
}

impl fmt::Display for Mended {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dangling { at, call_id } => write!(out, "message {at}: the call {call_id} had no answer"),
            Self::Late { at, call_id } => write!(out, "message {at}: the answer to {call_id} was not behind its turn"),
            Self::Duplicate { at, call_id } => write!(out, "message {at}: {call_id} was answered before"),
            Self::Orphan { at, call_id } => write!(out, "message {at}: it answers {call_id}, which nobody called"),
            Self::SameId { at, from, to } => write!(out, "message {at}: the call `{from}` is now {to}"),
            Self::Name { at, from, to } => write!(out, "message {at}: the name `{from}` is now {to}"),
            Self::Empty { at } => write!(out, "message {at}: it said nothing"),
            Self::Merged { at } => write!(out, "message {at}: it is one with that before it"),
            Self::Unread { at, what } => write!(out, "message {at}: it cannot be read: {what}"),
        }
    }
}
