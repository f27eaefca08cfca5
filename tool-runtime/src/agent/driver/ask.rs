//! What a model is asked with, and the asking itself.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::{FutureExt, StreamExt};

use super::{asking::Ear, trace};
use crate::agent::{Agent, NextStep, knobs::Known};
use crate::message::{Message, mend};
use crate::model::{Delta, Model, ModelError, ModelErrorKind, Request, Settings, ToolChoice};
use crate::tool::Failure;
use crate::toolset::{ToolList, Toolset};

/// What a driver hears of a turn that it asked for.
pub(super) enum Heard {
    /// The model is asked now, with this.
    Planned(Planned),
    /// What prepares the agent's turns failed; the model was not asked.
    Unprepared(Failure),
    Said(Result<Delta, ModelError>),
}

/// What of a turn's request the run has to know.
pub(super) struct Planned {
    pub(super) model: Arc<str>,
    /// The names of the tools that may be called; all, if it is not said.
    pub(super) offered: Option<Vec<String>>,
    pub(super) choice: ToolChoice,
}

/// A turn that is to be asked for.
pub(super) struct Ask {
    pub(super) agent: Agent,
    /// Which of the agent's models.
    pub(super) model: usize,
    /// How long it is left alone before.
    pub(super) wait: Duration,
    pub(super) messages: Arc<Vec<Message>>,
    pub(super) tools: Toolset,
    /// The tools on offer as the agent has them.
    pub(super) list: ToolList,
    /// The tool that ends the run, which is on offer in any case.
    pub(super) until: Option<String>,
    /// What the agent's own preparation gets to know; nothing, if it has none.
    pub(super) known: Option<Known>,
}

/// What the model is asked with.
struct Plan {
    model: Arc<dyn Model>,
    messages: Arc<Vec<Message>>,
    list: ToolList,
    choice: ToolChoice,
    settings: Settings,
}

impl Ask {
    /// Asks the model, and hands on what it says. A panic is a failure of the model's.
    pub(super) async fn pump(mut self: Box<Self>, ear: Ear) {
        if AssertUnwindSafe(self.ask(&ear)).catch_unwind().await.is_err() {
            let error = ModelError::new(ModelErrorKind::Protocol, "the model panicked");
            ear.say(Heard::Said(Err(error))).await;
        }
    }

    async fn ask(&mut self, ear: &Ear) {
        if !self.wait.is_zero() {
            tokio::time::sleep(self.wait).await;
        }
        let prepared = match self.prepared().await {
            Ok(prepared) => prepared,
            Err(failure) => return ear.say(Heard::Unprepared(failure)).await,
        };
        let plan = self.plan(prepared);
        let Plan { model, messages, list, choice, settings } = &plan;
        let planned =
            Planned { model: model.name().into(), offered: offered(&self.tools, list, choice), choice: choice.clone() };
        ear.say(Heard::Planned(planned)).await;
        let request = Request::new(messages, list).with_choice(choice).with_settings(settings);
        let mut stream = trace::chat(&self.agent, &**model, request);
        while let Some(delta) = stream.next().await {
            let is_last = matches!(delta, Err(_) | Ok(Delta::Finish(_)));
            ear.say(Heard::Said(delta)).await;
            if is_last {
                return;
            }
        }
    }

    /// What the application decides for this turn, where it decides anything.
    async fn prepared(&mut self) -> Result<Option<NextStep>, Failure> {
        let (Some(prepare), Some(known)) = (&self.agent.knobs.prepare, self.known.take()) else { return Ok(None) };
        // The closure may panic itself, not only its future.
        let prepared = async { prepare(NextStep::new(known)).await };
        match AssertUnwindSafe(prepared).catch_unwind().await {
            Ok(prepared) => prepared.map(Some),
            Err(_) => Err(Failure::told("what prepares the step panicked")),
        }
    }

    fn plan(&self, prepared: Option<NextStep>) -> Plan {
        let agent = &self.agent;
        let knobs = &agent.knobs;
        let mut plan = Plan {
            model: Arc::clone(agent.model_at(self.model)),
            messages: Arc::clone(&self.messages),
            list: self.list.clone(),
            choice: agent.tool_choice.clone(),
            settings: agent.settings.clone(),
        };
        let Some(step) = prepared else {
            if let Some(prune) = &knobs.prune {
                plan.messages = Arc::new(prune.apply(&self.messages));
            }
            return plan;
        };
        // A model that failed is not asked again because it was set for the step.
        plan.model = step.model.filter(|_| self.model == 0).unwrap_or(plan.model);
        plan.choice = step.choice.unwrap_or(plan.choice);
        plan.settings = step.settings.unwrap_or(plan.settings);
        if step.tools.is_some() || step.order.is_some() || step.provided.is_some() {
            let active = step.tools.as_deref().or(knobs.active.as_deref());
            let order = step.order.as_deref().unwrap_or(&knobs.order);
            let provided = step.provided.as_deref().unwrap_or(&knobs.provided);
            plan.list = listed(&self.tools, active, order, self.until.as_deref(), provided);
        }
        let own = step.messages.map(|messages| mend(messages).0);
        if own.is_none() && step.instructions.is_none() && knobs.prune.is_none() {
            return plan;
        }
        let pruned = || knobs.prune.map_or_else(|| self.messages.to_vec(), |prune| prune.apply(&self.messages));
        let mut messages = own.unwrap_or_else(pruned);
        if let Some(text) = step.instructions {
            let has_own = agent.instructions.is_some() && matches!(messages.first(), Some(Message::System { .. }));
            messages.splice(0..usize::from(has_own), [Message::system(text)]);
        }
        plan.messages = Arc::new(messages);
        plan
    }
}

/// The tools on offer: those in `active` and the one that ends the run, those in `order` first.
pub(super) fn listed(
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
