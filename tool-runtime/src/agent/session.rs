//! A conversation with an agent.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::driver::{Driver, Kept, now};
use super::{Agent, AgentError, typed::Wanted};
use crate::message::{FinishReason, Message, Part, Usage};
use crate::run::{
    Decision, Event, Inspector, Obligation, ObligationId, Phase, Principal, Prompt, Run, RunId, StopReason, step,
};

/// A conversation with an agent, continued prompt by prompt: a [`Run`], and an agent to drive it.
#[derive(Debug)]
pub struct Session {
    agent: Agent,
    kept: Kept,
}

/// What came of a prompt.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Reply {
    /// What the model said in its last turn.
    pub text: String,
    /// How many turns it took.
    pub steps: usize,
    /// Tokens used by all of them.
    pub usage: Usage,
    /// Why the run ended.
    pub stopped: Stopped,
}

/// Why a run ended, or rests.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Stopped {
    /// The model had no more calls to make.
    Done,
    /// The run waits for somebody who is not there; see [`Session::obligations`].
    Suspended,
    /// The model wanted to go on, and had used all its steps.
    StepLimit,
    /// The model's last turn was cut; none of its calls ran.
    Cut(FinishReason),
    /// Somebody denied a call, and the run was to stop then.
    Denied,
    /// A limit on the whole run was reached.
    OverBudget(String),
}

impl Session {
    pub(super) fn new(agent: Agent, messages: Vec<Message>) -> Self {
        let id = RunId::from(uuid::Uuid::new_v4().to_string());
        let (run, created) = Run::new(id, agent.principal(), agent.options, messages, now());
        Self { agent, kept: Kept::new(run, vec![created]) }
    }

    pub(super) fn of(agent: Agent, run: Run) -> Self {
        Self { agent, kept: Kept::new(run, Vec::new()) }
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

    /// What waits for somebody, in the model's order.
    pub fn obligations(&self) -> impl Iterator<Item = &Obligation> {
        self.kept.run.obligations()
    }

    /// The agent.
    pub fn agent(&self) -> &Agent {
        &self.agent
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
        let prompt = Prompt::new(content, self.agent.principal(), now());
        let inspector = self.agent.inspector();
        self.drive(inspector, Some(Event::Prompt(prompt))).await
    }

    /// Goes on where the run stands: after decisions, in another process, after a failure of the model.
    ///
    /// A call that ran when its process was stopped is started again if that does no harm; about others the front is asked
    /// what came of them ([`Front::reconcile`](super::Front::reconcile)).
    pub async fn resume(&mut self) -> Result<Reply, AgentError> {
        let event = match self.kept.run.phase() {
            Phase::Stopped(StopReason::ModelFailed(_) | StopReason::Cancelled | StopReason::StepLimit) => {
                Some(Event::Continue { by: self.agent.principal(), at: now() })
            }
            _ => None,
        };
        let inspector = self.agent.inspector();
        self.drive(inspector, event).await
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
        let ruling = self.agent.rule(&self.kept.run, obligation, decision, &by).await?;
        let (log, _) = step(&self.kept.run, Event::Decide { obligation: obligation.clone(), ruling, by, at: now() })?;
        self.kept.add(log);
        Ok(())
    }

    /// Says something and waits for an answer of type `T`.
    ///
    /// The model gives it by calling a tool called `final_answer` whose schema is that of `T`; a wrong answer is told to
    /// it like any wrong call, so that it can mend it.
    pub async fn send_for<T: DeserializeOwned + JsonSchema + Send + 'static>(
        &mut self,
        prompt: impl Into<String>,
    ) -> Result<T, AgentError> {
        let wanted = Wanted::<T>::new();
        let tools = wanted.offer(&self.agent.tools)?;
        let inspector = self.agent.inspect_with(Inspector::new(tools));
        let ask = |text: String, by| {
            let prompt = Prompt::new(vec![Part::text(text)], by, now()).until(Wanted::<T>::NAME);
            Some(Event::Prompt(prompt))
        };
        let reply = self.drive(inspector.clone(), ask(prompt.into(), self.agent.principal())).await?;
        if let Some(answer) = wanted.take() {
            return Ok(answer);
        }
        // Some models answer in words although a tool is there for it; ask once more.
        let reminder = Wanted::<T>::REMINDER.to_owned();
        let reminded = self.drive(inspector, ask(reminder, self.agent.principal())).await?;
        wanted.take().ok_or_else(|| AgentError::NoAnswer {
            reason: format!("it said: {}", if reminded.text.is_empty() { reply.text } else { reminded.text }),
        })
    }

    async fn drive(&mut self, inspector: Inspector, event: Option<Event>) -> Result<Reply, AgentError> {
        let phase = Driver::new(&self.agent, inspector, &mut self.kept).drive(event).await?;
        let run = &self.kept.run;
        let stopped = match phase {
            Phase::Suspended | Phase::Generating | Phase::Acting => Stopped::Suspended,
            Phase::Stopped(StopReason::StepLimit) => Stopped::StepLimit,
            Phase::Stopped(StopReason::Cut(finish)) => Stopped::Cut(finish),
            Phase::Stopped(StopReason::Denied) => Stopped::Denied,
            Phase::Stopped(StopReason::OverBudget(limit)) => Stopped::OverBudget(limit),
            _ => Stopped::Done,
        };
        Ok(Reply { text: run.last_text(), steps: run.steps() as usize, usage: run.usage(), stopped })
    }
}
