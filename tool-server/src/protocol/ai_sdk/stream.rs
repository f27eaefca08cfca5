//! The encoder of the UI message stream: it turns a run's events into the chunks of a client's message.

use std::{fmt, ops::Range, sync::Arc, time::Duration};

use serde_json::{Value, json};
use tool_run::run::PromptPosition;
use tool_runtime::agent::{AgentError, Event};
use tool_runtime::message::{self, AssistantPart, MediaKind, MediaRef, Message, Part, ToolCall};
use tool_runtime::run::{CallId, InterruptId, InterruptKind, Phase, Refusal, Run, RunId, StopReason};
use tool_runtime::tool::Context;

use super::{
    Chunk, DONE_FRAME, ErrorDetail, FinishReason, Json, MatchedClaims, SdkVersion, StreamSettings, calls::StreamedCall,
    sealed_metadata, write_frame,
};
use crate::protocol::coalesce::HeldText;
use crate::protocol::unread::{Notice, UnreadFiles};
use crate::protocol::{Encoder, End, NOT_YOURS, Outbox, blocked, store_failure};

/// An encoder of one response for unmodified clients of the AI SDK.
///
/// The chunks are valid for every order of events. The encoder opens and closes texts, and each call goes through its states
/// once. No chunk refers to a call that the client's message does not contain.
///
/// ```
/// use std::time::Duration;
/// use tool_runtime::{Toolset, agent::Event};
/// use tool_server::protocol::{End, Encoder, ai_sdk::{StreamSettings, AiSdkEncoder}};
///
/// let mut encoder = AiSdkEncoder::new("msg-1", &"run-1".into(), StreamSettings::new(Toolset::new()));
/// let mut out = Vec::new();
/// encoder.begin(&mut out);
/// encoder.event(Event::StepStarted { step: 1 }, Duration::ZERO, &mut out);
/// encoder.event(Event::Text("Hello."), Duration::ZERO, &mut out);
/// encoder.end(End::new(None, None), &mut out);
/// let text = String::from_utf8(out).unwrap();
/// assert!(text.starts_with("data: {\"type\":\"start\",\"messageId\":\"msg-1\"}\n\ndata: {\"type\":\"start-step\"}\n\n"));
/// assert!(text.contains(r#"{"type":"text-delta","id":"0","delta":"Hello."}"#));
/// assert!(text.ends_with("data: [DONE]\n\n"));
/// ```
#[derive(Debug)]
pub struct AiSdkEncoder {
    pub(super) settings: StreamSettings,
    message_id: String,
    /// The run that approval ids are bound to.
    pub(super) run: RunId,
    pub(super) step: Step,
    /// Set if the last step that the client keeps contains calls. Clients keep only steps with parts.
    pub(super) has_calls: bool,
    open_text: Option<OpenText>,
    parts: usize,
    pub(super) calls: Vec<StreamedCall>,
    /// The index of the current step's first call in `calls`.
    pub(super) step_calls: usize,
    /// The number of steering messages in this response.
    steerings: usize,
    unread: UnreadFiles,
    data: Option<DataParts>,
    /// The chunks that come first, in response to the client's answers.
    answers: Vec<u8>,
    is_over: bool,
}

/// An open text or reasoning.
#[derive(Debug)]
struct OpenText {
    id: String,
    is_reasoning: bool,
    held: HeldText,
}

/// The state of the current step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    None,
    /// The step has begun, but nothing of it is written yet.
    Due,
    Open,
    /// The step is open, but the client has dropped its chunks. The next turn uses the step.
    Void,
}

impl AiSdkEncoder {
    /// Creates the encoder of a response of `run` in a new message.
    pub fn new(message_id: impl Into<String>, run: &RunId, settings: StreamSettings) -> Self {
        Self {
            unread: UnreadFiles::of(settings.agent.clone()),
            settings,
            message_id: message_id.into(),
            run: run.clone(),
            step: Step::None,
            has_calls: false,
            open_text: None,
            parts: 0,
            calls: Vec::new(),
            step_calls: 0,
            steerings: 0,
            data: None,
            answers: Vec::new(),
            is_over: false,
        }
    }

