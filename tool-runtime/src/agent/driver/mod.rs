//! Drives a run: performs what its log says is to be done, and tells it what came of it.
//!
//! An event leads to entries ([`step`](crate::run::step)), the entries go into the store, and only then anything is done.

mod journal;
mod keep;
mod lease;
mod look;
mod people;
mod tell;
mod turn;
mod wait;
mod work;

use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    sync::Arc,
};

use tokio::{sync::mpsc, task::JoinSet, time::Instant};

use super::{Agent, AgentError, Event as Told};
use crate::message::{AssistantPart, Message};
use crate::model::ModelError;
use crate::run::{CallId, Effect, Event, Inspector, ObligationId, Phase, Refusal, Run, StopReason, Time, step};
use crate::tool::Context;
use journal::{Asked, Ties};
pub(super) use keep::{Kept, now};
use look::Looked;
use people::Person;
use turn::Asking;
use wait::Happened;
use work::{Live, Worked};

/// How many places for things to do are kept.
const SOME: usize = 16;

/// What a run has under way, and what it is to do next.
pub(super) struct Driver<'a> {
    agent: Agent,
    inspector: Inspector,
    kept: &'a mut Kept,
    /// Whom the store knows this driver as: nobody else has the name.
    worker: String,
    /// Calls to look at.
    looks: VecDeque<CallId>,
    /// Calls that their tools' validators look at.
    readings: JoinSet<Looked>,
    /// What is to be done when the log is kept.
    effects: VecDeque<Effect>,
    live: HashMap<CallId, Live, foldhash::fast::RandomState>,
    ties: Arc<Ties>,
    asked: mpsc::UnboundedReceiver<Asked>,
    worked: mpsc::UnboundedReceiver<Worked>,
    asking: Option<Asking>,
    /// Obligations that the front has not been asked about yet.
    people: VecDeque<ObligationId>,
    person: Option<Person>,
    /// When the run was last read from its store.
    refreshed: Instant,
    /// Whether time was the last that happened.
    was_time: bool,
    wakes: BTreeSet<Time>,
    /// What the calls of a turn may know in common.
    turn_context: Context,
    failure: Option<ModelError>,
    details: HashMap<CallId, String, foldhash::fast::RandomState>,
}

impl<'a> Driver<'a> {
    pub(super) fn new(agent: &Agent, inspector: Inspector, kept: &'a mut Kept) -> Self {
        let (tell_asked, asked) = mpsc::unbounded_channel();
        let (tell_worked, worked) = mpsc::unbounded_channel();
        let ties = Ties { asked: tell_asked, worked: tell_worked, front: Arc::clone(&agent.front) };
        Self {
            agent: agent.clone(),
            inspector,
            kept,
            worker: uuid::Uuid::new_v4().to_string(),
            looks: VecDeque::new(),
            readings: JoinSet::new(),
            effects: VecDeque::new(),
            live: HashMap::default(),
            ties: Arc::new(ties),
            asked,
            worked,
            asking: None,
            people: VecDeque::new(),
            person: None,
            refreshed: Instant::now(),
            was_time: false,
            wakes: BTreeSet::new(),
            turn_context: agent.context.clone(),
            failure: None,
            details: HashMap::default(),
        }
    }

    /// Goes on, after `event`, until the run has finished, was stopped, or waits for somebody who is not there.
    pub(super) async fn drive(mut self, event: Option<Event>) -> Result<Phase, AgentError> {
        self.take_lease().await?;
        let done = self.run(event).await;
        let released = self.give_lease_back().await;
        let phase = done?;
        released?;
        self.tell(Told::RunPaused(&phase));
        match (phase, self.failure.take()) {
            (Phase::Stopped(_), Some(error)) => Err(error.into()),
            (Phase::Stopped(StopReason::Cancelled), None) => Err(AgentError::Cancelled),
            (phase, _) => Ok(phase),
        }
    }

    async fn run(&mut self, event: Option<Event>) -> Result<Phase, AgentError> {
        self.forget_unkept().await?;
        self.refresh().await?;
        if self.kept.run.current().iter().any(|call| call.result().is_none()) {
            self.share_conversation();
        }
        // Whatever ran when the run was left is lost; nothing of it is under way here.
        self.feed(Event::Recover { at: now() })?;
        // What was over before does not wait for a timer: nobody may be there to keep the run waiting for it.
        self.feed(Event::Tick { at: now() })?;
        if let Some(event) = event
            && let Err(refusal) = self.feed(event)
        {
            // Nothing may be started that is not done.
            self.looks.clear();
            self.keep().await?;
            return Err(refusal.into());
        }
        loop {
            self.look();
            self.keep().await?;
            self.perform();
            if self.is_done() {
                if !self.refresh().await? {
                    return Ok(self.kept.run.phase());
                }
                continue;
            }
            if !self.looks.is_empty() || !self.effects.is_empty() {
                continue;
            }
            let happened = self.next().await;
            self.handle(happened).await?;
            // What is there already goes into the same append.
            self.take_worked();
        }
    }

