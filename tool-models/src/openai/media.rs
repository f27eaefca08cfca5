//! The media that servers of OpenAI's two APIs take.

use super::{Api, OpenAi, find_provider};
use crate::{
    media::{is_common_image, is_in_bucket, is_pdf, sound_format},
    origin::host_of,
};
use tool_run::message::{MediaRef, SourceRef};

/// The media that a server takes, for [`OpenAi::media_rules`].
///
/// ```
/// use tool_models::{OpenAi, openai::MediaRules};
///
/// let rules = MediaRules { images: true, sound: true, ..MediaRules::default() };
/// let local = OpenAi::new("qwen-omni").base_url("http://127.0.0.1:8000/v1").media_rules(rules);
/// # let _ = local;
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MediaRules {
    /// Set if it takes images: PNG, JPEG, GIF and WebP, as bytes.
    pub images: bool,
    /// Set if it fetches images by their addresses, with `http` or `https`. A server in your network may reach what strangers
    /// must not.
    pub image_addresses: bool,
    /// Set if it takes sound: WAV and MP3, as bytes. Only chat completions have a place for it (`input_audio`).
    pub sound: bool,
    /// Set if it takes PDFs, as bytes.
    pub documents: bool,
    /// Set if it fetches PDFs by their addresses. Only the Responses API has a place for them (`file_url`).
    pub document_addresses: bool,
}

/// Returns the rules of the server of the Responses API at `url`. The guide has the sources with their dates (`docs/models.md`).
fn default_rules_of_responses(url: &str) -> MediaRules {
    let bytes = MediaRules { images: true, ..MediaRules::default() };
    let fetches = MediaRules { image_addresses: true, ..bytes };
    match find_provider(url) {
        Some("openai" | "azure.ai.openai" | "aws.bedrock") => {
            MediaRules { documents: true, document_addresses: true, ..fetches }
        }
        Some("x_ai") => fetches,
        Some("deepseek") => MediaRules::default(),
        _ if host_of(url) == "openrouter.ai" => MediaRules { documents: true, document_addresses: true, ..fetches },
        _ => bytes,
    }
}

/// Returns the rules of the server of chat completions at `url` for its model named `model`. The guide has the sources with their
/// dates (`docs/models.md`).
fn default_rules_of_chat(url: &str, model: &str) -> MediaRules {
    let bytes = MediaRules { images: true, ..MediaRules::default() };
    let fetches = MediaRules { image_addresses: true, ..bytes };
    // The other models of OpenAI refuse sound.
    let sound = model.contains("audio");
    match find_provider(url) {
        Some("openai") => MediaRules { sound, documents: true, ..fetches },
        // It refuses files in this protocol.
        Some("azure.ai.openai" | "azure.ai.inference") => MediaRules { sound, ..fetches },
        Some("gcp.gemini") => MediaRules { sound: true, ..bytes },
        Some("mistral_ai" | "groq" | "x_ai") => fetches,
        Some("deepseek") => MediaRules::default(),
        _ if host_of(url) == "openrouter.ai" => MediaRules { sound: true, documents: true, ..fetches },
        // Ollama and Moonshot refuse addresses. A server that fetches them would do so in the application's network.
        _ => bytes,
    }
}

impl OpenAi {
    /// Returns whether the server takes the media.
    pub(super) fn takes_media(&self, media: &MediaRef<'_>) -> bool {
        if is_in_bucket(media) {
            return false;
        }
        let api = self.effective_api();
        let rules = self.media_rules.unwrap_or_else(|| match api {
            Api::Responses => default_rules_of_responses(&self.base_url),
            Api::Chat => default_rules_of_chat(&self.base_url, &self.model),
        });
        let has_bytes = matches!(media.source, SourceRef::Base64(_));
        let takes_document =
            if has_bytes { rules.documents } else { rules.document_addresses && api == Api::Responses };
        (rules.images && is_common_image(media) && (has_bytes || rules.image_addresses))
            || (rules.sound && api == Api::Chat && sound_format(media).is_some())
            || (takes_document && is_pdf(media))
    }
}
