//! From events to deltas.

use serde_json::{Value, json};

use super::tool;
use crate::{decode::Decode, openai::Decoder};
use tool_runtime::{
    message::{AssistantPart, Message, ProviderPart, ProviderPartKind, ToolCall},
    model::{Delta, FinishReason, ModelError, ModelErrorKind, Turn, Usage},
    toolset::ToolList,
};

fn decoded(events: &[&str]) -> Result<Vec<Delta>, ModelError> {
    decoded_with(&[], &ToolList::default(), events)
}

fn decoded_with(messages: &[Message], tools: &ToolList, events: &[&str]) -> Result<Vec<Delta>, ModelError> {
    let mut decoder = Decoder::new(messages, tools);
    let mut deltas = Vec::new();
    for event in events {
        deltas.extend(decoder.event(event)?);
    }
    deltas.extend(decoder.end()?);
    Ok(deltas)
}

fn turn(events: &[&str]) -> Turn {
    let mut turn = Turn::default();
    for delta in decoded(events).unwrap() {
        turn.push(delta);
    }
    turn
}

/// `(id, name, arguments)` of each call.
fn calls(events: &[&str]) -> Vec<(String, String, String)> {
    turn(events).calls().map(|call| (call.id.clone(), call.name.clone(), call.arguments.clone())).collect()
}

fn call(id: &str, name: &str, arguments: &str) -> (String, String, String) {
    (id.to_owned(), name.to_owned(), arguments.to_owned())
}

const DONE: &str = "[DONE]";
const END: &str = r#"{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}"#;

/// A chunk whose delta holds the call pieces `calls`.
fn pieces(calls: &Value) -> String {
    json!({"choices": [{"index": 0, "delta": {"tool_calls": calls}}]}).to_string()
}

