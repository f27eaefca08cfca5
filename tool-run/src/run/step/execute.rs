//! Events of calls that were started.

use serde_json::Value;

use super::Draft;
use crate::run::{
    CallId, CallResult, GrantedBy, InterruptKind, InterruptedBy, LogEvent, NestedUsage, Question, Refusal, Shown,
    Stage, Time,
};
use crate::tool::{CallError, Output};

const NOT_RUNNING: Refusal = Refusal::Misplaced { reason: "the call does not run" };

impl Draft<'_> {
    pub fn ended(&mut self, id: &CallId, attempt: u32, outcome: Result<Output, CallError>, time: Time) {
        let Some(at) = self.running(id, attempt) else { return };
        if outcome.as_ref().is_err_and(|error| self.may_retry(at, error)) {
            self.grant(at, GrantedBy::Retry, None, time);
        } else {
            self.end(at, CallResult::of(outcome), time);
        }
        self.schedule(time);
    }

    /// Returns whether a failed call is tried again: where a second start does no harm, or the tool itself says so.
    fn may_retry(&self, at: usize, error: &CallError) -> bool {
        let call = self.call(at);
        let Some(tool) = &call.tool else { return false };
        let is_safe = match error {
            CallError::Failed(failure) => failure.is_retryable(),
            CallError::TimedOut { .. } => tool.is_repeatable(),
            _ => false,
        };
        is_safe && call.retries < tool.retries && self.run.retries < self.run.options.limits.retries
    }

    pub fn asked(&mut self, id: &CallId, attempt: u32, question: Question, time: Time) -> Result<(), Refusal> {
        let at = self.may_ask(id, attempt)?;
        let expiry = self.run.options.approval_expiry;
        let shown = Shown::of_running(self.call(at));
        self.open(at, InterruptKind::Answer { question }, shown, Vec::new(), expiry, time);
        self.schedule(time);
        Ok(())
    }

    pub fn asked_inside(&mut self, id: &CallId, attempt: u32, kind: InterruptKind, time: Time) -> Result<(), Refusal> {
        let at = self.may_ask(id, attempt)?;
        let InterruptKind::Inner { interrupt, .. } = &kind else { return Err(NOT_RUNNING) };
        let options = &self.run.options;
        let expiry = match interrupt.innermost().kind {
            InterruptKind::External => options.external_expiry,
            _ => options.approval_expiry,
        };
        let (shown, deciders) = (interrupt.shown.clone(), interrupt.deciders.clone());
        self.open(at, kind, shown, deciders, expiry, time);
        self.schedule(time);
        Ok(())
    }

    /// The place of a call that asks somebody now.
    fn may_ask(&self, id: &CallId, attempt: u32) -> Result<usize, Refusal> {
        let at = self.running(id, attempt).ok_or(NOT_RUNNING)?;
        self.is_recordable(at)?;
        if self.is_full() {
            let limit = format!("at most {} calls wait for somebody at one time", self.run.options.limits.open);
            return Err(Refusal::OverBudget { limit });
        }
        Ok(at)
    }

    pub fn stepping(&mut self, id: CallId, attempt: u32, name: String) -> Result<(), Refusal> {
        let at = self.stepper(&id, attempt)?;
        self.is_recordable(at)?;
        self.log.push(LogEvent::Stepping { call: id, name });
        Ok(())
    }

    pub fn stepped(
        &mut self,
        id: CallId,
        attempt: u32,
        name: String,
        value: Value,
        spent: NestedUsage,
    ) -> Result<(), Refusal> {
        let at = self.stepper(&id, attempt)?;
        // One that was begun has its place.
        if !self.call(at).begun_steps().contains(&name) {
            self.is_recordable(at)?;
        }
        self.log.push(LogEvent::Stepped { call: id, name, value, spent });
        Ok(())
    }

    /// The place of a call that takes a step now.
    fn stepper(&self, id: &CallId, attempt: u32) -> Result<usize, Refusal> {
        let asks = |at: &usize| self.stage(*at) == Stage::Open && self.call(*at).is_asking();
        let asking = || self.find(id).filter(|at| self.call(*at).attempts == attempt && asks(at));
        self.running(id, attempt).or_else(asking).ok_or(NOT_RUNNING)
    }

    fn is_recordable(&self, at: usize) -> Result<(), Refusal> {
        let limit = self.run.options.limits.records;
        let call = self.call(at);
        // The answer to an open question has its place.
        let awaited = usize::from(self.stage(at) == Stage::Open && call.is_asking());
        if call.answers().len() + call.steps().len() + call.begun_steps().len() + awaited < limit as usize {
            return Ok(());
        }
        Err(Refusal::OverBudget { limit: format!("a call records at most {limit} steps and answers") })
    }

    /// Ends what waited too long.
    pub fn tick(&mut self, time: Time) {
        for at in self.run.current_range() {
            let call = self.call(at);
            let expires = match call.interrupt() {
                Some(open) => open.expires,
                None => self.grant_of(at).and_then(crate::run::Grant::expires),
            };
            if expires.is_some_and(|expires| expires <= time) {
                self.end_unstarted(at, CallResult::Expired, InterruptedBy::NoAnswer, time);
            }
        }
        self.schedule(time);
    }
}
