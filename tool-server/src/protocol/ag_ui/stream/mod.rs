//! A run's events as a stream of AG-UI.

mod call;
mod finish;
mod interrupt;
mod progress;
mod provided;
mod said;

use std::{collections::HashMap, fmt, sync::Arc, time::Duration};

use self::call::Line;
use self::said::Said;
use super::event::Event;
use super::frame::Envelope;
use super::input::RunInput;
use super::outcome::object;
use super::{ClientTools, Frontend, Level, Message, VERSION};
use crate::protocol::{End, Wire};
use tool_runtime::agent::{AgentError, Event as Told};
use tool_runtime::message::Usage;
use tool_runtime::run::{CallId, Principal};
use tool_runtime::tool::ToolSpec;
use tool_runtime::toolset::Toolset;

/// What of a tool's calls a client gets to see.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Visibility {
    /// The call with its arguments, and its result.
    #[default]
    Shown,
    /// The call with its arguments. In place of the result stands an empty text, so that the client does not wait for it.
    WithoutResult,
    /// Nothing, but for approvals: somebody has to decide about them.
    Hidden,
}

type Visible = dyn Fn(&ToolSpec) -> Visibility + Send + Sync;

/// Writes what happens in a run as the events of AG-UI that a client takes, whatever the order in which it happens: what is
/// open is closed in time, nothing is told twice, and the last event is one that ends the run.
///
/// ```
/// use std::time::Duration;
/// use tool_runtime::{Toolset, agent};
/// use tool_server::protocol::{Wire, ag_ui::{RunInput, Writer}};
///
/// let input = RunInput::read(br#"{"threadId":"t1","runId":"r1","messages":[],"protocolVersion":"1.0"}"#).unwrap();
/// let mut writer = Writer::new(&input, Toolset::new(), "anna".into(), "x7");
/// let mut out = Vec::new();
/// writer.begin(&mut out);
/// writer.event(agent::Event::Text("Hello"), Duration::ZERO, &mut out);
/// writer.fail("the model failed", "model", &mut out);
/// assert_eq!(String::from_utf8(out).unwrap().lines().filter(|line| !line.is_empty()).collect::<Vec<_>>(), [
///     r#"data: {"type":"RUN_STARTED","threadId":"t1","runId":"r1","protocolVersion":"1.0"}"#,
///     r#"data: {"type":"TEXT_MESSAGE_START","messageId":"msg_x7_1","role":"assistant"}"#,
///     r#"data: {"type":"TEXT_MESSAGE_CONTENT","messageId":"msg_x7_1","delta":"Hello"}"#,
///     r#"data: {"type":"TEXT_MESSAGE_END","messageId":"msg_x7_1"}"#,
///     r#"data: {"type":"RUN_ERROR","message":"the model failed","code":"model"}"#,
/// ]);
/// ```
pub struct Writer {
    thread_id: String,
    run_id: String,
    level: Level,
    /// The last message that the client sent, which keeps the sealed run.
    keeper: Option<String>,
    /// Those that keep older ones than anybody needs.
    sealed_before: Vec<String>,
    /// The one that keeps the run now.
    sealed_by: Option<String>,
    tools: Toolset,
    client_tools: ClientTools,
    visible: Arc<Visible>,
    holds: bool,
    model: Option<String>,
    frontend: Option<Frontend>,
    by: Principal,
    warnings: Vec<String>,
    seed: String,
    minted: u64,
    said: Said,
    lines: Vec<Line>,
    index: HashMap<CallId, usize>,
    /// The calls of the turn at hand begin here.
    first: usize,
    /// When a piece of arguments is to be sent that waits for more.
    due: Option<Duration>,
    usage: Usage,
    stage: Stage,
}

/// How far the stream is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    New,
    Started,
    Finished,
}

impl Writer {
    /// A stream that answers the `input` of `by`, of an agent with `tools`. `seed` is in the ids of all messages, so it must
    /// be new: clients keep the messages of a conversation by their ids.
    pub fn new(input: &RunInput, tools: Toolset, by: Principal, seed: impl Into<String>) -> Self {
        Self {
            thread_id: input.thread_id.clone(),
            run_id: input.run_id.clone(),
            level: input.level(),
            // Clients do not let activities keep anything.
            keeper: (input.messages.iter().rev())
                .find(|message| !matches!(message, Message::Activity { .. }))
                .map(|message| message.id().to_owned()),
            sealed_by: input.sealed_by.clone(),
            sealed_before: input.sealed_before.clone(),
            tools,
            client_tools: ClientTools::default(),
            visible: Arc::new(|_| Visibility::Shown),
            holds: false,
            model: None,
            frontend: None,
            by,
            warnings: Vec::new(),
            seed: seed.into(),
            minted: 0,
            said: Said::default(),
            lines: Vec::new(),
            index: HashMap::default(),
            first: 0,
            due: None,
            usage: Usage::default(),
            stage: Stage::New,
        }
    }

    /// Adds the client's tools, whose wrong arguments are reported where they are not refused.
    pub fn client_tools(mut self, tools: ClientTools) -> Self {
        self.client_tools = tools;
        self
    }

