//! Mistakes that can be switched on in the state machine, to see that the search finds them.

use std::cell::Cell;

/// A mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::run) enum Mutant {
    /// The grant of edited arguments is for those before.
    EditKeepsGrant,
    /// A decision that comes twice counts twice.
    DecisionReplayed,
    /// A second decision takes the first one's place.
    LastDecisionWins,
    /// What was lost starts again, idempotent or not.
    AutomaticRetry,
    /// A call that may start still may after a new prompt.
    GrantSurvivesSupersede,
    /// A new prompt forgets the calls that wait.
    PromptLeavesUnanswered,
    /// After a denial the policies are asked again.
    PolicyRecheck,
    /// A new prompt says of calls that were started that they did not run.
    LieOnSupersede,
}

thread_local! {
    static MUTANT: Cell<Option<Mutant>> = const { Cell::new(None) };
    /// Whether the log is checked as always, although a mistake is switched on.
    static STRICT: Cell<bool> = const { Cell::new(true) };
}

/// Whether `step` makes this mistake.
pub(in crate::run) fn on(mutant: Mutant) -> bool {
    MUTANT.get() == Some(mutant)
}

/// Whether `fold` makes it, too, so that the invariants alone have to find it.
pub(in crate::run) fn lax(mutant: Mutant) -> bool {
    on(mutant) && !STRICT.get()
}

/// Switches a mistake on, on this thread, until it is dropped.
pub(super) struct Switch;

impl Switch {
    pub(super) fn on(mutant: Mutant, strict: bool) -> Self {
        MUTANT.set(Some(mutant));
        STRICT.set(strict);
        Self
    }
}

impl Drop for Switch {
    fn drop(&mut self) {
        MUTANT.set(None);
        STRICT.set(true);
    }
}
