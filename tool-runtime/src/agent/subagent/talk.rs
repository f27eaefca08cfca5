//! The run of an agent that is a tool: from the task to the answer, with people asked through the outer call.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use futures_util::future::BoxFuture;

use super::{AgentTool, store::StepStore};
use crate::agent::{
    AgentError, DenyAll, Event as AgentEvent, Observer, Operator, Reply, Session, calls::CallJournal, event::Unwatched,
    observers::tell, typed::FinalAnswer,
};
use crate::feedback::Rejection;
use crate::message::Part;
use crate::tool::{CallError, Context, Failure, Journal, Output};
use crate::{
    run::{CallId, Decision, Interrupt, Phase, Principal, Prompt, Refusal, StopReason},
    tool::Answer,
};
use tool_run::run::{Digest, Event};

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
    /// That of a call which a driver runs.
    fn of(cx: &Context) -> Option<Arc<Self>> {
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
        open: Interrupt,
        feedback: Option<Rejection>,
    ) -> BoxFuture<'static, Result<(Decision, Principal), Failure>> {
        let tries = {
            let mut tries = self.tries.lock().unwrap_or_else(PoisonError::into_inner);
            let count = tries.entry(open.digest()).or_default();
            std::mem::replace(count, *count + 1)
        };
        let asked = self.journal().map(|journal| journal.ask_inside(tool, open, tries, feedback));
        Box::pin(async move {
            match asked.ok_or_else(|| Failure::new("nobody can be asked"))?.await? {
                Answer::Given(decided) => Ok(serde_json::from_value(decided)?),
                _ => Err(Failure::hidden("an answer is no decision")),
            }
        })
    }
}

/// The observer and the operator of an inner run: those of the outer one. An operator that attends is asked at once; what else
/// has to be decided waits until the run can do nothing else.
struct Through(Arc<Outside>);

impl Observer for Through {
    fn event(&self, event: AgentEvent<'_>) {
        if let Some(journal) = self.0.journal() {
            tell(journal.observer(), AgentEvent::Inner { call: journal.call(), event: &event });
        }
    }

    fn room<'a>(&'a self, _: &'a CallId) -> Option<BoxFuture<'a, ()>> {
        let journal = self.0.journal()?;
        journal.observer().room(journal.call())
    }
}

impl Operator for Through {
    fn attends(&self) -> bool {
        self.0.journal().is_some_and(|journal| journal.operator().attends())
    }

    fn decide(
        &self,
        tool: &str,
        open: &Interrupt,
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
            return Err(Failure::new(told).into());
        }
        let outside = Outside::of(cx);
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
        let mut agent = self.agent.clone().without_store().with_context(|context| within(context, depth, cx));
        let Some(outside) = outside else {
            return Ok((agent.observer(Unwatched).operator(DenyAll).session(), true));
        };
        let mut owner = agent.principal();
        let outer = outside.journal().and_then(CallJournal::outer);
        agent = agent.options(|options| {
            // What waits, waits on the clock of the outer run.
            (options.approval_expiry, options.external_expiry) = (None, None);
            let Some(outer) = outer else { return };
            let limits = &mut options.limits;
            limits.calls = limits.calls.min(outer.calls);
            limits.retries = limits.retries.min(outer.retries);
            limits.tokens = limits.tokens.into_iter().chain(outer.tokens).min();
            owner.clone_from(&outer.owner);
        });
        let store = StepStore::new(Arc::clone(&outside.journal));
        let (id, is_new) = (cx.call_id().into(), store.is_empty());
        let through = Arc::new(Through(Arc::clone(outside)));
        let agent = agent.store(store).observer(Arc::clone(&through)).operator(through);
        if is_new {
            return Ok((Session::called(agent, id, owner), true));
        }
        Ok((agent.open(&id).await?, false))
    }
}

/// Returns the context of an inner run that a call with the context `outer` makes.
fn within(context: Context, depth: u32, outer: &Context) -> Context {
    let mut context = context.with(Depth(depth));
    if let Some(principal) = outer.principal() {
        context = context.with_principal(principal);
    }
    if let Some(deadline) = outer.deadline() {
        context = context.with_deadline(deadline);
    }
    context
}