    /// Creates the encoder of a response that continues the message whose calls wait in `run`. `message_id` is the client's id of
    /// that message.
    pub fn continuing(message_id: impl Into<String>, run: &Run, settings: StreamSettings) -> Self {
        let mut encoder = Self::new(message_id, run.id(), settings);
        for call in run.current_calls() {
            let is_external = call.tool.as_ref().is_some_and(|tool| tool.external);
            let is_done = call.result().is_some();
            if !encoder.settings.is_seen(call) || is_done && !is_external {
                continue;
            }
            let was_asked = call.interrupt().is_some_and(|open| {
                !matches!(open.kind, InterruptKind::External) || encoder.settings.other_deciders(open).is_some()
            });
            let mut known = StreamedCall::known(call.id.as_str(), &call.name, is_external, was_asked);
            if is_done {
                known.finish();
            }
            encoder.add(known);
        }
        encoder.has_calls = !encoder.calls.is_empty();
        encoder
    }

    /// Adds the state of the calls of `matched` about which the client has decided too late, so that it does not go on showing
    /// its own decisions. `refused` has the interrupts that did not accept its decisions, with the reasons: they are asked again.
    pub(crate) fn answers(mut self, run: &Run, matched: &MatchedClaims, refused: &[(InterruptId, Refusal)]) -> Self {
        let mut out = Vec::new();
        for (id, approval) in &matched.settled {
            let Some(call) = run.call(id).filter(|call| self.settings.is_seen(call)) else { continue };
            if self.find(id).is_none() {
                let is_external = call.tool.as_ref().is_some_and(|tool| tool.external);
                self.add(StreamedCall::known(id.as_str(), &call.name, is_external, true));
            }
            if let Some(at) = self.find(id) {
                self.calls[at].settle(approval.as_deref());
            }
            match call.decisions().next_back() {
                Some((decision, by)) => self.write_decision(call, decision, by, &mut out),
                None => self.write_refused_decision(id, &mut out),
            }
            if call.arguments().by.is_some() {
                self.write_accepted_arguments(call, &mut out);
            }
            if let Some(result) = call.result() {
                self.finish_call(call, result, &mut out);
            }
        }
        for (id, refusal) in refused {
            if let Some((call, open)) = run.call(id.call()).zip(run.interrupt(id)) {
                let refusal = match refusal {
                    Refusal::Forbidden => NOT_YOURS.to_owned(),
                    refusal => refusal.to_string(),
                };
                self.ask_again(call, open, &refusal, &mut out);
            }
        }
        self.has_calls = !self.calls.is_empty();
        self.answers = out;
        self
    }

    /// Adds the `rest` of the answer, which the client's message does not have, after the calls of
    /// [`answers`](AiSdkEncoder::answers).
    pub(crate) fn rest(mut self, run: &Run, rest: Range<usize>) -> Self {
        let mut out = std::mem::take(&mut self.answers);
        self.write_history(run, rest, &mut out);
        self.finish_step(&mut out);
        self.answers = out;
        self
    }

    /// Makes the response begin with the answer to the prompt number `prompt` of `run`, up to the next prompt.
    pub(crate) fn recalled(mut self, run: &Run, prompt: usize) -> Self {
        let place = |prompt: &PromptPosition| message_position(prompt);
        let after = run.prompts().iter().skip(prompt + 1).find(|later| !later.steers).map(place);
        let from = run.prompts().get(prompt).map_or(0, place);
        let mut out = Vec::new();
        for notice in self.unread.recall(run, prompt) {
            self.write_notice(&notice, &mut out);
        }
        self.write_history(run, from..after.unwrap_or(run.messages().len()), &mut out);
        self.finish_step(&mut out);
        self.answers = out;
        self
    }

    /// Adds the source of the parts that tools put into the message.
    pub fn data(mut self, data: DataParts) -> Self {
        self.data = Some(data);
        self
    }

    fn write_data(&mut self, out: &mut Vec<u8>) {
        if let Some(data) = &self.data {
            data.write(self.settings.client_version, out);
        }
    }

    /// Writes an application-specific chunk, such as data, a source or a file.
    pub fn write(&mut self, chunk: &Chunk<'_>, out: &mut Vec<u8>) {
        if !self.is_over {
            self.open_step(out);
            write_frame(chunk, self.settings.client_version, out);
        }
    }

