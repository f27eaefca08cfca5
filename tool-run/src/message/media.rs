//! Images, sound and documents in a conversation.

use std::borrow::Cow;

use base64::{
    Engine,
    alphabet::STANDARD,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
    prelude::BASE64_STANDARD,
};
use serde::{Deserialize, Serialize};

use super::Part;

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

    /// Creates media from bytes, such as those of a file.
    ///
    /// ```
    /// # use tool_run::message::Media;
    /// assert_eq!(Media::bytes("application/pdf", b"%PDF-1.7"), Media::base64("application/pdf", "JVBERi0xLjc="));
    /// ```
    pub fn bytes(media_type: impl Into<String>, bytes: impl AsRef<[u8]>) -> Self {
        Self::base64(media_type, BASE64_STANDARD.encode(bytes))
    }

    /// Creates media from an address. The address of bytes, which is a `data:` URL with base64, becomes the bytes.
    ///
    /// ```
    /// # use tool_run::message::Media;
    /// assert_eq!(Media::url("data:image/png;base64,AAAA"), Media::base64("image/png", "AAAA"));
    /// ```
    pub fn url(url: impl Into<String>) -> Self {
        let url = url.into();
        match split_data_url(&url) {
            Some((media_type, data)) => Self::base64(media_type, data),
            None => Self { media_type: None, name: None, source: Source::Url(url) },
        }
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

    /// Returns the part for this media: an image, sound or a document, as the bytes or else the media type decide.
    ///
    /// ```
    /// # use tool_run::message::{Media, Part};
    /// let sound = Media::url("https://example.com/a").with_media_type("audio/ogg");
    /// assert_eq!(sound.clone().into_part(), Part::Audio(sound));
    /// ```
    pub fn into_part(self) -> Part {
        match MediaRef::of(None, &self).kind {
            MediaKind::Image => Part::Image(self),
            MediaKind::Audio => Part::Audio(self),
            MediaKind::Document => Part::Document(self),
        }
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
        MediaRef::of(None, self).to_url()
    }

    /// Returns the number of bytes of the base64 data and the name, or of the address, the name and the media type. Early records do not
    /// count the type of bytes.
    pub fn size(&self) -> usize {
        let named = self.name.as_ref().map_or(0, String::len);
        match &self.source {
            Source::Base64(data) => data.len() + named,
            Source::Url(url) => url.len() + named + self.media_type.as_ref().map_or(0, String::len),
        }
    }

    /// Returns the name, or else the media type, or else the address, up to [`MAX_LABEL`].
    pub(super) fn label(&self) -> &str {
        let address = match &self.source {
            Source::Url(url) if !url.is_empty() => url,
            _ => "of an unknown type",
        };
        let label = self.name.as_deref().or(self.media_type.as_deref()).unwrap_or(address);
        label.char_indices().nth(MAX_LABEL).map_or(label, |(end, _)| &label[..end])
    }
}

/// The kind of a [`MediaRef`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MediaKind {
    /// An image.
    Image,
    /// Sound.
    Audio,
    /// A document, or any other file.
    Document,
}

/// A view of a part that is not text: an image, sound, a document or another file.
///
/// The bytes decide what it is: PNG, JPEG, GIF, WebP and PDF, and the sounds WAV and MP3. A wrong label is corrected, because
/// providers refuse it. Otherwise the label decides.
///
/// ```
/// use tool_run::message::{Media, MediaKind, Part};
///
/// let mislabeled = Part::Document(Media::base64("image/png", "/9j/4AAQSkZJRg=="));
/// let media = mislabeled.as_media().unwrap();
/// assert_eq!((media.kind, media.media_type), (MediaKind::Image, Some("image/jpeg")));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct MediaRef<'a> {
    /// The kind.
    pub kind: MediaKind,
    /// The media type without parameters, such as `image/png`, if it is known.
    pub media_type: Option<&'a str>,
    /// The name of the file, if it has one.
    pub name: Option<&'a str>,
    /// The source.
    pub source: SourceRef<'a>,
}

