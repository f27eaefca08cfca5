//! The application's preparation of each turn of the model.

use std::{fmt, sync::Arc};

use futures_util::future::BoxFuture;

use crate::agent::Agent;
use crate::message::{Message, Part};
use crate::model::{Model, ModelSettings, ToolChoice, Usage};
use crate::run::Run;
use crate::tool::{Context, Failure};
use crate::toolset::ProviderTool;
use tool_run::run::TurnUsage;

pub type Prepare = dyn Fn(NextStep) -> BoxFuture<'static, Result<NextStep, Failure>> + Send + Sync;

/// The next turn of the model: its data, and its settings, which can be changed for this turn alone.
///
/// Unchanged settings are those of the agent. Each getter returns the present value, with the changes of this step's earlier
/// functions. See [`Agent::prepare_step`](crate::Agent::prepare_step).
#[derive(Clone)]
pub struct NextStep {
    agent: Agent,
    /// The index of the agent's model that is asked, unless the step has a model of its own.
    agent_model: usize,
    number: usize,
    failures: usize,
    /// The conversation, after the agent's instructions if it has any.
    conversation: Arc<Vec<Message>>,
    /// The last prompt of a person.
    prompt: Vec<Part>,
    usage: Usage,
    turns: Vec<TurnUsage>,
    taint: Vec<String>,
    model: Option<Arc<dyn Model>>,
    tools: Option<Vec<String>>,
    order: Option<Vec<String>>,
    provided: Option<Vec<ProviderTool>>,
    choice: Option<ToolChoice>,
    settings: Option<ModelSettings>,
    instructions: Option<String>,
    pub(in crate::agent) messages: Option<Vec<Message>>,
    /// The reasons for the changes of the messages, in their order.
    pub(in crate::agent) reasons: Vec<String>,
}

impl NextStep {
    /// Creates the next turn of `run`, which failed `failures` times before. `agent` asks its model number `model`.
    pub(in crate::agent) fn new(
        agent: &Agent,
        run: &Run,
        failures: usize,
        model: usize,
        conversation: Arc<Vec<Message>>,
    ) -> Self {
        Self {
            agent: agent.clone(),
            agent_model: model,
            number: run.steps() as usize,
            failures,
            conversation,
            prompt: last_prompt(run).to_vec(),
            usage: run.usage(),
            turns: run.turn_usages().to_vec(),
            taint: run.taint().to_vec(),
            model: None,
            tools: None,
            order: None,
            provided: None,
            choice: None,
            settings: None,
            instructions: None,
            messages: None,
            reasons: Vec::new(),
        }
    }

    /// Returns the number of the step since the run was prompted or continued, from 1.
    pub fn number(&self) -> usize {
        self.number
    }

    /// Returns the context of the run: the principal, its claims and the values of the application ([`Agent::context`]).
    ///
    /// [`Agent::context`]: crate::Agent::context
    pub fn context(&self) -> &Context {
        &self.agent.setup.context
    }

    /// Returns the number of failures of this turn so far, with this model and others.
    pub fn failures(&self) -> usize {
        self.failures
    }

    /// Returns the messages for the model, without the instructions: those of [`NextStep::set_messages`], or else the
    /// conversation so far.
    pub fn messages(&self) -> &[Message] {
        self.messages.as_deref().unwrap_or_else(|| self.original_messages())
    }

    /// Returns the conversation so far, without the instructions: the turns, their calls and the answers. No function of this
    /// step has changed it.
    pub fn original_messages(&self) -> &[Message] {
        &self.conversation[usize::from(self.agent.setup.instructions.is_some())..]
    }

    /// Returns the prompt that is answered: the last one that neither steers the run nor is the runtime's correction of a refused
    /// answer. In a conversation from another source, it is the last message of the user.
    ///
    /// ```
    /// # use tool_runtime::{Agent, model::{ScriptedModel, Turn}};
    /// let agent = Agent::new(ScriptedModel::new([Turn::say("Hello.")])).prepare_step(|step| {
    ///     let is_long = step.prompt().iter().filter_map(|part| part.as_text()).any(|text| text.len() > 1000);
    ///     if is_long {
    ///         step.more_instructions("Answer each question of the text.");
    ///     }
    /// });
    /// # let _ = agent;
    /// ```
    pub fn prompt(&self) -> &[Part] {
        &self.prompt
    }

    /// Returns the prompts after the last turn in [`NextStep::messages`]: the prompt before the first turn, and messages that
    /// steer the run ([`Session::steering`](crate::agent::Session::steering)).
    pub fn new_prompts(&self) -> impl Iterator<Item = &[Part]> {
        let since = self.messages().iter().rposition(|message| !matches!(message, Message::User { .. }));
        self.messages()[since.map_or(0, |at| at + 1)..].iter().filter_map(|message| match message {
            Message::User { content } => Some(&content[..]),
            _ => None,
        })
    }

