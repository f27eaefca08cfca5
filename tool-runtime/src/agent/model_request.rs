//! The request of one turn: the application's preparation, the tools on offer, and the messages.

use std::{
    collections::{HashMap, HashSet},
    future::poll_fn,
    panic::AssertUnwindSafe,
    sync::{Arc, Mutex},
    task::Poll,
    time::Duration,
};

use futures_util::{FutureExt, StreamExt};

use crate::agent::team::HAND_OVER;
use crate::agent::{
    Agent, NextStep, observers,
    unreadable::{DescribedParts, Place, describe_parts, places_of_media},
};
use crate::message::Message;
use crate::model::{Delta, Model, ModelError, ModelErrorKind, ModelSettings, Request, ToolChoice};
use crate::sync::lock;
use crate::tool::{Failure, ToolSpec};
use crate::toolset::{ToolList, Toolset};
use tool_run::message::repair;

/// A mailbox between the model's stream and its reader, which are in one task. It holds one event, so that a model that never
/// pauses cannot fill the memory.
#[derive(Clone, Default)]
pub struct Mailbox(Arc<Mutex<Option<TurnEvent>>>);

impl Mailbox {
    /// Sends an event, and waits until it is received.
    pub async fn send(&self, event: TurnEvent) {
        *lock(&self.0) = Some(event);
        // The reader polls again after it has received the event, so no waker is necessary.
        poll_fn(|_| if lock(&self.0).is_none() { Poll::Ready(()) } else { Poll::Pending }).await;
    }

    pub fn receive(&self) -> Option<TurnEvent> {
        lock(&self.0).take()
    }
}

pub enum TurnEvent {
    /// The request to the model begins now.
    Asked(TurnPlan),
    /// The preparation of the turn failed; the model was not asked.
    Unprepared(Failure),
    /// A delta of the turn, or the model's failure.
    Delta(Result<Delta, ModelError>),
}

/// The data of a turn's request that the run needs.
pub struct TurnPlan {
    pub(super) model: Arc<str>,
    /// The names of the tools that may be called; all tools if `None`.
    pub(super) offered: Option<Vec<String>>,
    pub(super) choice: ToolChoice,
    /// The parts that the model cannot take.
    pub(super) described: DescribedParts,
    /// The reasons for the changes of the messages.
    pub(super) reasons: Vec<String>,
}

/// A turn for which the model has not been asked yet.
pub struct PendingTurn {
    pub agent: Agent,
    /// The index of the model among the agent's models.
    pub model: usize,
    /// The wait before the request.
    pub wait: Duration,
    pub messages: Arc<Vec<Message>>,
    /// The places of the parts of `messages` that are no text.
    pub media: Vec<Place>,
    pub tools: Toolset,
    /// The tools on offer, in the agent's order.
    pub list: ToolList,
    /// The tools that end the run, which are always on offer.
    pub until: Vec<Arc<str>>,
    /// The tool whose arguments are the typed answer.
    pub answer_tool: Option<&'static str>,
    /// The input of the functions of [`Agent::prepare_step`], if there are any.
    pub next: Option<NextStep>,
}

/// The request to the model.
struct ModelRequest {
    model: Arc<dyn Model>,
    messages: Arc<Vec<Message>>,
    list: ToolList,
    choice: ToolChoice,
    settings: ModelSettings,
}

impl ModelRequest {
    /// Requires a call if the model is free to choose, and nothing but the answer can be called.
    fn require_final(&mut self, tools: &Toolset, until: &[Arc<str>]) {
        let is_final = |spec: &Arc<ToolSpec>| until.iter().any(|tool| **tool == *tools.own_name(&spec.name));
        let specs = self.list.specs();
        // Another agent can give the answer, too.
        let has_only_final =
            self.list.provided().is_empty() && specs.iter().all(|spec| is_final(spec) || spec.name == HAND_OVER);
        if self.choice == ToolChoice::Auto && has_only_final && specs.iter().any(is_final) {
            self.choice = ToolChoice::Required;
        }
    }
}