/// A view of a [`Source`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SourceRef<'a> {
    /// The bytes in base64.
    Base64(&'a str),
    /// An address.
    Url(&'a str),
}

impl MediaKind {
    /// Returns the kind of files with this media type.
    pub fn of(media_type: &str) -> Self {
        let is = |kind: &str| media_type.get(..kind.len()).is_some_and(|start| start.eq_ignore_ascii_case(kind));
        if is("image/") {
            Self::Image
        } else if is("audio/") {
            Self::Audio
        } else {
            Self::Document
        }
    }
}

impl<'a> MediaRef<'a> {
    pub(super) fn of(kind: Option<MediaKind>, media: &'a Media) -> Self {
        let source = match &media.source {
            Source::Base64(data) => SourceRef::Base64(data),
            Source::Url(url) => SourceRef::Url(url),
        };
        Self::new(kind, media.media_type.as_deref(), media.name.as_deref(), source)
    }

    /// Creates a view. Without a `kind`, the media type decides.
    pub(super) fn new(
        kind: Option<MediaKind>,
        media_type: Option<&'a str>,
        name: Option<&'a str>,
        source: SourceRef<'a>,
    ) -> Self {
        let labeled = media_type.map(|label| label.split(';').next().unwrap_or_default().trim());
        let found = match source {
            // The first letters of a text may look like those of an image.
            SourceRef::Base64(data) if !labeled.is_some_and(|label| label.starts_with("text/")) => find_type(data),
            _ => None,
        };
        let kind = match (found, kind) {
            (None, Some(kind)) => kind,
            (found, _) => MediaKind::of(found.or(labeled).unwrap_or_default()),
        };
        Self { kind, media_type: found.or(labeled), name: name.filter(|name| !name.is_empty()), source }
    }

    /// Returns the media type that the first bytes show; `None` for an address, and for bytes of another type.
    pub fn type_of_bytes(&self) -> Option<&'static str> {
        match self.source {
            SourceRef::Base64(data) => find_type(data),
            SourceRef::Url(_) => None,
        }
    }

    /// Returns whether the bytes are base64, and not none, or the address is one of `http` or `https`.
    pub fn is_well_formed(&self) -> bool {
        match self.source {
            SourceRef::Base64(data) => is_base64(data),
            SourceRef::Url(url) => {
                let host = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
                let is_plain = |c: char| !c.is_whitespace() && !c.is_control();
                host.is_some_and(|host| !host.is_empty() && host.chars().all(is_plain))
            }
        }
    }

    /// Returns the address, or the bytes as a `data:` URL.
    pub fn to_url(&self) -> Cow<'a, str> {
        match self.source {
            SourceRef::Base64(data) => {
                let media_type = self.media_type.unwrap_or("application/octet-stream");
                format!("data:{media_type};base64,{data}").into()
            }
            SourceRef::Url(url) => url.into(),
        }
    }

    /// Returns the text of a document whose bytes are UTF-8, such as a CSV file; `None` for any other media.
    ///
    /// ```
    /// use tool_run::message::{Media, Part};
    ///
    /// let table = Part::Document(Media::base64("text/csv", "YSxiCjEsMgo="));
    /// assert_eq!(table.as_media().unwrap().to_text().unwrap(), "a,b\n1,2\n");
    /// ```
    pub fn to_text(&self) -> Option<String> {
        let SourceRef::Base64(data) = self.source else { return None };
        if self.kind != MediaKind::Document || self.type_of_bytes() == Some(PDF) {
            return None;
        }
        let config = GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
        let text = String::from_utf8(GeneralPurpose::new(&STANDARD, config).decode(data).ok()?).ok()?;
        let is_text = !text.chars().any(|c| c.is_control() && !c.is_whitespace());
        is_text.then_some(text)
    }
}

const PDF: &str = "application/pdf";

/// The maximum length of a label, in characters. Labels come from clients, and a model reads them.
const MAX_LABEL: usize = 100;

