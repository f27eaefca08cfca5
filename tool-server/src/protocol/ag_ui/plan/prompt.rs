//! What a person said since.

use std::collections::{HashMap, HashSet};

use super::{Base, Plan, Said, is_result};
use crate::protocol::ag_ui::input::RunInput;
use crate::protocol::ag_ui::message::Message;
use tool_runtime::message::{Message as Known, Part};
use tool_runtime::run::{Phase, Run, StopReason};

impl Plan {
    /// Takes what stands at the end of the client's conversation and was said by the person.
    pub(super) fn prompt(&mut self, run: &Run, input: &RunInput, strays: Vec<String>, has_resumed: bool) {
        let said = said_last(input);
        let places = places(run);
        let is_new = |said: &&Said| said.id.as_deref().is_none_or(|id| !places.contains_key(id));
        let new: Vec<Said> = said.iter().filter(is_new).cloned().collect();
        if new.is_empty() {
            match said.last() {
                Some(last) => {
                    if let Some(at) = last.id.as_deref().and_then(|id| places.get(id)) {
                        self.again(run, last, *at, has_resumed);
                    }
                }
                None if !strays.is_empty() => {
                    let content = strays.into_iter().map(Part::text).collect();
                    self.prompt = Some(Said { id: None, content });
                }
                None => {}
            }
            return;
        }
        self.base = match known_before(&places, input, &new) {
            // What came after it was taken back.
            Some(at) if at + 1 < run.prompts().len() => Base::Branch(at + 1),
            _ => Base::Known,
        };
        let id = new.last().and_then(|said| said.id.clone());
        self.prompt = Some(Said { id, content: new.into_iter().flat_map(|said| said.content).collect() });
    }

    /// The client's conversation ends with something that was said before: it is said otherwise, or answered anew.
    fn again(&mut self, run: &Run, last: &Said, at: usize, has_resumed: bool) {
        let is_last = at + 1 == run.prompts().len();
        let is_same = matches!(run.messages().get(run.prompts()[at].at as usize),
            Some(Known::User { content }) if *content == last.content);
        let waits = run.obligations().any(|open| !is_result(open));
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

/// The prompt of the run that was said last before `new`.
fn known_before(places: &HashMap<&str, usize>, input: &RunInput, new: &[Said]) -> Option<usize> {
    let new: HashSet<_> = new.iter().filter_map(|said| said.id.as_deref()).collect();
    input.messages.iter().rev().find_map(|message| match message {
        Message::User { id, .. } if !new.contains(id.as_str()) => places.get(id.as_str()).copied(),
        _ => None,
    })
}

/// The places of the prompts of the run that have ids; of two with one id, that of the last.
fn places(run: &Run) -> HashMap<&str, usize> {
    let prompts = run.prompts().iter().enumerate();
    prompts.filter_map(|(at, said)| Some((said.id.as_deref()?, at))).collect()
}
