//! The loop: ask the model, run its calls, give back the results, until it is done.
//!
//! ```
//! # #[cfg(feature = "derive")] {
//! use tool_runtime::{Agent, model::{ScriptedModel, Turn}, tool, toolset};
//!
//! /// Adds two numbers.
//! #[tool(effect = read_only)]
//! fn add(/** The first. */ a: i64, /** The second. */ b: i64) -> i64 {
//!     a + b
//! }
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! let model = ScriptedModel::new([
//!     Turn::call("add", serde_json::json!({ "a": 1, "b": 2 })),
//!     Turn::say("It is 3."),
//! ]);
//! let agent = Agent::new(model).tools(toolset!(add));
//! let reply = agent.run("What is 1 + 2?").await.unwrap();
//! assert_eq!(reply.text, "It is 3.");
//! # });
//! # }
//! ```

mod error;
mod event;
mod execute;
mod front;
mod history;
mod session;
mod turn;
mod typed;

use std::{fmt, sync::Arc};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

pub use error::AgentError;
pub use event::Event;
pub use front::{ApprovalRequest, Decision, ExternalCall, Front, Unattended};
pub use session::{Reply, Session, Stopped};

use crate::model::{Model, Settings, ToolChoice};
use crate::tool::Context;
use crate::toolset::Toolset;

/// How many turns of the model a run may have, unless [`Agent::max_steps`] says otherwise.
pub const DEFAULT_MAX_STEPS: usize = 32;

/// How many calls run side by side, unless [`Agent::parallel`] says otherwise.
pub const DEFAULT_PARALLEL: usize = 8;

/// How many calls of one turn are run, unless [`Agent::max_calls`] says otherwise.
pub const DEFAULT_MAX_CALLS: usize = 64;

/// A model with tools. Cheap to clone; a clone can be changed without touching the original.
#[derive(Clone)]
pub struct Agent {
    model: Arc<dyn Model>,
    tools: Toolset,
    front: Arc<dyn Front>,
    instructions: Option<Arc<str>>,
    context: Context,
    settings: Settings,
    tool_choice: ToolChoice,
    max_steps: usize,
    max_calls: usize,
    parallel: usize,
}

impl Agent {
    /// An agent without tools, instructions or anybody to ask: calls that need an approval are denied.
    pub fn new(model: impl Model + 'static) -> Self {
        Self {
            model: Arc::new(model),
            tools: Toolset::new(),
            front: Arc::new(Unattended),
            instructions: None,
            context: Context::new(""),
            settings: Settings::default(),
            tool_choice: ToolChoice::Auto,
            max_steps: DEFAULT_MAX_STEPS,
            max_calls: DEFAULT_MAX_CALLS,
            parallel: DEFAULT_PARALLEL,
        }
    }

    /// Sets the tools on offer.
    pub fn tools(mut self, tools: Toolset) -> Self {
        self.tools = tools;
        self
    }

    /// Sets what the model is told to be and to do.
    pub fn instructions(mut self, text: impl Into<String>) -> Self {
        self.instructions = Some(text.into().into());
        self
    }

    /// Sets who sees what happens, approves calls and executes external ones.
    pub fn front(mut self, front: impl Front + 'static) -> Self {
        self.front = Arc::new(front);
        self
    }

    /// Sets what every call gets to know: principal, secrets, extensions, cancellation, deadline.
    pub fn context(mut self, context: Context) -> Self {
        self.context = context;
        self
    }

    /// Sets sampling and size of the model's turns.
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// Sets whether the model may, must or must not call a tool.
    pub fn tool_choice(mut self, choice: ToolChoice) -> Self {
        self.tool_choice = choice;
        self
    }

    /// Sets how many turns of the model a run may have; at least one.
    pub fn max_steps(mut self, steps: usize) -> Self {
        self.max_steps = steps.max(1);
        self
    }

    /// Sets how many calls of one turn are run; the others get a result that says so.
    pub fn max_calls(mut self, calls: usize) -> Self {
        self.max_calls = calls;
        self
    }

    /// Sets how many calls run side by side; at least one.
    pub fn parallel(mut self, calls: usize) -> Self {
        self.parallel = calls.max(1);
        self
    }

    /// A conversation, to be continued prompt by prompt.
    pub fn session(&self) -> Session {
        Session::new(self.clone(), Vec::new())
    }

    /// Answers one prompt with a `T`, in a conversation of its own; see [`Session::send_for`].
    pub async fn run_for<T: DeserializeOwned + JsonSchema + Send + 'static>(
        &self,
        prompt: impl Into<String>,
    ) -> Result<T, AgentError> {
        self.session().send_for(prompt).await
    }

    /// Answers one prompt in a conversation of its own.
    pub async fn run(&self, prompt: impl Into<String>) -> Result<Reply, AgentError> {
        self.session().send(prompt).await
    }
}

impl fmt::Debug for Agent {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Agent").field("model", &self.model.name()).field("tools", &self.tools).finish_non_exhaustive()
    }
}