    /// Sets what of a tool's calls the client gets to see.
    pub fn visibility(mut self, visible: impl Fn(&ToolSpec) -> Visibility + Send + Sync + 'static) -> Self {
        self.visible = Arc::new(visible);
        self
    }

    /// Tells calls of the client's own tools only when it is to execute them, all at once, and not while they arrive: for
    /// agents whose policies may refuse them or ask for an approval ([`Agent::is_guarded`](tool_runtime::Agent::is_guarded)). Calls of
    /// declared external tools are always held, and so are the client's with [`Check::Gate`](super::Check::Gate).
    pub fn hold(mut self, holds: bool) -> Self {
        self.holds = holds;
        self
    }

    /// Names the model whose tokens are counted.
    pub fn model(mut self, name: impl Into<String>) -> Self {
        self.model = Some(name.into());
        self
    }

    /// Tells what tools do to the state that they share with the client.
    pub fn frontend(mut self, frontend: Frontend) -> Self {
        self.frontend = Some(frontend);
        self
    }

    /// Adds remarks about the input, for whoever develops the client: they are in the metadata of the first event.
    pub fn warnings(mut self, warnings: impl IntoIterator<Item = String>) -> Self {
        self.warnings.extend(warnings);
        self
    }

    /// An event of the application's own, in the place where it is.
    pub fn write(&mut self, event: &Event<'_>, out: &mut Vec<u8>) {
        if self.goes_on(out) {
            event.write(out);
        }
    }

    /// Whether the stream has come to its end.
    pub fn is_finished(&self) -> bool {
        self.stage == Stage::Finished
    }

    /// Makes sure that the stream has begun, and tells what waited. Whether it goes on.
    fn goes_on(&mut self, out: &mut Vec<u8>) -> bool {
        if self.stage == Stage::New {
            self.stage = Stage::Started;
            let event = Event::RunStarted {
                thread_id: &self.thread_id,
                run_id: &self.run_id,
                protocol_version: Some(VERSION),
                parent_run_id: None,
                input: None,
            };
            let warnings = std::mem::take(&mut self.warnings);
            let metadata = (!warnings.is_empty()).then(|| object([("warnings", warnings.into())]));
            event.write_with(&Envelope { metadata: metadata.as_ref(), ..Envelope::default() }, out);
        }
        if self.stage == Stage::Started
            && let Some(frontend) = &self.frontend
        {
            frontend.write_changes(out);
        }
        self.stage == Stage::Started
    }

    /// The turn of the model is complete, or another begins.
    fn end_turn(&mut self, out: &mut Vec<u8>) {
        self.end_said(out);
        self.end_calls(out);
        self.said.forget();
        self.first = self.lines.len();
    }

    /// An id that no other message has.
    fn mint(&mut self) -> String {
        self.minted += 1;
        format!("msg_{}_{}", self.seed, self.minted)
    }
}

impl Wire for Writer {
    fn begin(&mut self, out: &mut Vec<u8>) {
        self.goes_on(out);
    }

    fn event(&mut self, event: Told<'_>, now: Duration, out: &mut Vec<u8>) {
        if !self.goes_on(out) {
            return;
        }
        match event {
            Told::StepStarted { .. } | Told::StepFailed { .. } => self.end_turn(out),
            Told::Text(text) => self.text(text, out),
            Told::Reasoning(text) => self.reasoning(text, out),
            Told::CallAnnounced { id, name } => self.announced(id, name, out),
            Told::CallArguments { id, text, .. } => self.arguments(id, text, now, out),
            Told::StepFinished { usage, .. } => {
                self.usage += usage;
                self.end_turn(out);
            }
            Told::CallAccepted(call) | Told::CallStarted(call) => self.complete(&call.id, out),
            Told::CallOpened { call, obligation } => self.opened(call, obligation, out),
            Told::CallProgress(progress) => self.progress(progress, out),
            Told::Provided(part) => self.provided(part, out),
            Told::Prompted(said) if said.steers => self.steered(said, out),
            Told::CallFinished { call, result, .. } => self.finished(call, result, out),
            _ => {}
        }
    }

    fn due(&self) -> Option<Duration> {
        self.due
    }

    fn flush(&mut self, now: Duration, out: &mut Vec<u8>) {
        if self.goes_on(out) {
            self.flush_arguments(now, out);
        }
    }

    fn end(&mut self, end: End<'_>, out: &mut Vec<u8>) {
        if let Some(sealed) = end.sealed {
            self.keep(sealed, out);
        }
        match (end.run, end.failure) {
            (Some(run), None | Some(AgentError::Model(_) | AgentError::Cancelled)) => self.finish(run, out),
            (_, Some(AgentError::Refused(_))) => self.fail("the conversation does not go on like this", "refused", out),
            (_, Some(AgentError::Store(_))) => self.fail("the conversation could not be kept", "store", out),
            _ => self.fail("the server failed", "internal", out),
        }
    }
}

impl fmt::Debug for Writer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Writer")
            .field("thread_id", &self.thread_id)
            .field("run_id", &self.run_id)
            .field("stage", &self.stage)
            .finish_non_exhaustive()
    }
}