impl Talk<'_> {
    fn prompt(&self, text: String) -> Event {
        let by = self.session.run().owner().clone();
        let mut prompt = Prompt::new(vec![Part::text(text)], by, self.session.agent().now());
        prompt.taint.clone_from(&self.taint);
        if self.tool.answering.is_some() {
            prompt = prompt.until(FinalAnswer::NAME);
        }
        Event::Prompt(prompt)
    }

    /// Lets the inner run go on until it has an answer.
    async fn go(&mut self, first: Option<Event>) -> Result<Output, CallError> {
        let mut event = first.or_else(|| self.next());
        let mut reminded = false;
        loop {
            let reply = self.session.drive(self.session.agent().gate(), event.take()).await.map_err(failed)?;
            if reply.phase == Phase::Suspended {
                self.ask().await?;
                continue;
            }
            let Some(answering) = &self.tool.answering else { return said(reply) };
            match answering.given(self.session.run()) {
                Some(json) => return Ok(Output::from_json(json)),
                None if reply.phase == Phase::Finished && !reminded => {
                    reminded = true;
                    event = Some(self.prompt(FinalAnswer::REMINDER.to_owned()));
                }
                None => return said(reply).and_then(|_| Err(Failure::new(NO_ANSWER).into())),
            }
        }
    }

    /// Returns the event that lets a run go on that was left where it is.
    fn next(&self) -> Option<Event> {
        let by = self.session.run().owner().clone();
        match self.session.run().phase() {
            Phase::Stopped(StopReason::ModelFailed(_)) => Some(Event::Continue { by, at: self.session.agent().now() }),
            _ => None,
        }
    }

    /// Asks about the first thing that waits, until somebody has decided about it.
    async fn ask(&mut self) -> Result<(), CallError> {
        let Some(open) = self.session.interrupts().next().cloned() else { return Ok(()) };
        let name = self.session.run().call(open.id.call()).map(|call| call.name.clone()).unwrap_or_default();
        let mut feedback = None;
        loop {
            let Some(outside) = &self.outside else { return Err(Failure::new("nobody can be asked").into()) };
            let (decision, by) = outside.ask(&name, open.clone(), feedback.take()).await?;
            match self.session.decide(&open.id, decision, by).await {
                Ok(()) | Err(AgentError::Refused(Refusal::Closed { .. } | Refusal::Conflict { .. })) => return Ok(()),
                Err(AgentError::Refused(Refusal::Invalid { feedback: wrong })) => feedback = Some(wrong),
                Err(AgentError::Refused(refusal)) => feedback = Some(Rejection::from_message(refusal.to_string())),
                Err(error) => return Err(failed(error)),
            }
        }
    }
}

const NO_ANSWER: &str = "the agent gave no answer of the wanted type";

/// Returns the outcome of an inner run whose answer is its last text.
fn said(reply: Reply) -> Result<Output, CallError> {
    let told = match reply.phase {
        Phase::Finished => return Ok(Output::json(&reply.text)?),
        Phase::Stopped(StopReason::StepLimit) if reply.text.is_empty() => "the agent has used all its steps".to_owned(),
        Phase::Stopped(StopReason::StepLimit) => {
            format!("the agent has used all its steps; it said last: {}", reply.text)
        }
        Phase::Stopped(StopReason::Cut(_)) => "the agent's answer was cut".to_owned(),
        Phase::Stopped(StopReason::Denied) => "the agent was stopped: somebody denied one of its calls".to_owned(),
        Phase::Stopped(StopReason::OverBudget(limit)) => format!("the agent was stopped: {limit}"),
        _ => "the agent was stopped".to_owned(),
    };
    Err(Failure::new(told).into())
}

fn failed(error: AgentError) -> CallError {
    match error {
        AgentError::Cancelled => CallError::Cancelled,
        AgentError::Model(error) => Failure::new("the agent's model failed").source(error).retryable().into(),
        AgentError::Refused(refusal) => Failure::new(refusal.to_string()).into(),
        error => Failure::new("the agent could not go on").source(error).into(),
    }
}
