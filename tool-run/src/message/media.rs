//! Images, sound and documents in a conversation.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// An image, a sound or a document: its source, and what is known of it.
///
/// ```
/// use tool_run::message::{Media, Part};
///
/// let image = Part::Image(Media::base64("image/png", "iVBORw0KGgo="));
/// let report = Part::Document(Media::url("https://example.com/report.pdf").with_media_type("application/pdf"));
/// # let _ = (image, report);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Fields", into = "Fields")]
#[non_exhaustive]
pub struct Media {
    /// The media type, such as `image/png`. Bytes always have one. An address may lack it.
    pub media_type: Option<String>,
    /// The name of the file, if it has one.
    pub name: Option<String>,
    /// The source.
    pub source: Source,
}

/// The source of a [`Media`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Source {
    /// The bytes in base64 (standard alphabet, padded).
    Base64(String),
    /// An address, such as an `https` URL. Only the provider of a model fetches it.
    Url(String),
}

/// The members of a [`Media`] in JSON.
#[derive(Serialize, Deserialize)]
struct Fields {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    media_type: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    data: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    url: Option<String>,
}

impl Media {
    /// Creates media from bytes in base64 (standard alphabet, padded).
    pub fn base64(media_type: impl Into<String>, data: impl Into<String>) -> Self {
        Self { media_type: Some(media_type.into()), name: None, source: Source::Base64(data.into()) }
    }

    /// Creates media from an address.
    pub fn url(url: impl Into<String>) -> Self {
        Self { media_type: None, name: None, source: Source::Url(url.into()) }
    }

    /// Sets the media type.
    pub fn with_media_type(mut self, media_type: impl Into<String>) -> Self {
        self.media_type = Some(media_type.into());
        self
    }

    /// Sets the name of the file.
    pub fn with_name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Returns the media type and the base64 data; `None` for an address. Bytes of an unknown type are `application/octet-stream`.
    pub fn as_base64(&self) -> Option<(&str, &str)> {
        match &self.source {
            Source::Base64(data) => Some((self.media_type.as_deref().unwrap_or("application/octet-stream"), data)),
            Source::Url(_) => None,
        }
    }

    /// Returns the address, or the bytes as a `data:` URL.
    ///
    /// ```
    /// # use tool_run::message::Media;
    /// assert_eq!(Media::base64("image/png", "AAAA").to_url(), "data:image/png;base64,AAAA");
    /// assert_eq!(Media::url("https://example.com/a.png").to_url(), "https://example.com/a.png");
    /// ```
    pub fn to_url(&self) -> Cow<'_, str> {
        match (self.as_base64(), &self.source) {
            (None, Source::Url(url) | Source::Base64(url)) => url.into(),
            (Some((media_type, data)), _) => format!("data:{media_type};base64,{data}").into(),
        }
    }

    /// Returns the name, or else the media type, or else the address.
    pub(super) fn label(&self) -> &str {
        let address = match &self.source {
            Source::Url(url) => url,
            Source::Base64(_) => "of an unknown type",
        };
        self.name.as_deref().or(self.media_type.as_deref()).unwrap_or(address)
    }
}

impl Source {
    /// Returns whether there are no bytes, or no address.
    pub fn is_empty(&self) -> bool {
        self.size() == 0
    }

    /// Returns the number of bytes of the base64 data or of the address.
    pub fn size(&self) -> usize {
        match self {
            Self::Base64(text) | Self::Url(text) => text.len(),
        }
    }
}

impl TryFrom<Fields> for Media {
    type Error = &'static str;

    fn try_from(fields: Fields) -> Result<Self, Self::Error> {
        let source = match (fields.data, fields.url) {
            (Some(data), None) if fields.media_type.is_some() => Source::Base64(data),
            (Some(_), None) => return Err("missing field `media_type`"),
            (None, Some(url)) => Source::Url(url),
            (None, None) => return Err("missing field `data` or `url`"),
            (Some(_), Some(_)) => return Err("a part has either `data` or `url`"),
        };
        Ok(Self { media_type: fields.media_type, name: fields.name, source })
    }
}

impl From<Media> for Fields {
    fn from(Media { media_type, name, source }: Media) -> Self {
        let (data, url) = match source {
            Source::Base64(data) => (Some(data), None),
            Source::Url(url) => (None, Some(url)),
        };
        Self { media_type, name, data, url }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{super::Part, *};

    #[test]
    fn media_in_json() {
        let parts = [
            (
                Part::Image(Media::base64("image/png", "AAAA")),
                json!({"type": "image", "media_type": "image/png", "data": "AAAA"}),
            ),
            (Part::Audio(Media::url("https://a/b.wav")), json!({"type": "audio", "url": "https://a/b.wav"})),
            (
                Part::Document(Media::base64("application/pdf", "AAAA").with_name("a.pdf")),
                json!({"type": "document", "media_type": "application/pdf", "name": "a.pdf", "data": "AAAA"}),
            ),
        ];
        for (part, value) in parts {
            assert_eq!(serde_json::to_value(&part).unwrap(), value);
            assert_eq!(serde_json::from_value::<Part>(value).unwrap(), part);
        }
        for refused in [
            json!({"type": "image"}),
            json!({"type": "image", "data": ""}),
            json!({"type": "image", "data": "", "url": ""}),
        ] {
            assert!(serde_json::from_value::<Part>(refused).is_err());
        }
    }
}
