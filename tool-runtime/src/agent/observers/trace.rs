//! Spans and metrics after OpenTelemetry's conventions for generative AI, and the lines of the log.
//!
//! The loop is in the span of the run. A turn's stream is in the span of the turn, and a call's task in the span of the call.
//! So the spans of models and tools are below these. Without a subscriber, each span costs one check of a flag. Spans and metrics
//! have the level `DEBUG`, so that a plain log at `INFO` has short lines, and only what an operator wants to read.
//!
//! Metrics are events with a target of their own. Their names and units are those of OpenTelemetry. The metrics layer of
//! `tracing-opentelemetry` recognizes the prefix `histogram.`; the other fields are the attributes.

use std::{
    collections::HashMap,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::{Duration, Instant},
};

use futures_util::{
    FutureExt as _,
    future::{BoxFuture, Either},
    stream::{BoxStream, Stream, StreamExt},
};
use serde_json::{Value, json};
use tracing::{
    Instrument, Level, Span, debug, debug_span, enabled, error, event,
    field::{Empty, display},
    info,
    instrument::{WithDispatch, WithSubscriber},
    warn,
};

use super::failures::{AfterFailure, FailureDetail, Failures};
use crate::agent::{Agent, AgentError};
use crate::message::{AssistantPart, FinishReason, Media, Message, Part, Usage};
use crate::model::{Delta, Model, ModelError, ModelErrorKind, Request, Turn};
use crate::run::{Call, CallId, GrantedBy, Phase, Run, RunId, StopReason};
use crate::tool::{CallError, Output, ToolSpec};
use crate::toolset::ToolList;
use tool_run::run::LogEntry;
use tool_schema::feedback::{describe_error, one_line};

/// The target of all spans and events except metrics.
pub const TARGET: &str = "tool_runtime";

/// The reasons of failures, by call.
type FailureDetails = HashMap<CallId, FailureDetail, foldhash::fast::RandomState>;

/// The spans of a driver.
#[derive(Debug)]
pub struct Trace {
    agent: Agent,
    /// Set if this process drives the run, so that it writes the lines of the log.
    drives: bool,
    run: Span,
    since: Instant,
    model: String,
    used: Usage,
    running: HashMap<CallId, Running, foldhash::fast::RandomState>,
}

/// A running call, with its span `execute_tool`.
#[derive(Debug)]
struct Running {
    span: Span,
    since: Instant,
    tool: String,
}

impl Trace {
    pub fn new(agent: &Agent) -> Self {
        Self {
            agent: agent.clone(),
            drives: false,
            run: Span::none(),
            since: Instant::now(),
            model: String::new(),
            used: Usage::default(),
            running: HashMap::default(),
        }
    }

