//! The encoder of AG-UI: it writes a run's events as a stream.

mod call;
mod connect;

use std::{
    collections::{HashMap, VecDeque},
    fmt,
    time::Duration,
};

use chrono::{DateTime, SecondsFormat};
use serde_json::{Value, json};
use tool_run::run::{CallView, Digest};

use self::call::{StreamedCall, write_decision};
use super::event::{self, Event, Object, Outcome, TokenUsage, object};
use super::{ClientTools, Content, Frontend, InputMessage, ProtocolVersion, RunInput, VERSION};
use crate::protocol::{
    Encoder, End, NOT_YOURS, Visibility, VisibilityRule, approval_id, blocked, rest_of_answer, store_failure,
    unread::{Notice, UnreadFiles},
    waits_for,
};
use tool_runtime::Agent;
use tool_runtime::agent::{AgentError, Event as RunEvent};
use tool_runtime::gate;
use tool_runtime::message::{FinishReason, Usage};
use tool_runtime::run::{CallId, Interrupt, InterruptId, InterruptKind, Phase, Principal, Run, StopReason, Timestamp};
use tool_runtime::tool::{Effect, ToolSpec};
use tool_runtime::toolset::Toolset;

/// An encoder that writes a run's events as valid events of AG-UI, whatever their order. It closes open messages in time, writes
/// nothing twice, and ends with the last event of the run.
///
/// ```
/// use std::time::Duration;
/// use tool_runtime::{Toolset, agent};
/// use tool_server::protocol::{Encoder, ag_ui::{RunInput, AgUiEncoder}};
///
/// let input = RunInput::read(br#"{"threadId":"t1","runId":"r1","messages":[],"protocolVersion":"1.0"}"#).unwrap();
/// let mut encoder = AgUiEncoder::new(&input, Toolset::new(), "anna".into(), "x7");
/// let mut out = Vec::new();
/// encoder.begin(&mut out);
/// encoder.event(agent::Event::Text("Hello"), Duration::ZERO, &mut out);
/// encoder.fail("the model failed", "model", &mut out);
/// let text = String::from_utf8(out).unwrap();
/// let frames: Vec<_> = text.lines().filter(|line| !line.is_empty()).collect();
/// assert_eq!(frames[0], r#"data: {"type":"RUN_STARTED","threadId":"t1","runId":"r1","protocolVersion":"1.0"}"#);
/// assert!(frames[1].starts_with(r#"data: {"type":"TEXT_MESSAGE_START","messageId":""#));
/// assert!(frames[2].ends_with(r#","delta":"Hello"}"#));
/// assert!(frames[3].starts_with(r#"data: {"type":"TEXT_MESSAGE_END","messageId":""#));
/// assert_eq!(frames[4], r#"data: {"type":"RUN_ERROR","message":"the model failed","code":"model"}"#);
/// ```
pub struct AgUiEncoder {
    thread_id: String,
    run_id: String,
    client_version: ProtocolVersion,
    /// The id of the last message that the client sent, which will keep the sealed run.
    keeper: Option<String>,
    /// The ids of messages that keep outdated sealed runs.
    sealed_before: Vec<String>,
    /// The id of the message that keeps the latest sealed run of the request.
    sealed_by: Option<String>,
    tools: Toolset,
    client_tools: ClientTools,
    visibility: VisibilityRule,
    holds: bool,
    /// Set if interrupts about calls have the reason `tool_call`.
    has_tool_call_reason: bool,
    model: Option<String>,
    frontend: Option<Frontend>,
    by: Principal,
    warnings: Vec<String>,
    /// The reasons why answers to open interrupts were refused.
    refusals: HashMap<InterruptId, String>,
    /// Frames about calls that the client has answered too late.
    settled: Vec<u8>,
    seed: String,
    message_count: u64,
    open: OpenMessages,
    calls: Vec<StreamedCall>,
    index: HashMap<CallId, usize>,
    /// The indexes of the calls whose arguments have not ended. The first is open, and the others wait for it.
    unended: VecDeque<usize>,
    unread: UnreadFiles,
    usage: Usage,
    stage: Stage,
    /// The last frame, if it names the run.
    finish: Option<Finish>,
}

/// The content of `RUN_FINISHED`.
struct Finish {
    outcome: Option<Outcome>,
    usage: Option<Vec<TokenUsage>>,
    metadata: Option<Object>,
}

