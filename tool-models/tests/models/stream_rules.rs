//! Tests that each odd stream has the right outcome: those of real servers, with their sources (`tests/data/stream_rules.json`), and
//! others that we thought of (`odd_streams.json`). None ends as a finished turn without content.

use std::{convert::Infallible, sync::Arc};

use futures_util::{FutureExt, StreamExt, stream};
use serde_json::{Value, json};
use tool_models::{
    anthropic,
    gemini::{generate_content, interactions},
    http, openai,
};
use tool_runtime::{
    message::{AssistantPart, FinishReason},
    model::{Delta, ModelError, ModelErrorKind, Turn},
    schema::Schema,
    tool::ToolSpec,
    toolset::ToolList,
};
use tool_test_kit::{
    stream_rules::{OddStream, odd_streams, stream_rules},
    streams::WireFormat,
};

use super::turn;

fn decode(odd: &OddStream, chunks: &[&[u8]]) -> Result<Vec<Delta>, ModelError> {
    let tool = |name: &String| Arc::new(ToolSpec::new(name, "a tool", Schema::new(json!({"type": "object"}))));
    let tools = ToolList::new(odd.tools.iter().map(tool).collect());
    let bytes = stream::iter(chunks.iter().map(|chunk| Ok::<_, Infallible>(*chunk)).collect::<Vec<_>>());
    let deltas = match odd.format {
        WireFormat::Chat => http::decode_deltas(bytes, openai::Decoder::new(&[], &tools)).collect().now_or_never(),
        WireFormat::Responses => {
            http::decode_deltas(bytes, openai::ResponsesDecoder::new(&[], &tools)).collect().now_or_never()
        }
        WireFormat::Anthropic => {
            http::decode_deltas(bytes, anthropic::Decoder::new(&[], &tools)).collect().now_or_never()
        }
        WireFormat::Interactions => {
            http::decode_deltas(bytes, interactions::Decoder::new(&[], &tools)).collect().now_or_never()
        }
        WireFormat::GenerateContent => {
            http::decode_deltas(bytes, generate_content::Decoder::new(&[], &tools)).collect().now_or_never()
        }
    };
    let deltas: Vec<_> = deltas.expect("all chunks are there");
    deltas.into_iter().collect()
}

/// Returns the outcome in the form of the data, with the members that `expected` has.
fn outcome(result: &Result<Turn, ModelError>, expected: &Value) -> Value {
    let turn = match result {
        Ok(turn) => turn,
        Err(error) => {
            let kind = match error.kind() {
                ModelErrorKind::Unavailable => "unavailable",
                ModelErrorKind::RateLimited => "rate_limited",
                ModelErrorKind::Refused => "refused",
                ModelErrorKind::Protocol => "protocol",
                other => panic!("an unexpected kind: {other:?}"),
            };
            let text = error.to_string();
            let says = expected["says"].as_str().filter(|part| text.contains(part)).map_or(text.clone(), str::to_owned);
            return json!({"error": kind, "says": says});
        }
    };
    let finish = match &turn.finish {
        Some(FinishReason::Stop) => "stop",
        Some(FinishReason::ToolCalls) => "tool_calls",
        Some(FinishReason::Length) => "length",
        Some(FinishReason::ContentFilter) => "content_filter",
        other => panic!("an unexpected reason: {other:?}"),
    };
    let calls: Vec<_> = turn.calls().map(|call| json!([call.name, call.arguments])).collect();
    let mut outcome = json!({"text": turn.text(), "calls": calls, "finish": finish});
    if expected.get("reasoning").is_some() {
        outcome["reasoning"] = turn.content.iter().filter_map(reasoning).collect::<String>().into();
    }
    if expected.get("signatures").is_some() {
        outcome["signatures"] = turn.content.iter().filter_map(signature).collect();
    }
    if expected.get("usage").is_some() {
        outcome["usage"] = json!([turn.usage.input_tokens, turn.usage.output_tokens]);
    }
    outcome
}

fn reasoning(part: &AssistantPart) -> Option<&str> {
    match part {
        AssistantPart::Reasoning { text, .. } => Some(text),
        _ => None,
    }
}

fn signature(part: &AssistantPart) -> Option<Value> {
    match part {
        AssistantPart::Reasoning { signature: Some(signature), .. } => Some(json!(signature.value)),
        _ => None,
    }
}

fn check(odd: &OddStream, wrong: &mut Vec<String>) {
    let whole = decode(odd, &[odd.sse.as_bytes()]);
    let cut: Vec<&[u8]> = odd.sse.as_bytes().chunks(1).collect();
    let same = match (&whole, &decode(odd, &cut)) {
        (Ok(whole), Ok(cut)) => whole == cut,
        (Err(whole), Err(cut)) => whole.to_string() == cut.to_string(),
        _ => false,
    };
    let turn = whole.map(turn);
    let outcome = outcome(&turn, &odd.expect);
    if outcome != odd.expect || !same {
        wrong.push(format!("{:?}, {}:\n  {}\n  {outcome}", odd.format, odd.what, odd.expect));
    }
}

#[test]
fn streams_of_real_servers() {
    let mut wrong = Vec::new();
    for rule in stream_rules() {
        assert!(rule.source.starts_with("https://") && rule.date.len() == 10, "{}", rule.does);
        assert!(["reported", "recorded"].contains(&rule.seen.as_str()), "{}", rule.does);
        check(&rule.stream, &mut wrong);
    }
    assert!(wrong.is_empty(), "expected, then decoded:\n{}", wrong.join("\n"));
}

#[test]
fn streams_that_we_thought_of() {
    let mut wrong = Vec::new();
    for odd in &odd_streams(include_str!("odd_streams.json")) {
        check(odd, &mut wrong);
    }
    assert!(wrong.is_empty(), "expected, then decoded:\n{}", wrong.join("\n"));
}
