//! The stream for a client that connects to a conversation and has nothing of it.
//!
//! The encoder writes the run as frames, and [`Messages`] reads the frames as a client does. So a page that is loaded again
//! shows the same messages.

use std::{collections::HashSet, time::Duration};

use serde_json::{Value, json};
use tool_run::run::PromptPosition;
use tool_runtime::Message;
use tool_runtime::message::{AssistantPart, Part, ToolCall};
use tool_runtime::run::{CallId, Run};

use super::call::{CallStage, write_decision};
use super::{AgUiEncoder, Finish, Stage, write_notices};
use crate::protocol::{
    Visibility,
    ag_ui::{Content, ContentPart, event::Event},
    prompt_id,
};

impl AgUiEncoder {
    /// Writes the messages of `run`, for a client that has none of them, and the persons who decided about its calls. `now` is
    /// the same run in its latest state. `prompt` has the id and the content of a message that follows. The encoder must not
    /// have received events.
    pub fn write_messages(&mut self, run: &Run, now: &Run, prompt: Option<(Option<&str>, &[Part])>, out: &mut Vec<u8>) {
        self.write_first_messages(run, run.messages().len(), now, prompt, out);
    }

    /// Writes the first `count` messages of `run`, like [`AgUiEncoder::write_messages`].
    fn write_first_messages(
        &mut self,
        run: &Run,
        count: usize,
        now: &Run,
        prompt: Option<(Option<&str>, &[Part])>,
        out: &mut Vec<u8>,
    ) {
        let mut messages = Messages::default();
        for (at, message) in run.messages().iter().enumerate().take(count) {
            let mut frames = Vec::new();
            match message {
                Message::System { .. } => {}
                Message::User { content } => {
                    let found = run.prompts().iter().find(|found| usize::try_from(found.at) == Ok(at));
                    // A steering message is not one of the client's conversation.
                    if found.is_none_or(|found| !found.steers) {
                        messages.add_user(found.and_then(|found| found.id.as_deref()), at, &self.user_content(content));
                    }
                }
                Message::Assistant { content } => self.write_turn(content, run, &mut frames),
                Message::Tool(result) => {
                    let id = CallId::from(result.call_id.as_str());
                    let streamed = self.index.get(&id).map(|at| &self.calls[*at]);
                    let visibility =
                        streamed.filter(|streamed| streamed.awaits_result()).map(|streamed| streamed.visibility);
                    match visibility {
                        Some(Visibility::Shown) => {
                            self.write_result(
                                &id,
                                &Content::of(&result.content, self.client_version.has_parts()),
                                &mut frames,
                            );
                        }
                        Some(Visibility::WithoutResult) => {
                            self.write_result(&id, &Content::Text(String::new()), &mut frames);
                        }
                        Some(Visibility::Hidden) | None => {}
                    }
                }
            }
            messages.read(&frames);
        }
        let mut frames = Vec::new();
        self.write_sent_results(now, &mut frames);
        messages.read(&frames);
        messages.mark_failures(run, now);
        if let Some((id, content)) = prompt {
            messages.add_user(id, run.messages().len(), &self.user_content(content));
        }
        Event::MessagesSnapshot { messages: &messages.0 }.write(out);
        self.write_decisions(run, 0, out);
    }

    /// Writes the persons who decided about calls that the client knows, without the first `known` of them.
    fn write_decisions(&self, run: &Run, known: usize, out: &mut Vec<u8>) {
        for call in self.calls.iter().skip(known).filter_map(|streamed| run.call(&streamed.id)) {
            call.decisions().for_each(|(decision, by)| write_decision(&call.id, decision, by, out));
        }
    }

    /// Makes the client forget its messages. It keeps those of a snapshot that it knows at their places, and adds the others
    /// behind them, so the order of a snapshot counts only for a client without messages.
    pub(crate) fn clear_messages(out: &mut Vec<u8>) {
        Event::MessagesSnapshot { messages: &[] }.write(out);
    }