    pub fn begin(&mut self, run: &Run) -> RunSpan {
        self.drives = true;
        let agent = &self.agent;
        self.run = debug_span!(
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

    pub fn end(&mut self, run: &Run, done: &Result<Phase, AgentError>) {
        if let Err(error) = done {
            self.failures(run).run_failed(error);
        }
        if self.run.is_disabled() {
            return;
        }
        let error = match done {
            Err(AgentError::Model(error)) => Some(model_error_type(error)),
            Err(AgentError::Cancelled) => Some("cancelled"),
            Err(AgentError::Blocked { .. }) => Some("blocked"),
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
        record_duration("invoke_agent", self.since.elapsed(), &self.model, None, error);
        self.running.clear();
        if matches!(done, Ok(Phase::Suspended)) {
            debug!(target: TARGET, { run = run.id().as_str(), interrupts = run.interrupts().count() }, "waiting for a decision");
        }
    }

    /// Returns the writer of lines about failures of `run`.
    fn failures<'a>(&'a self, run: &'a Run) -> Failures<'a> {
        Failures { agent: &self.agent, run }
    }

    /// Records an entry of the log.
    pub fn logged(&mut self, run: &Run, event: &LogEntry, details: &FailureDetails) {
        if !self.drives || !enabled!(target: TARGET, Level::ERROR) {
            return;
        }
        match event {
            LogEntry::TurnEnded { finish, usage, .. } => {
                self.used += *usage;
                self.run.record("gen_ai.response.finish_reasons", write_reasons(finish).as_str());
            }
            LogEntry::TurnFailed { usage, .. } => self.used += *usage,
            LogEntry::Opened { call: id, interrupt } => self.of(id).in_scope(|| {
                let tool = run.call(id).map(|call| call.name.as_str());
                let (run, call, kind) = (run.id().as_str(), id.as_str(), interrupt.kind.name());
                info!(target: TARGET, { run, call, tool }, "waiting for a decision: {kind}");
            }),
            LogEntry::Decided { interrupt, decision, by, .. } => self.of(interrupt.call()).in_scope(|| {
                let id = interrupt.call();
                let tool = run.call(id).map(|call| call.name.as_str());
                let by = self.shows_content().then(|| by.as_str());
                let (run, call, verb) = (run.id().as_str(), id.as_str(), decision.verb());
                info!(target: TARGET, { run, call, tool, by }, "decided: {verb}");
            }),
            LogEntry::CallGranted { call: id, by: GrantedBy::Retry, .. } => self.of(id).in_scope(|| {
                if let Some(call) = run.call(id) {
                    self.failures(run).call_retried(call, details.get(id));
                }
            }),
            LogEntry::CallEnded { call: id, result, .. } => self.of(id).in_scope(|| {
                if let Some(call) = run.call(id) {
                    self.failures(run).call_ended(call, result, details.get(id));
                }
            }),
            LogEntry::Stopped { reason, .. } => self.run.in_scope(|| self.failures(run).run_stopped(reason)),
            _ => {}
        }
    }

    /// Reports that a turn of `model` failed.
    pub fn model_failed(&self, run: &Run, model: &str, error: &ModelError, after: AfterFailure<'_>) {
        self.run.in_scope(|| self.failures(run).model_failed(model, error, after));
    }

    fn shows_content(&self) -> bool {
        self.agent.setup.trace_content
    }

    /// Records that a request describes a part that its model cannot take.
    pub fn described(&self, run: &Run, part: &Part, model: &str) {
        let media_type = part.as_media().and_then(|media| media.media_type);
        let description = self.shows_content().then(|| part.in_words());
        let (run, description) = (run.id().as_str(), description.as_deref());
        self.run.in_scope(|| {
            info!(
                target: TARGET, { run, model, media_type, description },
                "the model cannot take a part of the conversation; the request describes it"
            );
        });
    }

    pub fn started(&mut self, call: &Call, spec: &ToolSpec) -> CallSpan {
        if self.run.is_disabled() {
            return None;
        }
        let span = debug_span!(
            target: TARGET,
            "execute_tool",
            otel.name = %format_args!("execute_tool {}", spec.name),
            otel.kind = "internal",
            otel.status_code = Empty,
            gen_ai.operation.name = "execute_tool",
            gen_ai.tool.name = spec.name,
            gen_ai.tool.call.id = call.id.as_str(),
            gen_ai.tool.type = "function",
            gen_ai.tool.description = spec.description,
            gen_ai.tool.call.arguments = Empty,
            gen_ai.tool.call.result = Empty,
            error.type = Empty,
            tool.retries = call.retries,
        );
        if span.is_disabled() {
            return None;
        }
        if self.shows_content() {
            span.record("gen_ai.tool.call.arguments", &*call.arguments().text);
        }
        let running = Running { span: span.clone(), since: Instant::now(), tool: spec.name.clone() };
        self.running.insert(call.id.clone(), running);
        Some(span)
    }

    /// Reports a warning about a running call.
    pub fn warned(&self, run: &Run, id: &CallId, warning: &str) {
        let tool = run.call(id).map(|call| call.name.as_str());
        let (run, call) = (run.id().as_str(), id.as_str());
        self.of(id).in_scope(|| warn!(target: TARGET, { run, call, tool }, "{warning}"));
    }

    pub fn ended(&mut self, call: &CallId, outcome: &Result<Output, CallError>) {
        if self.running.is_empty() {
            return;
        }
        let result = outcome.as_ref().ok().filter(|_| self.shows_content());
        let shown = result.map(|output| {
            let parts = output.for_model();
            parts.iter().filter_map(|part| part.as_text()).collect::<Vec<_>>().join("\n")
        });
        self.close(call, outcome.as_ref().err().map(error_type), shown.as_deref());
    }

    /// Ends the span of a call that waits before its tool has begun.
    pub fn paused(&mut self, call: &CallId) {
        self.close(call, None, None);
    }

    pub fn aborted(&mut self, call: &CallId) {
        self.close(call, Some("cancelled"), None);
    }

    /// Returns the span of a running call, or else that of the run.
    fn of(&self, call: &CallId) -> &Span {
        self.running.get(call).map_or(&self.run, |running| &running.span)
    }

    fn close(&mut self, call: &CallId, error: Option<&'static str>, result: Option<&str>) {
        let Some(running) = self.running.remove(call) else { return };
        if let Some(error) = error {
            running.span.record("error.type", error);
            running.span.record("otel.status_code", "ERROR");
        }
        if let Some(result) = result {
            running.span.record("gen_ai.tool.call.result", result);
        }
        running.span.in_scope(|| {
            record_duration("execute_tool", running.since.elapsed(), "", Some(&running.tool), error);
        });
    }
}

pub type RunSpan = Span;

pub type CallSpan = Option<Span>;

/// Runs the future of a run in its span.
pub fn within<F: Future>(span: Span, future: F) -> impl Future<Output = F::Output> {
    future.instrument(span)
}

/// Attaches the current span and subscriber to work on a task of its own.
pub fn in_current_span<F: Future>(future: F) -> WithDispatch<tracing::instrument::Instrumented<F>> {
    future.in_current_span().with_current_subscriber()
}

/// Attaches its span to the work of a call. Without a span, the work takes hardly more memory than without this feature.
pub fn in_call_span<F: Future + Send + 'static>(span: CallSpan, work: F) -> Either<BoxFuture<'static, F::Output>, F> {
    match span {
        Some(span) => Either::Left(work.instrument(span).with_current_subscriber().boxed()),
        None => Either::Right(work),
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
        Phase::Stopped(StopReason::TurnCut(_)) => "stopped: turn_cut",
        Phase::Stopped(StopReason::Denied) => "stopped: denied",
        Phase::Stopped(StopReason::LimitReached(_)) => "stopped: limit_reached",
        Phase::Stopped(StopReason::Cancelled) => "stopped: cancelled",
        Phase::Stopped(StopReason::ModelFailed(_)) => "stopped: model_failed",
        Phase::Stopped(StopReason::Blocked { .. }) => "stopped: blocked",
        #[allow(unreachable_patterns, reason = "reasons may be added")]
        Phase::Stopped(_) => "stopped",
    }
}

fn error_type(error: &CallError) -> &'static str {
    match error {
        CallError::NotAvailable { .. } => "not_available",
        CallError::Rejected(_) => "rejected",
        CallError::PolicyDenied { .. } => "policy_denied",
        CallError::Denied { .. } => "denied",
        CallError::LimitReached { .. } => "limit_reached",
        CallError::TimedOut { .. } => "timed_out",
        CallError::Panicked { .. } => "panicked",
        CallError::Cancelled => "cancelled",
        _ => "failed",
    }
}

/// Reports a run that a worker leaves alone. If a tool is missing, a person has to do something about it.
pub fn report_left_run(run: &Run, reason: &str, lacks_tool: bool) {
    let id = run.id().as_str();
    if lacks_tool {
        warn!(target: TARGET, { run = id }, "left the run alone: {reason}");
    } else {
        debug!(target: TARGET, { run = id }, "left the run alone: {reason}");
    }
}

/// Reports that the hook with this number failed. The observer of a server does not.
pub fn report_failed_hook(hook: usize, error: &str) {
    warn!(target: TARGET, { hook }, "a hook of events failed: {}", one_line(error));
}

/// Reports a run that a worker cannot load.
pub fn report_unreadable_run(run: &RunId, error: &AgentError) {
    let run = run.as_str();
    error!(target: TARGET, { run }, "the run cannot be loaded: {}", one_line(&describe_error(error)));
}

/// Returns the turn that `model` makes of `request`, in its span.
pub fn chat<'a>(agent: &Agent, model: &'a dyn Model, request: Request<'a>) -> BoxStream<'a, Result<Delta, ModelError>> {
    let span = debug_span!(
        target: TARGET,
        "chat",
        otel.name = %format_args!("chat {}", model.name()),
        otel.kind = "client",
        otel.status_code = Empty,
        gen_ai.operation.name = "chat",
        gen_ai.provider.name = model.provider(),
        gen_ai.agent.name = agent.setup.acting.as_deref(),
        gen_ai.request.model = model.name(),
        gen_ai.request.max_tokens = request.settings.max_tokens,
        gen_ai.request.temperature = request.settings.temperature.map(f64::from),
        gen_ai.response.finish_reasons = Empty,
        gen_ai.usage.input_tokens = Empty,
        gen_ai.usage.cache_read.input_tokens = Empty,
        gen_ai.usage.output_tokens = Empty,
        gen_ai.system_instructions = Empty,
        gen_ai.input.messages = Empty,
        gen_ai.output.messages = Empty,
        gen_ai.tool.definitions = Empty,
        error.type = Empty,
    );
    if span.is_disabled() {
        return model.stream(request);
    }
    let shows = agent.setup.trace_content;
    if shows {
        if let Some(text) = write_instructions(request.messages) {
            span.record("gen_ai.system_instructions", text);
        }
        span.record("gen_ai.input.messages", write_input(request.messages));
        span.record("gen_ai.tool.definitions", write_tools(request.tools));
    }
    let stream = span.in_scope(|| model.stream(request));
    let turn = shows.then(Turn::default);
    Chat { stream, span, model, since: Instant::now(), begun: false, over: false, usage: None, turn }.boxed()
}

/// The stream of a turn, with its span.
struct Chat<'a> {
    stream: BoxStream<'a, Result<Delta, ModelError>>,
    span: Span,
    model: &'a dyn Model,
    since: Instant,
    begun: bool,
    over: bool,
    usage: Option<Usage>,
    /// The turn so far, if traces include it.
    turn: Option<Turn>,
}

impl Stream for Chat<'_> {
    type Item = Result<Delta, ModelError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let span = self.span.clone();
        let _entered = span.enter();
        let next = self.stream.poll_next_unpin(cx);
        if let Poll::Ready(delta) = &next {
            self.came(delta.as_ref());
        }
        next
    }
}

