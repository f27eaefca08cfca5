//! Metrics, as events of the target `tool_runtime::metrics`.
//!
//! Their names and units are OpenTelemetry's. The prefix `histogram.` is what the metrics layer of `tracing-opentelemetry`
//! goes by; the other fields are the attributes.

use std::time::Duration;

use tracing::{Level, event};

use crate::message::Usage;
use crate::model::{ModelError, ModelErrorKind};

const TARGET: &str = "tool_runtime::metrics";

/// How long an operation took: `gen_ai.client.operation.duration`, in seconds.
pub fn duration(operation: &str, took: Duration, model: &str, tool: Option<&str>, error: Option<&str>) {
    event!(target: TARGET, Level::INFO, {
        histogram.gen_ai.client.operation.duration = took.as_secs_f64(),
        unit = "s",
        gen_ai.operation.name = operation,
        gen_ai.request.model = Some(model).filter(|model| !model.is_empty()),
        gen_ai.tool.name = tool,
        error.type = error,
    });
}

/// How long a model took until its first delta: `gen_ai.client.operation.time_to_first_chunk`, in seconds.
pub fn first(took: Duration, model: &str) {
    event!(target: TARGET, Level::INFO, {
        histogram.gen_ai.client.operation.time_to_first_chunk = took.as_secs_f64(),
        unit = "s",
        gen_ai.operation.name = "chat",
        gen_ai.request.model = model,
    });
}

/// How many tokens a turn took: `gen_ai.client.token.usage`, in tokens.
pub fn tokens(usage: Usage, model: &str, provider: Option<&str>) {
    for (kind, count) in [("input", usage.input_tokens), ("output", usage.output_tokens)] {
        event!(target: TARGET, Level::INFO, {
            histogram.gen_ai.client.token.usage = count,
            unit = "{token}",
            gen_ai.token.type = kind,
            gen_ai.operation.name = "chat",
            gen_ai.provider.name = provider,
            gen_ai.request.model = model,
        });
    }
}

/// Returns the error as a word.
pub fn model_error(error: &ModelError) -> &'static str {
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
