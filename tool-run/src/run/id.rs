//! The identifiers of a run.

use std::{borrow::Borrow, collections::HashSet, fmt, hash::BuildHasher, str::FromStr, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};

use super::Run;

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Returns the identifier as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl<T: Into<Arc<str>>> From<T> for $name {
            fn from(text: T) -> Self {
                Self(text.into())
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str(&self.0)
            }
        }
    };
}

text_id! {
    /// The id of a run. The creator of the run chooses it, and it is unique in a store.
    RunId
}

text_id! {
    /// The id of a call, unique in its run. It is the provider's id if that is new and valid.
    CallId
}

text_id! {
    /// A person or service that may prompt and decide, as authenticated by the application.
    Principal
}

impl CallId {
    /// Returns whether `other` is a clone of this id, without a comparison of texts. The entries of [`advance`](super::advance)
    /// contain clones of the ids of the run's calls.
    pub(super) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Returns the text, which the id shares.
    pub fn shared(&self) -> Arc<str> {
        Arc::clone(&self.0)
    }
}

impl Run {
    /// Returns the id for a new call: `provider_id` if it is valid and new in the run, and otherwise a text that ends in a
    /// number. `others` holds ids that this turn has already used, but not logged.
    pub fn new_call_id<S: BuildHasher>(&self, provider_id: &str, others: &HashSet<CallId, S>) -> CallId {
        let is_taken = |id: &str| self.index.contains_key(id) || others.contains(id);
        let usable = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let is_usable = (1..=64).contains(&provider_id.len()) && provider_id.chars().all(usable);
        if is_usable && !is_taken(provider_id) {
            return provider_id.into();
        }
        let base = if is_usable { &provider_id[..provider_id.len().min(50)] } else { "call" };
        let mut number = self.calls.len() + others.len() + 1;
        loop {
            let id = format!("{base}_{number}");
            if !is_taken(&id) {
                return id.into();
            }
            number += 1;
        }
    }
}

impl Principal {
    /// Returns the principal of a program without authentication.
    pub fn anonymous() -> Self {
        Self(Arc::default())
    }
}

/// The id of an interrupt: the id of the call, and the number of the interrupt in that call.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct InterruptId {
    pub(crate) call: CallId,
    pub(crate) number: u32,
}

impl InterruptId {
    /// Returns the id of the call that waits.
    pub fn call(&self) -> &CallId {
        &self.call
    }

    /// Returns the number of the interrupt in its call, from 1.
    pub fn number(&self) -> u32 {
        self.number
    }
}

impl fmt::Display for InterruptId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}.{}", self.call, self.number)
    }
}

/// The error for a text that is not an [`InterruptId`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseInterruptIdError;

impl fmt::Display for ParseInterruptIdError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("the id of an interrupt is a call's id, a dot and a number, such as `call_1.1`")
    }
}

impl std::error::Error for ParseInterruptIdError {}

impl FromStr for InterruptId {
    type Err = ParseInterruptIdError;

    fn from_str(text: &str) -> Result<Self, ParseInterruptIdError> {
        let (call, number) = text.rsplit_once('.').ok_or(ParseInterruptIdError)?;
        Ok(Self { call: call.into(), number: number.parse().map_err(|_| ParseInterruptIdError)? })
    }
}

impl From<InterruptId> for String {
    fn from(id: InterruptId) -> Self {
        id.to_string()
    }
}

impl TryFrom<String> for InterruptId {
    type Error = ParseInterruptIdError;

    fn try_from(text: String) -> Result<Self, ParseInterruptIdError> {
        text.parse()
    }
}

/// A point in time, in milliseconds since 1970. A run never reads a clock; times arrive with the inputs of `advance`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(pub u64);

impl Timestamp {
    /// Returns the time that is `duration` after this one, in whole milliseconds.
    pub fn saturating_add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(millis(duration)))
    }
}

/// Returns the whole milliseconds of `duration`.
pub fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
