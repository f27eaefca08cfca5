//! The loop of an agent: it asks the model, runs the requested calls and returns the results, until the model requests none.
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

mod ask;
mod budget;
mod caller;
mod calls;
mod change_queues;
mod clock;
mod compaction;
mod drive;
mod driver;
mod event;
mod event_kind;
mod follower;
mod guard;
mod handle;
mod inner_limits;
mod left_runs;
mod logged_run;
mod model_request;
mod next_step;
mod observers;
mod operator;
mod partial_answer;
mod pieces;
mod run_stream;
mod secrets;
mod session;
mod settings;
mod stop_when;
mod stored_runs;
mod subagent;
mod team;
mod timeouts;
mod turn;
mod typed;
mod unreadable;

use std::{fmt, sync::Arc};

pub use ask::{AnswerProblem, Answered, Ask};
pub use budget::Budget;
pub use caller::{Caller, MAX_CLAIMS_BYTES};
pub use calls::{InvalidCall, RepairedCall};
#[cfg(feature = "test-util")]
pub use clock::TestClock;
pub use compaction::Compaction;
pub use event::{Event, Observer, PartialArguments};
pub use event_kind::{EventCall, EventKind};
use futures_util::{
    future::ready,
    stream::{self, BoxStream, StreamExt},
};
pub use guard::Guard;
pub use handle::{Handle, Steering};
pub use next_step::NextStep;
pub use observers::{Hook, HookError, HookResult};
pub use operator::{ApprovalRequest, DenyAll, ExternalCall, Operator, QuestionRequest, Suspend};
pub use partial_answer::PartialAnswer;
pub use run_stream::{RunEvent, RunStream};
pub use secrets::Secret;
pub use session::{Reply, Session};
pub use settings::DEFAULT_LEASE;
use settings::Setup;
pub use stop_when::StopWhen;
pub use stored_runs::LoadedRun;
pub use subagent::AgentTool;
pub use timeouts::Timeouts;
pub use turn::DEFAULT_RETRY_WAIT;
pub use unreadable::UnreadableParts;

pub use crate::run::Decision;

use crate::message::{FinishReason, Message, Part, ToolCall};
use crate::model::{Delta, Model, ModelError, Request};
use crate::run::{CallId, CallResult, Extent, Principal, Refusal, Run, RunId, Timestamp};
use crate::store::StoreError;
use crate::toolset::Toolset;
use tool_run::{
    message::repair,
    run::{CallState, InputError, with_readings},
};

/// A model with tools. Clones are cheap, and changing a clone does not affect the original.
///
/// Methods that set something replace an earlier value. Methods that add something, such as [`Agent::hook`], [`Agent::policy`],
/// [`Agent::stop_when`] and [`Agent::prepare_step`], keep what was added before.
#[derive(Clone)]
pub struct Agent {
    setup: Arc<Setup>,
}

impl Agent {
    /// Creates an agent without tools, instructions or an operator: calls that need an approval are denied.
    pub fn new(model: impl Model + 'static) -> Self {
        Self { setup: Arc::new(Setup::new(Arc::new(model))) }
    }

    /// Starts a conversation, to be continued prompt by prompt.
    pub fn session(&self) -> Session {
        self.session_from_messages(Vec::new())
    }

    /// Starts a conversation that continues `messages`, such as those of another program. [`repair`] changes them into a
    /// history that providers accept, and [`Session::repairs`] returns the changes.
    pub fn session_from_messages(&self, messages: Vec<Message>) -> Session {
        let mut text = uuid::Uuid::encode_buffer();
        let id: &str = uuid::Uuid::new_v4().hyphenated().encode_lower(&mut text);
        self.session_with_id(id, messages)
    }

    /// Starts a conversation under an id of the application, such as the id of a chat. If the agent has a store, the store
    /// must not have another run with this id: [`Agent::open`] continues an existing one. Otherwise, the first method that drives the
    /// session fails with [`Refusal::Exists`].
    pub fn session_with_id(&self, id: impl Into<RunId>, messages: Vec<Message>) -> Session {
        let (messages, repaired) = repair(messages);
        let (mut run, mut created) = Run::new(id.into(), self.owner(), self.setup.options, messages, self.now());
        run.set_made_by(&mut created, self.stored_name());
        // A first drive adds few entries, so the list need not grow.
        let mut entries = Vec::with_capacity(8);
        entries.push(created);
        let mut session = Session::new(self, run, entries);
        session.repairs = repaired;
        session
    }

