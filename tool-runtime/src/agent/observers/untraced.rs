//! The interface of traces, without the feature `tracing`.

#![allow(clippy::unused_self, clippy::needless_pass_by_ref_mut, reason = "the interface of `trace.rs`")]

use futures_util::stream::BoxStream;
use tokio::task::JoinHandle;

use crate::agent::{Agent, AgentError, calls::spawn_task};
use crate::model::{Delta, Model, ModelError, Request};
use crate::run::{Call, CallId, Phase, Run};
use crate::tool::{CallError, Output, ToolSpec};
use tool_run::run::LogEntry;

#[derive(Debug)]
pub struct Trace;

impl Trace {
    pub fn new(_: &Agent) -> Self {
        Self
    }

    pub fn begin(&mut self, _: &Agent, _: &Run) -> RunSpan {
        RunSpan
    }

    pub fn end(&mut self, _: &Run, _: &Result<Phase, AgentError>) {}

    pub fn logged(&mut self, _: &Run, _: &LogEntry) {}

    pub fn started(&mut self, _: &Call, _: &ToolSpec) -> CallSpan {
        CallSpan
    }

    pub fn ended(&mut self, _: &CallId, _: &Result<Output, CallError>) {}

    pub fn aborted(&mut self, _: &CallId) {}
}

pub struct RunSpan;

pub struct CallSpan;

pub fn within<F: Future>(_: RunSpan, future: F) -> F {
    future
}

pub fn in_current_span<F: Future>(future: F) -> F {
    future
}

pub fn spawn(_: CallSpan, work: impl Future<Output = ()> + Send + 'static, blocking: bool) -> JoinHandle<()> {
    spawn_task(work, blocking)
}

pub fn chat<'a>(_: &Agent, model: &'a dyn Model, request: Request<'a>) -> BoxStream<'a, Result<Delta, ModelError>> {
    model.stream(request)
}
