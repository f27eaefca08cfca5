//! Handles the decisions about interrupts.

use std::sync::Arc;

use super::Advance;
use crate::run::interrupt::deciders_or;
use crate::run::judge::{Accepted, Judged, Verdict};
use crate::run::{
    AbortCause, ArgumentPattern, CallResult, CheckedDecision, Decision, GrantedBy, Interrupt, InterruptId,
    InterruptKind, LogEntry, Principal, QuestionAnswer, Refusal, RunApproval, Stage,
};
use crate::tool::Permission;
use crate::tool::fingerprint::Digest;

impl Advance<'_> {
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
        let CheckedDecision { decision, judged, .. } = checked_decision;
        if !open.kind.accepts(&decision) {
            return Err(not_offered(&decision, open));
        }
        let open = open.clone();
        match &open.kind {
            InterruptKind::Approval { offer } => {
                self.decide_approval(at, &open, offer.as_ref(), (decision, judged), by)?;
            }
            InterruptKind::Question { question } if question.need.is_some() => {
                let judged = match judged {
                    Judged::Denied(reason) => Judged::Denied(Some(lacking(&question.text, reason.as_deref()))),
                    judged => judged,
                };
                self.decide_approval(at, &open, None, (decision, judged), by)?;
            }
            InterruptKind::Question { .. } | InterruptKind::Inner { .. } => {
                self.decide_question(at, &open, (decision, judged), by)?;
            }
            InterruptKind::External | InterruptKind::Reconcile => {
                self.decide_outcome(at, &open, (decision, judged), by)?;
            }
        }
        self.schedule();
        Ok(())
    }

    /// Grants, edits or ends a call that waits for an approval, or for what it needs before it starts.
    fn decide_approval(
        &mut self,
        at: usize,
        open: &Interrupt,
        offer: Option<&ArgumentPattern>,
        (decision, judged): (Decision, Judged),
        by: Principal,
    ) -> Result<(), Refusal> {
        let Some(tool) = self.call(at).tool.clone() else { return Err(Refusal::ToolChanged) };
        let (mut announced, mut deciders) = (open.shown.clone(), open.deciders.clone());
        match judged {
            Judged::Approved => {
                self.record_decision(open, decision, by.clone());
                self.permit(at, open, by);
            }
            Judged::ApprovedForRun => {
                self.record_decision(open, decision, by.clone());
                if let Some(pattern) = offer.cloned() {
                    let run_approval = RunApproval { tool: tool.fingerprint, pattern, by: by.clone() };
                    self.push(LogEntry::RunApproved { run_approval });
                }
                self.permit(at, open, by);
            }
            Judged::Edited(checked) => {
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
                let (arguments, digest) = match checked.normalized {
                    Some(text) => (Arc::clone(&text), Digest::of(text.as_bytes())),
                    None => (checked.text, checked.arguments),
                };
                if let Some(limit) = self.exceeded_size(&arguments) {
                    return Err(Refusal::LimitReached { limit });
                }
                let call = self.call(at).id.clone();
                self.record_decision(open, decision, by.clone());
                self.push(LogEntry::Edited { call, arguments, by: by.clone(), touches });
                let seen = view.as_ref().map(|view| view.shown.digest());
                if let Some(view) = view {
                    (announced, deciders) = (view.shown, view.deciders);
                }
                // The fingerprint that the log has of the tool may be in an earlier form.
                self.grant_for(at, tool.fingerprint, digest, GrantedBy::Person(by), seen);
            }
            Judged::Denied(reason) => {
                self.record_decision(open, decision, by.clone());
                self.end_not_running(at, CallResult::Denied { reason, by }, AbortCause::Denial);
                self.follow_denial();
            }
            Judged::Responded(output) => {
                self.record_decision(open, decision, by.clone());
                self.end_not_running(at, CallResult::Responded { output, by }, AbortCause::NotAllowed);
            }
            Judged::Answered(_) | Judged::Failed(_) | Judged::Inside | Judged::NotOffered => {
                return Err(not_offered(&decision, open));
            }
        }
        if tool.external && self.call(at).stage() == Stage::Ready && !self.is_held(at) {
            // An approval is not an execution: only now is the call announced to its outside executor.
            self.announce(at, announced, deciders);
        }
        Ok(())
    }

    /// Lets the call go on with the answer to its question. A decision about an inner call is itself the answer.
    fn decide_question(
        &mut self,
        at: usize,
        open: &Interrupt,
        (decision, judged): (Decision, Judged),
        by: Principal,
    ) -> Result<(), Refusal> {
        let (question, answer) = match (&open.kind, judged) {
            (InterruptKind::Inner { interrupt, .. }, Judged::Inside) => {
                (interrupt.digest(), QuestionAnswer::Given(serde_json::json!([decision, by])))
            }
            (InterruptKind::Question { question }, Judged::Answered(value)) => {
                (question.digest(), QuestionAnswer::Given(value))
            }
            (InterruptKind::Question { question }, Judged::Denied(reason)) => {
                (question.digest(), QuestionAnswer::Denied(reason))
            }
            (InterruptKind::Question { question }, Judged::Approved) => (question.digest(), QuestionAnswer::Approved),
            _ => return Err(not_offered(&decision, open)),
        };
        let call = self.call(at).id.clone();
        self.record_decision(open, decision, by.clone());
        self.push(LogEntry::Answered { call, question, answer });
        self.permit(at, open, by);
        Ok(())
    }

    /// Ends a call that was executed outside, or lost, with the reported outcome. An approval starts a lost call again.
    fn decide_outcome(
        &mut self,
        at: usize,
        open: &Interrupt,
        (decision, judged): (Decision, Judged),
        by: Principal,
    ) -> Result<(), Refusal> {
        let is_lost = open.kind == InterruptKind::Reconcile;
        let result = match judged {
            Judged::Approved => {
                self.record_decision(open, decision, by.clone());
                self.permit(at, open, by);
                return Ok(());
            }
            Judged::Responded(output) => CallResult::Succeeded { output },
            Judged::Failed(error) => CallResult::Failed { error, feedback: None },
            Judged::Denied(_) if is_lost => CallResult::Aborted { by: AbortCause::LostProcess },
            Judged::Denied(reason) => CallResult::Denied { reason, by: by.clone() },
            Judged::ApprovedForRun | Judged::Edited(_) | Judged::Answered(_) | Judged::Inside | Judged::NotOffered => {
                return Err(not_offered(&decision, open));
            }
        };
        let is_denied = matches!(result, CallResult::Denied { .. });
        self.record_decision(open, decision, by);
        self.end(at, result);
        if is_denied {
            self.follow_denial();
        }
        Ok(())
    }

    /// Grants a call because of a person's decision.
    fn permit(&mut self, at: usize, open: &Interrupt, by: Principal) {
        self.grant(at, GrantedBy::Person(by), Some(open.shown.digest()));
    }

    fn record_decision(&mut self, open: &Interrupt, decision: Decision, by: Principal) {
        self.push(LogEntry::Decided { interrupt: open.id.clone(), decision, by, at: self.now });
    }
}

/// Returns the reason why an edit is refused whose arguments `deciders` decide about, or the owner if there are none.
fn others_decide(deciders: &[Principal]) -> String {
    let names: Vec<&str> = deciders.iter().map(Principal::as_str).collect();
    let names = if names.is_empty() { "the run's owner".to_owned() } else { names.join(" or ") };
    format!("about these arguments, {names} has to decide")
}

/// Returns the reason, for the model, of the denial of a call that lacks something.
fn lacking(need: &str, reason: Option<&str>) -> String {
    let need = format!("it needs this first: {need}");
    reason.map_or_else(|| need.clone(), |reason| format!("{reason}; {need}"))
}

/// Returns the refusal of a decision that the interrupt does not accept.
fn not_offered(decision: &Decision, open: &Interrupt) -> Refusal {
    Refusal::NotOffered { decision: decision.verb(), possible: open.kind.possible() }
}
