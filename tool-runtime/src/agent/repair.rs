//! Calls that cannot run as the model wrote them: mended once, by the application or by the model.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::{Map, Value};

use super::Agent;
use crate::feedback::Rejection;
use crate::message::{Message, Part, ToolCall};
use crate::tool::{Tool, ToolSpec};
use crate::toolset::Toolset;

/// A call that was refused before it could run: there is no such tool, or it does not take the arguments.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct BadCall {
    /// The call as the model wrote it.
    pub call: ToolCall,
    /// What is wrong, as the model would be told.
    pub told: Vec<Part>,
    /// What is wrong with the arguments; `None` where there is no such tool.
    pub rejection: Option<Rejection>,
    /// The tool; `None` where there is none of that name.
    pub spec: Option<Arc<ToolSpec>>,
    /// The tools on offer.
    pub tools: Toolset,
    /// The conversation up to the turn that made the call.
    pub messages: Arc<Vec<Message>>,
}

/// A call in place of a [`BadCall`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MendedCall {
    pub(super) name: Option<String>,
    pub(super) arguments: String,
}

impl MendedCall {
    /// The same tool with other arguments, as JSON.
    #[allow(clippy::needless_pass_by_value, reason = "a value made by `json!` on the spot reads best")]
    pub fn arguments(arguments: impl ToString) -> Self {
        Self { name: None, arguments: arguments.to_string() }
    }

    /// A call of the tool `name`.
    #[allow(clippy::needless_pass_by_value, reason = "a value made by `json!` on the spot reads best")]
    pub fn call(name: impl Into<String>, arguments: impl ToString) -> Self {
        Self { name: Some(name.into()), arguments: arguments.to_string() }
    }
}

type Mend = dyn Fn(BadCall) -> BoxFuture<'static, Option<MendedCall>> + Send + Sync;

/// Who mends calls.
#[derive(Clone)]
pub(super) enum Repair {
    Application(Arc<Mend>),
    Model,
}

impl Agent {
    /// Sets who mends a call whose tool does not exist or refuses its arguments: a function of the application. It gets one
    /// chance for each call; without an answer, within a minute, the model is told what is wrong, as without it.
    ///
    /// A mended call is looked at like any other, policies and approvals included. The bad one is in the run's log, and not
    /// in the conversation: there the call stands as it was mended, so no model learns from its mistake, and no provider
    /// has to read arguments that are no JSON.
    ///
    /// ```
    /// use tool_runtime::{Agent, agent::MendedCall, model::{ScriptedModel, Turn}, tool, toolset};
    ///
    /// /// Looks up how warm a city is.
    /// #[tool(effect = read_only)]
    /// fn temperature(city: String) -> i64 {
    ///     city.len() as i64
    /// }
    ///
    /// let model = ScriptedModel::new([Turn::call("get_temperature", r#"{"city": "Oslo"}"#), Turn::say("4 degrees.")]);
    /// let agent = Agent::new(model).tools(toolset!(temperature)).repair(|bad| async move {
    ///     let name = bad.call.name.strip_prefix("get_")?.to_owned();
    ///     bad.tools.get(&name)?;
    ///     Some(MendedCall::call(name, bad.call.arguments))
    /// });
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let mut session = agent.session();
    /// session.send("How warm is it in Oslo?").await?;
    /// assert!(session.run().calls()[0].result().unwrap().is_success());
    /// # Ok::<(), tool_runtime::AgentError>(())
    /// # }).unwrap();
    /// ```
    pub fn repair<R>(mut self, mend: impl Fn(BadCall) -> R + Send + Sync + 'static) -> Self
    where
        R: Future<Output = Option<MendedCall>> + Send + 'static,
    {
        self.repair = Some(Repair::Application(Arc::new(move |bad| Box::pin(mend(bad)))));
        self
    }

    /// The same, by the model: it is asked once more for the one call, with what was wrong, in the same step. Its tokens count.
    pub fn repair_by_model(mut self) -> Self {
        self.repair = Some(Repair::Model);
        self
    }

    /// Lets the application refine the arguments of the tool `T` when they were accepted, before anybody judges them: a
    /// person is shown, approves and edits the refined ones, and they are what runs. What comes of it is read by the tool
    /// again, like a model's; if the tool refuses it, or the function panics, the call fails. A person's edit is not refined.
    ///
    /// `refine` sees the typed input, and changes the arguments as JSON. It must be quick; what has to wait belongs into a
    /// validator.
    ///
    /// ```
    /// use tool_runtime::{Agent, model::{ScriptedModel, Turn}, tool, toolset};
    ///
    /// /// Searches.
    /// #[tool(effect = read_only)]
    /// fn search(query: String, #[arg(default)] safe: bool) -> String {
    ///     format!("{query} {safe}")
    /// }
    ///
    /// let model = ScriptedModel::new([Turn::call("search", r#"{"query": " cats "}"#), Turn::say("Found.")]);
    /// let agent = Agent::new(model).tools(toolset!(search)).refine::<search>(|input, arguments| {
    ///     arguments.insert("query".into(), input.query.trim().into());
    ///     arguments.insert("safe".into(), true.into());
    /// });
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let mut session = agent.session();
    /// session.send("Cats!").await?;
    /// let call = &session.run().calls()[0];
    /// assert_eq!(&*call.arguments().text, r#"{"query":"cats","safe":true}"#);
    /// assert_eq!(call.result().unwrap().output().unwrap().as_json(), Some(r#""cats true""#));
    /// # Ok::<(), tool_runtime::AgentError>(())
    /// # }).unwrap();
    /// ```
    pub fn refine<T: Tool>(self, refine: impl Fn(&T::Input, &mut Map<String, Value>) + Send + Sync + 'static) -> Self {
        self.refined(T::NAME, move |text, arguments, cx| {
            if let Ok(input) = T::decode(text, cx) {
                refine(&input, arguments);
            }
        })
    }

    /// The same for the tool `name`, whose types are not known here: one of run time, or under another name.
    pub fn refine_named(
        self,
        name: impl Into<String>,
        refine: impl Fn(&mut Map<String, Value>) + Send + Sync + 'static,
    ) -> Self {
        self.refined(name, move |_, arguments, _| refine(arguments))
    }

    fn refined(
        mut self,
        name: impl Into<String>,
        refine: impl Fn(&str, &mut Map<String, Value>, &crate::tool::Context) + Send + Sync + 'static,
    ) -> Self {
        self.inspector = self.inspector.refine(name.into(), Arc::new(refine));
        self
    }
}
