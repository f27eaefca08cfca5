//! What a call used of the limits of its run.

use serde::{Deserialize, Serialize};

use super::Run;
use crate::message::Usage;

/// What a call used of the limits of its run, because a run of its own went on inside of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Spent {
    /// Tokens.
    pub usage: Usage,
    /// Calls.
    pub calls: u32,
    /// Tries again of failed calls.
    pub retries: u32,
}

impl Spent {
    pub(super) fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

impl std::ops::AddAssign for Spent {
    fn add_assign(&mut self, other: Self) {
        self.usage += other.usage;
        self.calls = self.calls.saturating_add(other.calls);
        self.retries = self.retries.saturating_add(other.retries);
    }
}

impl Run {
    /// How many calls the run may still make, how many failed ones try again, and how many tokens use.
    #[cfg(feature = "agent")]
    pub(crate) fn left(&self) -> (u32, u32, Option<u64>) {
        let super::Limits { calls, retries, .. } = self.options.limits;
        let made = u32::try_from(self.calls.len()).unwrap_or(u32::MAX).saturating_add(self.inner_calls);
        let used = self.turns.iter().map(|turn| turn.usage.input_tokens.saturating_add(turn.usage.output_tokens)).sum();
        let tokens = self.options.limits.tokens.map(|most| most.saturating_sub(used));
        (calls.saturating_sub(made), retries.saturating_sub(self.retries), tokens)
    }

    /// How many calls there were before this turn, those of runs inside of calls included.
    pub(super) fn calls_before(&self) -> u32 {
        self.first.saturating_add(self.inner_calls)
    }
}
