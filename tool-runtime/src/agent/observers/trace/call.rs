//! The spans of calls: `execute_tool`.

use std::{collections::HashMap, time::Instant};

use tracing::{Span, field::Empty, info_span};

use super::{metrics, on::TARGET};
use crate::run::{Call, CallId};
use crate::tool::{CallError, Output, ToolSpec};

/// The calls that run.
#[derive(Debug)]
pub struct Calls {
    /// Set if arguments and outputs are shown.
    pub content: bool,
    running: HashMap<CallId, Running, foldhash::fast::RandomState>,
}

#[derive(Debug)]
struct Running {
    span: Span,
    since: Instant,
    tool: String,
}

impl Calls {
    pub fn new(content: bool) -> Self {
        Self { content, running: HashMap::default() }
    }

    pub fn span(&self, call: &CallId) -> Option<&Span> {
        self.running.get(call).map(|running| &running.span)
    }

    pub fn started(&mut self, call: &Call, spec: &ToolSpec) -> Option<Span> {
        let span = info_span!(
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
        if self.content {
            span.record("gen_ai.tool.call.arguments", &*call.arguments().text);
        }
        let running = Running { span: span.clone(), since: Instant::now(), tool: spec.name.clone() };
        self.running.insert(call.id.clone(), running);
        Some(span)
    }

    pub fn ended(&mut self, call: &CallId, outcome: &Result<Output, CallError>) {
        if self.running.is_empty() {
            return;
        }
        let result = outcome.as_ref().ok().filter(|_| self.content);
        let shown = result.map(|output| {
            let parts = output.for_model();
            parts.iter().filter_map(|part| part.as_text()).collect::<Vec<_>>().join("\n")
        });
        self.close(call, outcome.as_ref().err().map(error_type), shown.as_deref());
    }

    pub fn aborted(&mut self, call: &CallId) {
        self.close(call, Some("cancelled"), None);
    }

    pub fn clear(&mut self) {
        self.running.clear();
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
            metrics::duration("execute_tool", running.since.elapsed(), "", Some(&running.tool), error);
        });
    }
}

/// Returns the error as a word.
fn error_type(error: &CallError) -> &'static str {
    match error {
        CallError::NotAvailable { .. } => "not_available",
        CallError::Rejected(_) => "rejected",
        CallError::PolicyDenied { .. } => "policy_denied",
        CallError::Denied { .. } => "denied",
        CallError::OverBudget { .. } => "over_budget",
        CallError::TimedOut { .. } => "timed_out",
        CallError::Panicked { .. } => "panicked",
        CallError::Cancelled => "cancelled",
        _ => "failed",
    }
}
