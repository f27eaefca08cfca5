//! The limits and conditions that a run shares with the runs inside of its calls, and with the runs around it.

use std::sync::Arc;

use super::Log;
use crate::agent::shared::Shared;
use crate::run::{Refusal, StopReason};
use tool_run::run::{Action, LogEntry, StepInput, step_into};

/// The state of the application's conditions before an entry with the usage of an inner run.
#[derive(Clone, Copy)]
pub struct BeforeInnerUsage {
    has_held: bool,
}

impl Log {
    /// Returns the consequences of `input` within the limits of the runs around this one.
    pub(super) fn step_within(&mut self, input: StepInput) -> Result<(Vec<LogEntry>, Vec<Action>), Refusal> {
        let (run, lists) = (&self.run, std::mem::take(&mut self.queue.lists));
        match (self.shared.get(), &self.agent.setup.outer) {
            (None, None) => step_into(run, input, lists, None),
            (own, outer) => Shared::spend(run, own, outer.as_ref(), |left| step_into(run, input, lists, left)),
        }
    }

    /// Returns the part of this run that the runs inside of its calls see.
    pub fn shared(&self) -> &Arc<Shared> {
        let outer = || self.agent.setup.outer.clone();
        self.shared.get_or_init(|| Arc::new(Shared::new(&self.run, self.stop_by_usage(), outer())))
    }

    /// Returns the reason why the runs around this one let it ask no model any more, if there is one.
    pub fn stop_outside(&self) -> Option<StopReason> {
        self.agent.setup.outer.as_ref()?.stop_reason()
    }

    /// Returns the condition of the application that holds, if one does.
    pub(super) fn condition(&self) -> Option<StopReason> {
        self.agent.setup.stop.as_ref()?.holds(&self.run).map(StopReason::Condition)
    }

    /// Returns the state before `entries` are applied, if they have the usage of an inner run.
    pub(super) fn before_inner_usage(&self, entries: &[LogEntry]) -> Option<BeforeInnerUsage> {
        self.shared.get()?;
        let has_usage =
            |entry: &LogEntry| matches!(entry, LogEntry::DurableStepEnded { spent, .. } if !spent.turns.is_empty());
        entries.iter().any(has_usage).then(|| BeforeInnerUsage { has_held: self.condition().is_some() })
    }

    /// Lets the runs inside of calls stop after their steps, if this run must stop after its step, or if the usage of one of
    /// them has made a condition hold.
    pub(super) fn stop_inner_runs(&self, before: Option<BeforeInnerUsage>) {
        let Some(shared) = self.shared.get() else { return };
        if self.run.is_stopping() {
            return shared.stop(StopReason::Requested);
        }
        let Some(BeforeInnerUsage { has_held }) = before else { return };
        // A condition that held before, such as a number of steps, lets the calls of this step end.
        let caused = || self.condition().filter(|_| !has_held);
        if let Some(reason) = self.stop_by_usage().or_else(caused) {
            shared.stop(reason);
        }
    }

    /// Returns the reason why the runs inside of the present calls must stop, if the log alone gives one.
    fn stop_by_usage(&self) -> Option<StopReason> {
        if self.run.is_stopping() {
            return Some(StopReason::Requested);
        }
        self.agent.setup.stop.as_ref()?.holds_by_usage(&self.run).map(StopReason::Condition)
    }
}
