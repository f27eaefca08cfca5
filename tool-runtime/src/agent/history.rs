//! A conversation that stays whole: every call in it is answered, once, under an id of its own.

use std::collections::HashSet;

use crate::message::{AssistantPart, Message, Part, ToolCall, ToolMessage};
use crate::tool::{CallError, Output};

/// Gives every call of a turn an id that no other call of the conversation has.
pub(super) fn unique_ids(content: &mut [AssistantPart], messages: &[Message]) {
    let mut taken: HashSet<String> = messages.iter().flat_map(calls).map(|call| call.id.clone()).collect();
    for part in content {
        let AssistantPart::Call(call) = part else { continue };
        if !call.id.is_empty() && taken.insert(call.id.clone()) {
            continue;
        }
        let base = if call.id.is_empty() { "call".to_owned() } else { call.id.clone() };
        let mut number = taken.len();
        while !taken.insert(format!("{base}_{number}")) {
            number += 1;
        }
        call.id = format!("{base}_{number}");
    }
}

/// The calls of a message.
fn calls(message: &Message) -> impl Iterator<Item = &ToolCall> {
    let content = match message {
        Message::Assistant { content } => content.as_slice(),
        _ => &[],
    };
    content.iter().filter_map(|part| match part {
        AssistantPart::Call(call) => Some(call),
        _ => None,
    })
}

/// The answer to a call.
pub(super) fn answer(call: &ToolCall, result: &Result<Output, CallError>) -> Message {
    let (content, is_error) = match result {
        Ok(output) => (output.for_model(), false),
        Err(error) => (vec![error.for_model()], true),
    };
    Message::Tool(ToolMessage { call_id: call.id.clone(), tool: call.name.clone(), content, is_error })
}

/// The answer to a call that did not run, in words.
pub(super) fn refuse(call: &ToolCall, text: &str) -> Message {
    let content = vec![Part::text(text)];
    Message::Tool(ToolMessage { call_id: call.id.clone(), tool: call.name.clone(), content, is_error: true })
}
