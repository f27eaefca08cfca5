//! A run's span, and what happens in it.

use std::time::Instant;

use tokio::task::JoinHandle;
use tracing::{
    Instrument, Span,
    field::{Empty, display},
    info, info_span,
    instrument::{WithDispatch, WithSubscriber},
};

use super::{call::Calls, content, metrics};
use crate::agent::{Agent, AgentError, calls::spawn_task};
use crate::message::Usage;
use crate::run::{Call, CallId, Phase, Run, StopReason};
use crate::tool::{CallError, Output, ToolSpec};
use tool_run::run::LogEvent;

/// The target of all spans and events but the metrics.
pub const TARGET: &str = "tool_runtime";

/// The spans of a driver.
#[derive(Debug)]
pub struct Trace {
    run: Span,
    since: Instant,
    model: String,
    used: Usage,
    calls: Calls,
}

impl Trace {
    pub fn new(agent: &Agent) -> Self {
        Self {
            run: Span::none(),
            since: Instant::now(),
            model: String::new(),
            used: Usage::default(),
            calls: Calls::new(agent.setup.trace_content),
        }
    }

    /// The run is driven from here on.
    pub fn begin(&mut self, agent: &Agent, run: &Run) -> RunSpan {
        self.run = info_span!(
            target: TARGET,
            "invoke_agent",
            otel.name = Empty,
            otel.kind = "internal",
            otel.status_code = Empty,
            gen_ai.operation.name = "invoke_agent",
            gen_ai.provider.name = agent.setup.model.provider(),
            gen_ai.agent.name = agent.setup.name.as_deref(),
            gen_ai.conversation.id = %run.id(),
            gen_ai.request.model = agent.setup.model.name(),
            gen_ai.response.finish_reasons = Empty,
            gen_ai.usage.input_tokens = Empty,
            gen_ai.usage.output_tokens = Empty,
            error.type = Empty,
            tool.run.phase = Empty,
        );
        if self.run.is_disabled() {
            return Span::none();
        }
        match &agent.setup.name {
            Some(name) => self.run.record("otel.name", display(format_args!("invoke_agent {name}"))),
            None => self.run.record("otel.name", "invoke_agent"),
        };
        self.since = Instant::now();
        agent.setup.model.name().clone_into(&mut self.model);
        self.run.clone()
    }

    /// It is not driven any more.
    pub fn end(&mut self, run: &Run, done: &Result<Phase, AgentError>) {
        if self.run.is_disabled() {
            return;
        }
        let error = match done {
            Err(AgentError::Model(error)) => Some(metrics::model_error(error)),
            Err(AgentError::Cancelled) => Some("cancelled"),
            Err(AgentError::Refused(_)) => Some("refused"),
            Err(AgentError::Store(_)) => Some("store"),
            Err(_) => Some("_OTHER"),
            Ok(_) => None,
        };
        if let Some(error) = error {
            self.run.record("error.type", error);
            self.run.record("otel.status_code", "ERROR");
        }
        self.run.record("tool.run.phase", phase(&run.phase()));
        self.run.record("gen_ai.usage.input_tokens", self.used.input_tokens);
        self.run.record("gen_ai.usage.output_tokens", self.used.output_tokens);
        metrics::duration("invoke_agent", self.since.elapsed(), &self.model, None, error);
        self.calls.clear();
        if matches!(done, Ok(Phase::Suspended)) {
            info!(target: TARGET, { tool.interrupts = run.interrupts().count() }, "waiting for a decision");
        }
    }

