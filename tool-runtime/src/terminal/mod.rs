//! A run in a terminal: text as it comes, calls as they run, approvals, edits and questions answered by the person who
//! sits there.
//!
//! ```no_run
//! # #[cfg(feature = "derive")] {
//! use tool_runtime::{Agent, model::NegotiatingModel, terminal::Terminal, tool, toolset};
//!
//! /// Adds two numbers.
//! #[tool(effect = read_only)]
//! fn add(/** The first. */ a: i64, /** The second. */ b: i64) -> i64 {
//!     a + b
//! }
//!
//! # async fn example() -> std::io::Result<()> {
//! let agent = Agent::new(NegotiatingModel::new()).tools(toolset!(add));
//! Terminal::new().chat(agent, "What shall I do?").await
//! # }
//! # }
//! ```

mod approve;
mod ask;
mod edit;
mod screen;

use std::{io, sync::Arc};

use futures_util::future::BoxFuture;
use tokio::sync::Mutex;

pub use crate::feedback::escape;

use crate::agent::{Agent, AgentError, ApprovalRequest, Decision, Event, ExternalCall, Front, QuestionRequest};
use crate::feedback::one_line;
use screen::{Input, Screen};

/// A person at a terminal. Clones talk to the same person.
///
/// It reads standard input by lines and writes to standard output, so it also works behind a pipe.
#[derive(Clone)]
pub struct Terminal {
    inner: Arc<Inner>,
}

struct Inner {
    screen: Screen,
    input: Mutex<Input>,
}

impl Terminal {
    /// The terminal that the program was started in.
    pub fn new() -> Self {
        Self::with(io::BufReader::new(io::stdin()), io::stdout())
    }

    /// A terminal that reads from `input` and writes to `output`, for tests and other lines.
    pub fn with(input: impl io::BufRead + Send + 'static, output: impl io::Write + Send + 'static) -> Self {
        Self { inner: Arc::new(Inner { screen: Screen::new(output), input: Mutex::new(Input::new(input)) }) }
    }

    /// Talks with `agent` until the input ends, or the person says `exit` or `quit`. `greeting` is shown first.
    ///
    /// This terminal becomes the agent's front. A failure of the model is shown, and the conversation goes on.
    pub async fn chat(self, agent: Agent, greeting: &str) -> io::Result<()> {
        let screen = &self.inner.screen;
        screen.line(&escape(greeting));
        let mut session = agent.front(self.clone()).session();
        loop {
            let Some(prompt) = self.ask("\n> ").await? else {
                screen.line("");
                return Ok(());
            };
            match prompt.trim() {
                "" => {}
                "exit" | "quit" => return Ok(()),
                prompt => match session.send(prompt).await {
                    Ok(_) => screen.end_line(),
                    Err(AgentError::Cancelled) => return Ok(()),
                    Err(error) => screen.line(&format!("! {}", one_line(&error.to_string()))),
                },
            }
        }
    }

    /// Asks for a line; `None` when the input has ended.
    pub(crate) async fn ask(&self, question: &str) -> io::Result<Option<String>> {
        self.inner.screen.prompt(question);
        self.inner.input.lock().await.line().await
    }

    pub(crate) fn say(&self, line: &str) {
        self.inner.screen.line(line);
    }
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
