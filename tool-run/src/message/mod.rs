//! The parts of a conversation with a model: messages, their parts, and the calls that a model makes.
//!
//! Models, tools and stored runs all use these types. So they are plain data with a stable serde form. [`repair`] turns
//! any history into one that providers accept, and [`Pruning`] makes a history shorter.

mod media;
mod prune;
mod quote;
mod repair;
mod signature;

pub use media::{Media, MediaKind, MediaRef, Source, SourceRef};
pub use prune::Pruning;
pub use quote::{quote_rejection, quote_rejections};
pub use repair::{Repair, parse_history, repair};
pub use signature::Signature;
use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::feedback::REJECTED;

/// One message of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "snake_case")]
pub enum Message {
    /// The instructions of the application.
    System {
        /// The text.
        text: String,
    },
    /// A prompt of the person.
    User {
        /// Text, images and other parts, in their original order.
        content: Vec<Part>,
    },
    /// The content and the calls of one turn of the model.
    Assistant {
        /// Text, reasoning and calls, in the model's order.
        content: Vec<AssistantPart>,
    },
    /// The result of one call.
    Tool(ToolMessage),
}

/// The result of one call, as the model sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolMessage {
    /// The id of the call ([`ToolCall::id`]).
    pub call_id: String,
    /// The name of the tool that was called.
    pub tool: String,
    /// The content for the model.
    pub content: Vec<Part>,
    /// Set if the call did not succeed: rejected arguments, a failure, a denial.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_error: bool,
}

impl ToolMessage {
    /// Returns whether the content says that the call was rejected, in text ([`REJECTED`]).
    pub fn is_rejection(&self) -> bool {
        let begins = |part: &Part| matches!(part, Part::Text { text } if text.starts_with(REJECTED));
        self.is_error && self.content.iter().any(begins)
    }
}

/// A part of the content that a person or a tool gives to a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Part {
    /// Plain text.
    Text {
        /// The text.
        text: String,
    },
    /// A JSON value, kept as its text.
    Json {
        /// Valid JSON text.
        json: String,
    },
    /// An image.
    Image(Media),
    /// Sound.
    Audio(Media),
    /// A document, such as a PDF, or any other file.
    Document(Media),
    /// A resource with an address, such as a file, and its contents. Models read its text, if it has one.
    Resource {
        /// The address of the resource, such as `file:///srv/a.txt`.
        uri: String,
        /// The media type, if it is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        media_type: Option<String>,
        /// The contents.
        contents: ResourceContents,
    },
}

/// The contents of a resource.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResourceContents {
    /// Text.
    Text(String),
    /// Other contents, in base64 (standard alphabet, padded).
    Base64(String),
}

/// A part of the content of one turn of a model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum AssistantPart {
    /// Text for the person.
    Text {
        /// The text.
        text: String,
    },
    /// The model's reasoning before its answer, if the provider returns it.
    Reasoning {
        /// The text.
        text: String,
        /// The provider's signature of the text, or of the part that follows if the text is empty. The provider expects it back
        /// unchanged.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<Signature>,
    },
    /// A call of a tool of the application.
    Call(ToolCall),
    /// A call, or the result of a call, of a tool that the provider executes itself.
    Provider(ProviderPart),
}

/// A call of a tool that the provider executes itself, or the result of such a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ProviderPart {
    /// The provider whose format the block has, such as `anthropic`. Other providers do not receive the block.
    pub provider: String,
    /// The provider's id of the call; empty if there is none.
    pub call_id: String,
    /// The tool's name. If the provider names no tool, the kind of result, such as `url_citation`.
    pub name: String,
    /// The kind: a call, a result or a failure.
    pub kind: ProviderPartKind,
    /// The provider's block as JSON text. The provider expects it back unchanged.
    pub block: String,
}

/// The kind of a [`ProviderPart`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ProviderPartKind {
    /// A call of the tool.
    Call,
    /// The result of the call.
    Result,
    /// The failure of the call.
    Failure,
}

impl ProviderPart {
    /// Creates a part from a block of `provider`, which is JSON text.
    pub fn new(
        provider: impl Into<String>,
        call_id: impl Into<String>,
        name: impl Into<String>,
        kind: ProviderPartKind,
        block: impl Into<String>,
    ) -> Self {
        Self { provider: provider.into(), call_id: call_id.into(), name: name.into(), kind, block: block.into() }
    }
}

/// A call that the model requests. It is not checked yet: the runtime checks each call before anything runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The id that the model (or its provider) gave to the call.
    pub id: String,
    /// The name of the tool.
    pub name: String,
    /// The arguments as the model wrote them. They should be JSON, but are not checked yet. Empty text means `{}`.
    pub arguments: String,
}

impl Message {
    /// Creates a system message.
    pub fn system(text: impl Into<String>) -> Self {
        Self::System { text: text.into() }
    }

