//! The operator, which decides about the calls of a run, and the requests to it.

use std::{collections::VecDeque, fmt, future::pending, panic::AssertUnwindSafe, sync::Arc};

use futures_util::{
    FutureExt,
    future::{BoxFuture, ready},
};
use serde_json::Value;

use crate::agent::{Agent, calls::read_in_time, driver::Driver};
use crate::feedback::{Problem, ProblemKind, Rejection};
use crate::gate::{self, Gate, ReadArguments};
use crate::run::{Decision, Interrupt, InterruptId, InterruptKind, Principal, Refusal};
use crate::tool::{Context, Question, ToolSpec};
use tool_run::run::{CallView, InputError, LogInput};

/// The object that decides about the calls of a run, answers the questions of tools, and executes external calls.
/// [`Agent::operator`] sets it.
///
/// An operator acts on behalf of the run's owner. Other principals decide through [`Agent::decide`].
///
/// Each method that decides denies or executes nothing by default, so an operator implements only what it can decide.
/// [`DenyAll`] implements none, and [`Suspend`] leaves all decisions to others. `tool_terminal::Terminal` asks a person.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot decide about the calls of an agent",
    label = "`Operator` is not implemented",
    note = "`DenyAll`, `Suspend` and `Terminal` are operators; implement `Operator` for one of your own"
)]
pub trait Operator: Send + Sync {
    /// Returns whether the operator can decide now. If it cannot, it receives no requests: calls wait, and a run that cannot go
    /// on without a decision is suspended.
    fn can_decide(&self) -> bool {
        true
    }

    /// Decides an interrupt of a call of the tool `tool`, in place of the methods below, and returns who decided it; `None`
    /// means the run's owner. Runs of agents as tools use this.
    #[doc(hidden)]
    fn decide(
        &self,
        tool: &str,
        open: &Interrupt,
        feedback: Option<&Rejection>,
    ) -> Option<BoxFuture<'static, (Decision, Option<Principal>)>> {
        let _ = (tool, open, feedback);
        None
    }

    /// Decides about a call that needs an approval. A run calls this method and those below for one call at a time.
    fn approve<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Decision> {
        let _ = request;
        Box::pin(ready(Decision::deny_undecided("no operator can approve it")))
    }

    /// Executes an external call, and returns the JSON of its output, or `None` if it cannot be executed.
    fn execute<'a>(&'a self, call: &'a ExternalCall) -> BoxFuture<'a, Option<String>> {
        let _ = call;
        Box::pin(ready(None))
    }

    /// Answers the question of a running tool.
    fn answer<'a>(&'a self, request: &'a QuestionRequest) -> BoxFuture<'a, Decision> {
        let _ = request;
        Box::pin(ready(Decision::deny_undecided("no operator can answer it")))
    }

    /// Decides about a call whose process died while the call ran. Approve starts the call again, respond states its output,
    /// fail states its error, and deny leaves it.
    fn reconcile<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Decision> {
        let _ = request;
        Box::pin(ready(Decision::Deny { reason: None }))
    }
}

impl<O: Operator + ?Sized> Operator for Arc<O> {
    fn can_decide(&self) -> bool {
        (**self).can_decide()
    }

    fn decide(
        &self,
        tool: &str,
        open: &Interrupt,
        feedback: Option<&Rejection>,
    ) -> Option<BoxFuture<'static, (Decision, Option<Principal>)>> {
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

/// The default operator: it denies every call that needs an approval, answers nothing and executes nothing.
#[derive(Clone, Copy, Debug)]
pub struct DenyAll;

impl Operator for DenyAll {}

/// An operator that decides nothing: calls wait, and the run is suspended until [`Agent::decide`] or
/// [`Session::decide`](super::Session::decide) decides.
#[derive(Clone, Copy, Debug)]
pub struct Suspend;

impl Operator for Suspend {
    fn can_decide(&self) -> bool {
        false
    }
}

/// A call that waits for a decision.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ApprovalRequest {
    /// The id of the call.
    pub call_id: String,
    /// The specification of the tool.
    pub spec: Arc<ToolSpec>,
    /// The arguments that the call will use: accepted by the tool, with defaults filled in.
    pub arguments: Value,
    /// The arguments as texts, with all their digits, for a person.
    pub argument_texts: Vec<(String, String)>,
    /// The problem with the previous decision, if there was one. `arguments` contain nothing of that decision.
    pub feedback: Option<Rejection>,
    /// The interrupt, with the view for the person, and the times of its opening and expiry.
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
    /// The arguments as texts, with all their digits ([`ToolSpec::argument_texts`]), for a person.
    pub argument_texts: Vec<(String, String)>,
    /// The problem with the previous output, if there was one.
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
    /// The problem with the previous answer, if there was one.
    pub feedback: Option<Rejection>,
}

