//! Tests of decoding and encoding, without a network. The streams of servers are cut down to the chunks in which the servers
//! differ.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Decoder, request};
use crate::http::{
    Http,
    response::{
        Decode,
        testing::{calls, decode, turn_of},
    },
};
use crate::openai::{Api, MediaRules, MessageRules, OpenAi, calls_in_text::CallsInTextDecoder, find_provider};
use tool_runtime::{
    message::{
        AssistantPart, FinishReason, Media, Message, Part, ProviderPart, ProviderPartKind, ResourceContents, ToolCall,
        ToolMessage,
    },
    model::{
        Delta, Model, ModelError, ModelErrorKind, ModelSettings, ReasoningEffort, Request, ToolChoice, Turn, Usage,
    },
    schema::Schema,
    tool::ToolSpec,
    toolset::{ListFormat, ToolList},
};

fn tool(name: &str, is_strict: bool, parameters: Value) -> Arc<ToolSpec> {
    let mut spec = ToolSpec::new(name, format!("does {name}"), Schema::new(parameters));
    spec.options.strict = is_strict;
    Arc::new(spec)
}

#[test]
fn providers_by_their_hosts() {
    assert_eq!(find_provider("https://api.openai.com/v1"), Some("openai"));
    assert_eq!(find_provider("https://mine.openai.azure.com:443/openai/v1"), Some("azure.ai.openai"));
    assert_eq!(find_provider("https://generativelanguage.googleapis.com/v1beta/openai"), Some("gcp.gemini"));
    assert_eq!(find_provider("http://127.0.0.1:8080/v1"), None);
    assert_eq!(find_provider("https://notapi.openai.com.evil.example/v1"), None);
}

#[test]
fn rules_by_host_and_model() {
    let rules = |model: &str, url: &str| OpenAi::new(model).base_url(url).effective_message_rules();
    assert_eq!(OpenAi::new("gpt-5").effective_message_rules(), MessageRules::OpenAi);
    assert_eq!(rules("deepseek-chat", "https://api.deepseek.com"), MessageRules::OpenAi);
    assert_eq!(rules("mistral-large", "https://mine.openai.azure.com/openai/v1"), MessageRules::OpenAi);
    for strict in ["http://127.0.0.1:8080/v1", "https://openrouter.ai/api/v1", "https://api.perplexity.ai"] {
        assert_eq!(rules("any", strict), MessageRules::Strict, "{strict}");
    }
    let google = "https://generativelanguage.googleapis.com/v1beta/openai";
    assert_eq!(rules("gemini-3", google), MessageRules::Strict);
    assert_eq!(rules("any", "https://api.mistral.ai/v1"), MessageRules::Mistral);
    for model in ["mistralai/Devstral-Small-2-24B", "Mixtral-8x7B", "magistral"] {
        assert_eq!(rules(model, "http://127.0.0.1:8080/v1"), MessageRules::Mistral, "{model}");
    }
    let set = OpenAi::new("mistral").base_url("http://127.0.0.1:8080/v1").message_rules(MessageRules::OpenAi);
    assert_eq!(set.effective_message_rules(), MessageRules::OpenAi);
}

#[test]
fn arguments_that_are_no_object_are_wrapped_for_the_model() {
    let tools = ToolList::new(vec![tool("add", false, json!({"type": "array", "items": {"type": "integer"}}))]);
    let call = json!([{"index": 0, "id": "a", "function": {"name": "add", "arguments": "{\"value\":[1,2]}"}}]);
    let decoded = turn_of(decode(Decoder::new(&[], &tools), [&pieces(&call), END, DONE]).unwrap());
    assert_eq!(calls(&decoded), [("a", "add", "[1,2]")]);
    // The model sees its call again as it wrote it.
    let messages = [
        Message::user("Add 1 and 2."),
        Message::Assistant { content: decoded.content },
        Message::Tool(ToolMessage {
            call_id: "a".into(),
            tool: "add".into(),
            content: vec![Part::text("3")],
            is_error: false,
        }),
    ];
    let sent: Value =
        serde_json::from_slice(&request::write_body(&OpenAi::new("m"), &Request::new(&messages, &tools))).unwrap();
    assert_eq!(sent["messages"][1]["tool_calls"][0]["function"]["arguments"], r#"{"value":[1,2]}"#);
    assert_eq!(sent["tools"][0]["function"]["parameters"]["type"], "object");
}

fn decode_events(events: &[&str]) -> Result<Vec<Delta>, ModelError> {
    decode(Decoder::new(&[], &ToolList::default()), events)
}

fn turn(events: &[&str]) -> Turn {
    turn_of(decode_events(events).unwrap())
}

/// Decodes a response whose end the server marks.
fn decode_response(events: &[Value]) -> Result<Turn, ModelError> {
    let events = events.iter().map(Value::to_string).chain([DONE.to_owned()]);
    decode(Decoder::new(&[], &ToolList::default()), events).map(turn_of)
}

const DONE: &str = "[DONE]";
const END: &str = r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#;

/// Returns a chunk whose delta has the pieces `calls`.
fn pieces(calls: &Value) -> String {
    json!({"choices": [{"index": 0, "delta": {"tool_calls": calls}}]}).to_string()
}

#[test]
fn text_usage_and_finish() {
    let deltas = decode_events(&[
        r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":""}}],"usage":null}"#,
        r#"{"choices":[{"index":0,"delta":{"content":"grün"},"finish_reason":null}]}"#,
        r#"{"choices":[{"index":1,"delta":{"content":"another choice"}}]}"#,
        r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
        r#"{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":4,"total_tokens":13,
            "prompt_tokens_details":{"cached_tokens":8},"completion_tokens_details":{"reasoning_tokens":3}}}"#,
        DONE,
        "after the end",
    ]);
    let usage = Usage { input_tokens: 9, output_tokens: 4, cached_tokens: 8, reasoning_tokens: 3 };
    assert_eq!(deltas.unwrap(), [Delta::Text("grün".into()), Delta::Usage(usage), Delta::Finish(FinishReason::Stop)]);
}