/// The maximum size of the text in one frame, in bytes. Clients accept frames of 10 MB, and escapes make a text longer.
const MAX_FRAME_TEXT: usize = 1 << 20;

/// The messages of the current turn.
#[derive(Debug, Default)]
struct OpenMessages {
    /// The assistant's message that the turn's calls belong to.
    message: Option<String>,
    /// Set if the message is open for text.
    is_open: bool,
    /// The ids of the open reasoning span and of its message.
    reasoning: Option<(String, String)>,
}

/// The result of a call whose run ended before it had one.
const NO_RESULT: &str = "the run ended before the call had a result";

/// The stage of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    New,
    Started,
    Finished,
}

impl AgUiEncoder {
    /// Creates the encoder of a response to `input`, a request of the principal `by` to an agent with `tools`. The ids of all
    /// messages contain `seed`. It must be unique, because clients keep the messages of a conversation by id.
    pub fn new(input: &RunInput, tools: Toolset, by: Principal, seed: impl Into<String>) -> Self {
        Self {
            thread_id: input.thread_id.clone(),
            run_id: input.run_id.clone(),
            client_version: input.client_version(),
            // Clients do not store an encrypted value in an activity.
            keeper: (input.messages.iter().rev())
                .find(|message| !matches!(message, InputMessage::Activity { .. }))
                .map(|message| message.id().to_owned()),
            sealed_by: input.sealed_by.clone(),
            sealed_before: input.sealed_before.clone(),
            tools,
            client_tools: ClientTools::default(),
            visibility: VisibilityRule::default(),
            holds: false,
            has_tool_call_reason: input.client_version().has_tool_call_reason(),
            model: None,
            frontend: None,
            by,
            warnings: Vec::new(),
            refusals: HashMap::new(),
            settled: Vec::new(),
            seed: seed.into(),
            message_count: 0,
            open: OpenMessages::default(),
            calls: Vec::new(),
            index: HashMap::default(),
            unended: VecDeque::new(),
            unread: UnreadFiles::default(),
            usage: Usage::default(),
            stage: Stage::New,
            finish: None,
        }
    }

    /// Adds the client's tools, with the [`ArgumentCheck`](super::ArgumentCheck) of their arguments.
    pub fn client_tools(mut self, tools: ClientTools) -> Self {
        self.client_tools = tools;
        self
    }

    /// Sets the part of each tool's calls that the client sees.
    pub fn visibility(self, rule: impl Fn(&ToolSpec) -> Visibility + Send + Sync + 'static) -> Self {
        self.visibility_rule(VisibilityRule::new(rule))
    }

    pub(crate) fn visibility_rule(mut self, visibility: VisibilityRule) -> Self {
        self.visibility = visibility;
        self
    }

    /// Sets whether the encoder holds a call of the client's own tools back until the client has to execute it. Use it for
    /// agents whose policies may refuse calls or require approvals
    /// ([`Agent::has_policies`](tool_runtime::Agent::has_policies)). The encoder always holds back calls of external tools
    /// that the server declares, and calls of the client's tools with [`ArgumentCheck::Reject`](super::ArgumentCheck::Reject).
    pub fn hold(mut self, holds: bool) -> Self {
        self.holds = holds;
        self
    }

    /// Sets whether interrupts about calls have the reason `tool_call`. Without a value, the client's version decides.
    pub(crate) fn tool_call_reason(mut self, has_reason: Option<bool>) -> Self {
        self.has_tool_call_reason = has_reason.unwrap_or(self.has_tool_call_reason);
        self
    }

    /// Adds the agent, which names the files of prompts that none of its models reads.
    pub(crate) fn agent(mut self, agent: Agent) -> Self {
        self.unread = UnreadFiles::of(Some(agent));
        self
    }

    /// Sets the name of the model whose tokens are counted.
    pub fn model(mut self, name: impl Into<String>) -> Self {
        self.model = Some(name.into());
        self
    }

    /// Adds the frontend. The encoder writes the changes of its state and its custom events.
    pub fn frontend(mut self, frontend: Frontend) -> Self {
        self.frontend = Some(frontend);
        self
    }

    /// Adds warnings about the input, for the developer of the client. The metadata of the first event contains them.
    pub fn warnings(mut self, warnings: impl IntoIterator<Item = String>) -> Self {
        self.warnings.extend(warnings);
        self
    }

