//! An agent's knowledge of when people can come.

use std::{collections::BTreeMap, fmt};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::slot::{Person, Place, Slot, Time};

/// A person's answer to a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// They can.
    Can,
    /// They cannot.
    Cannot,
}

/// A knowledge base: who can come where and when, as far as it is known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Knowledge {
    facts: BTreeMap<(Person, Slot), Status>,
}

impl Knowledge {
    /// Where and when `person` can come, by `can`, and nothing of anybody else.
    pub fn of(person: Person, can: impl Fn(Slot) -> bool) -> Self {
        let status = |slot| if can(slot) { Status::Can } else { Status::Cannot };
        Self { facts: Slot::all().map(|slot| ((person, slot), status(slot))).collect() }
    }

    /// Takes a fact in, in place of what was known before.
    pub fn note(&mut self, person: Person, slot: Slot, status: Status) {
        self.facts.insert((person, slot), status);
    }

    /// Returns whether `person` can come, if it is known.
    pub fn status(&self, person: Person, slot: Slot) -> Option<Status> {
        self.facts.get(&(person, slot)).copied()
    }

    /// All that is known.
    pub fn facts(&self) -> impl Iterator<Item = (Person, Slot, Status)> {
        self.facts.iter().map(|((person, slot), status)| (*person, *slot, *status))
    }

    /// Those of whom is known for `slot` what `status` says.
    pub fn those(&self, slot: Slot, status: Option<Status>) -> Vec<Person> {
        Person::ALL.into_iter().filter(|person| self.status(*person, slot) == status).collect()
    }
}

/// A line for each person and place.
impl fmt::Display for Knowledge {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for person in Person::ALL {
            write!(out, "\n  {person}:")?;
            for place in Place::ALL {
                write!(out, "\n    {place}: ")?;
                for (at, time) in Time::ALL.into_iter().enumerate() {
                    let status = match self.status(person, Slot { place, time }) {
                        Some(Status::Can) => "can",
                        Some(Status::Cannot) => "cannot",
                        None => "unknown",
                    };
                    write!(out, "{}{time}: {status}", if at == 0 { "" } else { ", " })?;
                }
            }
        }
        Ok(())
    }
}
