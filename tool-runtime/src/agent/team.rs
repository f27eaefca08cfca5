//! A team: agents that share one conversation. One of them acts, and hands over to another.

use std::{fmt, sync::Arc};

use futures_util::future::ready;
use serde::Deserialize;
use serde_json::json;

use super::{Agent, AgentError, Session, settings::Setup};
use crate::message::Message;
use crate::run::{CallId, Principal, Refusal, Run, RunId};
use crate::schema::{CompiledSchema, Schema};
use crate::tool::{AcceptedCall, CallError, Context, Effect, ErasedTool, Output, PrepareFuture, ToolSpec, read_valid};
use crate::toolset::{Toolset, ToolsetError};
use tool_run::run::LogInput;

/// The name of the tool by which a model hands over.
const HAND_OVER: &str = "hand_over";

/// The name of a run's own agent in a team, if it has no other.
const OWN_NAME: &str = "main";

/// Another agent of a team.
#[derive(Clone)]
pub struct Member {
    name: Arc<str>,
    description: Arc<str>,
    agent: Agent,
    /// The names of the tools that the agent with the team does not have by itself.
    tools: Arc<[String]>,
}

impl Agent {
    /// Adds another agent to which this one can hand over the conversation, and which can hand it back. Each model of the team gets a
    /// tool called `hand_over`, whose argument `to` is the name of an agent. After such a call, the other agent's model goes on at
    /// once. The application hands over by [`Session::hand_over`] and [`Agent::hand_over`]. The name of this agent is its own one
    /// ([`Agent::name`]), or else `main`.
    ///
    /// The run's log has who acts ([`Run::acting_agent`]), so this holds for later prompts, after a restart, and in another process.
    /// The observer receives [`Event::HandedOver`](super::Event::HandedOver).
    ///
    /// - **Of the agent that acts**: the instructions, the model with its settings and fallbacks, the tools, the choice of tools, the
    ///   functions of [`Agent::prepare_step`]. These decide what it sees of the conversation.
    /// - **Of both**: the policies and the guards. A policy of `agent` judges the calls of its tools, and those of this agent judge all
    ///   calls. If this agent names no deciders for a call, `agent` does.
    /// - **Of this agent**: everything else, such as the limits, budgets, hooks, the context, the store and the final tools. A frontend's
    ///   own tools are there for each agent of the team.
    ///
    /// Fails if a tool of `agent` has the name of another tool of the team, unless it is the same tool.
    ///
    /// ```
    /// use serde_json::json;
    /// use tool_runtime::{Agent, model::{ScriptedModel, Turn}};
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let bills = Agent::new(ScriptedModel::new([Turn::say("You paid twice.")])).instructions("You know all bills.");
    /// let desk = Agent::new(ScriptedModel::new([Turn::call("hand_over", json!({ "to": "bills" }))]))
    ///     .instructions("You find out what a customer wants.")
    ///     .hands_over_to("bills", "Knows bills and refunds.", bills)?;
    /// let mut session = desk.session();
    /// assert_eq!(session.send("My bill is wrong.").await.unwrap().text, "You paid twice.");
    /// assert_eq!(session.run().acting_agent(), Some("bills"));
    /// # Ok::<(), tool_runtime::toolset::ToolsetError>(())
    /// # }).unwrap();
    /// ```
    pub fn hands_over_to(
        mut self,
        name: impl Into<Arc<str>>,
        description: impl Into<Arc<str>>,
        agent: Self,
    ) -> Result<Self, ToolsetError> {
        let name = name.into();
        if self.member(&name).is_some() || *name == *self.own_name() {
            return Err(ToolsetError::DuplicateName { name: name.to_string() });
        }
        let own = self.toolset().filter(|spec| spec.name != HAND_OVER);
        let same = |tool: &Arc<dyn ErasedTool>| own.get(tool.name()).is_some_and(|own| Arc::ptr_eq(own, tool));
        let new: Vec<Arc<dyn ErasedTool>> = agent.toolset().iter().filter(|tool| !same(tool)).cloned().collect();
        let tools = own.clone().merge(Toolset::of(new.clone())?)?;
        let names = new.iter().map(|tool| tool.name().to_owned()).collect();
        let gate = self.setup.gate.with_rules_of(&agent.setup.gate);
        let setup = self.setup_mut();
        setup.gate = gate;
        let member = Member { name, description: description.into(), agent, tools: names };
        setup.team = setup.team.iter().cloned().chain([member]).collect();
        let tools = tools.with(HandOver::new(&self))?;
        let setup = self.setup_mut();
        setup.gate = setup.gate.with_tools(tools);
        Ok(self)
    }

