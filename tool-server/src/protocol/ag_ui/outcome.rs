//! The end of a run, and its interrupts.

use serde::Serialize;
use serde_json::Value;

use super::event::Object;

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum Outcome {
    /// It did what it could.
    Success {
        /// The calls that the application is to execute, in the order in which they were made. Since 1.0.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pending_tool_call_ids: Vec<String>,
    },
    /// It waits for answers.
    Interrupt {
        /// The interrupts; at least one.
        interrupts: Vec<Interrupt>,
    },
    /// It was called off. Since 1.0.
    Cancelled,
}

/// How a subagent's run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum SubagentOutcome {
    /// It did what it could.
    Success,
    /// It waits for answers.
    Suspended {
        /// To which interrupts of the run.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        interrupt_ids: Vec<String>,
    },
}

/// Something that a run waits for.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Interrupt {
    /// The id that the answer names.
    pub id: String,
    /// The kind of answer: `tool_call`, `input_required`, `confirmation`, or a name of the application's own.
    pub reason: String,
    /// The question to the person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The call that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<String>,
    /// The JSON Schema of the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_schema: Option<Object>,
    /// Until when it can be answered: ISO 8601.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
    /// Anything else.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Object>,
    /// The subagent that waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subagent_run_id: Option<String>,
}

/// Tokens that a run used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct TokenUsage {
    /// The model's provider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Tokens of the requests, cached ones included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_tokens: Option<u64>,
    /// Tokens of the answers, reasoning included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_tokens: Option<u64>,
    /// All of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_tokens: Option<u64>,
    /// Tokens of the answers that were reasoning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_tokens: Option<u64>,
    /// Tokens of the requests that the provider had cached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached_input_tokens: Option<u64>,
    /// Tokens of the requests that the provider cached now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_write_input_tokens: Option<u64>,
}

impl TokenUsage {
    /// Returns the tokens that `model` used; `None` where none were counted.
    pub(super) fn of(used: tool_runtime::model::Usage, model: Option<&str>) -> Option<Self> {
        // The protocol's integers are JavaScript's.
        let count = |tokens: u64| Some(tokens.min((1 << 53) - 1)).filter(|tokens| *tokens > 0);
        let total = used.input_tokens.saturating_add(used.output_tokens);
        count(total).map(|total| Self {
            model: model.map(str::to_owned),
            input_tokens: count(used.input_tokens),
            output_tokens: count(used.output_tokens),
            total_tokens: Some(total),
            reasoning_tokens: count(used.reasoning_tokens),
            cached_input_tokens: count(used.cached_tokens),
            ..Self::default()
        })
    }
}

/// A JSON object with these members.
pub fn object<const N: usize>(members: [(&str, Value); N]) -> Object {
    members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}