    /// Adds the reasons why answers to open interrupts were refused. These interrupts state them.
    pub(crate) fn refusals(mut self, refusals: HashMap<InterruptId, String>) -> Self {
        self.refusals = refusals;
        self
    }

    /// Adds the decisions and the results of the calls `settled`, which the client has answered too late, and the rest of the answer.
    /// Leaves out what is among the client's messages.
    pub(crate) fn settled(mut self, run: &Run, settled: &[CallId], messages: &[InputMessage]) -> Self {
        let mut out = Vec::new();
        for call in settled.iter().filter_map(|id| run.call(id)) {
            if let Some((decision, by)) = call.decisions().next_back() {
                write_decision(&call.id, decision, by, &mut out);
            }
            let Some(result) = call.result() else { continue };
            let visible = self.visible_result(call, result);
            let is_known = |message: &InputMessage| {
                matches!(message, InputMessage::Tool { tool_call_id, content, .. }
                    if *tool_call_id == call.id.as_str() && *content == visible)
            };
            if !messages.iter().any(is_known) {
                self.finish_call(call, result, &mut out);
            }
        }
        if let Some(rest) = settled.last().and_then(|call| rest_of_answer(run, call)) {
            let has_call = |message: &InputMessage| {
                matches!(message, InputMessage::Assistant { tool_calls, .. }
                    if tool_calls.iter().any(|call| settled.iter().any(|id| id.as_str() == call.id)))
            };
            let after = messages.iter().rposition(has_call).map_or(messages, |at| &messages[at + 1..]);
            if !after.iter().any(|message| matches!(message, InputMessage::Assistant { .. })) {
                self.write_turns(run, rest, &mut out);
            }
        }
        self.settled = out;
        self
    }

    /// Begins the stream if necessary, and writes the frontend's pending updates. Returns whether the stream is still open.
    fn begin_if_needed(&mut self, out: &mut Vec<u8>) -> bool {
        if self.stage == Stage::New {
            self.stage = Stage::Started;
            self.begin_for(None, out);
            out.append(&mut self.settled);
        }
        if self.stage == Stage::Started
            && let Some(frontend) = &self.frontend
        {
            frontend.write_updates(out);
        }
        self.stage == Stage::Started
    }

    fn end_turn(&mut self, out: &mut Vec<u8>) {
        self.end_messages(out);
        self.end_all_arguments(out);
        self.open.message = None;
    }

    /// Returns the id of the next message: a UUID, because some clients accept no other ids.
    fn new_message_id(&mut self) -> String {
        self.message_count += 1;
        let digest = Digest::of(format!("{} {}", self.seed, self.message_count).as_bytes()).to_string();
        let digest = digest.get(..32).and_then(|digest| u128::from_str_radix(digest, 16).ok()).unwrap_or_default();
        uuid::Builder::from_random_bytes(digest.to_be_bytes()).into_uuid().to_string()
    }

    fn write_text(&mut self, text: &str, out: &mut Vec<u8>) {
        if text.is_empty() {
            return;
        }
        self.end_reasoning(out);
        if !self.open.is_open {
            // A closed message, or one with calls, cannot be opened again.
            let id = self.new_message_id();
            Event::TextMessageStart { message_id: &id, role: "assistant" }.write(out);
            self.open.message = Some(id);
            self.open.is_open = true;
        }
        let Some(message_id) = self.open.message.as_deref() else { return };
        for delta in split_text(text) {
            Event::TextMessageContent { message_id, delta }.write(out);
        }
    }

    fn write_reasoning(&mut self, text: &str, out: &mut Vec<u8>) {
        if text.is_empty() {
            return;
        }
        self.end_text(out);
        if self.open.reasoning.is_none() {
            let (span, message) = (self.new_message_id(), self.new_message_id());
            Event::ReasoningStart { message_id: &span }.write(out);
            Event::ReasoningMessageStart { message_id: &message, role: "reasoning" }.write(out);
            self.open.reasoning = Some((span, message));
        }
        let Some((_, message_id)) = &self.open.reasoning else { return };
        for delta in split_text(text) {
            Event::ReasoningMessageContent { message_id, delta }.write(out);
        }
    }

