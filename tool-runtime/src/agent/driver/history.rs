//! The conversation as the model and its calls see it.

use std::sync::Arc;

use super::Driver;
use crate::agent::Agent;
use crate::message::{AssistantPart, Message};
use crate::run::{CallId, Phase, Run};
use crate::tool::Context;

/// The conversation with the instructions. It grows in place from step to step, so that a step costs what it adds, however
/// long the run; it is copied only if somebody still holds what it was before, such as a tool that goes on by itself.
#[derive(Debug, Default)]
pub(super) struct History {
    messages: Arc<Vec<Message>>,
    /// How many of the run's messages are in it.
    known: usize,
}

impl History {
    /// The conversation up to and with `messages`, the run's.
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

    /// The run was read anew: what is known of it may not hold.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }
}

impl Driver<'_> {
    /// Lets the calls of the turn share the conversation as the model sees it.
    pub(super) fn share_conversation(&mut self) -> Arc<Vec<Message>> {
        // What the last turn shared, so that nobody holds it any more.
        self.turn_context = self.agent.context.clone();
        let run = &self.kept.run;
        let messages = self.history.grown(self.agent.instructions.as_deref(), before_calls(run));
        let cx = self.turn_context.clone().with_shared_messages(Arc::clone(&messages));
        self.turn_context = cx.with_taint(run.taint());
        messages
    }

    /// What a call may know.
    pub(super) fn context(&self, call: &CallId) -> Context {
        self.tainted(self.turn_context.clone().for_shared(call.shared()))
    }

    /// More calls of the turn may have ended since.
    pub(super) fn tainted(&self, cx: Context) -> Context {
        let taint = self.kept.run.taint();
        if cx.taint().len() == taint.len() { cx } else { cx.with_taint(taint) }
    }
}

/// The conversation with the instructions, up to the turn whose calls are dealt with.
pub(in crate::agent) fn conversation(agent: &Agent, run: &Run) -> Arc<Vec<Message>> {
    History::default().grown(agent.instructions.as_deref(), before_calls(run))
}

/// The run's messages, without the turn whose calls are dealt with.
fn before_calls(run: &Run) -> &[Message] {
    match (run.phase(), run.messages()) {
        (Phase::Acting | Phase::Suspended, [before @ .., Message::Assistant { content }]) if has_call(content, run) => {
            before
        }
        (_, all) => all,
    }
}

/// Whether it is the turn at hand that says this.
fn has_call(said: &[AssistantPart], run: &Run) -> bool {
    let mut ids = said.iter().filter_map(|part| match part {
        AssistantPart::Call(call) => Some(call.id.as_str()),
        _ => None,
    });
    ids.next() == run.current().first().map(|call| call.id.as_str())
}
