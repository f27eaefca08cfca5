//! Streams as local servers and Gemini send them: the first chunks of the two kinds of answer, a text and calls, cut
//! down to what tells them apart.

use serde_json::{Value, json};

use super::tool;
use crate::{
    decode::Decode,
    openai::{Decoder, OpenAi, request},
};
use tool_runtime::{
    message::{AssistantPart, FinishReason, Message},
    model::{Delta, ModelError, ModelErrorKind, Request, Turn, Usage},
    toolset::ToolList,
};

fn decoded(events: &[Value]) -> Result<Turn, ModelError> {
    let mut decoder = Decoder::new(&[], &ToolList::default());
    let mut turn = Turn::default();
    let mut take = |deltas: Vec<Delta>| deltas.into_iter().for_each(|delta| turn.push(delta));
    for event in events {
        take(decoder.event(&event.to_string())?);
    }
    take(decoder.event("[DONE]")?);
    take(decoder.end()?);
    Ok(turn)
}

fn calls(turn: &Turn) -> Vec<(&str, &str, &str)> {
    turn.calls().map(|call| (call.id.as_str(), call.name.as_str(), call.arguments.as_str())).collect()
}

fn delta(delta: &Value, reason: &Value) -> Value {
    json!({"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})
}

#[test]
fn ollama() {
    // Up to 0.6 every call had the index 0, and the reason was "stop".
    let call = |id: &str, index: u32, city: &str| {
        json!({"id": id, "index": index, "type": "function",
        "function": {"name": "weather", "arguments": json!({"city": city}).to_string()}})
    };
    let turn = decoded(&[
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

    let turn = decoded(&[
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

    let gone = decoded(&[json!({"error": {"message": "model runner has unexpectedly stopped", "type": "api_error"}})]);
    assert_eq!(gone.unwrap_err().to_string(), "the provider broke off: model runner has unexpectedly stopped");
}

#[test]
fn llama_cpp() {
    let turn = decoded(&[
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
    let error = decoded(&[full]).unwrap_err();
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
    let turn = decoded(&[
        chunk(&json!({"role": "assistant", "content": "", "reasoning_content": null, "tool_calls": null}), &Value::Null),
        chunk(&json!({"reasoning_content": "Hm."}), &Value::Null),
        chunk(&json!({"tool_calls": [{"id": "chatcmpl-tool-1", "type": "function", "index": 0, "function": {"name": "weather"}}]}), &Value::Null),
        chunk(&json!({"tool_calls": [{"index": 0, "function": {"arguments": "{\"city\": "}}]}), &Value::Null),
        chunk(&json!({"tool_calls": [{"index": 0, "function": {"arguments": "\"Oslo\"}"}}]}), &Value::Null),
        chunk(&json!({"content": "", "tool_calls": []}), &json!("tool_calls")),
    ])
    .unwrap();
    assert_eq!(calls(&turn), [("chatcmpl-tool-1", "weather", "{\"city\": \"Oslo\"}")]);

    // Where the choice names the tool, the call comes without a type, and the reason is "stop".
    let turn = decoded(&[
        chunk(&json!({"role": "assistant", "content": ""}), &Value::Null),
        chunk(&json!({"tool_calls": [{"index": 0, "id": "t", "function": {"name": "weather", "arguments": "{\"city\":\"Oslo\"}"}}]}), &Value::Null),
        chunk(&json!({"content": ""}), &json!("stop")),
    ])
    .unwrap();
    assert_eq!((calls(&turn).len(), turn.finish), (1, Some(FinishReason::Stop)));

    let said = "\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set";
    let error = decoded(&[json!({"object": "error", "message": said, "type": "BadRequestError", "code": 400})]);
    assert!(error.unwrap_err().to_string().contains("--enable-auto-tool-choice"), "it says what to do");
}

#[test]
fn a_call_that_is_said_again_at_the_end_is_one_call() {
    let first = json!({"index": 0, "id": "a", "function": {"name": "weather", "arguments": "{\"city\":"}});
    let rest = json!({"index": 0, "function": {"arguments": "\"Oslo\"}"}});
    let whole = json!({"index": 0, "id": "a", "function": {"name": "weather", "arguments": "{\"city\":\"Oslo\"}"}});
    let unnamed = json!({"index": 0, "function": {"arguments": "{\"city\":\"Oslo\"}"}});
    for again in [whole, unnamed] {
        let events = [&first, &rest, &again].map(|piece| delta(&json!({"tool_calls": [piece]}), &Value::Null));
        let end = delta(&json!({}), &json!("tool_calls"));
        let turn = decoded(&[events.as_slice(), &[end]].concat()).unwrap();
        assert_eq!(calls(&turn), [("a", "weather", "{\"city\":\"Oslo\"}")], "{again}");
    }
    // What only looks like it goes on.
    let nested = [
        json!({"index": 0, "id": "a", "function": {"name": "f", "arguments": "{\"a\":"}}),
        json!({"index": 0, "function": {"arguments": "{\"a\":"}}),
        json!({"index": 0, "function": {"arguments": "1}}"}}),
    ];
    let events = nested.map(|piece| delta(&json!({"tool_calls": [piece]}), &Value::Null));
    let end = delta(&json!({}), &json!("tool_calls"));
    assert_eq!(calls(&decoded(&[events.as_slice(), &[end]].concat()).unwrap())[0].2, "{\"a\":{\"a\":1}}");
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
    let seal = json!({"extra_content": {"google": {"thought_signature": "c2VhbA=="}}});
    // One number and no ids for all calls, each whole.
    let turn = decoded(&[
        delta(&json!({"role": "assistant", "tool_calls": [call("Oslo", seal)]}), &Value::Null),
        delta(&json!({"role": "assistant", "tool_calls": [call("Rome", Value::Null)]}), &json!("tool_calls")),
    ])
    .unwrap();
    assert_eq!(
        calls(&turn).iter().map(|call| call.2).collect::<Vec<_>>(),
        ["{\"city\":\"Oslo\"}", "{\"city\":\"Rome\"}"]
    );
    let ids: Vec<&str> = turn.calls().map(|call| call.id.as_str()).collect();
    assert!(ids[0] != ids[1] && ids.iter().all(|id| !id.is_empty()), "{ids:?}");

    // The seal goes back with its call, to Gemini alone.
    let messages = [Message::user("hi"), Message::Assistant { content: turn.content }];
    let tools = ToolList::new(vec![tool("weather", false, json!({"type": "object"}))]);
    let sent = |url: &str| {
        let body = request::body(&OpenAi::new("m").base_url(url), &Request::new(&messages, &tools));
        serde_json::from_slice::<Value>(&body).unwrap()["messages"][1]["tool_calls"].clone()
    };
    let back = sent("https://generativelanguage.googleapis.com/v1beta/openai");
    assert_eq!(back[0]["extra_content"], json!({"google": {"thought_signature": "c2VhbA=="}}));
    assert_eq!(back[1].get("extra_content"), None);
    assert_eq!(sent("http://127.0.0.1:8080/v1")[0].get("extra_content"), None);
}
