//! The events of a chat completion stream, in the shapes that servers give them. Everything is optional: what is missing
//! or null says nothing.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use tool_runtime::model::Usage;

#[derive(Debug, Deserialize)]
pub(super) struct Chunk<'a> {
    #[serde(borrow)]
    pub(super) choices: Option<Vec<Choice<'a>>>,
    pub(super) usage: Option<Tokens>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Choice<'a> {
    pub(super) index: Option<u64>,
    #[serde(borrow)]
    pub(super) delta: Option<Piece<'a>>,
    /// The whole message, from servers that do not stream. Some send it along with each delta.
    #[serde(borrow)]
    pub(super) message: Option<Piece<'a>>,
    pub(super) finish_reason: Option<String>,
    /// Moonshot counts here.
    pub(super) usage: Option<Tokens>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Piece<'a> {
    /// A string, or (Mistral) a list of parts.
    #[serde(borrow)]
    pub(super) content: Option<&'a RawValue>,
    pub(super) refusal: Option<String>,
    /// DeepSeek, xAI, Moonshot, vLLM, llama.cpp.
    pub(super) reasoning_content: Option<String>,
    /// Groq, OpenRouter, Ollama, newer vLLM.
    pub(super) reasoning: Option<String>,
    /// What the provider's own tools found: web search of OpenAI, and of OpenRouter.
    #[serde(borrow)]
    pub(super) annotations: Option<Vec<&'a RawValue>>,
    #[serde(borrow)]
    pub(super) tool_calls: Option<Vec<CallPiece<'a>>>,
    /// What `tool_calls` was called before there could be several.
    #[serde(borrow)]
    pub(super) function_call: Option<Function<'a>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct CallPiece<'a> {
    pub(super) index: Option<usize>,
    pub(super) id: Option<String>,
    #[serde(borrow)]
    pub(super) function: Option<Function<'a>>,
    /// Gemini's seal over what it thought; it wants it back with the call.
    #[serde(borrow)]
    pub(super) extra_content: Option<&'a RawValue>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Function<'a> {
    pub(super) name: Option<String>,
    /// A string of JSON, or (some servers) the JSON itself.
    #[serde(borrow)]
    pub(super) arguments: Option<&'a RawValue>,
}

impl Function<'_> {
    /// The argument text of this piece, unescaped.
    pub(super) fn arguments(&self) -> Cow<'_, str> {
        match self.arguments.map(RawValue::get) {
            None | Some("null") => Cow::Borrowed(""),
            Some(text) if text.starts_with('"') => serde_json::from_str(text).map_or(Cow::Borrowed(""), Cow::Owned),
            Some(json) => Cow::Borrowed(json),
        }
    }
}

/// A part of a content that is a list.
#[derive(Debug, Deserialize)]
pub(super) struct Part {
    #[serde(default)]
    pub(super) text: String,
    #[serde(default)]
    pub(super) thinking: Vec<Part>,
}

/// What was counted. Servers add members of their own.
#[derive(Debug, Deserialize)]
pub(super) struct Tokens {
    #[serde(rename = "prompt_tokens")]
    prompt: Option<u64>,
    #[serde(rename = "completion_tokens")]
    completion: Option<u64>,
    #[serde(rename = "total_tokens")]
    total: Option<u64>,
    #[serde(rename = "prompt_tokens_details")]
    prompt_details: Option<PromptDetails>,
    #[serde(rename = "completion_tokens_details")]
    completion_details: Option<CompletionDetails>,
    /// DeepSeek.
    #[serde(rename = "prompt_cache_hit_tokens")]
    cache_hit: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
struct PromptDetails {
    cached_tokens: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
struct CompletionDetails {
    reasoning_tokens: Option<u64>,
}

impl From<Tokens> for Usage {
    fn from(tokens: Tokens) -> Self {
        let input = tokens.prompt.unwrap_or_default();
        let said = tokens.completion.unwrap_or_default();
        let reasoning = tokens.completion_details.and_then(|details| details.reasoning_tokens).unwrap_or_default();
        // xAI does not count reasoning among the completion's tokens, others do; the total tells.
        let apart = tokens.total == Some(input + said + reasoning);
        let cached = tokens.prompt_details.and_then(|details| details.cached_tokens);
        Self {
            input_tokens: input,
            output_tokens: if apart { said + reasoning } else { said },
            cached_tokens: cached.or(tokens.cache_hit).unwrap_or_default(),
            reasoning_tokens: reasoning,
        }
    }
}
