//! What the front is told.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::Driver;
use crate::agent::{Event as Told, Front};
use crate::run::LogEvent;

/// Tells the front. A panic in it is its own: the run goes on.
pub(in crate::agent) fn tell(front: &dyn Front, event: Told<'_>) {
    contained(|| front.event(event));
}

/// What comes of code of the application's; `None` where it panics.
pub(super) fn contained<T>(code: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(code)).ok()
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
            if matches!(event, LogEvent::TurnStarted { .. } | LogEvent::Finished { .. } | LogEvent::Stopped { .. })
                && let Some(step) = self.step.take()
            {
                self.tell(Told::StepEnded { step });
            }
            if matches!(event, LogEvent::TurnStarted { .. }) {
                self.step = Some(run.steps() as usize);
            }
            self.trace.logged(run, event);
            let told = match event {
                LogEvent::Queued { prompt } => Some(Told::PromptQueued(prompt)),
                LogEvent::Prompted { prompt, .. } => Some(Told::Prompted(prompt)),
                LogEvent::TurnFailed { error, again, .. } => Some(Told::StepFailed { error, again: *again }),
                LogEvent::Opened { call, obligation } => {
                    run.call(call).map(|call| Told::CallOpened { call, obligation })
                }
                LogEvent::Decided { obligation, decision, by, .. } => {
                    run.call(obligation.call()).map(|call| Told::CallDecided { call, obligation, decision, by })
                }
                LogEvent::Checked { call, .. } | LogEvent::Edited { call, .. } => {
                    run.call_behind(&mut last, call).map(Told::CallAccepted)
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
        let is_new = |event: &LogEvent| matches!(event, LogEvent::Prompted { prompt, .. } if !prompt.steers);
        if events.iter().any(is_new) {
            self.begin_anew();
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
