//! A conversation with an agent, and the reply to a prompt.

use std::{
    collections::VecDeque,
    pin::pin,
    sync::{Arc, Mutex},
};

use crate::agent::{
    Agent, AgentError, Handle,
    drive::DriveOptions,
    handle::{Steering, SteeringMessages},
    logged_run::{LoggedRun, can_continue, conversation},
    typed::with_answer,
};
use crate::message::{Message, Part, Repair, ToolCall, Usage};
use crate::run::{Call, CallResult, Decision, Interrupt, InterruptId, Phase, Principal, Prompt, Refusal, Run, RunId};
use crate::tool::{Cancellation, Context, Output};
use tool_run::run::{CallState, LogEntry, LogInput, TurnUsage, WantedAnswer};

/// A conversation with an agent, continued prompt by prompt. It holds a [`Run`], and the agent that drives it.
#[derive(Debug)]
pub struct Session {
    pub(super) agent: Agent,
    pub(super) stored: LoggedRun,
    pub(super) repairs: Vec<Repair>,
    /// A cached copy of the conversation, for checking decisions. Driving the run or changing the agent clears it.
    conversation: Option<Arc<Vec<Message>>>,
}

impl Session {
    /// Creates a session of `run`, whose first `entries` are not stored yet.
    pub(super) fn new(agent: &Agent, run: Run, entries: Vec<LogEntry>) -> Self {
        Self {
            stored: LoggedRun::new(agent, run, entries),
            agent: agent.clone(),
            repairs: Vec::new(),
            conversation: None,
        }
    }

    /// Returns the repairs of the messages with which the session began.
    pub fn repairs(&self) -> &[Repair] {
        &self.repairs
    }

    /// Returns the id of the run, for [`Agent::open`].
    pub fn id(&self) -> &RunId {
        self.stored.run().id()
    }

    /// Returns the run, as this session knows it.
    pub fn run(&self) -> &Run {
        self.stored.run()
    }

    /// Returns the conversation so far, without the instructions.
    pub fn messages(&self) -> &[Message] {
        self.stored.run().messages()
    }

    /// Returns a handle that stops this session from another task.
    pub fn handle(&self) -> Handle {
        self.stored.outside.handle.clone()
    }

    /// Sets a future that must succeed before the session's next effect: before a call starts or the model is asked. The
    /// session awaits it once. If it fails, the method that drives the run fails, too, and the effect does not happen.
    ///
    /// The session can go on afterwards. If the model was about to be asked, the run has stopped
    /// ([`StopReason::Condition`](crate::run::StopReason::Condition)). [`Session::resume`] asks the model, and
    /// [`Session::send`] sends another prompt. If calls were about to start, they still are, and [`Session::resume`] starts them.
    ///
    /// ```
    /// # use tool_runtime::{Agent, AgentError, model::{ScriptedModel, Turn}};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let mut session = Agent::new(ScriptedModel::new([Turn::say("Hello.")])).session();
    /// session.before_next_effect(async { Err(AgentError::Cancelled) });
    /// assert!(session.send("Hi").await.is_err());
    /// assert_eq!(session.resume().await.unwrap().text, "Hello.");
    /// # });
    /// ```
    pub fn before_next_effect(
        &mut self,
        before_next_effect: impl Future<Output = Result<(), AgentError>> + Send + 'static,
    ) {
        self.stored.before_next_effect = Some(Mutex::new(Box::pin(before_next_effect)));
    }

    /// Returns the open interrupts, in the model's order.
    pub fn interrupts(&self) -> impl Iterator<Item = &Interrupt> {
        self.stored.run().interrupts()
    }

    /// Returns the agent.
    pub fn agent(&self) -> &Agent {
        &self.agent
    }

    /// Replaces the agent by the result of `change`, for example one with other tools. The run's store must be the same.
    pub fn change_agent(&mut self, change: impl FnOnce(Agent) -> Agent) {
        self.agent = change(self.agent.clone());
        self.conversation = None;
    }

    /// Sends a prompt and waits for the reply.
    ///
    /// Fails if the prompt is blank, if the run refuses it, is cancelled or cannot be stored, or if the model fails. The
    /// conversation then holds everything up to the error, and can go on. If the future is dropped, the running calls are dropped, too. The next
    /// [`Session::resume`] or [`Session::send`] asks the operator for the outcome of those that are not safe to repeat.
    pub async fn send(&mut self, prompt: impl Into<String>) -> Result<Reply, AgentError> {
        self.send_parts(vec![Part::text(prompt)]).await
    }

    /// Sends a prompt of text and images, and waits for the reply. Fails like [`Session::send`].
    pub async fn send_parts(&mut self, content: Vec<Part>) -> Result<Reply, AgentError> {
        self.send_with_id(None, content).await
    }

