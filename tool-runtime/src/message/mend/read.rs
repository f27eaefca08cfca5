//! Messages from JSON that another program, or another version, wrote.

use serde_json::Value;

use super::Mended;
use crate::message::{AssistantPart, Message, Part};

/// Reads messages from JSON as far as they can be read: a message of an unknown role, and a part of an unknown kind, is left
/// out and told. What is read is not mended yet: see [`mend`](super::mend).
///
/// ```
/// use serde_json::json;
/// use tool_runtime::message::{Message, read};
///
/// let (messages, unread) = read(&[
///     json!({"role": "user", "content": [{"type": "text", "text": "hi"}, {"type": "smell", "data": "rose"}]}),
///     json!({"role": "oracle", "text": "42"}),
/// ]);
/// assert_eq!(messages, [Message::user("hi")]);
/// assert_eq!(unread.len(), 2);
/// ```
pub fn read(messages: &[Value]) -> (Vec<Message>, Vec<Mended>) {
    let (mut whole, mut unread) = (Vec::with_capacity(messages.len()), Vec::new());
    for (at, value) in messages.iter().enumerate() {
        let mut left_out = |what: String| unread.push(Mended::Unread { at, what });
        let mut value = value.clone();
        let is_assistant = value.get("role").and_then(Value::as_str) == Some("assistant");
        if let Some(Value::Array(content)) = value.get_mut("content") {
            content.retain(|part| {
                let read = if is_assistant {
                    serde_json::from_value::<AssistantPart>(part.clone()).err()
                } else {
                    serde_json::from_value::<Part>(part.clone()).err()
                };
                let is_read = read.is_none();
                if let Some(error) = read {
                    left_out(format!("a part: {error}"));
                }
                is_read
            });
        }
        match serde_json::from_value(value) {
            Ok(message) => whole.push(message),
            Err(error) => left_out(error.to_string()),
        }
    }
    (whole, unread)
}