    /// Returns the id of the message that the turn's calls belong to.
    fn parent_message_id(&mut self) -> String {
        match &self.open.message {
            Some(id) => id.clone(),
            None => {
                let id = self.new_message_id();
                self.open.message = Some(id.clone());
                id
            }
        }
    }

    fn end_messages(&mut self, out: &mut Vec<u8>) {
        self.end_text(out);
        self.end_reasoning(out);
    }

    fn end_text(&mut self, out: &mut Vec<u8>) {
        if std::mem::take(&mut self.open.is_open)
            && let Some(message_id) = self.open.message.as_deref()
        {
            Event::TextMessageEnd { message_id }.write(out);
        }
    }

    fn end_reasoning(&mut self, out: &mut Vec<u8>) {
        if let Some((span, message)) = self.open.reasoning.take() {
            Event::ReasoningMessageEnd { message_id: &message }.write(out);
            Event::ReasoningEnd { message_id: &span }.write(out);
        }
    }

    /// Ends the stream according to the phase of `run`. A second call has no effect.
    fn finish(&mut self, run: &Run, out: &mut Vec<u8>) {
        if !self.begin_if_needed(out) {
            return;
        }
        let text;
        let failed = match run.phase() {
            Phase::Stopped(StopReason::ModelFailed(_)) => Some(("the model failed", "model")),
            Phase::Stopped(StopReason::StepLimit) => Some(("the model did not come to an end in time", "step_limit")),
            Phase::Stopped(StopReason::LimitReached(_)) => {
                Some(("the conversation has reached a limit", "over_budget"))
            }
            Phase::Stopped(StopReason::Blocked { by, reason }) => {
                text = blocked(&by, &reason);
                Some((&*text, "blocked"))
            }
            Phase::Generating | Phase::Acting => Some(("the run was left before its end", "interrupted")),
            _ => None,
        };
        let is_over = |streamed: &StreamedCall| run.call(&streamed.id).is_none_or(|call| call.result().is_some());
        self.end_open_parts(|streamed| is_over(streamed) && !(failed.is_some() && streamed.is_external), out);
        if let Some((message, code)) = failed {
            return self.write_error(message, code, out);
        }
        let outcome = self.outcome(run);
        let cut = match run.phase() {
            Phase::Stopped(StopReason::TurnCut(FinishReason::Length)) => Some("length"),
            Phase::Stopped(StopReason::TurnCut(FinishReason::ContentFilter)) => Some("content_filter"),
            Phase::Stopped(StopReason::TurnCut(_)) => Some("other"),
            Phase::Stopped(StopReason::Denied) => Some("denied"),
            _ => None,
        };
        self.finish = Some(Finish {
            outcome: Some(outcome).filter(|outcome| self.client_version.accepts(outcome)),
            usage: self.token_usage(),
            metadata: cut.map(|reason| object([("finishReason", reason.into())])),
        });
        self.stage = Stage::Finished;
    }

    /// Returns the outcome of `run` in its present state.
    fn outcome(&self, run: &Run) -> Outcome {
        let waits =
            |open: &&Interrupt| !matches!(open.kind, InterruptKind::External) || !run.may_decide(open, &self.by);
        let interrupts: Vec<_> =
            run.interrupts().filter(waits).map(|open| ag_ui_interrupt(self, run, open, &self.by)).collect();
        match run.phase() {
            Phase::Stopped(StopReason::Cancelled) => Outcome::Cancelled,
            _ if interrupts.is_empty() => Outcome::Success { pending_tool_call_ids: self.pending() },
            _ => Outcome::Interrupt { interrupts },
        }
    }

    /// Ends the stream with an error. The client shows `message`; `code` is for programs. Neither may contain details that
    /// only a log may contain. A second call has no effect.
    pub fn fail(&mut self, message: &str, code: &str, out: &mut Vec<u8>) {
        if self.begin_if_needed(out) {
            self.end_open_parts(|streamed| !streamed.is_external, out);
            self.write_error(message, code, out);
        }
    }

