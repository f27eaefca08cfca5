//! Calls and their answers in the conversation.

use super::as_u32;
use crate::message::{AssistantPart, Message, Part, ToolCall, ToolMessage};
use crate::run::state::Activity;
use crate::run::{Call, CallId, CallResult, Run, Stage};

impl Run {
    /// Answers the turn's calls in the conversation, in the model's order, as soon as all have ended.
    pub(super) fn answer_if_done(&mut self) {
        let calls = self.current_range();
        if !matches!(self.activity, Activity::Acting(_))
            || calls.is_empty()
            || self.count(Stage::Done) < as_u32(calls.len())
        {
            return;
        }
        let answers: Vec<Message> = self.calls[calls].iter().filter_map(answer).collect();
        for message in answers {
            self.say(message);
        }
    }

    pub(super) fn as_message(&self, id: &CallId) -> AssistantPart {
        let call = self.call(id);
        AssistantPart::Call(ToolCall {
            id: id.to_string(),
            name: call.map(|call| call.name.clone()).unwrap_or_default(),
            arguments: call.map(|call| call.arguments.text.to_string()).unwrap_or_default(),
        })
    }
}

/// Returns whether `result` means that the tool did not run.
pub fn says_did_not_run(result: &CallResult) -> bool {
    matches!(
        result,
        CallResult::Rejected { .. }
            | CallResult::PolicyDenied { .. }
            | CallResult::Denied { .. }
            | CallResult::Responded { .. }
            | CallResult::Expired
            | CallResult::Superseded { .. }
            | CallResult::NotAvailable { .. }
            | CallResult::OverBudget { .. }
    )
}

fn answer(call: &Call) -> Option<Message> {
    let result = call.result()?;
    let started = call.may_have_run();
    let mut content = result.for_model(&call.name, started);
    if call.arguments.by.is_some() && call.may_have_run() {
        let text = format!("A person changed the arguments to {} before the call ran.", call.arguments.text);
        content.insert(0, Part::text(text));
    }
    Some(Message::Tool(ToolMessage {
        call_id: call.id.to_string(),
        tool: call.name.clone(),
        content,
        is_error: !result.is_success(),
    }))
}

pub fn size(message: &Message) -> u64 {
    let said = |part: &AssistantPart| match part {
        AssistantPart::Text { text } | AssistantPart::Reasoning { text, .. } => text.len(),
        AssistantPart::Provider(part) => part.block.len(),
        // Counted when it was called.
        AssistantPart::Call(_) => 0,
    };
    let bytes: usize = match message {
        Message::System { text } => text.len(),
        Message::User { content } => content.iter().map(Part::size).sum(),
        Message::Assistant { content } => content.iter().map(said).sum(),
        Message::Tool(answer) => answer.content.iter().map(Part::size).sum(),
    };
    bytes as u64
}
