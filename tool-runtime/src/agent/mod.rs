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

mod about;
mod check;
mod clock;
mod decisions;
mod direct;
mod driver;
mod error;
mod event;
mod front;
mod handle;
mod hooks;
mod inputs;
mod knobs;
mod observed;
mod repair;
mod reply;
mod rules;
mod session;
mod single;
mod so_far;
mod steering;
mod stop;
mod stored;
mod subagent;
mod typed;

use std::{fmt, sync::Arc, time::Duration};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

#[cfg(feature = "test-util")]
pub use clock::Clock;
pub use decisions::Decisions;
pub use error::AgentError;
pub use event::Event;
pub use front::{ApprovalRequest, ExternalCall, Front, Later, QuestionRequest, Unattended};
pub use handle::Handle;
pub use hooks::{HookError, Hooked, Hooks};
pub use knobs::{DEFAULT_WAIT, NextStep, StopWhen, Timeouts};
use repair::Repair;
pub use repair::{BadCall, MendedCall};
pub use reply::{Reply, Stopped};
pub use session::Session;
pub use single::{Called, Ended};
pub use so_far::SoFar;
pub use steering::Steering;
pub use subagent::AgentTool;

pub use crate::run::Decision;
use knobs::Knobs;

use crate::message::Message;
use crate::model::{Model, Settings, ToolChoice};
use crate::run::{Inspector, Principal, Run, RunId, RunOptions};
use crate::store::Store;
use crate::tool::{Context, InputHooks};
use crate::toolset::Toolset;

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
    hooks: Vec<Arc<dyn Hooks>>,
    repair: Option<Repair>,
    clock: clock::Source,
    observed: observed::Observed,
    knobs: Knobs,
    input_hooks: Option<Arc<dyn InputHooks>>,
    openings: single::Openings,
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
            hooks: Vec::new(),
            repair: None,
            clock: clock::Source::default(),
            observed: observed::Observed::default(),
            knobs: Knobs::default(),
            input_hooks: None,
            openings: single::Openings::default(),
        }
    }

    /// Sets the tools on offer.
    pub fn tools(mut self, tools: Toolset) -> Self {
        self.inspector = self.inspect_with(Inspector::new(tools.clone()));
        self.openings = single::Openings::of(&tools);
        self.tools = tools;
        self
    }

    /// Sets what the model is told to be and to do.
    pub fn instructions(mut self, text: impl Into<String>) -> Self {
        self.instructions = Some(text.into().into());
        self.openings = single::Openings::of(&self.tools);
        self
    }

    /// Adds to what the model is told to be and to do, behind what was said before.
    pub fn more_instructions(self, text: impl Into<String>) -> Self {
        let text = text.into();
        match self.instructions.clone() {
            Some(before) => self.instructions(format!("{before}\n\n{text}")),
            None => self.instructions(text),
        }
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

    /// Changes what every call gets to know, for example for one request: its secrets, its cancellation.
    pub fn with_context(mut self, change: impl FnOnce(Context) -> Context) -> Self {
        self.context = change(self.context);
        self
    }

    /// Sets on whose behalf the agent acts: who owns its runs, and whom every call knows.
    pub fn with_principal(self, principal: impl Into<String>) -> Self {
        self.with_context(|cx| cx.with_principal(principal))
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

    /// Keeps the runs in `store`, so that they survive the process. Without one they live in their [`Session`].
    pub fn store(mut self, store: impl Store + 'static) -> Self {
        self.store = Some(Arc::new(store));
        self
    }

    /// Keeps the runs in their [`Session`]s only.
    pub fn without_store(mut self) -> Self {
        self.store = None;
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

    /// A conversation that goes on from `messages`, such as those of another program. They are made into a history that
    /// providers accept, as [`mend`](crate::message::mend) does: see [`Session::mended`].
    pub fn session_after(&self, messages: Vec<Message>) -> Session {
        Session::new(self.clone(), messages)
    }

    /// A conversation under an id that the application chose, such as that of a chat. With a store nobody else may have a
    /// run of that id: [`Agent::open`] continues it.
    pub fn session_named(&self, id: impl Into<RunId>, messages: Vec<Message>) -> Session {
        Session::named(self.clone(), id.into(), messages)
    }

    /// A conversation that goes on from `run` as it was before its prompt number `prompt`, from 0
    /// ([`Run::prompts`]): how a message is edited, or answered anew. `run` stays as it is.
    pub fn branch(&self, id: impl Into<RunId>, run: &Run, prompt: usize) -> Session {
        Session::branch(self.clone(), id.into(), run, prompt)
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
    pub fn principal(&self) -> Principal {
        self.context.principal().map_or_else(Principal::anonymous, Principal::from)
    }

    fn inspector(&self) -> Inspector {
        self.inspector.clone()
    }
}

fn count(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

impl fmt::Debug for Agent {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Agent")
            .field("name", &self.observed.name)
            .field("model", &self.model.name())
            .field("tools", &self.tools)
            .finish_non_exhaustive()
    }
}