    /// Writes a notice outside of the steps: clients drop the chunks of a step whose turn fails.
    fn write_notice(&self, notice: &Notice, out: &mut Vec<u8>) {
        let (id, data) = (Some(notice.id.as_str()), Json::Value(&notice.data));
        self.write_frame(&Chunk::Data { name: "unreadable-part", id, data, transient: None }, out);
    }

    fn write_text(&mut self, is_reasoning: bool, text: &str, now: Duration, out: &mut Vec<u8>) {
        if text.is_empty() || is_reasoning && !self.settings.reasoning {
            return;
        }
        self.open_step(out);
        if self.open_text.as_ref().is_some_and(|open_text| open_text.is_reasoning != is_reasoning) {
            self.close_text(out);
        }
        let version = self.settings.client_version;
        if self.open_text.is_none() {
            let id = self.new_part();
            // This step is now the client's last. It has calls only if it has some already.
            self.has_calls &= self.calls.len() > self.step_calls;
            let start = if is_reasoning {
                Chunk::ReasoningStart { id: &id, provider_metadata: None }
            } else {
                Chunk::TextStart { id: &id, provider_metadata: None }
            };
            write_frame(&start, version, out);
            let held = HeldText::prose();
            self.open_text = Some(OpenText { id, is_reasoning, held });
        }
        if let Some(OpenText { id, is_reasoning, held }) = &mut self.open_text {
            let mut send = |delta: &str| write_frame(&delta_chunk(*is_reasoning, id, delta), version, out);
            if self.settings.coalesce { held.push(text, now, send) } else { send(text) }
        }
    }

    /// Creates the id of a new text.
    fn new_part(&mut self) -> String {
        let id = self.parts.to_string();
        self.parts += 1;
        id
    }

    /// Writes an empty text in the current step, so that the client's last step has no calls. Without the text, the client
    /// would drop the step, because it had no parts.
    fn write_empty_text(&mut self, out: &mut Vec<u8>) {
        self.open_step(out);
        let id = self.new_part();
        self.write_frame(&Chunk::TextStart { id: &id, provider_metadata: None }, out);
        self.write_frame(&Chunk::TextEnd { id: &id, citations: None, provider_metadata: None }, out);
        self.has_calls = false;
    }

    pub(super) fn close_text(&mut self, out: &mut Vec<u8>) {
        let Some(OpenText { id, is_reasoning, mut held }) = self.open_text.take() else { return };
        let version = self.settings.client_version;
        held.send_rest(|delta| write_frame(&delta_chunk(is_reasoning, &id, delta), version, out));
        let end = if is_reasoning {
            Chunk::ReasoningEnd { id: &id, provider_metadata: None }
        } else {
            Chunk::TextEnd { id: &id, citations: None, provider_metadata: None }
        };
        write_frame(&end, version, out);
    }

    fn write_arguments(&mut self, id: &CallId, text: &str, now: Duration, out: &mut Vec<u8>) {
        let Some(at) = self.find(id).filter(|at| self.calls[*at].is_streaming()) else { return };
        let version = self.settings.client_version;
        let StreamedCall { id, held, .. } = &mut self.calls[at];
        let id = id.as_str();
        let mut send =
            |text: &str| write_frame(&Chunk::ToolInputDelta { tool_call_id: id, input_text_delta: text }, version, out);
        if self.settings.coalesce {
            held.push(text, now, send);
        } else if !text.is_empty() {
            send(text);
        }
    }

    fn start_step(&mut self, out: &mut Vec<u8>) {
        if self.step == Step::Void {
            self.step = Step::Open;
        } else {
            self.finish_step(out);
            self.step = Step::Due;
        }
        self.step_calls = self.calls.len();
    }

    pub(super) fn open_step(&mut self, out: &mut Vec<u8>) {
        if self.step == Step::Due {
            self.write_frame(&Chunk::StartStep {}, out);
        }
        if self.step != Step::None {
            self.step = Step::Open;
        }
    }

