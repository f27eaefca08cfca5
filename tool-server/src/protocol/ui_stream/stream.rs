//! One answer: from what happens in a run to the chunks that a client's message is made of.

use std::time::Duration;

use super::{Chunk, DataParts, Settings, call::Call, encode, frame, held::Held, steps::Step};
use crate::protocol::{End, Wire};
use tool_runtime::agent::{AgentError, Event};
use tool_runtime::run::{CallId, ObligationKind, Run, RunId};

/// One answer, as an unmodified client of the AI SDK reads it.
///
/// Whatever order events come in, the chunks are legal: texts are opened and closed, each call goes through its states once,
/// and nothing is said of calls that the client's message does not have.
///
/// ```
/// use std::time::Duration;
/// use tool_runtime::{Toolset, agent::Event};
/// use tool_server::protocol::{End, Wire, ui_stream::{Settings, UiStream}};
///
/// let mut stream = UiStream::new("msg-1", &"run-1".into(), Settings::new(Toolset::new()));
/// let mut out = Vec::new();
/// stream.begin(&mut out);
/// stream.event(Event::StepStarted { step: 1 }, Duration::ZERO, &mut out);
/// stream.event(Event::Text("Hello."), Duration::ZERO, &mut out);
/// stream.end(End::new(None, None), &mut out);
/// let text = String::from_utf8(out).unwrap();
/// assert!(text.starts_with("data: {\"type\":\"start\",\"messageId\":\"msg-1\"}\n\ndata: {\"type\":\"start-step\"}\n\n"));
/// assert!(text.contains(r#"{"type":"text-delta","id":"0","delta":"Hello."}"#));
/// assert!(text.ends_with("data: [DONE]\n\n"));
/// ```
#[derive(Debug)]
pub struct UiStream {
    pub(super) settings: Settings,
    pub(super) message_id: String,
    /// What requests are bound to.
    pub(super) run: RunId,
    pub(super) step: Step,
    /// Whether calls are in the last step that the client sees and keeps: one that has parts.
    pub(super) has_calls: bool,
    pub(super) said: Option<Said>,
    parts: usize,
    pub(super) calls: Vec<Call>,
    /// The calls of the step at hand begin here.
    pub(super) step_calls: usize,
    /// How often somebody said something to the run while it went on.
    pub(super) steerings: usize,
    data: Option<DataParts>,
    is_over: bool,
}

/// The text or reasoning that is open.
#[derive(Debug)]
pub(super) struct Said {
    id: String,
    is_reasoning: bool,
    held: Held,
}

impl UiStream {
    /// An answer of `run` that is a new message.
    pub fn new(message_id: impl Into<String>, run: &RunId, settings: Settings) -> Self {
        Self {
            settings,
            message_id: message_id.into(),
            run: run.clone(),
            step: Step::None,
            has_calls: false,
            said: None,
            parts: 0,
            calls: Vec::new(),
            step_calls: 0,
            steerings: 0,
            data: None,
            is_over: false,
        }
    }

    /// An answer that goes on with the message whose calls wait in `run`. The id is the one that the client has for it.
    pub fn continuing(message_id: impl Into<String>, run: &Run, settings: Settings) -> Self {
        let mut stream = Self::new(message_id, run.id(), settings);
        let open = run.current().iter().filter(|call| call.result().is_none());
        for call in open.filter(|call| !stream.settings.is_hidden(&call.name)) {
            let was_asked = call.obligation().is_some_and(|open| !matches!(open.kind, ObligationKind::External));
            let is_external = call.tool.as_ref().is_some_and(|tool| tool.external);
            stream.calls.push(Call::known(call.id.as_str(), &call.name, is_external, was_asked));
        }
        stream.has_calls = !stream.calls.is_empty();
        stream
    }

    /// Sends what tools put into `data`, too.
    pub fn data(mut self, data: DataParts) -> Self {
        self.data = Some(data);
        self
    }

    fn write_data(&mut self, out: &mut Vec<u8>) {
        if let Some(data) = &self.data {
            data.write(self.settings.level, out);
        }
    }

    /// Adds a chunk of the application's own: data, a source, a file.
    pub fn write(&mut self, chunk: &Chunk<'_>, out: &mut Vec<u8>) {
        if !self.is_over {
            self.open_step(out);
            frame(chunk, self.settings.level, out);
        }
    }

    pub(super) fn frame(&self, chunk: &Chunk<'_>, out: &mut Vec<u8>) {
        frame(chunk, self.settings.level, out);
    }

    /// Where the call is in `calls`, if the client's message has it.
    pub(super) fn find(&self, id: &CallId) -> Option<usize> {
        self.calls.iter().rposition(|call| call.id == id.as_str())
    }

    fn say(&mut self, is_reasoning: bool, text: &str, now: Duration, out: &mut Vec<u8>) {
        if text.is_empty() || is_reasoning && !self.settings.reasoning {
            return;
        }
        self.open_step(out);
        if self.said.as_ref().is_some_and(|said| said.is_reasoning != is_reasoning) {
            self.close_text(out);
        }
        let level = self.settings.level;
        if self.said.is_none() {
            let id = self.new_part();
            // In a step without calls of its own.
            self.has_calls &= self.calls.len() > self.step_calls;
            let start = if is_reasoning {
                Chunk::ReasoningStart { id: &id, provider_metadata: None }
            } else {
                Chunk::TextStart { id: &id, provider_metadata: None }
            };
            frame(&start, level, out);
            let held = Held::prose();
            self.said = Some(Said { id, is_reasoning, held });
        }
        if let Some(Said { id, is_reasoning, held }) = &mut self.said {
            let mut send = |delta: &str| frame(&said(*is_reasoning, id, delta), level, out);
            if self.settings.coalesce { held.push(text, now, send) } else { send(text) }
        }
    }

