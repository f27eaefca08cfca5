//! The number of tokens of a turn.

use serde_json::Value;

use crate::tokens::read_count;
use tool_runtime::model::Usage;

/// Reads the number of tokens of a turn from the members that servers use. Some gateways send those of both APIs.
pub fn read_usage(usage: &Value) -> Usage {
    let first = |places: &[&Value]| places.iter().find_map(|place| read_count(place)).unwrap_or_default();
    let input = first(&[&usage["prompt_tokens"], &usage["input_tokens"]]);
    let output = first(&[&usage["completion_tokens"], &usage["output_tokens"]]);
    let reasoning = first(&[
        &usage["completion_tokens_details"]["reasoning_tokens"],
        &usage["output_tokens_details"]["reasoning_tokens"],
    ]);
    let cached = first(&[
        &usage["prompt_tokens_details"]["cached_tokens"],
        &usage["input_tokens_details"]["cached_tokens"],
        // From DeepSeek.
        &usage["prompt_cache_hit_tokens"],
    ]);
    // Unlike others, xAI does not count reasoning among the completion's tokens. The total shows whether the server does.
    let separate = output.saturating_add(reasoning);
    let is_separate = read_count(&usage["total_tokens"]) == Some(input.saturating_add(separate));
    Usage {
        input_tokens: input,
        output_tokens: if is_separate { separate } else { output },
        cached_tokens: cached,
        reasoning_tokens: reasoning,
    }
}
