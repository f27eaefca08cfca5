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
    let text = start(0, &json!({"type": "text", "text": "x"}));
    let of = |reason: &str| turn(&[&[begin(), text.clone()][..], &end(reason)].concat()).finish.unwrap();
    assert_eq!(of("end_turn"), FinishReason::Stop);
    assert_eq!(of("stop_sequence"), FinishReason::Stop);
    assert_eq!(of("max_tokens"), FinishReason::Length);
    assert_eq!(of("refusal"), FinishReason::ContentFilter);
    assert_eq!(of("pause_turn"), FinishReason::Paused);
}

/// Servers with the same protocol send null where others leave a member out.
#[test]
fn null_is_the_empty_value() {
    let events = [
        json!({"type": "message_start", "message": {"id": null, "usage": null}}),
        start(0, &json!({"type": "thinking", "thinking": null, "signature": null})),
        delta(0, &json!({"type": "thinking_delta", "thinking": null})),
        delta(0, &json!({"type": "signature_delta", "signature": null})),
        stop(0),
        start(1, &json!({"type": "text", "text": null})),
        delta(1, &json!({"type": "text_delta", "text": null})),
        delta(1, &json!({"type": "text_delta", "text": "x"})),
        stop(1),
        start(2, &json!({"type": "tool_use", "id": null, "name": "f", "input": null})),
        delta(2, &json!({"type": "input_json_delta", "partial_json": null})),
        stop(2),
        json!({"type": "message_delta", "delta": null, "usage": null}),
        json!({"type": "message_delta", "usage": {"input_tokens": 1.0, "cache_read_input_tokens": "2"}}),
    ];
    let turn = turn(&[&events[..], &end("tool_use")].concat());
    assert_eq!((turn.text().as_str(), turn.calls().count(), turn.usage.input_tokens), ("x", 1, 3));
}

#[test]
fn counts_of_tokens_do_not_overflow() {
    let usage = json!({"input_tokens": u64::MAX, "cache_read_input_tokens": 5});
    let text = start(0, &json!({"type": "text", "text": "x"}));
    let events = [json!({"type": "message_start", "message": {"usage": usage}}), text];
    assert_eq!(turn(&[&events[..], &end("end_turn")].concat()).usage.input_tokens, u64::MAX);
}

/// A call that was cut must not run with the arguments so far, and not without arguments.
#[test]
fn a_call_that_is_open_at_the_end() {
    let decoded = |text: &str, reason| {
        let block = start(0, &json!({"type": "tool_use", "id": "a", "name": "f", "input": {}}));
        let begun = [begin(), block, delta(0, &json!({"type": "input_json_delta", "partial_json": text}))];
        decode_events(&[&begun[..], &end(reason)].concat())
    };
    for cut in ["", "{"] {
        assert_eq!(decoded(cut, "tool_use").unwrap_err().kind(), ModelErrorKind::Protocol, "{cut}");
        assert!(!decoded(cut, "max_tokens").unwrap().contains(&Delta::CallEnd { index: 0 }));
    }
    assert!(decoded("{}", "tool_use").unwrap().contains(&Delta::CallEnd { index: 0 }));
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
    let image = Part::Image(Media::base64("image/png", "iVBORw0KGgo="));
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
    let model = Anthropic::new("m").cache(Cache::Off).extra("top_k", 5).extra("stream", false);
    let picture =
        json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}});
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

fn body_of(model: &Anthropic, request: &Request<'_>) -> Value {
    serde_json::from_slice(&request::write_body(model, request)).unwrap()
}

/// Returns the places of the marks in `value`, as JSON pointers, with the marks.
fn marks_in(value: &Value) -> Vec<(String, Value)> {
    fn visit(value: &Value, at: &str, found: &mut Vec<(String, Value)>) {
        let children: Vec<(String, &Value)> = match value {
            Value::Object(members) => members.iter().map(|(name, value)| (name.clone(), value)).collect(),
            Value::Array(items) => items.iter().enumerate().map(|(at, value)| (at.to_string(), value)).collect(),
            _ => return,
        };
        for (name, value) in children {
            if name == "cache_control" {
                found.push((at.to_owned(), value.clone()));
            } else {
                visit(value, &format!("{at}/{name}"), found);
            }
        }
    }
    let mut found = Vec::new();
    visit(value, "", &mut found);
    found.sort_by(|(left, _), (right, _)| left.cmp(right));
    found
}

