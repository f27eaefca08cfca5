//! The notices about files that the model could not read, in the form of both protocols.

use serde_json::{Value, json};
use tool_runtime::agent::Event;

/// The files of prompts that the models of a response could not read. A client receives a notice about each, once, when a model
/// that could not read the file has ended its turn. A notice is no entry of the log.
#[derive(Debug, Default)]
pub struct UnreadFiles {
    /// The model that was asked last.
    model: String,
    /// The notices, each with the model that could not read the file.
    described: Vec<(String, Value)>,
    sent: Vec<Value>,
}

impl UnreadFiles {
    /// Notes `event`, and returns the notices that are due after it.
    pub fn note(&mut self, event: &Event<'_>) -> Vec<Value> {
        match *event {
            Event::ModelAsked { model, .. } => model.clone_into(&mut self.model),
            // A client may not see the results of calls, and did not attach them.
            Event::PartDescribed { part, call: None, model } => {
                let media = part.as_media();
                let mut notice = json!({ "description": part.in_words() });
                let name = media.and_then(|media| media.name).map(|name| ("filename", name));
                let media_type = media.and_then(|media| media.media_type).map(|kind| ("mediaType", kind));
                for (key, value) in name.into_iter().chain(media_type) {
                    notice[key] = value.into();
                }
                self.described.push((model.to_owned(), notice));
            }
            Event::TurnEnded { .. } => return self.take(),
            _ => {}
        }
        Vec::new()
    }

    fn take(&mut self) -> Vec<Value> {
        let unread = self.described.iter().filter(|(model, _)| *model == self.model).map(|(_, notice)| notice);
        let mut due: Vec<Value> = Vec::new();
        for notice in unread {
            if !self.sent.contains(notice) && !due.contains(notice) {
                due.push(notice.clone());
            }
        }
        self.sent.extend(due.iter().cloned());
        due
    }
}

#[cfg(test)]
mod tests {
    use tool_runtime::{
        Media, Part,
        message::{FinishReason, Usage},
    };

    use super::*;

    fn described<'a>(part: &'a Part, call: Option<&'a str>, model: &'a str) -> Event<'a> {
        Event::PartDescribed { part, call, model }
    }

    #[test]
    fn only_the_model_that_ends_the_turn_counts() {
        let ended = Event::TurnEnded { reason: &FinishReason::Stop, usage: Usage::default() };
        let file = Part::Document(Media::base64("application/pdf", "AAAA").with_name("a.pdf"));
        let result = Part::Audio(Media::base64("audio/wav", "AAAA"));
        let notice =
            json!({ "description": "(a document, a.pdf)", "filename": "a.pdf", "mediaType": "application/pdf" });

        let mut unread = UnreadFiles::default();
        unread.note(&Event::ModelAsked { model: "blind", failures: 0 });
        unread.note(&described(&file, None, "blind"));
        unread.note(&described(&result, Some("call_1"), "blind"));
        // A fallback takes over, and reads the file.
        unread.note(&Event::TurnFailed { error: "down", again: true });
        unread.note(&Event::ModelAsked { model: "seeing", failures: 1 });
        assert!(unread.note(&ended).is_empty());
        // The runtime does not describe a part to the same model again.
        unread.note(&Event::ModelAsked { model: "blind", failures: 0 });
        assert_eq!(unread.note(&ended), [notice]);
        assert!(unread.note(&ended).is_empty());
    }
}