    /// Writes the sealed run, attached to the last message that the client sent. So the last sealed run in a conversation is
    /// the latest one. The one before it stays, for a client that replaces its last message. The client deletes older ones,
    /// because they only make requests large. If `sealed` is empty, the client deletes all, because they lack the latest
    /// messages.
    fn write_sealed(&mut self, sealed: &str, out: &mut Vec<u8>) {
        if !self.begin_if_needed(out) {
            return;
        }
        let keeper = self.keeper.take().unwrap_or_else(|| {
            let id = self.new_message_id();
            Event::TextMessageStart { message_id: &id, role: "assistant" }.write(out);
            Event::TextMessageEnd { message_id: &id }.write(out);
            id
        });
        let keeps = |entity_id: &str, encrypted_value: &str, out: &mut Vec<u8>| {
            Event::ReasoningEncryptedValue { subtype: "message", entity_id, encrypted_value }.write(out);
        };
        let latest = self.sealed_by.take().filter(|id| sealed.is_empty() && *id != keeper);
        for id in std::mem::take(&mut self.sealed_before).into_iter().chain(latest) {
            keeps(&id, "", out);
        }
        keeps(&keeper, sealed, out);
    }

    fn write_error(&mut self, message: &str, code: &str, out: &mut Vec<u8>) {
        let usage = self.token_usage();
        Event::RunError { message, code, usage: usage.as_deref() }.write(out);
        self.stage = Stage::Finished;
    }

    /// Ends open messages and arguments. Writes a result for the calls that will get no other; `is_over` selects them. After a
    /// failure, `is_over` leaves out the calls whose results the client provides.
    fn end_open_parts(&mut self, is_over: impl Fn(&StreamedCall) -> bool, out: &mut Vec<u8>) {
        self.end_messages(out);
        self.end_all_arguments(out);
        let over = self.calls.iter().filter(|streamed| streamed.awaits_result() && is_over(streamed));
        let over: Vec<_> = over.map(|streamed| streamed.id.clone()).collect();
        for id in over {
            self.write_result(&id, &Content::Text(NO_RESULT.to_owned()), out);
        }
    }

    /// Returns the calls that the client has to execute.
    fn pending(&self) -> Vec<String> {
        self.calls.iter().filter(|streamed| streamed.is_pending()).map(|streamed| streamed.id.to_string()).collect()
    }

    fn token_usage(&self) -> Option<Vec<TokenUsage>> {
        TokenUsage::of(self.usage, self.model.as_deref()).map(|used| vec![used])
    }
}

impl Encoder for AgUiEncoder {
    fn begin(&mut self, out: &mut Vec<u8>) {
        self.begin_if_needed(out);
    }

    fn event(&mut self, event: RunEvent<'_>, now: Duration, out: &mut Vec<u8>) {
        if !self.begin_if_needed(out) {
            return;
        }
        write_notices(&self.unread.note(&event), out);
        match event {
            RunEvent::StepStarted { .. } | RunEvent::TurnFailed { .. } => self.end_turn(out),
            RunEvent::Text(text) => self.write_text(text, out),
            RunEvent::Reasoning(text) => self.write_reasoning(text, out),
            RunEvent::CallAnnounced { id, name } => self.announce_call(id, name, out),
            RunEvent::CallArguments { id, text, so_far } => self.write_arguments(id, text, so_far, now, out),
            RunEvent::TurnEnded { usage, .. } => {
                self.usage += usage;
                self.end_turn(out);
            }
            RunEvent::CallAccepted(call) | RunEvent::CallStarted(call) => self.end_arguments(&call.id, out),
            RunEvent::InterruptOpened { call, interrupt } => self.write_interrupt(call, interrupt, out),
            RunEvent::CallDecided { call, decision, by, .. } => write_decision(&call.id, decision, by, out),
            RunEvent::CallProgress(progress) => self.write_progress(progress, out),
            RunEvent::ProviderPart(part) => self.write_provider_part(part, out),
            RunEvent::Prompted(prompt) if prompt.steers && !prompt.corrects => {
                self.write_steering_message(prompt, out);
            }
            RunEvent::CallEnded { call, result, .. } => self.finish_call(call, result, out),
            RunEvent::RunStarted(_)
            | RunEvent::ModelAsked { .. }
            | RunEvent::ChoiceIgnored(_)
            | RunEvent::PartDescribed { .. }
            | RunEvent::HandedOver { .. }
            | RunEvent::HistoryChanged { .. }
            | RunEvent::PromptQueued(_)
            | RunEvent::PromptRefused(_)
            | RunEvent::Prompted(_)
            | RunEvent::StepEnded { .. }
            | RunEvent::Inner { .. }
            | RunEvent::RunAtRest(_)
            | RunEvent::RunFailed(_)
            | RunEvent::HookFailed { .. } => {}
        }
    }