    /// Makes the response begin with the messages up to the prompt number `prompt` of `run`, and with the answer so far. If a later
    /// prompt followed, it begins with all messages.
    pub(crate) fn recalled(mut self, run: &Run, prompt: usize) -> Self {
        let position = |prompt: &PromptPosition| usize::try_from(prompt.at).map_or(usize::MAX, |at| at + 1);
        let is_over = run.prompts().iter().skip(prompt + 1).any(|later| !later.steers);
        let answer = run.prompts().get(prompt).filter(|_| !is_over).map_or(run.messages().len(), position);
        let mut out = Vec::new();
        Self::clear_messages(&mut out);
        self.write_first_messages(run, answer, run, None, &mut out);
        let known = self.calls.len();
        write_notices(&self.unread.recall(run, prompt), &mut out);
        self.write_turns(run, answer..run.messages().len(), &mut out);
        self.write_decisions(run, known, &mut out);
        self.settled = out;
        self
    }

    /// Ends the stream of a client that has connected. The last event has the open interrupts, or the calls that the client
    /// has to execute.
    pub fn finish_snapshot(&mut self, run: Option<&Run>, out: &mut Vec<u8>) {
        let outcome = run.map(|run| self.outcome(run)).filter(|outcome| self.client_version.accepts(outcome));
        self.finish = Some(Finish { outcome, usage: None, metadata: None });
        self.stage = Stage::Finished;
        crate::protocol::Encoder::end_for(self, None, out);
    }

    /// Writes the results that the client has sent for the calls that it executed. The response to these results does not repeat
    /// them.
    fn write_sent_results(&mut self, now: &Run, out: &mut Vec<u8>) {
        let pending: Vec<_> = self.calls.iter().filter(|streamed| streamed.is_pending()).collect();
        let sent = pending.into_iter().filter_map(|streamed| {
            let call = now.call(&streamed.id)?;
            let result = call.result()?;
            let is_shown = streamed.visibility == Visibility::Shown;
            let content = if is_shown { self.visible_result(call, result) } else { Content::Text(String::new()) };
            Some((streamed.id.clone(), content))
        });
        for (id, content) in sent.collect::<Vec<_>>() {
            self.write_result(&id, &content, out);
        }
    }

    /// Returns the content of a person's message in the form in which the client would send it.
    fn user_content(&self, content: &[Part]) -> Value {
        match Content::of(content, true) {
            Content::Parts(parts) if !self.client_version.has_parts() => {
                parts.iter().map(ContentPart::in_early_form).collect()
            }
            content => json!(content),
        }
    }

    /// Writes the turns of the model at these positions.
    pub(super) fn write_turns(&mut self, run: &Run, places: std::ops::Range<usize>, out: &mut Vec<u8>) {
        for message in &run.messages()[places] {
            if let Message::Assistant { content } = message {
                self.write_turn(content, run, out);
            }
        }
    }

    /// Writes a turn of the model, with the results that its calls have now.
    fn write_turn(&mut self, content: &[AssistantPart], run: &Run, out: &mut Vec<u8>) {
        for part in content {
            match part {
                AssistantPart::Text { text } => self.write_text(text, out),
                AssistantPart::Reasoning { text, .. } => self.write_reasoning(text, out),
                AssistantPart::Call(called) => self.write_call(called, run, out),
                AssistantPart::Provider(part) => self.write_provider_part(part, out),
            }
        }
        self.end_turn(out);
        for part in content {
            let AssistantPart::Call(called) = part else { continue };
            let call = run.call(&CallId::from(called.id.as_str()));
            if let Some((call, result)) = call.and_then(|call| Some((call, call.result()?))) {
                self.finish_call(call, result, out);
            }
        }
    }

    fn write_call(&mut self, called: &ToolCall, run: &Run, out: &mut Vec<u8>) {
        let id = CallId::from(called.id.as_str());
        let call = run.call(&id);
        self.announce_call(&id, &called.name, out);
        let arguments = call.map_or(called.arguments.as_str(), |call| &call.arguments().text);
        let at = self.calls.len() - 1;
        // The call was held back until the client had to execute it.
        let was_held = matches!(self.calls[at].stage, CallStage::Unknown)
            && self.calls[at].visibility != Visibility::Hidden
            && call.is_none_or(|call| call.result().is_some() && call.may_have_run());
        if was_held {
            self.begin_call(at, out);
        }
        self.calls[at].push(arguments, Duration::ZERO, out);
        self.end_arguments(&id, out);
        if let Some((call, open)) = call.and_then(|call| Some((call, call.interrupt()?))) {
            self.write_interrupt(call, open, out);
        }
    }
}

