//! Tests of decoding and encoding, without a network. Only one call is recorded. So parallel calls, other ends and errors are in the form
//! of the specification: `@google/genai` 2.32.0 and <https://ai.google.dev/gemini-api/docs/interactions/streaming>, read on 2026-11-28.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{super::Gemini, *};
use crate::http::response::testing::{decode, turn_of};
use tool_runtime::{
    message::{AssistantPart, Media, Message, Part, ProviderPart, ProviderPartKind, Signature, ToolCall, ToolMessage},
    model::{
        Delta, FinishReason, ModelError, ModelErrorKind, ModelSettings, ReasoningEffort, Request, ToolChoice, Turn,
        Usage,
    },
    schema::Schema,
    tool::ToolSpec,
    toolset::{ListFormat, ProviderTool, ToolList},
};

const ORIGIN: &str = "interactions@generativelanguage.googleapis.com";

fn decode_events(events: &[Value]) -> Result<Vec<Delta>, ModelError> {
    let decoder = Decoder::new(&[], &ToolList::default()).with_origin(ORIGIN);
    decode(decoder, events.iter().map(Value::to_string))
}

fn turn(events: &[Value]) -> Turn {
    turn_of(decode_events(events).unwrap())
}

fn start(index: u64, step: &Value) -> Value {
    json!({"event_type": "step.start", "index": index, "step": step})
}

fn delta(index: u64, delta: &Value) -> Value {
    json!({"event_type": "step.delta", "index": index, "delta": delta})
}

fn stop(index: u64) -> Value {
    json!({"event_type": "step.stop", "index": index})
}

fn arguments(index: u64, text: &str) -> Value {
    delta(index, &json!({"type": "arguments_delta", "arguments": text}))
}

fn end(status: &str) -> Value {
    let usage = json!({"total_input_tokens": 10, "total_cached_tokens": 4, "total_output_tokens": 20,
        "total_thought_tokens": 300, "total_tool_use_tokens": 1000, "total_tokens": 1330});
    json!({"event_type": "interaction.completed", "interaction": {"id": "", "status": status, "usage": usage}})
}

fn call(id: &str, name: &str, arguments: &str) -> AssistantPart {
    AssistantPart::Call(ToolCall { id: id.into(), name: name.into(), arguments: arguments.into() })
}

fn thought(text: &str, signature: &str) -> AssistantPart {
    let signature = Some(signature).filter(|value| !value.is_empty()).map(|value| Signature::new(ORIGIN, value));
    AssistantPart::Reasoning { text: text.into(), signature }
}

fn text(text: &str) -> AssistantPart {
    AssistantPart::Text { text: text.into() }
}

fn provided(id: &str, name: &str, kind: ProviderPartKind, block: &str) -> AssistantPart {
    AssistantPart::Provider(ProviderPart::new(ORIGIN, id, name, kind, block))
}

/// A turn with every kind of step.
fn whole_turn() -> Vec<Value> {
    vec![
        json!({"event_type": "interaction.created", "interaction": {"id": "", "status": "in_progress"}}),
        json!({"event_type": "interaction.status_update", "interaction_id": "", "status": "in_progress"}),
        start(0, &json!({"type": "thought"})),
        delta(0, &json!({"type": "thought_summary", "content": {"type": "text", "text": "h"}})),
        delta(0, &json!({"type": "thought_summary", "content": {"type": "text", "text": "m"}})),
        delta(0, &json!({"type": "thought_signature", "signature": "se"})),
        delta(0, &json!({"type": "thought_signature", "signature": "al"})),
        stop(0),
        start(1, &json!({"type": "model_output", "content": [{"type": "text", "text": "I "}]})),
        delta(1, &json!({"type": "text", "text": "search"})),
        delta(1, &json!({"type": "text_annotation_delta", "annotations": [{"type": "url_citation", "url": "u"}]})),
        delta(1, &json!({"type": "text", "text": "."})),
        stop(1),
        start(2, &json!({"type": "google_search_call", "id": "s", "signature": ""})),
        delta(2, &json!({"type": "google_search_call", "arguments": {"queries": ["q"]}, "signature": "S"})),
        stop(2),
        start(3, &json!({"type": "google_search_result", "call_id": "s", "is_error": true})),
        delta(3, &json!({"type": "google_search_result", "result": [1]})),
        stop(3),
        start(4, &json!({"type": "thought", "signature": "more"})),
        stop(4),
        start(5, &json!({"type": "function_call", "id": "a", "name": "f", "arguments": {}, "signature": "mine"})),
        start(6, &json!({"type": "function_call", "id": "b", "name": "f", "arguments": {}})),
        arguments(5, "{\"x\""),
        arguments(6, "{\"x\":2}"),
        arguments(5, ":1}"),
        stop(6),
        stop(5),
        start(7, &json!({"type": "function_call", "id": "", "name": "g", "arguments": {"y": 1}})),
        stop(7),
        start(8, &json!({"type": "something_new"})),
        delta(8, &json!({"type": "something_new", "text": "?"})),
        stop(8),
        json!({"event_type": "something.new"}),
    ]
}

