//! Entries about calls.

use std::sync::Arc;

use serde_json::Value;

use super::{Applied, says_did_not_run};
use crate::message::{AssistantPart, Message};
use crate::run::call::Decided;
use crate::run::state::Activity;
use crate::run::{
    Allowance, ArgumentRevision, Author, CallId, CallResult, CallState, Decision, Grant, GrantedBy, Interrupt,
    InterruptId, InterruptKind, InterruptedBy, NestedUsage, Principal, Run, Stage, StepResult, Time, ToolRef,
};
use crate::tool::spec::Digest;
use crate::tool::{Fingerprint, Resources};

impl Run {
    pub(super) fn opened(&mut self, id: &CallId, interrupt: Box<Interrupt>) -> Applied {
        let stages: &[Stage] = match &interrupt.kind {
            // A policy alone had granted it, and asks now.
            InterruptKind::Approval { .. } => &[Stage::Proposed, Stage::Ready],
            InterruptKind::External => &[Stage::Ready],
            InterruptKind::Answer { .. } | InterruptKind::Inner { .. } => &[Stage::Running],
            InterruptKind::Reconcile => &[Stage::Unknown],
        };
        let at = self.at(id, stages)?;
        if interrupt.id != self.calls[at].next_obligation() {
            return Err(format!("{} is not the next interrupt of {id}", interrupt.id));
        }
        if interrupt.kind == InterruptKind::External && self.is_held(at) {
            return Err(format!("{id} is handed out, and must wait for another call"));
        }
        let past = self.calls[at].past();
        past.interrupts = past.interrupts.saturating_add(1);
        past.handed_out |= interrupt.kind == InterruptKind::External;
        self.enter(at, CallState::Open(interrupt));
        Ok(())
    }

    pub(super) fn decided(&mut self, id: &InterruptId, decision: Decision, by: Principal, time: Time) -> Applied {
        let at = self.at(&id.call, &[Stage::Open])?;
        let open = self.calls[at].interrupt().filter(|open| open.id == *id);
        let Some(open) = open.filter(|_| self.calls[at].decided(id.number).is_none()) else {
            return Err(format!("{id} is not open"));
        };
        if !self.may_decide(open, &by) || open.expires.is_some_and(|expires| expires <= time) {
            return Err(format!("{by} could not decide about {id} then"));
        }
        self.calls[at].past().decided.push(Decided { interrupt: id.number, decision, by });
        Ok(())
    }

    pub(super) fn edited(
        &mut self,
        id: &CallId,
        arguments: Arc<str>,
        by: Principal,
        touches: Option<Arc<Resources>>,
    ) -> Applied {
        let at = self.at(id, &[Stage::Open])?;
        let decided = self.was_decided(at)?;
        let number = decided.interrupt;
        if !matches!(decided.decision, Decision::Edit { .. }) || decided.by != by {
            return Err(format!("{by} did not decide to edit {id}"));
        }
        let call = &mut self.calls[at];
        call.revise(ArgumentRevision::of_person(arguments, by));
        call.touches = touches;
        call.past().edited = number;
        Ok(())
    }

    pub(super) fn allowed(&mut self, allowance: Allowance) -> Applied {
        let decided = |decided: &Decided| decided.decision == Decision::ApproveForRun && decided.by == allowance.by;
        if !self.current_range().any(|at| self.was_decided(at).is_ok_and(decided)) {
            return Err(format!("{} allowed nothing for the rest of the run", allowance.by));
        }
        self.allowances.push(allowance);
        Ok(())
    }

    pub(super) fn checked(
        &mut self,
        id: &CallId,
        tool: &Arc<ToolRef>,
        arguments: Digest,
        touches: Option<&Arc<Resources>>,
    ) -> Applied {
        let at = self.at(id, &[Stage::Proposed])?;
        if self.calls[at].name != tool.name {
            return Err(format!("{id} was checked with the tool `{}`, and calls another", tool.name));
        }
        if self.calls[at].arguments.digest != arguments {
            return Err(format!("the arguments of {id} are not those that were checked"));
        }
        if !self.offers(&tool.name) {
            return Err(format!("{id} was accepted, and its tool was not on offer"));
        }
        self.calls[at].touches = touches.cloned();
        self.calls[at].tool = Some(Arc::clone(tool));
        Ok(())
    }

    pub(super) fn granted(
        &mut self,
        id: &CallId,
        tool: Fingerprint,
        arguments: Digest,
        shown: Option<Digest>,
        by: &GrantedBy,
        expires: Option<Time>,
    ) -> Applied {
        let stage = match by {
            GrantedBy::Retry => Stage::Running,
            GrantedBy::Rerun => Stage::Unknown,
            GrantedBy::Person(_) => Stage::Open,
            GrantedBy::Policy | GrantedBy::Allowance(_) => Stage::Proposed,
        };
        let at = self.at(id, &[stage])?;
        if let GrantedBy::Person(by) = by {
            self.permits(at, by)?;
        }
        let call = &mut self.calls[at];
        if call.tool.as_ref().map(|tool| tool.fingerprint) != Some(tool) || call.arguments.digest != arguments {
            return Err(format!("{id} is granted for another tool or other arguments"));
        }
        if *by == GrantedBy::Rerun && !call.may_start_again() {
            return Err(format!("{id} is not repeatable, and is started again by itself"));
        }
        if call.interrupt().is_some_and(|open| open.kind == InterruptKind::Reconcile) {
            // A person knows what came of them, and wants them taken again.
            call.past().begun.clear();
        }
        if *by == GrantedBy::Retry {
            call.retries = call.retries.saturating_add(1);
            self.retries = self.retries.saturating_add(1);
        }
        let (run, by) = (self.id.clone(), by.clone());
        let grant = Grant { run, call: id.clone(), tool, arguments, shown, by, expires };
        self.enter(at, CallState::Ready(Box::new(grant)));
        Ok(())
    }

