//! The files that a client attaches to a message.

use tool_runtime::message::{Media, Part, Source};

/// Returns the part for a file: an image, sound or a document. The conversation has every file, also one that no model can read:
/// the agent decides what a model reads in its place ([`Agent::unreadable_parts`](tool_runtime::Agent::unreadable_parts)).
pub fn attached(media: Media) -> Part {
    let mut part = media.into_part();
    if let Part::Image(media) | Part::Audio(media) | Part::Document(media) = &mut part
        // Pages name only the kind where they do not know the type: `image/*`.
        && media.media_type.as_ref().is_some_and(|media_type| media_type.contains('*'))
    {
        let is_address = matches!(media.source, Source::Url(_));
        media.media_type = (!is_address).then(|| "application/octet-stream".to_owned());
    }
    part
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_without_a_type() {
        let address = Media::url("https://a/b");
        assert_eq!(attached(address.clone().with_media_type("image/*")), Part::Image(address));
        let bytes = attached(Media::base64("audio/*", "AAAA"));
        assert_eq!(bytes, Part::Audio(Media::base64("application/octet-stream", "AAAA")));
    }
}
