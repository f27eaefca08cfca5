//! A frontend in a terminal: it shows texts and calls as they arrive, and asks the person for approvals, edits and answers.

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

use input::{CtrlCPresses, Input, TypedLine};
use screen::Screen;
use tool_runtime::agent::{
    Agent, AgentError, ApprovalRequest, Decision, Event, ExternalCall, Observer, Operator, QuestionRequest,
};
use tool_runtime::feedback::{escape, one_line};
use tool_runtime::run::{Phase, StopReason};

/// A person at a terminal, as observer and operator of an agent. Clones share the terminal.
///
/// [`Terminal::new`] uses standard input and output, so it also works with pipes. If the output is a terminal with control
/// codes (`TERM` is set, and not `dumb`), calls that report progress have bars below the text. Otherwise they write lines.
#[derive(Clone)]
pub struct Terminal {
    inner: Arc<Inner>,
}

struct Inner {
    screen: Screen,
    input: Mutex<Input>,
    /// Set if the input is a terminal, where a person may press Ctrl-C.
    is_terminal: bool,
    /// The id of an interrupt or a call, and the person's last value for it. After a rejection, the person can edit that value.
    last_value: std::sync::Mutex<Option<(String, Value)>>,
}

impl Terminal {
    /// Creates a terminal on the program's standard input and output.
    pub fn new() -> Self {
        let screen = Screen::new(io::stdout(), io::stdout().is_terminal() && !is_dumb());
        Self::with_screen(screen, Input::new(io::BufReader::new(io::stdin())), io::stdin().is_terminal())
    }

    /// Creates a terminal on `input` and `output`, for tests and other connections. It has no bars, and does not handle Ctrl-C.
    pub fn with(input: impl io::BufRead + Send + 'static, output: impl io::Write + Send + 'static) -> Self {
        Self::with_screen(Screen::new(output, false), Input::new(input), false)
    }

    /// Runs a conversation with `agent` until the input ends, the person types `exit` or `quit`, or the agent's context is
    /// cancelled. It shows `greeting` first. Fails when the input cannot be read.
    ///
    /// This terminal becomes the agent's observer and operator. It shows failures of runs, and the chat goes on. If standard
    /// input is a terminal, Ctrl-C stops the run. A second Ctrl-C before the person enters a prompt ends the conversation. From
    /// the first conversation on, Ctrl-C outside of a conversation ends the program with status 130.
    pub async fn chat(self, agent: Agent, greeting: &str) -> io::Result<()> {
        let screen = &self.inner.screen;
        screen.write_line(&escape(greeting));
        let mut session = agent.observer(self.clone()).operator(self.clone()).session();
        let mut ctrl_c = if self.inner.is_terminal { CtrlCPresses::listen() } else { CtrlCPresses::none() };
        loop {
            let was_pressed = ctrl_c.is_pressed();
            let line = tokio::select! {
                biased;
                () = ctrl_c.wait_for_presses(if was_pressed { 2 } else { 1 }) => {
                    if was_pressed {
                        return Ok(());
                    }
                    screen.write_line("(Ctrl-C again ends the conversation)");
                    continue;
                }
                line = self.read_line("\n> ", false) => line?,
            };
            let Some(prompt) = line else {
                screen.write_line("");
                return Ok(());
            };
            ctrl_c.forget();
            match prompt.trim() {
                "" => continue,
                "exit" | "quit" => return Ok(()),
                _ => {}
            }
            let stop = async {
                ctrl_c.wait_for_presses(1).await;
                screen.write_line("(stopped; Ctrl-C again ends the conversation)");
            };
            let reply = tokio::select! {
                biased;
                () = ctrl_c.wait_for_presses(2) => return Ok(()),
                reply = session.send_until(prompt.trim(), stop) => reply,
            };
            match reply {
                Ok(reply) => {
                    screen.end_line();
                    // The person knows of these phases without a message.
                    if !matches!(reply.phase, Phase::Finished | Phase::Suspended | Phase::Stopped(StopReason::Denied)) {
                        screen.write_line(&format!("(stopped: {})", one_line(&reply.phase.to_string())));
                    }
                }
                Err(AgentError::Cancelled) if ctrl_c.is_pressed() => {}
                Err(AgentError::Cancelled) => return Ok(()),
                Err(error) => screen.write_line(&format!("! {}", one_line(&error.to_string()))),
            }
        }
    }

    fn with_screen(screen: Screen, input: Input, is_terminal: bool) -> Self {
        let last_value = std::sync::Mutex::new(None);
        Self { inner: Arc::new(Inner { screen, input: Mutex::new(input), is_terminal, last_value }) }
    }

    /// Asks a question of a run. Ignores a line that was meant for an earlier question. Returns `None` if the input has ended.
    async fn ask(&self, question: &str) -> io::Result<Option<String>> {
        self.read_line(question, true).await
    }

    /// Asks for a line. If `must_be_fresh` is set, ignores a line that was meant for an earlier question, and asks again.
    async fn read_line(&self, question: &str, must_be_fresh: bool) -> io::Result<Option<String>> {
        loop {
            let open_question = self.inner.screen.ask(question);
            let typed = self.inner.input.lock().await.read_line(must_be_fresh).await;
            open_question.end();
            match typed? {
                TypedLine::Line(line) => return Ok(line),
                TypedLine::Stale => self.say("(ignored: the question changed while you typed)"),
            }
        }
    }

    fn say(&self, line: &str) {
        self.inner.screen.write_line(line);
    }

    /// Keeps the person's value for `id`, and returns it.
    fn keep_value(&self, id: &impl ToString, value: Value) -> Value {
        let mut last_value = self.inner.last_value.lock().unwrap_or_else(PoisonError::into_inner);
        *last_value = Some((id.to_string(), value.clone()));
        value
    }

    /// Returns the person's last value for `id`.
    fn last_value(&self, id: &impl ToString) -> Option<Value> {
        let last_value = self.inner.last_value.lock().unwrap_or_else(PoisonError::into_inner);
        last_value.as_ref().filter(|(known, _)| *known == id.to_string()).map(|(_, value)| value.clone())
    }
}

/// Returns `true` if the terminal does not support control codes.
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
    fn on_event(&self, event: Event<'_>) {
        self.inner.screen.show_event(event);
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