/// Returns the media type that the first bytes show. They are compared in base64, where three bytes are four characters.
fn find_type(data: &str) -> Option<&'static str> {
    const BEGINNINGS: [(&str, &str); 6] = [
        ("iVBORw0KGgo", "image/png"),
        ("/9j/", "image/jpeg"),
        ("R0lGODdh", "image/gif"),
        ("R0lGODlh", "image/gif"),
        ("JVBERi0", PDF),
        ("SUQz", "audio/mpeg"),
    ];
    // A frame of MP3 begins with FF FB, FF FA, FF F3 or FF F2.
    if data.starts_with("//") && data[2..].starts_with(|c| matches!(c, 'I'..='P' | 'o'..='v')) {
        return Some("audio/mpeg");
    }
    if data.starts_with("UklGR") {
        // Bytes 4 to 7 are a size. Bytes 8 to 11 name the format.
        return match data.get(11..16) {
            Some("XRUJQ") => Some("image/webp"),
            Some("XQVZF") => Some("audio/wav"),
            _ => None,
        };
    }
    BEGINNINGS.iter().find(|(beginning, _)| data.starts_with(beginning)).map(|(_, media_type)| *media_type)
}

/// Returns whether a text is base64 of at least one byte.
fn is_base64(data: &str) -> bool {
    let unpadded = data.strip_suffix("==").or_else(|| data.strip_suffix('=')).unwrap_or(data);
    let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    unpadded.len() > 1 && data.len().is_multiple_of(4) && unpadded.bytes().all(is_digit)
}

