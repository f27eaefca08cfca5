//! The people around a run: who watches, who decides, who executes what runs outside.

use std::sync::Arc;

use futures_util::future::{BoxFuture, ready};
use serde_json::Value;

use super::{Event, check::Check};
use crate::feedback::Rejection;
use crate::run::{CallId, Decision, Obligation, Question};
use crate::tool::ToolSpec;

/// An observer of a run that decides about calls and executes external ones, such as `tool_terminal::Terminal`.
///
/// It acts on behalf of the run's owner. Others decide through [`Agent::decide`](super::Agent::decide).
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot stand for the person at an agent",
    label = "`Front` is not implemented",
    note = "`Terminal` does; implement `Front` for what watches a run and decides about calls"
)]
pub trait Front: Send + Sync {
    /// Something happened. Called in order, from the run's task or a tool's; must not block.
    fn event(&self, event: Event<'_>) {
        let _ = event;
    }

    /// Waits until there is room for more preliminary outputs of a call; `None` where there is.
    ///
    /// A tool whose output is a stream is asked for the next item when this has come, and one that waits for
    /// [`Context::room`](crate::Context::room) goes on. So a front that hands on to somebody slower holds up the tool, and
    /// nobody has to keep what comes in between. The call's time goes on.
    fn room<'a>(&'a self, call: &'a CallId) -> Option<BoxFuture<'a, ()>> {
        let _ = call;
        None
    }

    /// Whether somebody is there to decide. If not, nothing is asked: calls wait, and a run that cannot go on without a
    /// decision is suspended.
    fn attends(&self) -> bool {
        true
    }

    /// Decides about what a call of the tool `tool` waits for, in place of the methods below. For the runs of agents that
    /// are tools.
    #[doc(hidden)]
    fn decide(
        &self,
        tool: &str,
        open: &Obligation,
        feedback: Option<&Rejection>,
    ) -> Option<BoxFuture<'static, Decision>> {
        let _ = (tool, open, feedback);
        None
    }

    /// Decides about a call. Not called for two calls at a time, as are the methods below.
    fn approve<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Decision> {
        let _ = request;
        Box::pin(ready(Decision::deny("nobody is there to approve it")))
    }

    /// Executes an external call, and answers with the JSON of its output; `None` when it cannot be executed.
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

impl<F: Front + ?Sized> Front for Arc<F> {
    fn event(&self, event: Event<'_>) {
        (**self).event(event);
    }

    fn room<'a>(&'a self, call: &'a CallId) -> Option<BoxFuture<'a, ()>> {
        (**self).room(call)
    }

    fn attends(&self) -> bool {
        (**self).attends()
    }

    fn decide(
        &self,
        tool: &str,
        open: &Obligation,
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

/// Nobody: sees nothing, denies every call that needs an approval, and executes nothing.
#[derive(Clone, Copy, Debug)]
pub struct Unattended;

impl Front for Unattended {}

/// Nobody now, somebody later: calls that need a decision wait for it, and the run is suspended.
#[derive(Clone, Copy, Debug)]
pub struct Later;

impl Front for Later {
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
    /// What is known about the tool.
    pub spec: Arc<ToolSpec>,
    /// The arguments as they will be used: accepted by the tool, with defaults filled in.
    pub arguments: Value,
    /// The same as texts, with all their digits: what a person is shown.
    pub written: Vec<(String, String)>,
    /// What was wrong with the decision that was given before; nothing of it is in `arguments`.
    pub feedback: Option<Rejection>,
    /// What the call waits for: what to show, since when, until when.
    pub obligation: Obligation,
    pub(super) check: Check,
}

/// A call that is executed outside this program.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ExternalCall {
    /// The id of the call.
    pub call_id: String,
    /// What is known about the tool.
    pub spec: Arc<ToolSpec>,
    /// The arguments, accepted by the tool, with defaults filled in.
    pub arguments: Value,
    /// The same as texts, with all their digits ([`ToolSpec::written`]): what a person is shown.
    pub written: Vec<(String, String)>,
    /// What was wrong with the output that was given before.
    pub feedback: Option<Rejection>,
}

/// A question of a running tool.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct QuestionRequest {
    /// The id of the call.
    pub call_id: String,
    /// What is known about the tool.
    pub spec: Arc<ToolSpec>,
    /// What it asks.
    pub question: Question,
    /// What was wrong with the answer that was given before.
    pub feedback: Option<Rejection>,
}