#[test]
fn text_usage_and_finish() {
    let deltas = decoded(&[
        r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":""}}],"usage":null}"#,
        r#"{"choices":[{"index":0,"delta":{"content":"grün"},"finish_reason":null}]}"#,
        r#"{"choices":[{"index":1,"delta":{"content":"another answer"}}]}"#,
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
    assert_eq!(calls(&events), [call("a", "f", "{\"x\":1}"), call("b", "g", "{\"y\":2}")]);
}

#[test]
fn a_whole_call_ends_when_the_next_begins() {
    let first = pieces(&json!([{"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}}]));
    let second = pieces(&json!([{"index": 1, "id": "b", "function": {"name": "f", "arguments": "{"}}]));
    let mut decoder = Decoder::new(&[], &ToolList::default());
    decoder.event(&first).unwrap();
    assert_eq!(decoder.event(&second).unwrap()[0], Delta::CallEnd { index: 0 });
    let more = pieces(&json!([{"index": 0, "function": {"arguments": "{\"again\":1}"}}]));
    assert_eq!(decoder.event(&more).unwrap_err().kind(), ModelErrorKind::Protocol, "it may run already");
}

#[test]
fn shapes_that_servers_give_to_calls() {
    let whole = |id: Value, index: Value, name: &str, arguments: Value| json!({"id": id, "index": index, "function": {"name": name, "arguments": arguments}});
    let null = Value::Null;
    let cases = [
        (
            "no index, no id",
            vec![whole(null.clone(), null.clone(), "f", json!("{}"))],
            vec![call("call_0_0", "f", "{}")],
        ),
        (
            "no index, ids",
            vec![whole(json!("a"), null.clone(), "f", json!("{}")), whole(json!("b"), null.clone(), "f", json!("{}"))],
            vec![call("a", "f", "{}"), call("b", "f", "{}")],
        ),
        (
            "no index, the rest named by nothing",
            vec![whole(json!("a"), null.clone(), "f", json!("{\"x")), json!({"function": {"arguments": "\":1}"}})],
            vec![call("a", "f", "{\"x\":1}")],
        ),
        (
            "no index, one id for two whole calls",
            vec![whole(json!("a"), null.clone(), "f", json!("{}")), whole(json!("a"), null.clone(), "f", json!("{}"))],
            vec![call("a", "f", "{}"), call("a_2", "f", "{}")],
        ),
        (
            "one index for two whole calls (Gemini)",
            vec![whole(json!("a"), json!(0), "f", json!("{}")), whole(json!("b"), json!(0), "f", json!("{}"))],
            vec![call("a", "f", "{}"), call("b", "f", "{}")],
        ),
        (
            "id and name repeated",
            vec![whole(json!("a"), json!(0), "f", json!("{\"x\"")), whole(json!("a"), json!(0), "f", json!(":1}"))],
            vec![call("a", "f", "{\"x\":1}")],
        ),
        (
            "id changed within a call",
            vec![whole(json!("a"), json!(0), "f", json!("{\"x\"")), whole(json!("b"), json!(0), "f", json!(":1}"))],
            vec![call("a", "f", "{\"x\":1}")],
        ),
        (
            "empty id and name in the rest (Alibaba, Mistral)",
            vec![whole(json!("a"), json!(0), "f", json!("")), whole(json!(""), json!(0), "", json!("{}"))],
            vec![call("a", "f", "{}")],
        ),
        (
            "arguments as an object",
            vec![whole(json!("a"), json!(0), "f", json!({"x": [1, 2.50]}))],
            vec![call("a", "f", r#"{"x":[1,2.5]}"#)],
        ),
        ("no arguments", vec![whole(json!("a"), json!(0), "f", null.clone())], vec![call("a", "f", "")]),
    ];
    for (what, sent, expected) in cases {
        let apart: Vec<String> = sent.iter().map(|piece| pieces(&json!([piece]))).collect();
        let events: Vec<&str> = apart.iter().map(String::as_str).chain([END, DONE]).collect();
        assert_eq!(calls(&events), expected, "{what}");
        let together = pieces(&Value::Array(sent));
        assert_eq!(calls(&[&together, END, DONE]), expected, "{what}, in one chunk");
    }
}

#[test]
fn ids_of_earlier_turns_are_not_given_again() {
    let asked = AssistantPart::Call(ToolCall { id: "a".into(), name: "f".into(), arguments: "{}".into() });
    let messages = [Message::Assistant { content: vec![asked] }];
    let event = pieces(&json!([{"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}}]));
    let deltas = decoded_with(&messages, &ToolList::default(), &[&event, END]).unwrap();
    assert_eq!(deltas[0], Delta::CallStart { index: 0, id: "a_2".into(), name: "f".into() });
}

#[test]
fn the_old_function_call_and_whole_messages() {
    let old = [
        r#"{"choices":[{"delta":{"function_call":{"name":"f","arguments":"{\"x\":"}}}]}"#,
        r#"{"choices":[{"delta":{"function_call":{"arguments":"1}"}},"finish_reason":"function_call"}]}"#,
    ];
    assert_eq!(calls(&old), [call("call_0_0", "f", "{\"x\":1}")]);
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
fn what_tools_of_the_provider_found() {
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
        turn(&[&json!({"choices": [{"delta": {}, "finish_reason": reason}]}).to_string()]).finish.unwrap()
    };
    assert_eq!(of("stop"), FinishReason::Stop);
    assert_eq!(of("function_call"), FinishReason::ToolCalls);
    assert_eq!(of("length"), FinishReason::Length);
    assert_eq!(of("content_filter"), FinishReason::ContentFilter);
    assert_eq!(of("insufficient_system_resource"), FinishReason::Other("insufficient_system_resource".into()));
}

#[test]
fn a_turn_without_a_reason_does_not_run_calls() {
    let event = pieces(&json!([{"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}}]));
    let deltas = decoded(&[&event, DONE]).unwrap();
    assert_eq!(deltas.last(), Some(&Delta::Finish(FinishReason::Other("not given".into()))));
    assert!(!deltas.iter().any(|delta| matches!(delta, Delta::CallEnd { .. })));
    assert_eq!(turn(&[r#"{"choices":[{"delta":{"content":"x"}}]}"#, DONE]).finish, Some(FinishReason::Stop));
    let error = decoded(&[&event]).unwrap_err();
    assert_eq!(error.to_string(), "the provider's answer ended before the model had finished");
    assert!(error.is_transient());
}

#[test]
fn a_cut_call_is_not_ended() {
    let event = pieces(&json!([{"index": 0, "id": "a", "function": {"name": "f", "arguments": "{\"x\":"}}]));
    let deltas = decoded(&[&event, r#"{"choices":[{"delta":{},"finish_reason":"length"}]}"#, DONE]).unwrap();
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
        (
            r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}}]}"#,
            ModelErrorKind::Protocol,
        ),
    ];
    for (event, kind) in cases {
        assert_eq!(decoded(&[event]).unwrap_err().kind(), kind, "{event}");
    }
    assert!(decoded(&["{}", "", END]).is_ok(), "what says nothing is skipped");
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
        let deltas = decoded_with(&[], &tools, &[&start, &rest, END, DONE]).unwrap();
        let texts = deltas.iter().filter_map(|delta| match delta {
            Delta::CallArguments { text, .. } => Some(text.as_str()),
            _ => None,
        });
        let expected: &[&str] = if held { &["{\"x\":1}"] } else { &["{\"x\":", "1,\"y\":null}"] };
        assert_eq!(texts.collect::<Vec<_>>(), expected, "{name}");
    }
}
