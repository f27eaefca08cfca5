//! How the embedded models read a conversation.

use serde::de::DeserializeOwned;
use serde_json::Value;
use tool_runtime::message::{AssistantPart, Message, Part, ToolMessage};

/// A call that was answered.
pub(crate) struct Answered<'a> {
    pub(crate) tool: &'a str,
    pub(crate) arguments: Value,
    answer: &'a ToolMessage,
}

impl Answered<'_> {
    /// Returns whether the call succeeded.
    pub(crate) fn is_done(&self) -> bool {
        !self.answer.is_error
    }

    /// Returns the argument `name`, if it is a `T`.
    pub(crate) fn argument<T: DeserializeOwned>(&self, name: &str) -> Option<T> {
        serde_json::from_value(self.arguments.get(name)?.clone()).ok()
    }

    /// Returns the result as a `T`, if it is one.
    pub(crate) fn told<T: DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_str(self.answer.content.first()?.as_text()?).ok()
    }
}

/// Returns the answered calls of a conversation, oldest first.
pub(crate) fn answered(messages: &[Message]) -> Vec<Answered<'_>> {
    let mut all = Vec::new();
    let mut asked = Vec::new();
    for message in messages {
        match message {
            Message::Assistant { content } => {
                asked = content
                    .iter()
                    .filter_map(|part| match part {
                        AssistantPart::Call(call) => Some(call),
                        _ => None,
                    })
                    .collect();
            }
            Message::Tool(answer) => {
                if let Some(call) = asked.iter().find(|call| call.id == answer.call_id) {
                    let arguments = serde_json::from_str(&call.arguments).unwrap_or_default();
                    all.push(Answered { tool: &call.name, arguments, answer });
                }
            }
            _ => {}
        }
    }
    all
}

/// Returns the user's messages, oldest first.
pub(crate) fn prompts(messages: &[Message]) -> impl DoubleEndedIterator<Item = &str> {
    messages
        .iter()
        .flat_map(|message| match message {
            Message::User { content } => content.as_slice(),
            _ => &[],
        })
        .filter_map(Part::as_text)
}
