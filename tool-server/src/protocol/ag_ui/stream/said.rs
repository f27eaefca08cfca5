//! What the model says and thinks.

use super::Writer;
use crate::protocol::ag_ui::event::Event;
use crate::protocol::ag_ui::frame::{ReasoningRole, TextRole};

/// How many bytes of text are in one frame at most: clients take 10 MB, and escapes make a text longer.
pub(super) const MOST_BYTES: usize = 1 << 20;

/// The messages of the turn at hand.
#[derive(Debug, Default)]
pub(super) struct Said {
    /// The assistant's message that calls belong to.
    message: Option<String>,
    /// Whether it is open for text.
    is_open: bool,
    /// The open span of thoughts, and the message in it.
    thoughts: Option<(String, String)>,
}

impl Said {
    /// What comes next belongs to another message.
    pub(super) fn forget(&mut self) {
        self.message = None;
    }
}

impl Writer {
    pub(super) fn text(&mut self, text: &str, out: &mut Vec<u8>) {
        if text.is_empty() {
            return;
        }
        self.end_thoughts(out);
        if !self.said.is_open {
            // A message that was closed, or has calls, is not opened again.
            let id = self.mint();
            Event::TextMessageStart { message_id: &id, role: Some(TextRole::Assistant), name: None }.write(out);
            self.said.message = Some(id);
            self.said.is_open = true;
        }
        let Some(message_id) = self.said.message.as_deref() else { return };
        for delta in pieces(text) {
            Event::TextMessageContent { message_id, delta }.write(out);
        }
    }

    pub(super) fn reasoning(&mut self, text: &str, out: &mut Vec<u8>) {
        if text.is_empty() {
            return;
        }
        self.end_text(out);
        if self.said.thoughts.is_none() {
            let (span, message) = (self.mint(), self.mint());
            Event::ReasoningStart { message_id: &span }.write(out);
            Event::ReasoningMessageStart { message_id: &message, role: ReasoningRole::Reasoning }.write(out);
            self.said.thoughts = Some((span, message));
        }
        let Some((_, message_id)) = &self.said.thoughts else { return };
        for delta in pieces(text) {
            Event::ReasoningMessageContent { message_id, delta }.write(out);
        }
    }

    /// The message that a call of this turn is part of.
    pub(super) fn parent(&mut self) -> String {
        match &self.said.message {
            Some(id) => id.clone(),
            None => {
                let id = self.mint();
                self.said.message = Some(id.clone());
                id
            }
        }
    }

    pub(super) fn end_said(&mut self, out: &mut Vec<u8>) {
        self.end_text(out);
        self.end_thoughts(out);
    }

    fn end_text(&mut self, out: &mut Vec<u8>) {
        if std::mem::take(&mut self.said.is_open)
            && let Some(message_id) = self.said.message.as_deref()
        {
            Event::TextMessageEnd { message_id }.write(out);
        }
    }

    fn end_thoughts(&mut self, out: &mut Vec<u8>) {
        if let Some((span, message)) = self.said.thoughts.take() {
            Event::ReasoningMessageEnd { message_id: &message }.write(out);
            Event::ReasoningEnd { message_id: &span }.write(out);
        }
    }
}

/// A text in pieces that fit a frame.
pub(super) fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (piece, behind) = rest.split_at(rest.floor_char_boundary(MOST_BYTES));
        rest = behind;
        Some(piece)
    })
}
