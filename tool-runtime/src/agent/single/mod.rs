//! One call that belongs to no conversation. Most need no run: nobody is asked about them, and nobody reads their log.
//! Those run by themselves; one that turns out to need a run while it goes on gets one then, and goes on in it.

mod journal;
mod opening;
mod plain;
mod task;
mod work;

use std::sync::Arc;

use super::{Agent, AgentError, Front, Session};
use crate::message::{Part, ToolCall};
use crate::run::CallResult;
use crate::tool::Context;
use work::{Single, Stopped};

pub(super) use journal::LateJournal;
pub(super) use opening::Openings;
pub(super) use work::Underway;

/// What came of [`Agent::call`].
#[derive(Debug)]
pub enum Called {
    /// The call has ended.
    Ended(Ended),
    /// It waits for somebody, in a run: [`Session::obligations`] says for what.
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
    /// Whether the tool was started, or the call was announced to somebody outside who may have executed it.
    pub may_have_run: bool,
}

impl Ended {
    /// What a model would be told.
    pub fn for_model(&self) -> Vec<Part> {
        self.result.for_model(&self.name, self.may_have_run)
    }
}

impl Agent {
    /// Makes one call that belongs to no conversation, and waits until it has ended or waits for somebody. The agent's model
    /// is not asked.
    ///
    /// The tool is looked up, the arguments are read, validators, policies and layers are asked, approvals obtained and
    /// limits kept, as for a call of the model. The call gets a run, as [`Session::call`] makes one, only where something
    /// depends on that: a store or hooks of the agent, policies, limits other than the usual, traces that somebody reads, a
    /// tool that needs an approval, has validators or may be tried again, or one that asks somebody in the middle of its
    /// work. Otherwise it just runs, which costs a fraction; then the front is told of its progress and of nothing else.
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
        self.call_for(|context| context, Arc::clone(&self.front), name, arguments).await
    }

    /// Makes the same call in what `change` makes of the agent's context, with another front: what a server does that has
    /// one agent for many callers. It may be asked twice, where the call turns out to need a run, and has
    /// to give the same both times.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    pub async fn call_for(
        &self,
        change: impl Fn(Context) -> Context,
        front: Arc<dyn Front>,
        name: impl Into<String>,
        arguments: impl Into<String>,
    ) -> Result<Called, AgentError> {
        let call = Arc::new(ToolCall { id: String::new(), name: name.into(), arguments: arguments.into() });
        let context = || change(self.context.clone());
        // What waits is boxed here, and what needs a run: most calls do neither, and their futures need not be as large.
        let mut single = Single::start(self, &call, context, &front);
        let at_once = match &mut single {
            Some(single) => single.at_once().await,
            None => Some(Stopped::Unread),
        };
        let stopped = match (at_once, single) {
            (Some(stopped), _) => stopped,
            (None, Some(single)) => Box::pin(single.waited()).await,
            (None, None) => Stopped::Unread,
        };
        let underway = match stopped {
            Stopped::Ended { result, may_have_run } => {
                let name = Arc::unwrap_or_clone(call).name;
                return Ok(Called::Ended(Ended { name, result, may_have_run }));
            }
            Stopped::Cancelled => return Err(AgentError::Cancelled),
            Stopped::Unread => None,
            Stopped::Asks(underway) => Some(underway),
        };
        let agent = Self { front, context: context(), ..self.clone() };
        Box::pin(agent.call_in_run(Arc::unwrap_or_clone(call), underway)).await
    }

    async fn call_in_run(self, call: ToolCall, underway: Option<Underway>) -> Result<Called, AgentError> {
        let mut session = Box::new(self.silenced().session());
        let call = session.call_underway(call, underway).await?;
        match call.result() {
            Some(result) => {
                let (result, may_have_run) = (result.clone(), call.may_have_run());
                Ok(Called::Ended(Ended { name: call.name.clone(), result, may_have_run }))
            }
            None => Ok(Called::Waits(session)),
        }
    }
}
