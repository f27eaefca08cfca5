//! Calls that a model wrote as text.

use serde_json::json;

use super::tool;
use crate::{decode::Decode, openai::text_calls::TextCalls};
use tool_runtime::{
    model::{Delta, FinishReason, Turn},
    toolset::ToolList,
};

/// Decodes a text that comes in `pieces`.
fn read(pieces: &[&str], reason: &str, on: bool) -> (Vec<Delta>, Turn) {
    let tools = ToolList::new(vec![tool("weather", false, json!({"type": "object"}))]);
    let mut decoder = TextCalls::new(&[], &tools, on);
    let mut deltas = Vec::new();
    for piece in pieces {
        let event = json!({"choices": [{"index": 0, "delta": {"content": piece}, "finish_reason": null}]});
        deltas.extend(decoder.event(&event.to_string()).unwrap());
    }
    let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]});
    deltas.extend(decoder.event(&end.to_string()).unwrap());
    deltas.extend(decoder.event("[DONE]").unwrap());
    deltas.extend(decoder.end().unwrap());
    let mut turn = Turn::default();
    deltas.iter().cloned().for_each(|delta| turn.push(delta));
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
        let (_, turn) = read(&pieces, "stop", true);
        let calls: Vec<_> =
            turn.calls().map(|call| (call.id.as_str(), call.name.as_str(), call.arguments.as_str())).collect();
        assert_eq!(calls, [("call_0_0", "weather", r#"{"city": "Oslo"}"#)], "{text}");
        assert_eq!((turn.finish.clone(), turn.text()), (Some(FinishReason::ToolCalls), String::new()), "{text}");
        assert_eq!(read(&pieces, "stop", false).1.text(), text, "only where it is switched on");
        assert_eq!(read(&pieces, "length", true).1.text(), text, "and the turn is whole");
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
        "",
    ] {
        let (_, turn) = read(&[text], "stop", true);
        assert_eq!((turn.text().as_str(), turn.calls().count()), (text, 0));
        assert_eq!(turn.finish, Some(FinishReason::Stop));
    }
    let (deltas, _) = read(&["It ", "is"], "stop", true);
    assert_eq!(deltas[0], Delta::Text("It ".into()), "nothing is held back that cannot be a call");
}
