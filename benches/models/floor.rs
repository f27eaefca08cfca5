//! The events of each format as plain types with what a decoder needs. The text of a piece is owned, because a delta owns it.

#![allow(dead_code, reason = "a parse fills all members, and nothing reads them")]

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

#[derive(Deserialize)]
pub(super) struct Chat<'a> {
    #[serde(borrow)]
    choices: Vec<ChatChoice<'a>>,
    usage: Option<ChatUsage>,
}

#[derive(Deserialize)]
struct ChatChoice<'a> {
    delta: ChatDelta,
    #[serde(borrow)]
    finish_reason: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct ChatDelta {
    content: Option<String>,
    reasoning_content: Option<String>,
    tool_calls: Option<Vec<ChatCall>>,
}

#[derive(Deserialize)]
struct ChatCall {
    index: u64,
    id: Option<String>,
    function: ChatFunction,
}

#[derive(Deserialize)]
struct ChatFunction {
    name: Option<String>,
    arguments: String,
}

#[derive(Deserialize)]
struct ChatUsage {
    prompt_tokens: u64,
    completion_tokens: u64,
}

#[derive(Deserialize)]
pub(super) struct Anthropic<'a> {
    #[serde(borrow)]
    r#type: Cow<'a, str>,
    index: Option<u64>,
    #[serde(borrow)]
    content_block: Option<AnthropicBlock<'a>>,
    #[serde(borrow)]
    delta: Option<AnthropicDelta<'a>>,
    usage: Option<AnthropicUsage>,
}

#[derive(Deserialize)]
struct AnthropicBlock<'a> {
    #[serde(borrow)]
    r#type: Cow<'a, str>,
    id: Option<String>,
    name: Option<String>,
}

#[derive(Deserialize)]
struct AnthropicDelta<'a> {
    #[serde(borrow)]
    r#type: Option<Cow<'a, str>>,
    text: Option<String>,
    thinking: Option<String>,
    partial_json: Option<String>,
    signature: Option<String>,
    #[serde(borrow)]
    stop_reason: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct AnthropicUsage {
    input_tokens: Option<u64>,
    output_tokens: u64,
}

#[derive(Deserialize)]
pub(super) struct Responses<'a> {
    #[serde(borrow)]
    r#type: Cow<'a, str>,
    output_index: Option<u64>,
    content_index: Option<u64>,
    summary_index: Option<u64>,
    delta: Option<String>,
    text: Option<String>,
    arguments: Option<String>,
    #[serde(borrow)]
    item: Option<ResponsesItem<'a>>,
    #[serde(borrow)]
    response: Option<Response<'a>>,
}

#[derive(Deserialize)]
struct ResponsesItem<'a> {
    #[serde(borrow)]
    r#type: Cow<'a, str>,
    call_id: Option<String>,
    name: Option<String>,
    arguments: Option<String>,
    encrypted_content: Option<String>,
}

#[derive(Deserialize)]
struct Response<'a> {
    #[serde(borrow)]
    status: Cow<'a, str>,
    usage: Option<AnthropicUsage>,
}

#[derive(Deserialize)]
pub(super) struct Interactions<'a> {
    #[serde(borrow)]
    event_type: Cow<'a, str>,
    index: Option<u64>,
    #[serde(borrow)]
    step: Option<AnthropicBlock<'a>>,
    #[serde(borrow)]
    delta: Option<InteractionsDelta<'a>>,
    #[serde(borrow)]
    interaction: Option<Interaction<'a>>,
}

#[derive(Deserialize)]
struct InteractionsDelta<'a> {
    #[serde(borrow)]
    r#type: Cow<'a, str>,
    text: Option<String>,
    content: Option<InteractionsText>,
    arguments: Option<String>,
    signature: Option<String>,
}

#[derive(Deserialize)]
struct InteractionsText {
    text: String,
}

#[derive(Deserialize)]
struct Interaction<'a> {
    #[serde(borrow)]
    status: Cow<'a, str>,
    usage: Option<InteractionsUsage>,
}

#[derive(Deserialize)]
struct InteractionsUsage {
    total_input_tokens: u64,
    total_output_tokens: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct GenerateContent<'a> {
    #[serde(borrow)]
    candidates: Vec<Candidate<'a>>,
    usage_metadata: Option<Tokens>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate<'a> {
    #[serde(borrow)]
    content: Content<'a>,
    #[serde(borrow)]
    finish_reason: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct Content<'a> {
    #[serde(borrow)]
    parts: Vec<Part<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part<'a> {
    text: Option<String>,
    thought: Option<bool>,
    thought_signature: Option<String>,
    #[serde(borrow)]
    function_call: Option<FunctionCall<'a>>,
}

#[derive(Deserialize)]
struct FunctionCall<'a> {
    id: Option<String>,
    name: String,
    #[serde(borrow)]
    args: &'a RawValue,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Tokens {
    prompt_token_count: u64,
    candidates_token_count: u64,
}
