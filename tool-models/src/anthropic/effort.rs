//! The effort of reasoning in a request.

use serde::Serialize;

use tool_runtime::model::{ReasoningEffort, ToolChoice};

/// The member `thinking`.
#[derive(Serialize)]
pub struct Thinking {
    r#type: &'static str,
}

/// Parts of the names of models that refuse an effort or adaptive thinking: those before 4.6. No new ones appear.
const OLDER_MODELS: [&str; 10] =
    ["claude-2", "claude-3", "claude-instant", "-4-0", "-4-1", "-4-5", "-4-2025", "-4@", "-4.1", "-4.5"];

/// Returns whether the model takes an effort. The name may be that of a gateway, such as `anthropic/claude-sonnet-4.6`.
pub fn takes_effort(model: &str) -> bool {
    model.contains("claude") && !model.ends_with("-4") && !OLDER_MODELS.iter().any(|part| model.contains(part))
}

/// Returns the level for `effort`. Without reasoning, it is the lowest, because some models refuse to switch reasoning off.
pub fn level(model: &str, effort: ReasoningEffort) -> &'static str {
    match effort {
        ReasoningEffort::None | ReasoningEffort::Minimal | ReasoningEffort::Low => "low",
        ReasoningEffort::Medium => "medium",
        // Only reports say that this model takes a higher one.
        ReasoningEffort::Max if !model.contains("sonnet-4-6") && !model.contains("sonnet-4.6") => "max",
        _ => "high",
    }
}

/// Returns the member that lets the model reason. Some models refuse it in a request that forces a call.
pub fn thinking(effort: ReasoningEffort, choice: &ToolChoice) -> Option<Thinking> {
    let is_forced = matches!(choice, ToolChoice::Required | ToolChoice::Tool(_));
    (effort != ReasoningEffort::None && !is_forced).then_some(Thinking { r#type: "adaptive" })
}
