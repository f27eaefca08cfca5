//! The part of a long conversation that a model sees.

use super::{AssistantPart, Message, Part, ToolMessage};

/// A rule that leaves out parts of a conversation before the model receives it. By default, it leaves nothing out.
///
/// Each user's message begins a round, except directly after another user's message or after results: then it belongs to the
/// round before. A round also holds the following turns of the model, their calls and the results. Only whole rounds are left
/// out, so each call keeps its result. System messages always stay.
///
/// ```
/// use tool_run::message::{Message, Pruning};
///
/// let pruning = Pruning::new().keep_rounds(1);
/// let history = [Message::user("1"), Message::assistant("one"), Message::user("2")];
/// assert_eq!(pruning.apply(&history), [Message::user("2")]);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pruning {
    rounds: Option<usize>,
    reasoning: bool,
    results: Option<(usize, usize)>,
}

impl Pruning {
    /// Creates a rule that leaves nothing out.
    pub fn new() -> Self {
        Self::default()
    }

    /// Keeps the last `rounds` rounds, at least one.
    pub fn keep_rounds(mut self, rounds: usize) -> Self {
        self.rounds = Some(rounds.max(1));
        self
    }

    /// Leaves out the model's reasoning in all rounds before the last. In the last round the reasoning stays, because some
    /// providers expect it between a call and its result.
    pub fn drop_reasoning(mut self) -> Self {
        self.reasoning = true;
        self
    }

    /// Keeps at most the first `bytes` bytes of each result's text, and puts notes in place of the rest, of images and of other
    /// data. The last `keep` results stay whole.
    pub fn shorten_results(mut self, keep: usize, bytes: usize) -> Self {
        self.results = Some((keep, bytes));
        self
    }

    /// Returns the part of `messages` that a model sees.
    pub fn apply(&self, messages: &[Message]) -> Vec<Message> {
        let mut rounds = Vec::new();
        for (at, message) in messages.iter().enumerate() {
            let follows = at > 0 && matches!(messages[at - 1], Message::User { .. } | Message::Tool(_));
            if matches!(message, Message::User { .. }) && !follows {
                rounds.push(at);
            }
        }
        let last = rounds.last().copied().unwrap_or_default();
        let from = self.rounds.and_then(|keep| rounds.len().checked_sub(keep)).map_or(0, |at| rounds[at]);
        let answers = messages.iter().filter(|message| matches!(message, Message::Tool(_))).count();
        let mut answer = 0;
        let mut kept = Vec::with_capacity(messages.len() - from);
        for (at, message) in messages.iter().enumerate() {
            answer += usize::from(matches!(message, Message::Tool(_)));
            if at < from && !matches!(message, Message::System { .. }) {
                continue;
            }
            match (message, self.results) {
                (Message::Assistant { content }, _) if self.reasoning && at < last => {
                    let thought = |part: &&AssistantPart| matches!(part, AssistantPart::Reasoning { .. });
                    let content: Vec<_> = content.iter().filter(|part| !thought(part)).cloned().collect();
                    if !content.is_empty() {
                        kept.push(Message::Assistant { content });
                    }
                }
                (Message::Tool(result), Some((keep, bytes))) if answer + keep <= answers => {
                    kept.push(Message::Tool(ToolMessage {
                        content: shorten(&result.content, bytes),
                        ..result.clone()
                    }));
                }
                _ => kept.push(message.clone()),
            }
        }
        kept
    }
}

fn shorten(content: &[Part], bytes: usize) -> Vec<Part> {
    let length: usize = content.iter().filter_map(Part::as_text).map(str::len).sum();
    if length <= bytes && content.iter().all(|part| part.as_text().is_some()) {
        return content.to_vec();
    }
    let mut left = bytes;
    let mut kept = Vec::new();
    for part in content {
        let Some(text) = part.as_text() else {
            kept.push(Part::text(match part {
                Part::Image(_) => "(an image, left out)",
                Part::Audio(_) => "(sound, left out)",
                Part::Document(_) => "(a document, left out)",
                _ => "(a resource, left out)",
            }));
            continue;
        };
        if text.len() <= left {
            left -= text.len();
            kept.push(part.clone());
        } else {
            let end = text.floor_char_boundary(left);
            // A JSON value that is cut is not JSON any more, so the part becomes text.
            kept.push(Part::text(format!("{}… ({} bytes left out)", &text[..end], text.len() - end)));
            left = 0;
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{Media, ToolCall};

    fn called(id: &str) -> Message {
        let call = ToolCall { id: id.into(), name: "t".into(), arguments: "{}".into() };
        let thought = AssistantPart::Reasoning { text: "hm".into(), signature: None };
        Message::Assistant { content: vec![thought, AssistantPart::Call(call)] }
    }

    fn answered(id: &str, content: Vec<Part>) -> Message {
        Message::Tool(ToolMessage { call_id: id.into(), tool: "t".into(), content, is_error: false })
    }

    #[test]
    fn only_whole_rounds_are_left_out() {
        let history = [
            Message::system("be kind"),
            Message::user("1"),
            called("a"),
            answered("a", vec![Part::text("A")]),
            Message::user("steers"),
            Message::assistant("one"),
            Message::user("2"),
            called("b"),
            answered("b", vec![Part::text("B")]),
        ];
        let pruned = Pruning::new().keep_rounds(1).apply(&history);
        assert_eq!(pruned, [&history[..1], &history[6..]].concat());
        assert_eq!(Pruning::new().keep_rounds(2).apply(&history), history);
        assert_eq!(Pruning::new().apply(&history), history);
    }

    #[test]
    fn old_reasoning_and_long_answers_are_left_out() {
        let image = Part::Image(Media::base64("image/png", "AAAA"));
        let history = [
            Message::user("1"),
            called("a"),
            answered("a", vec![Part::text("ääää"), image]),
            Message::assistant("one"),
            Message::user("2"),
            called("b"),
            answered("b", vec![Part::text("long enough")]),
        ];
        let pruned = Pruning::new().drop_reasoning().shorten_results(1, 3).apply(&history);
        let Message::Assistant { content } = &pruned[1] else { panic!() };
        assert_eq!(content.len(), 1);
        let short = vec![Part::text("ä… (6 bytes left out)"), Part::text("(an image, left out)")];
        assert_eq!(pruned[2], answered("a", short));
        assert_eq!(pruned[3..], history[3..], "the last round keeps its reasoning, and the last answer is whole");
    }
}
