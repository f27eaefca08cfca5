//! The program or person that decides about the calls of a run, and the questions to it.

use std::{collections::VecDeque, fmt, future::pending, panic::AssertUnwindSafe, sync::Arc};

use futures_util::{
    FutureExt,
    future::{BoxFuture, ready},
};
use serde_json::Value;

use crate::agent::{Agent, calls::in_time, log::Log};
use crate::feedback::{Problem, ProblemKind, Rejection};
use crate::gate::{self, Gate, Read, Reading};
use crate::run::{Decision, Interrupt, InterruptId, InterruptKind, Refusal};
use crate::tool::{Context, Question, ToolSpec};
use tool_run::run::{Shown, StepEvent};

/// Decides about the calls of a run, answers what their tools ask, and executes external calls. [`Agent::operator`] sets it.
///
/// It acts on behalf of the run's owner. Others decide through [`Agent::decide`].
///
/// Every method has a default that denies, so that an operator implements only what it can decide. [`DenyAll`] implements none,
/// [`Suspend`] leaves all decisions to others. `tool_terminal::Terminal` asks a person.
///
/// [`Agent::decide`]: super::Agent::decide
/// [`Agent::operator`]: super::Agent::operator
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot decide about the calls of an agent",
    label = "`Operator` is not implemented",
    note = "`DenyAll`, `Suspend` and `Terminal` are operators; implement `Operator` for what decides in their place"
)]
pub trait Operator: Send + Sync {
    /// Returns whether the operator is there to decide. If not, it is asked nothing: calls wait, and a run that cannot go on
    /// without a decision is suspended.
    fn attends(&self) -> bool {
        true
    }

    /// Decides about what a call of the tool `tool` waits for, in place of the methods below. For the runs of agents that
    /// are tools.
    #[doc(hidden)]
    fn decide(
        &self,
        tool: &str,
        open: &Interrupt,
        feedback: Option<&Rejection>,
    ) -> Option<BoxFuture<'static, Decision>> {
        let _ = (tool, open, feedback);
        None
    }

    /// Decides about a call. A run calls this and the methods below for one call at a time.
    fn approve<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Decision> {
        let _ = request;
        Box::pin(ready(Decision::deny("nobody is there to approve it")))
    }

    /// Executes an external call, and returns the JSON of its output; `None` when it cannot be executed.
    fn execute<'a>(&'a self, call: &'a ExternalCall) -> BoxFuture<'a, Option<String>> {
        let _ = call;
        Box::pin(ready(None))
    }

    /// Answers the question of a running tool.
    fn answer<'a>(&'a self, request: &'a QuestionRequest) -> BoxFuture<'a, Decision> {
        let _ = request;
        Box::pin(ready(Decision::deny("nobody is there to answer")))
    }

    /// Decides about a call that was started by a process that is gone: approve (start it again), respond (it was done),
    /// fail, or deny (leave it).
    fn reconcile<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Decision> {
        let _ = request;
        Box::pin(ready(Decision::Deny { reason: None }))
    }
}

impl<O: Operator + ?Sized> Operator for Arc<O> {
    fn attends(&self) -> bool {
        (**self).attends()
    }

    fn decide(
        &self,
        tool: &str,
        open: &Interrupt,
        feedback: Option<&Rejection>,
    ) -> Option<BoxFuture<'static, Decision>> {
        (**self).decide(tool, open, feedback)
    }

    fn approve<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Decision> {
        (**self).approve(request)
    }

    fn execute<'a>(&'a self, call: &'a ExternalCall) -> BoxFuture<'a, Option<String>> {
        (**self).execute(call)
    }

    fn answer<'a>(&'a self, request: &'a QuestionRequest) -> BoxFuture<'a, Decision> {
        (**self).answer(request)
    }

    fn reconcile<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Decision> {
        (**self).reconcile(request)
    }
}

/// An operator that denies every call that needs an approval, answers nothing and executes nothing. The default of an agent.
#[derive(Clone, Copy, Debug)]
pub struct DenyAll;

impl Operator for DenyAll {}

/// An operator that decides nothing: calls wait for a decision, and the run is suspended until [`Agent::decide`] or
/// [`Session::decide`] gives it.
///
/// [`Agent::decide`]: super::Agent::decide
/// [`Session::decide`]: super::Session::decide
#[derive(Clone, Copy, Debug)]
pub struct Suspend;

impl Operator for Suspend {
    fn attends(&self) -> bool {
        false
    }
}

/// A call that somebody must decide about.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ApprovalRequest {
    /// The id of the call.
    pub call_id: String,
    /// The specification of the tool.
    pub spec: Arc<ToolSpec>,
    /// The arguments as they will be used: accepted by the tool, with defaults filled in.
    pub arguments: Value,
    /// The arguments as texts, with all their digits, for a person.
    pub written: Vec<(String, String)>,
    /// The problem with the decision that was given before; nothing of it is in `arguments`.
    pub feedback: Option<Rejection>,
    /// The interrupt: what to show, since when, until when.
    pub interrupt: Interrupt,
    pub(super) check: Check,
}

