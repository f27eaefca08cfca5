//! The contents of messages: texts, and the files of both sides.

use serde::Serialize;
use serde_json::{Value, json};
use tool_runtime::message::{Media, MediaKind, Part, SourceRef};

use crate::protocol::media::attached;

/// The content of a message: a text or several parts. The server sends parts only to clients of 1.0 and later.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Content {
    /// A text.
    Text(String),
    /// Several parts, in order.
    Parts(Vec<ContentPart>),
}

/// A part of a message.
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
        /// The source of its bytes.
        source: Source,
        /// Anything else, such as the `filename`.
        #[serde(skip_serializing_if = "Option::is_none")]
        metadata: Option<Value>,
    },
    /// A sound.
    Audio {
        /// The source of its bytes.
        source: Source,
        /// Anything else, such as the `filename`.
        #[serde(skip_serializing_if = "Option::is_none")]
        metadata: Option<Value>,
    },
    /// A film.
    Video {
        /// The source of its bytes.
        source: Source,
        /// Anything else, such as the `filename`.
        #[serde(skip_serializing_if = "Option::is_none")]
        metadata: Option<Value>,
    },
    /// A document.
    Document {
        /// The source of its bytes.
        source: Source,
        /// Anything else, such as the `filename`.
        #[serde(skip_serializing_if = "Option::is_none")]
        metadata: Option<Value>,
    },
}

/// The source of a part's bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "lowercase", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum Source {
    /// The bytes themselves.
    Data {
        /// The bytes in base64.
        value: String,
        /// The media type.
        mime_type: String,
    },
    /// An address. The server does not fetch it.
    Url {
        /// The address.
        value: String,
        /// The media type.
        #[serde(skip_serializing_if = "Option::is_none")]
        mime_type: Option<String>,
    },
    /// A file at the model's provider.
    File {
        /// The provider's id of the file.
        value: String,
        /// The provider.
        #[serde(skip_serializing_if = "Option::is_none")]
        provider: Option<String>,
        /// The media type.
        #[serde(skip_serializing_if = "Option::is_none")]
        mime_type: Option<String>,
    },
}

/// The beginning of the address that stands for a file at a model's provider. The provider and its id of the file follow, with a colon
/// between them. No model gets such an address.
const PROVIDER_FILE: &str = "provider-file:";

impl Content {
    /// Returns the text, without other parts.
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

    /// Returns the parts for a model.
    pub(super) fn for_model(&self) -> Vec<Part> {
        match self {
            Self::Text(text) => vec![Part::text(text)],
            Self::Parts(parts) => parts.iter().map(ContentPart::for_model).collect(),
        }
    }

    /// Returns a model's parts as content for a client. `with_parts` is set if the client accepts parts; otherwise the content
    /// is a text.
    pub(super) fn of(parts: &[Part], with_parts: bool) -> Self {
        let is_text = parts.iter().all(|part| part.as_text().is_some());
        if is_text {
            return Self::Text(parts.iter().filter_map(Part::as_text).collect::<Vec<_>>().join("\n"));
        }
        if !with_parts {
            return Self::Text(parts.iter().map(Part::in_words).collect::<Vec<_>>().join("\n"));
        }
        Self::Parts(parts.iter().map(ContentPart::of).collect())
    }
}

impl ContentPart {
    /// Returns the part for a model.
    fn for_model(&self) -> Part {
        let (kind, source, metadata) = match self {
            Self::Text { text, .. } => return Part::text(text),
            Self::Image { source, metadata } => ("image/*", source, metadata),
            Self::Audio { source, metadata } => ("audio/*", source, metadata),
            Self::Video { source, metadata } => ("video/*", source, metadata),
            Self::Document { source, metadata } => ("*/*", source, metadata),
        };
        let (mut media, media_type) = match source {
            Source::Data { value, mime_type } => (Media::base64(kind, value), Some(mime_type)),
            Source::Url { value, mime_type } => (Media::url(value), mime_type.as_ref()),
            // Only the provider that issued a file could read it: its id is no address.
            Source::File { value, provider, mime_type } => {
                let provider = provider.as_deref().unwrap_or_default();
                (Media::url(format!("{PROVIDER_FILE}{provider}:{value}")), mime_type.as_ref())
            }
        };
        let name = metadata.as_ref().and_then(|metadata| metadata.get("filename")?.as_str());
        media.name = name.filter(|name| !name.is_empty()).map(str::to_owned);
        let media_type = media_type.filter(|media_type| !media_type.is_empty()).cloned();
        media.media_type = media_type.or(media.media_type).or_else(|| Some(kind.to_owned()));
        attached(media)
    }

    /// Returns the part in the form that clients before 1.0 write.
    pub(super) fn in_early_form(&self) -> Value {
        let (kind, source, metadata) = match self {
            Self::Text { text, .. } => return json!({ "type": "text", "text": text }),
            Self::Image { source, metadata } => ("image/*", source, metadata),
            Self::Audio { source, metadata } => ("audio/*", source, metadata),
            Self::Video { source, metadata } => ("video/*", source, metadata),
            Self::Document { source, metadata } => ("application/octet-stream", source, metadata),
        };
        let (name, value, mime_type) = match source {
            Source::Data { value, mime_type } => ("data", value, Some(mime_type)),
            Source::Url { value, mime_type } => ("url", value, mime_type.as_ref()),
            Source::File { value, mime_type, .. } => ("id", value, mime_type.as_ref()),
        };
        let mut part = json!({ "type": "binary", "mimeType": mime_type.map_or(kind, String::as_str), name: value });
        if let Some(file) = metadata.as_ref().and_then(|metadata| metadata.get("filename")) {
            part["filename"] = file.clone();
        }
        part
    }

