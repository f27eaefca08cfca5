//! The people around a run: who watches, who approves, who executes what runs outside.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::Value;

use super::Event;
use crate::feedback::Rejection;
use crate::tool::ToolSpec;

/// Who watches a run, approves calls and executes external ones. [`Terminal`](crate::terminal::Terminal) is one.
pub trait Front: Send + Sync {
    /// Something happened. Called in order, from the run's task or a tool's; must not block.
    fn event(&self, event: Event<'_>) {
        let _ = event;
    }

    /// Decides about a call. Not called for two calls at a time.
    fn approve<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Decision> {
        let _ = request;
        Box::pin(std::future::ready(Decision::Deny { reason: Some("nobody is there to approve it".to_owned()) }))
    }

    /// Executes an external call, and answers with the JSON of its output; `None` when it cannot be executed. Not called
    /// for two calls at a time.
    fn execute<'a>(&'a self, call: &'a ExternalCall) -> BoxFuture<'a, Option<String>> {
        let _ = call;
        Box::pin(std::future::ready(None))
    }
}

impl<F: Front + ?Sized> Front for Arc<F> {
    fn event(&self, event: Event<'_>) {
        (**self).event(event);
    }

    fn approve<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Decision> {
        (**self).approve(request)
    }

    fn execute<'a>(&'a self, call: &'a ExternalCall) -> BoxFuture<'a, Option<String>> {
        (**self).execute(call)
    }
}

/// Nobody: sees nothing, denies every call that needs an approval, and executes nothing.
#[derive(Clone, Copy, Debug)]
pub struct Unattended;

impl Front for Unattended {}

/// A call that somebody must approve.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ApprovalRequest {
    /// The id of the call.
    pub call_id: String,
    /// What is known about the tool.
    pub spec: Arc<ToolSpec>,
    /// The arguments as they will be used: accepted by the tool, with defaults filled in.
    pub arguments: Value,
    /// The same as texts, with all their digits ([`ToolSpec::written`]): what a person is shown.
    pub written: Vec<(String, String)>,
    /// What was wrong with the edit that was given before; nothing of it is in `arguments`.
    pub feedback: Option<Rejection>,
}

/// What somebody decided about a call.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Decision {
    /// The call may run as it is.
    Approve,
    /// The call must not run.
    Deny {
        /// Why; the model is told.
        reason: Option<String>,
    },
    /// The call may run with these arguments in place of the model's. They are checked like the model's.
    Edit {
        /// All of the arguments.
        arguments: Value,
    },
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