    fn due(&self) -> Option<Duration> {
        self.unended.front().and_then(|open| self.calls[*open].due())
    }

    fn flush(&mut self, now: Duration, out: &mut Vec<u8>) {
        if self.begin_if_needed(out) {
            let open = self.unended.front().map(|open| &mut self.calls[*open]);
            if let Some(open) = open.filter(|open| open.due().is_some_and(|due| due <= now)) {
                open.flush(out);
            }
        }
    }

    fn begin_for(&self, request: Option<&str>, out: &mut Vec<u8>) {
        let run_id = request.unwrap_or(&self.run_id);
        // The warnings are about the request that began the response.
        let is_warned = run_id == self.run_id && !self.warnings.is_empty();
        let metadata = is_warned.then(|| object([("warnings", self.warnings.clone().into())]));
        let (thread_id, protocol_version) = (self.thread_id.as_str(), VERSION);
        Event::RunStarted { thread_id, run_id, protocol_version, metadata: metadata.as_ref() }.write(out);
    }

    fn write_state(&self, out: &mut Vec<u8>) {
        if let Some(frontend) = &self.frontend {
            frontend.write_state(out);
        }
    }

    fn end_for(&self, request: Option<&str>, out: &mut Vec<u8>) {
        let Some(finish) = &self.finish else { return };
        Event::RunFinished {
            thread_id: &self.thread_id,
            run_id: request.unwrap_or(&self.run_id),
            outcome: finish.outcome.as_ref(),
            usage: finish.usage.as_deref(),
            metadata: finish.metadata.as_ref(),
        }
        .write(out);
    }

    fn end(&mut self, end: End<'_>, out: &mut Vec<u8>) {
        if let Some(sealed) = end.sealed {
            self.write_sealed(sealed, out);
        }
        match (end.run, end.failure) {
            (Some(run), None | Some(AgentError::Model(_) | AgentError::Cancelled | AgentError::Blocked { .. })) => {
                self.finish(run, out);
            }
            (_, Some(AgentError::Refused(_))) => self.fail("the conversation does not go on like this", "refused", out),
            (_, Some(AgentError::Store(error))) => {
                let (code, message) = store_failure(error).unwrap_or(("store", "the conversation could not be kept"));
                self.fail(message, code, out);
            }
            _ => self.fail("the server failed", "internal", out),
        }
    }
}

fn write_notices(notices: &[Notice], out: &mut Vec<u8>) {
    for notice in notices {
        Event::Custom { name: "unreadable_part", value: &notice.data }.write(out);
    }
}

/// Splits a text into pieces that fit into frames.
pub fn split_text(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (piece, after) = rest.split_at(rest.floor_char_boundary(MAX_FRAME_TEXT));
        rest = after;
        Some(piece)
    })
}

impl fmt::Debug for AgUiEncoder {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("AgUiEncoder")
            .field("thread_id", &self.thread_id)
            .field("run_id", &self.run_id)
            .field("stage", &self.stage)
            .finish_non_exhaustive()
    }
}

