//! Calls that somebody outside makes: the client of a protocol, a person, a test. They go the way of a model's calls.

use std::sync::Arc;

use futures_util::{
    future::ready,
    stream::{self, BoxStream, StreamExt},
};

use super::{Agent, AgentError, Session, single::Underway};
use crate::message::{FinishReason, Part, ToolCall};
use crate::model::{Delta, Model, ModelError, Request};
use crate::run::{Call, Event, Phase, Prompt, Refusal};
use crate::toolset::Toolset;

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

impl Agent {
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
    /// let agent = Agent::without_model(toolset!(delete_file)).front(tool_runtime::agent::Later);
    /// let mut session = agent.session();
    /// assert!(session.call("delete_file", r#"{"name":"a.txt"}"#).await.unwrap().result().is_none());
    /// let waits = session.obligations().next().unwrap().id.clone();
    /// session.decide(&waits, Decision::Approve, session.run().owner().clone()).await.unwrap();
    /// session.resume().await.unwrap();
    /// assert!(session.run().calls()[0].result().unwrap().is_success());
    /// # });
    /// # }
    /// ```
    pub fn without_model(tools: Toolset) -> Self {
        Self::new(Silent).tools(tools)
    }

    /// The same agent, whose model is not asked, nor any other: a call from outside that fails ends its run, too. Everything
    /// else is as it was.
    pub fn silenced(mut self) -> Self {
        self.model = Arc::new(Silent);
        self.knobs.prepare = None;
        self.knobs.fallbacks = Arc::default();
        self
    }
}

/// What a prompt says that asks for a call of the tool `name`.
pub(super) fn said(name: &str) -> Vec<Part> {
    vec![Part::text(format!("Call `{name}`."))]
}

impl Session {
    /// Makes one call, as if the model had asked for it, and waits until it has ended or waits for somebody. The call as it
    /// is then; its result says how it ended.
    ///
    /// The tool is looked up, the arguments are read, validators, policies and layers are asked, and everything is logged,
    /// as for a call of the model. When the call succeeds, the run ends with it; otherwise the agent's model goes on, if
    /// it has one.
    ///
    /// Fails when the run is busy or waits, was cancelled, or could not be kept.
    pub async fn call(&mut self, name: impl Into<String>, arguments: impl Into<String>) -> Result<&Call, AgentError> {
        let call = ToolCall { id: String::new(), name: name.into(), arguments: arguments.into() };
        self.call_underway(call, None).await
    }

    /// The same for a call that may be under way already.
    pub(super) async fn call_underway(
        &mut self,
        call: ToolCall,
        underway: Option<Underway>,
    ) -> Result<&Call, AgentError> {
        let at = self.run().calls().len();
        if matches!(self.run().phase(), Phase::Generating | Phase::Acting | Phase::Suspended) {
            return Err(Refusal::Busy.into());
        }
        let prompt = Prompt::new(said(&call.name), self.agent().principal(), self.agent().now());
        let prompt = Event::Prompt(prompt.until(call.name.clone()));
        let inspector = self.agent().inspector();
        self.drive_with(inspector, Some(prompt), |driver| driver.saying(call).with_underway(underway)).await?;
        // Somebody else's entries may have come first; then the prompt was refused, and so was this.
        self.run().calls().get(at).ok_or_else(|| Refusal::Busy.into())
    }
}
