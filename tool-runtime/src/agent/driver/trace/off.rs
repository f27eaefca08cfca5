//! Nobody watches.

#![allow(clippy::unused_self, clippy::needless_pass_by_ref_mut, reason = "the same interface as where somebody does")]

use futures_util::stream::BoxStream;
use tokio::task::JoinHandle;

use super::super::work;
use crate::agent::{Agent, AgentError};
use crate::model::{Delta, Model, ModelError, Request};
use crate::run::{Call, CallId, LogEvent, Phase, Run};
use crate::tool::{CallError, Output, ToolSpec};

#[derive(Debug)]
pub(in crate::agent::driver) struct Trace;

impl Trace {
    pub(in crate::agent::driver) fn new(_: &Agent) -> Self {
        Self
    }

    pub(in crate::agent::driver) fn begin(&mut self, _: &Agent, _: &Run) {}

    pub(in crate::agent::driver) fn over(&mut self, _: &Run, _: &Result<Phase, AgentError>) {}

    pub(in crate::agent::driver) fn logged(&mut self, _: &Run, _: &LogEvent) {}

    pub(in crate::agent::driver) fn started(&mut self, _: &Call, _: &ToolSpec) {}

    pub(in crate::agent::driver) fn ended(&mut self, _: &CallId, _: &Result<Output, CallError>) {}

    pub(in crate::agent::driver) fn aborted(&mut self, _: &CallId) {}
}

pub(in crate::agent) fn is_traced() -> bool {
    false
}

pub(in crate::agent::driver) fn within<F: Future>((): (), future: F) -> F {
    future
}

pub(in crate::agent::driver) fn carried<F: Future>(future: F) -> F {
    future
}

pub(in crate::agent::driver) fn spawn(
    (): (),
    work: impl Future<Output = ()> + Send + 'static,
    blocking: bool,
) -> JoinHandle<()> {
    work::spawn(work, blocking)
}

pub(in crate::agent::driver) fn chat<'a>(
    _: &Agent,
    model: &'a dyn Model,
    request: Request<'a>,
) -> BoxStream<'a, Result<Delta, ModelError>> {
    model.stream(request)
}