/// Returns `open` as an interrupt of AG-UI, for a client of the principal `by`.
fn ag_ui_interrupt(encoder: &AgUiEncoder, run: &Run, open: &Interrupt, by: &Principal) -> event::Interrupt {
    let id = approval_id(run.id(), open);
    let expires_at = open.expires_at.and_then(to_iso_8601);
    if !run.may_decide(open, by) {
        let deciders = open.deciders_of(run.owner());
        let who = waits_for(deciders);
        let mut metadata = object([
            ("kind", "waiting".into()),
            ("toolCallId", open.id.call().as_str().into()),
            ("deciders", json!(deciders)),
            ("since", json!(open.opened_at)),
        ]);
        let refusal = encoder.refusals.get(&open.id);
        metadata.extend(refusal.map(|_| ("refusal".to_owned(), NOT_YOURS.into())));
        return event::Interrupt {
            id,
            reason: "tool:elsewhere".to_owned(),
            message: Some(if refusal.is_some() { format!("{NOT_YOURS}\n{who}") } else { who }),
            expires_at,
            metadata: Some(metadata),
            ..event::Interrupt::default()
        };
    }
    let name = run.call(open.id.call()).map_or("", |call| call.name.as_str());
    let tool_call_id = encoder.knows_calls_of(name).then(|| open.id.call().to_string());
    let is_of_call = tool_call_id.is_some() && encoder.has_tool_call_reason;
    let of_call = if is_of_call { "tool_call" } else { "confirmation" };
    let is_inside = matches!(open.kind, InterruptKind::Inner { .. });
    let approves = match &open.innermost().kind {
        InterruptKind::Question { question } => question.schema.is_none(),
        kind => !matches!(kind, InterruptKind::External),
    };
    let (reason, message, schema) = match &open.innermost().kind {
        InterruptKind::Question { question } => match &question.schema {
            Some(Value::Object(schema)) => ("input_required", question.text.clone(), schema.clone()),
            Some(_) => ("input_required", question.text.clone(), Object::new()),
            None => ("confirmation", question.for_people(), approval_schema(None)),
        },
        InterruptKind::Reconcile => {
            let message = format!("`{}` was started, and its outcome is unknown. Start it again?", open.shown.tool);
            (of_call, message, approval_schema(None))
        }
        // A nested call is not a call of this conversation, so its output is the answer to an interrupt.
        InterruptKind::External => {
            ("input_required", nested_call_notice(&open.shown), encoder.output_schema(open, name))
        }
        // The client does not know the nested call, so it cannot edit its arguments.
        _ if is_inside => (of_call, call_question(&open.shown), approval_schema(None)),
        _ => (of_call, call_question(&open.shown), approval_schema(Some(encoder.arguments_schema(name)))),
    };
    let mut metadata = call_metadata(&open.shown);
    if approves {
        metadata.insert("kind".to_owned(), "approval".into());
    }
    metadata.extend(open.innermost().need().map(|need| ("need".to_owned(), json!(need))));
    let refusal = encoder.refusals.get(&open.id);
    metadata.extend(refusal.map(|refusal| ("refusal".to_owned(), refusal.as_str().into())));
    event::Interrupt {
        id,
        reason: reason.to_owned(),
        message: Some(refusal.map_or_else(|| message.clone(), |refusal| format!("{refusal}\n{message}"))),
        tool_call_id,
        response_schema: Some(schema),
        expires_at,
        metadata: Some(metadata),
    }
}

impl AgUiEncoder {
    /// Returns whether the client knows calls of the tool `name` before a person decides about them.
    fn knows_calls_of(&self, name: &str) -> bool {
        let Some(spec) = self.tools.get(name).map(|tool| tool.spec()) else { return true };
        self.visibility.of(spec) != Visibility::Hidden && !(spec.options.external && self.is_held(name))
    }

    /// Returns the output schema of the tool that `open` belongs to, or an empty schema if it is not known.
    fn output_schema(&self, open: &Interrupt, name: &str) -> Object {
        let spec = gate::tool_of(&self.tools, name, open).map(|tool| tool.spec());
        let schema = spec.and_then(|spec| spec.output.as_ref()?.neutral().as_object());
        schema.cloned().unwrap_or_default()
    }

    /// Returns the schema of the arguments of the tool `name`, or a general one if it cannot be embedded in another schema.
    fn arguments_schema(&self, name: &str) -> Value {
        let schema = self.tools.get(name).map(|tool| tool.spec().input.neutral());
        // References would point to the wrong root.
        schema.filter(|schema| !has_references(schema)).cloned().unwrap_or_else(|| json!({ "type": "object" }))
    }
}

/// Returns the request to execute a nested call, which the client shows.
fn nested_call_notice(shown: &CallView) -> String {
    let title = shown.title.as_deref().unwrap_or(&shown.tool);
    format!("Execute `{title}` with the arguments in `metadata`, and answer with its output.")
}

/// Returns the question about a call: the tool's own question, or one that lists all arguments.
fn call_question(shown: &CallView) -> String {
    if let Some(challenge) = &shown.challenge {
        return challenge.clone();
    }
    let title = shown.title.as_deref().unwrap_or(&shown.tool);
    let lines: Vec<_> = shown.lines.iter().map(|(name, value)| format!("{name}: {value}")).collect();
    if lines.is_empty() { format!("Allow `{title}`?") } else { format!("Allow `{title}` with {}?", lines.join(", ")) }
}