    pub(super) fn stepped(&mut self, id: &CallId, name: String, value: Value, spent: NestedUsage) -> Applied {
        let at = self.stepper(id)?;
        self.used(spent.usage, None);
        self.inner_calls = self.inner_calls.saturating_add(spent.calls);
        self.retries = self.retries.saturating_add(spent.retries);
        let past = self.calls[at].past();
        if let Some(begun) = past.begun.iter().position(|begun| *begun == name) {
            past.begun.remove(begun);
        }
        past.steps.push(StepResult { name, value });
        Ok(())
    }

    /// The place of a call that takes a step now.
    pub(super) fn stepper(&mut self, id: &CallId) -> Result<usize, String> {
        let at = self.at(id, &[Stage::Running, Stage::Open])?;
        if self.calls[at].stage() == Stage::Open && !self.calls[at].is_asking() {
            return Err(format!("{id} waits, and takes a step"));
        }
        Ok(at)
    }

    pub(super) fn started(&mut self, id: &CallId) -> Applied {
        let at = self.at(id, &[Stage::Ready])?;
        let Some(grant) = self.grant_of(at) else { return Err(format!("{id} starts without a grant")) };
        let call = &self.calls[at];
        let tool = call.tool.as_ref().map(|tool| tool.fingerprint);
        if grant.run != self.id
            || grant.call != call.id
            || tool != Some(grant.tool)
            || call.arguments.digest != grant.arguments
        {
            return Err(format!("{id} starts with a grant for something else"));
        }
        if self.is_held(at) {
            return Err(format!("{id} starts, and must wait for another call"));
        }
        self.calls[at].attempts = self.calls[at].attempts.saturating_add(1);
        self.enter(at, CallState::Running);
        Ok(())
    }

    pub(super) fn ended(&mut self, id: &CallId, result: &Arc<CallResult>, time: Time) -> Applied {
        use Stage::{Open, Proposed, Ready, Running, Unknown};
        let at = self.at(id, &[Proposed, Open, Ready, Running, Unknown])?;
        let call = &self.calls[at];
        let from: &[Stage] = match &**result {
            CallResult::Succeeded { .. } => &[Running, Open],
            CallResult::Denied { .. } | CallResult::Responded { .. } => &[Open],
            _ => &[Proposed, Open, Ready, Running, Unknown],
        };
        if !from.contains(&call.stage()) {
            return Err(format!("{id} is {:?}, and does not end that way", call.stage()));
        }
        if call.attempts > 0 && says_did_not_run(result) {
            return Err(format!("{id} was started, and ends as if it was not"));
        }
        let is_late = matches!(**result, CallResult::Expired | CallResult::Interrupted { by: InterruptedBy::NoAnswer });
        if is_late && call.expires().is_none_or(|expires| expires > time) {
            return Err(format!("{id} ends because its time was over, and it was not"));
        }
        if let (Some(tool), true) = (&call.tool, result.is_success())
            && tool.untrusted
            && !self.taint.contains(&tool.name)
        {
            self.taint.push(tool.name.clone());
        }
        self.enter(at, CallState::Done(Arc::clone(result)));
        self.answer_if_done();
        Ok(())
    }

    /// Returns whether a person's decision about what the call waits for lets it start.
    fn permits(&self, at: usize, by: &Principal) -> Applied {
        let call = &self.calls[at];
        let decided = self.was_decided(at)?;
        let is_permission = match (call.interrupt().map(|open| &open.kind), &decided.decision) {
            (Some(InterruptKind::Approval { .. }), Decision::Edit { .. }) => {
                call.past.as_ref().is_some_and(|past| past.edited == decided.interrupt)
            }
            (Some(InterruptKind::Approval { .. }), decision) => {
                matches!(decision, Decision::Approve | Decision::ApproveForRun)
            }
            (Some(InterruptKind::Reconcile), decision) => *decision == Decision::Approve,
            // A denied question is answered, too.
            (Some(InterruptKind::Answer { .. } | InterruptKind::Inner { .. }), _) => true,
            (Some(InterruptKind::External) | None, _) => false,
        };
        if is_permission && decided.by == *by {
            return Ok(());
        }
        Err(format!("{by} did not permit {}", call.id))
    }

    /// The call stands in the conversation as it was repaired.
    pub(super) fn repaired(&mut self, id: &CallId, name: String, arguments: Arc<str>, by: Author) -> Applied {
        let at = self.at(id, &[Stage::Proposed])?;
        if !matches!(self.activity, Activity::Acting(_)) {
            return Err(format!("{id} is repaired before its turn has ended"));
        }
        if self.calls[at].attempts > 0 || !self.calls[at].revisions().is_empty() {
            return Err(format!("{id} was changed already, and is repaired"));
        }
        if let Some(Message::Assistant { content }) = self.messages.last_mut() {
            let of_call =
                |part: &&mut AssistantPart| matches!(part, AssistantPart::Call(call) if call.id == id.as_str());
            if let Some(AssistantPart::Call(call)) = content.iter_mut().find(of_call) {
                call.name.clone_from(&name);
                call.arguments = arguments.to_string();
            }
        }
        self.bytes = self.bytes.saturating_add(arguments.len() as u64);
        let call = &mut self.calls[at];
        call.name = name;
        call.revise(ArgumentRevision::new(arguments, by));
        Ok(())
    }
}