fn two_tools() -> ToolList {
    let tool = |name: &str| {
        Arc::new(ToolSpec::new(name, "does \"cache_control\": it", Schema::new(json!({"type": "object"}))))
    };
    ToolList::new(vec![tool("f"), tool("g")])
}

fn call(id: &str) -> AssistantPart {
    AssistantPart::Call(ToolCall { id: id.into(), name: "f".into(), arguments: "{}".into() })
}

fn result(id: &str) -> Message {
    Message::Tool(ToolMessage { call_id: id.into(), tool: "f".into(), content: vec![], is_error: false })
}

#[test]
fn four_places_are_marked() {
    let messages = [
        Message::system("be brief"),
        Message::system("be kind"),
        Message::user("first"),
        Message::Assistant { content: vec![call("a"), call("b")] },
        result("a"),
        result("b"),
    ];
    let tools = two_tools();
    let newest = |messages: &[Message], model: &Anthropic| marks_in(&body_of(model, &Request::new(messages, &tools)));
    let five_minutes = json!({"type": "ephemeral"});
    let expected = |places: &[&str], mark: &Value| -> Vec<_> {
        places.iter().map(|place| ((*place).to_owned(), mark.clone())).collect()
    };
    let model = Anthropic::new("claude-opus-5-5");
    let all = ["/messages/0/content/0", "/messages/2/content/1", "/system/1", "/tools/1"];
    assert_eq!(newest(&messages, &model), expected(&all, &five_minutes));
    let first = ["/messages/0/content/0", "/system/1", "/tools/1"];
    assert_eq!(
        newest(&messages[..3], &model),
        expected(&first, &five_minutes),
        "the mark moves with the newest message"
    );
    let hour = json!({"type": "ephemeral", "ttl": "1h"});
    assert_eq!(newest(&messages, &model.clone().cache(Cache::OneHour)), expected(&all, &hour));
    assert_eq!(newest(&messages, &model.clone().cache(Cache::Off)), []);

    // Without the marks, the request is the same.
    let plain = body_of(&model.clone().cache(Cache::Off), &Request::new(&messages, &tools));
    let mut marked = body_of(&model, &Request::new(&messages, &tools));
    for (place, _) in marks_in(&marked) {
        marked.pointer_mut(&place).unwrap().as_object_mut().unwrap().remove("cache_control");
    }
    assert_eq!(marked, plain);
}

#[test]
fn addresses_have_a_version_once() {
    for (base, expected) in [
        ("https://a/", "https://a/v1/messages"),
        ("https://a/v1/", "https://a/v1/messages"),
        ("https://a/v1?b=c", "https://a/v1/messages?b=c"),
    ] {
        assert_eq!(Anthropic::new("m").base_url(base).url(), expected);
    }
}

#[test]
fn only_known_hosts_get_marks_by_default() {
    let messages = [Message::user("hi")];
    let tools = ToolList::default();
    let count = |model: Anthropic| marks_in(&body_of(&model, &Request::new(&messages, &tools))).len();
    assert_eq!(count(Anthropic::new("m")), 1);
    assert_eq!(count(Anthropic::new("m").base_url("https://api.anthropic.com/v1/")), 1);
    assert_eq!(count(Anthropic::new("m").vertex("p", "eu").base_url("https://example.com")), 1);
    assert_eq!(count(Anthropic::new("m").base_url("https://example.com")), 0);
    assert_eq!(count(Anthropic::new("m").base_url("https://example.com").cache(Cache::FiveMinutes)), 1);
    let automatic = Anthropic::new("m").extra("cache_control", json!({"type": "ephemeral"}));
    assert_eq!(count(automatic), 1, "only the application's own");
}

#[test]
fn a_mark_is_on_a_block_that_can_have_one() {
    let thought = AssistantPart::Reasoning { text: "hm".into(), signature: Some(Signature::new("anthropic", "seal")) };
    let search = AssistantPart::Provider(ProviderPart::new(
        "anthropic",
        "s",
        "web_search",
        ProviderPartKind::Call,
        "{\"type\":\"server_tool_use\"}",
    ));
    // A turn that the provider paused is the last message.
    let messages = [
        Message::system(" "),
        Message::User { content: vec![Part::text("look"), Part::text(" ")] },
        Message::Assistant { content: vec![thought, search] },
    ];
    let body = body_of(&Anthropic::new("m"), &Request::new(&messages, &ToolList::default()));
    assert_eq!(marks_in(&body), [("/messages/0/content/0".to_owned(), json!({"type": "ephemeral"}))]);
}

