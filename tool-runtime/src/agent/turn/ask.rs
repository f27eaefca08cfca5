//! The request to a model, and its answer.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::{FutureExt, StreamExt};

use super::asking::Mailbox;
use crate::agent::{Agent, NextStep, observers};
use crate::message::Message;
use crate::model::{Delta, Model, ModelError, ModelErrorKind, Request, Settings, ToolChoice};
use crate::tool::Failure;
use crate::toolset::{ToolList, Toolset};
use tool_run::message::repair;

/// An event of a turn that was asked for.
pub enum TurnEvent {
    /// The model is asked now, with this.
    Asked(Planned),
    /// The preparation of the turn failed; the model was not asked.
    Unprepared(Failure),
    /// A piece of the turn, or the model's failure.
    Delta(Result<Delta, ModelError>),
}

/// The part of a turn's request that the run has to know.
pub struct Planned {
    pub(super) model: Arc<str>,
    /// The names of the tools that may be called; all, if it is not said.
    pub(super) offered: Option<Vec<String>>,
    pub(super) choice: ToolChoice,
}

/// A turn that is to be asked for.
pub struct Ask {
    pub agent: Agent,
    /// Which of the agent's models.
    pub model: usize,
    /// How long it is left alone before.
    pub wait: Duration,
    pub messages: Arc<Vec<Message>>,
    pub tools: Toolset,
    /// The tools on offer as the agent has them.
    pub list: ToolList,
    /// The tool that ends the run, which is on offer in any case.
    pub until: Option<String>,
    /// The turn for the agent's own preparation, if it has one.
    pub next: Option<NextStep>,
}

/// The request to the model.
struct Plan {
    model: Arc<dyn Model>,
    messages: Arc<Vec<Message>>,
    list: ToolList,
    choice: ToolChoice,
    settings: Settings,
}

impl Ask {
    /// Asks the model, and hands on its answer. A panic is a failure of the model.
    pub async fn pump(mut self: Box<Self>, mailbox: Mailbox) {
        if AssertUnwindSafe(self.ask(&mailbox)).catch_unwind().await.is_err() {
            let error = ModelError::new(ModelErrorKind::Protocol, "the model panicked");
            mailbox.send(TurnEvent::Delta(Err(error))).await;
        }
    }

    async fn ask(&mut self, mailbox: &Mailbox) {
        if !self.wait.is_zero() {
            tokio::time::sleep(self.wait).await;
        }
        let prepared = match self.prepared().await {
            Ok(prepared) => prepared,
            Err(failure) => return mailbox.send(TurnEvent::Unprepared(failure)).await,
        };
        let plan = self.plan(prepared);
        let Plan { model, messages, list, choice, settings } = &plan;
        let planned =
            Planned { model: model.name().into(), offered: offered(&self.tools, list, choice), choice: choice.clone() };
        mailbox.send(TurnEvent::Asked(planned)).await;
        let request = Request::new(messages, list).with_choice(choice).with_settings(settings);
        let mut stream = observers::chat(&self.agent, &**model, request);
        while let Some(delta) = stream.next().await {
            let is_last = matches!(delta, Err(_) | Ok(Delta::Finish(_)));
            mailbox.send(TurnEvent::Delta(delta)).await;
            if is_last {
                return;
            }
        }
    }

    /// Returns the application's decisions about this turn, if it makes any.
    async fn prepared(&mut self) -> Result<Option<NextStep>, Failure> {
        let (Some(prepare), Some(next)) = (&self.agent.setup.prepare, self.next.take()) else { return Ok(None) };
        // The closure may panic itself, not only its future.
        let prepared = async { prepare(next).await };
        match AssertUnwindSafe(prepared).catch_unwind().await {
            Ok(prepared) => prepared.map(Some),
            Err(_) => Err(Failure::new("what prepares the step panicked")),
        }
    }

    /// Returns the model that is asked: the agent's own, or one of its fallbacks.
    fn model_of<'a>(&self, agent: &'a Agent) -> &'a Arc<dyn Model> {
        let fallback = self.model.checked_sub(1).and_then(|at| agent.setup.fallbacks.get(at));
        fallback.unwrap_or(&agent.setup.model)
    }

    fn plan(&self, prepared: Option<NextStep>) -> Plan {
        let agent = &self.agent;
        let setup = &agent.setup;
        let mut plan = Plan {
            model: Arc::clone(self.model_of(agent)),
            messages: Arc::clone(&self.messages),
            list: self.list.clone(),
            choice: agent.setup.tool_choice.clone(),
            settings: agent.setup.settings.clone(),
        };
        let Some(step) = prepared else {
            if let Some(prune) = &setup.prune {
                plan.messages = Arc::new(prune.apply(&self.messages));
            }
            return plan;
        };
        // A model that failed is not asked again because it was set for the step.
        plan.model = step.model.filter(|_| self.model == 0).unwrap_or(plan.model);
        plan.choice = step.choice.unwrap_or(plan.choice);
        plan.settings = step.settings.unwrap_or(plan.settings);
        if step.tools.is_some() || step.order.is_some() || step.provided.is_some() {
            let active = step.tools.as_deref().or(setup.active.as_deref());
            let order = step.order.as_deref().unwrap_or(&setup.order);
            let provided = step.provided.as_deref().unwrap_or(&setup.provided);
            plan.list = listed(&self.tools, active, order, self.until.as_deref(), provided);
        }
        let own = step.messages.map(|messages| repair(messages).0);
        if own.is_none() && step.instructions.is_none() && setup.prune.is_none() {
            return plan;
        }
        let pruned = || setup.prune.map_or_else(|| self.messages.to_vec(), |prune| prune.apply(&self.messages));
        let mut messages = own.unwrap_or_else(pruned);
        if let Some(text) = step.instructions {
            let has_own =
                agent.setup.instructions.is_some() && matches!(messages.first(), Some(Message::System { .. }));
            messages.splice(0..usize::from(has_own), [Message::system(text)]);
        }
        plan.messages = Arc::new(messages);
        plan
    }
}

/// The tools on offer: those in `active` and the one that ends the run, those in `order` first.
pub fn listed(
    tools: &Toolset,
    active: Option<&[String]>,
    order: &[String],
    until: Option<&str>,
    provided: &[crate::toolset::ProviderTool],
) -> ToolList {
    if active.is_none() && order.is_empty() && provided.is_empty() {
        return tools.list().clone();
    }
    let is_on =
        |name: &str| Some(name) == until || active.is_none_or(|active| active.iter().any(|active| active == name));
    let on = tools.iter().filter(|tool| is_on(tool.name()));
    let mut specs: Vec<_> = on.map(|tool| Arc::clone(tool.spec())).collect();
    // Stable: the others keep their order.
    specs.sort_by_key(|spec| order.iter().position(|name| *name == spec.name).unwrap_or(usize::MAX));
    ToolList::with_provided(specs, provided.to_vec())
}

/// The names of the tools that the model may call, unless it may call all.
fn offered(tools: &Toolset, list: &ToolList, choice: &ToolChoice) -> Option<Vec<String>> {
    let all = || list.specs().iter().map(|spec| spec.name.clone());
    match choice {
        ToolChoice::None => Some(Vec::new()),
        ToolChoice::Tool(only) => Some(all().filter(|name| name == only).collect()),
        ToolChoice::Auto | ToolChoice::Required => (list.specs().len() < tools.len()).then(|| all().collect()),
    }
}