/// A call that is executed outside this program.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ExternalCall {
    /// The id of the call.
    pub call_id: String,
    /// The specification of the tool.
    pub spec: Arc<ToolSpec>,
    /// The arguments, accepted by the tool, with defaults filled in.
    pub arguments: Value,
    /// The arguments as texts, with all their digits ([`ToolSpec::written`]), for a person.
    pub written: Vec<(String, String)>,
    /// The problem with the output that was given before.
    pub feedback: Option<Rejection>,
}

/// A question of a running tool.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct QuestionRequest {
    /// The id of the call.
    pub call_id: String,
    /// The specification of the tool.
    pub spec: Arc<ToolSpec>,
    /// The question.
    pub question: Question,
    /// The problem with the answer that was given before.
    pub feedback: Option<Rejection>,
}

/// The means to check edited arguments before anything is decided.
#[derive(Clone)]
pub struct Check {
    pub gate: Gate,
    pub tool: String,
    pub cx: Context,
}

impl ApprovalRequest {
    /// Returns the call as it would be with these arguments: as the tool's own decoder and validators read them, corrected where
    /// they correct. So a person sees what they allow before they do.
    ///
    /// Fails with what is wrong with them. Nothing is decided either way; [`Decision::Edit`] checks again.
    pub async fn check(&self, arguments: &Value) -> Result<Shown, Rejection> {
        let Check { gate, tool, cx } = &self.check;
        let edit = Decision::Edit { arguments: arguments.clone() };
        let call = match gate.read_edit(tool, &self.interrupt, &edit, cx) {
            Some(Reading::Asking(asking)) => in_time(gate.tools(), tool, asking).await,
            Some(Reading::Done(call)) => call,
            None => return Shown::new(&self.spec, &arguments.to_string(), &[]),
        };
        call.read.shown(&self.spec)
    }
}

impl fmt::Debug for Check {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Check").field("tool", &self.tool).finish_non_exhaustive()
    }
}

/// How many decisions that do not fit are accepted for a call. A program that is asked would go on for ever.
const MOST_TRIES: u32 = 100;

/// The reason of a denial that nobody gave.
const FAILED: &str = "whoever was asked failed";

/// The questions of a run to its operator.
pub struct Questions {
    agent: Agent,
    gate: Gate,
    /// The interrupts that the operator was not asked about yet.
    waiting: VecDeque<InterruptId>,
    /// The interrupt that the operator is asked about, and its answer.
    asked: Option<(InterruptId, BoxFuture<'static, Box<Answered>>)>,
}

/// The operator's answer to a question.
pub struct Answered {
    interrupt: InterruptId,
    /// The number of times that the question was put before.
    tries: u32,
    /// The decision; `None` when the call cannot be executed.
    decision: Option<Decision>,
    /// What the tool states about edited arguments.
    read: Option<Read>,
}

impl Questions {
    /// Those to the operator of `agent`.
    pub fn new(agent: &Agent, gate: &Gate) -> Self {
        Self { agent: agent.clone(), gate: gate.clone(), waiting: VecDeque::new(), asked: None }
    }

    /// Puts an interrupt behind those that the operator is to be asked about, if it may decide about it.
    pub fn announce(&mut self, interrupt: InterruptId, log: &Log) {
        let run = log.run();
        let is_its = run.interrupt(&interrupt).is_some_and(|open| run.may_decide(open, run.owner()));
        if is_its && self.agent.setup.operator.attends() && !self.is_asked(&interrupt) {
            self.waiting.push_back(interrupt);
        }
    }

    /// Returns whether the operator was asked about it, or will be.
    fn is_asked(&self, id: &InterruptId) -> bool {
        self.waiting.contains(id) || self.asked.as_ref().is_some_and(|(asked, _)| asked == id)
    }

    /// Returns whether the operator is asked about anything.
    pub fn is_busy(&self) -> bool {
        self.asked.is_some() || !self.waiting.is_empty()
    }

    /// Asks about the next thing that is still open.
    pub fn ask_next(&mut self, log: &Log) {
        if self.asked.as_ref().is_some_and(|(asked, _)| log.run().interrupt(asked).is_none()) {
            // Expired, or decided by somebody else.
            self.asked = None;
        }
        while self.asked.is_none() {
            let Some(interrupt) = self.waiting.pop_front() else { return };
            self.ask(&interrupt, None, 0, log);
        }
    }

    /// Waits for the operator's answer. Dropped, it loses nothing.
    pub async fn next(&mut self) -> Box<Answered> {
        let Some((_, answer)) = &mut self.asked else { return pending().await };
        let answered = answer.await;
        self.asked = None;
        answered
    }