/// The messages of a client.
#[derive(Default)]
struct Messages(Vec<Value>);

impl Messages {
    fn add_user(&mut self, id: Option<&str>, at: usize, content: &Value) {
        self.0.push(json!({ "id": prompt_id(id, at), "role": "user", "content": content }));
    }

    /// Marks the results of failed calls. An event has no field for a failure, but a message has.
    fn mark_failures(&mut self, run: &Run, now: &Run) {
        let messages = run.messages().iter().filter_map(|message| match message {
            Message::Tool(result) if result.is_error => Some(result.call_id.as_str()),
            _ => None,
        });
        let calls = now.calls().iter().filter(|call| call.result().is_some_and(|result| !result.is_success()));
        let failed: HashSet<&str> = messages.chain(calls.map(|call| call.id.as_str())).collect();
        for message in self.0.iter_mut().filter(|message| message["role"] == "tool") {
            if message["toolCallId"].as_str().is_some_and(|id| failed.contains(id)) {
                message["error"] = match &message["content"] {
                    Value::String(text) if !text.is_empty() => text.as_str().into(),
                    _ => "the call failed".into(),
                };
            }
        }
    }

    /// Reads frames, as a client does.
    fn read(&mut self, frames: &[u8]) {
        for frame in String::from_utf8_lossy(frames).split("\n\n").filter_map(|frame| frame.strip_prefix("data: ")) {
            if let Ok(event) = serde_json::from_str(frame) {
                self.apply(&event);
            }
        }
    }

    fn apply(&mut self, event: &Value) {
        let of = |name: &str| event[name].as_str().unwrap_or_default();
        let id = of("messageId");
        match of("type") {
            "TEXT_MESSAGE_START" => self.0.push(json!({ "id": id, "role": "assistant", "content": "" })),
            "REASONING_MESSAGE_START" => self.0.push(json!({ "id": id, "role": "reasoning", "content": "" })),
            "TEXT_MESSAGE_CONTENT" | "REASONING_MESSAGE_CONTENT" => {
                let message = self.0.iter_mut().rfind(|message| message["id"] == id);
                if let Some(content) = message.and_then(|message| message.get_mut("content")) {
                    append(content, of("delta"));
                }
            }
            "TOOL_CALL_START" => {
                let (call, parent) = (of("toolCallId"), of("parentMessageId"));
                let function = json!({ "name": of("toolCallName"), "arguments": "" });
                let call = json!({ "id": call, "type": "function", "function": function });
                match self.0.iter_mut().rfind(|message| message["id"] == parent) {
                    Some(message) => match message.get_mut("toolCalls").and_then(Value::as_array_mut) {
                        Some(calls) => calls.push(call),
                        None => message["toolCalls"] = json!([call]),
                    },
                    None => self.0.push(json!({ "id": parent, "role": "assistant", "toolCalls": [call] })),
                }
            }
            "TOOL_CALL_ARGS" => {
                let id = of("toolCallId");
                let calls = self.0.iter_mut().rev().filter_map(|message| message.get_mut("toolCalls")?.as_array_mut());
                let call = calls.flatten().find(|call| call["id"] == id);
                if let Some(arguments) = call.and_then(|call| call.pointer_mut("/function/arguments")) {
                    append(arguments, of("delta"));
                }
            }
            "TOOL_CALL_RESULT" => {
                let (call, content) = (of("toolCallId"), &event["content"]);
                self.0.push(json!({ "id": id, "role": "tool", "toolCallId": call, "content": content }));
            }
            _ => {}
        }
    }
}

fn append(text: &mut Value, delta: &str) {
    if let Value::String(text) = text {
        text.push_str(delta);
    }
}
