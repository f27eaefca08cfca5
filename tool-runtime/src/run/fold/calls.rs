//! What happens to a call.

use std::sync::Arc;

use serde_json::Value;

use super::Applied;
use super::answer::says_did_not_run;
use crate::digest::Digest;
use crate::run::past::{ArgsRev, Decided};
#[cfg(test)]
use crate::run::search::mutants::{Mutant, lax};
use crate::run::{
    Allowance, Answer, Answered, Author, CallId, CallResult, CallState, Decision, Grant, GrantedBy, InterruptedBy,
    Obligation, ObligationId, ObligationKind, Principal, Run, Spent, Stage, StepRecord, Time, ToolRef,
};
use crate::tool::{Fingerprint, Touches};

impl Run {
    pub(super) fn opened(&mut self, id: &CallId, obligation: Box<Obligation>) -> Applied {
        let stages: &[Stage] = match &obligation.kind {
            // A policy alone had granted it, and asks now.
            ObligationKind::Approval { .. } => &[Stage::Proposed, Stage::Ready],
            ObligationKind::External => &[Stage::Ready],
            ObligationKind::Answer { .. } | ObligationKind::Inner { .. } => &[Stage::Running],
            ObligationKind::Reconcile => &[Stage::Unknown],
        };
        let at = self.at(id, stages)?;
        if obligation.id != self.calls[at].next_obligation() {
            return Err(format!("{} is not the next obligation of {id}", obligation.id));
        }
        if obligation.kind == ObligationKind::External && self.is_held(at) {
            return Err(format!("{id} is handed out, and must wait for another call"));
        }
        let past = self.calls[at].past();
        past.obligations = past.obligations.saturating_add(1);
        past.handed_out |= obligation.kind == ObligationKind::External;
        self.enter(at, CallState::Open(obligation));
        Ok(())
    }

    pub(super) fn decided(&mut self, id: &ObligationId, decision: Decision, by: Principal, time: Time) -> Applied {
        let at = self.at(&id.call, &[Stage::Open])?;
        let open = self.calls[at].obligation().filter(|open| open.id == *id);
        let Some(open) = open.filter(|_| self.calls[at].decided(id.number).is_none()) else {
            return Err(format!("{id} is not open"));
        };
        if !self.may_decide(open, &by) || open.expires.is_some_and(|expires| expires <= time) {
            return Err(format!("{by} could not decide about {id} then"));
        }
        self.calls[at].past().decided.push(Decided { obligation: id.number, decision, by });
        Ok(())
    }

    pub(super) fn edited(
        &mut self,
        id: &CallId,
        arguments: Arc<str>,
        by: Principal,
        touches: Option<Arc<Touches>>,
    ) -> Applied {
        let at = self.at(id, &[Stage::Open])?;
        let decided = self.was_decided(at)?;
        let number = decided.obligation;
        if !matches!(decided.decision, Decision::Edit { .. }) || decided.by != by {
            return Err(format!("{by} did not decide to edit {id}"));
        }
        let next = ArgsRev::of_person(arguments, by);
        let before = std::mem::replace(&mut self.calls[at].arguments, next);
        self.calls[at].touches = touches;
        let past = self.calls[at].past();
        past.revisions.push(before);
        past.edited = number;
        Ok(())
    }

    pub(super) fn normalized(&mut self, id: &CallId, arguments: Arc<str>, by: Author) -> Applied {
        let at = self.at(id, &[Stage::Proposed])?;
        let next = ArgsRev::new(arguments, by);
        let before = std::mem::replace(&mut self.calls[at].arguments, next);
        self.calls[at].past().revisions.push(before);
        Ok(())
    }

    pub(super) fn answered(&mut self, id: &CallId, question: Digest, answer: Answer) -> Applied {
        let at = self.at(id, &[Stage::Open])?;
        self.was_decided(at)?;
        self.calls[at].past().answers.push(Answered { question, answer });
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
        touches: Option<&Arc<Touches>>,
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
        #[cfg(test)]
        if lax(Mutant::DecisionReplayed) || lax(Mutant::LastDecisionWins) {
            let at = self.index[id] as usize;
            let (run, by) = (self.id.clone(), by.clone());
            let grant = Grant { run, call: id.clone(), tool, arguments, shown, by, expires };
            self.enter(at, CallState::Ready(Box::new(grant)));
            return Ok(());
        }
        let at = self.at(id, &[stage])?;
        if let GrantedBy::Person(by) = by {
            self.permits(at, by)?;
        }
        let call = &mut self.calls[at];
        #[cfg(test)]
        let arguments = if lax(Mutant::EditKeepsGrant) { call.arguments.digest } else { arguments };
        if call.tool.as_ref().map(|tool| tool.fingerprint) != Some(tool) || call.arguments.digest != arguments {
            return Err(format!("{id} is granted for another tool or other arguments"));
        }
        let is_repeatable = call.may_start_again();
        #[cfg(test)]
        let is_repeatable = is_repeatable || lax(Mutant::AutomaticRetry);
        if *by == GrantedBy::Rerun && !is_repeatable {
            return Err(format!("{id} is not repeatable, and is started again by itself"));
        }
        if call.obligation().is_some_and(|open| open.kind == ObligationKind::Reconcile) {
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

    pub(super) fn stepping(&mut self, id: &CallId, name: String) -> Applied {
        let at = self.stepper(id)?;
        self.calls[at].past().begun.push(name);
        Ok(())
    }

    pub(super) fn stepped(&mut self, id: &CallId, name: String, value: Value, spent: Spent) -> Applied {
        let at = self.stepper(id)?;
        self.used(spent.usage, None);
        self.inner_calls = self.inner_calls.saturating_add(spent.calls);
        self.retries = self.retries.saturating_add(spent.retries);
        let past = self.calls[at].past();
        if let Some(begun) = past.begun.iter().position(|begun| *begun == name) {
            past.begun.remove(begun);
        }
        past.steps.push(StepRecord { name, value });
        Ok(())
    }

    /// The place of a call that takes a step now.
    fn stepper(&mut self, id: &CallId) -> Result<usize, String> {
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
        #[cfg(test)]
        let is_checked = !lax(Mutant::LieOnSupersede);
        #[cfg(not(test))]
        let is_checked = true;
        if is_checked && call.attempts > 0 && says_did_not_run(result) {
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

    /// Whether a person's decision about what the call waits for lets it start.
    fn permits(&self, at: usize, by: &Principal) -> Applied {
        let call = &self.calls[at];
        let decided = self.was_decided(at)?;
        let is_permission = match (call.obligation().map(|open| &open.kind), &decided.decision) {
            (Some(ObligationKind::Approval { .. }), Decision::Edit { .. }) => {
                call.past.as_ref().is_some_and(|past| past.edited == decided.obligation)
            }
            (Some(ObligationKind::Approval { .. }), decision) => {
                matches!(decision, Decision::Approve | Decision::ApproveForRun)
            }
            (Some(ObligationKind::Reconcile), decision) => *decision == Decision::Approve,
            // A denied question is answered, too.
            (Some(ObligationKind::Answer { .. } | ObligationKind::Inner { .. }), _) => true,
            (Some(ObligationKind::External) | None, _) => false,
        };
        if is_permission && decided.by == *by {
            return Ok(());
        }
        Err(format!("{by} did not permit {}", call.id))
    }
}
