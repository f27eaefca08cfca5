//! A team: agents that share one conversation. One of them acts, and hands over to another.

use std::{fmt, sync::Arc};

use futures_util::future::ready;
use serde::Deserialize;
use serde_json::json;

use super::{Agent, AgentError, Guard, Session, settings::Setup};
use crate::run::{CallId, Principal, Refusal, Run, RunId};
use crate::schema::{CompiledSchema, Schema};
use crate::tool::{AcceptedCall, CallError, Context, Effect, ErasedTool, Output, PrepareFuture, ToolSpec, read_valid};
use crate::toolset::{Toolset, ToolsetError};
use tool_run::run::{Handover, LogInput};

/// The name of the tool by which a model hands over.
pub const HAND_OVER: &str = "hand_over";

/// The name of a run's own agent in a team, if it has no other.
const OWN_NAME: &str = "main";

/// The agents that share a conversation.
#[derive(Clone)]
pub struct Team {
    /// The name of the agent with the team.
    own_name: Arc<str>,
    /// The tools of that agent.
    own: Toolset,
    members: Vec<Member>,
}

/// Another agent of a team.
#[derive(Clone)]
struct Member {
    name: Arc<str>,
    description: Arc<str>,
    agent: Agent,
}

/// The agent whose model goes on.
pub struct Acting {
    /// The agent with the team, with the voice of the one that acts.
    pub agent: Agent,
    /// The tools of the agent that acts.
    pub tools: Toolset,
    /// The guards that only the agent that acts has.
    pub guards: Vec<Guard>,
}