impl Chat<'_> {
    fn came(&mut self, delta: Option<&Result<Delta, ModelError>>) {
        if !std::mem::replace(&mut self.begun, true) && matches!(delta, Some(Ok(_))) {
            record_first(self.since.elapsed(), self.model.name());
        }
        match delta {
            Some(Ok(delta)) => {
                if let Some(turn) = &mut self.turn {
                    turn.push(delta.clone());
                }
                match delta {
                    Delta::Usage(usage) => self.usage = Some(*usage),
                    Delta::Finish(reason) => {
                        self.span.record("gen_ai.response.finish_reasons", write_reasons(reason).as_str());
                        self.end(None);
                    }
                    _ => {}
                }
            }
            Some(Err(error)) => self.end(Some(model_error_type(error))),
            None => self.end(Some("cut_off")),
        }
    }

    fn end(&mut self, error: Option<&'static str>) {
        if std::mem::replace(&mut self.over, true) {
            return;
        }
        if let Some(usage) = self.usage {
            self.span.record("gen_ai.usage.input_tokens", usage.input_tokens);
            self.span.record("gen_ai.usage.output_tokens", usage.output_tokens);
            if usage.cached_tokens > 0 {
                self.span.record("gen_ai.usage.cache_read.input_tokens", usage.cached_tokens);
            }
            record_tokens(usage, self.model.name(), self.model.provider());
        }
        if let Some(error) = error {
            self.span.record("error.type", error);
            self.span.record("otel.status_code", "ERROR");
        }
        if let Some(turn) = &self.turn {
            self.span.record("gen_ai.output.messages", write_output(turn));
        }
        record_duration("chat", self.since.elapsed(), self.model.name(), None, error);
    }
}