    /// Something is in the log.
    pub fn logged(&mut self, run: &Run, event: &LogEvent) {
        if self.run.is_disabled() {
            return;
        }
        match event {
            LogEvent::TurnEnded { finish, usage, .. } => {
                self.used += *usage;
                self.run.record("gen_ai.response.finish_reasons", content::reasons(finish).as_str());
            }
            LogEvent::TurnFailed { usage, .. } => self.used += *usage,
            LogEvent::Opened { call, interrupt } => self.of(call).in_scope(|| {
                let (id, name) = (call.as_str(), run.call(call).map_or("", |call| call.name.as_str()));
                let kind = interrupt.kind.name();
                info!(target: TARGET, {
                    gen_ai.tool.name = name,
                    gen_ai.tool.call.id = id,
                    tool.interrupt.kind = kind,
                }, "waiting for somebody: {kind}");
            }),
            LogEvent::Decided { interrupt, decision, by, .. } => self.of(interrupt.call()).in_scope(|| {
                let id = interrupt.call();
                let name = run.call(id).map_or("", |call| call.name.as_str());
                let by = self.calls.content.then(|| by.as_str());
                let decision = decision.verb();
                info!(target: TARGET, {
                    gen_ai.tool.name = name,
                    gen_ai.tool.call.id = id.as_str(),
                    tool.decision = decision,
                    tool.decided_by = by,
                }, "decided: {decision}");
            }),
            LogEvent::Ended { call, result, .. } => {
                let of = run.call(call);
                if of.is_some_and(|call| call.attempts == 0) && !result.is_success() {
                    info!(target: TARGET, {
                        gen_ai.tool.name = of.map(|call| call.name.as_str()),
                        gen_ai.tool.call.id = call.as_str(),
                        error.type = result.name(),
                    }, "did not run: {}", result.name());
                }
            }
            _ => {}
        }
    }

    /// A call is started.
    pub fn started(&mut self, call: &Call, spec: &ToolSpec) -> CallSpan {
        if self.run.is_disabled() { None } else { self.calls.started(call, spec) }
    }

    /// A call came to an end, or an attempt at it.
    pub fn ended(&mut self, call: &CallId, outcome: &Result<Output, CallError>) {
        self.calls.ended(call, outcome);
    }

    /// A call was given up.
    pub fn aborted(&mut self, call: &CallId) {
        self.calls.aborted(call);
    }

    /// The span of a call that runs, or else of the run.
    fn of(&self, call: &CallId) -> &Span {
        self.calls.span(call).unwrap_or(&self.run)
    }
}

/// The span of a run.
pub type RunSpan = Span;

/// The span of a call, where somebody reads it.
pub type CallSpan = Option<Span>;

/// A run's future, in its span.
pub fn within<F: Future>(span: Span, future: F) -> impl Future<Output = F::Output> {
    future.instrument(span)
}

/// Work on a task of its own, which belongs to where it was made.
pub fn carried<F: Future>(future: F) -> WithDispatch<tracing::instrument::Instrumented<F>> {
    future.in_current_span().with_current_subscriber()
}

/// The work of a call on a task of its own, in its span. Without one it takes no more memory than without this feature.
pub fn spawn(span: CallSpan, work: impl Future<Output = ()> + Send + 'static, blocking: bool) -> JoinHandle<()> {
    match span {
        Some(span) => spawn_task(work.instrument(span).with_current_subscriber(), blocking),
        None => spawn_task(work, blocking),
    }
}

fn phase(phase: &Phase) -> &'static str {
    match phase {
        Phase::Idle => "idle",
        Phase::Generating => "generating",
        Phase::Acting => "acting",
        Phase::Suspended => "suspended",
        Phase::Finished => "finished",
        Phase::Stopped(StopReason::StepLimit) => "stopped: step_limit",
        Phase::Stopped(StopReason::Cut(_)) => "stopped: cut",
        Phase::Stopped(StopReason::Denied) => "stopped: denied",
        Phase::Stopped(StopReason::OverBudget(_)) => "stopped: over_budget",
        Phase::Stopped(StopReason::Cancelled) => "stopped: cancelled",
        Phase::Stopped(StopReason::ModelFailed(_)) => "stopped: model_failed",
        #[allow(unreachable_patterns, reason = "reasons may be added")]
        Phase::Stopped(_) => "stopped",
    }
}
