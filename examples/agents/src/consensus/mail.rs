//! The mail: each message goes to all other people.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

use super::slot::Person;

/// A message to all others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Letter {
    /// The author.
    pub from: Person,
    /// What.
    pub content: String,
}

/// A mail box for each person, and a copy of each message.
#[derive(Debug, Default)]
pub struct Mail {
    letters: Mutex<Letters>,
    /// A notification for each box.
    arrived: [Notify; Person::ALL.len()],
}

#[derive(Debug, Default)]
struct Letters {
    boxes: [Vec<Letter>; Person::ALL.len()],
    sent: Vec<Letter>,
}

impl Mail {
    /// Puts a message of `from` into the boxes of all others.
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

    /// Waits for messages to `person`, at most for `patience`, and empties the box.
    pub async fn wait(&self, person: Person, patience: Duration) -> Vec<Letter> {
        let something = async {
            loop {
                // A notification between the read and the wait is kept.
                let letters = self.read(person);
                if !letters.is_empty() {
                    return letters;
                }
                self.arrived[person as usize].notified().await;
            }
        };
        tokio::time::timeout(patience, something).await.unwrap_or_default()
    }

    /// Returns all messages, oldest first.
    pub fn sent(&self) -> Vec<Letter> {
        self.letters().sent.clone()
    }

    fn letters(&self) -> MutexGuard<'_, Letters> {
        self.letters.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