impl Drop for Chat<'_> {
    fn drop(&mut self) {
        let span = self.span.clone();
        // This changes nothing if the turn has ended. Otherwise, the turn was dropped before its end.
        span.in_scope(|| self.end(Some("cancelled")));
    }
}

const METRICS: &str = "tool_runtime::metrics";

/// Records the duration of an operation: `gen_ai.client.operation.duration`, in seconds.
fn record_duration(operation: &str, took: Duration, model: &str, tool: Option<&str>, error: Option<&str>) {
    event!(target: METRICS, Level::DEBUG, {
        histogram.gen_ai.client.operation.duration = took.as_secs_f64(),
        unit = "s",
        gen_ai.operation.name = operation,
        gen_ai.request.model = Some(model).filter(|model| !model.is_empty()),
        gen_ai.tool.name = tool,
        error.type = error,
    });
}

/// Records the time until a model's first delta: `gen_ai.client.operation.time_to_first_chunk`, in seconds.
fn record_first(took: Duration, model: &str) {
    event!(target: METRICS, Level::DEBUG, {
        histogram.gen_ai.client.operation.time_to_first_chunk = took.as_secs_f64(),
        unit = "s",
        gen_ai.operation.name = "chat",
        gen_ai.request.model = model,
    });
}

/// Records the tokens of a turn: `gen_ai.client.token.usage`, in tokens.
fn record_tokens(usage: Usage, model: &str, provider: Option<&str>) {
    for (kind, count) in [("input", usage.input_tokens), ("output", usage.output_tokens)] {
        event!(target: METRICS, Level::DEBUG, {
            histogram.gen_ai.client.token.usage = count,
            unit = "{token}",
            gen_ai.token.type = kind,
            gen_ai.operation.name = "chat",
            gen_ai.provider.name = provider,
            gen_ai.request.model = model,
        });
    }
}

