//! What is decided anew before each turn of the model.

use std::{fmt, sync::Arc};

use futures_util::future::{BoxFuture, ready};

use super::super::Agent;
use crate::message::{Message, Part};
use crate::model::{Model, Settings, ToolChoice, Usage};
use crate::run::TurnUsage;
use crate::tool::Failure;
use crate::toolset::ProviderTool;

pub(in crate::agent) type Prepare = dyn Fn(NextStep) -> BoxFuture<'static, Result<NextStep, Failure>> + Send + Sync;

/// The turn that a model is about to be asked for: what is known, and what can be changed, for this turn alone.
///
/// What is not changed is as the agent has it. See [`Agent::prepare_step`].
#[derive(Clone)]
pub struct NextStep {
    pub(in crate::agent) known: Known,
    pub(in crate::agent) model: Option<Arc<dyn Model>>,
    pub(in crate::agent) tools: Option<Vec<String>>,
    pub(in crate::agent) order: Option<Vec<String>>,
    pub(in crate::agent) provided: Option<Vec<ProviderTool>>,
    pub(in crate::agent) choice: Option<ToolChoice>,
    pub(in crate::agent) settings: Option<Settings>,
    pub(in crate::agent) instructions: Option<String>,
    pub(in crate::agent) messages: Option<Vec<Message>>,
}

/// What is known of a turn that is about to be asked for.
#[derive(Clone, Debug)]
pub(in crate::agent) struct Known {
    pub(in crate::agent) number: usize,
    pub(in crate::agent) failures: usize,
    pub(in crate::agent) messages: Arc<Vec<Message>>,
    pub(in crate::agent) usage: Usage,
    pub(in crate::agent) turns: Vec<TurnUsage>,
    pub(in crate::agent) taint: Vec<String>,
    pub(in crate::agent) settings: Settings,
}

impl NextStep {
    pub(in crate::agent) fn new(known: Known) -> Self {
        Self {
            known,
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

    /// Which turn since the run was prompted or continued, from 1.
    pub fn number(&self) -> usize {
        self.known.number
    }

    /// How often this turn failed before, with this model and others.
    pub fn failures(&self) -> usize {
        self.known.failures
    }

    /// The conversation so far, with the instructions, before anything is pruned: the steps, their calls and the answers to
    /// them.
    pub fn messages(&self) -> &[Message] {
        &self.known.messages
    }

    /// What somebody said since the last turn: the prompt in front of the first, and what steers the run
    /// ([`Session::steering`](crate::agent::Session::steering)).
    pub fn said(&self) -> impl Iterator<Item = &[Part]> {
        let since = self.messages().iter().rposition(|message| !matches!(message, Message::User { .. }));
        self.messages()[since.map_or(0, |at| at + 1)..].iter().filter_map(|message| match message {
            Message::User { content } => Some(&content[..]),
            _ => None,
        })
    }

    /// Tokens used since the last prompt.
    pub fn usage(&self) -> Usage {
        self.known.usage
    }

    /// What each turn used since the run was last prompted or continued.
    pub fn turns(&self) -> &[TurnUsage] {
        &self.known.turns
    }

    /// Tools whose outputs hold text of strangers, and are in the conversation.
    pub fn taint(&self) -> &[String] {
        &self.known.taint
    }

    /// Asks this model. If it fails, the agent's fallbacks take over.
    pub fn set_model(&mut self, model: Arc<dyn Model>) -> &mut Self {
        self.model = Some(model);
        self
    }

    /// Offers only the tools of these names, whatever [`Agent::active_tools`] says. Names that the agent has no tool for
    /// mean nothing.
    pub fn set_tools<N: Into<String>>(&mut self, names: impl IntoIterator<Item = N>) -> &mut Self {
        self.tools = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// Puts the tools of these names first, whatever [`Agent::tool_order`] says.
    pub fn set_tool_order<N: Into<String>>(&mut self, names: impl IntoIterator<Item = N>) -> &mut Self {
        self.order = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// Offers these tools of providers, and no others.
    pub fn set_provider_tools(&mut self, tools: impl IntoIterator<Item = ProviderTool>) -> &mut Self {
        self.provided = Some(tools.into_iter().collect());
        self
    }

    /// Says whether the model may, must or must not call a tool.
    pub fn set_tool_choice(&mut self, choice: ToolChoice) -> &mut Self {
        self.choice = Some(choice);
        self
    }

    /// Sampling and size, to be changed; at first as the agent has them.
    pub fn settings(&mut self) -> &mut Settings {
        self.settings.get_or_insert_with(|| self.known.settings.clone())
    }

    /// Tells the model this in place of the agent's instructions.
    pub fn set_instructions(&mut self, text: impl Into<String>) -> &mut Self {
        self.instructions = Some(text.into());
        self
    }

    /// Shows the model this conversation in place of the run's, as it is: nothing else is pruned. Calls in it that are not
    /// answered, and answers to no call, are mended as [`message::mend`](crate::message::mend) does. The run itself does not
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
            .field("number", &self.known.number)
            .field("failures", &self.known.failures)
            .field("model", &model)
            .field("tools", &self.tools)
            .field("choice", &self.choice)
            .finish_non_exhaustive()
    }
}

impl Agent {
    /// Lets `prepare` decide before each turn what the model is asked with: which model, which tools in which order, whether
    /// it must call one, what it is told and shown.
    ///
    /// Tools that are not on offer in a step cannot be called in it. If `prepare` panics, the model is not asked: the run
    /// stops as if the model had failed, and can go on.
    ///
    /// ```
    /// use tool_runtime::{Agent, model::{ScriptedModel, ToolChoice, Turn}};
    ///
    /// let agent = Agent::new(ScriptedModel::new([Turn::say("Hello.")])).prepare_step(|step| {
    ///     if step.number() == 1 {
    ///         step.set_tool_choice(ToolChoice::Required);
    ///     } else if step.usage().output_tokens > 20_000 || !step.taint().is_empty() {
    ///         step.set_tools(["summarise"]).set_instructions("Come to an end.");
    ///     }
    /// });
    /// # let _ = agent;
    /// ```
    pub fn prepare_step(self, prepare: impl Fn(&mut NextStep) + Send + Sync + 'static) -> Self {
        self.prepare_with(move |mut step| {
            prepare(&mut step);
            Box::pin(ready(Ok(step)))
        })
    }

    /// The same for what takes its time, or can fail. When it fails, the run stops as if the model had; it is not told why.
    ///
    /// ```
    /// use tool_runtime::{Agent, Failure, agent::NextStep, model::{ScriptedModel, Turn}};
    ///
    /// async fn look_up(user: &str) -> Result<String, Failure> {
    ///     Ok(format!("Be kind to {user}."))
    /// }
    ///
    /// let agent = Agent::new(ScriptedModel::new([Turn::say("Hello.")])).prepare_step_async(|mut step| async move {
    ///     step.set_instructions(look_up("ann").await?);
    ///     Ok(step)
    /// });
    /// # let _: (Agent, Option<NextStep>) = (agent, None);
    /// ```
    pub fn prepare_step_async<F>(self, prepare: impl Fn(NextStep) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<NextStep, Failure>> + Send + 'static,
    {
        self.prepare_with(move |step| Box::pin(prepare(step)))
    }

    fn prepare_with(
        mut self,
        prepare: impl Fn(NextStep) -> BoxFuture<'static, Result<NextStep, Failure>> + Send + Sync + 'static,
    ) -> Self {
        self.knobs.prepare = Some(Arc::new(prepare));
        self
    }
}
