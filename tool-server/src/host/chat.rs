//! One chat of one principal: opened, decided about, and answered.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use tokio::sync::OwnedMutexGuard;
use tool_runtime::{
    Agent, AgentError, Cancellation, Message, Part,
    agent::{Decisions, Session},
    run::{Decision, ObligationId, Phase, Principal, Refusal, Run, RunId},
    store::StoreError,
};

use super::{
    ApiError, Shared, aside,
    feed::{Feed, Tap},
    registry::{Place, Protocol, Running},
};
use crate::once::Once;

/// How long an answer that is called off may take to end before another begins.
const PATIENCE: Duration = Duration::from_secs(10);

/// How many bytes the id of a chat may have.
const MOST_ID: usize = 256;

/// How many bytes of a request a message of a conversation stands for, at least.
const MESSAGE: usize = 32;

/// A chat that nobody else changes as long as this lives.
pub(crate) struct Chat {
    pub(super) shared: Arc<Shared>,
    pub(super) protocol: Protocol,
    pub(super) name: String,
    pub(super) principal: Principal,
    /// The opening of the text that the run came in, if that is good for once and not spent.
    pub(super) once: Option<Arc<Once>>,
    pub(super) place: Place,
    pub(super) gate: OwnedMutexGuard<()>,
    pub(super) agent: Agent,
    /// The stored run that decisions of this request are about.
    decisions: Option<Box<Decisions>>,
    pub(super) feed: Arc<Feed>,
    pub(super) cancel: Cancellation,
}

impl Chat {
    /// Waits until nobody else changes the chat.
    pub(crate) async fn enter(
        shared: &Arc<Shared>,
        protocol: Protocol,
        principal: Principal,
        id: &str,
    ) -> Result<Self, ApiError> {
        let name = name(&principal, id)?;
        let place = shared.registry.place(&name)?;
        let gate = place.enter().await;
        let cancel = Cancellation::new();
        let feed = Feed::new(shared.limits, &shared.feeds);
        let (by, signal) = (principal.to_string(), cancel.clone());
        let agent = shared.agent.clone().front(Tap(Arc::clone(&feed)));
        let agent = agent.with_context(|cx| cx.with_principal(by).with_cancellation(signal));
        let shared = Arc::clone(shared);
        Ok(Self { shared, protocol, name, principal, once: None, place, gate, agent, decisions: None, feed, cancel })
    }

    /// The chat's agent, for this request: acting for its principal, watched by the answer.
    pub(crate) fn agent(&self) -> &Agent {
        &self.agent
    }

    /// Changes the agent for this request, for example by tools that the request brings.
    pub(crate) fn change_agent(&mut self, change: impl FnOnce(Agent) -> Agent) {
        self.agent = change(self.agent.clone());
    }

    /// What makes the answer tell what its wire has to tell by itself.
    pub(crate) fn nudge(&self) -> impl Fn() + Send + Sync + use<> {
        let feed = Arc::downgrade(&self.feed);
        move || {
            if let Some(feed) = feed.upgrade() {
                feed.nudge();
            }
        }
    }

    /// The answer that is under way and that this request can join: its driver hears of what is decided about its run. `None`
    /// for one in another protocol, and where clients keep the runs: what one has kept and what goes on are two.
    pub(crate) fn under_way(&self) -> Option<Arc<Running>> {
        self.place.running().filter(|running| running.protocol == self.protocol && !self.is_sealed())
    }

    /// Calls off the answer that is under way, and waits for its end.
    pub(crate) async fn stop_running(&self) -> Result<(), ApiError> {
        let Some(running) = self.place.running() else { return Ok(()) };
        running.cancel.cancel();
        if self.is_sealed() {
            // A text that was good for once is spent by now, so this request goes on in any case.
            running.over().await;
            return Ok(());
        }
        let busy = || ApiError::conflict("the answer before is still being stopped; try again in a moment");
        tokio::time::timeout(PATIENCE, running.over()).await.map_err(|_| busy())
    }

    /// The chat as it was left; `None` when there was none yet.
    pub(crate) async fn open(&self) -> Result<Option<Session>, ApiError> {
        if self.agent.stored_in().is_none() {
            return Ok(None);
        }
        match self.latest().await? {
            0 => Ok(None),
            generation => Ok(Some(self.agent.open(&self.run_id(generation)).await?)),
        }
    }

    /// A new chat, after a conversation that the server does not know.
    pub(crate) async fn create(&self, messages: Vec<Message>) -> Result<Session, ApiError> {
        let (id, agent) = (self.next().await?, self.agent.clone());
        let bytes = messages.len() * MESSAGE;
        aside(bytes, move || agent.session_named(id, messages)).await
    }

    /// The chat as it was before one of its prompts.
    pub(crate) async fn branch(&self, run: &Run, prompt: usize) -> Result<Session, ApiError> {
        Ok(self.agent.branch(self.next().await?, run, prompt))
    }

