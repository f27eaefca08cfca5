//! Tests of pages that are loaded again, of second tabs, and of decisions, at every point of a chat. The chats use the AI SDK's
//! protocol or AG-UI, and are in a store or sealed at the client.
//!
//! `scripts/reloads` runs all of them. Tests of one point each are in `ai_sdk::reload` and `ag_ui::connect`.

mod ag_ui;
mod ai_sdk;
mod cases;
mod page;
mod tools;
mod walks;
mod world;

use std::collections::BTreeMap;

/// A kind of chats: the protocol, and the place where they are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Kind {
    pub(crate) protocol: Protocol,
    pub(crate) is_sealed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Protocol {
    AiSdk,
    AgUi,
}

pub(crate) const KINDS: [Kind; 4] = [
    Kind { protocol: Protocol::AiSdk, is_sealed: false },
    Kind { protocol: Protocol::AiSdk, is_sealed: true },
    Kind { protocol: Protocol::AgUi, is_sealed: false },
    Kind { protocol: Protocol::AgUi, is_sealed: true },
];

/// The counts of a test's actions, by name.
#[derive(Default)]
pub(crate) struct Counts(BTreeMap<&'static str, usize>);

impl Counts {
    pub(crate) fn add(&mut self, name: &'static str) {
        *self.0.entry(name).or_default() += 1;
    }

    pub(crate) fn get(&self, name: &str) -> usize {
        self.0.get(name).copied().unwrap_or_default()
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        for (name, count) in &other.0 {
            *self.0.entry(name).or_default() += count;
        }
    }

    pub(crate) fn to_line(&self) -> String {
        self.0.iter().map(|(name, count)| format!("{count} {name}")).collect::<Vec<_>>().join(", ")
    }
}