    /// Tells the run what happened. What follows waits in `looks` and `effects`.
    fn feed(&mut self, event: Event) -> Result<(), Refusal> {
        let (log, effects) = step(&self.kept.run, event)?;
        self.kept.add(log);
        for effect in effects {
            match effect {
                Effect::Inspect(call) => self.looks.push_back(call),
                effect => self.effects.push_back(effect),
            }
        }
        Ok(())
    }

    /// The same for what may come too late: then it means nothing any more.
    fn feed_late(&mut self, event: Event) {
        let _ = self.feed(event);
    }

    /// Does what the log says is to be done.
    fn perform(&mut self) {
        let mut last = 0;
        let starts = self.effects.iter().filter(|effect| matches!(effect, Effect::Execute { .. })).count();
        self.live.reserve(starts);
        while let Some(effect) = self.effects.pop_front() {
            match effect {
                Effect::CallModel => self.ask_model(),
                Effect::AbortModel => self.asking = None,
                Effect::Inspect(call) => self.looks.push_back(call),
                Effect::Execute { call, attempt } => self.execute(call, attempt, &mut last),
                Effect::Abort(call) => self.abort(&call),
                Effect::Announce(obligation) => self.announce(obligation),
                Effect::Wake(at) => {
                    self.wakes.insert(at);
                }
            }
        }
        // Many calls at once are rare; their places are not kept.
        self.effects.shrink_to(SOME);
        self.looks.shrink_to(SOME);
        self.ask_people();
    }

    fn is_done(&self) -> bool {
        match self.kept.run.phase() {
            Phase::Idle | Phase::Finished | Phase::Stopped(_) => true,
            Phase::Suspended => self.person.is_none() && self.people.is_empty(),
            Phase::Generating | Phase::Acting => false,
        }
    }

    async fn handle(&mut self, happened: Happened) -> Result<(), AgentError> {
        match happened {
            Happened::Worked(worked) => self.worked(worked, now()),
            Happened::Looked(joined) => self.joined_look(joined),
            Happened::Asked(asked) => self.asked(asked).await?,
            Happened::Delta(delta) => self.delta(delta),
            Happened::Decided(decided) => self.person_decided(decided),
            Happened::Time => self.time_passed().await?,
            Happened::Cancelled => {
                let by = self.kept.run.owner().clone();
                self.feed(Event::Cancel { by, at: now() })?;
            }
        }
        Ok(())
    }

    /// Lets the calls of the turn share the conversation as the model sees it.
    fn share_conversation(&mut self) -> Arc<[Message]> {
        let messages = conversation(&self.agent, &self.kept.run);
        let cx = self.agent.context.clone().with_messages(Arc::clone(&messages));
        self.turn_context = cx.with_taint(self.kept.run.taint());
        messages
    }

    /// What a call may know.
    fn context(&self, call: &CallId) -> Context {
        self.tainted(self.turn_context.clone().for_shared(call.shared()))
    }

    /// More calls of the turn may have ended since.
    fn tainted(&self, cx: Context) -> Context {
        let taint = self.kept.run.taint();
        if cx.taint().len() == taint.len() { cx } else { cx.with_taint(taint) }
    }
}

/// The conversation with the instructions, up to the turn whose calls are dealt with.
pub(super) fn conversation(agent: &Agent, run: &Run) -> Arc<[Message]> {
    let messages = match (run.phase(), run.messages()) {
        (Phase::Acting | Phase::Suspended, [before @ .., Message::Assistant { content }]) if has_call(content, run) => {
            before
        }
        (_, all) => all,
    };
    let system = agent.instructions.as_deref().map(Message::system);
    system.into_iter().chain(messages.iter().cloned()).collect()
}

/// Whether it is the turn at hand that says this.
fn has_call(said: &[AssistantPart], run: &Run) -> bool {
    let mut ids = said.iter().filter_map(|part| match part {
        AssistantPart::Call(call) => Some(call.id.as_str()),
        _ => None,
    });
    ids.next() == run.current().first().map(|call| call.id.as_str())
}
