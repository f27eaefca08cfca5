//! The effort of reasoning in the requests of both APIs.

use tool_runtime::model::ReasoningEffort;

use super::find_provider;
use crate::origin::host_of;

/// Parts of the names of models that do not reason. They refuse an effort, and reasoning of other models.
const WITHOUT_REASONING: [&str; 4] = ["gpt-3", "gpt-4", "gpt-5-chat", "non-reasoning"];

/// Parts of the names of models that reason, but refuse most efforts or all.
const WITHOUT_EFFORT: [&str; 4] = ["-chat", "deep-research", "o1-mini", "o1-preview"];

/// The names of the levels from [`ReasoningEffort::None`] to [`ReasoningEffort::Max`].
type Levels = [&'static str; 6];

const THREE_LEVELS: Levels = ["low", "low", "low", "medium", "high", "high"];

const OPENAI: Levels = ["none", "low", "low", "medium", "high", "xhigh"];

/// OpenAI's models that know other levels than [`OPENAI`], by the beginning and a part of their names. The first that fits counts.
/// Sources: the errors in openai/codex#6647 and anomalyco/opencode#4451, and the table of anomalyco/models.dev#2296.
const EXCEPTIONS: [(&str, &str, Levels); 10] = [
    ("gpt-5-pro", "", ["high"; 6]),
    ("gpt-5-", "", THREE_LEVELS),
    ("gpt-5.1-codex", "", THREE_LEVELS),
    ("gpt-5.1", "", ["none", "low", "low", "medium", "high", "high"]),
    ("gpt-5.", "-codex", ["low", "low", "low", "medium", "high", "xhigh"]),
    ("gpt-5.", "-pro", ["medium", "medium", "medium", "medium", "high", "xhigh"]),
    ("gpt-oss", "", THREE_LEVELS),
    ("o1", "", THREE_LEVELS),
    ("o3", "", THREE_LEVELS),
    ("o4", "", THREE_LEVELS),
];

/// Returns the levels of OpenAI's model with this name, which has a prefix at Bedrock.
fn levels_of(model: &str) -> Levels {
    let model = model.strip_prefix("openai.").unwrap_or(model);
    if model == "gpt-5" {
        return THREE_LEVELS;
    }
    let exception = EXCEPTIONS.iter().find(|(start, part, _)| model.starts_with(start) && model.contains(part));
    exception.map_or(OPENAI, |(.., levels)| *levels)
}

/// Returns whether a model with this name may reason.
pub fn may_reason(model: &str) -> bool {
    !WITHOUT_REASONING.iter().any(|part| model.contains(part))
}

/// Returns the effort in a request of the Responses API for the model at `url`, or `None` where a server may refuse it.
pub fn in_responses(url: &str, model: &str, effort: ReasoningEffort) -> Option<&'static str> {
    match find_provider(url) {
        _ if !takes_effort(model) => None,
        // Most of its models refuse an effort.
        Some("x_ai") => None,
        Some("openai" | "azure.ai.openai" | "aws.bedrock") => Some(level(levels_of(model), effort)),
        _ if host_of(url) == "openrouter.ai" => Some(level(OPENAI, effort)),
        _ => Some(level(THREE_LEVELS, effort)),
    }
}

/// Returns the member `reasoning_effort` of a chat completion request for the model at `url`, or `None` where a server may refuse it.
///
/// OpenAI's models from GPT-5.4 on refuse an effort other than `none` in a chat completion request with tools.
pub fn in_chat(url: &str, model: &str, has_tools: bool, effort: ReasoningEffort) -> Option<&'static str> {
    let levels = match find_provider(url) {
        Some("openai" | "azure.ai.openai") if !takes_effort(model) => return None,
        Some("openai" | "azure.ai.openai") => {
            let levels = levels_of(model);
            let is_refused = level(levels, ReasoningEffort::Max) == "xhigh" && level(levels, effort) != "none";
            if has_tools && is_refused {
                return None;
            }
            levels
        }
        Some("gcp.gemini") => THREE_LEVELS,
        Some("deepseek") => ["low", "low", "low", "medium", "high", "max"],
        _ if host_of(url) == "openrouter.ai" => OPENAI,
        _ => return None,
    };
    Some(level(levels, effort))
}

/// Returns whether the server at `url` refuses a temperature beside this effort. OpenAI's models do, unless they do not reason
/// (vercel/ai#10932).
pub fn excludes_temperature(url: &str, effort: Option<&str>) -> bool {
    let is_of_openai = matches!(find_provider(url), Some("openai" | "azure.ai.openai" | "aws.bedrock"));
    is_of_openai && effort.is_some_and(|effort| effort != "none")
}