    pub(super) fn finish_step(&mut self, out: &mut Vec<u8>) {
        self.close_text(out);
        if matches!(self.step, Step::Open | Step::Void) {
            self.write_frame(&Chunk::FinishStep {}, out);
        }
        self.step = Step::None;
    }

    /// Resets the current step: the client drops its chunks.
    fn reset_step(&mut self, out: &mut Vec<u8>) {
        (self.open_text, self.has_calls) = (None, self.step_calls > 0);
        if self.step == Step::Open {
            self.write_frame(&Chunk::ResetStep {}, out);
            self.step = Step::Void;
        }
    }

    /// Writes an empty step if the last one has calls. With `sendAutomaticallyWhen`, `useChat` sends again if all calls of its
    /// last step have ended, also after an abort.
    fn leave_calls(&mut self, out: &mut Vec<u8>) {
        let has_calls = self.has_calls;
        self.finish_step(out);
        if has_calls {
            self.start_step(out);
            self.write_empty_text(out);
            self.finish_step(out);
        }
    }

    /// Ends the response with an earlier answer, after which the conversation has gone on.
    pub(crate) fn end_earlier(&mut self, out: &mut Vec<u8>) {
        self.is_over = true;
        self.close(Some(&Phase::Finished), None, None, out);
    }

    fn close(&mut self, phase: Option<&Phase>, failure: Option<&AgentError>, sealed: Option<&str>, out: &mut Vec<u8>) {
        let text = if matches!(failure, Some(AgentError::Cancelled)) { "stopped" } else { "broken off" };
        self.end_incomplete_calls(0, &format!("the answer was {text}"), out);
        match failure {
            Some(failure) => self.fail(failure, sealed, out),
            None => self.finish(phase, sealed, out),
        }
        out.extend_from_slice(DONE_FRAME);
    }

    /// Writes the end of a response that did not fail. `phase` is `None` if the state of the run is unknown.
    fn finish(&mut self, phase: Option<&Phase>, sealed: Option<&str>, out: &mut Vec<u8>) {
        if matches!(phase, Some(Phase::Suspended)) {
            self.finish_step(out);
        } else {
            self.leave_calls(out);
        }
        let reason = match phase {
            Some(Phase::Suspended | Phase::Stopped(StopReason::StepLimit)) => FinishReason::ToolCalls,
            Some(Phase::Stopped(StopReason::TurnCut(message::FinishReason::Length))) => FinishReason::Length,
            Some(Phase::Stopped(StopReason::TurnCut(message::FinishReason::ContentFilter))) => {
                FinishReason::ContentFilter
            }
            Some(Phase::Finished) => FinishReason::Stop,
            None => FinishReason::Interrupted,
            _ => FinishReason::Other,
        };
        let metadata = sealed.map(sealed_metadata);
        let message_metadata = metadata.as_ref().map(Json::Value);
        self.write_frame(&Chunk::Finish { finish_reason: Some(reason), message_metadata }, out);
    }

    /// Writes the end of a response whose run failed.
    fn fail(&mut self, failure: &AgentError, sealed: Option<&str>, out: &mut Vec<u8>) {
        self.close_text(out);
        if let Some(sealed) = sealed {
            let metadata = sealed_metadata(sealed);
            self.write_frame(&Chunk::MessageMetadata { message_metadata: Json::Value(&metadata) }, out);
        }
        if matches!(failure, AgentError::Cancelled) {
            self.leave_calls(out);
            return self.write_frame(&Chunk::Abort { reason: None }, out);
        }
        let text = match (self.settings.failures, failure) {
            (_, AgentError::Blocked { by, reason }) => format!("{}.", blocked(by, reason)),
            (_, AgentError::Store(error)) if let Some((_, text)) = store_failure(error) => {
                format!("The answer failed: {text}.")
            }
            (ErrorDetail::Masked, _) => "The answer failed. Try again.".to_owned(),
            (ErrorDetail::Full, _) => format!("The answer failed: {failure}"),
        };
        self.write_frame(&Chunk::Error { error_text: &text }, out);
    }

