//! The messages of the conversation that the calls of a run become.

use crate::message::{AssistantPart, Message, Part, ToolCall, ToolMessage};
use crate::run::{Call, CallResult, Extent, Prompt, Run, Stage, call::with_readings, state::Activity};

/// Returns a call as a part of the model's message.
pub fn to_message(call: &Call) -> AssistantPart {
    AssistantPart::Call(ToolCall {
        id: call.id.as_str().to_owned(),
        name: call.name.clone(),
        arguments: call.sent().to_owned(),
    })
}

/// Returns the answer to a call that has ended.
pub fn answer_message(call: &Call) -> Option<Message> {
    let result = call.result()?;
    let mut content = result.for_model(&call.name, call.extent());
    if call.arguments.by.is_some() && call.may_have_run() {
        let text = format!("A person changed the arguments to {} before the call ran.", call.arguments.text);
        content.insert(0, Part::text(text));
    }
    Some(Message::Tool(ToolMessage {
        call_id: call.id.as_str().to_owned(),
        tool: call.name.clone(),
        content: with_readings(content, call.readings()),
        is_error: !result.is_success(),
    }))
}

/// Returns the bytes of a message.
pub fn size(message: &Message) -> u64 {
    let bytes: usize = match message {
        Message::System { text } => text.len(),
        Message::User { content } => content.iter().map(Part::size).sum(),
        Message::Assistant { content } => content.iter().map(size_of_part).sum(),
        Message::Tool(answer) => answer.content.iter().map(Part::size).sum(),
    };
    bytes as u64
}

fn size_of_part(part: &AssistantPart) -> usize {
    match part {
        AssistantPart::Text { text } | AssistantPart::Reasoning { text, .. } => text.len(),
        AssistantPart::Provider(part) => part.block.len(),
        // The bytes of a call were counted when it was made.
        AssistantPart::Call(_) => 0,
    }
}

impl Run {
    /// Returns the bytes of the conversation, with results that are not messages yet and prompts that wait.
    pub(super) fn conversation_bytes(&self) -> u64 {
        let calls = self.current_calls();
        let is_answered = self.activity != Activity::Generating && self.count(Stage::Done) as usize == calls.len();
        let results = calls.iter().filter(|_| !is_answered).filter_map(Call::result).map(CallResult::size);
        results.chain(self.queue.iter().map(Prompt::size)).fold(self.bytes, u64::saturating_add)
    }
}

impl Prompt {
    /// Returns the bytes of the content.
    pub(super) fn size(&self) -> u64 {
        self.content.iter().map(Part::size).sum::<usize>() as u64
    }
}

impl CallResult {
    /// Returns the bytes of the result.
    fn size(&self) -> u64 {
        let bytes: usize = match self {
            Self::Succeeded { output } | Self::Responded { output, .. } => output.size(),
            other => other.for_model("", Extent::MayHaveEffects).iter().map(Part::size).sum(),
        };
        bytes as u64
    }
}
