//! The program or person that decides about the calls of a run.

use std::{fmt, sync::Arc};

use futures_util::future::{BoxFuture, ready};
use serde_json::Value;

use super::calls::in_time;
use crate::feedback::Rejection;
use crate::gate::{Gate, Reading};
use crate::run::{Decision, Interrupt};
use crate::tool::{Context, Question, ToolSpec};
use tool_run::run::Shown;

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
