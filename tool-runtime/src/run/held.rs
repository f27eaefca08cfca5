//! Which calls of a turn wait for others: for one that runs alone, or because both touch the same.

use super::{Call, ObligationKind, Run, Stage};
#[cfg(test)]
use crate::run::search::mutants::{Mutant, lax};
use crate::tool::Touches;

impl Run {
    /// Whether nothing can go on before somebody decides.
    pub(super) fn is_waiting(&self) -> bool {
        let moving = [Stage::Proposed, Stage::Running, Stage::Unknown];
        self.count(Stage::Open) > 0
            && moving.iter().all(|stage| self.count(*stage) == 0)
            && (self.count(Stage::Ready) == 0 || self.is_barred())
    }

    /// Whether every call that is ready has to wait for one that is open.
    fn is_barred(&self) -> bool {
        let mut is_first_unfinished = true;
        for at in self.current_range() {
            let call = &self.calls[at];
            let alone = self.runs_alone(call);
            match call.stage() {
                Stage::Done => {}
                Stage::Ready if (is_first_unfinished || !alone) && !self.is_held(at) => return false,
                _ if alone => return true,
                _ => is_first_unfinished = false,
            }
        }
        true
    }

    /// Whether a call runs when those before it have ended, and those behind it wait.
    pub(super) fn runs_alone(&self, call: &Call) -> bool {
        self.options.execution == super::Execution::Sequential || call.tool.as_ref().is_some_and(|tool| tool.sequential)
    }

    /// Whether the call at `at`, which touches `touches`, has to wait before it begins: for one that comes before it, or for
    /// one that has begun already. `now` says how far the others are, and what they touch.
    ///
    /// A call that has begun has what it touches until it ends: it is not held when it goes on after an answer, or is tried
    /// again. So no two calls wait for each other.
    pub(super) fn is_held_by<'a>(
        &self,
        at: usize,
        touches: Option<&Touches>,
        now: impl Fn(usize) -> (Stage, Option<&'a Touches>),
    ) -> bool {
        let Some(touches) = touches.filter(|_| !self.has_begun(at)) else { return false };
        self.current_range().filter(|other| *other != at).any(|other| {
            let (stage, touched) = now(other);
            stage != Stage::Done
                && touched.is_some_and(|touched| touched.conflicts(touches))
                && (other < at || self.has_begun(other))
        })
    }

    /// The same, as the run stands.
    pub(super) fn is_held(&self, at: usize) -> bool {
        #[cfg(test)]
        if lax(Mutant::IgnoreConflicts) {
            return false;
        }
        let call = |at: usize| &self.calls[at];
        self.is_held_by(at, call(at).touches(), |other| (call(other).stage(), call(other).touches()))
    }

    fn has_begun(&self, at: usize) -> bool {
        let call = &self.calls[at];
        call.attempts > 0 || call.past.as_ref().is_some_and(|past| past.handed_out)
    }
}

impl Call {
    /// What the call reads and writes with these arguments, where its tool says so.
    pub fn touches(&self) -> Option<&Touches> {
        self.touches.as_deref()
    }

    /// Whether it waits in the middle of its work.
    pub(super) fn is_asking(&self) -> bool {
        let kind = self.obligation().map(|open| &open.kind);
        matches!(kind, Some(ObligationKind::Answer { .. } | ObligationKind::Inner { .. }))
    }
}
