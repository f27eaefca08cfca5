//! Handles the inputs that concern calls: checks, repairs, ends, questions, durable steps and expiries.

use std::{sync::Arc, time::Duration};

use serde_json::Value;

use crate::message::Usage;
use crate::run::interrupt::deciders_or;
use crate::run::{
    AbortCause, Action, Author, Call, CallId, CallResult, CallView, GrantedBy, Handover, InnerUsage, Interrupt,
    InterruptKind, LogEntry, Principal, Question, Refusal, RunApproval, Stage, SupersededBy, ToolRef,
    advance::Advance,
    id::millis,
    judge::{Accepted, ApprovalView, CheckedCall, Verdict},
    state::Activity,
};
use crate::schema::ReadText;
use crate::tool::fingerprint::Digest;
use crate::tool::{CallError, Effect, Fingerprint, KnownFingerprints, Output, Permission};

/// Arguments that differ from those that were checked.
struct Normalized {
    text: Arc<str>,
    /// The author of the last change.
    author: Author,
    reading: Option<Arc<ReadText>>,
}

impl Advance<'_> {
    /// Acts on a check of a call, unless the call has changed since.
    pub fn record_check(&mut self, id: &CallId, checked: CheckedCall) {
        let Some(at) = self.find(id) else { return };
        if checked.call != *id || checked.arguments != self.call(at).arguments.digest {
            // The check concerns another call, or older arguments.
            return;
        }
        let CheckedCall { normalized, author, reading, tool, verdict, .. } = checked;
        let normalized = normalized.map(|text| Normalized { text, author, reading });
        match self.call(at).stage() {
            Stage::Proposed => self.check_first(at, verdict, tool, normalized),
            Stage::Ready if normalized.is_some() => {
                let result = CallResult::Superseded { by: SupersededBy::ArgumentsChanged };
                self.end_not_running(at, result, AbortCause::NotAllowed);
            }
            Stage::Ready => self.check_again(at, verdict, tool),
            Stage::Open => self.check_waiting(at, verdict, tool),
            Stage::Running | Stage::Lost | Stage::Done => return,
        }
        self.schedule();
    }

    /// Acts on the first check of a call: grants the call, asks a person about it, or ends it.
    fn check_first(
        &mut self,
        at: usize,
        verdict: Verdict,
        fingerprints: Option<KnownFingerprints>,
        normalized: Option<Normalized>,
    ) {
        let Accepted { tool, permission, touches, view } = match verdict {
            Verdict::Accepted(accepted) => accepted,
            Verdict::Ended(result) => return self.end_not_running(at, result, AbortCause::NotAllowed),
        };
        let permission = self.run.tighten(&tool, permission);
        if self.run.activity == Activity::Generating && !(tool.may_be_early() && permission == Permission::Allow) {
            // The turn may still be cut, so no person is asked about its calls yet.
            return;
        }
        let (call, mut arguments) = (self.call(at).id.clone(), self.call(at).arguments.digest);
        if let Some(normalized) = normalized {
            if let Some(limit) = self.exceeded_size(&normalized.text) {
                return self.end(at, CallResult::LimitReached { limit });
            }
            arguments = Digest::of(normalized.text.as_bytes());
            self.record_changes(&call, normalized);
        }
        self.push(LogEntry::CallAccepted { call, tool: Arc::clone(&tool), arguments, touches });
        match permission {
            Permission::Deny { reason } => self.end(at, CallResult::PolicyDenied { reason }),
            Permission::Allow => self.grant_at_once(at, &tool, arguments, GrantedBy::Policy, view),
            Permission::Ask => match self.approver_for_run(fingerprints, view.as_deref()) {
                Some(by) => self.grant_at_once(at, &tool, arguments, GrantedBy::RunApproval(by), view),
                None => self.open_approval(at, view),
            },
        }
    }

    /// Returns the person that allowed a call like this one for the rest of the run.
    fn approver_for_run(&self, tool: Option<KnownFingerprints>, view: Option<&ApprovalView>) -> Option<Principal> {
        let (tool, view) = (tool?, view?);
        // Whoever approved similar calls may not be the one who decides about this one.
        let covers = |run_approval: &&RunApproval| {
            run_approval.pattern.covers(&view.argument_texts)
                && deciders_or(&view.deciders, self.run.owner()).contains(&run_approval.by)
                && tool.matches(run_approval.tool)
        };
        self.run.approvals.iter().find(covers).map(|run_approval| run_approval.by.clone())
    }

    /// Records the changes of a call's arguments: first how they were read, and then what validators and refinements made of them.
    fn record_changes(&mut self, call: &CallId, normalized: Normalized) {
        let Normalized { text, author, reading } = normalized;
        if let Some(ReadText { text, readings, .. }) = reading.as_deref() {
            let (arguments, readings) = (Arc::from(&**text), readings.clone());
            self.push(LogEntry::Normalized { call: call.clone(), arguments, by: Author::Reading, readings });
        }
        if author != Author::Reading {
            let (call, readings) = (call.clone(), Vec::new());
            self.push(LogEntry::Normalized { call, arguments: text, by: author, readings });
        }
    }

    /// Acts on the last check before a start. Since the grant, a policy may have become stricter, the tool may have changed,
    /// or the grant may have expired.
    fn check_again(&mut self, at: usize, verdict: Verdict, fingerprints: Option<KnownFingerprints>) {
        let Some(grant) = self.run.grant_of(at) else { return };
        if grant.expires.is_some_and(|expires| expires <= self.now) {
            return self.end_not_running(at, CallResult::Expired, AbortCause::NotAllowed);
        }
        let Accepted { tool, permission, view, .. } = match verdict {
            Verdict::Accepted(accepted) => accepted,
            Verdict::Ended(result) => return self.end_not_running(at, result, AbortCause::NotAllowed),
        };
        if !fingerprints.is_some_and(|tool| tool.matches(grant.tool)) {
            return self.handle_changed_tool(at, &tool);
        }
        let (is_same, by_policy) = (self.call(at).arguments.digest == grant.arguments, grant.by == GrantedBy::Policy);
        if !is_same {
            let result = CallResult::Superseded { by: SupersededBy::ArgumentsChanged };
            return self.end_not_running(at, result, AbortCause::NotAllowed);
        }
        match self.run.tighten(&tool, permission) {
            Permission::Deny { reason } => {
                self.end_not_running(at, CallResult::PolicyDenied { reason }, AbortCause::NotAllowed);
            }
            // Policies alone granted the call, but it now needs an approval. A person's grant remains valid.
            Permission::Ask if by_policy => self.open_approval(at, view),
            // A person has provided what the call needs, which is no approval.
            Permission::Ask
                if self.call(at).has_only_its_needs()
                    && self.approver_for_run(fingerprints, view.as_deref()).is_none() =>
            {
                self.open_approval(at, view);
            }
            // An external call was granted but not announced: it waited for another call, or the process died.
            _ if tool.external && self.is_held(at) => {}
            _ if tool.external && self.is_full() => {
                self.end(at, CallResult::LimitReached { limit: self.open_limit() });
            }
            _ if tool.external => match view {
                Some(view) => self.announce(at, view.shown, view.deciders),
                None => self.open_approval(at, None),
            },
            _ => self.fresh = Some(at),
        }
    }

    /// Acts on the new check of a waiting call. A process that loads the run makes it, because the tool may have changed.
    fn check_waiting(&mut self, at: usize, verdict: Verdict, fingerprints: Option<KnownFingerprints>) {
        let before = self.call(at).tool.as_ref().map(|tool| tool.fingerprint);
        let is_same = fingerprints.zip(before).is_some_and(|(tool, before)| tool.matches(before));
        match verdict {
            // A rejection changes nothing yet: the validators run again before the call starts.
            Verdict::Ended(CallResult::Rejected { .. }) | Verdict::Accepted(_) if is_same => {}
            Verdict::Accepted(accepted) => self.handle_changed_tool(at, &accepted.tool),
            // The client's next request declares its tool again. The client may already have executed the call.
            Verdict::Ended(CallResult::NotAvailable { .. })
                if self.call(at).interrupt().is_some_and(|open| open.kind == InterruptKind::External) => {}
            // A policy's refusal or an error changes nothing yet: the call is checked again before it starts.
            Verdict::Ended(result)
                if !matches!(result, CallResult::Rejected { .. } | CallResult::NotAvailable { .. }) => {}
            Verdict::Ended(_) => {
                let result = CallResult::Superseded { by: SupersededBy::ToolChanged };
                self.end_not_running(at, result, AbortCause::ToolChanged);
            }
        }
    }

    /// Moves a call that was not started to the changed tool, if `migrate_from` allows that. Otherwise ends the call.
    fn handle_changed_tool(&mut self, at: usize, now: &ToolRef) {
        let call = self.call(at);
        let from = call.tool.as_ref().and_then(|tool| tool.version.clone());
        let migrates = call.attempts == 0 && from.as_ref().is_some_and(|from| now.migrate_from.contains(from));
        if migrates {
            let call = call.id.clone();
            self.push(LogEntry::Migrated { call: call.clone(), from });
            self.actions.push_back(Action::Check(call));
        } else {
            let result = CallResult::Superseded { by: SupersededBy::ToolChanged };
            self.end_not_running(at, result, AbortCause::ToolChanged);
        }
    }

    /// Opens an approval. Ends the call instead if a person cannot see it, or if too many calls wait.
    fn open_approval(&mut self, at: usize, view: Option<Box<ApprovalView>>) {
        let Some(view) = view else {
            let reason = Some("the call needs a decision, but its arguments cannot be shown to a person".to_owned());
            return self.end_not_running(at, CallResult::PolicyDenied { reason }, AbortCause::NotAllowed);
        };
        let ApprovalView { shown, offer, deciders, .. } = *view;
        if self.is_full() {
            return self.end_not_running(
                at,
                CallResult::LimitReached { limit: self.open_limit() },
                AbortCause::NotAllowed,
            );
        }
        let expiry = self.run.options.approval_expiry;
        self.open(at, InterruptKind::Approval { offer }, shown, deciders, expiry);
    }

    /// Grants a call that needs no further decision. Announces an external call; `schedule` then starts any other call.
    fn grant_at_once(
        &mut self,
        at: usize,
        tool: &Arc<ToolRef>,
        arguments: Digest,
        by: GrantedBy,
        view: Option<Box<ApprovalView>>,
    ) {
        if tool.external && self.is_full() {
            return self.end(at, CallResult::LimitReached { limit: self.open_limit() });
        }
        self.grant_for(at, tool.fingerprint, arguments, by, None);
        match (tool.external, view) {
            (true, _) if self.is_held(at) => {}
            (true, Some(view)) => self.announce(at, view.shown, view.deciders),
            (true, None) => self.open_approval(at, None),
            (false, _) => self.fresh = Some(at),
        }
    }

    /// Announces a granted call to its outside executor.
    pub fn announce(&mut self, at: usize, shown: CallView, deciders: Vec<Principal>) {
        let expiry = self.run.options.external_expiry;
        self.open(at, InterruptKind::External, shown, deciders, expiry);
    }

    /// Returns whether as many calls wait as the run allows.
    fn is_full(&self) -> bool {
        self.run.count(Stage::Open) >= self.run.options.limits.open_interrupts
    }

    /// Returns the text about the limit on waiting calls.
    fn open_limit(&self) -> String {
        format!("too many calls wait for decisions: the limit is {}", self.run.options.limits.open_interrupts)
    }

    /// Records the repair of a rejected call, and requests another check of it. Fails if the call was changed or granted
    /// before, or its turn has not ended. Fails if the repair is too large, or names a tool that is not on offer.
    pub fn record_repair(
        &mut self,
        id: CallId,
        name: Option<String>,
        arguments: String,
        by: Author,
        (usage, model): (Usage, Option<Arc<str>>),
    ) -> Result<(), Refusal> {
        let may = |at: &usize| {
            let call = self.call(*at);
            call.stage() == Stage::Proposed && call.attempts == 0 && call.revisions().is_empty()
        };
        let is_acting = matches!(self.run.activity, Activity::Acting(_));
        let at = self.find(&id).filter(|at| is_acting && may(at));
        let at = at.ok_or(Refusal::Misplaced { reason: "the call cannot be repaired" })?;
        if let Some(limit) = self.exceeded_size(&arguments) {
            return Err(Refusal::LimitReached { limit });
        }
        let name = name.unwrap_or_else(|| self.call(at).name.clone());
        if !self.run.offers(&name) {
            return Err(Refusal::Misplaced { reason: "the repaired call names a tool that was not on offer" });
        }
        self.push(LogEntry::Repaired { call: id.clone(), name, arguments: arguments.into(), by, usage, model });
        self.actions.push_back(Action::Check(id));
        Ok(())
    }
}