    /// The id of a new text.
    fn new_part(&mut self) -> String {
        let id = self.parts.to_string();
        self.parts += 1;
        id
    }

    /// Says nothing, in a step of its own: what the client has of calls is in the step before. A step without parts is none, for
    /// clients keep its beginning only when something comes after it.
    pub(super) fn say_nothing(&mut self, out: &mut Vec<u8>) {
        self.open_step(out);
        let id = self.new_part();
        self.frame(&Chunk::TextStart { id: &id, provider_metadata: None }, out);
        self.frame(&Chunk::TextEnd { id: &id, citations: None, provider_metadata: None }, out);
        self.has_calls = false;
    }

    pub(super) fn close_text(&mut self, out: &mut Vec<u8>) {
        let Some(Said { id, is_reasoning, mut held }) = self.said.take() else { return };
        let level = self.settings.level;
        held.take(|delta| frame(&said(is_reasoning, &id, delta), level, out));
        let end = if is_reasoning {
            Chunk::ReasoningEnd { id: &id, provider_metadata: None }
        } else {
            Chunk::TextEnd { id: &id, citations: None, provider_metadata: None }
        };
        frame(&end, level, out);
    }

    /// More of a call's arguments.
    fn argue(&mut self, id: &CallId, text: &str, now: Duration, out: &mut Vec<u8>) {
        let Some(at) = self.find(id).filter(|at| self.calls[*at].is_streaming()) else { return };
        let level = self.settings.level;
        let Call { id, held, .. } = &mut self.calls[at];
        let id = id.as_str();
        let mut send =
            |text: &str| frame(&Chunk::ToolInputDelta { tool_call_id: id, input_text_delta: text }, level, out);
        if self.settings.coalesce {
            held.push(text, now, send);
        } else if !text.is_empty() {
            send(text);
        }
    }
}

fn said<'a>(is_reasoning: bool, id: &'a str, delta: &'a str) -> Chunk<'a> {
    if is_reasoning {
        Chunk::ReasoningDelta { id, delta, provider_metadata: None }
    } else {
        Chunk::TextDelta { id, delta, provider_metadata: None }
    }
}

impl Wire for UiStream {
    fn begin(&mut self, out: &mut Vec<u8>) {
        let start = Chunk::Start { message_id: Some(&self.message_id), message_metadata: None };
        self.frame(&start, out);
    }

    fn event(&mut self, event: Event<'_>, now: Duration, out: &mut Vec<u8>) {
        if self.is_over {
            return;
        }
        self.write_data(out);
        match event {
            Event::StepStarted { .. } => self.start_step(out),
            Event::Text(text) => self.say(false, text, now, out),
            Event::Reasoning(text) => self.say(true, text, now, out),
            Event::CallAnnounced { id, name } => {
                self.has_calls |= !self.settings.is_hidden(name);
                self.announced(id, name, out);
            }
            Event::CallArguments { id, text, .. } => self.argue(id, text, now, out),
            Event::StepFinished { .. } => {
                self.close_text(out);
                if self.step == Step::Due && self.has_calls {
                    self.say_nothing(out);
                }
                self.open_step(out);
            }
            Event::CallAccepted(call) => self.accepted(call, out),
            Event::CallOpened { call, obligation } => self.opened(call, obligation, out),
            Event::CallDecided { call, decision, .. } => self.decided(call, decision, out),
            Event::CallProgress(progress) => self.progress(progress, out),
            Event::CallFinished { call, result, .. } => self.finished(call, result, out),
            Event::StepFailed { again, .. } => self.failed_step(again, out),
            Event::Prompted(said) if said.steers => self.steered(said.id.as_deref(), &said.content, out),
            Event::Provided(part) => self.provided(part, out),
            Event::Prompted(_)
            | Event::CallStarted(_)
            | Event::RunPaused(_)
            | Event::ModelAsked { .. }
            | Event::ChoiceIgnored(_)
            | Event::PromptQueued(_)
            | Event::PromptRefused(_)
            | Event::RunStarted(_)
            | Event::StepEnded { .. }
            | Event::Inner { .. }
            | Event::RunFailed(_)
            | Event::HookFailed { .. } => {}
        }
    }

    fn due(&self) -> Option<Duration> {
        let said = self.said.as_ref().and_then(|said| said.held.due());
        let calls = self.calls.iter().filter_map(|call| call.held.due());
        calls.chain(said).min()
    }

    fn flush(&mut self, now: Duration, out: &mut Vec<u8>) {
        self.write_data(out);
        let level = self.settings.level;
        let is_due = |held: &Held| held.due().is_some_and(|due| due <= now);
        if let Some(Said { id, is_reasoning, held }) = self.said.as_mut().filter(|said| is_due(&said.held)) {
            held.take(|delta| frame(&said(*is_reasoning, id, delta), level, out));
        }
        for call in self.calls.iter_mut().filter(|call| is_due(&call.held)) {
            call.flush(level, out);
        }
    }

    fn end(&mut self, end: End<'_>, out: &mut Vec<u8>) {
        if std::mem::replace(&mut self.is_over, true) {
            return;
        }
        let text = if matches!(end.failure, Some(AgentError::Cancelled)) { "stopped" } else { "broken off" };
        self.give_up(&format!("the answer was {text}"), out);
        match end.failure {
            Some(failure) => self.fail(failure, end.sealed, out),
            None => self.finish(end.run.map(Run::phase).as_ref(), end.sealed, out),
        }
        out.extend_from_slice(encode::DONE);
    }
}
