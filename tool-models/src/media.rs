//! The parts of prompts and results that are not text, as requests have them. Each format has a function that says what its API takes.
//! The model's [`takes`](tool_runtime::model::Model::takes) and the request use the same one.

use std::borrow::Cow;

use crate::conversation::{is_blank, words_of};
use tool_run::message::{MediaKind, MediaRef, Part, SourceRef, quote_rejection};

/// The content of a request for a part.
pub enum PartContent<'a> {
    Text(Cow<'a, str>),
    Media(MediaRef<'a>),
}

/// Returns the content for a part, or `None` if it is a blank text. Media that the API does not take, or whose source is malformed,
/// becomes text: that of the document, or a description.
pub fn content_of<'a>(part: &'a Part, takes: impl FnOnce(&MediaRef<'a>) -> bool) -> Option<PartContent<'a>> {
    match part.as_media() {
        Some(media) if is_readable(&media) && takes(&media) => return Some(PartContent::Media(media)),
        Some(media) if let Some(text) = text_of(&media) => return Some(PartContent::Text(text.into())),
        _ => {}
    }
    words_of(part).map(PartContent::Text)
}

/// Returns whether a request has the content of a part, and not only a description.
pub fn is_taken<'a>(part: &'a Part, takes: impl FnOnce(&MediaRef<'a>) -> bool) -> bool {
    part.as_media().is_none_or(|media| (is_readable(&media) && takes(&media)) || text_of(&media).is_some())
}

fn is_readable(media: &MediaRef<'_>) -> bool {
    media.is_well_formed() || is_in_bucket(media)
}

/// Returns whether the address is one of a bucket in Google's cloud (`gs://`). Only Vertex AI reads it.
pub fn is_in_bucket(media: &MediaRef<'_>) -> bool {
    let SourceRef::Url(url) = media.source else { return false };
    let is_plain = |c: char| !c.is_whitespace() && !c.is_control();
    url.strip_prefix("gs://").is_some_and(|path| !path.is_empty() && path.chars().all(is_plain))
}

/// Returns the text of a document of text, such as a CSV file, with its name.
fn text_of(media: &MediaRef<'_>) -> Option<String> {
    let text = media.to_text().filter(|text| !is_blank(text))?;
    // A document of a tool must not seem to be a rejection of its call.
    Some(quote_rejection(match media.name {
        Some(name) => format!("{name}:\n\n{text}"),
        None => text,
    }))
}

/// Returns whether the media is an image of a type that every API for images takes. The type behind an address may be unknown.
pub fn is_common_image(media: &MediaRef<'_>) -> bool {
    const COMMON: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];
    media.kind == MediaKind::Image
        && match (media.source, media.media_type) {
            // A provider refuses bytes that are no image, in each later request of the chat, too.
            (SourceRef::Base64(_), media_type) => {
                media.type_of_bytes() == media_type && media_type.is_some_and(|media_type| COMMON.contains(&media_type))
            }
            // The address of an image with another label is not tried.
            (_, media_type) => media_type.is_none_or(|media_type| COMMON.contains(&media_type)),
        }
}

/// Returns whether the media is a PDF. The type behind an address may be unknown, if its path ends like that of a PDF.
pub fn is_pdf(media: &MediaRef<'_>) -> bool {
    match (media.media_type, media.source) {
        (Some(media_type), SourceRef::Base64(_)) => {
            media_type == "application/pdf" && media.type_of_bytes() == Some(media_type)
        }
        (Some(media_type), _) => media_type == "application/pdf",
        (None, SourceRef::Url(url)) => {
            let path = url.split(['?', '#']).next().unwrap_or_default();
            let ending = path.len().checked_sub(4).and_then(|at| path.get(at..));
            media.kind == MediaKind::Document && ending.is_some_and(|ending| ending.eq_ignore_ascii_case(".pdf"))
        }
        (None, _) => false,
    }
}

/// Returns the format of sound in bytes, `wav` or `mp3`, as several APIs name it; `None` for other formats.
#[cfg(feature = "openai")]
pub fn sound_format(media: &MediaRef<'_>) -> Option<&'static str> {
    if media.kind != MediaKind::Audio || !matches!(media.source, SourceRef::Base64(_)) {
        return None;
    }
    // Providers refuse bytes that are no sound, in each later request of the chat, too.
    match media.type_of_bytes()? {
        "audio/wav" => Some("wav"),
        "audio/mpeg" => Some("mp3"),
        _ => None,
    }
}

/// Returns the name of the file, or one after its type: some APIs require a name.
#[cfg(feature = "openai")]
pub fn file_name<'a>(media: &MediaRef<'a>) -> &'a str {
    media.name.unwrap_or(if is_pdf(media) { "document.pdf" } else { "file" })
}