    /// Lets the agent `to` go on in the run `id`, on behalf of `by`. The run must be at rest. Without `to`, the run's own agent goes on.
    ///
    /// Fails if the team has no such agent, the run does not exist or is busy, or `by` is not its owner.
    pub async fn hand_over(&self, id: &RunId, to: Option<&str>, by: impl Into<Principal>) -> Result<Run, AgentError> {
        let (to, by) = (self.find_in_team(to)?, by.into());
        self.change(id, || LogInput::HandOver { to: to.clone(), call: None, by: by.clone(), at: self.now() }).await
    }

    /// Returns `tools` with those of the team that it does not have.
    pub(super) fn with_team_tools(&self, tools: Toolset) -> Toolset {
        if self.setup.team.is_empty() {
            return tools;
        }
        let of_team: Vec<Arc<dyn ErasedTool>> = self
            .toolset()
            .iter()
            .filter(|tool| tool.name() == HAND_OVER || self.setup.team.iter().any(|member| member.has(tool.name())))
            .cloned()
            .collect();
        tools.with_client_tools(&of_team)
    }

    /// Returns the agent whose model goes on in `run`: this agent, with the voice of the one that acts. Returns `None` if the team does
    /// not have that one.
    pub(super) fn acting_in(&self, run: &Run) -> Option<Self> {
        let team = &self.setup.team;
        let member = match run.acting_agent() {
            None if team.is_empty() => return Some(self.clone()),
            None => None,
            Some(name) => Some(self.member(name)?),
        };
        let is_offered = |tool: &ToolSpec| {
            let name = tool.name.as_str();
            // A page's tools, and those that give the answer, are for every agent of the team.
            let is_common = || tool.options.external || run.is_final(name);
            let is_of_member = team.iter().any(|member| member.has(name));
            name == HAND_OVER
                || match member {
                    Some(member) => member.offers(name) || !is_of_member && is_common(),
                    None => !is_of_member && is_active(self, name),
                }
        };
        let offered = self.toolset().iter().filter(|tool| is_offered(tool.spec()));
        let active = offered.map(|tool| tool.name().to_owned()).collect();
        let mut acting = self.clone();
        let setup = acting.setup_mut();
        setup.active = Some(active);
        if let Some(member) = member {
            member.lend_voice(setup);
        }
        Some(acting)
    }

    /// Returns the reason why this agent cannot go on with `run`, if another acts that its team does not have.
    pub(super) fn missing_member(&self, run: &Run) -> Option<String> {
        let name = run.acting_agent().filter(|name| self.member(name).is_none())?;
        Some(format!("the agent `{name}` acts in it, which this agent's team does not have (`Agent::hands_over_to`)"))
    }

    /// Returns the handover that a call of the model's last turn asked for, if another agent does not act already.
    pub(super) fn next_handover(&self, run: &Run) -> Option<LogInput> {
        if self.setup.team.is_empty() {
            return None;
        }
        let (call, to) = asked_handover(run)?;
        let to = self.find_in_team(Some(&to)).ok()?;
        let is_new = to.as_deref() != run.acting_agent();
        is_new.then(|| LogInput::HandOver { to, call: Some(call), by: run.owner().clone(), at: self.now() })
    }

    fn member(&self, name: &str) -> Option<&Member> {
        self.setup.team.iter().find(|member| *member.name == *name)
    }

    fn own_name(&self) -> Arc<str> {
        self.setup.name.clone().filter(|name| !name.is_empty()).unwrap_or_else(|| OWN_NAME.into())
    }

    /// Returns the name of an agent of the team as runs have it.
    fn find_in_team(&self, name: Option<&str>) -> Result<Option<Arc<str>>, AgentError> {
        match name {
            None => Ok(None),
            Some(name) if *name == *self.own_name() => Ok(None),
            Some(name) => match self.member(name) {
                Some(member) => Ok(Some(Arc::clone(&member.name))),
                None => Err(Refusal::NoSuchAgent { name: name.to_owned() }.into()),
            },
        }
    }
}

impl Session {
    /// Lets the agent `to` of the team go on ([`Agent::hands_over_to`]): it answers the next prompt. Without `to`, the run's own agent
    /// does.
    ///
    /// Fails if the team has no such agent, the run is busy, or it cannot be stored.
    pub async fn hand_over(&mut self, to: Option<&str>) -> Result<(), AgentError> {
        let (to, by) = (self.agent.find_in_team(to)?, self.agent.owner());
        self.drive(Some(LogInput::HandOver { to, call: None, by, at: self.agent.now() })).await.map(drop)
    }
}

