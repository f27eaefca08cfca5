//! The person who is there, asked about one thing at a time.

use std::sync::Arc;

use super::{Driver, now};
use crate::agent::{ApprovalRequest, ExternalCall, QuestionRequest};
use crate::feedback::{Problem, ProblemKind, Rejection};
use crate::run::{Decision, Event, ObligationId, ObligationKind, Refusal};

impl Driver<'_> {
    /// Something waits for a decision.
    pub(super) fn announce(&mut self, obligation: ObligationId) {
        if self.agent.front.attends() {
            self.people.push_back(obligation);
        }
    }

    /// Asks about the next thing that is still open.
    pub(super) fn ask_people(&mut self) {
        while self.person.is_none() {
            let Some(obligation) = self.people.pop_front() else { return };
            self.ask(&obligation, None);
        }
    }

    fn ask(&mut self, id: &ObligationId, feedback: Option<Rejection>) {
        let (Some(open), Some(call)) = (self.kept.run.obligation(id), self.kept.run.call(id.call())) else { return };
        let Some(tool) = self.inspector.tools().get(&call.name) else { return };
        let (front, id) = (Arc::clone(&self.agent.front), id.clone());
        let (call_id, spec, arguments) = (call.id.to_string(), Arc::clone(tool.spec()), open.shown.arguments.clone());
        let written = open.shown.lines.clone();
        let obligation = open.clone();
        self.person = Some(match &open.kind {
            ObligationKind::Approval { .. } | ObligationKind::Reconcile => {
                let reconciles = matches!(open.kind, ObligationKind::Reconcile);
                let request = ApprovalRequest { call_id, spec, arguments, written, feedback, obligation };
                Box::pin(async move {
                    let decision = if reconciles { front.reconcile(&request) } else { front.approve(&request) };
                    (id, Some(decision.await))
                })
            }
            ObligationKind::External => {
                let request = ExternalCall { call_id, spec, arguments, written, feedback };
                Box::pin(async move {
                    let output = front.execute(&request).await;
                    (id, output.map(|text| given(&text)))
                })
            }
            ObligationKind::Answer { question } => {
                let request = QuestionRequest { call_id, spec, question: question.clone(), feedback };
                Box::pin(async move {
                    let decision = front.answer(&request).await;
                    (id, Some(decision))
                })
            }
        });
    }

    /// The person decided, or cannot.
    pub(super) fn person_decided(&mut self, id: &ObligationId, decision: Option<Decision>) {
        let nobody = "the call is executed outside, and nobody was there to do it";
        let decision = decision.unwrap_or_else(|| Decision::Fail { error: nobody.to_owned() });
        let cx = self.context(id.call());
        let by = self.kept.run.owner().clone();
        let ruled = self.inspector.rule(&self.kept.run, id, decision, &cx);
        let decided =
            ruled.and_then(|ruling| self.feed(Event::Decide { obligation: id.clone(), ruling, by, at: now() }));
        let feedback = match decided {
            // Decided by somebody else, or not open any more.
            Ok(()) | Err(Refusal::Closed { .. } | Refusal::Conflict { .. } | Refusal::Unknown { .. }) => return,
            Err(Refusal::Invalid { feedback }) => feedback,
            Err(refusal) => {
                Rejection::one(Problem::new("", ProblemKind::NotAllowed, format!("a decision that fits: {refusal}")))
            }
        };
        self.ask(id, Some(feedback));
    }
}

/// The decision of somebody outside who gave `text` as the output.
fn given(text: &str) -> Decision {
    match serde_json::from_str(text) {
        Ok(output) => Decision::Respond { output },
        // Told as what it is; the output's type will say what it wants instead.
        Err(_) => Decision::Respond { output: text.into() },
    }
}