/// The means to check edited arguments before a decision.
#[derive(Clone)]
pub struct Check {
    pub gate: Gate,
    pub tool: String,
    pub cx: Context,
}

impl ApprovalRequest {
    /// Returns the view of the call with these arguments, as the tool's decoder and validators read and correct them. So a
    /// person can see the edited call before they approve it.
    ///
    /// Fails with the problems if the arguments are wrong. [`Decision::Edit`] checks the arguments again.
    pub async fn check(&self, arguments: &Value) -> Result<CallView, Rejection> {
        let Check { gate, tool, cx } = &self.check;
        let edit = Decision::Edit { arguments: arguments.clone() };
        match gate.read_edit(tool, &self.interrupt, &edit, cx) {
            Some(reading) => read_in_time(gate.tools(), tool, reading).await.read.shown(&self.spec),
            None => CallView::new(&self.spec, &arguments.to_string(), &[]),
        }
    }
}

impl fmt::Debug for Check {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Check").field("tool", &self.tool).finish_non_exhaustive()
    }
}

/// The maximum number of repeated requests about one interrupt. Without it, a program as operator could give unsuitable decisions
/// forever.
const MAX_TRIES: u32 = 100;

/// The reason of the denial when the operator fails.
const FAILED: &str = "the operator failed";

/// The requests of a run to its operator.
pub struct OperatorRequests {
    agent: Agent,
    gate: Gate,
    /// The interrupts that the operator has not received yet.
    waiting: VecDeque<InterruptId>,
    asked: Option<(InterruptId, BoxFuture<'static, Box<OperatorAnswer>>)>,
}

/// The operator's answer to a request.
pub struct OperatorAnswer {
    interrupt: InterruptId,
    /// The number of earlier requests about this interrupt.
    tries: u32,
    /// The decision; `None` if the call cannot be executed.
    decision: Option<Decision>,
    /// The person who decided; `None` if it was the run's owner.
    by: Option<Principal>,
    /// The tool's reading of edited arguments.
    read: Option<ReadArguments>,
}

impl OperatorRequests {
    /// Creates the queue of requests to the operator of `agent`.
    pub fn new(agent: &Agent, gate: &Gate) -> Self {
        Self { agent: agent.clone(), gate: gate.clone(), waiting: VecDeque::new(), asked: None }
    }

    /// Queues an interrupt for the operator, if the operator may decide it.
    pub fn announce(&mut self, interrupt: InterruptId, driver: &Driver<'_>) {
        let run = driver.run();
        let is_its = run.interrupt(&interrupt).is_some_and(|open| run.may_decide(open, run.owner()));
        if is_its && self.agent.setup.operator.can_decide() && !self.is_asked(&interrupt) {
            self.waiting.push_back(interrupt);
        }
    }

    /// Returns whether the operator has received this interrupt, or will receive it.
    fn is_asked(&self, id: &InterruptId) -> bool {
        self.waiting.contains(id) || self.asked.as_ref().is_some_and(|(asked, _)| asked == id)
    }

    /// Returns whether any request is open or queued.
    pub fn is_busy(&self) -> bool {
        self.asked.is_some() || !self.waiting.is_empty()
    }

    /// Sends the operator the next interrupt that is still open.
    pub fn ask_next(&mut self, driver: &Driver<'_>) {
        if self.asked.as_ref().is_some_and(|(asked, _)| driver.run().interrupt(asked).is_none()) {
            // The interrupt expired, or was decided elsewhere.
            self.asked = None;
        }
        while self.asked.is_none() {
            let Some(interrupt) = self.waiting.pop_front() else { return };
            self.ask(&interrupt, None, 0, driver);
        }
    }

    /// Waits for the operator's answer. Cancel safe.
    pub async fn next(&mut self) -> Box<OperatorAnswer> {
        let Some((_, answer)) = &mut self.asked else { return pending().await };
        let answered = answer.await;
        self.asked = None;
        answered
    }

    fn ask(&mut self, id: &InterruptId, feedback: Option<Rejection>, tries: u32, driver: &Driver<'_>) {
        let run = driver.run();
        let (Some(open), Some(call)) = (run.interrupt(id), run.call(id.call())) else { return };
        let Some(decision) = self.decision(open, feedback, driver) else { return };
        // An operator that panics decides nothing, and must not end the run.
        let contained = AssertUnwindSafe(decision).catch_unwind();
        let decision =
            contained.map(|decided| decided.unwrap_or_else(|_| (Some(Decision::deny_undecided(FAILED)), None)));
        let (gate, cx, name, open) =
            (self.gate.clone(), driver.stored.context(id.call()), call.name.clone(), open.clone());
        let interrupt = id.clone();
        let answer = async move {
            let (decision, by) = decision.await;
            let reading = decision.as_ref().and_then(|decision| gate.read_edit(&name, &open, decision, &cx));
            let read = match reading {
                Some(reading) => Some(read_in_time(gate.tools(), &name, reading).await.read),
                None => None,
            };
            Box::new(OperatorAnswer { interrupt, tries, decision, by, read })
        };
        self.asked = Some((id.clone(), answer.boxed()));
    }

