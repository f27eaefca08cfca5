//! The conversation as the model and its calls see it.

use std::sync::Arc;

use crate::agent::Agent;
use crate::message::{AssistantPart, Message};
use crate::run::{CallId, Phase, Run};
use crate::tool::Context;

/// The conversation with the instructions, and the context that the calls of a turn share.
///
/// It grows in place from step to step, so that a step costs what it adds, however long the run; it is copied only if
/// somebody still holds an earlier state of it, such as a tool that goes on by itself.
#[derive(Debug, Default)]
pub struct Conversation {
    messages: Arc<Vec<Message>>,
    /// The number of the run's messages that are in it.
    known: usize,
    context: Context,
}

impl Conversation {
    pub fn new(agent: &Agent) -> Self {
        Self { context: agent.setup.context.clone(), ..Self::default() }
    }

    /// Extends it up to the turn whose calls are dealt with.
    pub fn extend(&mut self, agent: &Agent, run: &Run) -> Arc<Vec<Message>> {
        // Without it somebody would still hold what the last turn shared.
        self.context = agent.setup.context.clone();
        let messages = self.grown(agent.setup.instructions.as_deref(), before_calls(run));
        let context = self.context.clone().with_shared_messages(Arc::clone(&messages));
        self.context = context.with_taint(run.taint());
        messages
    }

    fn grown(&mut self, instructions: Option<&str>, messages: &[Message]) -> Arc<Vec<Message>> {
        let all = Arc::make_mut(&mut self.messages);
        if self.known == 0 || self.known > messages.len() {
            self.known = 0;
            all.clear();
            all.extend(instructions.map(Message::system));
        }
        all.extend_from_slice(&messages[self.known..]);
        self.known = messages.len();
        Arc::clone(&self.messages)
    }

    /// Forgets what is known of a run that was read anew.
    pub fn forget(&mut self) {
        self.messages = Arc::default();
        self.known = 0;
    }

    /// Returns the context that the calls of the turn share.
    pub fn shared(&self) -> &Context {
        &self.context
    }

    /// Returns the context of a call.
    pub fn of_call(&self, run: &Run, call: &CallId) -> Context {
        tainted(self.context.clone().for_shared(call.shared()), run)
    }
}

/// Returns `cx` with the taint of `run`: more calls of the turn may have ended since it was made.
pub fn tainted(cx: Context, run: &Run) -> Context {
    let taint = run.taint();
    if cx.taint().len() == taint.len() { cx } else { cx.with_taint(taint) }
}

/// Returns the conversation of `run` with the instructions, up to the turn whose calls are dealt with.
pub fn conversation(agent: &Agent, run: &Run) -> Arc<Vec<Message>> {
    Conversation::default().grown(agent.setup.instructions.as_deref(), before_calls(run))
}

/// Returns the run's messages, without the turn whose calls are dealt with.
fn before_calls(run: &Run) -> &[Message] {
    match (run.phase(), run.messages()) {
        (Phase::Acting | Phase::Suspended, [before @ .., Message::Assistant { content }]) if has_call(content, run) => {
            before
        }
        (_, all) => all,
    }
}

/// Returns whether `content` is the turn whose calls are dealt with.
fn has_call(content: &[AssistantPart], run: &Run) -> bool {
    let mut ids = content.iter().filter_map(|part| match part {
        AssistantPart::Call(call) => Some(call.id.as_str()),
        _ => None,
    });
    ids.next() == run.current().first().map(|call| call.id.as_str())
}
