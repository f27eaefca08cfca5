//! The checks of a person's new message, before it enters a chat. They are the same in every protocol.

use axum::http::StatusCode;
use tool_runtime::{Part, agent::UnreadableParts, run::Run};
use tool_stores::sealed::DEFAULT_MAX_BYTES;

use super::{ApiError, Shared};

/// The maximum number of files that an error names.
const MAX_NAMED: usize = 3;

/// The maximum size of a run and its new message that the server seals, in bytes. A seal is the base64 of the run, and an eighth of
/// it is for the answer.
const MAX_SEALED_RUN: usize = DEFAULT_MAX_BYTES / 8 * 7 / 4 * 3;

impl Shared {
    /// Checks that a new message has content, that a model of the agent reads it, and that a client can keep it.
    ///
    /// A file that no model reads is no content. With [`UnreadableParts::Refuse`], a message with such a file is refused: in the
    /// conversation, it would make every later turn fail.
    pub(crate) fn check_message(&self, content: &[Part]) -> Result<(), ApiError> {
        let count = content.iter().filter(|part| !part.is_blank()).count();
        if count == 0 {
            let text = "the message has neither text nor an image or a file (a `data:` or an `https:` URL), and nothing else can be read";
            return Err(ApiError::unprocessable("empty_message", text));
        }
        self.check_room(0, content)?;
        let unread = self.agent.unreadable_in(content);
        if unread.is_empty() || unread.len() < count && !self.leaves_out_unreadable() {
            return Ok(());
        }
        let mut named = unread.iter().take(MAX_NAMED).map(|part| part.in_words()).collect::<Vec<_>>().join(", ");
        if unread.len() > MAX_NAMED {
            named.push_str(", and more");
        }
        let remedy = if self.leaves_out_unreadable() {
            "send the message without it"
        } else {
            "send a text with it, or a file that the model reads"
        };
        Err(ApiError::unprocessable("unreadable_message", format!("the model cannot read {named}; {remedy}")))
    }

    /// Returns whether the server leaves out an earlier message of the client's history: it was refused because of this content.
    pub(crate) fn leaves_out(&self, content: &[Part]) -> bool {
        self.leaves_out_unreadable() && !self.agent.unreadable_in(content).is_empty()
    }

    pub(crate) fn leaves_out_unreadable(&self) -> bool {
        self.agent.choice_of_unreadable_parts() == UnreadableParts::Refuse
    }

    /// Checks that a sealed run has room for the files of a new message, if clients keep the runs. Otherwise the client would lose
    /// the files with the answer to the message.
    pub(super) fn check_room_in_seal(&self, run: &Run, content: &[Part]) -> Result<(), ApiError> {
        if self.is_stateless() { self.check_room(run.freeze().len(), content) } else { Ok(()) }
    }

    fn check_room(&self, used: usize, content: &[Part]) -> Result<(), ApiError> {
        let bytes: usize = content.iter().map(Part::size).sum();
        let has_files = content.iter().any(|part| part.as_text().is_none());
        if self.is_stateless() && has_files && used.saturating_add(bytes) > MAX_SEALED_RUN {
            let text = format!(
                "the message is too large: this server keeps no chats, and a chat that its client keeps has at most \
                 {MAX_SEALED_RUN} bytes, with its files; send smaller files, or begin another chat"
            );
            return Err(ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", text));
        }
        Ok(())
    }
}
