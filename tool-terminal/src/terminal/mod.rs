//! A run in a terminal: text as it comes, calls as they run, approvals, edits and questions answered by the person who
//! sits there.

mod approve;
mod ask;
mod chat;
mod edit;
mod input;
mod interrupt;
mod screen;

use std::{
    io::{self, IsTerminal},
    sync::{Arc, PoisonError},
};

use futures_util::future::BoxFuture;
use tokio::sync::Mutex;

use serde_json::Value;

use input::{Input, Typed};
use screen::Screen;
use tool_runtime::agent::{ApprovalRequest, Decision, Event, ExternalCall, Front, QuestionRequest};

/// A person at a terminal. Clones talk to the same person.
///
/// It reads standard input by lines and writes to standard output, so it also works behind a pipe. Where standard output is a
/// terminal, calls that report how far they are have a bar each below the text; elsewhere they have lines.
#[derive(Clone)]
pub struct Terminal {
    inner: Arc<Inner>,
}

struct Inner {
    screen: Screen,
    input: Mutex<Input>,
    /// Whether a person sits there, who may press Ctrl-C.
    is_person: bool,
    /// What was given last for a call, in case it is refused: nobody should have to type it again.
    last: std::sync::Mutex<Option<(String, Value)>>,
}

impl Terminal {
    /// The terminal that the program was started in.
    pub fn new() -> Self {
        let screen = Screen::new(io::stdout(), io::stdout().is_terminal() && !is_dumb());
        Self::made(screen, Input::new(io::BufReader::new(io::stdin())), io::stdin().is_terminal())
    }

    /// A terminal that reads from `input` and writes to `output`, for tests and other lines.
    pub fn with(input: impl io::BufRead + Send + 'static, output: impl io::Write + Send + 'static) -> Self {
        Self::made(Screen::new(output, false), Input::new(input), false)
    }

    fn made(screen: Screen, input: Input, is_person: bool) -> Self {
        let last = std::sync::Mutex::new(None);
        Self { inner: Arc::new(Inner { screen, input: Mutex::new(input), is_person, last }) }
    }

    /// Asks for a line with which somebody decides something; `None` when the input has ended.
    pub(crate) async fn ask(&self, question: &str) -> io::Result<Option<String>> {
        self.line(question, true).await
    }

    /// Asks for a line. `decides` says that it must not be one that was meant for a question before.
    async fn line(&self, question: &str, decides: bool) -> io::Result<Option<String>> {
        loop {
            let asking = self.inner.screen.ask(question);
            let typed = self.inner.input.lock().await.line(decides).await;
            asking.answered();
            match typed? {
                Typed::Line(line) => return Ok(line),
                Typed::Stale => self.say("(that came too soon: the question has changed)"),
            }
        }
    }

    pub(crate) fn say(&self, line: &str) {
        self.inner.screen.line(line);
    }

    /// Keeps what is given for something, and gives it.
    fn given(&self, id: &impl ToString, value: Value) -> Value {
        let mut last = self.inner.last.lock().unwrap_or_else(PoisonError::into_inner);
        *last = Some((id.to_string(), value.clone()));
        value
    }

    /// What was given for it before.
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

impl Front for Terminal {
    fn event(&self, event: Event<'_>) {
        self.inner.screen.event(event);
    }

    fn approve<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Decision> {
        Box::pin(approve::approve(self, request))
    }

    fn execute<'a>(&'a self, call: &'a ExternalCall) -> BoxFuture<'a, Option<String>> {
        Box::pin(approve::execute(self, call))
    }

    fn answer<'a>(&'a self, request: &'a QuestionRequest) -> BoxFuture<'a, Decision> {
        Box::pin(ask::answer(self, request))
    }

    fn reconcile<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Decision> {
        Box::pin(ask::reconcile(self, request))
    }
}