#[test]
fn marks_of_tools_count() {
    let messages = [Message::system("be brief"), Message::user("hi")];
    let marked = |own: usize| {
        let tool = |at: usize| {
            let mut spec = ToolSpec::new(format!("f{at}"), "", Schema::new(json!({"type": "object"})));
            if at < own {
                let members = json!({"cache_control": {"type": "ephemeral"}});
                spec.options.provider.insert("anthropic".into(), members);
            }
            Arc::new(spec)
        };
        let tools = ToolList::new((0..6).map(tool).collect());
        let body = body_of(&Anthropic::new("m"), &Request::new(&messages, &tools));
        let places: Vec<_> = marks_in(&body).into_iter().map(|(place, _)| place).collect();
        places
    };
    assert_eq!(marked(0), ["/messages/0/content/0", "/system/0", "/tools/5"]);
    assert_eq!(marked(1), ["/messages/0/content/0", "/system/0", "/tools/0"]);
    assert_eq!(marked(3), ["/messages/0/content/0", "/tools/0", "/tools/1", "/tools/2"]);
    assert_eq!(marked(4), ["/tools/0", "/tools/1", "/tools/2", "/tools/3"]);
}

#[test]
fn the_effort_of_reasoning() {
    use tool_runtime::model::ReasoningEffort::{High, Low, Max, Medium, Minimal, None as Off};
    let (messages, tools) = ([Message::user("hi")], two_tools());
    let body = |model: &Anthropic, effort, choice: &ToolChoice| {
        let settings = ModelSettings { temperature: Some(0.5), reasoning_effort: effort, ..ModelSettings::default() };
        body_of(model, &Request::new(&messages, &tools).with_settings(&settings).with_choice(choice))
    };
    let members = |body: &Value| ["thinking", "output_config", "temperature"].map(|name| body[name].clone());
    let adaptive = json!({"type": "adaptive"});
    let effort = |level: &str| json!({"effort": level});
    let none = Value::Null;
    let auto = ToolChoice::Auto;
    let model = Anthropic::new("claude-opus-5-5");
    assert_eq!(members(&body(&model, None, &auto)), [none.clone(), none.clone(), json!(0.5)]);
    assert_eq!(members(&body(&model, Some(Off), &auto)), [none.clone(), effort("low"), none.clone()]);
    for (given, level) in [(Minimal, "low"), (Low, "low"), (Medium, "medium"), (High, "high"), (Max, "max")] {
        assert_eq!(members(&body(&model, Some(given), &auto)), [adaptive.clone(), effort(level), none.clone()]);
    }
    let forced = body(&model, Some(High), &ToolChoice::Required);
    assert_eq!(members(&forced), [none.clone(), effort("high"), none.clone()], "a forced call excludes thinking");
    let sonnet = body(&Anthropic::new("claude-sonnet-4-6"), Some(Max), &auto);
    assert_eq!(sonnet["output_config"], effort("high"));
    for older in
        ["claude-haiku-4-5-20251001", "claude-sonnet-4@20250514", "claude-3-7-sonnet-latest", "deepseek-v4-pro"]
    {
        let body = body(&Anthropic::new(older), Some(High), &auto);
        assert_eq!(members(&body), [none.clone(), none.clone(), json!(0.5)], "{older}");
    }
    let shown = json!({"type": "adaptive", "display": "summarized"});
    let own = body(&model.clone().extra("thinking", shown.clone()), Some(High), &auto);
    assert_eq!(members(&own), [shown, effort("high"), none.clone()]);
    let own = body(&model.extra("output_config", effort("xhigh")), Some(Low), &auto);
    assert_eq!(members(&own), [adaptive, effort("xhigh"), none]);
}

