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

mod calls;
mod clock;
mod drive;
mod event;
mod log;
mod next_step;
mod observers;
mod operator;
mod outside;
mod session;
mod settings;
mod stop_when;
mod stored;
mod subagent;
mod turn;
mod typed;

use std::{fmt, sync::Arc};

use futures_util::{
    future::ready,
    stream::{self, BoxStream, StreamExt},
};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

pub use calls::{InvalidCall, RepairedCall};
#[cfg(feature = "test-util")]
pub use clock::Clock;
pub use event::{Event, HookError, Hooked, Hooks, Observer, PartialArguments};
pub use next_step::NextStep;
pub use operator::{ApprovalRequest, DenyAll, ExternalCall, Operator, QuestionRequest, Suspend};
pub use outside::{Handle, Steering};
pub use session::{Reply, Session};
use settings::Setup;
pub use settings::{DEFAULT_LEASE, Timeouts};
pub use stop_when::StopWhen;
pub use stored::Decisions;
pub use subagent::AgentTool;
pub use turn::DEFAULT_WAIT;

pub use crate::run::Decision;

use crate::gate::Gate;
use crate::message::{FinishReason, Message, Part};
use crate::model::{Delta, Model, ModelError, Request};
use crate::run::{CallResult, Principal, Refusal, Run, RunId, Time};
use crate::store::StoreError;
use crate::toolset::Toolset;
use tool_run::message::repair;

/// A model with tools. Cheap to clone; a clone can be changed without touching the original.
#[derive(Clone)]
pub struct Agent {
    setup: Arc<Setup>,
}

impl Agent {
    /// An agent without tools, instructions or anybody to ask: calls that need an approval are denied.
    pub fn new(model: impl Model + 'static) -> Self {
        Self { setup: Arc::new(Setup::new(Arc::new(model))) }
    }

    /// A conversation, to be continued prompt by prompt.
    pub fn session(&self) -> Session {
        self.session_after(Vec::new())
    }

    /// A conversation that goes on from `messages`, such as those of another program. They are made into a history that
    /// providers accept, as [`repair`] does: see [`Session::repaired`].
    pub fn session_after(&self, messages: Vec<Message>) -> Session {
        self.session_named(uuid::Uuid::new_v4().to_string(), messages)
    }

    /// A conversation under an id that the application chose, such as that of a chat. With a store nobody else may have a
    /// run of that id: [`Agent::open`] continues it.
    pub fn session_named(&self, id: impl Into<RunId>, messages: Vec<Message>) -> Session {
        let (messages, repaired) = repair(messages);
        let (run, created) = Run::new(id.into(), self.principal(), self.setup.options, messages, self.now());
        let mut session = Session::new(self, run, vec![created]);
        session.repaired = repaired;
        session
    }

    /// A conversation that goes on from `run` as it was before its prompt number `prompt`, from 0
    /// ([`Run::prompts`]): how a message is edited, or answered anew. `run` stays as it is.
    pub fn branch(&self, id: impl Into<RunId>, run: &Run, prompt: usize) -> Session {
        let (run, entries) = run.branch(id.into(), self.setup.options, prompt, self.now());
        Session::new(self, run, entries)
    }

