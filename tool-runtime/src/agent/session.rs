//! A conversation with an agent.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::driver::{Commit, Driver, Kept, conversation, tell};
use super::{
    Agent, AgentError, Event as Told, Handle, Reply, Stopped,
    hooks::hooked,
    typed::{Wanted, with_answer},
};
use crate::message::{Mended, Message, Part, mend};
use crate::run::{
    Decision, Event, Inspector, Obligation, ObligationId, Phase, Principal, Prompt, Run, RunId, StopReason, step,
};

/// A conversation with an agent, continued prompt by prompt: a [`Run`], and an agent to drive it.
#[derive(Debug)]
pub struct Session {
    pub(super) agent: Agent,
    pub(super) kept: Kept,
    mended: Vec<Mended>,
    /// The conversation as those who check decisions get it, until the run is driven.
    talk: Option<Arc<Vec<Message>>>,
}

impl Session {
    pub(super) fn new(agent: Agent, messages: Vec<Message>) -> Self {
        Self::named(agent, RunId::from(uuid::Uuid::new_v4().to_string()), messages)
    }

    pub(super) fn named(agent: Agent, id: RunId, messages: Vec<Message>) -> Self {
        let (messages, mended) = mend(messages);
        let (run, created) = Run::new(id, agent.principal(), agent.options, messages, agent.now());
        Self { agent, kept: Kept::new(run, vec![created]), mended, talk: None }
    }

    /// The run of an agent that is a tool, for `owner`.
    pub(super) fn called(agent: Agent, id: RunId, owner: Principal) -> Self {
        let (run, created) = Run::new(id, owner, agent.options, Vec::new(), agent.now());
        Self { agent, kept: Kept::new(run, vec![created]), mended: Vec::new(), talk: None }
    }

    pub(super) fn branch(agent: Agent, id: RunId, run: &Run, prompt: usize) -> Self {
        let (run, log) = run.branch(id, agent.options, prompt, agent.now());
        Self { agent, kept: Kept::new(run, log), mended: Vec::new(), talk: None }
    }

    pub(super) fn of(agent: Agent, run: Run) -> Self {
        Self { agent, kept: Kept::new(run, Vec::new()), mended: Vec::new(), talk: None }
    }

    /// What had to be mended in the history that the conversation goes on from.
    pub fn mended(&self) -> &[Mended] {
        &self.mended
    }

    /// The id of the run: what [`Agent::open`] finds it by.
    pub fn id(&self) -> &RunId {
        self.kept.run.id()
    }

    /// The run, as this session knows it.
    pub fn run(&self) -> &Run {
        &self.kept.run
    }

    /// The conversation so far, without the instructions.
    pub fn messages(&self) -> &[Message] {
        self.kept.run.messages()
    }

    /// What stops this session from elsewhere.
    pub fn handle(&self) -> Handle {
        self.kept.handle.clone()
    }

    /// Sets what must succeed before the session does the next thing that cannot be undone: before a call starts or the model
    /// is asked. It is awaited once. When it fails, so does the future that drives the session, and nothing was done.
    pub fn commit_with(&mut self, commit: impl Future<Output = Result<(), AgentError>> + Send + 'static) {
        self.kept.commit = Some(Commit::new(commit));
    }

    /// What waits for somebody, in the model's order.
    pub fn obligations(&self) -> impl Iterator<Item = &Obligation> {
        self.kept.run.obligations()
    }

    /// The agent.
    pub fn agent(&self) -> &Agent {
        &self.agent
    }

    /// Goes on with the agent as `change` makes it: with other tools, for example. Where the run is kept is to stay the same.
    pub fn change_agent(&mut self, change: impl FnOnce(Agent) -> Agent) {
        self.agent = change(self.agent.clone());
        self.talk = None;
    }