fn takes_effort(model: &str) -> bool {
    may_reason(model) && !WITHOUT_EFFORT.iter().any(|part| model.contains(part))
}

fn level(levels: Levels, effort: ReasoningEffort) -> &'static str {
    levels[match effort {
        ReasoningEffort::None => 0,
        ReasoningEffort::Minimal => 1,
        ReasoningEffort::Low => 2,
        ReasoningEffort::Medium => 3,
        ReasoningEffort::Max => 5,
        _ => 4,
    }]
}

#[cfg(test)]
mod tests {
    use ReasoningEffort::{High, Low, Max, Medium, Minimal, None as Off};

    use super::*;

    const ALL: [ReasoningEffort; 6] = [Off, Minimal, Low, Medium, High, Max];

    #[test]
    fn each_host_receives_a_level_of_chat_completions_that_it_knows() {
        let sent = |url, model, has_tools| ALL.map(|effort| in_chat(url, model, has_tools, effort).unwrap_or("-"));
        let openai = "https://api.openai.com/v1";
        assert_eq!(sent(openai, "gpt-5.6-sol", false), OPENAI);
        assert_eq!(sent(openai, "gpt-5.6-sol", true), ["none", "-", "-", "-", "-", "-"]);
        for model in ["gpt-5", "gpt-5-mini", "gpt-5.1-codex", "o3", "o4-mini"] {
            assert_eq!(sent(openai, model, true), THREE_LEVELS, "{model}");
        }
        assert_eq!(sent(openai, "gpt-5.1", true), ["none", "low", "low", "medium", "high", "high"]);
        assert_eq!(sent(openai, "gpt-5.3-codex", true), ["-"; 6]);
        assert_eq!(sent(openai, "gpt-4.1", false), ["-"; 6]);
        let azure = "https://x.openai.azure.com/openai/v1";
        assert_eq!(sent(azure, "my-deployment", true), ["none", "-", "-", "-", "-", "-"]);
        let gemini = "https://generativelanguage.googleapis.com/v1beta/openai";
        assert_eq!(sent(gemini, "gemini-3.7-flash", true), THREE_LEVELS);
        let deepseek = "https://api.deepseek.com";
        assert_eq!(sent(deepseek, "deepseek-v4-pro", true), ["low", "low", "low", "medium", "high", "max"]);
        assert_eq!(sent("https://openrouter.ai/api/v1", "x/y", true), OPENAI);
        for unknown in ["http://127.0.0.1:8080/v1", "https://api.groq.com/openai/v1", "https://api.x.ai/v1"] {
            assert_eq!(sent(unknown, "any", false), ["-"; 6], "{unknown}");
        }
    }

    #[test]
    fn each_host_receives_a_level_of_the_responses_api_that_it_knows() {
        let sent = |url, model| ALL.map(|effort| in_responses(url, model, effort).unwrap_or("-"));
        let openai = "https://api.openai.com/v1";
        assert_eq!(sent(openai, "gpt-5.6-sol"), OPENAI);
        assert_eq!(sent(openai, "gpt-5-mini"), THREE_LEVELS);
        assert_eq!(sent(openai, "gpt-5-pro"), ["high"; 6]);
        assert_eq!(sent(openai, "gpt-5-pro-2025-10-06"), ["high"; 6]);
        assert_eq!(sent(openai, "gpt-5.5-pro"), ["medium", "medium", "medium", "medium", "high", "xhigh"]);
        assert_eq!(sent(openai, "gpt-5.3-codex"), ["low", "low", "low", "medium", "high", "xhigh"]);
        assert_eq!(sent(openai, "gpt-5.1-codex-mini"), THREE_LEVELS);
        let bedrock = "https://bedrock-mantle.us-east-1.api.aws/openai/v1";
        assert_eq!(sent(bedrock, "openai.gpt-5.6-luna"), OPENAI);
        assert_eq!(sent(bedrock, "openai.gpt-oss-120b"), THREE_LEVELS);
        for model in ["gpt-4.1", "gpt-5-chat-latest", "gpt-5.2-chat-latest", "o3-deep-research", "o1-mini"] {
            assert_eq!(sent(openai, model), ["-"; 6], "{model}");
        }
        assert_eq!(sent("https://api.x.ai/v1", "grok-4"), ["-"; 6]);
        assert_eq!(sent("http://127.0.0.1:1234/v1", "any"), THREE_LEVELS);
    }
}
