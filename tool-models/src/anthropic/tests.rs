//! Tests of decoding and encoding, without a network.

use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::http::response::testing::{decode, turn_of};
use tool_runtime::{
    message::{AssistantPart, Media, Message, Part, ProviderPart, ProviderPartKind, Signature, ToolCall, ToolMessage},
    model::{FinishReason, ModelErrorKind, ModelSettings, ToolChoice, Turn, Usage},
    schema::Schema,
    tool::ToolSpec,
    toolset::{ListFormat, ToolList},
};

fn decode_events(events: &[Value]) -> Result<Vec<Delta>, ModelError> {
    decode(Decoder::new(&[], &ToolList::default()), events.iter().map(Value::to_string))
}

fn turn(events: &[Value]) -> Turn {
    turn_of(decode_events(events).unwrap())
}

fn start(index: u64, block: &Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

fn delta(index: u64, delta: &Value) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

fn stop(index: u64) -> Value {
    json!({"type": "content_block_stop", "index": index})
}

fn end(reason: &str) -> [Value; 2] {
    [
        json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 9}}),
        json!({"type": "message_stop"}),
    ]
}

fn begin() -> Value {
    let usage = json!({"input_tokens": 1, "cache_read_input_tokens": 20, "cache_creation_input_tokens": 300, "output_tokens": 2});
    json!({"type": "message_start", "message": {"id": "m", "usage": usage}})
}

#[test]
fn a_turn_keeps_the_order_of_its_blocks() {
    let mut events = vec![
        begin(),
        start(0, &json!({"type": "thinking", "thinking": "", "signature": ""})),
        json!({"type": "ping"}),
        delta(0, &json!({"type": "thinking_delta", "thinking": "hm"})),
        delta(0, &json!({"type": "signature_delta", "signature": "seal"})),
        stop(0),
        start(1, &json!({"type": "redacted_thinking", "data": "xyz"})),
        stop(1),
        start(2, &json!({"type": "text", "text": ""})),
        delta(2, &json!({"type": "text_delta", "text": "hi"})),
        delta(2, &json!({"type": "citations_delta", "citation": {}})),
        stop(2),
        start(3, &json!({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}})),
        delta(3, &json!({"type": "input_json_delta", "partial_json": "{\"query\":1}"})),
        stop(3),
        start(4, &json!({"type": "web_search_tool_result", "tool_use_id": "s", "content": []})),
        stop(4),
        start(5, &json!({"type": "tool_use", "id": "a", "name": "f", "input": {}})),
        delta(5, &json!({"type": "input_json_delta", "partial_json": ""})),
        delta(5, &json!({"type": "input_json_delta", "partial_json": "{\"x\":1}"})),
        stop(5),
        start(6, &json!({"type": "tool_use", "id": "b", "name": "g", "input": {"y": 2}})),
        stop(6),
        json!({"type": "something_new"}),
    ];
    events.extend(end("tool_use"));
    let deltas = decode_events(&events).unwrap();
    let ended: Vec<_> = deltas.iter().filter(|delta| matches!(delta, Delta::CallEnd { .. })).collect();
    assert_eq!(ended, [&Delta::CallEnd { index: 0 }, &Delta::CallEnd { index: 1 }]);
    let turn = turn(&events);
    let call = |id: &str, name: &str, arguments: &str| {
        AssistantPart::Call(ToolCall { id: id.into(), name: name.into(), arguments: arguments.into() })
    };
    let provided = |name: &str, kind: ProviderPartKind, block: &str| {
        AssistantPart::Provider(ProviderPart::new("anthropic", "s", name, kind, block))
    };
    assert_eq!(
        turn.content,
        [
            AssistantPart::Reasoning { text: "hm".into(), signature: Some(Signature::new("anthropic", "seal")) },
            AssistantPart::Reasoning {
                text: String::new(),
                signature: Some(Signature::new("anthropic", "redacted_thinking:xyz")),
            },
            AssistantPart::Text { text: "hi".into() },
            provided(
                "web_search",
                ProviderPartKind::Call,
                r#"{"type":"server_tool_use","id":"s","name":"web_search","input":{"query":1}}"#
            ),
            provided(
                "web_search",
                ProviderPartKind::Result,
                r#"{"type":"web_search_tool_result","tool_use_id":"s","content":[]}"#
            ),
            call("a", "f", "{\"x\":1}"),
            call("b", "g", "{\"y\":2}"),
        ]
    );
    assert_eq!(turn.usage, Usage { input_tokens: 321, output_tokens: 9, cached_tokens: 20, reasoning_tokens: 0 });
    assert_eq!(turn.finish, Some(FinishReason::ToolCalls));
}

#[test]
fn reasons_to_stop() {
    let of = |reason: &str| turn(&[&[begin()][..], &end(reason)].concat()).finish.unwrap();
    assert_eq!(of("end_turn"), FinishReason::Stop);
    assert_eq!(of("stop_sequence"), FinishReason::Stop);
    assert_eq!(of("max_tokens"), FinishReason::Length);
    assert_eq!(of("refusal"), FinishReason::ContentFilter);
    assert_eq!(of("pause_turn"), FinishReason::Paused);
}

