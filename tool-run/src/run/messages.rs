//! The messages of the conversation that the calls of a run become.

use crate::message::{AssistantPart, Message, Part, ToolCall, ToolMessage};
use crate::run::Call;

/// Returns a call as a part of the model's message.
pub fn to_message(call: &Call) -> AssistantPart {
    AssistantPart::Call(ToolCall {
        id: call.id.as_str().to_owned(),
        name: call.name.clone(),
        arguments: (*call.arguments.text).to_owned(),
    })
}

/// Returns the answer to a call that has ended.
pub fn answer_message(call: &Call) -> Option<Message> {
    let result = call.result()?;
    let mut content = result.for_model(&call.name, call.extent());
    if call.arguments.by.is_some() && call.may_have_run() {
        let text = format!("A person changed the arguments to {} before the call ran.", call.arguments.text);
        content.insert(0, Part::text(text));
    }
    Some(Message::Tool(ToolMessage {
        call_id: call.id.as_str().to_owned(),
        tool: call.name.clone(),
        content,
        is_error: !result.is_success(),
    }))
}

/// Returns the bytes of a message.
pub fn size(message: &Message) -> u64 {
    let size = |part: &AssistantPart| match part {
        AssistantPart::Text { text } | AssistantPart::Reasoning { text, .. } => text.len(),
        AssistantPart::Provider(part) => part.block.len(),
        // The bytes of a call were counted when it was made.
        AssistantPart::Call(_) => 0,
    };
    let bytes: usize = match message {
        Message::System { text } => text.len(),
        Message::User { content } => content.iter().map(Part::size).sum(),
        Message::Assistant { content } => content.iter().map(size).sum(),
        Message::Tool(answer) => answer.content.iter().map(Part::size).sum(),
    };
    bytes as u64
}
