//! Calls that were mended.

use super::Draft;
use crate::message::Usage;
use crate::run::{Author, CallId, Effect, LogEvent, Refusal, Stage};

impl Draft<'_> {
    /// A call that was refused is another now, and looked at again. That happens once, before anybody has judged it.
    pub(super) fn repaired(
        &mut self,
        id: CallId,
        name: Option<String>,
        arguments: String,
        by: Author,
        usage: Usage,
    ) -> Result<(), Refusal> {
        let may = |at: &usize| {
            self.stage(*at) == Stage::Proposed && self.call(*at).attempts == 0 && self.call(*at).revisions().is_empty()
        };
        let at = self.find(&id).filter(|at| self.turn_end.is_some() && may(at));
        let at = at.ok_or(Refusal::Misplaced { reason: "the call cannot be mended" })?;
        if let Some(limit) = self.too_large(&arguments) {
            return Err(Refusal::OverBudget { limit });
        }
        let name = name.unwrap_or_else(|| self.call(at).name.clone());
        self.log.push(LogEvent::Repaired { call: id.clone(), name, arguments: arguments.into(), by, usage });
        self.effects.push(Effect::Inspect(id));
        Ok(())
    }
}