    /// Returns a model's part for a client.
    fn of(part: &Part) -> Self {
        let Some(media) = part.as_media() else {
            return Self::Text { text: part.as_text().unwrap_or_default().to_owned(), metadata: None };
        };
        let mime_type = media.media_type.map(str::to_owned);
        let source = match media.source {
            SourceRef::Base64(data) => Source::Data {
                value: data.to_owned(),
                mime_type: mime_type.unwrap_or_else(|| "application/octet-stream".to_owned()),
            },
            SourceRef::Url(url) => match url.strip_prefix(PROVIDER_FILE).and_then(|file| file.split_once(':')) {
                Some((provider, value)) => {
                    let provider = Some(provider.to_owned()).filter(|provider| !provider.is_empty());
                    Source::File { value: value.to_owned(), provider, mime_type }
                }
                None => Source::Url { value: url.to_owned(), mime_type },
            },
            _ => return Self::Text { text: part.in_words().into_owned(), metadata: None },
        };
        let metadata = media.name.map(|name| json!({ "filename": name }));
        match media.kind {
            MediaKind::Image => Self::Image { source, metadata },
            MediaKind::Audio => Self::Audio { source, metadata },
            _ if media.media_type.is_some_and(|media_type| media_type.starts_with("video/")) => {
                Self::Video { source, metadata }
            }
            MediaKind::Document => Self::Document { source, metadata },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::ag_ui::{InputMessage, RunInput};

    fn read(parts: &Value) -> Content {
        let message = json!({ "id": "m", "role": "user", "content": parts });
        let body = json!({ "threadId": "t", "runId": "r", "messages": [message] });
        let input = RunInput::read(body.to_string().as_bytes()).unwrap();
        let [InputMessage::User { content, .. }] = &input.messages[..] else { panic!() };
        content.clone()
    }

    #[test]
    fn files_go_both_ways() {
        let data = |mime_type: &str| json!({ "type": "data", "value": "AAAA", "mimeType": mime_type });
        let url = json!({ "type": "url", "value": "https://a/b" });
        let parts = json!([
            { "type": "image", "source": data("image/png") },
            { "type": "audio", "source": url },
            { "type": "video", "source": data("video/mp4"), "metadata": { "filename": "a.mp4" } },
            { "type": "document", "source": data("application/pdf"), "metadata": { "filename": "a.pdf" } },
        ]);
        let content = read(&parts);
        let expected = [
            Part::Image(Media::base64("image/png", "AAAA")),
            Part::Audio(Media::url("https://a/b")),
            Part::Document(Media::base64("video/mp4", "AAAA").with_name("a.mp4")),
            Part::Document(Media::base64("application/pdf", "AAAA").with_name("a.pdf")),
        ];
        assert_eq!(content.for_model(), expected);
        assert_eq!(serde_json::to_value(Content::of(&expected, true)).unwrap(), parts);
        let words = "(an image, image/png)\n(sound, https://a/b)\n(a document, a.mp4)\n(a document, a.pdf)";
        assert_eq!(Content::of(&expected, false), Content::Text(words.to_owned()));

        // The form before 1.0.
        let old = json!([
            { "type": "binary", "mimeType": "image/png", "data": "AAAA", "filename": "a.png" },
            { "type": "binary", "mimeType": "application/pdf", "url": "https://a/b" },
        ]);
        let expected = [
            Part::Image(Media::base64("image/png", "AAAA").with_name("a.png")),
            Part::Document(Media::url("https://a/b").with_media_type("application/pdf")),
        ];
        assert_eq!(read(&old).for_model(), expected);
        let Content::Parts(parts) = Content::of(&expected, true) else { panic!() };
        assert_eq!(parts.iter().map(ContentPart::in_early_form).collect::<Value>(), old);
    }

    #[test]
    fn the_conversation_has_files_that_no_model_could_read() {
        let parts = json!([
            { "type": "image", "source": { "type": "file", "value": "file-1", "provider": "openai", "mimeType": "image/png" } },
            { "type": "image", "source": { "type": "url", "value": "http://10.0.0.1/a.png", "mimeType": "image/png" } },
            { "type": "image", "source": { "type": "data", "value": "!", "mimeType": "image/png" } },
            { "type": "binary", "mimeType": "image/png", "id": "file-1" },
        ]);
        let image = |media: Media| Part::Image(media.with_media_type("image/png"));
        let expected = [
            image(Media::url("provider-file:openai:file-1")),
            image(Media::url("http://10.0.0.1/a.png")),
            image(Media::base64("image/png", "!")),
            image(Media::url("provider-file::file-1")),
        ];
        assert_eq!(read(&parts).for_model(), expected);
        // A client gets each as it sent it.
        let Content::Parts(read) = Content::of(&expected, true) else { panic!() };
        assert_eq!(json!(read[..3]), json!(parts.as_array().unwrap()[..3]));
        assert_eq!(read[3].in_early_form(), parts[3]);
    }
}
