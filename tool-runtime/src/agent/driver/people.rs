//! The person who is there, asked about one thing at a time.

use std::{future::pending, panic::AssertUnwindSafe, sync::Arc};

use futures_util::{FutureExt, future::BoxFuture};

use super::{Driver, look::in_time};
use crate::agent::{ApprovalRequest, ExternalCall, QuestionRequest, check::Check};
use crate::feedback::{Problem, ProblemKind, Rejection};
use crate::run::{Decision, Event, ObligationId, ObligationKind, Read, Reading, Refusal};

/// How many decisions that do not fit are taken for a call. A program that is asked would go on for ever.
const MOST_TRIES: u32 = 100;

/// The reason of a denial that nobody gave.
const FAILED: &str = "whoever was asked failed";

/// Somebody who was asked.
pub(super) struct Person {
    pub(super) obligation: ObligationId,
    /// How often it was asked before.
    tries: u32,
    pub(super) decision: BoxFuture<'static, Answered>,
}

/// What is decided, `None` when the call cannot be executed; and what the tool says of edited arguments.
type Answered = (Option<Decision>, Option<Read>);

/// What somebody who was asked decided.
pub(super) struct Decided {
    pub(super) obligation: ObligationId,
    pub(super) tries: u32,
    pub(super) decision: Answered,
}

impl Person {
    /// What somebody decides who was asked; never, when nobody was.
    pub(super) async fn decided(person: &mut Option<Self>) -> Box<Decided> {
        let Some(Self { obligation, tries, decision }) = person else { return pending().await };
        let decided = Decided { obligation: obligation.clone(), tries: *tries, decision: decision.await };
        *person = None;
        Box::new(decided)
    }
}

impl Driver<'_> {
    /// Something waits for a decision.
    pub(super) fn announce(&mut self, obligation: ObligationId) {
        let run = &self.kept.run;
        let is_ours = run.obligation(&obligation).is_some_and(|open| run.may_decide(open, run.owner()));
        if is_ours && self.agent.front.attends() {
            self.people.push_back(obligation);
        }
    }

    /// Asks about the next thing that is still open.
    pub(super) fn ask_people(&mut self) {
        if self.person.as_ref().is_some_and(|person| self.kept.run.obligation(&person.obligation).is_none()) {
            // Expired, or decided by somebody else.
            self.person = None;
        }
        while self.person.is_none() {
            let Some(obligation) = self.people.pop_front() else { return };
            self.ask(&obligation, None, 0);
        }
    }

    /// Whether the person was asked about it, or will be.
    pub(super) fn is_asked(&self, id: &ObligationId) -> bool {
        self.people.contains(id) || self.person.as_ref().is_some_and(|person| person.obligation == *id)
    }

    fn ask(&mut self, id: &ObligationId, feedback: Option<Rejection>, tries: u32) {
        let (Some(open), Some(call)) = (self.kept.run.obligation(id), self.kept.run.call(id.call())) else { return };
        let Some(tool) = open.tool(self.inspector.tools(), &call.name) else { return };
        let front = Arc::clone(&self.agent.front);
        let (call_id, spec, arguments) = (call.id.to_string(), Arc::clone(tool.spec()), open.shown.arguments.clone());
        let written = open.shown.lines.clone();
        let obligation = open.clone();
        // Of something inside of the call, what is wrong with the last decision came with it.
        let feedback = feedback.or_else(|| match &open.kind {
            ObligationKind::Inner { feedback, .. } => feedback.as_deref().cloned(),
            _ => None,
        });
        let outside = front.decide(&call.name, open, feedback.as_ref());
        let decision: BoxFuture<'static, Option<Decision>> = match &open.innermost().kind {
            _ if outside.is_some() => Box::pin(async move { Some(outside?.await) }),
            ObligationKind::Approval { .. } | ObligationKind::Reconcile => {
                let reconciles = matches!(open.innermost().kind, ObligationKind::Reconcile);
                let (inspector, tool) = (self.inspector.clone(), call.name.clone());
                let check = Check { inspector, tool, cx: self.context(id.call()) };
                let request = ApprovalRequest { call_id, spec, arguments, written, feedback, obligation, check };
                Box::pin(async move {
                    let decision = if reconciles { front.reconcile(&request) } else { front.approve(&request) };
                    Some(decision.await)
                })
            }
            ObligationKind::External => {
                let request = ExternalCall { call_id, spec, arguments, written, feedback };
                Box::pin(async move {
                    let output = front.execute(&request).await;
                    output.map(|text| given(&text))
                })
            }
            ObligationKind::Inner { .. } => return,
            ObligationKind::Answer { question } => {
                let request = QuestionRequest { call_id, spec, question: question.clone(), feedback };
                Box::pin(async move {
                    let decision = front.answer(&request).await;
                    Some(decision)
                })
            }
        };
        // A front that fails decides nothing, and must not take the run with it.
        let contained = AssertUnwindSafe(decision).catch_unwind();
        let decision = contained.map(|decided| decided.unwrap_or_else(|_| Some(Decision::deny(FAILED))));
        let (inspector, cx, name) = (self.inspector.clone(), self.context(id.call()), call.name.clone());
        let edited = open.clone();
        let decision = async move {
            let decision = decision.await;
            let reading = decision.as_ref().and_then(|decision| inspector.read_edit(&name, &edited, decision, &cx));
            let read = match reading {
                Some(Reading::Asking(asking)) => Some(in_time(inspector.tools(), &name, asking).await),
                Some(Reading::Done(read)) => Some(read),
                None => None,
            };
            (decision, read)
        }
        .boxed();
        self.person = Some(Person { obligation: id.clone(), tries, decision });
    }

    /// The person decided, or cannot.
    pub(super) fn person_decided(&mut self, decided: Decided) {
        let Decided { obligation: id, tries, decision: (decision, read) } = decided;
        let nobody = "the call is executed outside, and nobody was there to do it";
        let mut decision = decision.unwrap_or_else(|| Decision::Fail { error: nobody.to_owned() });
        if tries == MOST_TRIES {
            decision = Decision::deny(FAILED);
        }
        let cx = self.context(id.call());
        let by = self.kept.run.owner().clone();
        let ruled = self.inspector.rule_read(&self.kept.run, &id, decision, read, &cx);
        let decided =
            ruled.and_then(|ruling| self.feed(Event::Decide { obligation: id.clone(), ruling, by, at: self.now() }));
        let feedback = match decided {
            // Decided by somebody else, or not open any more.
            Ok(()) | Err(Refusal::Closed { .. } | Refusal::Conflict { .. } | Refusal::Unknown { .. }) => return,
            Err(_) if tries == MOST_TRIES => return,
            Err(Refusal::Invalid { feedback }) => feedback,
            Err(refusal) => {
                Rejection::one(Problem::new("", ProblemKind::NotAllowed, format!("a decision that fits: {refusal}")))
            }
        };
        self.ask(&id, Some(feedback), tries + 1);
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
