//! The messages of a conversation, as clients send and keep them.

use serde::Serialize;
use serde_json::Value;

use super::event::Object;
use tool_runtime::message::Part;

/// A message of a conversation.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "role", rename_all = "lowercase", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum Message {
    /// Instructions of whoever wrote the program.
    Developer {
        /// The message's id.
        id: String,
        /// The text.
        content: String,
    },
    /// Instructions of whoever runs it.
    System {
        /// The message's id.
        id: String,
        /// The text.
        content: String,
    },
    /// A message of the model, with its calls.
    Assistant {
        /// The message's id.
        id: String,
        /// The text.
        #[serde(skip_serializing_if = "Option::is_none")]
        content: Option<String>,
        /// The calls.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<MessageCall>,
    },
    /// A message of the person.
    User {
        /// The message's id.
        id: String,
        /// Text and other things.
        content: Content,
    },
    /// The answer to a call.
    Tool {
        /// The message's id.
        id: String,
        /// The call.
        tool_call_id: String,
        /// The answer.
        content: Content,
        /// The error, if the call failed.
        #[serde(skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// Something that was displayed; clients do not send it.
    Activity {
        /// The message's id.
        id: String,
        /// The kind of activity.
        activity_type: String,
        /// The content that is shown.
        content: Object,
    },
    /// Thoughts of the model.
    Reasoning {
        /// The message's id.
        id: String,
        /// The text.
        content: String,
    },
}

/// A call that an assistant's message asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(into = "WireCall")]
#[non_exhaustive]
pub struct MessageCall {
    /// The call's id.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The text of the arguments.
    pub arguments: String,
}

#[derive(Serialize)]
struct WireCall {
    id: String,
    r#type: &'static str,
    function: WireFunction,
}

#[derive(Serialize)]
struct WireFunction {
    name: String,
    arguments: String,
}

impl From<MessageCall> for WireCall {
    fn from(call: MessageCall) -> Self {
        Self { id: call.id, r#type: "function", function: WireFunction { name: call.name, arguments: call.arguments } }
    }
}

/// The content of a message: a text, or several parts. Parts are for clients of 1.0 only.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Content {
    /// A text.
    Text(String),
    /// Several things, in order.
    Parts(Vec<ContentPart>),
}

/// One of several things that a message holds.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
#[non_exhaustive]
pub enum ContentPart {
    /// A text.
    Text {
        /// The text.
        text: String,
        /// Anything else.
        #[serde(skip_serializing_if = "Option::is_none")]
        metadata: Option<Value>,
    },
    /// An image.
    Image {
        /// Where its bytes are.
        source: Source,
    },
    /// A sound.
    Audio {
        /// Where its bytes are.
        source: Source,
    },
    /// A film.
    Video {
        /// Where its bytes are.
        source: Source,
    },
    /// A document.
    Document {
        /// Where its bytes are.
        source: Source,
    },
}

/// Where the bytes of something are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "lowercase", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum Source {
    /// Here.
    Data {
        /// The bytes in base64.
        value: String,
        /// The media type.
        mime_type: String,
    },
    /// At an address. Nothing here fetches it.
    Url {
        /// The address.
        value: String,
        /// The media type.
        #[serde(skip_serializing_if = "Option::is_none")]
        mime_type: Option<String>,
    },
    /// At the model's provider.
    File {
        /// The provider's name for it.
        value: String,
        /// The provider.
        #[serde(skip_serializing_if = "Option::is_none")]
        provider: Option<String>,
        /// The media type.
        #[serde(skip_serializing_if = "Option::is_none")]
        mime_type: Option<String>,
    },
}

impl Content {
    /// The text, without anything else.
    pub fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Parts(parts) => {
                let text = |part: &ContentPart| match part {
                    ContentPart::Text { text, .. } => Some(text.clone()),
                    _ => None,
                };
                parts.iter().filter_map(text).collect()
            }
        }
    }

    /// Returns the parts that a model can read: text, and images whose bytes are here; and how many parts were left out.
    pub(super) fn for_model(&self) -> (Vec<Part>, usize) {
        let Self::Parts(given) = self else { return (vec![Part::text(self.text())], 0) };
        let part = |part: &ContentPart| match part {
            ContentPart::Text { text, .. } => Some(Part::text(text)),
            ContentPart::Image { source: Source::Data { value, mime_type } } => {
                Some(Part::Image { media_type: mime_type.clone(), data: value.clone() })
            }
            _ => None,
        };
        let parts: Vec<Part> = given.iter().filter_map(part).collect();
        let left_out = given.len() - parts.len();
        (parts, left_out)
    }

    /// Returns a model's parts as content for a client, which accepts more than a text if `with_parts`.
    pub(super) fn of(parts: &[Part], with_parts: bool) -> Self {
        let is_text = parts.iter().all(|part| part.as_text().is_some());
        if is_text || !with_parts {
            return Self::Text(parts.iter().filter_map(Part::as_text).collect::<Vec<_>>().join("\n"));
        }
        let part = |part: &Part| match part {
            Part::Image { media_type, data } => {
                ContentPart::Image { source: Source::Data { value: data.clone(), mime_type: media_type.clone() } }
            }
            Part::Audio { media_type, data } => {
                ContentPart::Audio { source: Source::Data { value: data.clone(), mime_type: media_type.clone() } }
            }
            other => ContentPart::Text { text: other.in_words().into_owned(), metadata: None },
        };
        Self::Parts(parts.iter().map(part).collect())
    }
}

impl Message {
    /// The message's id.
    pub fn id(&self) -> &str {
        match self {
            Self::Developer { id, .. }
            | Self::System { id, .. }
            | Self::Assistant { id, .. }
            | Self::User { id, .. }
            | Self::Tool { id, .. }
            | Self::Activity { id, .. }
            | Self::Reasoning { id, .. } => id,
        }
    }
}