#[test]
fn a_broken_stream_is_an_error() {
    let text = || start(0, &json!({"type": "text", "text": "x"}));
    let cases = [
        (
            "overloaded",
            vec![begin(), json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})],
            ModelErrorKind::Unavailable,
        ),
        (
            "limited",
            vec![json!({"type": "error", "error": {"type": "rate_limit_error", "message": "slow"}})],
            ModelErrorKind::RateLimited,
        ),
        ("an error without words", vec![json!({"type": "error"})], ModelErrorKind::Protocol),
        ("cut off", vec![begin(), text(), stop(0)], ModelErrorKind::Unavailable),
        ("stopped without a reason", vec![begin(), json!({"type": "message_stop"})], ModelErrorKind::Unavailable),
        ("two messages", vec![begin(), text(), stop(0), begin()], ModelErrorKind::Protocol),
        ("a block in a block", vec![begin(), text(), start(1, &json!({"type": "text"}))], ModelErrorKind::Protocol),
        (
            "a delta of no block",
            vec![begin(), delta(0, &json!({"type": "text_delta", "text": "x"}))],
            ModelErrorKind::Protocol,
        ),
        ("not an event", vec![json!([1])], ModelErrorKind::Protocol),
    ];
    for (what, events, kind) in cases {
        assert_eq!(decode_events(&events).unwrap_err().kind(), kind, "{what}");
    }
    let twice = [&[begin(), begin(), text(), stop(0)][..], &end("end_turn")].concat();
    assert_eq!(turn(&twice).text(), "x", "a message may begin twice before its content");
}

#[test]
fn a_conversation_as_a_request() {
    let image = Part::Image(Media::base64("image/png", "AAAA"));
    let result = |id: &str, content: Vec<Part>, is_error| {
        Message::Tool(ToolMessage { call_id: id.into(), tool: "f".into(), content, is_error })
    };
    let asked = |id: &str, arguments: &str| {
        AssistantPart::Call(ToolCall { id: id.into(), name: "f".into(), arguments: arguments.into() })
    };
    let thought = |text: &str, signature: Option<(&str, &str)>| AssistantPart::Reasoning {
        text: text.into(),
        signature: signature.map(|(origin, value)| Signature::new(origin, value)),
    };
    let messages = [
        Message::system("be brief"),
        Message::User { content: vec![Part::text("look"), image.clone(), Part::text("")] },
        Message::system("be kind"),
        Message::Assistant {
            content: vec![
                thought("hm", Some(("anthropic", "seal"))),
                // An earlier version kept no origin.
                thought("", Some(("", "redacted_thinking:xyz"))),
                thought("hm", Some(("", "{}"))),
                thought("hm", Some(("chat@example.com", "seal"))),
                thought("of another provider", None),
                AssistantPart::Provider(ProviderPart::new(
                    "anthropic",
                    "s",
                    "web_search",
                    ProviderPartKind::Call,
                    "{\"type\":\"server_tool_use\"}",
                )),
                AssistantPart::Provider(ProviderPart::new(
                    "anthropic",
                    "s",
                    "web_search",
                    ProviderPartKind::Call,
                    "cut",
                )),
                AssistantPart::Provider(ProviderPart::new("another", "s", "search", ProviderPartKind::Call, "{}")),
                asked("functions.f:0", "{\"x\": 1}"),
                asked("b", ""),
                asked("c", "{oops"),
            ],
        },
        result("functions.f:0", vec![image], false),
        Message::user("hurry"),
        result("b", vec![Part::text("no disk")], true),
        result("c", vec![], false),
    ];
    let tools = ToolList::new(vec![Arc::new(ToolSpec::new("f", "does f", Schema::new(json!({"type": "object"}))))]);
    let settings = ModelSettings {
        max_tokens: Some(7),
        temperature: Some(0.5),
        allow_parallel_calls: Some(false),
        ..ModelSettings::default()
    };
    let choice = ToolChoice::Required;
    let request = Request::new(&messages, &tools).with_settings(&settings).with_choice(&choice);
    let model = Anthropic::new("m").extra("top_k", 5).extra("stream", false);
    let picture = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}});
    let used = |id: &str, input: Value| json!({"type": "tool_use", "id": id, "name": "f", "input": input});
    let body: Value = serde_json::from_slice(&request::write_body(&model, &request)).unwrap();
    assert_eq!(
        body,
        json!({
            "model": "m",
            "max_tokens": 7,
            "system": [{"type": "text", "text": "be brief"}, {"type": "text", "text": "be kind"}],
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "look"}, picture]},
                {"role": "assistant", "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "seal"},
                    {"type": "redacted_thinking", "data": "xyz"},
                    {"type": "server_tool_use"},
                    used("functions_f_0", json!({"x": 1})),
                    used("b", json!({})),
                    used("c", json!({"INVALID_JSON": "{oops"})),
                ]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "functions_f_0", "content": [picture]},
                    {"type": "tool_result", "tool_use_id": "b", "content": [{"type": "text", "text": "no disk"}], "is_error": true},
                    {"type": "tool_result", "tool_use_id": "c"},
                    {"type": "text", "text": "hurry"},
                ]},
            ],
            "tools": serde_json::from_str::<Value>(tools.json(ListFormat::Anthropic).get()).unwrap(),
            "tool_choice": {"type": "any", "disable_parallel_tool_use": true},
            "temperature": 0.5,
            "stream": true,
            "top_k": 5,
        })
    );
}

#[test]
fn the_key_is_not_shown() {
    let shown = format!("{:?}", Anthropic::new("m").api_key("sk-secret"));
    assert!(!shown.contains("sk-"), "{shown}");
}