    /// A conversation that goes on from a run that comes from elsewhere, such as a sealed one.
    pub fn session_of(&self, run: Run) -> Session {
        Session::new(self, run, Vec::new())
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

    /// An agent without a model: all calls come from outside, by [`Session::call`]. Policies, approvals, limits and the store
    /// are those of any agent.
    ///
    /// ```
    /// # #[cfg(feature = "derive")] {
    /// use tool_runtime::{Agent, run::Decision, tool, toolset};
    ///
    /// /// Deletes a file.
    /// #[tool(approval = always)]
    /// fn delete_file(/** Its name. */ name: String) -> String {
    ///     format!("{name} is gone")
    /// }
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let agent = Agent::without_model(toolset!(delete_file)).operator(tool_runtime::agent::Suspend);
    /// let mut session = agent.session();
    /// assert!(session.call("delete_file", r#"{"name":"a.txt"}"#).await.unwrap().result().is_none());
    /// let waits = session.interrupts().next().unwrap().id.clone();
    /// session.decide(&waits, Decision::Approve, session.run().owner().clone()).await.unwrap();
    /// session.resume().await.unwrap();
    /// assert!(session.run().calls()[0].result().unwrap().is_success());
    /// # });
    /// # }
    /// ```
    pub fn without_model(tools: Toolset) -> Self {
        Self::new(Silent).silenced().tools(tools)
    }

    /// Removes the models of the agent: none is asked, and a call from outside that fails ends its run, too. Everything
    /// else is as it was.
    pub fn silenced(mut self) -> Self {
        if self.setup.is_silent && self.setup.prepare.is_none() && self.setup.fallbacks.is_empty() {
            return self;
        }
        let setup = self.setup_mut();
        setup.is_silent = true;
        setup.model = Arc::new(Silent);
        setup.prepare = None;
        setup.fallbacks = Arc::default();
        self
    }

    /// Makes one call that belongs to no conversation, and waits until it has ended or waits for somebody. The agent's model
    /// is not asked.
    ///
    /// The tool is looked up, the arguments are read, validators, policies and layers are asked, approvals obtained and
    /// limits kept, as for a call of the model: the call gets a run of its own, as [`Session::call`] makes one.
    ///
    /// Fails when the call was cancelled, or its run could not be kept.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    ///
    /// ```
    /// # #[cfg(feature = "derive")] {
    /// use tool_runtime::{Agent, agent::Called, tool, toolset};
    ///
    /// /// Adds two numbers.
    /// #[tool(effect = read_only)]
    /// fn add(/** The first. */ a: i64, /** The second. */ b: i64) -> i64 {
    ///     a + b
    /// }
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let agent = Agent::without_model(toolset!(add));
    /// let Called::Ended(ended) = agent.call("add", r#"{"a":1,"b":2}"#).await.unwrap() else { panic!("it asks nobody") };
    /// assert_eq!(ended.result.output().unwrap().as_json(), Some("3"));
    /// # });
    /// # }
    /// ```
    pub async fn call(&self, name: impl Into<String>, arguments: impl Into<String>) -> Result<Called, AgentError> {
        let mut session = Box::new(self.clone().silenced().session());
        let call = session.call(name, arguments).await?;
        match call.result() {
            Some(result) => {
                let (result, may_have_run) = (result.clone(), call.may_have_run());
                Ok(Called::Ended(Ended { name: call.name.clone(), result, may_have_run }))
            }
            None => Ok(Called::Waits(session)),
        }
    }

    /// This agent as a tool called `name`, for another agent: a call of it is a run of this agent, inside of the run that
    /// makes the call. It takes a text, and gives back what the model said last; [`AgentTool::input`] and
    /// [`AgentTool::output`] type both.
    ///
    /// ```
    /// # #[cfg(feature = "derive")] {
    /// use tool_runtime::{Agent, Toolset, model::{ScriptedModel, Turn}};
    ///
    /// let model = ScriptedModel::new([Turn::say("Oslo is the capital of Norway.")]);
    /// let expert = Agent::new(model).instructions("You know all countries.");
    /// let tools = Toolset::new().with(expert.as_tool("geography", "Asks an expert for geography."))?;
    ///
    /// let model = ScriptedModel::new([
    ///     Turn::call("geography", serde_json::json!({ "task": "What is the capital of Norway?" })),
    ///     Turn::say("Oslo."),
    /// ]);
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let reply = Agent::new(model).tools(tools).run("Norway's capital?").await?;
    /// assert_eq!(reply.text, "Oslo.");
    /// # Ok::<(), tool_runtime::AgentError>(())
    /// # }).unwrap();
    /// # }
    /// # Ok::<(), tool_runtime::toolset::NameError>(())
    /// ```
    ///
    /// What the two have to do with each other:
    ///
    /// - **People.** An approval, an external call or a question of the inner run opens an interrupt of the outer call
    ///   ([`InterruptKind::Inner`](crate::run::InterruptKind::Inner)). It is decided there, like any other, by an operator
    ///   or with [`Agent::decide`]; one after the other, when the inner run can do nothing else. The inner agent's own
    ///   operator and observer are not used.
    /// - **Log.** The inner run's log is kept as steps of the outer call, so it goes on wherever the outer run does. A store
    ///   of the inner agent is not used. Each append counts as one of the outer run's
    ///   [`records`](crate::run::Limits::records).
    /// - **Limits.** Its calls, retries and tokens count as the outer run's too, and end where those of the outer run do. The
    ///   call is cancelled with the outer run, and ends at its own `timeout`, if one is set ([`AgentTool::traits`]).
    /// - **Taint.** The inner run begins with the outer one's; the tool is `untrusted` if one of the agent's tools is, or
    ///   `open_world`.
    /// - **Who.** It acts for the owner of the outer run. Secrets and values of its context are its own
    ///   ([`Agent::context`]).
    /// - **Events.** The outer observer gets them as [`Event::Inner`], with the outer call.
    ///
    /// Agents call one another at most eight deep. Without an outer run, as with [`Toolset::call`](crate::Toolset::call),
    /// nobody can be asked: calls that need an approval are denied.
    pub fn as_tool(&self, name: impl Into<String>, description: impl Into<String>) -> AgentTool {
        AgentTool::new(self, name.into(), description.into())
    }

    /// On whose behalf the agent acts.
    pub fn principal(&self) -> Principal {
        self.setup.context.principal().map_or_else(Principal::anonymous, Principal::from)
    }

    fn gate(&self) -> Gate {
        self.setup.gate.clone()
    }

    /// The time on this machine's clock.
    pub(super) fn now(&self) -> Time {
        self.setup.clock.now()
    }
}

impl fmt::Debug for Agent {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Agent")
            .field("name", &self.setup.name)
            .field("model", &self.setup.model.name())
            .field("tools", &self.setup.tools)
            .finish_non_exhaustive()
    }
}

