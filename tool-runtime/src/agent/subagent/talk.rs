//! The run of an agent that is a tool: from the task to the answer, with people asked through the outer call.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use futures_util::future::BoxFuture;

use super::{AgentTool, store::StepStore};
use crate::agent::{
    Agent, AgentError, Event as Told, Front, Reply, Session, Stopped,
    driver::{CallJournal, tell},
    single::LateJournal,
    typed::Answering,
};
use crate::feedback::Rejection;
use crate::message::Part;
use crate::run::{Answer, CallId, Decision, Digest, Event, Obligation, Phase, Principal, Prompt, Refusal, StopReason};
use crate::tool::{CallError, Context, Failure, Journal, Output};

/// How deep agents call one another.
const MOST_DEEP: u32 = 8;

/// How deep the agent is that a call belongs to.
#[derive(Clone, Copy)]
struct Depth(u32);

/// The call that an inner run is of, as far as it is asked and told something.
struct Outside {
    journal: Arc<dyn Journal>,
    /// How often was asked about what, since the call was started.
    tries: Mutex<HashMap<Digest, usize>>,
}

impl Outside {
    /// That of a call which a driver runs, as it does from now on where a tool has called the agent in its own.
    async fn of(cx: &Context) -> Option<Arc<Self>> {
        LateJournal::give_run(&**cx.journal()?).await;
        let journal = cx.journal().filter(|journal| CallJournal::of(&***journal).is_some())?;
        Some(Arc::new(Self { journal: Arc::clone(journal), tries: Mutex::default() }))
    }

    fn journal(&self) -> Option<&CallJournal> {
        CallJournal::of(&*self.journal)
    }

    /// Asks about what an inner call of the tool `tool` waits for.
    fn ask(
        &self,
        tool: &str,
        open: Obligation,
        feedback: Option<Rejection>,
    ) -> BoxFuture<'static, Result<(Decision, Principal), Failure>> {
        let tries = {
            let mut tries = self.tries.lock().unwrap_or_else(PoisonError::into_inner);
            let count = tries.entry(open.digest()).or_default();
            std::mem::replace(count, *count + 1)
        };
        let asked = self.journal().map(|journal| journal.ask_inside(tool, open, tries, feedback));
        Box::pin(async move {
            match asked.ok_or_else(|| Failure::told("nobody can be asked"))?.await? {
                Answer::Given(decided) => Ok(serde_json::from_value(decided)?),
                _ => Err(Failure::hidden("an answer is no decision")),
            }
        })
    }
}

/// The front of an inner run: the outer one is told what happens. Where somebody is there, they are asked at once; what else
/// has to be decided waits until the run can do nothing else.
struct Through(Arc<Outside>);

impl Front for Through {
    fn event(&self, event: Told<'_>) {
        if let Some(journal) = self.0.journal() {
            tell(&*journal.ties.front, Told::Inner { call: &journal.call, event: &event });
        }
    }

    fn room<'a>(&'a self, _: &'a CallId) -> Option<BoxFuture<'a, ()>> {
        let journal = self.0.journal()?;
        journal.ties.front.room(&journal.call)
    }

    fn attends(&self) -> bool {
        self.0.journal().is_some_and(|journal| journal.ties.front.attends())
    }

    fn decide(
        &self,
        tool: &str,
        open: &Obligation,
        feedback: Option<&Rejection>,
    ) -> Option<BoxFuture<'static, Decision>> {
        let decided = self.0.ask(tool, open.clone(), feedback.cloned());
        Some(Box::pin(async move {
            match decided.await {
                // Whoever may decide in there is the owner, as outside.
                Ok((decision, _)) => decision,
                Err(failure) => Decision::deny(failure.for_model()),
            }
        }))
    }
}

/// An inner run, and the call that it is of.
struct Talk<'a> {
    tool: &'a AgentTool,
    session: Session,
    /// `None` where nobody can be asked.
    outside: Option<Arc<Outside>>,
    taint: Vec<String>,
}

impl AgentTool {
    /// The work of a call.
    pub(super) async fn work(&self, prompt: String, cx: &Context) -> Result<Output, CallError> {
        let depth = cx.get::<Depth>().map_or(0, |depth| depth.0) + 1;
        if depth > MOST_DEEP {
            let told = format!("agents call one another at most {MOST_DEEP} deep; do it without this one");
            return Err(Failure::told(told).into());
        }
        let outside = Outside::of(cx).await;
        let (session, is_new) = self.session(depth, outside.as_ref(), cx).await.map_err(failed)?;
        let mut talk = Talk { tool: self, session, outside, taint: cx.taint().to_vec() };
        let first = is_new.then(|| talk.prompt(prompt));
        talk.go(first).await
    }