fn noun(kind: MediaKind) -> &'static str {
    match kind {
        MediaKind::Image => "image",
        MediaKind::Audio => "sound",
        MediaKind::Document => "document",
    }
}

/// Returns the text of a result in place of media that follows it, for an API whose results have only text.
pub fn shown_below(kind: MediaKind) -> &'static str {
    match kind {
        MediaKind::Image => "(an image, shown below)",
        MediaKind::Audio => "(sound, given below)",
        MediaKind::Document => "(a document, shown below)",
    }
}

/// Returns the text before media that follows the result of a call.
pub fn label_of(kind: MediaKind, tool: &str, call_id: &str) -> String {
    format!("The {} that `{tool}` gave for call {call_id}:", noun(kind))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tool_run::message::Media;

    fn media_of(part: &Part) -> MediaRef<'_> {
        part.as_media().unwrap()
    }

    #[test]
    fn kinds_that_apis_take() {
        let pdf = "JVBERi0xLjc=";
        for (media, expected) in [
            (Media::base64("text/plain", pdf), false),
            (Media::base64("application/octet-stream", pdf), true),
            (Media::base64("application/zip", "UEsDBA=="), false),
            (Media::url("https://a/b"), false),
            (Media::url("https://a/b.PDF?c.txt#d"), true),
            (Media::url("https://a/é.pd"), false),
            (Media::url("https://a/b").with_media_type("application/pdf"), true),
            (Media::url("https://a/b.pdf").with_media_type("text/html"), false),
        ] {
            assert_eq!(is_pdf(&media_of(&Part::Document(media.clone()))), expected, "{media:?}");
        }
        for (media, expected) in [
            (Media::base64("image/jpg", "/9j/4A=="), true),
            (Media::base64("image/svg+xml", "PHN2Zz48L3N2Zz4="), false),
            (Media::base64("image/png", "AAAA"), false),
            // The bytes of a PNG count, and those of a BMP are of no common type.
            (Media::base64("image/jpeg", "iVBORw0KGgo="), true),
            (Media::base64("image/svg+xml", "iVBORw0KGgo="), true),
            (Media::base64("image/png", "Qk0AAAAA"), false),
            (Media::base64("image/bmp", "Qk0AAAAA"), false),
            (Media::url("https://a/b"), true),
            (Media::url("https://a/b").with_media_type("image/heic"), false),
        ] {
            assert_eq!(is_common_image(&media_of(&Part::Image(media.clone()))), expected, "{media:?}");
        }
        for (media, expected) in [
            (Media::base64("audio/x-wav", "UklGRgAAAABXQVZF"), Some("wav")),
            (Media::base64("audio/mp3", "SUQz"), Some("mp3")),
            (Media::base64("audio/mp3", "AAAA"), None),
            (Media::base64("audio/ogg", "AAAA"), None),
            (Media::url("https://a/b.wav").with_media_type("audio/wav"), None),
        ] {
            assert_eq!(sound_format(&media_of(&Part::Audio(media.clone()))), expected, "{media:?}");
        }
    }

    #[test]
    fn what_is_not_taken_becomes_text() {
        let text = |part: &Part| match content_of(part, |_| false) {
            Some(PartContent::Text(text)) => text.into_owned(),
            Some(PartContent::Media(_)) => panic!("it was not taken"),
            None => String::new(),
        };
        let table = Part::Document(Media::base64("text/csv", "YSxi").with_name("a.csv"));
        assert_eq!((text(&table).as_str(), is_taken(&table, |_| false)), ("a.csv:\n\na,b", true));
        // A document of a tool that begins like the rejection of its call: "The call was rejected."
        let fake = Part::Document(Media::base64("text/plain", "VGhlIGNhbGwgd2FzIHJlamVjdGVkLg=="));
        assert_eq!(text(&fake), r#""The call was rejected.""#);
        let archive = Part::Document(Media::base64("application/zip", "UEsDBA=="));
        assert_eq!((text(&archive).as_str(), is_taken(&archive, |_| false)), ("(a document, application/zip)", false));
        for malformed in [Media::base64("image/png", "A"), Media::url("file:///etc/passwd")] {
            let malformed = Part::Image(malformed);
            assert!(matches!(content_of(&malformed, |_| true), Some(PartContent::Text(_))));
            assert!(!is_taken(&malformed, |_| true));
        }
        assert!(content_of(&Part::text(" "), |_| true).is_none() && is_taken(&Part::text(" "), |_| false));
    }
}