    /// Starts a conversation that continues `run` as it was before the prompt with the index `prompt` in [`Run::prompts`]. If
    /// there is no such prompt, it continues the whole `run`; the model reads that a call without a result was interrupted. In this way,
    /// applications edit a message, or request a new answer. `run` does not change.
    pub fn branch(&self, id: impl Into<RunId>, run: &Run, prompt: usize) -> Session {
        let begun = run.branch(id.into(), self.setup.options, prompt, self.now());
        self.session_after(begun)
    }

    /// Starts a conversation that continues `run` as it was before one of its calls, and makes this call as `change` leaves it: with
    /// another name or other arguments. [`Session::resume`] checks the call, asks for its approval and runs it, like a call of the
    /// model. The text of its turn stays; other calls of that turn are left out, so that nothing runs twice. `run` does not change.
    ///
    /// Fails if the conversation of `run` has no such call.
    ///
    /// ```
    /// # #[cfg(feature = "derive")] {
    /// use tool_runtime::{Agent, model::{ScriptedModel, Turn}, tool, toolset};
    ///
    /// /// Plays a song.
    /// #[tool]
    /// fn play(/** Its title. */ title: String) -> String {
    ///     format!("plays {title}")
    /// }
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let turns = [Turn::call("play", r#"{"title":"Loud"}"#), Turn::say("Enjoy."), Turn::say("Sleep well.")];
    /// let agent = Agent::new(ScriptedModel::new(turns)).tools(toolset!(play));
    /// let mut first = agent.session();
    /// first.send("Play something.").await?;
    /// let call = &first.run().calls()[0].id;
    /// let mut second = agent.branch_before_call("b", first.run(), call, |call| call.arguments = r#"{"title":"Low"}"#.into())?;
    /// assert_eq!(second.resume().await?.text, "Sleep well.");
    /// assert_eq!(second.run().calls()[0].result().unwrap().output().unwrap().as_json(), Some(r#""plays Low""#));
    /// # Ok::<(), tool_runtime::AgentError>(())
    /// # }).unwrap();
    /// # }
    /// ```
    pub fn branch_before_call(
        &self,
        id: impl Into<RunId>,
        run: &Run,
        call: &CallId,
        change: impl FnOnce(&mut ToolCall),
    ) -> Result<Session, AgentError> {
        let begun = run.branch_before_call(id.into(), self.setup.options, call, change, self.now())?;
        Ok(self.session_after(begun))
    }

    /// Starts a conversation that takes the place of `run`, and begins with `messages`. It still knows the idempotency keys of `run`
    /// ([`Run::replaced_keys`]). `run` does not change.
    pub fn replace(&self, id: impl Into<RunId>, run: &Run, messages: Vec<Message>) -> Session {
        let (messages, repaired) = repair(messages);
        let begun = run.replace(id.into(), self.setup.options, messages, self.now());
        let mut session = self.session_after(begun);
        session.repairs = repaired;
        session
    }

    fn session_after(&self, (mut run, mut entries): (Run, Vec<tool_run::run::LogEntry>)) -> Session {
        if let Some(created) = entries.first_mut() {
            run.set_made_by(created, self.stored_name());
        }
        Session::new(self, run, entries)
    }

    /// Creates a session that continues a run from another source, such as a sealed one.
    pub fn session_from_run(&self, run: Run) -> Session {
        Session::new(self, run, Vec::new())
    }

    /// Answers one prompt in a new conversation. Fails like [`Session::send`].
    pub async fn run(&self, prompt: impl Into<String>) -> Result<Reply, AgentError> {
        self.session().send(prompt).await
    }

    /// Creates an agent without a model: all calls come from outside, by [`Session::call`]. Policies, approvals, limits and
    /// the store work as for any agent.
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
    /// let agent = Agent::tools_only(toolset!(delete_file)).operator(tool_runtime::agent::Suspend);
    /// let mut session = agent.session();
    /// assert!(session.call("delete_file", r#"{"name":"a.txt"}"#).await.unwrap().result().is_none());
    /// let waits = session.interrupts().next().unwrap().id.clone();
    /// session.decide(&waits, Decision::Approve, session.run().owner().clone()).await.unwrap();
    /// session.resume().await.unwrap();
    /// assert!(session.run().calls()[0].result().unwrap().is_success());
    /// # });
    /// # }
    /// ```
    pub fn tools_only(tools: Toolset) -> Self {
        Self::new(NoModel).without_models().tools(tools)
    }

    /// Removes the agent's models, the functions of [`Agent::prepare_step`], and the other agents of its team. A run then ends after its call from outside,
    /// even if the call has failed.
    pub fn without_models(mut self) -> Self {
        if self.setup.has_no_model && self.setup.prepare.is_empty() && self.setup.fallbacks.is_empty() {
            return self;
        }
        self.without_team();
        let setup = self.setup_mut();
        setup.has_no_model = true;
        setup.model = Arc::new(NoModel);
        setup.prepare = Vec::new();
        setup.fallbacks = Arc::default();
        self
    }

    /// Makes one call outside of any conversation, without the model, and waits until the call has ended or waits for a
    /// decision.
    ///
    /// As for a call of the model, the runtime looks up the tool and reads the arguments. It asks validators, policies and
    /// layers, obtains approvals, and enforces limits. The call gets a run of its own, as if made by [`Session::call`].
    ///
    /// Fails if the call was cancelled, or its run could not be stored.
    ///
    /// # Panics
    ///
    /// Panics outside of a tokio runtime.
    ///
    /// ```
    /// # #[cfg(feature = "derive")] {
    /// use tool_runtime::{Agent, agent::CallOutcome, tool, toolset};
    ///
    /// /// Adds two numbers.
    /// #[tool(effect = read_only)]
    /// fn add(/** The first. */ a: i64, /** The second. */ b: i64) -> i64 {
    ///     a + b
    /// }
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let agent = Agent::tools_only(toolset!(add));
    /// let CallOutcome::Ended(ended) = agent.call("add", r#"{"a":1,"b":2}"#).await.unwrap() else { panic!("it asks nobody") };
    /// assert_eq!(ended.result.output().unwrap().as_json(), Some("3"));
    /// # });
    /// # }
    /// ```
    pub async fn call(&self, name: impl Into<String>, arguments: impl Into<String>) -> Result<CallOutcome, AgentError> {
        let mut session = self.clone().without_models().session();
        let call = session.call(name, arguments).await?;
        let CallState::Done(result) = &call.state else { return Ok(CallOutcome::Waits(Box::new(session))) };
        let (name, result, extent) = (call.name.clone(), Arc::clone(result), call.extent());
        let readings = call.readings().to_vec();
        // Usually nobody else has the result then, so it is not copied.
        drop(session);
        Ok(CallOutcome::Ended(EndedCall { name, result: Arc::unwrap_or_clone(result), extent, readings }))
    }

    /// Returns this agent as a tool called `name`, for another agent. A call of that tool is a run of this agent inside of the
    /// calling run. The tool's input is a text, and its output is the model's last text. [`AgentTool::input`] and
    /// [`AgentTool::output`] set other types.
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
    /// # Ok::<(), tool_runtime::toolset::ToolsetError>(())
    /// ```
    ///
    /// The inner and the outer run are connected in these ways:
    ///
    /// - **People.** An approval, an external call or a question of the inner run opens an interrupt of the outer call
    ///   ([`InterruptKind::Inner`](crate::run::InterruptKind::Inner)). An operator or [`Agent::decide`] decides it there, like
    ///   any other interrupt. An operator that can decide receives the interrupts at once, one after the other. The others open
    ///   one by one, when the inner run cannot go on otherwise. The inner agent's own operator and observer are not used.
    /// - **Log.** The log of the inner run is stored as steps of the outer call. So the inner run continues wherever the
    ///   outer run does. A store of the inner agent is not used. Each append counts as one of the outer run's
    ///   [`recorded_steps`](crate::run::Limits::recorded_steps).
    /// - **Limits.** All inner runs, at every depth, share the calls, retries and tokens that the outer run has left. They count
    ///   them while they run, so only the turns under way can exceed a limit of tokens. Steps are each agent's own. The outer
    ///   agent's [`StopWhen`] conditions are also tested after each inner turn, with the inner model's name.
    /// - **End.** Cancelling the outer run cancels the call. Stopping it stops the inner run after its step, and the call's result
    ///   names the reason. A `timeout` of the tool ([`AgentTool::options`]) ends the call.
    /// - **Taint.** The inner run begins with the taint of the outer one. The tool is `untrusted` if one of the agent's tools
    ///   is `untrusted` or `open_world`.
    /// - **Principal.** The inner run acts for the owner of the outer run, with the same claims. The inner agent's own context
    ///   provides secrets and values ([`Agent::context`]), or its own function for callers ([`Agent::for_each_caller`]).
    /// - **Events.** The outer observer receives the inner run's events as [`Event::Inner`], with the id of the outer call.
    ///
    /// Agents call one another at most eight levels deep. Without an outer run, as with
    /// [`Toolset::call`](crate::Toolset::call), there is no operator: calls that need an approval are denied.
    pub fn as_tool(&self, name: impl Into<String>, description: impl Into<String>) -> AgentTool {
        AgentTool::new(self, name.into(), description.into())
    }

    /// Returns the principal on whose behalf the agent acts.
    pub fn owner(&self) -> Principal {
        self.setup.context.principal().map_or_else(Principal::anonymous, Principal::from)
    }

    /// Returns the name that the agent's runs keep.
    fn stored_name(&self) -> Option<Arc<str>> {
        self.setup.name.clone().filter(|name| !name.is_empty())
    }

    /// Returns the time on the agent's clock.
    pub fn now(&self) -> Timestamp {
        self.setup.clock.now()
    }
}

impl fmt::Debug for Agent {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Agent")
            .field("name", &self.setup.name)
            .field("model", &self.setup.model.name())
            .field("tools", self.toolset())
            .finish_non_exhaustive()
    }
}

/// The model of an agent without a model: its turns are empty.
struct NoModel;

impl Model for NoModel {
    fn name(&self) -> &'static str {
        "none"
    }

