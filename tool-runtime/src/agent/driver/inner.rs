//! The limits and conditions that a driven run shares with the runs inside of its calls.

use std::sync::Arc;

use super::Driver;
use crate::agent::inner_limits::InnerLimits;
use crate::run::StopReason;
use tool_run::run::LogInput;

/// The state of the application's conditions before an input with the usage of an inner run.
#[derive(Clone, Copy)]
pub struct BeforeInnerUsage {
    has_held: bool,
}

impl Driver<'_> {
    /// Returns the part of this run that the runs inside of its calls see.
    pub fn inner_limits(&self) -> &Arc<InnerLimits> {
        let setup = &self.stored.agent().setup;
        let limits = || InnerLimits::new(self.run(), self.stop_by_usage(), setup.outer.clone(), setup.budgets.clone());
        self.inner_limits.get_or_init(|| Arc::new(limits()))
    }

    /// Returns the state before `input` is recorded, if it has the usage of an inner run.
    pub(super) fn before_inner_usage(&self, input: &LogInput) -> Option<BeforeInnerUsage> {
        self.inner_limits.get()?;
        let has_usage = matches!(input, LogInput::DurableStepEnded { spent, .. } if !spent.turns.is_empty());
        has_usage.then(|| BeforeInnerUsage { has_held: self.stored.condition().is_some() })
    }

    /// Lets the runs inside of calls stop after their steps, if this run must stop after its step, or if the usage of one of
    /// them has made a condition hold.
    pub(super) fn stop_inner_runs(&self, before: Option<BeforeInnerUsage>) {
        let Some(limits) = self.inner_limits.get() else { return };
        if self.run().is_stopping() {
            return limits.stop(StopReason::Requested);
        }
        let Some(BeforeInnerUsage { has_held }) = before else { return };
        // A condition that held before, such as a number of steps, lets the calls of this step end.
        let caused = || self.stored.condition().filter(|_| !has_held);
        if let Some(reason) = self.stop_by_usage().or_else(caused) {
            limits.stop(reason);
        }
    }

    /// Returns the reason why the runs inside of the present calls must stop, if the log alone gives one.
    fn stop_by_usage(&self) -> Option<StopReason> {
        if self.run().is_stopping() {
            return Some(StopReason::Requested);
        }
        self.stored.agent().setup.stop.as_ref()?.holds_by_usage(self.run()).map(StopReason::Condition)
    }
}
