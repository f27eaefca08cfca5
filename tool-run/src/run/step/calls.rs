//! The calls of a run: their checks, repairs, starts and reports.

use std::sync::Arc;

use serde_json::Value;

use crate::message::Usage;
use crate::run::{
    Action, Allowance, Author, CallId, CallResult, CallView, GrantedBy, InterruptKind, InterruptedBy, LogEntry,
    NestedUsage, Principal, Question, Refusal, Stage, SupersededBy, ToolRef,
    judge::{Accepted, CheckedCall, Finding, View},
    step::Draft,
};
use crate::tool::spec::Digest;
use crate::tool::{CallError, Identity, Output, Permission};

impl Draft<'_> {
    pub fn inspected(&mut self, id: &CallId, inspection: CheckedCall) {
        let Some(at) = self.find(id) else { return };
        if inspection.call != *id || inspection.arguments != self.call(at).arguments.digest {
            // The check is about another call, or the arguments were replaced since.
            return;
        }
        let CheckedCall { normalized, author, tool, finding, .. } = inspection;
        let normalized = normalized.map(|text| (text, author));
        match self.stage(at) {
            Stage::Proposed => self.check_first(at, finding, tool, normalized),
            Stage::Ready if normalized.is_some() => {
                let result = CallResult::Superseded { by: SupersededBy::ArgumentsChanged };
                self.end_unstarted(at, result, InterruptedBy::NotAllowed);
            }
            Stage::Ready => self.check_again(at, finding, tool),
            Stage::Open => self.check_waiting(at, finding, tool),
            Stage::Running | Stage::Unknown | Stage::Done => return,
        }
        self.schedule();
    }

    /// Handles the first check of a call with complete arguments: accepted or not, allowed or not.
    fn check_first(
        &mut self,
        at: usize,
        finding: Finding,
        identity: Option<Identity>,
        normalized: Option<(Arc<str>, Author)>,
    ) {
        let Accepted { tool, permission, touches, view } = match finding {
            Finding::Accepted(accepted) => accepted,
            Finding::Ended(result) => return self.end_unstarted(at, result, InterruptedBy::NotAllowed),
        };
        if self.turn_end.is_none()
            && !(tool.may_be_early() && self.run.tighten(&tool, permission.clone()) == Permission::Allow)
        {
            // The turn may still be cut, so no person is asked about its calls yet.
            return;
        }
        let (call, mut arguments) = (self.call(at).id.clone(), self.call(at).arguments.digest);
        if let Some((text, by)) = normalized {
            if let Some(limit) = self.run.options.limits.too_large(&text) {
                return self.end(at, CallResult::OverBudget { limit });
            }
            arguments = Digest::of(text.as_bytes());
            self.log.push(LogEntry::Normalized { call: call.clone(), arguments: text, by });
        }
        self.log.push(LogEntry::Checked { call, tool: Arc::clone(&tool), arguments, touches: touches.clone() });
        self.touched = Some((at, touches));
        self.alone = tool.sequential.then_some(at);
        match self.run.tighten(&tool, permission) {
            Permission::Deny { reason } => self.end(at, CallResult::PolicyDenied { reason }),
            Permission::Allow => self.allow(at, &tool, arguments, GrantedBy::Policy, view),
            Permission::Ask => {
                let covers = |allowance: &&Allowance| {
                    identity.is_some_and(|tool| tool.is(allowance.tool))
                        && view.as_ref().is_some_and(|view| allowance.pattern.covers(&view.written))
                };
                match self.run.allowances.iter().find(covers) {
                    Some(allowance) => {
                        self.allow(at, &tool, arguments, GrantedBy::Allowance(allowance.by.clone()), view);
                    }
                    None => self.ask(at, view),
                }
            }
        }
    }

    /// Handles the last check before a start. Since the grant, a policy may have become stricter, the tool may have changed,
    /// or the grant may have expired.
    fn check_again(&mut self, at: usize, finding: Finding, identity: Option<Identity>) {
        let Some(grant) = self.run.grant_of(at) else { return };
        if grant.expires.is_some_and(|expires| expires <= self.now) {
            return self.end_unstarted(at, CallResult::Expired, InterruptedBy::NoAnswer);
        }
        let Accepted { tool, permission, view, .. } = match finding {
            Finding::Accepted(accepted) => accepted,
            Finding::Ended(result) => return self.end_unstarted(at, result, InterruptedBy::NotAllowed),
        };
        if !identity.is_some_and(|tool| tool.is(grant.tool)) {
            return self.replaced(at, &tool);
        }
        if self.call(at).arguments.digest != grant.arguments {
            let result = CallResult::Superseded { by: SupersededBy::ArgumentsChanged };
            return self.end_unstarted(at, result, InterruptedBy::NotAllowed);
        }
        match self.run.tighten(&tool, permission) {
            Permission::Deny { reason } => {
                self.end_unstarted(at, CallResult::PolicyDenied { reason }, InterruptedBy::NotAllowed);
            }
            // A policy alone had allowed the call, and requires an approval now. A person's decision stands.
            Permission::Ask if grant.by == GrantedBy::Policy => self.ask(at, view),
            // The log had ended between the grant and the announcement of the call.
            _ if tool.external && self.is_held(at) => {}
            _ if tool.external && self.is_full() => {
                self.end(at, CallResult::OverBudget { limit: self.open_limit() });
            }
            _ if tool.external => match view {
                Some(view) => self.hand_out(at, view.shown, view.deciders),
                None => self.ask(at, None),
            },
            _ => self.fresh = Some(at),
        }
    }

    /// Handles the check of a waiting call when its run is loaded, because its tool may have changed.
    fn check_waiting(&mut self, at: usize, finding: Finding, identity: Option<Identity>) {
        let before = self.call(at).tool.as_ref().map(|tool| tool.fingerprint);
        let is_same = identity.zip(before).is_some_and(|(tool, before)| tool.is(before));
        match finding {
            // If a validator rejects the arguments now, this does not matter yet: it is asked again before the call starts.
            Finding::Ended(CallResult::Rejected { .. }) | Finding::Accepted(_) if is_same => {}
            Finding::Accepted(accepted) => self.replaced(at, &accepted.tool),
            // The client brings its tool again with its next request. It may have executed the call by now.
            Finding::Ended(CallResult::NotAvailable { .. })
                if self.call(at).interrupt().is_some_and(|open| open.kind == InterruptKind::External) => {}
            // A policy's refusal or an error in this check changes nothing, because the call is checked again before it
            // starts.
            Finding::Ended(result)
                if !matches!(result, CallResult::Rejected { .. } | CallResult::NotAvailable { .. }) => {}
            Finding::Ended(_) => {
                let result = CallResult::Superseded { by: SupersededBy::ToolChanged };
                self.end_unstarted(at, result, InterruptedBy::ToolChanged);
            }
        }
    }

    /// Handles a tool that changed while the call waited: the new version takes the call over, or the call ends.
    fn replaced(&mut self, at: usize, now: &ToolRef) {
        let call = self.call(at);
        let from = call.tool.as_ref().and_then(|tool| tool.version.clone());
        let migrates = call.attempts == 0 && from.as_ref().is_some_and(|from| now.migrate_from.contains(from));
        if migrates {
            self.log.push(LogEntry::Migrated { call: call.id.clone(), from });
            self.enter(at, Stage::Proposed);
            self.actions.push(Action::Inspect(call.id.clone()));
        } else {
            let result = CallResult::Superseded { by: SupersededBy::ToolChanged };
            self.end_unstarted(at, result, InterruptedBy::ToolChanged);
        }
    }

    fn ask(&mut self, at: usize, view: Option<Box<View>>) {
        let Some(view) = view else {
            let reason = Some("a person cannot be asked about a call that cannot be shown".to_owned());
            return self.end_unstarted(at, CallResult::PolicyDenied { reason }, InterruptedBy::NotAllowed);
        };
        let View { shown, offer, deciders, .. } = *view;
        if self.is_full() {
            return self.end_unstarted(
                at,
                CallResult::OverBudget { limit: self.open_limit() },
                InterruptedBy::NotAllowed,
            );
        }
        let expiry = self.run.options.approval_expiry;
        self.open(at, InterruptKind::Approval { offer }, shown, deciders, expiry);
    }

    /// Grants a call that needs no further decision. If the call runs here, `schedule` then starts it.
    fn allow(&mut self, at: usize, tool: &Arc<ToolRef>, arguments: Digest, by: GrantedBy, view: Option<Box<View>>) {
        if tool.external && self.is_full() {
            return self.end(at, CallResult::OverBudget { limit: self.open_limit() });
        }
        self.grant_for(at, tool.fingerprint, arguments, by, None);
        match (tool.external, view) {
            (true, _) if self.is_held(at) => {}
            (true, Some(view)) => self.hand_out(at, view.shown, view.deciders),
            (true, None) => self.ask(at, None),
            (false, _) => self.fresh = Some(at),
        }
    }

    /// Announces a granted call to its outside executor.
    pub fn hand_out(&mut self, at: usize, shown: CallView, deciders: Vec<Principal>) {
        let expiry = self.run.options.external_expiry;
        self.open(at, InterruptKind::External, shown, deciders, expiry);
    }

    fn is_full(&self) -> bool {
        self.count(Stage::Open) >= self.run.options.limits.open
    }

    fn open_limit(&self) -> String {
        format!("at most {} calls wait for decisions at one time", self.run.options.limits.open)
    }

    /// Records the repair of a refused call, and checks the call again. This happens at most once, before any decision about
    /// it.
    pub fn repaired(
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
        let at = at.ok_or(Refusal::Misplaced { reason: "the call cannot be repaired" })?;
        if let Some(limit) = self.run.options.limits.too_large(&arguments) {
            return Err(Refusal::OverBudget { limit });
        }
        let name = name.unwrap_or_else(|| self.call(at).name.clone());
        if !self.run.offers(&name) {
            return Err(Refusal::Misplaced { reason: "the repaired call names a tool that was not on offer" });
        }
        self.log.push(LogEntry::Repaired { call: id.clone(), name, arguments: arguments.into(), by, usage });
        self.actions.push(Action::Inspect(id));
        Ok(())
    }
}

