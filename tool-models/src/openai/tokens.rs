//! The number of tokens of a turn.

use serde::Deserialize;

use tool_runtime::model::Usage;

/// The number of tokens of a turn, in the members that servers use. Some gateways send those of both APIs.
#[derive(Debug, Deserialize)]
pub struct TokenCounts {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    total_tokens: Option<u64>,
    prompt_tokens_details: Option<Details>,
    completion_tokens_details: Option<Details>,
    /// The number of cached tokens, from DeepSeek.
    prompt_cache_hit_tokens: Option<u64>,
    // The members of the Responses API.
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    input_tokens_details: Option<Details>,
    output_tokens_details: Option<Details>,
}

#[derive(Debug, Deserialize)]
struct Details {
    cached_tokens: Option<u64>,
    reasoning_tokens: Option<u64>,
}

impl From<TokenCounts> for Usage {
    fn from(tokens: TokenCounts) -> Self {
        let input = tokens.prompt_tokens.or(tokens.input_tokens).unwrap_or_default();
        let output = tokens.completion_tokens.or(tokens.output_tokens).unwrap_or_default();
        let details = tokens.completion_tokens_details.or(tokens.output_tokens_details);
        let reasoning = details.and_then(|details| details.reasoning_tokens).unwrap_or_default();
        // Unlike others, xAI does not count reasoning among the completion's tokens. The total shows whether the server does.
        let separate = output.saturating_add(reasoning);
        let is_separate = tokens.total_tokens == Some(input.saturating_add(separate));
        let details = tokens.prompt_tokens_details.or(tokens.input_tokens_details);
        let cached = details.and_then(|details| details.cached_tokens).or(tokens.prompt_cache_hit_tokens);
        Self {
            input_tokens: input,
            output_tokens: if is_separate { separate } else { output },
            cached_tokens: cached.unwrap_or_default(),
            reasoning_tokens: reasoning,
        }
    }
}
