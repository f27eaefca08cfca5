//! What a message has already: for a client that reads an answer from its beginning, and was not there before.

use super::{Chunk, Settings, UiStream};
use crate::protocol::Wire;
use std::time::Duration;
use tool_runtime::agent::Event;
use tool_runtime::message::{AssistantPart, Message, ToolCall};
use tool_runtime::run::{CallId, ObligationKind, Run, Said};

impl UiStream {
    /// The beginning of an answer that goes on with a message: the answer's first chunk, and all that the message has from
    /// the answers before, which [`Wire::begin`] leaves out.
    pub fn recap(message_id: &str, run: &Run, settings: Settings, out: &mut Vec<u8>) {
        let mut stream = Self::new(message_id, run.id(), settings);
        stream.begin(out);
        let prompts = run.prompts();
        let first = prompts.iter().rposition(|said| !said.steers).unwrap_or(0);
        let place = |said: &Said| usize::try_from(said.at).unwrap_or(usize::MAX);
        let from = prompts.get(first).map_or(0, place);
        for (at, message) in run.messages().iter().enumerate().skip(from) {
            match message {
                Message::Assistant { content } => stream.turn(content, run, out),
                // What was said while the answer went on is part of it.
                Message::User { content } => {
                    let found = prompts.binary_search_by_key(&at, place).ok();
                    if let Some(said) = found.map(|found| &prompts[found]).filter(|said| said.steers) {
                        stream.steered(said.id.as_deref(), content, out);
                    }
                }
                _ => {}
            }
        }
        stream.leave(out);
    }

    fn turn(&mut self, content: &[AssistantPart], run: &Run, out: &mut Vec<u8>) {
        let now = Duration::ZERO;
        self.event(Event::StepStarted { step: 0 }, now, out);
        for part in content {
            match part {
                AssistantPart::Text { text } => self.event(Event::Text(text), now, out),
                AssistantPart::Reasoning { text, .. } => self.event(Event::Reasoning(text), now, out),
                AssistantPart::Call(called) => self.called(called, run, out),
                AssistantPart::Provider(part) => self.event(Event::Provided(part), now, out),
            }
        }
        self.close_text(out);
    }

    fn called(&mut self, called: &ToolCall, run: &Run, out: &mut Vec<u8>) {
        let id = CallId::from(called.id.as_str());
        let Some(call) = run.call(&id) else { return };
        let now = Duration::ZERO;
        self.event(Event::CallAnnounced { id: &call.id, name: &call.name }, now, out);
        if call.tool.is_some() {
            self.accepted(call, out);
            let asked = call.obligation().filter(|open| !matches!(open.kind, ObligationKind::External));
            if asked.is_some() {
                // So that the client can show what is asked for, whoever executes it.
                self.argued(call.id.as_str(), &call.arguments().text, out);
            }
        }
        if let Some(open) = call.obligation() {
            self.opened(call, open, out);
        }
        if let Some(result) = call.result() {
            self.finished(call, result, out);
        }
    }

    /// All of a call's arguments, if they were not announced as complete.
    fn argued(&mut self, id: &str, text: &str, out: &mut Vec<u8>) {
        if self.calls.iter().any(|call| call.id == id && call.is_streaming()) {
            self.frame(&Chunk::ToolInputDelta { tool_call_id: id, input_text_delta: text }, out);
        }
    }
}