/// Returns the media type and the data of a `data:` URL with base64. The default type is that of RFC 2397.
fn split_data_url(url: &str) -> Option<(&str, &str)> {
    let (head, data) =
        url.get(..5).filter(|scheme| scheme.eq_ignore_ascii_case("data:")).map(|_| &url[5..])?.split_once(',')?;
    let media_type = head.strip_suffix(";base64")?.split(';').next().unwrap_or_default();
    Some((if media_type.is_empty() { "text/plain" } else { media_type }, data))
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

    use super::*;

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

    fn encode(bytes: &[u8]) -> String {
        base64::engine::general_purpose::STANDARD.encode(bytes)
    }

    /// The type and the kind come from the bytes, whatever the label and the part.
    #[test]
    fn the_bytes_decide() {
        let files: [(&[u8], &str); 11] = [
            (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "image/png"),
            (b"\xff\xd8\xff\xe0\0\x10JFIF", "image/jpeg"),
            (b"\xff\xd8\xff\xdb\0\x43", "image/jpeg"),
            (b"GIF87a\x01\0\x01\0", "image/gif"),
            (b"GIF89a\x01\0\x01\0", "image/gif"),
            (b"RIFF\xff\xff\xff\xffWEBPVP8 ", "image/webp"),
            (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
            (b"RIFF\xff\xff\xff\xffWAVEfmt ", "audio/wav"),
            (b"ID3\x04\0\0", "audio/mpeg"),
            (b"\xff\xfb\x90\x44\0\0", "audio/mpeg"),
            (b"%PDF-1.7\n", "application/pdf"),
        ];
        for (bytes, expected) in files {
            for label in ["image/png", "audio/ogg", "application/octet-stream", "image/svg+xml; charset=utf-8"] {
                let part = Part::Audio(Media::base64(label, encode(bytes)));
                let media = part.as_media().unwrap();
                assert_eq!((media.media_type, media.kind), (Some(expected), MediaKind::of(expected)), "{label}");
                assert!(media.is_well_formed() && media.to_text().is_none());
            }
        }
        for (bytes, label) in
            [(&b"BM\0\0"[..], "image/bmp"), (b"RIFF\0\0\0\0AVI ", "image/png"), (b"RIFF", "image/png")]
        {
            let part = Part::Image(Media::base64(format!("{label};a=b"), encode(bytes)));
            assert_eq!(part.as_media().unwrap().media_type, Some(label));
        }
    }

    #[test]
    fn a_file_of_a_server_is_media() {
        let file = |uri: &str, media_type: Option<&str>, bytes: &[u8]| Part::Resource {
            uri: uri.into(),
            media_type: media_type.map(Into::into),
            contents: super::super::ResourceContents::Base64(encode(bytes)),
        };
        let cases = [
            (file("file:///a/b.pdf", None, b"%PDF-1.7"), MediaKind::Document, Some("application/pdf"), Some("b.pdf")),
            (file("x:/", Some("audio/ogg"), b"OggS"), MediaKind::Audio, Some("audio/ogg"), None),
            (file("a.zip", None, b"PK\x03\x04"), MediaKind::Document, None, Some("a.zip")),
        ];
        for (part, kind, media_type, name) in cases {
            let media = part.as_media().unwrap();
            assert_eq!((media.kind, media.media_type, media.name), (kind, media_type, name));
        }
        assert!(Part::text("a").as_media().is_none());
    }

    #[test]
    fn text_in_a_document() {
        let text = |label: &str, bytes: &[u8]| {
            let part = Part::Document(Media::base64(label, encode(bytes)));
            part.as_media().unwrap().to_text()
        };
        assert_eq!(text("text/plain", "ID3 ä\r\n".as_bytes()).as_deref(), Some("ID3 ä\r\n"));
        assert_eq!(text("application/octet-stream", b"fn main() {}").as_deref(), Some("fn main() {}"));
        for binary in [&b"PK\x03\x04"[..], b"\xff\xfe", b"%PDF-1.7"] {
            assert_eq!(text("application/octet-stream", binary), None);
        }
        let unpadded = Part::Document(Media::base64("text/plain", "YQ"));
        assert_eq!(unpadded.as_media().unwrap().to_text().as_deref(), Some("a"));
        for other in [Part::Image(Media::base64("image/svg+xml", "YQ==")), Part::Document(Media::url("https://a"))] {
            assert_eq!(other.as_media().unwrap().to_text(), None);
        }
    }

    #[test]
    fn malformed_media() {
        let is_well_formed = |media: Media| Part::Image(media).as_media().unwrap().is_well_formed();
        for data in ["", "A", "AA", "AAA", "====", "A===", "AA=A", "AAAA\n", "AA A", "AAA!", "AAA_", "AAAAA"] {
            assert!(!is_well_formed(Media::base64("image/png", data)), "{data}");
        }
        for data in ["AA==", "AAA=", "AAAA", "+/+/"] {
            assert!(is_well_formed(Media::base64("image/png", data)), "{data}");
        }
        for url in ["", "https://", "file:///etc/passwd", "ftp://a", "//a", "https://a b", "https://a\n", "data:,a"] {
            assert!(!is_well_formed(Media::url(url)), "{url}");
        }
        assert!(is_well_formed(Media::url("http://a")) && is_well_formed(Media::url("https://a/ä?b#c")));
    }

    /// The limits of a run count every part of a file that a client chooses.
    #[test]
    fn names_and_types_have_a_size() {
        let file = Media::url("x".repeat(100)).with_name("x".repeat(1000)).with_media_type("x".repeat(10_000));
        assert_eq!(Part::Document(file).size(), 11_100);
    }

    #[test]
    fn addresses_of_bytes() {
        for (url, media_type) in [
            ("data:image/png;base64,AAAA", "image/png"),
            ("DATA:image/png;name=a;base64,AAAA", "image/png"),
            ("data:;base64,AAAA", "text/plain"),
        ] {
            assert_eq!(Media::url(url), Media::base64(media_type, "AAAA"));
        }
        for url in ["data:text/plain,hi", "data:image/png;base64", "dat", "däta:;base64,"] {
            assert_eq!(Media::url(url).source, Source::Url(url.into()));
        }
    }

    /// A client may send a name, a type or an address of any length, and a model reads the label.
    #[test]
    fn labels_are_short() {
        for media in [
            Media::url("x".repeat(1000)),
            Media::url("").with_name("ä".repeat(1000)),
            Media::base64("x".repeat(1000), ""),
        ] {
            assert_eq!(media.label().chars().count(), MAX_LABEL);
        }
        assert_eq!(Media::url("").label(), "of an unknown type");
    }
}
