//! Contents of messages in OpenTelemetry's form, made only where traces are to hold them.

use serde_json::{Value, json};

use crate::message::{AssistantPart, FinishReason, Message, Part};
use crate::model::Turn;
use crate::toolset::ToolList;

/// Why a turn ended, as a JSON list: `tracing` has no lists.
pub fn reasons(reason: &FinishReason) -> String {
    json!([word(reason)]).to_string()
}

fn word(reason: &FinishReason) -> Value {
    match reason {
        FinishReason::Other(reason) => reason.as_str().into(),
        known => json!(known),
    }
}

/// `gen_ai.system_instructions`; `None` where there are none.
pub fn instructions(messages: &[Message]) -> Option<String> {
    let text = |message: &Message| match message {
        Message::System { text } => Some(json!({ "type": "text", "content": text })),
        _ => None,
    };
    let all: Vec<Value> = messages.iter().filter_map(text).collect();
    (!all.is_empty()).then(|| Value::from(all).to_string())
}

/// `gen_ai.input.messages`.
pub fn input(messages: &[Message]) -> String {
    let shown = |message: &Message| {
        Some(match message {
            Message::User { content } => json!({ "role": "user", "parts": parts(content) }),
            Message::Assistant { content } => json!({ "role": "assistant", "parts": said(content) }),
            Message::Tool(answer) => {
                let response = answer.content.iter().filter_map(Part::as_text).collect::<Vec<_>>().join("\n");
                let part = json!({ "type": "tool_call_response", "id": answer.call_id, "response": response });
                json!({ "role": "tool", "parts": [part] })
            }
            Message::System { .. } => return None,
        })
    };
    Value::from(messages.iter().filter_map(shown).collect::<Vec<_>>()).to_string()
}

/// `gen_ai.output.messages`.
pub fn output(turn: &Turn) -> String {
    let reason = turn.finish.as_ref().map_or_else(|| "error".into(), word);
    json!([{ "role": "assistant", "parts": said(&turn.content), "finish_reason": reason }]).to_string()
}

/// `gen_ai.tool.definitions`.
pub fn tools(tools: &ToolList) -> String {
    let tool = |spec: &std::sync::Arc<crate::tool::ToolSpec>| {
        json!({
            "type": "function",
            "name": spec.name,
            "description": spec.description,
            "parameters": spec.input.neutral(),
        })
    };
    Value::from(tools.specs().iter().map(tool).collect::<Vec<_>>()).to_string()
}

fn parts(content: &[Part]) -> Vec<Value> {
    let part = |part: &Part| match part {
        Part::Image { media_type, data } => {
            json!({ "type": "blob", "modality": "image", "mime_type": media_type, "content": data })
        }
        Part::Audio { media_type, data } => {
            json!({ "type": "blob", "modality": "audio", "mime_type": media_type, "content": data })
        }
        other => json!({ "type": "text", "content": other.in_words() }),
    };
    content.iter().map(part).collect()
}

fn said(content: &[AssistantPart]) -> Vec<Value> {
    let part = |part: &AssistantPart| match part {
        AssistantPart::Text { text } => json!({ "type": "text", "content": text }),
        AssistantPart::Reasoning { text, .. } => json!({ "type": "reasoning", "content": text }),
        AssistantPart::Call(call) => {
            let arguments: Value =
                serde_json::from_str(&call.arguments).unwrap_or_else(|_| call.arguments.as_str().into());
            json!({ "type": "tool_call", "id": call.id, "name": call.name, "arguments": arguments })
        }
        AssistantPart::Provider(_) => json!(part),
    };
    content.iter().map(part).collect()
}