    fn stream<'a>(&'a self, _: Request<'a>) -> BoxStream<'a, Result<Delta, ModelError>> {
        stream::once(ready(Ok(Delta::Finish(FinishReason::Stop)))).boxed()
    }
}

/// The outcome of [`Agent::call`](crate::Agent::call).
#[derive(Debug)]
pub enum CallOutcome {
    /// The call has ended.
    Ended(EndedCall),
    /// The call waits for a decision. The session holds its run; [`Session::interrupts`] returns the open interrupts.
    Waits(Box<Session>),
}

/// A call that has ended.
#[derive(Debug)]
#[non_exhaustive]
pub struct EndedCall {
    /// The name of the tool that was called.
    pub name: String,
    /// The result.
    pub result: CallResult,
    /// The extent to which the call may have run: the tool was started, or an outside executor may have executed the call.
    pub extent: Extent,
    /// Sentences about the values that were read in another form than they were sent.
    pub readings: Vec<String>,
}

impl EndedCall {
    /// Returns the result as content for a model.
    pub fn for_model(&self) -> Vec<Part> {
        with_readings(self.result.for_model(&self.name, self.extent), &self.readings)
    }
}

/// The error of a run that could not go on. The run still holds everything up to the failure, and can be continued.
#[derive(Debug)]
#[non_exhaustive]
pub enum AgentError {
    /// The model failed.
    Model(ModelError),
    /// The run was cancelled.
    Cancelled,
    /// A guard blocked the run, or a check refused its answer.
    Blocked {
        /// The name of the guard or the check.
        by: String,
        /// The reason.
        reason: String,
    },
    /// The agent of the caller could not be made ([`Agent::for_each_caller`]). Nothing was done.
    Caller {
        /// The problem. It is for the application's log, not for the caller.
        reason: String,
    },
    /// The run has no answer of the requested type.
    NoAnswer {
        /// The problem, with the last rejection if the model gave wrong answers.
        reason: String,
    },
    /// The run refused an input, such as a prompt or a decision.
    Refused(Refusal),
    /// The run could not be loaded or stored.
    Store(StoreError),
    /// The run refused an entry that followed from its own state. Nothing of the input that led to it was stored, published or
    /// done. A stored run is loaded again by the next method that drives it. Any other run answers every further use with this
    /// error. Such a refusal is a bug in this crate, or somebody changed the stored run: please report it with the reason.
    Inconsistent {
        /// The number of correct entries before the refused one, and the problem.
        reason: String,
    },
}

impl fmt::Display for AgentError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Model(error) => write!(out, "the model failed: {error}"),
            Self::Cancelled => out.write_str("the run was cancelled"),
            Self::Blocked { by, reason } => write!(out, "{by} blocked the run: {reason}"),
            Self::Caller { reason } => write!(out, "the agent of the caller could not be made: {reason}"),
            Self::NoAnswer { reason } => write!(out, "the model gave no answer of the requested type: {reason}"),
            Self::Refused(refusal) => refusal.fmt(out),
            Self::Store(error) => error.fmt(out),
            Self::Inconsistent { reason } => write!(out, "the run contradicts itself, which is a bug: {reason}"),
        }
    }
}

impl std::error::Error for AgentError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        // The text has that of the error inside, so a report of the whole chain goes on with the cause of that one.
        match self {
            Self::Model(error) => error.source(),
            Self::Refused(error) => error.source(),
            Self::Store(error) => error.source(),
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

impl From<InputError> for AgentError {
    fn from(error: InputError) -> Self {
        match error {
            InputError::Refused(refusal) => Self::Refused(refusal),
            InputError::Inconsistent(corrupt) => Self::Inconsistent { reason: corrupt.to_string() },
        }
    }
}

impl From<StoreError> for AgentError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}
