//! Calls that were mended.

use std::sync::Arc;

use super::Applied;
use crate::message::{AssistantPart, Message};
use crate::run::past::ArgsRev;
use crate::run::state::Activity;
use crate::run::{Author, CallId, Run, Stage};

impl Run {
    /// The call stands in the conversation as it was mended.
    pub(super) fn repaired(&mut self, id: &CallId, name: String, arguments: Arc<str>, by: Author) -> Applied {
        let at = self.at(id, &[Stage::Proposed])?;
        if !matches!(self.activity, Activity::Acting(_)) {
            return Err(format!("{id} is mended before its turn has ended"));
        }
        if self.calls[at].attempts > 0 || !self.calls[at].revisions().is_empty() {
            return Err(format!("{id} was changed already, and is mended"));
        }
        if let Some(Message::Assistant { content }) = self.messages.last_mut() {
            let of_call =
                |part: &&mut AssistantPart| matches!(part, AssistantPart::Call(call) if call.id == id.as_str());
            if let Some(AssistantPart::Call(call)) = content.iter_mut().find(of_call) {
                call.name.clone_from(&name);
                call.arguments = arguments.to_string();
            }
        }
        self.bytes = self.bytes.saturating_add(arguments.len() as u64);
        let call = &mut self.calls[at];
        call.name = name;
        let before = std::mem::replace(&mut call.arguments, ArgsRev::new(arguments, by));
        call.past().revisions.push(before);
        Ok(())
    }
}