/// The maximum number of times that a call waits for what it needs before it starts.
const MAX_NEEDS: usize = 100;

const NOT_RUNNING: Refusal = Refusal::Misplaced { reason: "the call is not running" };

impl Advance<'_> {
    /// Ends a started call with its tool's outcome, or grants a retry. Ignores the outcome of another attempt. A tool that returns
    /// without the answer to its question does not need it any more.
    pub fn end_or_retry(
        &mut self,
        id: &CallId,
        attempt: u32,
        outcome: Result<Output, CallError>,
        handover: Option<Handover>,
    ) {
        let Some(at) = self.find_started(id, attempt) else { return };
        let is_running = self.call(at).stage() == Stage::Running;
        if is_running && outcome.as_ref().is_err_and(|error| self.may_retry(at, error)) {
            self.grant(at, GrantedBy::Retry, None);
        } else {
            let effect = self.effect(at);
            let acting = self.run.acting_agent();
            let handover = handover.filter(|handover| outcome.is_ok() && handover.to.as_deref() != acting);
            self.end(at, result_of(outcome, effect));
            if let Some(Handover { to }) = handover {
                // Before anything that follows from the end, so that the next turn is of the other agent.
                let (call, by) = (Some(id.clone()), self.run.owner().clone());
                self.push(LogEntry::HandedOver { to, call, by, at: self.now });
            }
        }
        self.schedule();
    }

    /// Withdraws the start of a call whose function never began. With an `error`, the call ends because of it, or is retried.
    /// Otherwise it is checked again, unless it may have run.
    pub fn withdraw(&mut self, id: &CallId, attempt: u32, error: Option<CallError>) {
        let Some(at) = self.find_running(id, attempt) else { return };
        if error.as_ref().is_some_and(|error| self.may_retry(at, error)) {
            self.grant(at, GrantedBy::Retry, None);
            return self.schedule();
        }
        let (never_ran, effect) = (self.call(at).may_be_withdrawn(), self.effect(at));
        if never_ran {
            self.push(LogEntry::CallWithdrawn { call: id.clone() });
        }
        match error {
            Some(error) => self.end(at, result_before_start(error, never_ran, effect)),
            None if never_ran => return self.actions.push_back(Action::Check(id.clone())),
            None => return,
        }
        self.schedule();
    }

    fn effect(&self, at: usize) -> Effect {
        self.call(at).tool.as_ref().map_or(Effect::Write, |tool| tool.effect)
    }

    /// Returns whether a call is retried: after a time-out of a repeatable tool, or after a failure that the tool marked as
    /// retryable.
    fn may_retry(&self, at: usize, error: &CallError) -> bool {
        let call = self.call(at);
        let Some(tool) = &call.tool else { return false };
        let is_safe = match error {
            CallError::Failed(failure) => failure.is_retryable(),
            CallError::TimedOut { .. } => tool.is_repeatable(),
            _ => false,
        };
        is_safe && call.retries < tool.max_retries && self.has_retries()
    }

    /// Opens the question of a running tool, or of a call that lacks something and whose tool has not begun.
    pub fn open_question(&mut self, id: &CallId, attempt: u32, question: Question) -> Result<(), Refusal> {
        let at = self.find_asking_call(id, attempt)?;
        if question.need.is_some() && self.call(at).count_needs() >= MAX_NEEDS {
            let limit = format!("a call waits at most {MAX_NEEDS} times for what it needs");
            return Err(Refusal::LimitReached { limit });
        }
        let expiry = self.run.options.approval_expiry;
        let shown = CallView::of_running(self.call(at));
        self.open(at, InterruptKind::Question { question }, shown, Vec::new(), expiry);
        self.schedule();
        Ok(())
    }

    /// Opens the interrupt that the run inside a running call reported.
    pub fn open_inner_interrupt(&mut self, id: &CallId, attempt: u32, kind: InterruptKind) -> Result<(), Refusal> {
        let at = self.find_asking_call(id, attempt)?;
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

    /// Returns the position of a call that may ask a question now. Fails if the call is not running, or at a limit.
    fn find_asking_call(&self, id: &CallId, attempt: u32) -> Result<usize, Refusal> {
        let at = self.find_running(id, attempt).ok_or(NOT_RUNNING)?;
        self.check_recordable(at)?;
        if self.is_full() {
            return Err(Refusal::LimitReached { limit: self.open_limit() });
        }
        Ok(at)
    }

    /// Records the start of a durable step.
    pub fn record_step_start(&mut self, id: CallId, attempt: u32, name: String) -> Result<(), Refusal> {
        let at = self.find_started(&id, attempt).ok_or(NOT_RUNNING)?;
        self.check_recordable(at)?;
        self.push(LogEntry::DurableStepStarted { call: id, name });
        Ok(())
    }

    /// Records the result of a durable step, and the share of the limits that the step used.
    pub fn record_step_end(
        &mut self,
        id: CallId,
        attempt: u32,
        name: String,
        value: Value,
        spent: InnerUsage,
    ) -> Result<(), Refusal> {
        let at = self.find_started(&id, attempt).ok_or(NOT_RUNNING)?;
        // The limit already counts a step whose start is recorded.
        if !self.call(at).started_steps().contains(&name) {
            self.check_recordable(at)?;
        }
        self.push(LogEntry::DurableStepEnded { call: id, name, value, spent });
        Ok(())
    }

    /// Checks that the call may record another step or answer.
    fn check_recordable(&self, at: usize) -> Result<(), Refusal> {
        let limit = self.run.options.limits.recorded_steps;
        let call = self.call(at);
        // A place is reserved for the answer to an open question.
        let awaited = usize::from(call.stage() == Stage::Open && call.is_asking());
        if call.answers().len() + call.steps().len() + call.started_steps().len() + awaited < limit as usize {
            return Ok(());
        }
        let limit = format!("a call records at most {limit} steps and answers (`Limits::recorded_steps` of its run)");
        Err(Refusal::LimitReached { limit })
    }

    /// Ends the calls whose interrupts or grants have expired.
    pub fn end_expired(&mut self) {
        for at in self.run.current_range() {
            let call = self.call(at);
            let (expires, or) = match call.interrupt() {
                Some(open) => (open.expires_at, AbortCause::NoAnswer),
                None => (self.run.grant_of(at).and_then(crate::run::Grant::expires), AbortCause::NotAllowed),
            };
            if expires.is_some_and(|expires| expires <= self.now) {
                self.end_not_running(at, CallResult::Expired, or);
            }
        }
        self.schedule();
    }
}

