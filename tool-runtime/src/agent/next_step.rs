//! The application's preparation of each turn of the model.

use std::{fmt, sync::Arc};

use futures_util::future::BoxFuture;

use crate::message::{Message, Part};
use crate::model::{Model, ModelSettings, ToolChoice, Usage};
use crate::run::Run;
use crate::tool::Failure;
use crate::toolset::ProviderTool;
use tool_run::run::TurnUsage;

pub type Prepare = dyn Fn(NextStep) -> BoxFuture<'static, Result<NextStep, Failure>> + Send + Sync;

/// The next turn of the model: its data, and its settings, which can be changed for this turn alone.
///
/// Unchanged settings are those of the agent. See [`Agent::prepare_step`](crate::Agent::prepare_step).
#[derive(Clone)]
pub struct NextStep {
    number: usize,
    failures: usize,
    messages_so_far: Arc<Vec<Message>>,
    usage: Usage,
    turns: Vec<TurnUsage>,
    taint: Vec<String>,
    agent_settings: ModelSettings,
    pub(in crate::agent) model: Option<Arc<dyn Model>>,
    pub(in crate::agent) tools: Option<Vec<String>>,
    pub(in crate::agent) order: Option<Vec<String>>,
    pub(in crate::agent) provided: Option<Vec<ProviderTool>>,
    pub(in crate::agent) choice: Option<ToolChoice>,
    pub(in crate::agent) settings: Option<ModelSettings>,
    pub(in crate::agent) instructions: Option<String>,
    pub(in crate::agent) messages: Option<Vec<Message>>,
}

impl NextStep {
    /// Creates the next turn of `run`, which failed `failures` times before.
    pub(in crate::agent) fn new(
        run: &Run,
        failures: usize,
        messages: Arc<Vec<Message>>,
        settings: ModelSettings,
    ) -> Self {
        Self {
            number: run.steps() as usize,
            failures,
            messages_so_far: messages,
            usage: run.usage(),
            turns: run.turn_usages().to_vec(),
            taint: run.taint().to_vec(),
            agent_settings: settings,
            model: None,
            tools: None,
            order: None,
            provided: None,
            choice: None,
            settings: None,
            instructions: None,
            messages: None,
        }
    }

    /// Returns the number of the step since the run was prompted or continued, from 1.
    pub fn number(&self) -> usize {
        self.number
    }

    /// Returns the number of failures of this turn so far, with this model and others.
    pub fn failures(&self) -> usize {
        self.failures
    }

    /// Returns the conversation so far: the instructions, the turns, their calls and the answers. Nothing is pruned yet.
    pub fn messages(&self) -> &[Message] {
        &self.messages_so_far
    }

    /// Returns the prompts since the last turn: the prompt before the first turn, and messages that steer the run
    /// ([`Session::steering`](crate::agent::Session::steering)).
    pub fn new_prompts(&self) -> impl Iterator<Item = &[Part]> {
        let since = self.messages().iter().rposition(|message| !matches!(message, Message::User { .. }));
        self.messages()[since.map_or(0, |at| at + 1)..].iter().filter_map(|message| match message {
            Message::User { content } => Some(&content[..]),
            _ => None,
        })
    }

    /// Returns the tokens used since the last prompt.
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// Returns the usage of each turn since the run was last prompted or continued.
    pub fn turn_usages(&self) -> &[TurnUsage] {
        &self.turns
    }

    /// Returns the tools whose untrusted outputs are in the conversation.
    pub fn taint(&self) -> &[String] {
        &self.taint
    }

    /// Sets the model. If it fails, the agent's fallbacks take over.
    pub fn set_model(&mut self, model: Arc<dyn Model>) -> &mut Self {
        self.model = Some(model);
        self
    }

    /// Offers only the tools with these names, in place of [`Agent::active_tools`](crate::Agent::active_tools). The agent
    /// ignores names of tools that it does not have.
    pub fn set_tools<N: Into<String>>(&mut self, names: impl IntoIterator<Item = N>) -> &mut Self {
        self.tools = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// Puts the tools with these names first, in place of [`Agent::tool_order`](crate::Agent::tool_order).
    pub fn set_tool_order<N: Into<String>>(&mut self, names: impl IntoIterator<Item = N>) -> &mut Self {
        self.order = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// Offers only these tools of providers.
    pub fn set_provider_tools(&mut self, tools: impl IntoIterator<Item = ProviderTool>) -> &mut Self {
        self.provided = Some(tools.into_iter().collect());
        self
    }

    /// Sets whether the model may, must or must not call a tool.
    pub fn set_tool_choice(&mut self, choice: ToolChoice) -> &mut Self {
        self.choice = Some(choice);
        self
    }

    /// Returns the sampling and size settings for a change. They begin as the agent's settings.
    pub fn model_settings_mut(&mut self) -> &mut ModelSettings {
        self.settings.get_or_insert_with(|| self.agent_settings.clone())
    }

    /// Sets the instructions, in place of the agent's.
    pub fn set_instructions(&mut self, text: impl Into<String>) -> &mut Self {
        self.instructions = Some(text.into());
        self
    }

    /// Shows the model these messages in place of the run's conversation, without pruning. Calls without an answer, and
    /// answers without a call, are repaired as by [`message::repair`](tool_run::message::repair). The run itself does not
    /// change.
    pub fn set_messages(&mut self, messages: Vec<Message>) -> &mut Self {
        self.messages = Some(messages);
        self
    }
}

impl fmt::Debug for NextStep {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let model = self.model.as_deref().map(Model::name);
        out.debug_struct("NextStep")
            .field("number", &self.number)
            .field("failures", &self.failures)
            .field("model", &model)
            .field("tools", &self.tools)
            .field("choice", &self.choice)
            .finish_non_exhaustive()
    }
}
