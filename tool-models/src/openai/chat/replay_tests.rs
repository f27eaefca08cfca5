//! Tests that a turn goes back to the server as it needs it: with its own signatures, and without those of others.

use serde_json::{Value, json};

use super::{Decoder, request};
use crate::http::response::testing::{decode, turn_of};
use crate::openai::OpenAi;
use tool_runtime::{
    message::{AssistantPart, Message, Part, ToolCall, ToolMessage},
    model::Request,
    toolset::ToolList,
};

/// Returns the messages of a request of `model` with these turns, each after a prompt, with results.
fn sent_turns(model: &OpenAi, turns: &[Vec<AssistantPart>]) -> Vec<Value> {
    let mut messages = Vec::new();
    for content in turns {
        messages.extend([Message::user("go"), Message::Assistant { content: content.clone() }]);
        messages.extend(content.iter().filter_map(|part| match part {
            AssistantPart::Call(call) => Some(Message::Tool(ToolMessage {
                call_id: call.id.clone(),
                tool: call.name.clone(),
                content: vec![Part::text("done")],
                is_error: false,
            })),
            _ => None,
        }));
    }
    let body = request::write_body(model, &Request::new(&messages, &ToolList::default()));
    let body: Value = serde_json::from_slice(&body).unwrap();
    let messages = body["messages"].as_array().unwrap().iter();
    messages.filter(|message| message["tool_calls"].is_array()).cloned().collect()
}

#[test]
fn signatures_go_back_to_the_origin_that_sent_them() {
    let gateway = || OpenAi::new("gemini-3.5-pro").base_url("https://gateway.example.com/v1");
    let signature = |value: &str| json!({"google": {"thought_signature": value}});
    let events = [
        json!({"choices": [{"delta": {"reasoning_details": [{"type": "reasoning.encrypted", "data": "d", "index": 0}]}}]}),
        json!({"choices": [{"delta": {"tool_calls": [
            {"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}, "extra_content": signature("s")},
            {"index": 1, "id": "b", "function": {"name": "f", "arguments": ""}},
            {"index": 2, "id": "c", "function": {"name": "f", "arguments": "{}"}},
        ]}}]}),
        json!({"choices": [{"delta": {"tool_calls": [
            {"index": 1, "function": {"arguments": "{}"}, "extra_content": signature("t")},
        ]}, "finish_reason": "tool_calls"}]}),
    ];
    let decoder = Decoder::new(&[], &ToolList::default()).with_origin("chat@gateway.example.com");
    let signed = turn_of(decode(decoder, events.map(|event| event.to_string())).unwrap()).content;
    let foreign = vec![AssistantPart::Call(ToolCall { id: "x".into(), name: "f".into(), arguments: "{}".into() })];
    let turns = [signed, foreign.clone()];

    let back = sent_turns(&gateway(), &turns);
    let of = |turn: &Value, at: usize| turn["tool_calls"][at].get("extra_content").cloned();
    assert_eq!([0, 1, 2].map(|at| of(&back[0], at)), [Some(signature("s")), Some(signature("t")), None]);
    assert_eq!(back[0]["reasoning_details"], json!([{"type": "reasoning.encrypted", "data": "d", "index": 0}]));
    // Gemini refuses the call of another model without a signature, so it gets the documented value.
    let unsigned = Some(signature("skip_thought_signature_validator"));
    assert_eq!(of(&back[1], 0), unsigned);
    for google in [
        "https://generativelanguage.googleapis.com/v1beta/openai",
        "https://europe-west4-aiplatform.googleapis.com/v1/projects/p/locations/europe-west4/endpoints/openapi",
    ] {
        let at =
            |model: &str| of(&sent_turns(&OpenAi::new(model).base_url(google), std::slice::from_ref(&foreign))[0], 0);
        assert_eq!([at("google/gemini-3.5-flash"), at("gemini-2.5-pro")], [unsigned.clone(), None], "{google}");
    }
    // No other host gets any of it.
    let other = sent_turns(&OpenAi::new("gemini-3.5-pro").base_url("https://other.example.com/v1"), &turns);
    let text = json!(other).to_string();
    assert!(!text.contains("extra_content") && !text.contains("reasoning_details"), "{text}");
}

#[test]
fn calls_without_reasoning_and_with_signed_ids() {
    let id = format!("call_1__thought__{}", "A".repeat(200));
    let call = AssistantPart::Call(ToolCall { id: id.clone(), name: "f".into(), arguments: "{}".into() });
    // DeepSeek and Moonshot refuse calls without reasoning, such as those of another model.
    let model = OpenAi::new("m").base_url("https://api.deepseek.com").send_reasoning(true);
    let sent = sent_turns(&model, &[vec![call.clone()]]);
    assert_eq!(
        (&sent[0]["reasoning_content"], sent[0]["tool_calls"][0]["id"].as_str().unwrap().len()),
        (&json!(" "), 40)
    );
    let sent = sent_turns(&OpenAi::new("m").base_url("https://litellm.example.com/v1"), &[vec![call]]);
    assert_eq!((sent[0].get("reasoning_content"), &sent[0]["tool_calls"][0]["id"]), (None, &json!(id)));
}