    /// Requests a decision from the operator; returns `None` if there is nothing to decide.
    fn decision(
        &self,
        open: &Interrupt,
        feedback: Option<Rejection>,
        driver: &Driver<'_>,
    ) -> Option<BoxFuture<'static, (Option<Decision>, Option<Principal>)>> {
        let call = driver.run().call(open.id.call())?;
        let tool = gate::tool_of(self.gate.tools(), &call.name, open)?;
        let operator = Arc::clone(&self.agent.setup.operator);
        let (call_id, spec, arguments) = (call.id.to_string(), Arc::clone(tool.spec()), open.shown.arguments.clone());
        let argument_texts = open.shown.lines.clone();
        // The problem with the last decision about an inner call is part of the interrupt.
        let feedback = feedback.or_else(|| match &open.kind {
            InterruptKind::Inner { feedback, .. } => feedback.as_deref().cloned(),
            _ => None,
        });
        if let Some(decision) = operator.decide(&call.name, open, feedback.as_ref()) {
            return Some(Box::pin(decision.map(|(decision, by)| (Some(decision), by))));
        }
        let by_owner: BoxFuture<'static, Option<Decision>> = match &open.innermost().kind {
            InterruptKind::Approval { .. } | InterruptKind::Reconcile => {
                let reconciles = matches!(open.innermost().kind, InterruptKind::Reconcile);
                let (gate, tool) = (self.gate.clone(), call.name.clone());
                let (check, interrupt) = (Check { gate, tool, cx: driver.stored.context(&call.id) }, open.clone());
                let request = ApprovalRequest { call_id, spec, arguments, argument_texts, feedback, interrupt, check };
                Box::pin(async move {
                    let decision = if reconciles { operator.reconcile(&request) } else { operator.approve(&request) };
                    Some(decision.await)
                })
            }
            InterruptKind::External => {
                let request = ExternalCall { call_id, spec, arguments, argument_texts, feedback };
                Box::pin(async move { operator.execute(&request).await.map(|text| respond(&text)) })
            }
            InterruptKind::Question { question } => {
                let request = QuestionRequest { call_id, spec, question: question.clone(), feedback };
                Box::pin(async move { Some(operator.answer(&request).await) })
            }
            InterruptKind::Inner { .. } => return None,
        };
        Some(Box::pin(by_owner.map(|decision| (decision, None))))
    }

    /// Records the operator's decision in the log. If it does not fit, the operator is asked again, with the reason.
    pub fn receive(&mut self, answered: OperatorAnswer, driver: &mut Driver<'_>) {
        let OperatorAnswer { interrupt: id, tries, decision, by, read } = answered;
        let text = "no client executed the call";
        let decision = decision.unwrap_or_else(|| Decision::Fail { error: text.to_owned() });
        // Nobody decided the last denial, so it counts as the owner's.
        let (decision, by) = if tries == MAX_TRIES { (Decision::deny_undecided(FAILED), None) } else { (decision, by) };
        let (cx, by) = (driver.stored.context(id.call()), by.unwrap_or_else(|| driver.run().owner().clone()));
        let ruled = self.gate.judge_read_decision(driver.run(), &id, decision, read, &cx);
        let decided = ruled.map_err(InputError::Refused).and_then(|checked| {
            driver.try_record(LogInput::Decide {
                interrupt: id.clone(),
                decision: Box::new(checked),
                by,
                at: driver.now(),
            })
        });
        // An inconsistent run does not go on.
        let Err(InputError::Refused(refusal)) = decided else { return };
        let feedback = match refusal {
            // The interrupt was decided elsewhere or is closed.
            Refusal::Closed { .. } | Refusal::Conflict { .. } | Refusal::Unknown { .. } => return,
            _ if tries == MAX_TRIES => return,
            Refusal::Invalid { feedback } => feedback,
            refusal => {
                Rejection::one(Problem::new("", ProblemKind::NotAllowed, format!("a decision that fits: {refusal}")))
            }
        };
        self.ask(&id, Some(feedback), tries + 1, driver);
    }
}

/// Returns the decision of an outside executor that gave `text` as the output.
fn respond(text: &str) -> Decision {
    match serde_json::from_str(text) {
        Ok(output) => Decision::Respond { output },
        // The text is not JSON, so it is passed as a string. The output's type reports what it expects instead.
        Err(_) => Decision::Respond { output: text.into() },
    }
}
