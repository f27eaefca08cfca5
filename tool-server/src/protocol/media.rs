//! The files that a client attaches to a message.

use tool_runtime::message::{Media, Part, Source, SourceRef};

/// The longest name of a file in a text, in characters.
const MAX_NAME: usize = 100;

/// Returns the part for a file: an image, sound or a document. A file that no model could read becomes a text that says so: its bytes
/// are not base64, or its address is not one of `https`.
pub fn attached(media: Media) -> Part {
    let mut part = media.into_part();
    if !is_usable(&part) {
        let media = part.as_media();
        let known = media.and_then(|media| media.name.or(media.media_type)).unwrap_or("of an unknown type");
        return Part::text(format!(
            "(a file that cannot be read, {})",
            known.chars().take(MAX_NAME).collect::<String>()
        ));
    }
    if let Part::Image(media) | Part::Audio(media) | Part::Document(media) = &mut part
        // Pages name only the kind where they do not know the type: `image/*`.
        && media.media_type.as_ref().is_some_and(|media_type| media_type.contains('*'))
    {
        let is_address = matches!(media.source, Source::Url(_));
        media.media_type = (!is_address).then(|| "application/octet-stream".to_owned());
    }
    part
}

fn is_usable(part: &Part) -> bool {
    let is_public = |source| !matches!(source, SourceRef::Url(url) if !url.starts_with("https://"));
    part.as_media().is_some_and(|media| media.is_well_formed() && is_public(media.source))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_no_model_could_read() {
        for media in [
            Media::url("http://10.0.0.1/a.png").with_media_type("image/png"),
            Media::url("file:///etc/passwd").with_media_type("image/png"),
            Media::url("data:image/png,raw").with_media_type("image/png"),
            Media::url("data:image/png;base64,%41").with_media_type("image/png"),
            Media::base64("image/png", ""),
        ] {
            assert_eq!(attached(media), Part::text("(a file that cannot be read, image/png)"));
        }
        let long = "x".repeat(1000);
        let Part::Text { text } = attached(Media::url("").with_name(long)) else { panic!() };
        assert!(text.len() < 200);
    }

    #[test]
    fn a_kind_without_a_type() {
        let address = Media::url("https://a/b");
        assert_eq!(attached(address.clone().with_media_type("image/*")), Part::Image(address));
        let bytes = attached(Media::base64("audio/*", "AAAA"));
        assert_eq!(bytes, Part::Audio(Media::base64("application/octet-stream", "AAAA")));
    }
}