    /// Says something and waits for what comes of it.
    ///
    /// After an error the conversation holds everything up to it, and can go on. When the future is dropped, so are the
    /// calls that run; what came of them is asked at the next [`Session::resume`] or [`Session::send`], unless they can be
    /// run again without harm.
    pub async fn send(&mut self, prompt: impl Into<String>) -> Result<Reply, AgentError> {
        self.send_parts(vec![Part::text(prompt)]).await
    }

    /// Says something in text and images, and waits for what comes of it.
    pub async fn send_parts(&mut self, content: Vec<Part>) -> Result<Reply, AgentError> {
        self.send_named(None, content).await
    }

    /// The same under the id that whoever says it has for it ([`Prompt::id`]), such as a frontend's id of the message.
    pub async fn send_named(&mut self, id: Option<String>, content: Vec<Part>) -> Result<Reply, AgentError> {
        let mut prompt = Prompt::new(content, self.agent.principal(), self.agent.now());
        prompt.id = id;
        let inspector = self.agent.inspector();
        self.drive(inspector, Some(Event::Prompt(prompt))).await
    }

    /// Runs the calls that may run, and stops where the model would be asked: what was approved happens before the next
    /// prompt supersedes what still waits.
    pub async fn settle(&mut self) -> Result<Reply, AgentError> {
        let driver = Driver::new(&self.agent, self.agent.inspector(), &mut self.kept).without_model();
        let phase = driver.drive(None).await?;
        Ok(self.reply(phase))
    }

    /// Goes on where the run stands: after decisions, in another process, after a failure of the model, or with the answer
    /// to the conversation that it was created with.
    ///
    /// A call that ran when its process was stopped is started again if that does no harm; about others the front is asked
    /// what came of them ([`Front::reconcile`](super::Front::reconcile)).
    pub async fn resume(&mut self) -> Result<Reply, AgentError> {
        let event = self.go_on();
        let inspector = match with_answer(&self.agent.tools, &self.kept.run) {
            Some(tools) => self.agent.inspect_with(Inspector::new(tools)),
            None => self.agent.inspector(),
        };
        self.drive(inspector, event).await
    }

    /// Calls off what goes on or waits. The run can be prompted again.
    pub async fn cancel(&mut self) -> Result<(), AgentError> {
        let by = self.agent.principal();
        match self.drive(self.agent.inspector(), Some(Event::Cancel { by, at: self.agent.now() })).await {
            Ok(_) | Err(AgentError::Cancelled) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Decides about something that waits, on behalf of `by`. [`Session::resume`] then goes on.
    ///
    /// Fails when the decision does not fit, `by` may not decide, or somebody decided otherwise before; then nothing has
    /// changed. The same decision again is fine.
    pub async fn decide(
        &mut self,
        obligation: &ObligationId,
        decision: Decision,
        by: impl Into<Principal>,
    ) -> Result<(), AgentError> {
        let by = by.into();
        if self.agent.store.is_some() {
            self.kept.run = self.agent.decide(self.kept.run.id(), obligation, decision, by).await?;
            return Ok(());
        }
        let talk = Arc::clone(self.talk.get_or_insert_with(|| conversation(&self.agent, &self.kept.run)));
        let ruling = self.agent.rule(&self.kept.run, talk, obligation, decision, &by).await?;
        let (mut log, _) =
            step(&self.kept.run, Event::Decide { obligation: obligation.clone(), ruling, by, at: self.agent.now() })?;
        self.kept.add(&mut log);
        Ok(())
    }

    /// Says something and waits for an answer of type `T`.
    ///
    /// The model gives it by calling a tool called `final_answer` whose schema is that of `T`; a wrong answer is told to
    /// it like any wrong call, so that it can mend it. Where the run stops or waits before, [`Session::resume_for`] goes on,
    /// in this process or in another.
    pub async fn send_for<T: DeserializeOwned + JsonSchema + Send + 'static>(
        &mut self,
        prompt: impl Into<String>,
    ) -> Result<T, AgentError> {
        let event = self.ask_for::<T>(prompt.into());
        self.drive_for(Some(event)).await
    }

    /// Goes on where the run stands, as [`Session::resume`] does, and waits for the answer of type `T` that it was prompted
    /// for with [`Session::send_for`]. An answer that was given already is given again.
    pub async fn resume_for<T: DeserializeOwned + JsonSchema + Send + 'static>(&mut self) -> Result<T, AgentError> {
        if self.kept.run.until().is_none_or(|(name, _)| name != Wanted::<T>::NAME) {
            let reason = "the run was not prompted for a typed answer; use `send_for`".to_owned();
            return Err(AgentError::NoAnswer { reason });
        }
        let event = self.go_on();
        self.drive_for(event).await
    }

