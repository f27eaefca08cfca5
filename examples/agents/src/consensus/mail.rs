//! The mail: what one says, all others get.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

use super::slot::Person;

/// Something that somebody said to all others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Letter {
    /// The author.
    pub from: Person,
    /// What.
    pub content: String,
}

/// A mail box for each person, and a copy of all that was sent.
#[derive(Debug, Default)]
pub struct Mail {
    letters: Mutex<Letters>,
    /// One for each box.
    arrived: [Notify; Person::ALL.len()],
}

#[derive(Debug, Default)]
struct Letters {
    boxes: [Vec<Letter>; Person::ALL.len()],
    sent: Vec<Letter>,
}

impl Mail {
    /// Puts what `from` says into the boxes of all others.
    pub fn send(&self, from: Person, content: impl Into<String>) {
        let letter = Letter { from, content: content.into() };
        let mut letters = self.letters();
        for to in Person::ALL.into_iter().filter(|to| *to != from) {
            letters.boxes[to as usize].push(letter.clone());
            self.arrived[to as usize].notify_one();
        }
        letters.sent.push(letter);
    }

    /// Empties the box of `person`.
    pub fn read(&self, person: Person) -> Vec<Letter> {
        std::mem::take(&mut self.letters().boxes[person as usize])
    }

    /// Empties the box of `person`, and waits for something to be in it, but not longer than `patience`.
    pub async fn wait(&self, person: Person, patience: Duration) -> Vec<Letter> {
        let something = async {
            loop {
                // A notice that comes between the look and the wait is kept.
                let letters = self.read(person);
                if !letters.is_empty() {
                    return letters;
                }
                self.arrived[person as usize].notified().await;
            }
        };
        tokio::time::timeout(patience, something).await.unwrap_or_default()
    }

    /// All that was sent, oldest first.
    pub fn sent(&self) -> Vec<Letter> {
        self.letters().sent.clone()
    }

    fn letters(&self) -> MutexGuard<'_, Letters> {
        self.letters.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
