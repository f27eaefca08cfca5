//! Everybody who watches a run: its observer, its hooks and its trace.

mod inputs;
mod trace;

use std::{
    collections::HashMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use super::{Agent, Event as AgentEvent, Observer};
use crate::gate::Gate;
use crate::run::{CallId, Phase, Run};
use crate::tool::{CallError, Output};
use inputs::Hooks;
pub use inputs::Inputs;
use tool_run::run::LogEvent;
use trace::Trace;
pub use trace::{carried, chat, spawn, within};

/// Everybody who watches a run.
pub struct Observers {
    observer: Arc<dyn Observer>,
    pub hooks: Hooks,
    pub trace: Trace,
    /// The step that was reported as started and not yet as ended.
    step: Option<usize>,
    /// Details about failures, which only those who watch get.
    details: HashMap<CallId, String, foldhash::fast::RandomState>,
}

impl Observers {
    /// Those of a run of `agent` whose calls `gate` checks.
    pub fn new(agent: &Agent, gate: &Gate, observer: Arc<dyn Observer>) -> Self {
        Self {
            observer,
            hooks: Hooks::new(agent, gate.tools()),
            trace: Trace::new(agent),
            step: None,
            details: HashMap::default(),
        }
    }

    /// Reports an event.
    pub fn tell(&self, event: AgentEvent<'_>) {
        tell(&*self.observer, event);
    }

    /// Takes note that a run goes on which may be in the middle of a step.
    pub fn resumed(&mut self, run: &Run) {
        let is_busy = matches!(run.phase(), Phase::Generating | Phase::Acting | Phase::Suspended);
        self.step = is_busy.then(|| run.steps() as usize);
    }

    /// Reports the end of a call's task.
    pub fn task_ended(&mut self, call: &CallId, outcome: &Result<Output, CallError>) {
        self.trace.ended(call, outcome);
        if let Err(error) = outcome {
            self.add_detail(call, error.for_log());
        }
    }

    /// Adds why a call fails, for those who watch.
    pub fn add_detail(&mut self, call: &CallId, detail: String) {
        self.details.insert(call.clone(), detail);
    }

    /// Reports entries of the log of `run`.
    pub fn publish(&mut self, run: &Run, entries: &[LogEvent]) {
        let mut last = 0;
        for entry in entries {
            self.publish_step(run, entry);
            self.trace.logged(run, entry);
            let told = match entry {
                LogEvent::Queued { prompt } => Some(AgentEvent::PromptQueued(prompt)),
                LogEvent::Prompted { prompt, .. } => Some(AgentEvent::Prompted(prompt)),
                LogEvent::TurnFailed { error, again, .. } => Some(AgentEvent::StepFailed { error, again: *again }),
                LogEvent::Opened { call, interrupt } => {
                    run.call(call).map(|call| AgentEvent::CallOpened { call, interrupt })
                }
                LogEvent::Decided { interrupt, decision, by, .. } => {
                    run.call(interrupt.call()).map(|call| AgentEvent::CallDecided { call, interrupt, decision, by })
                }
                LogEvent::Checked { call, .. } | LogEvent::Edited { call, .. } => {
                    run.call_behind(&mut last, call).map(AgentEvent::CallAccepted)
                }
                LogEvent::Started { call, .. } => run.call_behind(&mut last, call).map(AgentEvent::CallStarted),
                LogEvent::Ended { call, result, .. } => run.call_behind(&mut last, call).map(|call| {
                    let detail = self.details.get(&call.id).map(String::as_str);
                    AgentEvent::CallFinished { call, result, detail }
                }),
                _ => None,
            };
            if let Some(told) = told {
                self.tell(told);
            }
        }
        self.forget_details(entries);
    }

    /// Reports that a step ended, before what ended it.
    fn publish_step(&mut self, run: &Run, entry: &LogEvent) {
        let begins = matches!(entry, LogEvent::TurnStarted { .. });
        if (begins || matches!(entry, LogEvent::Finished { .. } | LogEvent::Stopped { .. }))
            && let Some(step) = self.step.take()
        {
            self.tell(AgentEvent::StepEnded { step });
        }
        if begins {
            self.step = Some(run.steps() as usize);
        }
    }

    fn forget_details(&mut self, entries: &[LogEvent]) {
        for entry in entries {
            if let LogEvent::Ended { call, .. } = entry
                && !self.details.is_empty()
            {
                self.details.remove(call);
            }
        }
    }
}

/// Reports an event to an observer. A panic in it is its own: the run goes on.
pub fn tell(observer: &dyn Observer, event: AgentEvent<'_>) {
    contained(|| observer.event(event));
}

/// Runs code of the application; returns `None` where it panics.
pub fn contained<T>(code: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(code)).ok()
}
