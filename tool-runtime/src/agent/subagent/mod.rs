//! Agents as tools: a call of one is a run inside of the run that makes it.

mod store;
mod talk;

use std::sync::Arc;

use schemars::{JsonSchema, generate::SchemaSettings};
use serde::de::DeserializeOwned;

use super::{Agent, typed::Answering};
use crate::feedback::Rejection;
use crate::schema::{Schema, Validator};
use crate::tool::{
    CallError, Context, DynTool, Effect, Output, Started, Starting, ToolSpec, Traits, output_schema, read_as,
};
use crate::toolset::NameError;

type Ask = dyn Fn(&str) -> Result<String, Rejection> + Send + Sync;

/// An agent as a tool of another: what [`Agent::as_tool`] gives.
pub struct AgentTool {
    agent: Agent,
    spec: Arc<ToolSpec>,
    /// What the agent is asked, told from the arguments.
    ask: Arc<Ask>,
    /// How a typed answer is given.
    answering: Option<Answering>,
}

/// What a model gives that calls an agent, unless [`AgentTool::input`] says otherwise.
#[derive(serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Task {
    /// What to do, with all that has to be known for it: nothing else of this conversation is passed on.
    task: String,
}

impl Agent {
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
    /// - **People.** An approval, an external call or a question of the inner run opens an obligation of the outer call
    ///   ([`ObligationKind::Inner`](crate::run::ObligationKind::Inner)). It is decided there, like any other, by a front or
    ///   with [`Agent::decide`]; one after the other, when the inner run can do nothing else. The inner agent's own front is
    ///   not used.
    /// - **Log.** The inner run's log is kept as steps of the outer call, so it goes on wherever the outer run does. A store
    ///   of the inner agent is not used. Each append counts as one of the outer run's
    ///   [`records`](crate::run::Limits::records).
    /// - **Limits.** Its calls, retries and tokens count as the outer run's too, and end where those of the outer run do. The
    ///   call is cancelled with the outer run, and ends at its own `timeout`, if one is set ([`AgentTool::traits`]).
    /// - **Taint.** The inner run begins with the outer one's; the tool is `untrusted` if one of the agent's tools is, or
    ///   `open_world`.
    /// - **Who.** It acts for the owner of the outer run. Secrets and values of its context are its own
    ///   ([`Agent::context`]).
    /// - **Events.** The outer front is told them as [`Event::Inner`](super::Event::Inner), with the outer call.
    ///
    /// Agents call one another at most eight deep. Without an outer run, as with [`Toolset::call`](crate::Toolset::call),
    /// nobody can be asked: calls that need an approval are denied.
    pub fn as_tool(&self, name: impl Into<String>, description: impl Into<String>) -> AgentTool {
        let tools = || self.tools.iter().map(|tool| &tool.spec().traits);
        let traits = Traits {
            effect: if tools().all(|tool| tool.effect == Effect::ReadOnly) { Effect::ReadOnly } else { Effect::Write },
            untrusted: tools().any(|tool| tool.untrusted || tool.open_world),
            resumable: true,
            ..Traits::default()
        };
        let spec = ToolSpec {
            name: name.into(),
            title: None,
            description: description.into(),
            input: Arc::new(Schema::new(serde_json::json!({ "type": "object" }))),
            output: output_schema(|generator| Some(generator.subschema_for::<String>())).map(Arc::new),
            traits,
        };
        let tool =
            AgentTool { agent: self.clone(), spec: Arc::new(spec), ask: Arc::new(|_| unread()), answering: None };
        tool.input(|task: Task| task.task)
    }
}

impl AgentTool {
    /// Sets what the tool takes, and what the agent is asked then. Its schema is that of an object.
    pub fn input<I>(mut self, prompt: impl Fn(I) -> String + Send + Sync + 'static) -> Self
    where
        I: DeserializeOwned + JsonSchema + 'static,
    {
        let schema = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<I>();
        let schema = Schema::from_schemars(serde_json::Value::from(schema));
        let validator = Validator::compile(schema.neutral()).ok();
        self.spec = Arc::new(ToolSpec { input: Arc::new(schema), ..ToolSpec::clone(&self.spec) });
        self.ask = Arc::new(move |arguments| Ok(prompt(read_as(arguments, validator.as_ref())?)));
        self
    }

    /// Sets what the tool gives back. The agent's model gives it as [`Session::send_for`](super::Session::send_for) says; a
    /// call whose agent does not, after it was reminded, fails.
    ///
    /// Fails when the agent has a tool called `final_answer`.
    pub fn output<O>(mut self) -> Result<Self, NameError>
    where
        O: DeserializeOwned + JsonSchema + Send + 'static,
    {
        let (answering, tool) = Answering::of::<O>();
        self.agent = self.agent.clone().tools(self.agent.tools.clone().with(tool)?);
        let output = answering.output().clone();
        self.spec = Arc::new(ToolSpec { output: Some(Arc::new(Schema::new(output))), ..ToolSpec::clone(&self.spec) });
        self.answering = Some(answering);
        Ok(self)
    }

    /// Changes any of the flags and limits of the tool.
    pub fn traits(mut self, change: impl FnOnce(&mut Traits)) -> Self {
        change(&mut Arc::make_mut(&mut self.spec).traits);
        self
    }
}

fn unread() -> Result<String, Rejection> {
    Err(Rejection::told("the agent takes no task"))
}

impl DynTool for AgentTool {
    fn name(&self) -> &str {
        &self.spec.name
    }

    fn spec(&self) -> &Arc<ToolSpec> {
        &self.spec
    }

    fn start<'a>(&'a self, arguments: &'a str, cx: &'a Context) -> Starting<'a> {
        let asked = (self.ask)(arguments).map_err(CallError::from);
        Starting::read(asked.map(|prompt| {
            let needs_approval = self.spec.traits.approval != crate::tool::Approval::Never;
            Started::new(needs_approval, Box::pin(self.work(prompt, cx)))
        }))
    }

    fn answer(&self, _: &str) -> Result<Output, CallError> {
        Err(CallError::NotExecuted)
    }

    fn inside(&self) -> &[Arc<dyn DynTool>] {
        self.agent.tools.as_slice()
    }
}

impl std::fmt::Debug for AgentTool {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("AgentTool").field("spec", &self.spec).field("agent", &self.agent).finish_non_exhaustive()
    }
}