fn is_active(agent: &Agent, name: &str) -> bool {
    agent.setup.active.as_ref().is_none_or(|active| active.iter().any(|known| known == name))
}

/// Returns the last successful call of `hand_over` since the model's last turn, and the agent that it names.
fn asked_handover(run: &Run) -> Option<(CallId, String)> {
    let answers = run.messages().iter().rev().take_while(|message| !matches!(message, Message::Assistant { .. }));
    answers.into_iter().find_map(|message| match message {
        Message::Tool(answer) if answer.tool == HAND_OVER && !answer.is_error => {
            let call = run.call(&answer.call_id.as_str().into())?;
            let Asked { to } = serde_json::from_str(&call.arguments().text).ok()?;
            Some((call.id.clone(), to))
        }
        _ => None,
    })
}

impl Member {
    /// Returns whether the team has the tool `name` because of this agent.
    fn has(&self, name: &str) -> bool {
        self.tools.iter().any(|own| own == name)
    }

    fn offers(&self, name: &str) -> bool {
        self.agent.toolset().get(name).is_some() && is_active(&self.agent, name)
    }

    /// Sets what is the acting agent's own.
    fn lend_voice(&self, setup: &mut Setup) {
        let own = &*self.agent.setup;
        setup.acting = Some(Arc::clone(&self.name));
        setup.model.clone_from(&own.model);
        setup.has_no_model = own.has_no_model;
        setup.fallbacks.clone_from(&own.fallbacks);
        setup.model_retries = own.model_retries;
        setup.settings.clone_from(&own.settings);
        setup.tool_choice.clone_from(&own.tool_choice);
        setup.instructions.clone_from(&own.instructions);
        setup.order.clone_from(&own.order);
        setup.provided.clone_from(&own.provided);
        setup.prepare.clone_from(&own.prepare);
        setup.unreadable_parts = own.unreadable_parts;
        setup.guards.extend(own.guards.iter().cloned());
        setup.answer_checks.extend(own.answer_checks.iter().cloned());
    }
}

/// The arguments of `hand_over`.
#[derive(Deserialize)]
struct Asked {
    to: String,
}

/// The tool by which a model hands over to another agent of its team.
struct HandOver {
    spec: Arc<ToolSpec>,
    names: Vec<Arc<str>>,
}

impl HandOver {
    /// Creates the tool for the team of `agent`.
    fn new(agent: &Agent) -> Self {
        let own = agent.own_name();
        let members = agent.setup.team.iter();
        let names: Vec<Arc<str>> = members.clone().map(|member| Arc::clone(&member.name)).chain([own]).collect();
        let own = format!("\n- {}: Began the conversation.", names[names.len() - 1]);
        let others = members.map(|member| format!("\n- {}: {}", member.name, member.description));
        let agents: String = others.chain([own]).collect();
        let text = format!(
            "Hands the conversation over to another agent, which goes on at once. It reads the whole conversation, so it needs no \
             summary. The agents are:{agents}"
        );
        let input = Schema::new(json!({
            "type": "object",
            "properties": { "to": { "type": "string", "enum": names, "description": "The agent that goes on." } },
            "required": ["to"],
            "additionalProperties": false
        }));
        let mut spec = ToolSpec::new(HAND_OVER, text, input);
        spec.options.effect = Effect::ReadOnly;
        Self { spec: Arc::new(spec), names }
    }
}

impl ErasedTool for HandOver {
    fn spec(&self) -> &Arc<ToolSpec> {
        &self.spec
    }

    fn prepare<'a>(&'a self, arguments: &'a str, _: &'a Context) -> PrepareFuture<'a> {
        let compiled = CompiledSchema::compile(self.spec.input.neutral()).ok();
        let read = read_valid(arguments, compiled.as_ref()).map_err(CallError::from);
        PrepareFuture::read(read.map(|read| {
            let text = format!("The conversation is with {} now.", read["to"].as_str().unwrap_or_default());
            AcceptedCall::new(false, Box::pin(ready(Output::json(&text).map_err(CallError::from))))
        }))
    }

    fn read_external_output(&self, _: &str) -> Result<Output, CallError> {
        Err(CallError::NotExecuted)
    }
}

impl fmt::Debug for HandOver {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("HandOver").field(&self.names).finish()
    }
}