impl Advance<'_> {
    pub fn call(&self, at: usize) -> &Call {
        &self.run.calls[at]
    }

    /// Returns the position of a call of the present turn.
    pub fn find(&self, id: &CallId) -> Option<usize> {
        self.run.position_of(id).filter(|at| self.run.current_range().contains(at))
    }

    /// Returns the position of a call that was started for the `attempt`th time and has not ended.
    fn find_running(&self, id: &CallId, attempt: u32) -> Option<usize> {
        let is_it = |at: &usize| self.call(*at).stage() == Stage::Running && self.call(*at).attempts == attempt;
        self.find(id).filter(is_it)
    }

    /// Returns the position of a call like [`Advance::find_running`], also if it waits for the answer to its question.
    fn find_started(&self, id: &CallId, attempt: u32) -> Option<usize> {
        let is_asking = |at: &usize| self.call(*at).stage() == Stage::Open && self.call(*at).is_asking();
        let asking = || self.find(id).filter(|at| self.call(*at).attempts == attempt && is_asking(at));
        self.find_running(id, attempt).or_else(asking)
    }

    /// Ends the call at `at` with `result`.
    pub fn end(&mut self, at: usize, result: CallResult) {
        let call = self.call(at).id.clone();
        self.push(LogEntry::CallEnded { call, result: Arc::new(result), at: self.now });
    }

    /// Ends the calls of the turn at `stages` with `result`, and aborts those that were started.
    pub fn end_at(&mut self, stages: &[Stage], result: &CallResult) {
        for at in self.run.current_range() {
            if stages.contains(&self.call(at).stage()) {
                if self.call(at).attempts > 0 {
                    self.actions.push_back(Action::Abort(self.call(at).id.clone()));
                }
                self.end(at, result.clone());
            }
        }
    }

    /// Ends a call that is not running: with `result`, or as aborted with the cause `or` if the call was started before.
    pub fn end_not_running(&mut self, at: usize, result: CallResult, or: AbortCause) {
        let was_started = self.call(at).attempts > 0;
        if was_started {
            self.actions.push_back(Action::Abort(self.call(at).id.clone()));
        }
        self.end(at, if was_started { CallResult::Aborted { by: or } } else { result });
    }

    /// Ends every call that has not ended and is not running.
    pub fn end_waiting(&mut self, by: SupersededBy, or: AbortCause) {
        for at in self.run.current_range() {
            if matches!(self.call(at).stage(), Stage::Proposed | Stage::Open | Stage::Ready | Stage::Lost) {
                self.end_not_running(at, CallResult::Superseded { by }, or);
            }
        }
    }

    /// Opens and announces an interrupt of the call at `at`, which expires after `expiry`.
    pub fn open(
        &mut self,
        at: usize,
        kind: InterruptKind,
        shown: CallView,
        deciders: Vec<Principal>,
        expiry: Option<Duration>,
    ) {
        let id = self.call(at).next_interrupt_id();
        let expires = expiry.map(|expiry| self.now.saturating_add(expiry));
        let interrupt = Interrupt { id: id.clone(), kind, shown, opened_at: self.now, expires_at: expires, deciders };
        let call = id.call.clone();
        self.push(LogEntry::Opened { call, interrupt: Box::new(interrupt) });
        self.actions.push_back(Action::Announce(id));
        self.actions.extend(expires.map(Action::Wake));
    }

    /// Grants the call with its present tool and arguments.
    pub fn grant(&mut self, at: usize, by: GrantedBy, shown: Option<Digest>) {
        let call = self.call(at);
        if let Some(tool) = &call.tool {
            let (tool, arguments) = (tool.fingerprint, call.arguments.digest);
            self.grant_for(at, tool, arguments, by, shown);
        }
    }

    /// Grants the call at `at` for this tool and these arguments. Only a person's grant can expire.
    pub fn grant_for(&mut self, at: usize, tool: Fingerprint, arguments: Digest, by: GrantedBy, shown: Option<Digest>) {
        let expires = match by {
            GrantedBy::Person(_) => self.run.options.grant_expiry.map(|expiry| self.now.saturating_add(expiry)),
            _ => None,
        };
        let call = self.call(at).id.clone();
        self.push(LogEntry::CallGranted { call, tool, arguments, shown, by, expires });
        self.actions.extend(expires.map(Action::Wake));
    }

    /// Starts the calls that may start. If every call has ended, the model is asked again, or the run ends.
    pub fn schedule(&mut self) {
        match self.run.activity {
            Activity::Idle => {}
            // Another process queued a prompt just after the run had ended.
            Activity::Finished | Activity::Stopped(_) => self.accept_queued(),
            _ => {
                self.start_calls();
                if self.run.is_between_turns() {
                    self.end_step();
                }
            }
        }
    }

    /// Starts ready calls in the model's order, as far as the limits, their resources and `sequential` tools allow.
    fn start_calls(&mut self) {
        if self.run.count(Stage::Ready) == 0 {
            return;
        }
        let options = &self.run.options;
        // There is always room for one call; otherwise the run would never go on.
        let mut room = options.limits.parallel_calls.max(1).saturating_sub(self.run.count(Stage::Running));
        let from = self.run.first_unsettled as usize;
        let mut unfinished = false;
        for at in from..self.run.calls.len() {
            let alone = self.run.runs_alone(self.call(at));
            match self.call(at).stage() {
                Stage::Done => continue,
                // Later calls may have to wait for this one, whose tool is not known yet.
                Stage::Proposed => return,
                Stage::Ready if alone && (unfinished || self.is_unfinished_before(from)) => return,
                Stage::Ready if self.may_start(at) && !self.is_held(at) => {
                    if room == 0 {
                        return;
                    }
                    room -= 1;
                    self.start(at);
                }
                _ => {}
            }
            if alone {
                return;
            }
            unfinished = true;
        }
    }

    fn is_unfinished_before(&self, from: usize) -> bool {
        self.run.calls[self.run.current_range().start..from].iter().any(|call| call.stage() != Stage::Done)
    }

    /// Returns whether a call has to wait for calls with conflicting resources.
    pub fn is_held(&self, at: usize) -> bool {
        // The resources of a call that was not checked yet are unknown.
        let is_unknown = |other: usize| self.call(other).stage() == Stage::Proposed;
        let call = self.call(at);
        self.run.is_held(at)
            || call.touches().is_some() && call.attempts == 0 && (self.run.current_range().start..at).any(is_unknown)
    }

    /// Returns whether the model's turn allows a ready call to start.
    fn may_start(&self, at: usize) -> bool {
        self.run.activity != Activity::Generating || self.call(at).attempts > 0 || self.fresh == Some(at)
    }

    /// Starts a ready call that this input checked. For any other ready call, requests another check, because the policies, the
    /// tool or the time may have changed.
    fn start(&mut self, at: usize) {
        let (call, attempt) = (self.call(at).id.clone(), self.call(at).attempts.saturating_add(1));
        if self.fresh != Some(at) {
            return self.actions.push_back(Action::Check(call));
        }
        self.fresh = None;
        self.push(LogEntry::CallStarted { call: call.clone(), at: self.now });
        self.actions.push_back(Action::Execute { call, attempt });
    }
}

/// Returns the result of a call that ended with `error` before its function began. Unless it `never_ran`, an earlier start may have
/// had effects, so the text claims nothing.
fn result_before_start(error: CallError, never_ran: bool, effect: Effect) -> CallResult {
    match error {
        CallError::TimedOut { limit } => result_before_start(CallError::waited_too_long(limit), never_ran, effect),
        CallError::LimitReached { limit } if never_ran => CallResult::LimitReached { limit },
        CallError::LimitReached { limit } => CallResult::Failed { error: limit, feedback: None },
        CallError::Panicked { .. } => CallResult::failed_before_start(never_ran),
        other => result_of(Err(other), effect),
    }
}

/// Returns the result of a call whose tool has this effect, and had this outcome.
fn result_of(outcome: Result<Output, CallError>, effect: Effect) -> CallResult {
    match outcome {
        Ok(output) => CallResult::Succeeded { output },
        Err(CallError::TimedOut { limit }) => CallResult::TimedOut { limit: millis(limit) },
        Err(CallError::Cancelled) => CallResult::Cancelled,
        // The call was started, so any other error is a failure.
        Err(error) => CallResult::failed(&error, effect),
    }
}