impl Agent {
    /// Adds another agent to which this one can hand over the conversation, and which can hand it back. Each model of the team gets a
    /// tool called `hand_over`, whose argument `to` is the name of an agent. After such a call, the other agent's model goes on at
    /// once. The application hands over by [`Session::hand_over`] and [`Agent::hand_over`]. The name of this agent in the team is the one
    /// that it has now ([`Agent::name`]), or else `main`.
    ///
    /// The run's log has who acts ([`Run::acting_agent`]), so this holds for later prompts, after a restart, and in another process.
    /// The observer receives [`Event::HandedOver`](super::Event::HandedOver).
    ///
    /// - **Of the agent that acts**: the instructions, the model with its settings and fallbacks, the tools, the choice of tools, the
    ///   functions of [`Agent::prepare_step`]. These decide what it sees of the conversation.
    /// - **Of both**: the policies and the guards. A policy of `agent` judges the calls of its tools, and those of this agent judge all
    ///   calls. If this agent names no deciders for a call, `agent` does.
    /// - **Of this agent**: everything else, such as the limits, budgets, hooks, the context, the store and the final tools. Its external
    ///   tools, such as those of a page, are there for each agent of the team.
    ///
    /// Tools that are set later ([`Agent::tools`]) replace this agent's own ones. Those with the name of another agent's tool are left out.
    ///
    /// Fails if a tool is called `hand_over`, if a tool of `agent` has the name of another tool of the team and is not the same, or if two
    /// agents have one name. Fails if `agent` has a team itself, or a function for callers ([`Agent::for_each_caller`]): make the team in that of this agent.
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
        if agent.asks_for_callers() {
            return Err(ToolsetError::MadeForCallers { agent: name.to_string() });
        }
        if agent.setup.team.is_some() {
            return Err(ToolsetError::HasTeam { agent: name.to_string() });
        }
        let mut team = match self.setup.team.as_deref() {
            Some(team) => team.clone(),
            None => Team {
                own_name: self.stored_name().unwrap_or_else(|| OWN_NAME.into()),
                own: self.toolset().clone(),
                members: Vec::new(),
            },
        };
        let is_taken = |tool: &Arc<dyn ErasedTool>| {
            let known = team.find(tool.name());
            tool.name() == HAND_OVER || known.is_some_and(|known| !Arc::ptr_eq(known, tool))
        };
        let taken = agent.toolset().iter().chain(team.own.get(HAND_OVER)).find(|tool| is_taken(tool));
        if let Some(tool) = taken {
            return Err(ToolsetError::DuplicateName { name: tool.name().to_owned() });
        }
        if team.member(&name).is_some() || name == team.own_name {
            return Err(ToolsetError::DuplicateName { name: name.to_string() });
        }
        let gate = self.setup.gate.with_rules_of(&agent.setup.gate);
        team.members.push(Member { name, description: description.into(), agent });
        let setup = self.setup_mut();
        setup.gate = gate.with_tools(team.tools());
        setup.team = Some(Arc::new(team));
        Ok(self)
    }

    /// Lets the agent `to` go on in the run `id`, on behalf of `by`. The run must be at rest. Without `to`, the run's own agent goes on.
    ///
    /// Fails if the team has no such agent, the run does not exist or is busy, or `by` is not its owner.
    pub async fn hand_over(&self, id: &RunId, to: Option<&str>, by: impl Into<Principal>) -> Result<Run, AgentError> {
        let by = by.into();
        let to = match to {
            Some(to) => self.of_owner(&self.load(id).await?).await?.find_in_team(to)?,
            None => None,
        };
        self.change(id, || LogInput::HandOver { to: to.clone(), by: by.clone(), at: self.now() }).await
    }

    /// Replaces the agent's own tools in its team. Returns the tools of all, or `tools` without a team.
    pub(super) fn set_own_tools(&mut self, tools: Toolset) -> Toolset {
        let Some(team) = self.setup.team.as_deref() else { return tools };
        let is_own = |spec: &ToolSpec| {
            let same = |other: &Toolset| {
                other.get(&spec.name).zip(tools.get(&spec.name)).is_some_and(|(a, b)| Arc::ptr_eq(a, b))
            };
            let is_of_member = team.members.iter().any(|member| same(member.agent.toolset()));
            spec.name != HAND_OVER && (!is_of_member || same(&team.own))
        };
        let team = Team { own: tools.filter(is_own), ..team.clone() };
        let all = team.tools();
        self.setup_mut().team = Some(Arc::new(team));
        all
    }

    /// Removes the other agents of the team, and their tools.
    pub(super) fn without_team(&mut self) {
        if let Some(team) = self.setup_mut().team.take() {
            let setup = self.setup_mut();
            setup.gate = setup.gate.with_tools(team.own.clone());
        }
    }

    /// Returns the agent whose model goes on in `run`. Returns `None` if the team does not have that one.
    pub(super) fn acting_in(&self, run: &Run) -> Option<Acting> {
        let own = Acting { agent: self.clone(), tools: self.toolset().clone(), guards: Vec::new() };
        let Some(team) = self.setup.team.as_deref() else { return run.acting_agent().is_none().then_some(own) };
        let member = match run.acting_agent() {
            Some(name) => Some(team.member(name)?),
            None => None,
        };
        // Every agent can hand over. An external tool is one of the page, and a final tool gives the answer, whoever acts.
        let is_shared = |tool: &ToolSpec| {
            let is_common = || tool.options.external && is_active(self, &tool.name) || run.is_final(&tool.name);
            tool.name == HAND_OVER || member.is_some() && team.own.get(&tool.name).is_some() && is_common()
        };
        let of_acting = member.map_or(&team.own, |member| member.agent.toolset());
        let tools = self.toolset().filter(|tool| is_shared(tool) || of_acting.get(&tool.name).is_some());
        let mut acting = Acting { tools, ..own };
        let setup = acting.agent.setup_mut();
        if let Some(member) = member {
            member.lend_voice(setup);
            acting.guards.clone_from(&member.agent.setup.guards);
        }
        if let Some(active) = &setup.active {
            let shared = acting.tools.iter().filter(|tool| is_shared(tool.spec())).map(|tool| tool.name().to_owned());
            setup.active = Some(active.iter().cloned().chain(shared).collect());
        }
        Some(acting)
    }

    /// Returns the reason why this agent cannot go on with `run`, if another acts that its team does not have.
    pub(super) fn missing_member(&self, run: &Run) -> Option<String> {
        let has = |name: &str| self.setup.team.as_deref().is_some_and(|team| team.member(name).is_some());
        let name = run.acting_agent().filter(|name| !has(name))?;
        Some(format!("the agent `{name}` acts in it, which this agent's team does not have (`Agent::hands_over_to`)"))
    }

    /// Returns the handover for which the call asks, if it is one.
    pub(super) fn handover_of(&self, run: &Run, call: &CallId) -> Option<Handover> {
        self.setup.team.as_ref()?;
        let call = run.call(call).filter(|call| call.name == HAND_OVER)?;
        let Asked { to } = serde_json::from_str(&call.arguments().text).ok()?;
        self.find_in_team(&to).ok().map(|to| Handover { to })
    }

    /// Returns the name of an agent of the team as runs have it.
    fn find_in_team(&self, name: &str) -> Result<Option<Arc<str>>, AgentError> {
        let team = self.setup.team.as_deref();
        match team.and_then(|team| team.member(name)) {
            Some(member) => Ok(Some(Arc::clone(&member.name))),
            None if team.is_some_and(|team| *team.own_name == *name) => Ok(None),
            None => Err(Refusal::NoSuchAgent { name: name.to_owned() }.into()),
        }
    }
}

