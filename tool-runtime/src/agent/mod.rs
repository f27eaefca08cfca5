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

mod driver;
mod error;
mod event;
mod front;
mod session;
mod stored;
mod typed;

use std::{fmt, sync::Arc, time::Duration};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

pub use error::AgentError;
pub use event::Event;
pub use front::{ApprovalRequest, ExternalCall, Front, Later, QuestionRequest, Unattended};
pub use session::{Reply, Session, Stopped};

pub use crate::run::Decision;

use crate::message::Message;
use crate::model::{Model, Settings, ToolChoice};
use crate::run::{Inspector, Pattern, Principal, Run, RunOptions};
use crate::store::Store;
use crate::tool::{Context, ToolSpec};
use crate::toolset::{Policy, Toolset};

/// How long a worker that does not report is waited for before another may take its run over, unless [`Agent::lease`] says
/// otherwise.
pub const DEFAULT_LEASE: Duration = Duration::from_secs(30);

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
    options: RunOptions,
    inspector: Inspector,
    store: Option<Arc<dyn Store>>,
    lease: Duration,
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
            options: RunOptions::default(),
            inspector: Inspector::new(Toolset::new()),
            store: None,
            lease: DEFAULT_LEASE,
        }
    }

    /// Sets the tools on offer.
    pub fn tools(mut self, tools: Toolset) -> Self {
        self.inspector = self.inspect_with(Inspector::new(tools.clone()));
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

    /// Sets how many turns of the model may follow a prompt; at least one.
    pub fn max_steps(self, steps: usize) -> Self {
        self.options(|options| options.limits.steps = count(steps.max(1)))
    }

    /// Sets how many calls of one turn are run; the others get a result that says so.
    pub fn max_calls(self, calls: usize) -> Self {
        self.options(|options| options.limits.calls_per_turn = count(calls))
    }

    /// Sets how many calls run side by side; at least one.
    pub fn parallel(self, calls: usize) -> Self {
        self.options(|options| options.limits.in_flight = count(calls.max(1)))
    }

    /// Changes what new runs may use, and what they do where systems differ.
    ///
    /// ```
    /// use tool_runtime::{Agent, model::{ScriptedModel, Turn}, run::{OnDeny, OnPrompt}};
    ///
    /// let agent = Agent::new(ScriptedModel::new([Turn::say("Hello.")])).options(|options| {
    ///     options.on_prompt = OnPrompt::Supersede;
    ///     options.on_deny = OnDeny::StopTurn;
    ///     options.approval_expiry = Some(24 * 60 * 60 * 1000);
    ///     options.limits.calls_per_turn = 8;
    /// });
    /// # let _ = agent;
    /// ```
    pub fn options(mut self, change: impl FnOnce(&mut RunOptions)) -> Self {
        change(&mut self.options);
        self
    }

    /// Puts the calls under `policy`, beside what the tools say themselves and other policies: none can weaken another.
    pub fn policy(mut self, policy: impl Policy) -> Self {
        self.inspector = self.inspector.policy(Arc::new(policy));
        self
    }

    /// Sets which calls a person may allow for the rest of a run, and which others are like them: those with the same
    /// values for the parameters of the pattern.
    pub fn offer(
        mut self,
        offer: impl Fn(&ToolSpec, &serde_json::Value) -> Option<Pattern> + Send + Sync + 'static,
    ) -> Self {
        self.inspector = self.inspector.offer(Arc::new(offer));
        self
    }

    /// Sets who may approve or execute a call in place of the run's owner: from the tool and the arguments. Where nobody is
    /// named, it is the owner. A front that attends is asked only about what the owner may decide; the others use
    /// [`Agent::decide`], and [`Waiting`](crate::store::Waiting) lists what waits for them.
    pub fn deciders(
        mut self,
        deciders: impl Fn(&ToolSpec, &serde_json::Value) -> Vec<crate::run::Principal> + Send + Sync + 'static,
    ) -> Self {
        self.inspector = self.inspector.deciders(Arc::new(deciders));
        self
    }

    /// Keeps the runs in `store`, so that they survive the process. Without one they live in their [`Session`].
    pub fn store(mut self, store: impl Store + 'static) -> Self {
        self.store = Some(Arc::new(store));
        self
    }

    /// Sets how long a worker that does not report is waited for before another may take its run over.
    pub fn lease(mut self, ttl: Duration) -> Self {
        // A store counts in milliseconds.
        self.lease = ttl.max(Duration::from_millis(1));
        self
    }

    /// A conversation, to be continued prompt by prompt.
    pub fn session(&self) -> Session {
        Session::new(self.clone(), Vec::new())
    }

    /// A conversation that goes on from `messages`, such as those of another program.
    pub fn session_after(&self, messages: Vec<Message>) -> Session {
        Session::new(self.clone(), messages)
    }

    /// A conversation that goes on from a run that comes from elsewhere, such as a sealed one.
    pub fn session_of(&self, run: Run) -> Session {
        Session::of(self.clone(), run)
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

    /// On whose behalf the agent acts.
    fn principal(&self) -> Principal {
        self.context.principal().map_or_else(Principal::anonymous, Principal::from)
    }

    fn inspector(&self) -> Inspector {
        self.inspector.clone()
    }

    /// `inspector` with the policies of this agent.
    fn inspect_with(&self, inspector: Inspector) -> Inspector {
        inspector.rules_of(&self.inspector)
    }
}

fn count(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

impl fmt::Debug for Agent {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Agent").field("model", &self.model.name()).field("tools", &self.tools).finish_non_exhaustive()
    }
}
