//! What a person said since.

use super::{Base, Plan, Said};
use crate::message::{Message as Known, Part};
use crate::protocol::ag_ui::input::RunInput;
use crate::protocol::ag_ui::message::Message;
use crate::run::{ObligationKind, Phase, Run, StopReason};

impl Plan {
    /// Takes what stands at the end of the client's conversation and was said by the person.
    pub(super) fn prompt(&mut self, run: &Run, input: &RunInput, strays: Vec<String>, has_resumed: bool) {
        let said = said_last(input);
        let is_new = |said: &&Said| said.id.as_deref().is_none_or(|id| place(run, id).is_none());
        let new: Vec<Said> = said.iter().filter(is_new).cloned().collect();
        if new.is_empty() {
            match said.last() {
                Some(last) => self.again(run, last, has_resumed),
                None if !strays.is_empty() => {
                    let content = strays.into_iter().map(Part::text).collect();
                    self.prompt = Some(Said { id: None, content });
                }
                None => {}
            }
            return;
        }
        self.base = match known_before(run, input, &new) {
            // What came after it was taken back.
            Some(at) if at + 1 < run.prompts().len() => Base::Branch(at + 1),
            _ => Base::Known,
        };
        let id = new.last().and_then(|said| said.id.clone());
        self.prompt = Some(Said { id, content: new.into_iter().flat_map(|said| said.content).collect() });
    }

    /// The client's conversation ends with something that was said before: it is said otherwise, or answered anew.
    fn again(&mut self, run: &Run, last: &Said, has_resumed: bool) {
        let Some(at) = last.id.as_deref().and_then(|id| place(run, id)) else { return };
        let is_last = at + 1 == run.prompts().len();
        let is_same = matches!(run.messages().get(run.prompts()[at].at as usize),
            Some(Known::User { content }) if *content == last.content);
        let waits = run.obligations().any(|open| !matches!(open.kind, ObligationKind::External));
        let was_left = matches!(
            run.phase(),
            Phase::Stopped(StopReason::ModelFailed(_) | StopReason::Cancelled | StopReason::StepLimit)
        );
        // Answers are for what waits now, whatever the client's conversation ends with.
        if has_resumed || is_last && (waits || was_left && is_same) {
            return;
        }
        self.base = Base::Branch(at);
        self.prompt = Some(last.clone());
    }
}

/// The client's id of what was said last.
pub(super) fn last_id(input: &RunInput) -> Option<String> {
    said_last(input).pop()?.id
}

/// What the person said at the end of the client's conversation.
fn said_last(input: &RunInput) -> Vec<Said> {
    let mut said = Vec::new();
    for message in input.messages.iter().rev() {
        match message {
            Message::User { id, content } => {
                let (content, _) = content.for_model();
                said.push(Said { id: Some(id.clone()).filter(|id| !id.is_empty()), content });
            }
            Message::Assistant { .. } | Message::Tool { .. } => break,
            _ => {}
        }
    }
    said.reverse();
    said
}

/// Which prompt of the run the last message is that was said before `new`.
fn known_before(run: &Run, input: &RunInput, new: &[Said]) -> Option<usize> {
    let is_new = |id: &str| new.iter().any(|said| said.id.as_deref() == Some(id));
    input.messages.iter().rev().find_map(|message| match message {
        Message::User { id, .. } if !is_new(id) => place(run, id),
        _ => None,
    })
}

/// Which prompt of the run has this id.
fn place(run: &Run, id: &str) -> Option<usize> {
    run.prompts().iter().rposition(|said| said.id.as_deref() == Some(id))
}
