//! What a decision leads to.

use std::sync::Arc;

use super::Draft;
use crate::digest::Digest;
use crate::run::inspection::{Accepted, Finding};
#[cfg(test)]
use crate::run::search::mutants::{Mutant, on};
use crate::run::{
    Allowance, Answer, CallResult, Decision, GrantedBy, InterruptedBy, LogEvent, Obligation, ObligationId,
    ObligationKind, Principal, Refusal, Ruling, Stage, Time,
};
use crate::toolset::Permission;

impl Draft<'_> {
    pub(super) fn decide(
        &mut self,
        id: ObligationId,
        ruling: Ruling,
        by: Principal,
        time: Time,
    ) -> Result<(), Refusal> {
        if ruling.obligation != id {
            return Err(Refusal::Misplaced { reason: "the decision was checked for another obligation" });
        }
        let unknown = || Refusal::Unknown { obligation: id.clone() };
        let call = self.run.call(&id.call).ok_or_else(unknown)?;
        if id.number >= call.next_obligation().number || id.number == 0 {
            return Err(unknown());
        }
        let open = call.obligation().filter(|open| open.id == id);
        #[cfg(test)]
        if let Some(decided) = call.decided(id.number)
            && ruling.decision == Decision::Approve
            && (on(Mutant::DecisionReplayed) && decided.decision == Decision::Approve
                || on(Mutant::LastDecisionWins) && decided.decision != Decision::Approve)
            && let Some(at) = self.find(&id.call)
        {
            self.grant(at, GrantedBy::Person(by), None, time);
            return Ok(());
        }
        if let Some(decided) = call.decided(id.number) {
            // Who has decided may ask again; nobody else learns what was decided.
            return match decided.by == by {
                true if decided.decision == ruling.decision => Ok(()),
                true => Err(Refusal::Conflict { decided: Box::new(decided.decision.clone()) }),
                false if self.run.is_owner(&by) => {
                    Err(Refusal::Conflict { decided: Box::new(decided.decision.clone()) })
                }
                false => Err(Refusal::Forbidden),
            };
        }
        let Some(open) = open else {
            return Err(if self.run.is_owner(&by) { Refusal::Closed { obligation: id } } else { Refusal::Forbidden });
        };
        if !self.run.may_decide(open, &by) {
            return Err(Refusal::Forbidden);
        }
        if open.expires.is_some_and(|expires| expires <= time) {
            return Err(Refusal::Closed { obligation: id });
        }
        let Some(at) = self.find(&id.call) else { return Err(Refusal::Closed { obligation: id }) };
        match &open.kind {
            ObligationKind::Approval { .. } => self.decide_approval(at, open, ruling, by, time)?,
            ObligationKind::Answer { .. } => self.decide_answer(at, open, ruling, by, time)?,
            ObligationKind::External => self.decide_external(at, open, ruling, by, time)?,
            ObligationKind::Reconcile => self.reconcile(at, open, ruling, by, time)?,
            ObligationKind::Inner { obligation, .. } => self.decide_inside(at, open, obligation, ruling, by, time)?,
        }
        self.schedule(time);
        Ok(())
    }

    fn decide_approval(
        &mut self,
        at: usize,
        open: &Obligation,
        ruling: Ruling,
        by: Principal,
        time: Time,
    ) -> Result<(), Refusal> {
        let decision = ruling.decision.clone();
        let ObligationKind::Approval { offer } = &open.kind else { return Ok(()) };
        let Some(tool) = &self.call(at).tool else { return Err(Refusal::ToolChanged) };
        let mut handed_out = open.shown.clone();
        match (ruling.decision, ruling.inspection, ruling.output) {
            (Decision::Approve, ..) => {
                self.decided(open, decision, by.clone(), time);
                self.grant(at, GrantedBy::Person(by), Some(open.shown.digest()), time);
            }
            (Decision::ApproveForRun, ..) => {
                let Some(pattern) = offer.clone() else {
                    return Err(not_offered(&decision, open.kind.possible()));
                };
                self.decided(open, decision, by.clone(), time);
                let allowance = Allowance { tool: tool.fingerprint, pattern, by: by.clone() };
                self.log.push(LogEvent::Allowed { allowance });
                self.grant(at, GrantedBy::Person(by), Some(open.shown.digest()), time);
            }
            (Decision::Edit { .. }, Some(inspection), _) => {
                let Accepted { permission, touches, view, .. } = match inspection.finding {
                    Finding::Accepted(accepted) => accepted,
                    Finding::Ended(CallResult::Rejected { feedback }) => return Err(Refusal::Invalid { feedback }),
                    Finding::Ended(CallResult::PolicyDenied { reason }) => {
                        return Err(Refusal::PolicyDenied { reason });
                    }
                    Finding::Ended(_) => return Err(Refusal::ToolChanged),
                };
                if !inspection.tool.is_some_and(|now| now.is(tool.fingerprint)) {
                    return Err(Refusal::ToolChanged);
                }
                if let Permission::Deny { reason } = permission {
                    return Err(Refusal::PolicyDenied { reason });
                }
                // As the log knows the tool.
                let granted = tool.fingerprint;
                let (arguments, digest) = match inspection.normalized {
                    Some(text) => (Arc::clone(&text), Digest::of(text.as_bytes())),
                    None => (inspection.text, inspection.arguments),
                };
                if let Some(limit) = self.too_large(&arguments) {
                    return Err(Refusal::OverBudget { limit });
                }
                let call = self.call(at).id.clone();
                self.decided(open, decision, by.clone(), time);
                self.log.push(LogEvent::Edited { call, arguments, by: by.clone(), touches: touches.clone() });
                self.touched = Some((at, touches));
                let seen = view.as_ref().map(|view| view.shown.digest());
                handed_out = view.map_or(handed_out, |view| view.shown);
                #[cfg(test)]
                if on(Mutant::EditKeepsGrant) {
                    self.grant(at, GrantedBy::Person(by), seen, time);
                    return Ok(());
                }
                self.grant_for(at, granted, digest, GrantedBy::Person(by), seen, time);
            }
            (Decision::Deny { reason }, ..) => {
                self.decided(open, decision, by.clone(), time);
                #[cfg(test)]
                if on(Mutant::PolicyRecheck) {
                    let call = self.call(at).id.clone();
                    self.effects.push(crate::run::Effect::Inspect(call.clone()));
                    self.log.push(LogEvent::Migrated { call, from: None });
                    self.enter(at, Stage::Proposed);
                    return Ok(());
                }
                self.end_unstarted(at, CallResult::Denied { reason, by }, InterruptedBy::Denial, time);
                self.stop_turn(time);
            }
            (Decision::Respond { .. }, _, Some(output)) => {
                self.decided(open, decision, by.clone(), time);
                self.end_unstarted(at, CallResult::Responded { output, by }, InterruptedBy::NotAllowed, time);
            }
            _ => return Err(not_offered(&decision, open.kind.possible())),
        }
        if tool.external && self.stage(at) == Stage::Ready && !self.is_held(at) {
            // Approved is not executed: only now is the call announced to whoever executes it.
            self.hand_out(at, handed_out, open.deciders.clone(), time);
        }
        Ok(())
    }

    fn decide_answer(
        &mut self,
        at: usize,
        open: &Obligation,
        ruling: Ruling,
        by: Principal,
        time: Time,
    ) -> Result<(), Refusal> {
        let ObligationKind::Answer { question } = &open.kind else { return Ok(()) };
        let decision = ruling.decision;
        let asks_permission = question.schema.is_none();
        let answer = match &decision {
            Decision::Approve if asks_permission => Answer::Approved,
            Decision::Answer { value } if !asks_permission => Answer::Given(value.clone()),
            Decision::Deny { reason } => Answer::Denied(reason.clone()),
            other => return Err(not_offered(other, open.kind.possible())),
        };
        let call = self.call(at).id.clone();
        self.decided(open, decision, by.clone(), time);
        self.log.push(LogEvent::Answered { call, question: question.digest(), answer });
        self.grant(at, GrantedBy::Person(by), Some(open.shown.digest()), time);
        Ok(())
    }

    /// The call goes on with the decision, and takes it to its own run.
    fn decide_inside(
        &mut self,
        at: usize,
        open: &Obligation,
        inside: &Obligation,
        ruling: Ruling,
        by: Principal,
        time: Time,
    ) -> Result<(), Refusal> {
        let decision = ruling.decision;
        if !inside.kind.takes(&decision) {
            return Err(not_offered(&decision, inside.kind.possible()));
        }
        let call = self.call(at).id.clone();
        let answer = Answer::Given(serde_json::json!([decision, by]));
        self.decided(open, decision, by.clone(), time);
        self.log.push(LogEvent::Answered { call, question: inside.digest(), answer });
        self.grant(at, GrantedBy::Person(by), Some(open.shown.digest()), time);
        Ok(())
    }

    fn decide_external(
        &mut self,
        at: usize,
        open: &Obligation,
        ruling: Ruling,
        by: Principal,
        time: Time,
    ) -> Result<(), Refusal> {
        let decision = ruling.decision;
        let result = match (&decision, ruling.output) {
            (Decision::Respond { .. }, Some(output)) => CallResult::Succeeded { output },
            (Decision::Fail { error }, _) => CallResult::Failed { error: error.clone(), feedback: None },
            (Decision::Deny { reason }, _) => CallResult::Denied { reason: reason.clone(), by: by.clone() },
            (other, _) => return Err(not_offered(other, open.kind.possible())),
        };
        let is_denial = matches!(decision, Decision::Deny { .. });
        self.decided(open, decision, by, time);
        self.end(at, result, time);
        if is_denial {
            self.stop_turn(time);
        }
        Ok(())
    }

    fn reconcile(
        &mut self,
        at: usize,
        open: &Obligation,
        ruling: Ruling,
        by: Principal,
        time: Time,
    ) -> Result<(), Refusal> {
        let decision = ruling.decision;
        let result = match (&decision, ruling.output) {
            (Decision::Approve, _) => {
                self.decided(open, decision, by.clone(), time);
                self.grant(at, GrantedBy::Person(by), Some(open.shown.digest()), time);
                return Ok(());
            }
            (Decision::Respond { .. }, Some(output)) => CallResult::Succeeded { output },
            (Decision::Fail { error }, _) => CallResult::Failed { error: error.clone(), feedback: None },
            (Decision::Deny { .. }, _) => CallResult::Interrupted { by: InterruptedBy::LostProcess },
            (other, _) => return Err(not_offered(other, open.kind.possible())),
        };
        self.decided(open, decision, by, time);
        self.end(at, result, time);
        Ok(())
    }

    fn decided(&mut self, open: &Obligation, decision: Decision, by: Principal, at: Time) {
        self.log.push(LogEvent::Decided { obligation: open.id.clone(), decision, by, at });
    }
}

fn not_offered(decision: &Decision, possible: &'static str) -> Refusal {
    Refusal::NotOffered { decision: decision.verb(), possible }
}