    /// Sends a prompt with an id that its author chose ([`Prompt::id`]), such as a frontend's message id, and waits for the
    /// reply.
    pub async fn send_with_id(&mut self, id: Option<String>, content: Vec<Part>) -> Result<Reply, AgentError> {
        let mut prompt = self.new_prompt(content);
        prompt.id = id;
        self.drive(Some(LogInput::Prompt(prompt))).await
    }

    /// Sends the prompt of a request with an idempotency key, and waits for the reply. Of all prompts with this key, in any
    /// process, the run accepts one. If it has that one already, the observer receives the entries that others have added, and
    /// the run continues without a second prompt.
    ///
    /// Fails like [`Session::send`].
    pub async fn send_once(
        &mut self,
        id: Option<String>,
        content: Vec<Part>,
        key: impl Into<String>,
    ) -> Result<Reply, AgentError> {
        let mut prompt = self.new_prompt(content).with_key(key);
        prompt.id = id;
        self.drive(Some(LogInput::Prompt(prompt))).await
    }

    /// Sends a prompt and waits for the reply. If `stop` is ready before, the work is cancelled, as by the cancellation of the
    /// agent's context, and the method fails with [`AgentError::Cancelled`]. The next prompt continues the conversation.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tool_runtime::{Agent, AgentError, model::{FunctionModel, ScriptedModel, Turn}};
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let slow = FunctionModel::streaming(|_| futures_util::stream::pending());
    /// let mut session = Agent::new(slow).session();
    /// let stop = tokio::time::sleep(Duration::from_millis(1));
    /// assert!(matches!(session.send_until("Hello?", stop).await, Err(AgentError::Cancelled)));
    /// # });
    /// ```
    pub async fn send_until(
        &mut self,
        prompt: impl Into<String>,
        stop: impl Future<Output = ()>,
    ) -> Result<Reply, AgentError> {
        let mut stop = pin!(stop);
        tokio::select! {
            biased;
            asked = self.ask_for_caller() => asked?,
            () = &mut stop => return Err(AgentError::Cancelled),
        }
        let (before, signal) = (self.agent.setup.context.clone(), Cancellation::new());
        let outer = before.cancellation().clone();
        let guard = ContextGuard { session: self, before };
        guard.session.agent.setup_mut().context = guard.before.clone().with_cancellation(signal.clone());
        let mut send = pin!(guard.session.send(prompt));
        tokio::select! {
            biased;
            reply = &mut send => return reply,
            () = stop => {}
            () = outer.cancelled() => {}
        }
        signal.cancel();
        send.await
    }

    /// Makes one call, as if the model had asked for it, and waits until the call has ended or waits for a decision. Returns
    /// the call; it has no result while it waits.
    ///
    /// The runtime looks up the tool, reads the arguments, asks validators, policies and layers, and logs everything, as for
    /// a call of the model. If the call succeeds, the run ends with it. Otherwise the agent's model goes on, if there is one.
    ///
    /// Fails if the run is active, waits for a decision, is cancelled, or cannot be stored.
    pub async fn call(&mut self, name: impl Into<String>, arguments: impl Into<String>) -> Result<&Call, AgentError> {
        let call = ToolCall { id: String::new(), name: name.into(), arguments: arguments.into() };
        let at = self.run().calls().len();
        if matches!(self.run().phase(), Phase::Generating | Phase::Acting | Phase::Suspended) {
            return Err(Refusal::Busy.into());
        }
        let name = call.name.clone();
        let content = vec![Part::text(format!("Call `{name}`."))];
        let prompt = Prompt::new(content, self.agent().owner(), self.agent().now()).final_tool(name.as_str());
        self.drive(Some(LogInput::CallFromOutside { prompt, call })).await?;
        // If another process wrote entries first, the run refused the prompt, and the call was not made.
        let made = self.run().calls().get(at).filter(|call| call.provider_id.is_empty() && call.name == name);
        made.ok_or_else(|| Refusal::Busy.into())
    }

    /// Adds a message to the conversation, for `reason`, which the log keeps: a fact that the application knows, as a message of the
    /// person, or a text of the assistant, such as a refusal. The model is not asked; it reads the message with the next prompt.
    ///
    /// Fails if the run is busy, the message is blank or has calls, or the run cannot be stored.
    ///
    /// ```
    /// # use tool_runtime::{Agent, message::Message, model::{ScriptedModel, Turn}};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let mut session = Agent::new(ScriptedModel::new([Turn::say("At gate 7.")])).session();
    /// session.add_message(Message::user("(My flight is TX 12.)"), "the booking").await?;
    /// session.send("Where do I board?").await?;
    /// assert_eq!(session.messages().len(), 3);
    /// # Ok::<(), tool_runtime::AgentError>(())
    /// # }).unwrap();
    /// ```
    pub async fn add_message(&mut self, message: Message, reason: impl Into<String>) -> Result<(), AgentError> {
        let (by, at) = (self.agent.owner(), self.agent.now());
        self.change_at_rest(LogInput::AddMessage { message, reason: reason.into(), by, at }).await
    }