    /// The inner run, new or as far as it came when the call ran before.
    async fn session(
        &self,
        depth: u32,
        outside: Option<&Arc<Outside>>,
        cx: &Context,
    ) -> Result<(Session, bool), AgentError> {
        let mut agent: Agent = self.agent.clone();
        agent.context = agent.context.clone().with(Depth(depth));
        agent.store = None;
        if let Some(principal) = cx.principal() {
            agent.context = agent.context.with_principal(principal);
        }
        if let Some(deadline) = cx.deadline() {
            agent.context = agent.context.with_deadline(deadline);
        }
        let Some(outside) = outside else {
            return Ok((agent.front(crate::agent::Unattended).session(), true));
        };
        // What waits, waits on the clock of the outer run.
        (agent.options.approval_expiry, agent.options.external_expiry) = (None, None);
        let mut owner = agent.principal();
        if let Some(outer) = outside.journal().and_then(CallJournal::outer) {
            let limits = &mut agent.options.limits;
            limits.calls = limits.calls.min(outer.calls);
            limits.retries = limits.retries.min(outer.retries);
            limits.tokens = limits.tokens.into_iter().chain(outer.tokens).min();
            owner = outer.owner.clone();
        }
        let store = StepStore::new(Arc::clone(&outside.journal));
        let (id, is_new) = (cx.call_id().into(), store.is_empty());
        let agent = agent.store(store).front(Through(Arc::clone(outside)));
        if is_new {
            return Ok((Session::called(agent, id, owner), true));
        }
        Ok((agent.open(&id).await?, false))
    }
}

impl Talk<'_> {
    fn prompt(&self, text: String) -> Event {
        let by = self.session.run().owner().clone();
        let mut prompt = Prompt::new(vec![Part::text(text)], by, self.session.agent().now());
        prompt.taint.clone_from(&self.taint);
        if self.tool.answering.is_some() {
            prompt = prompt.until(Answering::NAME);
        }
        Event::Prompt(prompt)
    }

    /// Lets the inner run go on until it has an answer.
    async fn go(&mut self, first: Option<Event>) -> Result<Output, CallError> {
        let mut event = first.or_else(|| self.next());
        let mut reminded = false;
        loop {
            let reply = self.session.drive(self.session.agent().inspector(), event.take()).await.map_err(failed)?;
            if reply.stopped == Stopped::Suspended {
                self.ask().await?;
                continue;
            }
            let Some(answering) = &self.tool.answering else { return said(reply) };
            match answering.given(self.session.run()) {
                Some(json) => return Ok(Output::from_json(json)),
                None if reply.stopped == Stopped::Done && !reminded => {
                    reminded = true;
                    event = Some(self.prompt(Answering::REMINDER.to_owned()));
                }
                None => return said(reply).and_then(|_| Err(Failure::told(NO_ANSWER).into())),
            }
        }
    }

    /// What lets a run go on that was left where it is.
    fn next(&self) -> Option<Event> {
        let by = self.session.run().owner().clone();
        match self.session.run().phase() {
            Phase::Stopped(StopReason::ModelFailed(_)) => Some(Event::Continue { by, at: self.session.agent().now() }),
            _ => None,
        }
    }

    /// Asks about the first thing that waits, until somebody has decided about it.
    async fn ask(&mut self) -> Result<(), CallError> {
        let Some(open) = self.session.obligations().next().cloned() else { return Ok(()) };
        let name = self.session.run().call(open.id.call()).map(|call| call.name.clone()).unwrap_or_default();
        let mut feedback = None;
        loop {
            let Some(outside) = &self.outside else { return Err(Failure::told("nobody can be asked").into()) };
            let (decision, by) = outside.ask(&name, open.clone(), feedback.take()).await?;
            match self.session.decide(&open.id, decision, by).await {
                Ok(()) | Err(AgentError::Refused(Refusal::Closed { .. } | Refusal::Conflict { .. })) => return Ok(()),
                Err(AgentError::Refused(Refusal::Invalid { feedback: wrong })) => feedback = Some(wrong),
                Err(AgentError::Refused(refusal)) => feedback = Some(Rejection::told(refusal.to_string())),
                Err(error) => return Err(failed(error)),
            }
        }
    }
}

const NO_ANSWER: &str = "the agent gave no answer of the wanted type";

/// What an inner run comes to whose answer is what it said last.
fn said(reply: Reply) -> Result<Output, CallError> {
    let told = match reply.stopped {
        Stopped::Done => return Ok(Output::json(&reply.text)?),
        Stopped::StepLimit if reply.text.is_empty() => "the agent has used all its steps".to_owned(),
        Stopped::StepLimit => format!("the agent has used all its steps; it said last: {}", reply.text),
        Stopped::Cut(_) => "the agent's answer was cut".to_owned(),
        Stopped::Denied => "the agent was stopped: somebody denied one of its calls".to_owned(),
        Stopped::OverBudget(limit) => format!("the agent was stopped: {limit}"),
        _ => "the agent was stopped".to_owned(),
    };
    Err(Failure::told(told).into())
}

fn failed(error: AgentError) -> CallError {
    match error {
        AgentError::Cancelled => CallError::Cancelled,
        AgentError::Model(error) => Failure::told("the agent's model failed").because(error).retryable().into(),
        AgentError::Refused(refusal) => Failure::told(refusal.to_string()).into(),
        error => Failure::told("the agent could not go on").because(error).into(),
    }
}