#[test]
fn an_invalid_place_in_googles_cloud_is_named() {
    let mistake = |project: &str, location: &str| {
        let model = Anthropic::new("m").vertex(project, location);
        model.vertex.as_ref().and_then(Vertex::find_mistake).map(|error| (error.kind(), error.to_string()))
    };
    for location in ["global", "eu", "us", "europe-west1"] {
        assert_eq!(mistake("my-project_1.example.com:a", location), None, "{location}");
    }
    let invalid = ModelErrorKind::Configuration;
    for location in ["", "europe west1", "europe-west1/", "https://x"] {
        let text = format!(
            "invalid location `{location}` of Vertex AI: use `global`, `eu`, `us`, or a region such as `europe-west1`"
        );
        assert_eq!(mistake("p", location), Some((invalid, text)));
    }
    let text = "invalid project `a/b` of Vertex AI: use the id of the project, such as `my-project`";
    assert_eq!(mistake("a/b", "eu"), Some((invalid, text.to_owned())));
}

#[test]
fn vertex_has_three_forms_of_addresses() {
    let url = |location: &str| Anthropic::new("claude-opus-5-5").vertex("p", location).url();
    let path = |location| {
        format!("/v1/projects/p/locations/{location}/publishers/anthropic/models/claude-opus-5-5:streamRawPredict")
    };
    assert_eq!(url("global"), format!("https://aiplatform.googleapis.com{}", path("global")));
    assert_eq!(url("eu"), format!("https://aiplatform.eu.rep.googleapis.com{}", path("eu")));
    assert_eq!(url("us-east5"), format!("https://us-east5-aiplatform.googleapis.com{}", path("us-east5")));
    let version =
        |model: &Anthropic| body_of(model, &Request::new(&[], &ToolList::default()))["anthropic_version"].clone();
    let model = Anthropic::new("m").vertex("p", "eu").extra("anthropic_version", "ignored");
    assert_eq!(version(&model), "vertex-2023-10-16");
    assert_eq!(version(&model.version("vertex-2027")), "vertex-2027");
    assert_eq!(version(&Anthropic::new("m")), Value::Null);
}

#[test]
fn media_in_prompts_and_results() {
    let content = vec![
        Part::Image(Media::base64("image/png", "/9j/4AAQSkZJRg==")),
        Part::Image(Media::url("https://a/b")),
        Part::Document(Media::base64("application/pdf", "JVBERi0xLjc=").with_name("a.pdf")),
        Part::Document(Media::url("https://a/b.pdf")),
        Part::Audio(Media::base64("audio/wav", "AAAA")),
        Part::Image(Media::base64("image/svg+xml", "AAAA")),
    ];
    let model = Anthropic::new("m").cache(Cache::Off);
    let taken: Vec<_> = content.iter().map(|part| model.takes(part)).collect();
    assert_eq!(taken, [true, true, true, true, false, false]);
    let blocks = json!([
        {"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": "/9j/4AAQSkZJRg=="}},
        {"type": "image", "source": {"type": "url", "url": "https://a/b"}},
        {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0xLjc="}, "title": "a.pdf"},
        {"type": "document", "source": {"type": "url", "url": "https://a/b.pdf"}},
        {"type": "text", "text": "(sound, audio/wav)"},
        {"type": "text", "text": "(an image, image/svg+xml)"},
    ]);
    let call = AssistantPart::Call(ToolCall { id: "a".into(), name: "f".into(), arguments: "{}".into() });
    let messages = |is_error| {
        let result = ToolMessage { call_id: "a".into(), tool: "f".into(), content: content.clone(), is_error };
        [
            Message::User { content: content.clone() },
            Message::Assistant { content: vec![call.clone()] },
            Message::Tool(result),
        ]
    };
    let tools = ToolList::default();
    let body = |is_error| -> Value {
        let messages = messages(is_error);
        serde_json::from_slice(&request::write_body(&model, &Request::new(&messages, &tools))).unwrap()
    };
    assert_eq!(body(false)["messages"][0]["content"], blocks);
    assert_eq!(body(false)["messages"][2]["content"][0]["content"], blocks);

    // An error has only text. The rest follows it.
    let failed = body(true)["messages"][2]["content"].take();
    let kinds =
        |blocks: &Value| blocks.as_array().unwrap().iter().map(|block| block["type"].clone()).collect::<Vec<_>>();
    assert_eq!(kinds(&failed[0]["content"]), ["text"; 6]);
    assert_eq!(
        kinds(&failed),
        ["tool_result", "text", "image", "text", "image", "text", "document", "text", "document"]
    );
}