    /// Passes an input to a run at rest, which stays there.
    pub(super) async fn change_at_rest(&mut self, input: LogInput) -> Result<(), AgentError> {
        match self.drive(Some(input)).await {
            // The run had ended so before.
            Ok(_) | Err(AgentError::Cancelled | AgentError::Blocked { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Returns a handle that sends messages to the run while it goes on.
    ///
    /// ```
    /// # use tool_runtime::{Agent, model::{ScriptedModel, Turn}};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// # let agent = Agent::new(ScriptedModel::new([Turn::say("Sunny."), Turn::say("In Rome, too.")]));
    /// let mut session = agent.session();
    /// let steering = session.steering();
    /// let run = tokio::spawn(async move { session.send("How is the weather in Oslo?").await });
    /// steering.say("And in Rome?");
    /// # run.await.unwrap().unwrap();
    /// # });
    /// ```
    pub fn steering(&mut self) -> Steering {
        self.stored.outside.steered.get_or_insert_with(SteeringMessages::new).steering()
    }

    /// Returns whether a message came ([`Session::steering`]) after the run's end. [`Session::resume`] lets the run accept it.
    pub fn has_unread_message(&self) -> bool {
        let steered = self.stored.outside.steered.as_ref();
        steered.is_some_and(SteeringMessages::has_content) && self.run().phase() == Phase::Finished
    }

    /// Runs all calls that are approved or need no approval, and stops before the next request to the model. Use this before a
    /// new prompt, which may supersede the calls that wait. Fails like [`Session::send`].
    pub async fn run_pending_calls(&mut self) -> Result<Reply, AgentError> {
        self.ask_for_caller().await?;
        let drive = DriveOptions { stops_before_model: true, ..DriveOptions::default() };
        let agent = self.agent.clone();
        self.drive_as(&agent, None, drive).await
    }

    /// Continues the run, for example after decisions or a failure of the model, or in another process. If the run was created
    /// from a conversation, the model answers its last message. Fails like [`Session::send`].
    ///
    /// Calls that were running when their process stopped are started again if that does no harm. The operator is asked for
    /// the outcome of the others ([`Operator::reconcile`](super::Operator::reconcile)).
    pub async fn resume(&mut self) -> Result<Reply, AgentError> {
        self.continue_with(DriveOptions::default()).await
    }

    /// Follows a run that another process drives: the observer receives its events. If the store passes on the pieces of the
    /// model's turns ([`Store::pieces`](crate::store::Store::pieces)), the observer receives them; otherwise it receives each
    /// turn whole. Hooks receive nothing. If no process drives the run, or its driver's lease has expired, this method
    /// continues the run like [`Session::resume`].
    ///
    /// Returns when the run has ended or waits for a decision. It does not wait for the other process's operator.
    ///
    /// A model error of the other process has the kind
    /// [`ModelErrorKind::Unavailable`](crate::model::ModelErrorKind::Unavailable), because the log keeps only its message.
    pub async fn follow(&mut self) -> Result<Reply, AgentError> {
        self.continue_with(DriveOptions { follows: true, ..DriveOptions::default() }).await
    }

    async fn continue_with(&mut self, drive: DriveOptions) -> Result<Reply, AgentError> {
        self.ask_for_caller().await?;
        let (input, mut agent) = (self.continue_input(None), self.agent.clone());
        if let Some(tools) = with_answer(agent.toolset(), self.stored.run()) {
            agent = agent.tools(tools);
        }
        self.drive_as(&agent, input, drive).await
    }

    /// Cancels the work and the waiting calls of the run. The run can be prompted again. Fails if the run cannot be stored.
    pub async fn cancel(&mut self) -> Result<(), AgentError> {
        let by = self.agent.owner();
        let input = LogInput::Cancel { by, at: self.agent.now() };
        match self.drive_as(&self.agent.clone(), Some(input), DriveOptions::default()).await {
            Ok(_) | Err(AgentError::Cancelled) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Decides an open interrupt on behalf of `by`. [`Session::resume`] then continues the run.
    ///
    /// Fails if the decision does not fit, `by` may not decide, or another decision was made before. Then nothing changes. A
    /// repetition by the principal that made the decision succeeds.
    pub async fn decide(
        &mut self,
        interrupt: &InterruptId,
        decision: Decision,
        by: impl Into<Principal>,
    ) -> Result<(), AgentError> {
        let by = by.into();
        self.ask_for_caller().await?;
        if self.agent.setup.store.is_some() {
            let run = self.agent.decide(self.stored.run().id(), interrupt, decision, by).await?;
            self.stored.replace(run);
            return Ok(());
        }
        let conversation =
            Arc::clone(self.conversation.get_or_insert_with(|| conversation(&self.agent, self.stored.run())));
        let checked = self.agent.check_decision(self.stored.run(), conversation, interrupt, decision, &by).await?;
        let (interrupt, decision) = (interrupt.clone(), Box::new(checked));
        let input = LogInput::Decide { interrupt, decision, by, at: self.agent.now() };
        // The next drive takes the actions that follow.
        Ok(self.stored.record(input, None, &mut VecDeque::new())?)
    }

    /// Returns the input that continues the run, or `None` if the run needs none.
    pub(super) fn continue_input(&self, answer: Option<Box<WantedAnswer>>) -> Option<LogInput> {
        let by_owner = || LogInput::Continue { by: self.agent.owner(), at: self.agent.now(), answer };
        can_continue(self.stored.run()).then(by_owner)
    }

    /// Creates a prompt of the agent's principal.
    pub(super) fn new_prompt(&self, content: Vec<Part>) -> Prompt {
        Prompt::new(content, self.agent.owner(), self.agent.now())
    }

    pub(super) async fn drive(&mut self, input: Option<LogInput>) -> Result<Reply, AgentError> {
        self.ask_for_caller().await?;
        let agent = self.agent.clone();
        self.drive_as(&agent, input, DriveOptions::default()).await
    }

    /// Passes `input` to the run, and drives the run as `agent`.
    pub(super) async fn drive_as(
        &mut self,
        agent: &Agent,
        mut input: Option<LogInput>,
        drive: DriveOptions,
    ) -> Result<Reply, AgentError> {
        self.conversation = None;
        if let Some(LogInput::Prompt(prompt) | LogInput::CallFromOutside { prompt, .. }) = &mut input {
            prompt.claims = agent.setup.context.shared_claims().cloned();
            if prompt.final_tools.is_empty() {
                prompt.final_tools = agent.setup.final_tools.to_vec();
            }
        }
        let phase = drive.run(agent, &agent.setup.gate, &mut self.stored, input).await?;
        let run = self.stored.run();
        let (steps, turn_usages) = (run.steps() as usize, run.turn_usages().to_vec());
        let answer = run.current_calls().iter().rev().find_map(|call| match &call.state {
            CallState::Done(result) if run.is_final(&call.name) && result.is_success() => Some(Arc::clone(result)),
            _ => None,
        });
        Ok(Reply { text: run.last_text(), steps, usage: run.usage(), turn_usages, phase, answer })
    }
}

/// Restores the agent's context when dropped.
struct ContextGuard<'a> {
    session: &'a mut Session,
    before: Context,
}

impl Drop for ContextGuard<'_> {
    fn drop(&mut self) {
        self.session.agent.setup_mut().context = std::mem::take(&mut self.before);
    }
}

/// The reply to a prompt.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Reply {
    /// The text of the model's last turn.
    pub text: String,
    /// The number of steps since the run was last prompted or continued.
    pub steps: usize,
    /// The tokens since the last prompt, failed turns included.
    pub usage: Usage,
    /// The usage of each turn since the run was last prompted or continued, failed ones included, with the model's name.
    pub turn_usages: Vec<TurnUsage>,
    /// The phase of the run: [`Phase::Finished`] if the model made no more calls, or [`Phase::Stopped`] with the reason. If the
    /// run waits for a decision, [`Phase::Suspended`] ([`Session::interrupts`]). After [`Session::run_pending_calls`], it can
    /// be [`Phase::Generating`].
    pub phase: Phase,
    /// The result of the call that was the answer.
    answer: Option<Arc<CallResult>>,
}

impl Reply {
    /// Returns the output of the final tool, if the run ended with a call of one ([`Agent::final_tools`]).
    pub fn output(&self) -> Option<&Output> {
        self.answer.as_ref()?.output()
    }

    /// Returns the tokens by model, in the order in which the models were first asked. The name of an unknown model is empty.
    ///
    /// ```
    /// # use tool_runtime::{Agent, model::{ScriptedModel, Turn, Usage}};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let usage = Usage { input_tokens: 7, ..Usage::default() };
    /// let reply = Agent::new(ScriptedModel::new([Turn::say("Hi.").with_usage(usage)])).run("Hello").await.unwrap();
    /// assert_eq!(reply.by_model(), [("scripted", usage)]);
    /// # });
    /// ```
    pub fn by_model(&self) -> Vec<(&str, Usage)> {
        let mut models: Vec<(&str, Usage)> = Vec::new();
        for turn in &self.turn_usages {
            let name = turn.model.as_deref().unwrap_or_default();
            match models.iter_mut().find(|(known, _)| *known == name) {
                Some((_, used)) => *used += turn.usage,
                None => models.push((name, turn.usage)),
            }
        }
        models
    }
}