    async fn drive_for<T: DeserializeOwned + JsonSchema + Send + 'static>(
        &mut self,
        event: Option<Event>,
    ) -> Result<T, AgentError> {
        let wanted = Wanted::<T>::new();
        let tools = wanted.offer(&self.agent.tools)?;
        let inspector = self.agent.inspect_with(Inspector::new(tools));
        let reply = self.drive(inspector.clone(), event).await?;
        if let Some(answer) = wanted.of(&self.kept.run) {
            return Ok(answer);
        }
        if reply.stopped != Stopped::Done {
            return Err(AgentError::NoAnswer {
                reason: format!("the run has not come to its end: {:?}", reply.stopped),
            });
        }
        // Some models answer in words although a tool is there for it; ask once more.
        let reminder = self.ask_for::<T>(Wanted::<T>::REMINDER.to_owned());
        let reminded = self.drive(inspector, Some(reminder)).await?;
        wanted.of(&self.kept.run).ok_or_else(|| AgentError::NoAnswer {
            reason: format!("it said: {}", if reminded.text.is_empty() { reply.text } else { reminded.text }),
        })
    }

    fn ask_for<T: DeserializeOwned + JsonSchema + Send + 'static>(&self, prompt: String) -> Event {
        let prompt = Prompt::new(vec![Part::text(prompt)], self.agent.principal(), self.agent.now());
        Event::Prompt(prompt.until(Wanted::<T>::NAME).answered_as(Wanted::<T>::schema()))
    }

    /// How a run that was stopped goes on.
    fn go_on(&self) -> Option<Event> {
        let is_left = match self.kept.run.phase() {
            Phase::Stopped(
                StopReason::ModelFailed(_)
                | StopReason::Cancelled
                | StopReason::Requested
                | StopReason::StepLimit
                | StopReason::OverBudget(_)
                | StopReason::TimedOut(_)
                | StopReason::Condition(_),
            ) => true,
            // A conversation that came from elsewhere may end with a prompt that nobody answered.
            Phase::Idle => !self.messages().is_empty(),
            _ => false,
        };
        is_left.then(|| Event::Continue { by: self.agent.principal(), at: self.agent.now() })
    }

    pub(super) async fn drive(&mut self, inspector: Inspector, event: Option<Event>) -> Result<Reply, AgentError> {
        self.drive_with(inspector, event, |driver| driver).await
    }

    /// The same, by a driver that is `prepared`.
    pub(super) async fn drive_with(
        &mut self,
        inspector: Inspector,
        event: Option<Event>,
        prepared: impl for<'a> FnOnce(Driver<'a>) -> Driver<'a>,
    ) -> Result<Reply, AgentError> {
        self.talk = None;
        let mut agent = self.agent.clone();
        let begun = hooked(&mut agent);
        tell(&*agent.front, Told::RunStarted(&self.kept.run));
        let driven = prepared(Driver::new(&agent, inspector, &mut self.kept)).drive(event).await;
        if let Err(error) = &driven {
            tell(&*agent.front, Told::RunFailed(error));
        }
        drop(agent);
        begun.done().await;
        Ok(self.reply(driven?))
    }

    fn reply(&self, phase: Phase) -> Reply {
        Reply::of(&self.kept.run, phase)
    }
}
