//! The conversation of a run, as the model sees it and as the calls of a turn share it.

use std::{collections::HashSet, hash::BuildHasher, sync::Arc};

use super::LoggedRun;
use crate::agent::{
    Agent,
    compaction::shortened,
    unreadable::{Place, places_of_media},
};
use crate::message::{AssistantPart, Message, Part};
use crate::run::{Phase, Run};
use crate::tool::Context;
use tool_run::run::Summary;

/// The conversation with the instructions, and the context that the calls of a turn share.
///
/// It grows in place from step to step and from drive to drive, so their cost does not grow with the run. It is copied only if an
/// earlier state is still in use, for example by a tool that goes on in the background.
pub struct Conversation {
    /// The instructions with which `messages` begins.
    instructions: Option<Arc<str>>,
    messages: Arc<Vec<Message>>,
    /// The places of the parts of `messages` that are no text.
    media: Vec<Place>,
    /// The number of the run's messages in `messages`, or in the summary.
    known: usize,
    /// The number of messages that the summary in `messages` covers.
    summarized: u32,
    pub context: Context,
    /// The hashes of the parts that were described to a model, with the model's name.
    described: HashSet<u64, foldhash::fast::RandomState>,
}

impl LoggedRun {
    /// Returns the places of the parts of the conversation that are no text.
    pub fn media(&self) -> &[Place] {
        &self.conversation.media
    }

    /// Returns whether it is the first time in the session that `part` is described to `model`.
    pub fn is_new_description(&mut self, part: &Part, model: &str) -> bool {
        let described = &mut self.conversation.described;
        let hash = described.hasher().hash_one((part.as_media(), model));
        described.insert(hash)
    }
}

impl Conversation {
    pub fn new(agent: &Agent) -> Self {
        Self {
            instructions: agent.setup.instructions.clone(),
            messages: Arc::default(),
            media: Vec::new(),
            known: 0,
            summarized: 0,
            context: agent.setup.context.clone(),
            described: HashSet::default(),
        }
    }

    /// Goes on with the settings of `agent`.
    pub fn restart(&mut self, agent: &Agent) {
        self.context = agent.setup.context.clone();
        if self.instructions != agent.setup.instructions {
            self.instructions.clone_from(&agent.setup.instructions);
            self.forget();
        }
    }

    /// Extends the conversation up to the turn whose calls are handled, and renews the context.
    pub fn extend(&mut self, agent: &Agent, run: &Run) -> Arc<Vec<Message>> {
        // The old context is released first. It shares the messages, which would otherwise be copied.
        self.context = agent.setup.context.clone();
        let messages = self.grown(run.summary(), before_calls(run));
        let context = self.context.clone().with_shared_messages(Arc::clone(&messages));
        // An empty list needs no allocation.
        let taint: Arc<[String]> = if run.taint().is_empty() { Arc::default() } else { run.taint().into() };
        self.context = context.with_taint(taint);
        messages
    }

    fn grown(&mut self, summary: Option<&Summary>, messages: &[Message]) -> Arc<Vec<Message>> {
        let all = Arc::make_mut(&mut self.messages);
        let summarized = summary.map_or(0, |summary| summary.messages);
        if self.known == 0 || self.known > messages.len() || self.summarized != summarized {
            all.clear();
            self.media.clear();
            all.extend(self.instructions.as_deref().map(Message::system));
            all.extend(shortened(summary, messages));
            (self.summarized, self.known) = (summarized, (summarized as usize).min(messages.len()));
        }
        let before = all.len();
        all.extend_from_slice(&messages[self.known..]);
        self.media.extend(places_of_media(all, before));
        self.known = messages.len();
        Arc::clone(&self.messages)
    }

    /// Clears the conversation after the run was loaded again.
    pub fn forget(&mut self) {
        self.messages = Arc::default();
        self.known = 0;
    }
}

/// Returns the conversation of `run` with the instructions, up to the turn whose calls are handled.
pub fn conversation(agent: &Agent, run: &Run) -> Arc<Vec<Message>> {
    Conversation::new(agent).grown(run.summary(), before_calls(run))
}

/// Returns the run's messages, without the turn whose calls are handled.
fn before_calls(run: &Run) -> &[Message] {
    match (run.phase(), run.messages()) {
        (Phase::Acting | Phase::Suspended, [before @ .., Message::Assistant { content }]) if has_call(content, run) => {
            before
        }
        (_, all) => all,
    }
}

/// Returns whether `content` is the turn whose calls are handled.
fn has_call(content: &[AssistantPart], run: &Run) -> bool {
    let mut ids = content.iter().filter_map(|part| match part {
        AssistantPart::Call(call) => Some(call.id.as_str()),
        _ => None,
    });
    ids.next() == run.current_calls().first().map(|call| call.id.as_str())
}
