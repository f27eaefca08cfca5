//! Words of the letters.

use std::fmt;

use super::{
    knowledge::Status,
    slot::{Person, Slot},
};

/// A statement of an agent to the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// Let us meet there.
    Propose(Slot),
    /// I shall be there.
    Confirm(Slot),
    /// I cannot be there.
    Reject(Slot),
    /// It is no use.
    GiveUp,
}

impl Word {
    /// Returns the statement in a letter; `None` when it is in other words.
    pub fn read(content: &str) -> Option<Self> {
        let about = |slot| [Self::Propose(slot), Self::Confirm(slot), Self::Reject(slot)];
        Slot::all().flat_map(about).chain([Self::GiveUp]).find(|word| word.to_string() == content.trim())
    }

    /// Returns the statement's meaning for its author.
    pub fn fact(self) -> Option<(Slot, Status)> {
        match self {
            Self::Propose(slot) | Self::Confirm(slot) => Some((slot, Status::Can)),
            Self::Reject(slot) => Some((slot, Status::Cannot)),
            Self::GiveUp => None,
        }
    }
}

impl fmt::Display for Word {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Propose(Slot { place, time }) => write!(out, "I propose we meet at {place} in the {time}."),
            Self::Confirm(slot) => write!(out, "I confirm: {slot}"),
            Self::Reject(Slot { place, time }) => write!(out, "I cannot attend {place} in the {time}."),
            Self::GiveUp => out.write_str("I'm giving up - I don't think we can find a time that works for everyone."),
        }
    }
}

/// Names one after the other, as in "Alice, Bob".
pub(super) fn names(people: &[Person]) -> String {
    people.iter().map(Person::to_string).collect::<Vec<_>>().join(", ")
}
