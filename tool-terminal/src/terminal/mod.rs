//! A run in a terminal: text as it comes, calls as they run, approvals, edits and questions answered by the person who
//! sits there.

mod decide;
mod input;
mod screen;

use std::{
    io::{self, IsTerminal},
    sync::{Arc, PoisonError},
};

use futures_util::future::BoxFuture;
use tokio::sync::Mutex;

use serde_json::Value;

use input::{Input, Interrupts, Typed};
use screen::Screen;
use tool_runtime::agent::{
    Agent, AgentError, ApprovalRequest, Decision, Event, ExternalCall, Observer, Operator, QuestionRequest,
};
use tool_runtime::feedback::{escape, one_line};
use tool_runtime::run::{Phase, StopReason};

/// A person at a terminal. Clones talk to the same person.
///
/// It reads standard input by lines and writes to standard output, so it also works behind a pipe. Where standard
/// output is a terminal, calls that report how far they are have a bar each below the text; elsewhere they have lines.
#[derive(Clone)]
pub struct Terminal {
    inner: Arc<Inner>,
}

struct Inner {
    screen: Screen,
    input: Mutex<Input>,
    /// True if a person sits there, who may press Ctrl-C.
    is_person: bool,
    /// The value that was given last for a call, in case it is refused: nobody should have to type it again.
    last: std::sync::Mutex<Option<(String, Value)>>,
}

impl Terminal {
    /// The terminal that the program was started in.
    pub fn new() -> Self {
        let screen = Screen::new(io::stdout(), io::stdout().is_terminal() && !is_dumb());
        Self::with_screen(screen, Input::new(io::BufReader::new(io::stdin())), io::stdin().is_terminal())
    }

    /// A terminal that reads from `input` and writes to `output`, for tests and other lines.
    pub fn with(input: impl io::BufRead + Send + 'static, output: impl io::Write + Send + 'static) -> Self {
        Self::with_screen(Screen::new(output, false), Input::new(input), false)
    }

    /// Talks with `agent` until the input ends, or the person says `exit` or `quit`. `greeting` is shown first.
    ///
    /// This terminal watches the agent and decides for it. A failure of the model is shown, and the chat goes on. Where a
    /// person sits at the terminal that the program was started in, Ctrl-C stops what runs and asks for the next
    /// prompt; pressed again before one is given, it ends the conversation.
    pub async fn chat(self, agent: Agent, greeting: &str) -> io::Result<()> {
        let screen = &self.inner.screen;
        screen.line(&escape(greeting));
        let mut session = agent.observer(self.clone()).operator(self.clone()).session();
        let mut keys = if self.inner.is_person { Interrupts::listen() } else { Interrupts::none() };
        loop {
            let before = keys.is_pressed();
            let line = tokio::select! {
                biased;
                () = keys.pressed(if before { 2 } else { 1 }) => {
                    if before {
                        return Ok(());
                    }
                    screen.line("(Ctrl-C again ends the conversation)");
                    continue;
                }
                line = self.line("\n> ", false) => line?,
            };
            let Some(prompt) = line else {
                screen.line("");
                return Ok(());
            };
            keys.forget();
            match prompt.trim() {
                "" => continue,
                "exit" | "quit" => return Ok(()),
                _ => {}
            }
            let stop = async {
                keys.pressed(1).await;
                screen.line("(stopped; Ctrl-C again ends the conversation)");
            };
            let reply = tokio::select! {
                biased;
                () = keys.pressed(2) => return Ok(()),
                reply = session.send_until(prompt.trim(), stop) => reply,
            };
            match reply {
                Ok(reply) => {
                    screen.end_line();
                    // What the person does or sees anyway is not said again.
                    if !matches!(reply.phase, Phase::Finished | Phase::Suspended | Phase::Stopped(StopReason::Denied)) {
                        screen.line(&format!("(stopped: {})", one_line(&reply.phase.to_string())));
                    }
                }
                Err(AgentError::Cancelled) if keys.is_pressed() => {}
                Err(AgentError::Cancelled) => return Ok(()),
                Err(error) => screen.line(&format!("! {}", one_line(&error.to_string()))),
            }
        }
    }

    fn with_screen(screen: Screen, input: Input, is_person: bool) -> Self {
        let last = std::sync::Mutex::new(None);
        Self { inner: Arc::new(Inner { screen, input: Mutex::new(input), is_person, last }) }
    }

    /// Asks for a line that decides something; `None` when the input has ended.
    async fn ask(&self, question: &str) -> io::Result<Option<String>> {
        self.line(question, true).await
    }

    /// Asks for a line. `decides` says that it must not be one that was meant for a question before.
    async fn line(&self, question: &str, decides: bool) -> io::Result<Option<String>> {
        loop {
            let asking = self.inner.screen.ask(question);
            let typed = self.inner.input.lock().await.line(decides).await;
            asking.end();
            match typed? {
                Typed::Line(line) => return Ok(line),
                Typed::Stale => self.say("(that came too soon: the question has changed)"),
            }
        }
    }

    fn say(&self, line: &str) {
        self.inner.screen.line(line);
    }

    /// Keeps what is given for something, and returns it.
    fn keep(&self, id: &impl ToString, value: Value) -> Value {
        let mut last = self.inner.last.lock().unwrap_or_else(PoisonError::into_inner);
        *last = Some((id.to_string(), value.clone()));
        value
    }

    /// Returns what was given for it before.
    fn last(&self, id: &impl ToString) -> Option<Value> {
        let last = self.inner.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.as_ref().filter(|(known, _)| *known == id.to_string()).map(|(_, value)| value.clone())
    }
}

/// A terminal that knows no codes.
fn is_dumb() -> bool {
    std::env::var_os("TERM").is_none_or(|name| name == "dumb" || name.is_empty())
}

impl Default for Terminal {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for Terminal {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Terminal")
    }
}

impl Observer for Terminal {
    fn event(&self, event: Event<'_>) {
        self.inner.screen.event(event);
    }
}

impl Operator for Terminal {
    fn approve<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Decision> {
        Box::pin(decide::approve(self, request))
    }

    fn execute<'a>(&'a self, call: &'a ExternalCall) -> BoxFuture<'a, Option<String>> {
        Box::pin(decide::execute(self, call))
    }

    fn answer<'a>(&'a self, request: &'a QuestionRequest) -> BoxFuture<'a, Decision> {
        Box::pin(decide::answer(self, request))
    }

    fn reconcile<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Decision> {
        Box::pin(decide::reconcile(self, request))
    }
}
