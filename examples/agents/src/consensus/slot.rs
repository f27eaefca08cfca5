//! Slots of a meeting: people, places and times.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A participant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum Person {
    /// Alice.
    Alice,
    /// Bob.
    Bob,
    /// Carol.
    Carol,
    /// Dave.
    Dave,
}

/// Where to meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Place {
    /// Bar.
    Bar,
    /// Museum.
    Museum,
}

/// When to meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Time {
    /// Morning.
    Morning,
    /// Evening.
    Evening,
}

/// A place at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Slot {
    /// Where.
    pub place: Place,
    /// When.
    pub time: Time,
}

impl Person {
    /// All who take part.
    pub const ALL: [Self; 4] = [Self::Alice, Self::Bob, Self::Carol, Self::Dave];
}

impl Place {
    /// All places.
    pub const ALL: [Self; 2] = [Self::Bar, Self::Museum];
}

impl Time {
    /// All times.
    pub const ALL: [Self; 2] = [Self::Morning, Self::Evening];
}

impl Slot {
    /// All slots, in the order in which they are tried.
    pub fn all() -> impl Iterator<Item = Self> {
        Place::ALL.into_iter().flat_map(|place| Time::ALL.map(|time| Self { place, time }))
    }
}

impl fmt::Display for Person {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, out)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Bar => "bar",
            Self::Museum => "museum",
        })
    }
}

impl fmt::Display for Time {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Morning => "morning",
            Self::Evening => "evening",
        })
    }
}

impl fmt::Display for Slot {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} at {}", self.place, self.time)
    }
}