    /// Says something to the run that goes on, which takes it up between two of its next turns.
    ///
    /// Fails when nothing goes on.
    pub(crate) async fn steer(&self, id: Option<String>, content: Vec<Part>) -> Result<(), ApiError> {
        let idle = || ApiError::conflict("nothing is being answered in this chat; send the message as a new one");
        if self.is_sealed() {
            let running = self.place.running().ok_or_else(idle)?;
            let is_said = running.steering.as_ref().is_some_and(|steering| steering.say_parts(content));
            return if is_said { Ok(()) } else { Err(idle()) };
        }
        let run = match self.latest().await? {
            0 => return Err(idle()),
            generation => self.run_id(generation),
        };
        match self.agent.steer_named(&run, id, content, self.principal.clone()).await {
            Err(AgentError::Refused(Refusal::Idle)) => Err(idle()),
            steered => {
                self.look();
                Ok(steered.map(drop)?)
            }
        }
    }

    /// Lets whoever drives the run here look into the store at once.
    fn look(&self) {
        if let Some(running) = self.place.running() {
            running.session.look();
        }
    }

    /// Decides about something that waits in `session`, whose driver will hear of it. An output of the client's that does not
    /// fit is a failure of its call: nobody there could mend it, so the model is told, and the chat goes on.
    ///
    /// Fails when nothing can be decided at all: the store is not there.
    pub(crate) async fn decide(
        &mut self,
        session: &mut Session,
        obligation: &ObligationId,
        decision: Decision,
    ) -> Result<Taken, ApiError> {
        let is_output = matches!(decision, Decision::Respond { .. });
        let Some(refusal) = self.decide_once(session, obligation, decision).await? else { return Ok(Taken::AsSaid) };
        if is_output && let Refusal::Invalid { feedback } = &refusal {
            let error = format!("the client's output does not fit: {feedback}");
            if self.decide_once(session, obligation, Decision::Fail { error }).await?.is_none() {
                return Ok(Taken::AsFailure(refusal));
            }
        }
        Ok(Taken::Not(refusal))
    }

    /// What the run says against the decision, if it does not take it.
    async fn decide_once(
        &mut self,
        session: &mut Session,
        obligation: &ObligationId,
        decision: Decision,
    ) -> Result<Option<Refusal>, ApiError> {
        let accepted = self.once.is_some().then(|| decision.clone());
        let decided = if self.agent.stored_in().is_none() {
            session.decide(obligation, decision, self.principal.clone()).await
        } else {
            // The session stays behind: it reads in the store what was decided, and tells it when it is driven.
            let mut decisions = match self.decisions.take().filter(|known| known.run().id() == session.id()) {
                Some(decisions) => decisions,
                None => Box::new(self.agent.decisions(session.id()).await?),
            };
            let decided = self.agent.decide_in(&mut decisions, obligation, decision, self.principal.clone()).await;
            self.decisions = Some(decisions);
            self.look();
            decided
        };
        match decided {
            Ok(()) => {
                if let (Some(once), Some(decision)) = (&self.once, accepted) {
                    once.decided(&decision);
                }
                Ok(None)
            }
            Err(AgentError::Refused(refusal)) => Ok(Some(refusal)),
            Err(error) => Err(error.into()),
        }
    }

    fn run_id(&self, generation: u32) -> RunId {
        RunId::from(format!("{generation}:{}", self.name))
    }

    /// The id of the chat's next run.
    async fn next(&self) -> Result<RunId, ApiError> {
        let next = self.latest().await? + 1;
        self.place.generation.store(next, Ordering::SeqCst);
        Ok(self.run_id(next))
    }

    /// The number of the chat's latest run: each message that is edited or answered anew makes another.
    async fn latest(&self) -> Result<u32, ApiError> {
        let known = self.place.generation.load(Ordering::SeqCst);
        if known == 0 && !self.exists(1).await? {
            return Ok(0);
        }
        let (mut latest, mut step) = (known.max(1), 1);
        while self.exists(latest + step).await? {
            latest += step;
            step *= 2;
        }
        while step > 1 {
            step /= 2;
            if self.exists(latest + step).await? {
                latest += step;
            }
        }
        self.place.generation.store(latest, Ordering::SeqCst);
        Ok(latest)
    }

    async fn exists(&self, generation: u32) -> Result<bool, ApiError> {
        let Some(store) = self.agent.stored_in() else { return Ok(false) };
        // What comes behind the end of the log is nothing, if there is a log.
        match store.read(&self.run_id(generation), u64::from(u32::MAX)).await {
            Ok(_) => Ok(true),
            Err(StoreError::NotFound) => Ok(false),
            Err(error) => Err(AgentError::Store(error).into()),
        }
    }
}

/// What became of a decision.
#[derive(Debug)]
pub(crate) enum Taken {
    /// It counts.
    AsSaid,
    /// The output does not fit, for this reason, and the call has failed.
    AsFailure(Refusal),
    /// The run does not take it, and what it was about is as it was.
    Not(Refusal),
}

/// Calls off what still waits in a run that is left behind.
pub(crate) async fn retire(session: &mut Session) -> Result<(), ApiError> {
    if matches!(session.run().phase(), Phase::Generating | Phase::Acting | Phase::Suspended) {
        session.cancel().await?;
    }
    Ok(())
}

/// The name of a chat's runs: nobody's is another's, whatever the ids are.
pub(crate) fn name(principal: &Principal, id: &str) -> Result<String, ApiError> {
    if id.is_empty() || id.len() > MOST_ID || id.chars().any(char::is_control) {
        return Err(ApiError::bad_request(format!(
            "a chat's id is a text of 1 to {MOST_ID} bytes, without control characters"
        )));
    }
    let principal = principal.as_str();
    Ok(format!("{}:{principal}:{id}", principal.len()))
}