/// Returns the schema of an answer that approves or denies, and may replace the arguments.
fn approval_schema(arguments: Option<Value>) -> Object {
    let mut properties = object([
        ("approved", json!({ "type": "boolean" })),
        ("reason", json!({ "type": "string", "description": "Why not." })),
    ]);
    if let Some(Value::Object(mut arguments)) = arguments {
        arguments.insert("description".to_owned(), "In place of all of the call's arguments.".into());
        properties.insert("editedArgs".to_owned(), Value::Object(arguments));
    }
    object([("type", "object".into()), ("properties", Value::Object(properties)), ("required", json!(["approved"]))])
}

/// Returns the metadata from which a client can show a call that it does not know.
fn call_metadata(shown: &CallView) -> Object {
    let effect = match shown.effect {
        Effect::ReadOnly => "read_only",
        Effect::Write => "write",
        Effect::Destructive => "destructive",
    };
    let mut metadata = object([
        ("tool", shown.tool.as_str().into()),
        ("arguments", shown.arguments.clone()),
        // The names by which TanStack AI knows the two.
        ("toolName", shown.tool.as_str().into()),
        ("input", shown.arguments.clone()),
        ("effect", effect.into()),
    ]);
    if !shown.tainted_by.is_empty() {
        metadata.insert("taintedBy".to_owned(), json!(shown.tainted_by));
    }
    metadata
}

fn has_references(schema: &Value) -> bool {
    match schema {
        Value::Object(members) => {
            members.keys().any(|key| key.starts_with('$')) || members.values().any(has_references)
        }
        Value::Array(items) => items.iter().any(has_references),
        _ => false,
    }
}

/// Returns a time as ISO 8601 in UTC, or `None` if it is too late to be represented.
fn to_iso_8601(time: Timestamp) -> Option<String> {
    let time = DateTime::from_timestamp_millis(i64::try_from(time.0).ok()?)?;
    Some(time.to_rfc3339_opts(SecondsFormat::Millis, true))
}

#[cfg(test)]
mod tests {
    use tool_runtime::run::RunOptions;

    use super::*;

    #[test]
    fn frames_name_the_request_that_reads_them() {
        let input = RunInput::read(br#"{"threadId":"a\",\"runId\":\"b","runId":"c\\\"","messages":[]}"#).unwrap();
        let mut encoder = AgUiEncoder::new(&input, Toolset::new(), "anna".into(), "x7");
        let frame = |write: &mut dyn FnMut(&mut Vec<u8>)| {
            let mut out = Vec::new();
            write(&mut out);
            out.strip_prefix(b"data: ").map(|data| serde_json::from_slice::<Value>(data).unwrap())
        };
        let mut own = frame(&mut |out| encoder.begin(out)).unwrap();
        assert_eq!(own["runId"], "c\\\"");
        own["runId"] = json!("d\"");
        assert_eq!(frame(&mut |out| encoder.begin_for(Some("d\""), out)).unwrap(), own);
        encoder = encoder.warnings(["about this request".to_owned()]);
        assert_eq!(frame(&mut |out| encoder.begin_for(Some("d\""), out)).unwrap(), own);
        let warned = frame(&mut |out| encoder.begin_for(None, out)).unwrap();
        assert_eq!(warned["metadata"]["warnings"], json!(["about this request"]));
        assert_eq!(frame(&mut |out| encoder.end_for(Some("d\""), out)), None);
        let (run, _) = Run::new("r".into(), "anna".into(), RunOptions::default(), Vec::new(), Timestamp(0));
        assert_eq!(frame(&mut |out| encoder.finish(&run, out)), None);
        let mut own = frame(&mut |out| encoder.end_for(None, out)).unwrap();
        assert_eq!((&own["type"], &own["runId"]), (&json!("RUN_FINISHED"), &json!("c\\\"")));
        own["runId"] = json!("d\"");
        assert_eq!(frame(&mut |out| encoder.end_for(Some("d\""), out)).unwrap(), own);
    }

    #[test]
    fn times_are_iso_8601() {
        assert_eq!(to_iso_8601(Timestamp(0)).as_deref(), Some("1970-01-01T00:00:00.000Z"));
        assert_eq!(to_iso_8601(Timestamp(951_782_400_001)).as_deref(), Some("2000-02-29T00:00:00.001Z"));
        assert_eq!(to_iso_8601(Timestamp(1_795_343_999_999)).as_deref(), Some("2026-11-22T10:39:59.999Z"));
    }
}