fn model_error_type(error: &ModelError) -> &'static str {
    match error.kind() {
        ModelErrorKind::Configuration => "configuration",
        ModelErrorKind::Unauthorized => "unauthorized",
        ModelErrorKind::Refused => "refused",
        ModelErrorKind::RateLimited => "rate_limited",
        ModelErrorKind::Unavailable => "unavailable",
        ModelErrorKind::Protocol => "protocol",
        ModelErrorKind::Script => "script",
        #[allow(unreachable_patterns, reason = "kinds may be added")]
        _ => "_OTHER",
    }
}

/// Returns the reason of a turn's end as a JSON list in a string, because `tracing` has no lists.
fn write_reasons(reason: &FinishReason) -> String {
    json!([finish_reason(reason)]).to_string()
}

fn finish_reason(reason: &FinishReason) -> Value {
    match reason {
        FinishReason::Other(reason) => reason.as_str().into(),
        known => json!(known),
    }
}

/// Returns the value of `gen_ai.system_instructions`, or `None` without instructions.
fn write_instructions(messages: &[Message]) -> Option<String> {
    let text = |message: &Message| match message {
        Message::System { text } => Some(json!({ "type": "text", "content": text })),
        _ => None,
    };
    let all: Vec<Value> = messages.iter().filter_map(text).collect();
    (!all.is_empty()).then(|| Value::from(all).to_string())
}

fn write_input(messages: &[Message]) -> String {
    let shown = |message: &Message| {
        Some(match message {
            Message::User { content } => json!({ "role": "user", "parts": parts_of(content) }),
            Message::Assistant { content } => json!({ "role": "assistant", "parts": turn_parts(content) }),
            Message::Tool(answer) => {
                let response = answer.content.iter().map(Part::in_words).collect::<Vec<_>>().join("\n");
                let part = json!({ "type": "tool_call_response", "id": answer.call_id, "response": response });
                json!({ "role": "tool", "parts": [part] })
            }
            Message::System { .. } => return None,
        })
    };
    Value::from(messages.iter().filter_map(shown).collect::<Vec<_>>()).to_string()
}

/// Returns the value of `gen_ai.output.messages`.
fn write_output(turn: &Turn) -> String {
    let reason = turn.finish.as_ref().map_or_else(|| "error".into(), finish_reason);
    json!([{ "role": "assistant", "parts": turn_parts(&turn.content), "finish_reason": reason }]).to_string()
}

/// Returns the value of `gen_ai.tool.definitions`.
fn write_tools(tools: &ToolList) -> String {
    let tool = |spec: &Arc<ToolSpec>| {
        json!({
            "type": "function",
            "name": spec.name,
            "description": spec.description,
            "parameters": spec.input.neutral(),
        })
    };
    Value::from(tools.specs().iter().map(tool).collect::<Vec<_>>()).to_string()
}

fn parts_of(content: &[Part]) -> Vec<Value> {
    let part = |part: &Part| match part {
        Part::Image(media) => media_part("image", media),
        Part::Audio(media) => media_part("audio", media),
        Part::Document(media) => media_part("document", media),
        other => json!({ "type": "text", "content": other.in_words() }),
    };
    content.iter().map(part).collect()
}

fn media_part(modality: &str, media: &Media) -> Value {
    match media.as_base64() {
        Some((media_type, data)) => {
            json!({ "type": "blob", "modality": modality, "mime_type": media_type, "content": data })
        }
        None => {
            json!({ "type": "uri", "modality": modality, "mime_type": media.media_type, "uri": media.to_url() })
        }
    }
}

fn turn_parts(content: &[AssistantPart]) -> Vec<Value> {
    let part = |part: &AssistantPart| match part {
        AssistantPart::Text { text } => json!({ "type": "text", "content": text }),
        AssistantPart::Reasoning { text, .. } => json!({ "type": "reasoning", "content": text }),
        AssistantPart::Call(call) => {
            let arguments: Value =
                serde_json::from_str(&call.arguments).unwrap_or_else(|_| call.arguments.as_str().into());
            json!({ "type": "tool_call", "id": call.id, "name": call.name, "arguments": arguments })
        }
        AssistantPart::Provider(_) => json!(part),
    };
    content.iter().map(part).collect()
}
