//! The receivers of a run's events: its observer, its hooks and its trace.

mod argument_hooks;
mod failures;
mod followed;
mod hooks;
mod reported;
mod trace;

use std::{
    collections::HashMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use crate::agent::{Agent, Event, Observer};
use crate::gate::Gate;
use crate::run::{CallId, GrantedBy, Phase, Run};
pub use argument_hooks::{ArgumentHooks, WatchedCalls};
pub use failures::{AfterFailure, FailureDetail};
pub use followed::ForeignEntries;
pub use hooks::{AnyHook, Hook, HookError, HookResult, observer_with_hooks};
use tool_run::run::{InputError, LogEntry};
use trace::Trace;
pub use trace::{chat, in_call_span, in_current_span, report_left_run, report_unreadable_run, within};

/// The receivers of a run's events.
pub struct Observers {
    pub observer: Arc<dyn Observer>,
    /// The hooks that follow the arguments of calls, if there are any.
    pub argument_hooks: Option<ArgumentHooks>,
    pub trace: Trace,
    /// The step whose start was reported, and whose end was not.
    step: Option<usize>,
    /// The details of failures, for observers only.
    details: HashMap<CallId, FailureDetail, foldhash::fast::RandomState>,
}

impl Observers {
    /// Creates the receivers for a run of `agent` whose calls `gate` checks.
    pub fn new(agent: &Agent, gate: &Gate, observer: Arc<dyn Observer>) -> Self {
        Self {
            observer,
            argument_hooks: ArgumentHooks::find(agent, gate.tools()),
            trace: Trace::new(agent),
            step: None,
            details: HashMap::default(),
        }
    }

    pub fn report(&self, event: Event<'_>) {
        report(&*self.observer, event);
    }

    /// Reports the refusal of an input from outside, if it is a prompt. Returns any other result of recording it.
    pub fn report_refused_prompt(&self, is_prompt: bool, done: Result<(), InputError>) -> Result<(), InputError> {
        match done {
            Err(InputError::Refused(refusal)) if is_prompt => {
                self.report(Event::PromptRefused(&refusal));
                Ok(())
            }
            done => done,
        }
    }

    /// Remembers the step of a run that continues in the middle of it.
    pub fn resumed(&mut self, run: &Run) {
        let is_busy = matches!(run.phase(), Phase::Generating | Phase::Acting | Phase::Suspended);
        self.step = is_busy.then(|| run.steps() as usize);
    }

    /// Adds the reason for a call's failure, for observers.
    pub fn add_detail(&mut self, call: &CallId, detail: FailureDetail) {
        self.details.insert(call.clone(), detail);
    }

    pub fn publish(&mut self, run: &Run, entries: &[LogEntry]) {
        let mut last = None;
        // The model is asked after the begin of its turn was stored. So a turn that begins and ends here is a call from outside.
        let started = entries.iter().position(|entry| matches!(entry, LogEntry::TurnStarted { .. }));
        let is_call =
            started.is_some_and(|at| entries[at..].iter().any(|entry| matches!(entry, LogEntry::TurnEnded { .. })));
        for entry in entries {
            self.publish_step(run, entry);
            self.trace.logged(run, entry, &self.details);
            let event = match entry {
                LogEntry::Queued { prompt } => Some(Event::PromptQueued(prompt)),
                LogEntry::Prompted { prompt, .. } => Some(Event::Prompted(prompt)),
                LogEntry::TurnStarted { .. } if is_call => Some(Event::StepStarted { step: run.steps() as usize }),
                LogEntry::Called { call, name, .. } if is_call => Some(Event::CallAnnounced { id: call, name }),
                LogEntry::TurnEnded { finish, usage, .. } if is_call => {
                    Some(Event::TurnEnded { reason: finish, usage: *usage })
                }
                LogEntry::TurnFailed { error, again, .. } => Some(Event::TurnFailed { error, again: *again }),
                LogEntry::HandedOver { to, .. } => Some(Event::HandedOver { to: to.as_deref() }),
                LogEntry::Opened { call, interrupt } => {
                    run.call(call).map(|call| Event::InterruptOpened { call, interrupt })
                }
                LogEntry::Decided { interrupt, decision, by, .. } => {
                    run.call(interrupt.call()).map(|call| Event::CallDecided { call, interrupt, decision, by })
                }
                LogEntry::CallAccepted { call, .. } | LogEntry::Edited { call, .. } => {
                    run.call_near(&mut last, call).map(Event::CallAccepted)
                }
                LogEntry::CallGranted { call, by: GrantedBy::Retry, .. } => {
                    self.details.remove(call);
                    None
                }
                LogEntry::CallStarted { call, .. } => run.call_near(&mut last, call).map(Event::CallStarted),
                LogEntry::CallEnded { call, result, .. } => {
                    let detail = self.details.remove(call).and_then(|detail| detail.text());
                    if let Some(call) = run.call_near(&mut last, call) {
                        self.report(Event::CallEnded { call, result, detail: detail.as_deref() });
                    }
                    None
                }
                _ => None,
            };
            if let Some(event) = event {
                self.report(event);
            }
        }
    }

    /// Reports the end of a step before the entry that ended it.
    fn publish_step(&mut self, run: &Run, entry: &LogEntry) {
        let begins = matches!(entry, LogEntry::TurnStarted { .. });
        if (begins || matches!(entry, LogEntry::Finished { .. } | LogEntry::Stopped { .. }))
            && let Some(step) = self.step.take()
        {
            self.report(Event::StepEnded { step });
        }
        if begins {
            self.step = Some(run.steps() as usize);
        }
    }
}

/// Reports an event to an observer. A panic of the observer does not affect the run.
pub fn report(observer: &dyn Observer, event: Event<'_>) {
    contained(|| observer.on_event(event));
}

/// Runs code of the application. Returns `None` if it panics.
pub fn contained<T>(code: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(code)).ok()
}