    fn ask(&mut self, id: &InterruptId, feedback: Option<Rejection>, tries: u32, log: &Log) {
        let run = log.run();
        let (Some(open), Some(call)) = (run.interrupt(id), run.call(id.call())) else { return };
        let Some(decision) = self.decision(open, feedback, log) else { return };
        // An operator that fails decides nothing, and must not take the run with it.
        let contained = AssertUnwindSafe(decision).catch_unwind();
        let decision = contained.map(|decided| decided.unwrap_or_else(|_| Some(Decision::deny(FAILED))));
        let (gate, cx, name, open) = (self.gate.clone(), log.context(id.call()), call.name.clone(), open.clone());
        let interrupt = id.clone();
        let answer = async move {
            let decision = decision.await;
            let reading = decision.as_ref().and_then(|decision| gate.read_edit(&name, &open, decision, &cx));
            let read = match reading {
                Some(Reading::Asking(asking)) => Some(in_time(gate.tools(), &name, asking).await.read),
                Some(Reading::Done(call)) => Some(call.read),
                None => None,
            };
            Box::new(Answered { interrupt, tries, decision, read })
        };
        self.asked = Some((id.clone(), answer.boxed()));
    }

    /// Asks the operator to decide; `None` where there is nothing to ask.
    fn decision(
        &self,
        open: &Interrupt,
        feedback: Option<Rejection>,
        log: &Log,
    ) -> Option<BoxFuture<'static, Option<Decision>>> {
        let call = log.run().call(open.id.call())?;
        let tool = gate::tool_of(self.gate.tools(), &call.name, open)?;
        let operator = Arc::clone(&self.agent.setup.operator);
        let (call_id, spec, arguments) = (call.id.to_string(), Arc::clone(tool.spec()), open.shown.arguments.clone());
        let written = open.shown.lines.clone();
        // Of something inside of the call, what is wrong with the last decision came with it.
        let feedback = feedback.or_else(|| match &open.kind {
            InterruptKind::Inner { feedback, .. } => feedback.as_deref().cloned(),
            _ => None,
        });
        if let Some(decision) = operator.decide(&call.name, open, feedback.as_ref()) {
            return Some(Box::pin(decision.map(Some)));
        }
        Some(match &open.innermost().kind {
            InterruptKind::Approval { .. } | InterruptKind::Reconcile => {
                let reconciles = matches!(open.innermost().kind, InterruptKind::Reconcile);
                let (gate, tool) = (self.gate.clone(), call.name.clone());
                let (check, interrupt) = (Check { gate, tool, cx: log.context(&call.id) }, open.clone());
                let request = ApprovalRequest { call_id, spec, arguments, written, feedback, interrupt, check };
                Box::pin(async move {
                    let decision = if reconciles { operator.reconcile(&request) } else { operator.approve(&request) };
                    Some(decision.await)
                })
            }
            InterruptKind::External => {
                let request = ExternalCall { call_id, spec, arguments, written, feedback };
                Box::pin(async move { operator.execute(&request).await.map(|text| respond(&text)) })
            }
            InterruptKind::Answer { question } => {
                let request = QuestionRequest { call_id, spec, question: question.clone(), feedback };
                Box::pin(async move { Some(operator.answer(&request).await) })
            }
            InterruptKind::Inner { .. } => return None,
        })
    }

    /// Gives the log the operator's decision. Where it does not fit, the operator is asked again, with the reason.
    pub fn receive(&mut self, answered: Answered, log: &mut Log) {
        let Answered { interrupt: id, tries, decision, read } = answered;
        let nobody = "the call is executed outside, and nobody was there to do it";
        let mut decision = decision.unwrap_or_else(|| Decision::Fail { error: nobody.to_owned() });
        if tries == MOST_TRIES {
            decision = Decision::deny(FAILED);
        }
        let (cx, by) = (log.context(id.call()), log.run().owner().clone());
        let ruled = self.gate.rule_read(log.run(), &id, decision, read, &cx);
        let decided =
            ruled.and_then(|ruling| log.record(StepEvent::Decide { interrupt: id.clone(), ruling, by, at: log.now() }));
        let feedback = match decided {
            // Decided by somebody else, or not open any more.
            Ok(()) | Err(Refusal::Closed { .. } | Refusal::Conflict { .. } | Refusal::Unknown { .. }) => return,
            Err(_) if tries == MOST_TRIES => return,
            Err(Refusal::Invalid { feedback }) => feedback,
            Err(refusal) => {
                Rejection::one(Problem::new("", ProblemKind::NotAllowed, format!("a decision that fits: {refusal}")))
            }
        };
        self.ask(&id, Some(feedback), tries + 1, log);
    }
}

/// Returns the decision of somebody outside who gave `text` as the output.
fn respond(text: &str) -> Decision {
    match serde_json::from_str(text) {
        Ok(output) => Decision::Respond { output },
        // The output's type reports what it wants instead.
        Err(_) => Decision::Respond { output: text.into() },
    }
}