const NOT_RUNNING: Refusal = Refusal::Misplaced { reason: "the call is not running" };

impl Draft<'_> {
    pub fn ended(&mut self, id: &CallId, attempt: u32, outcome: Result<Output, CallError>) {
        let Some(at) = self.running(id, attempt) else { return };
        if outcome.as_ref().is_err_and(|error| self.may_retry(at, error)) {
            self.grant(at, GrantedBy::Retry, None);
        } else {
            self.end(at, CallResult::of(outcome));
        }
        self.schedule();
    }

    /// Returns whether a failed call is retried: a second start does no harm, or the tool marked its failure as temporary.
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

    pub fn asked(&mut self, id: &CallId, attempt: u32, question: Question) -> Result<(), Refusal> {
        let at = self.may_ask(id, attempt)?;
        let expiry = self.run.options.approval_expiry;
        let shown = CallView::of_running(self.call(at));
        self.open(at, InterruptKind::Answer { question }, shown, Vec::new(), expiry);
        self.schedule();
        Ok(())
    }

    pub fn asked_inside(&mut self, id: &CallId, attempt: u32, kind: InterruptKind) -> Result<(), Refusal> {
        let at = self.may_ask(id, attempt)?;
        let InterruptKind::Inner { interrupt, .. } = &kind else { return Err(NOT_RUNNING) };
        let options = &self.run.options;
        let expiry = match interrupt.innermost().kind {
            InterruptKind::External => options.external_expiry,
            _ => options.approval_expiry,
        };
        let (shown, deciders) = (interrupt.shown.clone(), interrupt.deciders.clone());
        self.open(at, kind, shown, deciders, expiry);
        self.schedule();
        Ok(())
    }

    /// Returns the position of a call that may ask a question now.
    fn may_ask(&self, id: &CallId, attempt: u32) -> Result<usize, Refusal> {
        let at = self.running(id, attempt).ok_or(NOT_RUNNING)?;
        self.is_recordable(at)?;
        if self.is_full() {
            return Err(Refusal::OverBudget { limit: self.open_limit() });
        }
        Ok(at)
    }

    pub fn stepping(&mut self, id: CallId, attempt: u32, name: String) -> Result<(), Refusal> {
        let at = self.stepper(&id, attempt)?;
        self.is_recordable(at)?;
        self.log.push(LogEntry::Stepping { call: id, name });
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
        // A step that was begun has its place among the records already.
        if !self.call(at).begun_steps().contains(&name) {
            self.is_recordable(at)?;
        }
        self.log.push(LogEntry::Stepped { call: id, name, value, spent });
        Ok(())
    }

    /// Returns the position of a call that may take a step now.
    fn stepper(&self, id: &CallId, attempt: u32) -> Result<usize, Refusal> {
        let asks = |at: &usize| self.stage(*at) == Stage::Open && self.call(*at).is_asking();
        let asking = || self.find(id).filter(|at| self.call(*at).attempts == attempt && asks(at));
        self.running(id, attempt).or_else(asking).ok_or(NOT_RUNNING)
    }

    fn is_recordable(&self, at: usize) -> Result<(), Refusal> {
        let limit = self.run.options.limits.records;
        let call = self.call(at);
        // A place is reserved for the answer to an open question.
        let awaited = usize::from(self.stage(at) == Stage::Open && call.is_asking());
        if call.answers().len() + call.steps().len() + call.begun_steps().len() + awaited < limit as usize {
            return Ok(());
        }
        Err(Refusal::OverBudget { limit: format!("a call records at most {limit} steps and answers") })
    }

    /// Ends the calls whose interrupts or grants have expired.
    pub fn tick(&mut self) {
        for at in self.run.current_range() {
            let call = self.call(at);
            let expires = match call.interrupt() {
                Some(open) => open.expires,
                None => self.run.grant_of(at).and_then(crate::run::Grant::expires),
            };
            if expires.is_some_and(|expires| expires <= self.now) {
                self.end_unstarted(at, CallResult::Expired, InterruptedBy::NoAnswer);
            }
        }
        self.schedule();
    }
}
