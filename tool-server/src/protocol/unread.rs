//! The notices about files that the model could not read, in the form of both protocols.

use std::{
    collections::HashSet,
    hash::{DefaultHasher, Hash, Hasher},
};

use serde_json::{Value, json};
use tool_runtime::{Agent, Message, Part, agent::Event, run::Run};

/// The files of a response's prompts that the models could not read. A client receives a notice about each, once, before the first
/// output of a model that could not read it. A notice is no entry of the log.
#[derive(Debug, Default)]
pub struct UnreadFiles {
    /// The agent, which names the files that none of its models reads. It counts where the request to the model is not seen.
    agent: Option<Agent>,
    /// The model that was asked last, if this process asked it.
    model: Option<String>,
    /// The hashes of the files that were described, each with the model.
    described: HashSet<(u64, String)>,
    /// The files of the prompts that no notice was about.
    files: Vec<File>,
    /// Set if files, descriptions or the model have changed since notices were due.
    is_changed: bool,
}

#[derive(Debug)]
struct File {
    hash: u64,
    /// Set if no model of the agent reads it.
    is_unreadable: bool,
    notice: Notice,
}

/// A notice about a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Notice {
    /// The id of the prompt and the number of the file's part in it: two files may have the same description.
    pub id: String,
    pub data: Value,
}

impl UnreadFiles {
    /// Creates the list for responses of `agent`.
    pub fn of(agent: Option<Agent>) -> Self {
        Self { agent, ..Self::default() }
    }

    /// Notes `event`, and returns the notices that are due before it.
    pub fn note(&mut self, event: &Event<'_>) -> Vec<Notice> {
        match *event {
            Event::Prompted(prompt) => {
                let files = self.files_in(prompt.id.as_deref(), &prompt.content);
                self.files.extend(files);
            }
            Event::ModelAsked { model, .. } => self.model = Some(model.to_owned()),
            // A client may not see the results of calls, and did not attach them.
            Event::PartDescribed { part, call: None, model } => {
                self.described.insert((hash_of(part), model.to_owned()));
            }
            Event::Text(_)
            | Event::Reasoning(_)
            | Event::CallAnnounced { .. }
            | Event::ProviderPart(_)
            | Event::TurnEnded { .. } => {
                return if std::mem::take(&mut self.is_changed) { self.take() } else { Vec::new() };
            }
            _ => return Vec::new(),
        }
        self.is_changed = true;
        Vec::new()
    }

    /// Returns the notices about the prompt number `prompt` of `run`, which was answered before: about the files that no model of the
    /// agent reads.
    pub fn recall(&self, run: &Run, prompt: usize) -> Vec<Notice> {
        let prompt = run.prompts().get(prompt);
        let message = prompt.and_then(|prompt| run.messages().get(usize::try_from(prompt.at).ok()?));
        let Some((prompt, Message::User { content })) = prompt.zip(message) else { return Vec::new() };
        let files = self.files_in(prompt.id.as_deref(), content).into_iter().filter(|file| file.is_unreadable);
        files.map(|file| file.notice).collect()
    }

    fn files_in(&self, id: Option<&str>, content: &[Part]) -> Vec<File> {
        let unreadable = self.agent.as_ref().map(|agent| agent.unreadable_in(content)).unwrap_or_default();
        let file = |(at, part): (usize, &Part)| {
            let media = part.as_media()?;
            let mut data = json!({ "description": part.in_words() });
            let name = media.name.map(|name| ("filename", name));
            let media_type = media.media_type.map(|kind| ("mediaType", kind));
            for (key, value) in name.into_iter().chain(media_type) {
                data[key] = value.into();
            }
            let is_unreadable = unreadable.iter().any(|other| std::ptr::eq(*other, part));
            let notice = Notice { id: format!("{}-{at}", id.unwrap_or_default()), data };
            Some(File { hash: hash_of(part), is_unreadable, notice })
        };
        content.iter().enumerate().filter_map(file).collect()
    }

    fn take(&mut self) -> Vec<Notice> {
        let (model, described) = (&self.model, &self.described);
        let is_unread = |file: &mut File| match model {
            Some(model) => described.contains(&(file.hash, model.clone())),
            // Another process asked the model.
            None => file.is_unreadable,
        };
        self.files.extract_if(.., is_unread).map(|file| file.notice).collect()
    }
}

fn hash_of(part: &Part) -> u64 {
    let mut hasher = DefaultHasher::new();
    part.as_media().hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use tool_runtime::{
        Media,
        message::{FinishReason, Usage},
        run::{Prompt, Timestamp},
    };

    use super::*;

    fn ended() -> Event<'static> {
        Event::TurnEnded { reason: &FinishReason::Stop, usage: Usage::default() }
    }

    fn prompt(content: Vec<Part>) -> Prompt {
        Prompt::new(content, "anna".into(), Timestamp(0)).with_id("m1")
    }

    fn pdf(data: &str) -> Part {
        Part::Document(Media::base64("application/pdf", data).with_name("a.pdf"))
    }

    fn notice(at: usize) -> Notice {
        let data = json!({ "description": "(a document, a.pdf)", "filename": "a.pdf", "mediaType": "application/pdf" });
        Notice { id: format!("m1-{at}"), data }
    }

    #[test]
    fn only_the_model_that_answers_counts() {
        let file = pdf("AAAA");
        let mut unread = UnreadFiles::default();
        let asked = |model| Event::ModelAsked { model, failures: 0 };
        let described = |part, call, model| Event::PartDescribed { part, call, model };
        unread.note(&Event::Prompted(&prompt(vec![file.clone()])));
        unread.note(&asked("blind"));
        unread.note(&described(&file, None, "blind"));
        unread.note(&described(&pdf("BBBB"), Some("call_1"), "blind"));
        // A fallback takes over, and reads the file.
        unread.note(&Event::TurnFailed { error: "down", again: true });
        unread.note(&asked("seeing"));
        assert!(unread.note(&ended()).is_empty());
        // The runtime does not describe a part to the same model again.
        unread.note(&asked("blind"));
        assert_eq!(unread.note(&Event::Text("Hello.")), [notice(0)]);
        assert!(unread.note(&Event::Text("Hello.")).is_empty() && unread.note(&ended()).is_empty());
    }

    #[test]
    fn each_file_of_the_prompt_has_a_notice() {
        let files = vec![pdf("AAAA"), Part::text("Look."), pdf("BBBB"), pdf("AAAA")];
        let mut unread = UnreadFiles::default();
        unread.note(&Event::Prompted(&prompt(files.clone())));
        unread.note(&Event::ModelAsked { model: "blind", failures: 0 });
        // Equal files are described once. So is one of an earlier message, which this response does not answer.
        for part in [&files[0], &files[2], &pdf("CCCC")] {
            unread.note(&Event::PartDescribed { part, call: None, model: "blind" });
        }
        assert_eq!(unread.note(&ended()), [notice(0), notice(2), notice(3)]);
    }
}