#[test]
fn a_turn_keeps_the_order_of_its_steps() {
    let mut events = whole_turn();
    events.push(end("requires_action"));
    let deltas = decode_events(&events).unwrap();
    let ended: Vec<_> = deltas.iter().filter(|delta| matches!(delta, Delta::CallEnd { .. })).collect();
    assert_eq!(ended, [1, 0, 2].map(|index| Delta::CallEnd { index }).iter().collect::<Vec<_>>());
    let turn = turn_of(deltas);
    assert_eq!(
        turn.content,
        [
            thought("hm", "thought:seal"),
            text("I search"),
            provided("", "url_citation", ProviderPartKind::Result, r#"{"type":"url_citation","url":"u"}"#),
            text("."),
            provided(
                "s",
                "google_search",
                ProviderPartKind::Call,
                r#"{"type":"google_search_call","id":"s","signature":"S","arguments":{"queries":["q"]}}"#
            ),
            provided(
                "s",
                "google_search",
                ProviderPartKind::Failure,
                r#"{"type":"google_search_result","call_id":"s","is_error":true,"result":[1]}"#
            ),
            thought("", "thought:more"),
            thought("", "call:mine"),
            call("a", "f", "{\"x\":1}"),
            call("b", "f", "{\"x\":2}"),
            call("call_0_2", "g", "{\"y\":1}"),
        ]
    );
    assert_eq!(turn.usage, Usage { input_tokens: 1010, output_tokens: 320, cached_tokens: 4, reasoning_tokens: 300 });
    assert_eq!(turn.finish, Some(FinishReason::ToolCalls));
}

#[test]
fn a_turn_goes_back_as_it_came() {
    let mut events = whole_turn();
    events.push(end("completed"));
    let turn = turn(&events);
    let result = |id: &str| {
        Message::Tool(ToolMessage { call_id: id.into(), tool: "f".into(), content: vec![], is_error: false })
    };
    let messages = [
        Message::user("go"),
        Message::Assistant { content: turn.content },
        result("a"),
        result("b"),
        result("call_0_2"),
    ];
    let tools = ToolList::default();
    let sent = body(&Gemini::new("m"), &Request::new(&messages, &tools));
    assert_eq!(
        sent["input"].as_array().unwrap()[1..8],
        [
            json!({"type": "thought", "signature": "seal", "summary": [{"type": "text", "text": "hm"}]}),
            json!({"type": "model_output", "content": [
                {"type": "text", "text": "I search"}, {"type": "text", "text": "."}]}),
            json!({"type": "google_search_call", "id": "s", "signature": "S", "arguments": {"queries": ["q"]}}),
            json!({"type": "google_search_result", "call_id": "s", "is_error": true, "result": [1]}),
            json!({"type": "thought", "signature": "more"}),
            json!({"type": "function_call", "id": "a", "name": "f", "arguments": {"x": 1}, "signature": "mine"}),
            json!({"type": "function_call", "id": "b", "name": "f", "arguments": {"x": 2}}),
        ]
    );
    // At another host, neither signatures nor steps of Google's tools have a meaning.
    let other = Gemini::new("m").base_url("https://gateway.example.com");
    let kinds: Vec<Value> = body(&other, &Request::new(&messages, &tools))["input"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| step["type"].clone())
        .collect();
    let [output, called, answered] = ["model_output", "function_call", "function_result"];
    assert_eq!(kinds, ["user_input", output, called, called, called, answered, answered, answered]);
}

#[test]
fn reasons_to_stop() {
    let spoken = [start(0, &json!({"type": "model_output"})), delta(0, &json!({"type": "text", "text": "x"})), stop(0)];
    let called = [start(0, &json!({"type": "function_call", "id": "a", "name": "f"})), arguments(0, "{"), stop(0)];
    let of = |events: &[Value], status| turn(&[events, &[end(status)]].concat()).finish.unwrap();
    assert_eq!(of(&spoken, "completed"), FinishReason::Stop);
    assert_eq!(of(&spoken, "incomplete"), FinishReason::Length);
    assert_eq!(of(&spoken, "budget_exceeded"), FinishReason::Other("budget_exceeded".into()));
    assert_eq!(of(&called, "completed"), FinishReason::ToolCalls);
    assert_eq!(of(&called, "requires_action"), FinishReason::ToolCalls);
    assert_eq!(of(&called, "incomplete"), FinishReason::Length);
}

/// A call that was cut must not run with the arguments so far, and not without arguments.
#[test]
fn a_call_that_is_open_at_the_end() {
    let called = |text: &str| [start(0, &json!({"type": "function_call", "id": "a", "name": "f"})), arguments(0, text)];
    let decoded = |text, status| decode_events(&[&called(text)[..], &[end(status)]].concat());
    for status in ["completed", "requires_action"] {
        for cut in ["", "{", "{\"x\":"] {
            assert_eq!(decoded(cut, status).unwrap_err().kind(), ModelErrorKind::Protocol, "{cut}");
        }
        assert!(decoded("{}", status).unwrap().contains(&Delta::CallEnd { index: 0 }));
    }
    assert!(!decoded("{", "incomplete").unwrap().contains(&Delta::CallEnd { index: 0 }));
}

#[test]
fn a_broken_stream_is_an_error() {
    let output = || start(0, &json!({"type": "model_output"}));
    let error = |code: &str| json!({"event_type": "error", "error": {"message": "Deadline expired", "code": code}});
    let mut failed = end("failed");
    failed["interaction"]["error"] = json!({"code": 400, "message": "too long", "status": "INVALID_ARGUMENT"});
    let status = |status: &str| json!({"event_type": "interaction.status_update", "status": status});
    let cases = [
        ("timeout", vec![output(), error("gateway_timeout")], ModelErrorKind::Unavailable, "Deadline expired"),
        ("limited", vec![error("RATE_LIMITED")], ModelErrorKind::RateLimited, "Deadline expired"),
        ("without words", vec![json!({"event_type": "error"})], ModelErrorKind::Protocol, "without saying which"),
        ("only an error", vec![json!({"error": {"code": 403, "message": "no"}})], ModelErrorKind::Unauthorized, "no"),
        (
            "a list",
            vec![json!([{"error": {"code": 503, "message": "busy", "status": "UNAVAILABLE"}}])],
            ModelErrorKind::Unavailable,
            "busy",
        ),
        ("failed", vec![output(), end("failed")], ModelErrorKind::Unavailable, "could not complete"),
        ("failed with a reason", vec![failed], ModelErrorKind::Refused, "too long"),
        ("failed before the end", vec![status("failed")], ModelErrorKind::Unavailable, "could not complete"),
        (
            "failed before the reason",
            vec![status("failed"), error("RATE_LIMITED")],
            ModelErrorKind::RateLimited,
            "Deadline expired",
        ),
        ("cancelled", vec![end("cancelled")], ModelErrorKind::Unavailable, "cancelled"),
        (
            "a step with an error",
            vec![start(0, &json!({"type": "model_output", "error": {"code": 429, "message": "slow"}}))],
            ModelErrorKind::RateLimited,
            "slow",
        ),
        ("an action of nobody", vec![end("requires_action")], ModelErrorKind::Protocol, "waits for an action"),
        ("cut off", vec![output(), stop(0)], ModelErrorKind::Unavailable, "ended before"),
        (
            "after its end",
            vec![output(), stop(0), delta(0, &json!({"type": "arguments_delta"}))],
            ModelErrorKind::Protocol,
            "step 0",
        ),
        ("not an event", vec![json!([1])], ModelErrorKind::Protocol, "[1]"),
        ("no kind", vec![start(0, &json!({}))], ModelErrorKind::Protocol, "step"),
    ];
    for (what, events, kind, words) in cases {
        let error = decode_events(&events).unwrap_err();
        assert_eq!(error.kind(), kind, "{what}: {error}");
        assert!(error.to_string().contains(words), "{what}: {error}");
    }
}

#[test]
fn a_picture_of_the_model_is_kept_and_goes_back() {
    let image = json!({"type": "image", "mime_type": "image/png", "data": "iVBORw0KGgo="});
    let turn = turn(&[start(0, &json!({"type": "model_output"})), delta(0, &image), stop(0), end("completed")]);
    let block = json!({"type": "model_output", "content": [image]});
    assert_eq!(turn.content, [provided("", "image", ProviderPartKind::Result, &block.to_string())]);
    let messages = [Message::user("draw"), Message::Assistant { content: turn.content }, Message::user("again")];
    let tools = ToolList::default();
    assert_eq!(body(&Gemini::new("m"), &Request::new(&messages, &tools))["input"][1], block);
}

fn body(model: &Gemini, request: &Request<'_>) -> Value {
    serde_json::from_slice(&request::write_body(model, request)).unwrap()
}

#[test]
fn a_conversation_as_a_request() {
    let image = Part::Image(Media::base64("image/png", "iVBORw0KGgo="));
    let result = |id: &str, content: Vec<Part>, is_error| {
        Message::Tool(ToolMessage { call_id: id.into(), tool: "f".into(), content, is_error })
    };
    let search =
        |kind, block: &str| AssistantPart::Provider(ProviderPart::new("anthropic", "s", "search", kind, block));
    let messages = [
        Message::system("be brief"),
        Message::User { content: vec![Part::text("look"), image.clone(), Part::text("")] },
        Message::user("and read"),
        Message::User { content: vec![Part::Document(Media::url("https://example.com/a.pdf"))] },
        Message::system("be kind"),
        Message::Assistant {
            content: vec![
                AssistantPart::Reasoning { text: "hm".into(), signature: Some(Signature::new("anthropic", "seal")) },
                search(ProviderPartKind::Call, "{\"type\":\"server_tool_use\"}"),
                provided("s", "search", ProviderPartKind::Result, "{\"type\":\"google_search_result\"}"),
                provided("s", "search", ProviderPartKind::Call, "cut"),
                text(" "),
                call("functions.f:0", "f", "{\"x\": 1}"),
                call("b", "f", ""),
                call("c é", "f", "{oops"),
            ],
        },
        result("functions.f:0", vec![image], false),
        result("b", vec![Part::text("no disk")], true),
        result("c é", vec![], false),
        Message::user("hurry"),
        Message::Assistant { content: vec![thought("", "thought:alone")] },
        Message::Assistant { content: vec![text("Well")] },
    ];
    let specs = vec![Arc::new(ToolSpec::new("f", "does f", Schema::new(json!({"type": "object"}))))];
    let tools =
        ToolList::with_provided(specs, vec![ProviderTool::new(ListFormat::GeminiInteractions, "google_search")]);
    let settings = ModelSettings {
        max_tokens: Some(7),
        temperature: Some(0.5),
        allow_parallel_calls: Some(false),
        reasoning_effort: Some(ReasoningEffort::Max),
    };
    let choice = ToolChoice::Tool("f".into());
    let request = Request::new(&messages, &tools).with_settings(&settings).with_choice(&choice);
    let model = Gemini::new("m")
        .extra("service_tier", "flex")
        .extra("store", true)
        .extra("generation_config", json!({"thinking_summaries": "auto", "temperature": 1}));
    let list: Value = serde_json::from_str(tools.json(ListFormat::GeminiInteractions).get()).unwrap();
    assert_eq!((&list[0]["type"], &list[1]), (&json!("function"), &json!({"type": "google_search"})));
    let used =
        |id: &str, arguments: Value| json!({"type": "function_call", "id": id, "name": "f", "arguments": arguments});
    let answer =
        |id: &str, content: Value| json!({"type": "function_result", "call_id": id, "name": "f", "result": [content]});
    let words = |text: &str| json!({"type": "text", "text": text});
    let picture = json!({"type": "image", "mime_type": "image/png", "data": "iVBORw0KGgo="});
    let mut failed = answer("b", words("no disk"));
    failed["is_error"] = true.into();
    assert_eq!(
        body(&model, &request),
        json!({
            "model": "m",
            "input": [
                {"type": "user_input", "content": [
                    words("look"), picture, words("and read"), {"type": "document", "uri": "https://example.com/a.pdf"}]},
                used("functions.f:0", json!({"x": 1})),
                used("b", json!({})),
                used("c__", json!({"INVALID_JSON": "{oops"})),
                answer("functions.f:0", picture),
                failed,
                answer("c__", words("(no content)")),
                {"type": "user_input", "content": [words("hurry")]},
                {"type": "model_output", "content": [words("Well")]},
                {"type": "user_input", "content": [words("Go on.")]},
            ],
            "system_instruction": "be brief\n\nbe kind",
            "tools": list,
            "generation_config": {"max_output_tokens": 7, "temperature": 0.5, "thinking_level": "high",
                "thinking_summaries": "auto", "tool_choice": {"allowed_tools": {"mode": "any", "tools": ["f"]}}},
            "store": false,
            "stream": true,
            "service_tier": "flex",
        })
    );
}

#[test]
fn a_request_without_tools_and_settings_is_small() {
    let tools = ToolList::default();
    let request = Request::new(&[], &tools).with_choice(&ToolChoice::Required);
    let input = json!([{"type": "user_input", "content": [{"type": "text", "text": "Hello."}]}]);
    assert_eq!(
        body(&Gemini::new("m"), &request),
        json!({"model": "m", "input": input, "store": false, "stream": true})
    );
}