    /// Writes a steering message that the run has accepted.
    fn write_steering_message(&mut self, id: Option<&str>, content: &[Part], out: &mut Vec<u8>) {
        self.finish_step(out);
        self.steerings += 1;
        let own_id = format!("{}-steering-{}", self.message_id, self.steerings);
        let parts: Value = content.iter().map(part).collect();
        let id = id.unwrap_or(&own_id);
        self.write_frame(&Chunk::SteeringMessage { id, parts: Json::Value(&parts) }, out);
    }

    /// Ends the step of a failed turn that is tried again. Clients that can drop its chunks do so. For other clients, its
    /// calls end with an error.
    fn end_failed_step(&mut self, again: bool, out: &mut Vec<u8>) {
        if !again || self.step != Step::Open {
            return;
        }
        let from = self.step_calls.min(self.calls.len());
        // An accepted call goes on although the turn failed, so its part must stay.
        let has_kept = self.calls[from..].iter().any(|call| !call.is_streaming() && !call.is_provided);
        if self.settings.client_version >= SdkVersion::V7 && !has_kept {
            self.calls.truncate(from);
            self.reset_step(out);
        } else {
            self.end_incomplete_calls(from, "the model's turn broke off", out);
            self.finish_step(out);
        }
    }

    /// Writes the beginning of a response that continues a message: the first chunk, and the message's content from earlier
    /// responses. [`Encoder::begin`] leaves that content out. Returns the encoder, so that decisions can follow.
    pub fn resume_message(message_id: &str, run: &Run, settings: StreamSettings, out: &mut Vec<u8>) -> Self {
        let mut encoder = Self::new(message_id, run.id(), settings);
        encoder.begin(out);
        let prompts = run.prompts();
        let first = prompts.iter().rposition(|prompt| !prompt.steers).unwrap_or(0);
        encoder.write_history(run, prompts.get(first).map_or(0, message_position)..run.messages().len(), out);
        encoder.finish_step(out);
        encoder
    }

    /// Forgets the calls of the client's message.
    pub(crate) fn forget_calls(&mut self) {
        self.calls.clear();
        self.has_calls = false;
    }

    /// Writes the messages of `run` at these positions, with their calls in the present state.
    pub(crate) fn write_history(&mut self, run: &Run, places: Range<usize>, out: &mut Vec<u8>) {
        for at in places {
            match &run.messages()[at] {
                Message::Assistant { content } => self.write_turn(content, run, out),
                // Steering messages are part of the response. Corrections are for the model alone.
                Message::User { content } => {
                    let found = run.prompts().binary_search_by_key(&at, message_position).ok();
                    if let Some(prompt) =
                        found.map(|found| &run.prompts()[found]).filter(|prompt| prompt.steers && !prompt.corrects)
                    {
                        self.write_steering_message(prompt.id.as_deref(), content, out);
                    }
                }
                Message::Tool(message) if run.call(&message.call_id.as_str().into()).is_none() => {
                    self.write_branch_result(message, out);
                }
                Message::System { .. } | Message::Tool { .. } => {}
            }
        }
        self.close_text(out);
    }

    fn write_turn(&mut self, content: &[AssistantPart], run: &Run, out: &mut Vec<u8>) {
        let now = Duration::ZERO;
        self.event(Event::StepStarted { step: 0 }, now, out);
        for part in content {
            match part {
                AssistantPart::Text { text } => self.event(Event::Text(text), now, out),
                AssistantPart::Reasoning { text, .. } => self.event(Event::Reasoning(text), now, out),
                AssistantPart::Call(called) => self.write_call(called, run, out),
                AssistantPart::Provider(part) => self.event(Event::ProviderPart(part), now, out),
            }
        }
        self.close_text(out);
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
        if call.map_or(!self.settings.is_hidden(&called.name), |call| self.settings.is_seen(call)) {
            self.announce_call(&id, &called.name, out);
        }
        let Some(call) = call else {
            // A call of the run from which this one was branched.
            return self.write_all_arguments(id.as_str(), &called.arguments, out);
        };
        if call.tool.is_some() {
            self.write_accepted_arguments(call, out);
        }
        let is_rejected = call.tool.is_none() && call.result().is_some();
        let is_announced = call.interrupt().is_some_and(|open| matches!(open.kind, InterruptKind::External));
        if !is_rejected && !is_announced {
            // The client needs the arguments to show a request, whoever executes the call.
            self.write_all_arguments(call.id.as_str(), &call.arguments().text, out);
        }
        self.write_last_decision(call, out);
        if let Some(open) = call.interrupt() {
            self.write_interrupt(call, open, out);
        }
    }

