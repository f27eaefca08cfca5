//! Handles the decisions about interrupts.

use std::sync::Arc;

use super::Draft;
use crate::run::interrupt::deciders_or;
use crate::run::judge::{Accepted, Verdict};
use crate::run::{
    AbortCause, ArgumentPattern, CallResult, CheckedDecision, Decision, GrantedBy, Interrupt, InterruptId,
    InterruptKind, LogEntry, Principal, QuestionAnswer, Refusal, RunApproval, Stage,
};
use crate::tool::Permission;
use crate::tool::fingerprint::Digest;

impl Draft<'_> {
    /// Records a decision about an open interrupt, and acts on it. Does nothing if the same principal has made the same
    /// decision before.
    pub fn decide(&mut self, id: InterruptId, checked_decision: CheckedDecision, by: Principal) -> Result<(), Refusal> {
        if checked_decision.interrupt != id {
            return Err(Refusal::Misplaced { reason: "the decision was checked for another interrupt" });
        }
        let unknown = || Refusal::Unknown { interrupt: id.clone() };
        let call = self.run.call(&id.call).ok_or_else(unknown)?;
        if id.number >= call.next_interrupt_id().number || id.number == 0 {
            return Err(unknown());
        }
        let open = call.interrupt().filter(|open| open.id == id);
        if let Some(decided) = call.decided(id.number) {
            // The principal that decided may send the decision again. Of the others, only the owner may learn the decision.
            if decided.by != by && !self.run.is_owner(&by) {
                return Err(Refusal::Forbidden);
            }
            if decided.by == by && decided.decision == checked_decision.decision {
                return Ok(());
            }
            return Err(Refusal::Conflict { decided: Box::new(decided.decision.clone()) });
        }
        let Some(open) = open else {
            return Err(if self.run.is_owner(&by) { Refusal::Closed { interrupt: id } } else { Refusal::Forbidden });
        };
        if !self.run.may_decide(open, &by) {
            return Err(Refusal::Forbidden);
        }
        if open.expires_at.is_some_and(|expires| expires <= self.now) {
            return Err(Refusal::Closed { interrupt: id });
        }
        let Some(at) = self.find(&id.call) else { return Err(Refusal::Closed { interrupt: id }) };
        if !open.kind.accepts(&checked_decision.decision) {
            return Err(not_offered(&checked_decision.decision, open));
        }
        match &open.kind {
            InterruptKind::Approval { offer } => {
                self.decide_approval(at, open, offer.as_ref(), checked_decision, by)?;
            }
            InterruptKind::Question { .. } | InterruptKind::Inner { .. } => {
                self.decide_question(at, open, checked_decision.decision, by);
            }
            InterruptKind::External | InterruptKind::Reconcile => {
                self.decide_outcome(at, open, checked_decision, by)?;
            }
        }
        self.schedule();
        Ok(())
    }

    /// Grants, edits or ends a call that waits for an approval.
    fn decide_approval(
        &mut self,
        at: usize,
        open: &Interrupt,
        offer: Option<&ArgumentPattern>,
        checked_decision: CheckedDecision,
        by: Principal,
    ) -> Result<(), Refusal> {
        let decision = checked_decision.decision.clone();
        let Some(tool) = &self.call(at).tool else { return Err(Refusal::ToolChanged) };
        let (mut announced, mut deciders) = (open.shown.clone(), open.deciders.clone());
        match (checked_decision.decision, checked_decision.checked, checked_decision.output) {
            (Decision::Approve, ..) => {
                self.record_decision(open, decision, by.clone());
                self.permit(at, open, by);
            }
            (Decision::ApproveForRun, ..) => {
                self.record_decision(open, decision, by.clone());
                let allow = |pattern| RunApproval { tool: tool.fingerprint, pattern, by: by.clone() };
                self.log.extend(offer.cloned().map(allow).map(|run_approval| LogEntry::RunApproved { run_approval }));
                self.permit(at, open, by);
            }
            (Decision::Edit { .. }, Some(checked), _) => {
                let Accepted { permission, touches, view, .. } = match checked.verdict {
                    Verdict::Accepted(accepted) => accepted,
                    Verdict::Ended(CallResult::Rejected { feedback }) => return Err(Refusal::Invalid { feedback }),
                    Verdict::Ended(CallResult::PolicyDenied { reason }) => {
                        return Err(Refusal::PolicyDenied { reason });
                    }
                    Verdict::Ended(_) => return Err(Refusal::ToolChanged),
                };
                if !checked.tool.is_some_and(|now| now.matches(tool.fingerprint)) {
                    return Err(Refusal::ToolChanged);
                }
                if let Permission::Deny { reason } = permission {
                    return Err(Refusal::PolicyDenied { reason });
                }
                // Other arguments may be those about which others decide.
                if let Some(view) = view.as_ref().filter(|_| permission == Permission::Ask)
                    && !deciders_or(&view.deciders, self.run.owner()).contains(&by)
                {
                    return Err(Refusal::PolicyDenied { reason: Some(others_decide(&view.deciders)) });
                }
                // The fingerprint that the log has of the tool, which may be in an earlier form.
                let granted = tool.fingerprint;
                let (arguments, digest) = match checked.normalized {
                    Some(text) => (Arc::clone(&text), Digest::of(text.as_bytes())),
                    None => (checked.text, checked.arguments),
                };
                if let Some(limit) = self.exceeded_size(&arguments) {
                    return Err(Refusal::LimitReached { limit });
                }
                let call = self.call(at).id.clone();
                self.record_decision(open, decision, by.clone());
                self.log.push(LogEntry::Edited { call, arguments, by: by.clone(), touches: touches.clone() });
                self.touched = Some((at, touches));
                let seen = view.as_ref().map(|view| view.shown.digest());
                if let Some(view) = view {
                    (announced, deciders) = (view.shown, view.deciders);
                }
                self.grant_for(at, granted, digest, GrantedBy::Person(by), seen);
            }
            (Decision::Deny { reason }, ..) => {
                self.record_decision(open, decision, by.clone());
                self.end_not_running(at, CallResult::Denied { reason, by }, AbortCause::Denial);
                self.record_denial();
            }
            (Decision::Respond { .. }, _, Some(output)) => {
                self.record_decision(open, decision, by.clone());
                self.end_not_running(at, CallResult::Responded { output, by }, AbortCause::NotAllowed);
            }
            _ => return Err(not_offered(&decision, open)),
        }
        if tool.external && self.stage(at) == Stage::Ready && !self.is_held(at) {
            // An approval is not an execution: only now is the call announced to its outside executor.
            self.announce(at, announced, deciders);
        }
        Ok(())
    }

    /// Lets the call go on with the answer to its question. A decision about an inner call is itself the answer.
    fn decide_question(&mut self, at: usize, open: &Interrupt, decision: Decision, by: Principal) {
        let (question, answer) = match (&open.kind, &decision) {
            (InterruptKind::Inner { interrupt, .. }, _) => {
                (interrupt.digest(), QuestionAnswer::Given(serde_json::json!([decision, by])))
            }
            (InterruptKind::Question { question }, Decision::Answer { value }) => {
                (question.digest(), QuestionAnswer::Given(value.clone()))
            }
            (InterruptKind::Question { question }, Decision::Deny { reason }) => {
                (question.digest(), QuestionAnswer::Denied(reason.clone()))
            }
            (InterruptKind::Question { question }, _) => (question.digest(), QuestionAnswer::Approved),
            _ => return,
        };
        let call = self.call(at).id.clone();
        self.record_decision(open, decision, by.clone());
        self.log.push(LogEntry::Answered { call, question, answer });
        self.permit(at, open, by);
    }

    /// Ends a call that was executed outside, or lost, with the reported outcome. An approval starts a lost call again.
    fn decide_outcome(
        &mut self,
        at: usize,
        open: &Interrupt,
        checked_decision: CheckedDecision,
        by: Principal,
    ) -> Result<(), Refusal> {
        let decision = checked_decision.decision;
        let is_lost = open.kind == InterruptKind::Reconcile;
        let is_denial = matches!(decision, Decision::Deny { .. });
        let result = match (&decision, checked_decision.output) {
            (Decision::Approve, _) => {
                self.record_decision(open, decision, by.clone());
                self.permit(at, open, by);
                return Ok(());
            }
            (Decision::Respond { .. }, Some(output)) => CallResult::Succeeded { output },
            (Decision::Fail { error }, _) => CallResult::Failed { error: error.clone(), feedback: None },
            (Decision::Deny { .. }, _) if is_lost => CallResult::Aborted { by: AbortCause::LostProcess },
            (Decision::Deny { reason }, _) => CallResult::Denied { reason: reason.clone(), by: by.clone() },
            (other, _) => return Err(not_offered(other, open)),
        };
        self.record_decision(open, decision, by);
        self.end(at, result);
        if is_denial && !is_lost {
            self.record_denial();
        }
        Ok(())
    }

    /// Grants a call because of a person's decision.
    fn permit(&mut self, at: usize, open: &Interrupt, by: Principal) {
        self.grant(at, GrantedBy::Person(by), Some(open.shown.digest()));
    }

    fn record_decision(&mut self, open: &Interrupt, decision: Decision, by: Principal) {
        self.log.push(LogEntry::Decided { interrupt: open.id.clone(), decision, by, at: self.now });
    }
}

/// Returns the reason why an edit is refused whose arguments `deciders` decide about, or the owner if there are none.
fn others_decide(deciders: &[Principal]) -> String {
    let names: Vec<&str> = deciders.iter().map(Principal::as_str).collect();
    let names = if names.is_empty() { "the run's owner".to_owned() } else { names.join(" or ") };
    format!("about these arguments, {names} has to decide")
}

/// Returns the refusal of a decision that the interrupt does not accept.
fn not_offered(decision: &Decision, open: &Interrupt) -> Refusal {
    Refusal::NotOffered { decision: decision.verb(), possible: open.kind.possible() }
}