    /// Returns the instructions for the model.
    ///
    /// ```
    /// # use tool_runtime::{Agent, model::{ScriptedModel, Turn}};
    /// let agent = Agent::new(ScriptedModel::new([Turn::say("Hello.")])).instructions("Be kind.").prepare_step(|step| {
    ///     assert_eq!(step.instructions(), Some("Be kind."));
    /// });
    /// # let _ = agent;
    /// ```
    pub fn instructions(&self) -> Option<&str> {
        self.instructions.as_deref().or(self.agent.setup.instructions.as_deref())
    }

    /// Returns whether the step has other tools than the agent.
    pub(in crate::agent) fn changes_tools(&self) -> bool {
        self.tools.is_some() || self.order.is_some() || self.provided.is_some()
    }

    /// Returns whether the step has other messages or instructions than the run.
    pub(in crate::agent) fn changes_messages(&self) -> bool {
        self.messages.is_some() || self.instructions.is_some()
    }

    /// Returns whether the step has a tool choice of its own.
    pub(in crate::agent) fn changes_choice(&self) -> bool {
        self.choice.is_some()
    }

    /// Returns the model that is asked.
    pub fn model(&self) -> &Arc<dyn Model> {
        // If the model that was set for the step failed, it is not asked again.
        let own = self.model.as_ref().filter(|_| self.agent_model == 0);
        own.unwrap_or_else(|| self.agent.setup.model_at(self.agent_model))
    }

    /// Returns the names of the tools on offer, or `None` for all tools.
    pub fn tools(&self) -> Option<&[String]> {
        self.tools.as_deref().or(self.agent.setup.active.as_deref())
    }

    /// Returns the names of the tools that come first.
    pub fn tool_order(&self) -> &[String] {
        self.order.as_deref().unwrap_or(&self.agent.setup.order)
    }

    /// Returns the tools of providers on offer.
    pub fn provider_tools(&self) -> &[ProviderTool] {
        self.provided.as_deref().unwrap_or(&self.agent.setup.provided)
    }

    /// Returns whether the model may, must or must not call a tool.
    pub fn tool_choice(&self) -> &ToolChoice {
        self.choice.as_ref().unwrap_or(&self.agent.setup.tool_choice)
    }

    /// Returns the sampling and size settings.
    pub fn model_settings(&self) -> &ModelSettings {
        self.settings.as_ref().unwrap_or(&self.agent.setup.settings)
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
        self.settings.get_or_insert_with(|| self.agent.setup.settings.clone())
    }

    /// Sets the instructions, in place of the agent's.
    pub fn set_instructions(&mut self, text: impl Into<String>) -> &mut Self {
        self.instructions = Some(text.into());
        self
    }

    /// Adds a paragraph to the instructions, like [`Agent::more_instructions`](crate::Agent::more_instructions).
    pub fn more_instructions(&mut self, text: impl Into<String>) -> &mut Self {
        let text = text.into();
        let all = match self.instructions() {
            Some(before) => format!("{before}\n\n{text}"),
            None => text,
        };
        self.set_instructions(all)
    }

    /// Shows the model these messages in place of the run's conversation, for `reason`, which the observer receives
    /// ([`Event::HistoryChanged`](super::Event::HistoryChanged)). The instructions come before them. [`NextStep::set_instructions`] changes
    /// those. Calls without an answer, and answers without a call, are repaired as by
    /// [`message::repair`](tool_run::message::repair). The run itself does not change.
    ///
    /// ```
    /// # use tool_runtime::{Agent, model::{ScriptedModel, Turn}};
    /// let agent = Agent::new(ScriptedModel::new([Turn::say("Hello.")])).prepare_step(|step| {
    ///     let last_five = step.messages().len().saturating_sub(5);
    ///     step.set_messages(step.messages()[last_five..].to_vec(), "only the last five");
    /// });
    /// # let _ = agent;
    /// ```
    pub fn set_messages(&mut self, messages: Vec<Message>, reason: impl Into<String>) -> &mut Self {
        self.messages = Some(messages);
        self.reasons.push(reason.into());
        self
    }
}

/// Returns the content of the last prompt of a person in `run`.
fn last_prompt(run: &Run) -> &[Part] {
    let prompt = run.prompts().iter().rfind(|prompt| !prompt.steers && !prompt.corrects);
    let at = match prompt {
        Some(prompt) => Some(prompt.at as usize),
        None => {
            let earlier = run.prompts().first().map_or(run.messages().len(), |prompt| prompt.at as usize);
            run.messages().iter().take(earlier).rposition(|message| matches!(message, Message::User { .. }))
        }
    };
    match at.and_then(|at| run.messages().get(at)) {
        Some(Message::User { content }) => content,
        _ => &[],
    }
}

impl fmt::Debug for NextStep {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("NextStep")
            .field("number", &self.number)
            .field("failures", &self.failures)
            .field("model", &self.model().name())
            .field("tools", &self.tools())
            .field("choice", &self.tool_choice())
            .finish_non_exhaustive()
    }
}