    /// Writes all of a call's arguments as one delta, unless the client has the complete arguments.
    pub(super) fn write_all_arguments(&mut self, id: &str, text: &str, out: &mut Vec<u8>) {
        if self.calls.iter().any(|call| call.id == id && call.is_streaming()) {
            self.write_frame(&Chunk::ToolInputDelta { tool_call_id: id, input_text_delta: text }, out);
        }
    }
}

/// Returns the position of a prompt among the messages.
pub(crate) fn message_position(prompt: &PromptPosition) -> usize {
    usize::try_from(prompt.at).unwrap_or(usize::MAX)
}

fn delta_chunk<'a>(is_reasoning: bool, id: &'a str, delta: &'a str) -> Chunk<'a> {
    if is_reasoning {
        Chunk::ReasoningDelta { id, delta, provider_metadata: None }
    } else {
        Chunk::TextDelta { id, delta, provider_metadata: None }
    }
}

impl Encoder for AiSdkEncoder {
    fn begin(&mut self, out: &mut Vec<u8>) {
        let start = Chunk::Start { message_id: Some(&self.message_id), message_metadata: None };
        self.write_frame(&start, out);
        out.append(&mut self.answers);
    }

    fn event(&mut self, event: Event<'_>, now: Duration, out: &mut Vec<u8>) {
        if self.is_over {
            return;
        }
        self.write_data(out);
        for notice in self.unread.note(&event) {
            self.write_notice(&notice, out);
        }
        match event {
            Event::StepStarted { .. } => self.start_step(out),
            Event::Text(text) => self.write_text(false, text, now, out),
            Event::Reasoning(text) => self.write_text(true, text, now, out),
            Event::CallAnnounced { id, name } => {
                if !self.settings.is_hidden(name) {
                    self.announce_call(id, name, out);
                }
            }
            Event::CallArguments { id, text, .. } => self.write_arguments(id, text, now, out),
            Event::TurnEnded { .. } => {
                self.close_text(out);
                // After calls, `finish` decides whether the client needs the step of an empty turn.
                if self.step != Step::Due || !self.has_calls {
                    self.open_step(out);
                }
            }
            Event::CallAccepted(call) => self.write_accepted_arguments(call, out),
            Event::InterruptOpened { call, interrupt } => self.write_interrupt(call, interrupt, out),
            Event::CallDecided { call, decision, by, .. } => self.write_decision(call, decision, by, out),
            Event::CallProgress(progress) => self.write_progress(progress, out),
            Event::CallEnded { call, result, .. } => self.finish_call(call, result, out),
            Event::TurnFailed { again, .. } => self.end_failed_step(again, out),
            Event::Prompted(prompt) if prompt.steers && !prompt.corrects => {
                self.write_steering_message(prompt.id.as_deref(), &prompt.content, out);
            }
            Event::ProviderPart(part) => self.write_provider_part(part, out),
            Event::Prompted(_)
            | Event::CallStarted(_)
            | Event::RunAtRest(_)
            | Event::ModelAsked { .. }
            | Event::ChoiceIgnored(_)
            | Event::PartDescribed { .. }
            | Event::HandedOver { .. }
            | Event::HistoryChanged { .. }
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
        let open_text = self.open_text.as_ref().and_then(|open_text| open_text.held.due());
        let calls = self.calls.iter().filter_map(|call| call.held.due());
        calls.chain(open_text).min()
    }

    fn flush(&mut self, now: Duration, out: &mut Vec<u8>) {
        self.write_data(out);
        let version = self.settings.client_version;
        let is_due = |held: &HeldText| held.due().is_some_and(|due| due <= now);
        if let Some(OpenText { id, is_reasoning, held }) =
            self.open_text.as_mut().filter(|open_text| is_due(&open_text.held))
        {
            held.send_rest(|delta| write_frame(&delta_chunk(*is_reasoning, id, delta), version, out));
        }
        for call in self.calls.iter_mut().filter(|call| is_due(&call.held)) {
            call.flush(version, out);
        }
    }

    fn end(&mut self, end: End<'_>, out: &mut Vec<u8>) {
        if std::mem::replace(&mut self.is_over, true) {
            return;
        }
        let phase = end.run.map(Run::phase);
        // A response that follows the run of another server does not fail when that run is cancelled or blocked.
        let elsewhere = match &phase {
            Some(Phase::Stopped(StopReason::Cancelled)) => Some(AgentError::Cancelled),
            Some(Phase::Stopped(StopReason::Blocked { by, reason })) => {
                Some(AgentError::Blocked { by: by.clone(), reason: reason.clone() })
            }
            _ => None,
        };
        self.close(phase.as_ref(), end.failure.or(elsewhere.as_ref()), end.sealed, out);
    }
}

/// Returns a part of a person's message, in the form of the AI SDK.
pub(super) fn part(part: &Part) -> Value {
    match part {
        Part::Json { json } => json!({ "type": "text", "text": json }),
        part => match part.as_media() {
            Some(media) => file(media),
            None => json!({ "type": "text", "text": part.as_text().unwrap_or_default() }),
        },
    }
}

fn file(media: MediaRef<'_>) -> Value {
    // The protocol requires a type.
    let media_type = media.media_type.unwrap_or(match media.kind {
        MediaKind::Image => "image/*",
        MediaKind::Audio => "audio/*",
        MediaKind::Document => "application/octet-stream",
    });
    let mut file = json!({ "type": "file", "mediaType": media_type, "url": media.to_url() });
    if let Some(name) = media.name {
        file["filename"] = name.into();
    }
    file
}

/// The `data-*` parts that tools put into a response's message. It is cheap to clone.
///
/// ```
/// use serde_json::json;
/// use tool_runtime::Context;
/// use tool_server::protocol::ai_sdk::DataParts;
///
/// // The body of a tool. Without a frontend of the AI SDK there is no message.
/// fn show(cx: &Context) {
///     if let Some(parts) = DataParts::of(cx) {
///         parts.put("weather", "oslo", json!({ "temperature": 21 })); // a part, replaced by the next of that id
///         parts.notify("toast", json!("looked up")); // not kept in the message
///     }
/// }
/// # show(&Context::new("call_1"));
/// ```
#[derive(Clone)]
pub struct DataParts {
    outbox: Arc<Outbox<Vec<DataPart>>>,
}

struct DataPart {
    name: String,
    id: Option<String>,
    data: Value,
    is_transient: bool,
}

impl DataParts {
    /// Creates an empty list of parts.
    pub fn new() -> Self {
        Self { outbox: Arc::new(Outbox::new(Vec::new())) }
    }