    /// Creates a user message of one text.
    pub fn user(text: impl Into<String>) -> Self {
        Self::User { content: vec![Part::text(text)] }
    }

    /// Creates an assistant message of one text.
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::Assistant { content: vec![AssistantPart::Text { text: text.into() }] }
    }
}

impl Part {
    /// Creates a text part.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    /// Returns the text that a model reads, or `None` for images, audio, documents, and resources that are not text.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text { text } | Self::Resource { contents: ResourceContents::Text(text), .. } => Some(text),
            Self::Json { json } => Some(json),
            Self::Image(_)
            | Self::Audio(_)
            | Self::Document(_)
            | Self::Resource { contents: ResourceContents::Base64(_), .. } => None,
        }
    }

    /// Returns a view of an image, sound, a document or a resource that is not text; `None` for parts that [`as_text`](Self::as_text)
    /// returns.
    pub fn as_media(&self) -> Option<MediaRef<'_>> {
        Some(match self {
            Self::Image(media) => MediaRef::of(Some(MediaKind::Image), media),
            Self::Audio(media) => MediaRef::of(Some(MediaKind::Audio), media),
            Self::Document(media) => MediaRef::of(Some(MediaKind::Document), media),
            Self::Resource { uri, media_type, contents: ResourceContents::Base64(data) } => {
                let name = uri.rsplit('/').next();
                MediaRef::new(None, media_type.as_deref(), name, SourceRef::Base64(data))
            }
            Self::Text { .. } | Self::Json { .. } | Self::Resource { contents: ResourceContents::Text(_), .. } => {
                return None;
            }
        })
    }

    /// Returns whether the part is text that is empty or only white space. Providers refuse such a part.
    ///
    /// ```
    /// use tool_run::message::Part;
    ///
    /// assert!(Part::text(" \n").is_blank());
    /// assert!(!Part::text("Hi.").is_blank());
    /// ```
    pub fn is_blank(&self) -> bool {
        self.as_text().is_some_and(|text| text.trim().is_empty())
    }

    /// Returns the part as text for receivers that accept nothing else: the part's own text, or a short description.
    pub fn in_words(&self) -> Cow<'_, str> {
        match self {
            Self::Image(media) => format!("(an image, {})", media.label()).into(),
            Self::Audio(media) => format!("(sound, {})", media.label()).into(),
            Self::Document(media) => format!("(a document, {})", media.label()).into(),
            Self::Resource { uri, .. } if self.as_text().is_none() => format!("(a file, {uri})").into(),
            other => other.as_text().unwrap_or_default().into(),
        }
    }

    /// Returns the number of bytes of the text, of media with its name and type, or of a resource with its address.
    pub fn size(&self) -> usize {
        match self {
            Self::Text { text } => text.len(),
            Self::Json { json } => json.len(),
            Self::Image(media) | Self::Audio(media) | Self::Document(media) => media.size(),
            Self::Resource { uri, contents: ResourceContents::Text(held) | ResourceContents::Base64(held), .. } => {
                uri.len() + held.len()
            }
        }
    }
}

/// The reason why a turn ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum FinishReason {
    /// The model finished its answer.
    Stop,
    /// The model waits for the results of its calls.
    ToolCalls,
    /// The model reached its size limit. The last words of the turn may be cut, so the runtime starts none of its calls. Calls
    /// of `eager` tools that have already started go on.
    Length,
    /// A content filter cut the turn. The runtime treats its calls as for [`Length`](Self::Length).
    ContentFilter,
    /// The provider paused a long turn. Another request continues it, and the content so far remains.
    Paused,
    /// Another reason, in the provider's words. The runtime treats the calls as for [`Length`](Self::Length).
    Other(String),
}

impl FinishReason {
    /// Returns whether nothing cut the turn, so that its calls may be executed.
    pub fn allows_calls(&self) -> bool {
        matches!(self, Self::Stop | Self::ToolCalls | Self::Paused)
    }
}

/// The numbers of tokens that a model used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens of the request, cached ones included.
    pub input_tokens: u64,
    /// Tokens of the answer, reasoning included.
    pub output_tokens: u64,
    /// Tokens of the request that the provider had cached.
    pub cached_tokens: u64,
    /// Tokens of the answer that were reasoning.
    pub reasoning_tokens: u64,
}

impl Usage {
    /// Returns the tokens of the request and the answer.
    pub fn total(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }
}

/// Sums that exceed `u64::MAX` stay at it, because the numbers come from a provider.
impl std::iter::Sum for Usage {
    fn sum<I: Iterator<Item = Self>>(usages: I) -> Self {
        usages.fold(Self::default(), |mut sum, usage| {
            sum += usage;
            sum
        })
    }
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.cached_tokens = self.cached_tokens.saturating_add(other.cached_tokens);
        self.reasoning_tokens = self.reasoning_tokens.saturating_add(other.reasoning_tokens);
    }
}
