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
    /// Calls that touch the same run side by side.
    IgnoreConflicts,
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

mod tests {
    use super::{Mutant, Switch};
    use crate::run::search::{explore, pairs, touching::Touching};

    /// The first invariant that the search finds broken, and whether the log was checked as always.
    fn caught(mutant: Mutant, strict: bool) -> &'static str {
        let _switch = Switch::on(mutant, strict);
        let touching = if mutant == Mutant::IgnoreConflicts { Touching::Same } else { Touching::Nothing };
        let broken = pairs().into_iter().find_map(|kinds| explore(kinds, 1, touching).broken);
        let (broken, path) = broken.unwrap_or_else(|| panic!("{mutant:?} is not caught"));
        println!("{mutant:?}: {broken:?} after {path:?}");
        broken.invariant
    }

    #[test]
    fn an_edit_that_keeps_the_old_grant_is_caught() {
        assert_eq!(caught(Mutant::EditKeepsGrant, true), "I10", "the log is refused");
        assert_eq!(caught(Mutant::EditKeepsGrant, false), "I1");
    }

    #[test]
    fn a_decision_that_counts_twice_is_caught() {
        assert_eq!(caught(Mutant::DecisionReplayed, true), "I7");
        assert_eq!(caught(Mutant::DecisionReplayed, false), "I7");
    }

    #[test]
    fn a_later_decision_that_wins_is_caught() {
        assert_eq!(caught(Mutant::LastDecisionWins, true), "I7");
        assert_eq!(caught(Mutant::LastDecisionWins, false), "I7");
    }

    #[test]
    fn an_automatic_second_start_is_caught() {
        assert_eq!(caught(Mutant::AutomaticRetry, true), "I10", "the log is refused");
        assert_eq!(caught(Mutant::AutomaticRetry, false), "I3");
    }

    #[test]
    fn a_grant_that_survives_a_prompt_is_caught() {
        assert_eq!(caught(Mutant::GrantSurvivesSupersede, true), "I2");
    }

    #[test]
    fn a_prompt_that_leaves_a_call_unanswered_is_caught() {
        assert_eq!(caught(Mutant::PromptLeavesUnanswered, true), "I10", "the log is refused");
        assert_eq!(caught(Mutant::PromptLeavesUnanswered, false), "I5");
    }

    #[test]
    fn a_policy_that_undoes_a_denial_is_caught() {
        assert_eq!(caught(Mutant::PolicyRecheck, true), "I2");
    }

    #[test]
    fn calls_that_conflict_side_by_side_are_caught() {
        assert_eq!(caught(Mutant::IgnoreConflicts, true), "I10", "the log is refused");
        assert_eq!(caught(Mutant::IgnoreConflicts, false), "I12");
    }

    #[test]
    fn a_result_that_denies_a_start_is_caught() {
        assert_eq!(caught(Mutant::LieOnSupersede, true), "I10", "the log is refused");
        assert_eq!(caught(Mutant::LieOnSupersede, false), "I6");
    }
}