    /// Returns the parts of a call's message, or `None` if no frontend of the AI SDK requested the run.
    pub fn of(cx: &Context) -> Option<&Self> {
        cx.get()
    }

    /// Adds the part `data-<name>`, or replaces the part with this name and id.
    pub fn put(&self, name: impl Into<String>, id: impl Into<String>, data: Value) {
        self.add(DataPart { name: name.into(), id: Some(id.into()), data, is_transient: false });
    }

    /// Sends the frontend data that it does not keep in the message.
    pub fn notify(&self, name: impl Into<String>, data: Value) {
        self.add(DataPart { name: name.into(), id: None, data, is_transient: true });
    }

    /// Sets the function to call when there is something to send. Only the first call has an effect.
    pub fn on_change(&self, wake: impl Fn() + Send + Sync + 'static) {
        self.outbox.on_change(wake);
    }

    fn add(&self, part: DataPart) {
        let mut parts = self.outbox.lock();
        parts.push(part);
        self.outbox.wake(parts);
    }

    /// Writes the parts that were added since the last call.
    fn write(&self, version: SdkVersion, out: &mut Vec<u8>) {
        for DataPart { name, id, data, is_transient } in std::mem::take(&mut *self.outbox.lock()) {
            let transient = is_transient.then_some(true);
            write_frame(
                &Chunk::Data { name: &name, id: id.as_deref(), data: Json::Value(&data), transient },
                version,
                out,
            );
        }
    }
}

impl Default for DataParts {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for DataParts {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("DataParts")
    }
}
