//! State that all agents share, and state of each agent.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use super::{
    knowledge::Knowledge,
    mail::Mail,
    slot::{Person, Slot},
};

/// State that all agents share: the mail, and the minutes of the meeting.
#[derive(Debug, Default)]
pub struct Meeting {
    /// The mail.
    pub mail: Mail,
    minutes: Mutex<Minutes>,
}

#[derive(Debug, Default)]
struct Minutes {
    confirmed: BTreeMap<Person, Slot>,
    gave_up: Vec<Person>,
    is_broken_off: bool,
}

impl Meeting {
    /// Returns the slot that everybody confirmed; `None` while somebody did not, or confirmed another.
    pub fn agreed(&self) -> Option<Slot> {
        let minutes = self.minutes();
        let mut slots = Person::ALL.into_iter().map(|person| minutes.confirmed.get(&person).copied());
        let first = slots.next()??;
        slots.all(|slot| slot == Some(first)).then_some(first)
    }

    /// Returns the people who gave up, in that order.
    pub fn gave_up(&self) -> Vec<Person> {
        self.minutes().gave_up.clone()
    }

    /// Returns the slot that `person` confirmed.
    pub fn confirmed(&self, person: Person) -> Option<Slot> {
        self.minutes().confirmed.get(&person).copied()
    }

    pub(super) fn confirm(&self, person: Person, slot: Slot) {
        self.minutes().confirmed.insert(person, slot);
    }

    /// Returns whether `person` is the first to give up.
    pub(super) fn give_up(&self, person: Person) -> bool {
        let mut minutes = self.minutes();
        minutes.gave_up.push(person);
        minutes.gave_up.len() == 1
    }

    /// Ends the meeting for all: somebody cannot go on.
    pub(super) fn break_off(&self) {
        self.minutes().is_broken_off = true;
    }

    fn is_over(&self) -> bool {
        let minutes = self.minutes();
        minutes.is_broken_off || !minutes.gave_up.is_empty()
    }

    fn minutes(&self) -> MutexGuard<'_, Minutes> {
        self.minutes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where an agent sits: who it is, what it knows, and how long it waits for mail.
#[derive(Debug)]
pub struct Seat {
    /// The agent's person.
    pub me: Person,
    /// The shared state.
    pub meeting: Arc<Meeting>,
    /// How long to wait for mail.
    pub patience: Duration,
    knowledge: Mutex<Knowledge>,
}

impl Seat {
    /// A seat for `me`, who knows `knowledge` at first.
    pub fn new(me: Person, knowledge: Knowledge, meeting: Arc<Meeting>, patience: Duration) -> Self {
        Self { me, meeting, patience, knowledge: Mutex::new(knowledge) }
    }

    /// Returns this agent's knowledge.
    pub fn knowledge(&self) -> MutexGuard<'_, Knowledge> {
        self.knowledge.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns this agent's knowledge for people to read.
    pub fn written(&self) -> String {
        format!("{}'s Knowledge Base:{}", self.me, self.knowledge())
    }

    /// Returns whether this agent is done: it confirmed, somebody gave up, or somebody's model failed.
    pub fn is_done(&self) -> bool {
        self.meeting.confirmed(self.me).is_some() || self.meeting.is_over()
    }
}
