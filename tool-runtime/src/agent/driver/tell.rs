//! What the front is told.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::Driver;
use crate::agent::{Event as Told, Front};
use crate::run::LogEvent;

/// Tells the front. A panic in it is its own: the run goes on.
pub(super) fn tell(front: &dyn Front, event: Told<'_>) {
    let _ = catch_unwind(AssertUnwindSafe(|| front.event(event)));
}

impl Driver<'_> {
    pub(super) fn tell(&self, event: Told<'_>) {
        tell(&*self.agent.front, event);
    }

    /// Tells the front what went into the log.
    pub(super) fn publish(&mut self, events: &[LogEvent]) {
        let run = &self.kept.run;
        let mut last = 0;
        for event in events {
            let told = match event {
                LogEvent::TurnStarted { .. } => Some(Told::StepStarted { step: run.steps() as usize }),
                LogEvent::Opened { call, obligation } => {
                    run.call(call).map(|call| Told::CallOpened { call, obligation })
                }
                LogEvent::Decided { obligation, decision, by, .. } => {
                    run.call(obligation.call()).map(|call| Told::CallDecided { call, obligation, decision, by })
                }
                LogEvent::Started { call, .. } => run.call_behind(&mut last, call).map(Told::CallStarted),
                LogEvent::Ended { call, result, .. } => run.call_behind(&mut last, call).map(|call| {
                    let detail = self.details.get(&call.id).map(String::as_str);
                    Told::CallFinished { call, result, detail }
                }),
                _ => None,
            };
            if let Some(told) = told {
                self.tell(told);
            }
        }
        for event in events {
            if let LogEvent::Ended { call, .. } = event
                && !self.details.is_empty()
            {
                self.details.remove(call);
            }
        }
    }
}
