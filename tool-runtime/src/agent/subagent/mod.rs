//! Agents as tools: a call of one is a run inside of the run that makes it.

mod store;
mod talk;

use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::{
    Agent,
    typed::{FinalAnswer, schema_of},
};
use crate::feedback::Rejection;
use crate::schema::{Schema, Validator};
use crate::tool::{
    CallError, Context, DynTool, Effect, Output, Started, Starting, ToolSpec, Traits, describe_output, read_as,
};
use crate::toolset::NameError;

type Ask = dyn Fn(&str) -> Result<String, Rejection> + Send + Sync;

/// An agent as a tool of another: what [`Agent::as_tool`] gives.
pub struct AgentTool {
    agent: Agent,
    spec: Arc<ToolSpec>,
    /// Makes the agent's prompt from the arguments.
    ask: Arc<Ask>,
    /// How a typed answer is given.
    answering: Option<FinalAnswer>,
}

/// The arguments of a call of an agent, unless [`AgentTool::input`] sets others.
#[derive(serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Task {
    /// What to do, with all that has to be known for it: nothing else of this conversation is passed on.
    task: String,
}

impl AgentTool {
    /// The tool called `name` whose calls are runs of `agent`.
    pub(super) fn new(agent: &Agent, name: String, description: String) -> Self {
        let tools = || agent.setup.tools.iter().map(|tool| &tool.spec().traits);
        let input = Schema::new(serde_json::json!({ "type": "object" }));
        let mut spec = ToolSpec::new(name, description, input);
        spec.output = describe_output(|generator| Some(generator.subschema_for::<String>())).map(Arc::new);
        let only_reads = tools().all(|tool| tool.effect == Effect::ReadOnly);
        spec.traits.effect = if only_reads { Effect::ReadOnly } else { Effect::Write };
        spec.traits.untrusted = tools().any(|tool| tool.untrusted || tool.open_world);
        spec.traits.resumable = true;
        let tool = Self { agent: agent.clone(), spec: Arc::new(spec), ask: Arc::new(|_| unread()), answering: None };
        tool.input(|task: Task| task.task)
    }

    /// Sets what the tool takes, and what the agent is asked then. Its schema is that of an object.
    pub fn input<I>(mut self, prompt: impl Fn(I) -> String + Send + Sync + 'static) -> Self
    where
        I: DeserializeOwned + JsonSchema + 'static,
    {
        let schema = Schema::from_schemars(schema_of::<I>());
        let validator = Validator::compile(schema.neutral()).ok();
        Arc::make_mut(&mut self.spec).input = Arc::new(schema);
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
        let answering = FinalAnswer::of::<O>();
        self.agent = self.agent.clone().tools(self.agent.setup.tools.clone().with(answering.clone())?);
        Arc::make_mut(&mut self.spec).output = Some(Arc::new(Schema::new(schema_of::<O>())));
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
    Err(Rejection::from_message("the agent takes no task"))
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
        self.agent.setup.tools.as_slice()
    }
}

impl std::fmt::Debug for AgentTool {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("AgentTool").field("spec", &self.spec).field("agent", &self.agent).finish_non_exhaustive()
    }
}