impl Session {
    /// Lets the agent `to` of the team go on ([`Agent::hands_over_to`]): it answers the next prompt. Without `to`, the run's own agent
    /// does.
    ///
    /// Fails if the team has no such agent, the run is busy, or it cannot be stored.
    pub async fn hand_over(&mut self, to: Option<&str>) -> Result<(), AgentError> {
        self.ask_for_caller().await?;
        let to = to.map(|to| self.agent.find_in_team(to)).transpose()?.flatten();
        let (by, at) = (self.agent.owner(), self.agent.now());
        self.change_at_rest(LogInput::HandOver { to, by, at }).await
    }
}

fn is_active(agent: &Agent, name: &str) -> bool {
    agent.setup.active.as_ref().is_none_or(|active| active.iter().any(|known| known == name))
}

impl Team {
    fn member(&self, name: &str) -> Option<&Member> {
        self.members.iter().find(|member| *member.name == *name)
    }

    /// Returns the tool `name` of any agent.
    fn find(&self, name: &str) -> Option<&Arc<dyn ErasedTool>> {
        self.own.get(name).or_else(|| self.members.iter().find_map(|member| member.agent.toolset().get(name)))
    }

    /// Returns the tools of all agents, and the one to hand over. Where names clash, those of the members count.
    fn tools(&self) -> Toolset {
        let of_members: Vec<Arc<dyn ErasedTool>> =
            self.members.iter().flat_map(|member| member.agent.toolset().iter().cloned()).collect();
        let clashes = |spec: &ToolSpec| {
            let of_member = of_members.iter().find(|tool| tool.name() == spec.name);
            of_member.zip(self.own.get(&spec.name)).is_some_and(|(a, b)| !Arc::ptr_eq(a, b))
        };
        let own = self.own.filter(|spec| !clashes(spec));
        own.with_client_tools(&of_members).with_client_tools(&[Arc::new(HandOver::new(self)) as Arc<dyn ErasedTool>])
    }
}

impl Member {
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
        setup.active.clone_from(&own.active);
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
    fn new(Team { own_name, members, .. }: &Team) -> Self {
        let of_members = members.iter().map(|member| Arc::clone(&member.name));
        let names: Vec<Arc<str>> = of_members.chain([Arc::clone(own_name)]).collect();
        let own = format!("\n- {own_name}: Began the conversation.");
        let others = members.iter().map(|member| format!("\n- {}: {}", member.name, member.description));
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