impl PendingTurn {
    /// Asks the model, and passes its answer to the mailbox. A panic counts as a failure of the model.
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
        let mut prepared = match self.change_step().await {
            Ok(prepared) => prepared,
            Err(failure) => return mailbox.send(TurnEvent::Unprepared(failure)).await,
        };
        let reasons = prepared.as_mut().map(|step| std::mem::take(&mut step.reasons)).unwrap_or_default();
        let mut request = self.build_request(prepared);
        let unreadable_parts = self.agent.setup.unreadable_parts;
        if !Arc::ptr_eq(&request.messages, &self.messages) {
            self.media = places_of_media(&request.messages, 0).collect();
        }
        let media = std::mem::take(&mut self.media);
        let described = match describe_parts(&*request.model, &mut request.messages, media, unreadable_parts) {
            Ok(described) => described,
            Err(error) => return mailbox.send(TurnEvent::Delta(Err(error))).await,
        };
        let ModelRequest { model, messages, list, choice, settings } = &request;
        let plan = TurnPlan {
            model: model.name().into(),
            offered: offered_names(&self.tools, list, choice),
            choice: choice.clone(),
            described,
            reasons,
        };
        mailbox.send(TurnEvent::Asked(plan)).await;
        let choice = choice.as_offered();
        let mut request = Request::new(messages, list).with_choice(&choice).with_settings(settings);
        request.answer_tool = self.answer_tool;
        let mut stream = observers::chat(&self.agent, &**model, request);
        while let Some(delta) = stream.next().await {
            let is_last = matches!(delta, Err(_) | Ok(Delta::Finish(_)));
            mailbox.send(TurnEvent::Delta(delta)).await;
            if is_last {
                return;
            }
        }
    }

    /// Calls the functions of [`Agent::prepare_step`] in order. Returns the settings of the step, or `None` without a function.
    async fn change_step(&mut self) -> Result<Option<NextStep>, Failure> {
        let Some(mut next) = self.next.take() else { return Ok(None) };
        // A closure itself may panic, not only its future.
        let prepared = async {
            for prepare in &self.agent.setup.prepare {
                next = prepare(next).await?;
            }
            Ok(Some(next))
        };
        match AssertUnwindSafe(prepared).catch_unwind().await {
            Ok(prepared) => prepared,
            Err(_) => Err(Failure::new("the preparation of the step panicked")),
        }
    }

    fn build_request(&self, prepared: Option<NextStep>) -> ModelRequest {
        let setup = &self.agent.setup;
        let mut request = ModelRequest {
            model: Arc::clone(setup.model_at(self.model)),
            messages: Arc::clone(&self.messages),
            list: self.list.clone(),
            choice: setup.tool_choice.clone(),
            settings: setup.settings.clone(),
        };
        let Some(mut step) = prepared else {
            request.require_final(&self.tools, &self.until);
            return request;
        };
        request.model = Arc::clone(step.model());
        request.choice = step.tool_choice().clone();
        request.settings = step.model_settings().clone();
        if step.changes_tools() {
            let (active, until) = (step.tools(), &self.until);
            request.list = tools_on_offer(&self.tools, active, step.tool_order(), until, step.provider_tools());
        }
        if !step.changes_choice() {
            request.require_final(&self.tools, &self.until);
        }
        if !step.changes_messages() {
            return request;
        }
        let messages = match step.messages.take() {
            Some(own) => repair(own).0,
            None => step.original_messages().to_vec(),
        };
        let instructions = step.instructions().map(Message::system);
        request.messages = Arc::new(instructions.into_iter().chain(messages).collect());
        request
    }
}

/// Returns the tools on offer: those in `active` and those that end the run, with those in `order` first.
pub fn tools_on_offer(
    tools: &Toolset,
    active: Option<&[String]>,
    order: &[String],
    until: &[Arc<str>],
    provided: &[crate::toolset::ProviderTool],
) -> ToolList {
    if active.is_none() && order.is_empty() && provided.is_empty() {
        return tools.list().clone();
    }
    let active: Option<HashSet<&str>> = active.map(|active| active.iter().map(String::as_str).collect());
    let is_final = |name: &str| until.iter().any(|tool| **tool == *name);
    let is_on = |name: &str| is_final(name) || active.as_ref().is_none_or(|active| active.contains(name));
    let on = tools.iter().filter(|tool| is_on(tool.name()));
    let mut specs: Vec<_> = on.map(|tool| Arc::clone(tool.spec())).collect();
    // The first place of a name counts.
    let places: HashMap<&str, usize> = order.iter().enumerate().rev().map(|(at, name)| (name.as_str(), at)).collect();
    // The sort is stable, so the others keep their order.
    specs.sort_by_key(|spec| places.get(spec.name.as_str()).copied().unwrap_or(usize::MAX));
    ToolList::with_provided(specs, provided.to_vec())
}

/// Returns the names of the tools that the model may call, or `None` if it may call all.
fn offered_names(tools: &Toolset, list: &ToolList, choice: &ToolChoice) -> Option<Vec<String>> {
    let all = || list.specs().iter().map(|spec| tools.own_name(&spec.name).to_owned());
    match choice {
        ToolChoice::None => Some(Vec::new()),
        ToolChoice::Tool(only) => Some(all().filter(|name| name == only).collect()),
        ToolChoice::Auto | ToolChoice::Required => (list.specs().len() < tools.len()).then(|| all().collect()),
    }
}