/// The model of an agent that has none: it has nothing to say.
struct Silent;

impl Model for Silent {
    fn name(&self) -> &'static str {
        "none"
    }

    fn stream<'a>(&'a self, _: Request<'a>) -> BoxStream<'a, Result<Delta, ModelError>> {
        stream::once(ready(Ok(Delta::Finish(FinishReason::Stop)))).boxed()
    }
}

/// The outcome of [`Agent::call`](crate::Agent::call).
#[derive(Debug)]
pub enum Called {
    /// The call has ended.
    Ended(Ended),
    /// It waits for somebody, in a run: [`Session::interrupts`] says for what.
    Waits(Box<Session>),
}

/// A call that has ended.
#[derive(Debug)]
#[non_exhaustive]
pub struct Ended {
    /// The name that was called.
    pub name: String,
    /// How it ended.
    pub result: CallResult,
    /// Set if the tool was started, or the call was announced to somebody outside who may have executed it.
    pub may_have_run: bool,
}

impl Ended {
    /// Returns the content for a model.
    pub fn for_model(&self) -> Vec<Part> {
        self.result.for_model(&self.name, self.may_have_run)
    }
}

/// A run that could not go on. It stays whole: it holds everything up to the failure, and can go on.
#[derive(Debug)]
#[non_exhaustive]
pub enum AgentError {
    /// The model failed.
    Model(ModelError),
    /// The run was cancelled.
    Cancelled,
    /// The model did not give an answer of the wanted type.
    NoAnswer {
        /// The problem.
        reason: String,
    },
    /// The run does not take that prompt or decision.
    Refused(Refusal),
    /// The run could not be loaded or kept.
    Store(StoreError),
    /// The run refused an entry that followed from its own state. Nothing was done that follows from it. This is a bug in
    /// this crate: report it with the reason.
    Inconsistent {
        /// The entry's number, and what is wrong with it.
        reason: String,
    },
}

impl fmt::Display for AgentError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Model(error) => write!(out, "the model failed: {error}"),
            Self::Cancelled => out.write_str("the run was cancelled"),
            Self::NoAnswer { reason } => write!(out, "the model gave no answer of the wanted type: {reason}"),
            Self::Refused(refusal) => refusal.fmt(out),
            Self::Store(error) => error.fmt(out),
            Self::Inconsistent { reason } => write!(out, "the run contradicts itself, which is a bug: {reason}"),
        }
    }
}

impl std::error::Error for AgentError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Model(error) => Some(error),
            Self::Refused(error) => Some(error),
            Self::Store(error) => Some(error),
            _ => None,
        }
    }
}

impl From<ModelError> for AgentError {
    fn from(error: ModelError) -> Self {
        Self::Model(error)
    }
}

impl From<Refusal> for AgentError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<StoreError> for AgentError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}