#[test]
fn calls_in_pieces_interleaved() {
    let events = [
        pieces(&json!([{"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": ""}}])),
        pieces(&json!([{"index": 1, "id": "b", "type": "function", "function": {"name": "g", "arguments": "{\"y\""}}])),
        pieces(&json!([{"index": 0, "function": {"arguments": "{\"x\":"}}])),
        pieces(&json!([{"index": 1, "function": {"arguments": ":2}"}}, {"index": 0, "function": {"arguments": "1}"}}])),
        END.to_owned(),
        DONE.to_owned(),
    ];
    let events: Vec<&str> = events.iter().map(String::as_str).collect();
    assert_eq!(calls(&turn(&events)), [("a", "f", "{\"x\":1}"), ("b", "g", "{\"y\":2}")]);
}

#[test]
fn a_whole_call_ends_when_the_next_begins() {
    let first = pieces(&json!([{"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}}]));
    let second = pieces(&json!([{"index": 1, "id": "b", "function": {"name": "f", "arguments": "{"}}]));
    let mut decoder = Decoder::new(&[], &ToolList::default());
    decoder.decode_event(&first).unwrap();
    assert_eq!(decoder.decode_event(&second).unwrap()[0], Delta::CallEnd { index: 0 });
    let more = pieces(&json!([{"index": 0, "function": {"arguments": "{\"again\":1}"}}]));
    assert_eq!(decoder.decode_event(&more).unwrap_err().kind(), ModelErrorKind::Protocol, "the call may already run");
}

#[test]
fn shapes_that_servers_give_to_calls() {
    let whole = |id: Value, index: Value, name: &str, arguments: Value| json!({"id": id, "index": index, "function": {"name": name, "arguments": arguments}});
    let null = Value::Null;
    let cases = [
        ("no index, no id", vec![whole(null.clone(), null.clone(), "f", json!("{}"))], vec![("call_0_0", "f", "{}")]),
        (
            "no index, ids",
            vec![whole(json!("a"), null.clone(), "f", json!("{}")), whole(json!("b"), null.clone(), "f", json!("{}"))],
            vec![("a", "f", "{}"), ("b", "f", "{}")],
        ),
        (
            "no index, the rest named by nothing",
            vec![whole(json!("a"), null.clone(), "f", json!("{\"x")), json!({"function": {"arguments": "\":1}"}})],
            vec![("a", "f", "{\"x\":1}")],
        ),
        (
            "no index, one id for two whole calls",
            vec![whole(json!("a"), null.clone(), "f", json!("{}")), whole(json!("a"), null.clone(), "f", json!("{}"))],
            vec![("a", "f", "{}"), ("a_2", "f", "{}")],
        ),
        (
            "one index for two whole calls (Gemini)",
            vec![whole(json!("a"), json!(0), "f", json!("{}")), whole(json!("b"), json!(0), "f", json!("{}"))],
            vec![("a", "f", "{}"), ("b", "f", "{}")],
        ),
        (
            "id and name repeated",
            vec![whole(json!("a"), json!(0), "f", json!("{\"x\"")), whole(json!("a"), json!(0), "f", json!(":1}"))],
            vec![("a", "f", "{\"x\":1}")],
        ),
        (
            "id changed within a call",
            vec![whole(json!("a"), json!(0), "f", json!("{\"x\"")), whole(json!("b"), json!(0), "f", json!(":1}"))],
            vec![("a", "f", "{\"x\":1}")],
        ),
        (
            "empty id and name in the rest (Alibaba, Mistral)",
            vec![whole(json!("a"), json!(0), "f", json!("")), whole(json!(""), json!(0), "", json!("{}"))],
            vec![("a", "f", "{}")],
        ),
        (
            "arguments as an object",
            vec![whole(json!("a"), json!(0), "f", json!({"x": [1, 2.50]}))],
            vec![("a", "f", r#"{"x":[1,2.5]}"#)],
        ),
        ("no arguments", vec![whole(json!("a"), json!(0), "f", null.clone())], vec![("a", "f", "")]),
    ];
    for (what, sent, expected) in cases {
        let apart: Vec<String> = sent.iter().map(|piece| pieces(&json!([piece]))).collect();
        let events: Vec<&str> = apart.iter().map(String::as_str).chain([END, DONE]).collect();
        assert_eq!(calls(&turn(&events)), expected, "{what}");
        let together = pieces(&Value::Array(sent));
        assert_eq!(calls(&turn(&[&together, END, DONE])), expected, "{what}, in one chunk");
    }
}

#[test]
fn ids_of_earlier_turns_are_not_given_again() {
    let asked = AssistantPart::Call(ToolCall { id: "a".into(), name: "f".into(), arguments: "{}".into() });
    let messages = [Message::Assistant { content: vec![asked] }];
    let event = pieces(&json!([{"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}}]));
    let deltas = decode(Decoder::new(&messages, &ToolList::default()), [&event, END]).unwrap();
    assert_eq!(deltas[0], Delta::CallStart { index: 0, id: "a_2".into(), name: "f".into() });
}

#[test]
fn the_old_function_call_and_whole_messages() {
    let old = [
        r#"{"choices":[{"delta":{"function_call":{"name":"f","arguments":"{\"x\":"}}}]}"#,
        r#"{"choices":[{"delta":{"function_call":{"arguments":"1}"}},"finish_reason":"function_call"}]}"#,
    ];
    assert_eq!(calls(&turn(&old)), [("call_0_0", "f", "{\"x\":1}")]);
    assert_eq!(turn(&old).finish, Some(FinishReason::ToolCalls));
    let unstreamed = turn(&[r#"{"object":"chat.completion","choices":[{"message":{"content":"hi","tool_calls":[
        {"id":"a","function":{"name":"f","arguments":"{}"}},{"id":"b","function":{"name":"f","arguments":"{}"}}]},
        "finish_reason":"stop"}]}"#]);
    assert_eq!((unstreamed.text().as_str(), unstreamed.calls().count()), ("hi", 2));
    assert_eq!(unstreamed.finish, Some(FinishReason::Stop));
}

#[test]
fn reasoning_and_contents_in_parts() {
    let events = [
        r#"{"choices":[{"delta":{"reasoning_content":"a"}}]}"#,
        r#"{"choices":[{"delta":{"reasoning":"b"}}]}"#,
        r#"{"choices":[{"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"c"}]}]}}]}"#,
        r#"{"choices":[{"delta":{"content":[{"type":"text","text":"d"},{"type":"reference","reference_ids":[1]}]}}]}"#,
        r#"{"choices":[{"delta":{"refusal":"e"},"finish_reason":"stop"}]}"#,
    ];
    let content = turn(&events).content;
    let reasoning = AssistantPart::Reasoning { text: "abc".into(), signature: None };
    assert_eq!(content, [reasoning, AssistantPart::Text { text: "de".into() }]);
}

#[test]
fn results_of_the_providers_tools() {
    let cited = r#"{"type":"url_citation","url_citation":{"url":"https://example.org","title":""}}"#;
    let events = [
        r#"{"choices":[{"delta":{"content":"It is "}}]}"#,
        &format!(r#"{{"choices":[{{"delta":{{"content":"","annotations":[{cited},7]}}}}]}}"#),
        r#"{"choices":[{"delta":{"content":"so.","annotations":null},"finish_reason":"stop"}]}"#,
    ];
    let found = ProviderPart::new("openai", "", "url_citation", ProviderPartKind::Result, cited);
    assert_eq!(turn(&events).content[1], AssistantPart::Provider(found));
    assert_eq!(turn(&events).text(), "It is so.");
}

#[test]
fn reasons_to_finish() {
    let of = |reason: &str| {
        turn(&[&json!({"choices": [{"delta": {"content": "x"}, "finish_reason": reason}]}).to_string()]).finish.unwrap()
    };
    assert_eq!(of("stop"), FinishReason::Stop);
    assert_eq!(of("function_call"), FinishReason::ToolCalls);
    assert_eq!(of("length"), FinishReason::Length);
    assert_eq!(of("content_filter"), FinishReason::ContentFilter);
    assert_eq!(of("a_new_one"), FinishReason::Other("a_new_one".into()));
    let refused = turn(&[r#"{"choices":[{"delta":{"refusal":"No."},"finish_reason":"stop"}],"usage":[]}"#]);
    assert_eq!((refused.text().as_str(), refused.finish), ("No.", Some(FinishReason::ContentFilter)));
}

#[test]
fn a_turn_without_a_reason_needs_its_end() {
    let event = pieces(&json!([{"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}}]));
    let deltas = decode_events(&[&event, DONE]).unwrap();
    assert_eq!(deltas.last(), Some(&Delta::Finish(FinishReason::ToolCalls)));
    assert_eq!(turn(&[r#"{"choices":[{"delta":{"content":"x"}}]}"#, DONE]).finish, Some(FinishReason::Stop));
    let open = pieces(&json!([{"index": 0, "id": "a", "function": {"name": "f", "arguments": "{"}}]));
    for cut in [vec![event.as_str()], vec![open.as_str(), DONE]] {
        let error = decode_events(&cut).unwrap_err();
        assert_eq!(error.to_string(), "the provider's response ended before the model had finished");
        assert!(error.is_transient());
    }
}

#[test]
fn a_cut_call_is_not_ended() {
    let event = pieces(&json!([{"index": 0, "id": "a", "function": {"name": "f", "arguments": "{\"x\":"}}]));
    let deltas = decode_events(&[&event, r#"{"choices":[{"delta":{},"finish_reason":"length"}]}"#, DONE]).unwrap();
    assert!(!deltas.iter().any(|delta| matches!(delta, Delta::CallEnd { .. })), "{deltas:?}");
}

#[test]
fn errors_in_the_stream() {
    let cases = [
        (r#"{"error":{"message":"slow down","code":"rate_limit_exceeded"}}"#, ModelErrorKind::RateLimited),
        (
            r#"{"error":{"message":"boom","code":502},"choices":[{"delta":{},"finish_reason":"error"}]}"#,
            ModelErrorKind::Unavailable,
        ),
        (r#"{"object":"error","message":"too long","code":400}"#, ModelErrorKind::Refused),
        (r#"{"choices": 3}"#, ModelErrorKind::Protocol),
        ("<html>", ModelErrorKind::Protocol),
    ];
    for (event, kind) in cases {
        assert_eq!(decode_events(&[event]).unwrap_err().kind(), kind, "{event}");
    }
    let text = r#"{"choices":[{"delta":{"content":"x"}}]}"#;
    assert!(decode_events(&["{}", "", text, END]).is_ok(), "an event without content is skipped");
}

#[test]
fn calls_of_strict_tools_with_optional_parameters_are_held_back() {
    let all = json!({"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]});
    let some = json!({"type": "object", "properties": {"x": {"type": "integer"}, "y": {"type": "integer"}}, "required": ["x"]});
    let tools =
        ToolList::new(vec![tool("all", true, all), tool("some", true, some.clone()), tool("loose", false, some)]);
    for (name, held) in [("all", false), ("some", true), ("loose", false)] {
        let start = pieces(&json!([{"index": 0, "id": "a", "function": {"name": name, "arguments": "{\"x\":"}}]));
        let rest = pieces(&json!([{"index": 0, "function": {"arguments": "1,\"y\":null}"}}]));
        let deltas = decode(Decoder::new(&[], &tools), [&start, &rest, END, DONE]).unwrap();
        let texts = deltas.iter().filter_map(|delta| match delta {
            Delta::CallArguments { text, .. } => Some(text.as_str()),
            _ => None,
        });
        let expected: &[&str] = if held { &["{\"x\":1}"] } else { &["{\"x\":", "1,\"y\":null}"] };
        assert_eq!(texts.collect::<Vec<_>>(), expected, "{name}");
    }
}

fn request_body(model: &OpenAi, request: Request<'_>) -> Value {
    serde_json::from_slice(&request::write_body(model, &request)).unwrap()
}

#[test]
fn a_conversation_as_a_request() {
    let image = Part::Image(Media::base64("image/png", "iVBORw0KGgo="));
    let sound = Part::Audio(Media::base64("audio/wav", "AAAA"));
    let file = |uri: &str, contents| Part::Resource { uri: uri.into(), media_type: None, contents };
    let bytes = ResourceContents::Base64("AAAA".into());
    let result = |id: &str, content: Vec<Part>, is_error| {
        Message::Tool(ToolMessage { call_id: id.into(), tool: "f".into(), content, is_error })
    };
    let asked = |id: &str, arguments: &str| {
        AssistantPart::Call(ToolCall { id: id.into(), name: "f".into(), arguments: arguments.into() })
    };
    let thought = AssistantPart::Reasoning { text: "hm".into(), signature: None };
    let messages = [
        Message::system("be brief"),
        Message::User { content: vec![Part::text("what is this?"), image.clone()] },
        Message::Assistant {
            content: vec![
                thought,
                asked("a", "{\"x\":1}"),
                asked("b", ""),
                asked("c", "{oops"),
                asked("d", "{}"),
                asked("e", "{}"),
                asked("f", "{}"),
                asked("g", "{}"),
            ],
        },
        result("a", vec![image], false),
        result("b", vec![Part::text("no disk")], true),
        result("c", vec![Part::Json { json: "{\"ok\":false}".into() }], true),
        result(
            "d",
            vec![sound, file("file:///a", ResourceContents::Text("A".into())), file("file:///b", bytes)],
            false,
        ),
        // A failure is known from the result, not from its text.
        result("e", vec![Part::text("errors: 0, then the disk was full")], true),
        result("f", vec![Part::Json { json: "{\"items\":[]}".into() }], true),
        result("g", vec![Part::text("error: is a word that a page may contain")], false),
        Message::user("go on"),
    ];
    let tools = ToolList::new(vec![tool("f", false, json!({"type": "object"}))]);
    let settings = ModelSettings {
        max_tokens: Some(7),
        temperature: Some(0.5),
        allow_parallel_calls: Some(false),
        ..ModelSettings::default()
    };
    let choice = ToolChoice::Tool("f".into());
    let request = Request::new(&messages, &tools).with_settings(&settings).with_choice(&choice);
    let model = OpenAi::new("m").base_url("http://localhost/v1").extra("seed", 1).extra("model", "no");
    let call = |id: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": "f", "arguments": arguments}});
    let url = "data:image/png;base64,iVBORw0KGgo=";
    let picture = json!({"type": "image_url", "image_url": {"url": url}});
    assert_eq!(
        request_body(&model, request),
        json!({
            "model": "m",
            "messages": [
                {"role": "system", "content": "be brief"},
                {"role": "user", "content": [{"type": "text", "text": "what is this?"}, picture]},
                {"role": "assistant", "content": null, "tool_calls":
                    [call("a", "{\"x\":1}"), call("b", "{}"), call("c", "{\"INVALID_JSON\":\"{oops\"}"), call("d", "{}"),
                    call("e", "{}"), call("f", "{}"), call("g", "{}")]},
                {"role": "tool", "tool_call_id": "a", "content": "(an image, shown below)"},
                {"role": "tool", "tool_call_id": "b", "content": "error: no disk"},
                {"role": "tool", "tool_call_id": "c", "content": "{\"ok\":false}"},
                {"role": "tool", "tool_call_id": "d",
                    "content": "(sound, audio/wav)\nA\n(a file, file:///b)"},
                {"role": "tool", "tool_call_id": "e", "content": "error: errors: 0, then the disk was full"},
                {"role": "tool", "tool_call_id": "f", "content": "error: {\"items\":[]}"},
                {"role": "tool", "tool_call_id": "g", "content": "error: is a word that a page may contain"},
                {"role": "assistant", "content": "OK."},
                {"role": "user", "content": [{"type": "text", "text": "The image that `f` gave for call a:"}, picture,
                    {"type": "text", "text": "go on"}]},
            ],
            "tools": serde_json::from_str::<Value>(tools.json(ListFormat::OpenAi).get()).unwrap(),
            "tool_choice": {"type": "function", "function": {"name": "f"}},
            "parallel_tool_calls": false,
            "max_tokens": 7,
            "temperature": 0.5,
            "stream": true,
            "stream_options": {"include_usage": true},
            "seed": 1,
        })
    );
}

#[test]
fn unset_options_are_not_sent() {
    let messages = [
        Message::user("hi"),
        Message::Assistant {
            content: vec![
                AssistantPart::Reasoning { text: "hm".into(), signature: None },
                AssistantPart::Text { text: "Hi.".into() },
            ],
        },
        Message::user("go on"),
    ];
    let (tools, choice) = (ToolList::default(), ToolChoice::Required);
    let settings = ModelSettings { max_tokens: Some(7), allow_parallel_calls: Some(true), ..ModelSettings::default() };
    let request = Request::new(&messages, &tools).with_settings(&settings).with_choice(&choice);
    assert_eq!(
        request_body(&OpenAi::new("m").request_usage(false).send_reasoning(true), request),
        json!({
            "model": "m",
            "messages": [
                {"role": "user", "content": "hi"},
                {"role": "assistant", "content": "Hi.", "reasoning_content": "hm"},
                {"role": "user", "content": "go on"},
            ],
            "max_completion_tokens": 7,
            "stream": true,
        })
    );
}

#[test]
fn settings_limit_a_turn_before_the_model_does() {
    let (messages, tools, settings) =
        ([], ToolList::default(), ModelSettings { max_tokens: Some(7), ..ModelSettings::default() });
    let model = OpenAi::new("m").base_url("http://localhost/v1").max_tokens(512);
    let request = Request::new(&messages, &tools);
    assert_eq!(request_body(&model, request)["max_tokens"], 512);
    assert_eq!(request_body(&model, request.with_settings(&settings))["max_tokens"], 7);
}

#[test]
fn the_key_is_not_shown() {
    let model = OpenAi::new("m").api_key("sk-secret").http(Http::new().header("x-key", "sk-other"));
    let shown = format!("{model:?}");
    assert!(!shown.contains("sk-"), "{shown}");
}

fn delta(delta: &Value, reason: &Value) -> Value {
    json!({"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})
}

#[test]
fn ollama() {
    // Ollama up to 0.6 sent the index 0 for every call, and the reason "stop".
    let call = |id: &str, index: u32, city: &str| {
        json!({"id": id, "index": index, "type": "function",
        "function": {"name": "weather", "arguments": json!({"city": city}).to_string()}})
    };
    let turn = decode_response(&[
        delta(&json!({"role": "assistant", "content": "", "tool_calls": [call("call_a1", 0, "Oslo")]}), &Value::Null),
        delta(&json!({"role": "assistant", "content": "", "tool_calls": [call("call_b2", 0, "Rome")]}), &Value::Null),
        delta(&json!({"role": "assistant", "content": ""}), &json!("stop")),
        json!({"model": "qwen3", "choices": [], "usage": {"prompt_tokens": 170, "completion_tokens": 41, "total_tokens": 211}}),
    ])
    .unwrap();
    let expected = [("call_a1", "weather", "{\"city\":\"Oslo\"}"), ("call_b2", "weather", "{\"city\":\"Rome\"}")];
    assert_eq!(calls(&turn), expected);
    assert_eq!(turn.finish, Some(FinishReason::Stop));
    assert_eq!(turn.usage, Usage { input_tokens: 170, output_tokens: 41, ..Usage::default() });

    let turn = decode_response(&[
        delta(&json!({"role": "assistant", "content": "", "reasoning": "Two "}), &Value::Null),
        delta(&json!({"role": "assistant", "content": "", "reasoning": "cities."}), &Value::Null),
        delta(
            &json!({"role": "assistant", "content": "", "tool_calls": [call("a", 0, "Oslo"), call("b", 1, "Rome")]}),
            &json!("tool_calls"),
        ),
    ])
    .unwrap();
    assert_eq!(calls(&turn).len(), 2);
    assert_eq!(turn.content[0], AssistantPart::Reasoning { text: "Two cities.".into(), signature: None });

    let gone =
        decode_response(&[json!({"error": {"message": "model runner has unexpectedly stopped", "type": "api_error"}})]);
    assert_eq!(
        gone.unwrap_err().to_string(),
        "the provider reported an error during the stream: model runner has unexpectedly stopped"
    );
}

#[test]
fn llama_cpp() {
    let turn = decode_response(&[
        delta(&json!({"role": "assistant", "content": null}), &Value::Null),
        delta(
            &json!({"tool_calls": [{"index": 0, "id": "QzV1", "type": "function", "function": {"name": "weather", "arguments": "{"}}]}),
            &Value::Null,
        ),
        delta(&json!({"tool_calls": [{"index": 0, "function": {"arguments": "\"city\":"}}]}), &Value::Null),
        delta(&json!({"tool_calls": [{"index": 0, "function": {"arguments": "\"Oslo\"}"}}]}), &Value::Null),
        delta(&json!({}), &json!("tool_calls")),
        json!({"choices": [], "usage": {"completion_tokens": 9, "prompt_tokens": 30, "total_tokens": 39},
               "timings": {"prompt_n": 30, "predicted_per_second": 12.5}}),
    ])
    .unwrap();
    assert_eq!(calls(&turn), [("QzV1", "weather", "{\"city\":\"Oslo\"}")]);
    assert_eq!((turn.finish, turn.usage.output_tokens), (Some(FinishReason::ToolCalls), 9));

    let full = json!({"error": {"code": 400, "message": "request (9000 tokens) exceeds the available context size",
        "type": "exceed_context_size_error", "n_prompt_tokens": 9000, "n_ctx": 4096}});
    let error = decode_response(&[full]).unwrap_err();
    assert_eq!(error.kind(), ModelErrorKind::Refused);
    assert!(error.to_string().contains("exceeds the available context size"), "{error}");
}

#[test]
fn vllm() {
    let usage = Value::Null;
    let chunk = |inner: &Value, reason: &Value| {
        json!({"id": "chatcmpl-7", "object": "chat.completion.chunk", "model": "m", "usage": usage,
        "choices": [{"index": 0, "delta": inner, "logprobs": null, "finish_reason": reason, "stop_reason": null, "token_ids": null}]})
    };
    let turn = decode_response(&[
        chunk(&json!({"role": "assistant", "content": "", "reasoning_content": null, "tool_calls": null}), &Value::Null),
        chunk(&json!({"reasoning_content": "Hm."}), &Value::Null),
        chunk(&json!({"tool_calls": [{"id": "chatcmpl-tool-1", "type": "function", "index": 0, "function": {"name": "weather"}}]}), &Value::Null),
        chunk(&json!({"tool_calls": [{"index": 0, "function": {"arguments": "{\"city\": "}}]}), &Value::Null),
        chunk(&json!({"tool_calls": [{"index": 0, "function": {"arguments": "\"Oslo\"}"}}]}), &Value::Null),
        chunk(&json!({"content": "", "tool_calls": []}), &json!("tool_calls")),
    ])
    .unwrap();
    assert_eq!(calls(&turn), [("chatcmpl-tool-1", "weather", "{\"city\": \"Oslo\"}")]);

    // If the request's tool choice names the tool, the call has no type, and the reason is "stop".
    let turn = decode_response(&[
        chunk(&json!({"role": "assistant", "content": ""}), &Value::Null),
        chunk(&json!({"tool_calls": [{"index": 0, "id": "t", "function": {"name": "weather", "arguments": "{\"city\":\"Oslo\"}"}}]}), &Value::Null),
        chunk(&json!({"content": ""}), &json!("stop")),
    ])
    .unwrap();
    assert_eq!((calls(&turn).len(), turn.finish), (1, Some(FinishReason::Stop)));

    let message = "\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set";
    let error =
        decode_response(&[json!({"object": "error", "message": message, "type": "BadRequestError", "code": 400})]);
    assert!(error.unwrap_err().to_string().contains("--enable-auto-tool-choice"), "the error states what to do");
}

#[test]
fn a_call_that_is_repeated_at_the_end_is_one_call() {
    let first = json!({"index": 0, "id": "a", "function": {"name": "weather", "arguments": "{\"city\":"}});
    let rest = json!({"index": 0, "function": {"arguments": "\"Oslo\"}"}});
    let whole = json!({"index": 0, "id": "a", "function": {"name": "weather", "arguments": "{\"city\":\"Oslo\"}"}});
    let unnamed = json!({"index": 0, "function": {"arguments": "{\"city\":\"Oslo\"}"}});
    for again in [whole, unnamed] {
        let events = [&first, &rest, &again].map(|piece| delta(&json!({"tool_calls": [piece]}), &Value::Null));
        let end = delta(&json!({}), &json!("tool_calls"));
        let turn = decode_response(&[events.as_slice(), &[end]].concat()).unwrap();
        assert_eq!(calls(&turn), [("a", "weather", "{\"city\":\"Oslo\"}")], "{again}");
    }
    // A piece that only looks like a repetition continues the call.
    let nested = [
        json!({"index": 0, "id": "a", "function": {"name": "f", "arguments": "{\"a\":"}}),
        json!({"index": 0, "function": {"arguments": "{\"a\":"}}),
        json!({"index": 0, "function": {"arguments": "1}}"}}),
    ];
    let events = nested.map(|piece| delta(&json!({"tool_calls": [piece]}), &Value::Null));
    let end = delta(&json!({}), &json!("tool_calls"));
    assert_eq!(calls(&decode_response(&[events.as_slice(), &[end]].concat()).unwrap())[0].2, "{\"a\":{\"a\":1}}");
}

#[test]
fn gemini() {
    let call = |city: &str, more: Value| {
        let mut call = json!({"id": "", "index": 0, "type": "function",
            "function": {"name": "weather", "arguments": json!({"city": city}).to_string()}});
        if let (Some(call), Value::Object(more)) = (call.as_object_mut(), more) {
            call.extend(more);
        }
        call
    };
    let signature = json!({"extra_content": {"google": {"thought_signature": "c2VhbA=="}}});
    // Gemini sends each call as a whole, all with one index and without an id.
    let turn = decode_response(&[
        delta(&json!({"role": "assistant", "tool_calls": [call("Oslo", signature)]}), &Value::Null),
        delta(&json!({"role": "assistant", "tool_calls": [call("Rome", Value::Null)]}), &json!("tool_calls")),
    ])
    .unwrap();
    assert_eq!(
        calls(&turn).iter().map(|call| call.2).collect::<Vec<_>>(),
        ["{\"city\":\"Oslo\"}", "{\"city\":\"Rome\"}"]
    );
    let ids: Vec<&str> = turn.calls().map(|call| call.id.as_str()).collect();
    assert!(ids[0] != ids[1] && ids.iter().all(|id| !id.is_empty()), "{ids:?}");

    // Only requests to Gemini contain the signature, with its call.
    let messages = [Message::user("hi"), Message::Assistant { content: turn.content }];
    let tools = ToolList::new(vec![tool("weather", false, json!({"type": "object"}))]);
    let sent = |url: &str| {
        let body = request::write_body(&OpenAi::new("m").base_url(url), &Request::new(&messages, &tools));
        serde_json::from_slice::<Value>(&body).unwrap()["messages"][1]["tool_calls"].clone()
    };
    let back = sent("https://generativelanguage.googleapis.com/v1beta/openai");
    assert_eq!(back[0]["extra_content"], json!({"google": {"thought_signature": "c2VhbA=="}}));
    assert_eq!(back[1].get("extra_content"), None);
    assert_eq!(sent("http://127.0.0.1:8080/v1")[0].get("extra_content"), None);
}

/// Decodes a text that arrives in `pieces`.
fn decode_text(pieces: &[&str], reason: &str, is_enabled: bool) -> (Vec<Delta>, Turn) {
    let tools = ToolList::new(vec![tool("weather", false, json!({"type": "object"}))]);
    let piece = |piece: &&str| json!({"choices": [{"index": 0, "delta": {"content": piece}, "finish_reason": null}]});
    let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]});
    let events = pieces.iter().map(piece).chain([end]).map(|event| event.to_string()).chain([DONE.to_owned()]);
    let deltas = if is_enabled {
        decode(CallsInTextDecoder::new(Decoder::new(&[], &tools), &[], &tools), events).unwrap()
    } else {
        decode(Decoder::new(&[], &tools), events).unwrap()
    };
    let turn = turn_of(deltas.clone());
    (deltas, turn)
}

#[test]
fn the_json_of_a_call_is_a_call() {
    let call = r#"{"name": "weather", "arguments": {"city": "Oslo"}}"#;
    let llama = r#"{"name":"weather","parameters":{"city": "Oslo"}}"#;
    let all = [
        call.to_owned(),
        llama.to_owned(),
        format!("```json\n{call}\n```"),
        format!("\n<tool_call>\n{call}\n</tool_call>\n"),
    ];
    for text in all {
        let pieces: Vec<String> = text.chars().map(String::from).collect();
        let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
        let (_, turn) = decode_text(&pieces, "stop", true);
        assert_eq!(calls(&turn), [("call_0_0", "weather", r#"{"city": "Oslo"}"#)], "{text}");
        assert_eq!((turn.finish.clone(), turn.text()), (Some(FinishReason::ToolCalls), String::new()), "{text}");
        assert_eq!(
            decode_text(&pieces, "stop", false).1.text(),
            text,
            "the decoder must convert text only if it is enabled"
        );
        assert_eq!(decode_text(&pieces, "length", true).1.text(), text, "a cut turn must stay text");
    }
}

#[test]
fn everything_else_is_text() {
    for text in [
        "It is warm.",
        "{\"city\": \"Oslo\"}",
        "{\"name\": \"delete\", \"arguments\": {}}",
        "{\"name\": \"weather\", \"arguments\": \"Oslo\"}",
        "{\"name\": \"weather\", \"arguments\": {}, \"because\": 1}",
        "{\"name\": \"weather\", \"arguments\": {}} is how you call it",
        "```json\n{}\n```",
        "{",
    ] {
        let (_, turn) = decode_text(&[text], "stop", true);
        assert_eq!((turn.text().as_str(), turn.calls().count()), (text, 0));
        assert_eq!(turn.finish, Some(FinishReason::Stop));
    }
    let (deltas, _) = decode_text(&["It ", "is"], "stop", true);
    assert_eq!(deltas[0], Delta::Text("It ".into()), "the decoder must not hold back text that cannot be a call");
}

#[test]
fn the_effort_of_reasoning_unless_the_application_sets_it() {
    let settings = ModelSettings { reasoning_effort: Some(ReasoningEffort::High), ..ModelSettings::default() };
    let tools = ToolList::default();
    let request = Request::new(&[], &tools).with_settings(&settings);
    let model = OpenAi::new("m").base_url("https://api.deepseek.com");
    assert_eq!(request_body(&model, request)["reasoning_effort"], "high");
    assert_eq!(request_body(&model.extra("reasoning_effort", "own"), request)["reasoning_effort"], "own");
    let settings = ModelSettings { temperature: Some(0.5), ..settings };
    let temperature = |model: &OpenAi, settings: &ModelSettings| {
        let body = request_body(&model.clone().api(Api::Chat), Request::new(&[], &tools).with_settings(settings));
        body.get("temperature").is_some()
    };
    let without = ModelSettings { reasoning_effort: Some(ReasoningEffort::None), ..settings };
    let models =
        [OpenAi::new("gpt-5.6-sol"), OpenAi::new("gpt-4.1"), OpenAi::new("m").base_url("https://api.deepseek.com")];
    assert_eq!(models.each_ref().map(|model| temperature(model, &settings)), [false, true, true]);
    assert!(temperature(&models[0], &without));
}

#[test]
fn media_by_host_and_setting() {
    let parts = [
        Part::Image(Media::base64("image/png", "/9j/4AAQSkZJRg==")),
        Part::Image(Media::url("https://a/b")),
        Part::Document(Media::base64("application/pdf", "JVBERi0xLjc=").with_name("a.pdf")),
        Part::Document(Media::url("https://a/b.pdf")),
        Part::Audio(Media::base64("audio/mpeg", "SUQzBA==")),
        Part::Audio(Media::base64("audio/ogg", "T2dnUw==")),
    ];
    let sent = |model: &OpenAi| {
        let tools = ToolList::default();
        let prompt = |part: &Part| [Message::User { content: vec![part.clone(), Part::text("?")] }];
        parts.each_ref().map(|part| {
            let content = request_body(model, Request::new(&prompt(part), &tools))["messages"][0]["content"].take();
            let is_taken = content.is_array();
            assert_eq!(is_taken, model.takes(part), "{part:?}");
            is_taken.then(|| content[0].clone())
        })
    };
    let image = |url: &str| Some(json!({"type": "image_url", "image_url": {"url": url}}));
    let (bytes, address) = (image("data:image/jpeg;base64,/9j/4AAQSkZJRg=="), image("https://a/b"));
    let file = Some(json!({"type": "file", "file":
        {"filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERi0xLjc="}}));
    let sound = Some(json!({"type": "input_audio", "input_audio": {"data": "SUQzBA==", "format": "mp3"}}));

    let at = |url: &str| OpenAi::new("m").base_url(url);
    assert_eq!(
        sent(&OpenAi::new("gpt-5.2").api(Api::Chat)),
        [bytes.clone(), address.clone(), file.clone(), None, None, None]
    );
    assert_eq!(sent(&OpenAi::new("gpt-audio").api(Api::Chat))[4], sound);
    let azure = at("https://a.openai.azure.com/openai/v1");
    assert_eq!(sent(&azure), [bytes.clone(), address.clone(), None, None, None, None]);
    let gemini = at("https://generativelanguage.googleapis.com/v1beta/openai");
    assert_eq!(sent(&gemini), [bytes.clone(), None, None, None, sound.clone(), None]);
    assert_eq!(sent(&at("https://api.deepseek.com")), [None, None, None, None, None, None]);
    assert_eq!(
        sent(&at("https://openrouter.ai/api/v1")),
        [bytes.clone(), address, file.clone(), None, sound.clone(), None]
    );
    assert_eq!(sent(&at("http://localhost:8080/v1")), [bytes, None, None, None, None, None]);
    let rules = MediaRules { sound: true, documents: true, ..MediaRules::default() };
    assert_eq!(sent(&at("http://localhost/v1").media_rules(rules)), [None, None, file, None, sound, None]);
}

#[test]
fn files_of_a_result_follow_it() {
    let file = Part::Resource {
        uri: "file:///a.pdf".into(),
        media_type: None,
        contents: ResourceContents::Base64("JVBERi0xLjc=".into()),
    };
    let table = Part::Document(Media::base64("text/csv", "YSxi").with_name("a.csv"));
    let messages = [
        Message::user("go"),
        Message::Assistant {
            content: vec![AssistantPart::Call(ToolCall { id: "a".into(), name: "f".into(), arguments: "{}".into() })],
        },
        Message::Tool(ToolMessage {
            call_id: "a".into(),
            tool: "f".into(),
            content: vec![file, table],
            is_error: false,
        }),
    ];
    let body = request_body(&OpenAi::new("m").api(Api::Chat), Request::new(&messages, &ToolList::default()));
    assert_eq!(body["messages"][2]["content"], "(a document, shown below)\na.csv:\n\na,b");
    assert_eq!(
        body["messages"][3]["content"],
        json!([{"type": "text", "text": "The document that `f` gave for call a:"}, {"type": "file", "file":
            {"filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERi0xLjc="}}])
    );
}
