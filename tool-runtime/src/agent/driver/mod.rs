//! Drives a run: performs what its log says is to be done, and tells it what came of it.
//!
//! An event leads to entries ([`step`](crate::run::step)), the entries go into the store, and only then anything is done.

mod journal;
mod keep;
mod people;
mod turn;
mod work;

use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    future::pending,
    sync::Arc,
    time::Duration,
};

use futures_util::future::BoxFuture;
use tokio::{sync::mpsc, task::JoinSet, time::Instant};

use super::{Agent, AgentError, Event as Told};
use crate::message::Message;
use crate::model::ModelError;
use crate::run::{
    CallId, Decision, Effect, Event, Inspector, LogEvent, ObligationId, Phase, Refusal, Stage, Time, step,
};
use crate::store::Lease;
use crate::tool::Context;
use journal::Asked;
pub(super) use keep::{Kept, now};
use turn::Asking;
use work::{Live, Worked};

/// How often a run that waits for somebody is looked up in its store.
const POLL: Duration = Duration::from_millis(200);

/// What a run has under way, and what it is to do next.
pub(super) struct Driver<'a> {
    agent: Agent,
    inspector: Inspector,
    kept: &'a mut Kept,
    /// Whom the store knows this driver as: nobody else has the name.
    worker: String,
    lease: Option<Lease>,
    /// Calls to look at.
    looks: VecDeque<CallId>,
    /// What is to be done when the log is kept.
    effects: VecDeque<Effect>,
    jobs: JoinSet<Worked>,
    live: HashMap<CallId, Live>,
    asked: (mpsc::UnboundedSender<Asked>, mpsc::UnboundedReceiver<Asked>),
    asking: Option<Asking>,
    /// Obligations that the front has not been asked about yet.
    people: VecDeque<ObligationId>,
    person: Option<BoxFuture<'static, (ObligationId, Option<Decision>)>>,
    wakes: BTreeSet<Time>,
    /// The conversation as the model saw it last, for tools.
    messages: Arc<[Message]>,
    failure: Option<ModelError>,
    details: HashMap<CallId, String>,
}

/// Something that the driver waited for.
enum Happened {
    Worked(Worked),
    Asked(Asked),
    Delta(Option<Result<crate::model::Delta, ModelError>>),
    Decided(ObligationId, Option<Decision>),
    Time,
    Cancelled,
}

impl<'a> Driver<'a> {
    pub(super) fn new(agent: &Agent, inspector: Inspector, kept: &'a mut Kept) -> Self {
        Self {
            agent: agent.clone(),
            inspector,
            kept,
            worker: uuid::Uuid::new_v4().to_string(),
            lease: None,
            looks: VecDeque::new(),
            effects: VecDeque::new(),
            jobs: JoinSet::new(),
            live: HashMap::new(),
            asked: mpsc::unbounded_channel(),
            asking: None,
            people: VecDeque::new(),
            person: None,
            wakes: BTreeSet::new(),
            messages: Arc::default(),
            failure: None,
            details: HashMap::new(),
        }
    }

    /// Goes on, after `event`, until the run has finished, was stopped, or waits for somebody who is not there.
    pub(super) async fn drive(mut self, event: Option<Event>) -> Result<Phase, AgentError> {
        self.take_lease().await?;
        let done = self.run(event).await;
        let released = self.give_lease_back().await;
        let phase = done?;
        released?;
        self.agent.front.event(Told::RunPaused(&phase));
        match (phase, self.failure.take()) {
            (Phase::Stopped(_), Some(error)) => Err(error.into()),
            (Phase::Stopped(crate::run::StopReason::Cancelled), None) => Err(AgentError::Cancelled),
            (phase, _) => Ok(phase),
        }
    }

    async fn run(&mut self, event: Option<Event>) -> Result<Phase, AgentError> {
        self.refresh().await?;
        // Whatever ran when the run was left is lost; nothing of it is under way here.
        self.feed(Event::Recover { at: now() })?;
        if let Some(event) = event
            && let Err(refusal) = self.feed(event)
        {
            self.look();
            self.keep().await?;
            return Err(refusal.into());
        }
        loop {
            self.look();
            self.keep().await?;
            self.perform();
            if self.is_done() && !self.refresh().await? {
                return Ok(self.kept.run.phase());
            }
            if !self.looks.is_empty() || !self.effects.is_empty() {
                continue;
            }
            let happened = self.next().await;
            self.handle(happened).await?;
            // What is there already goes into the same append.
            while let Some(Ok(worked)) = self.jobs.try_join_next() {
                self.worked(worked);
            }
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

    /// Looks at the calls that are to be looked at. Costs no time, so nothing else can happen in between.
    fn look(&mut self) {
        while let Some(id) = self.looks.pop_front() {
            let Some(call) = self.kept.run.call(&id) else { continue };
            if !matches!(call.stage(), Stage::Proposed | Stage::Ready | Stage::Open) {
                continue;
            }
            let inspection = self.inspector.inspect(&self.kept.run, call, &self.context(&id));
            self.feed_late(Event::Inspected { call: id, inspection, at: now() });
        }
    }

    /// Does what the log says is to be done.
    fn perform(&mut self) {
        while let Some(effect) = self.effects.pop_front() {
            match effect {
                Effect::CallModel => self.ask_model(),
                Effect::AbortModel => self.asking = None,
                Effect::Inspect(call) => self.looks.push_back(call),
                Effect::Execute { call, attempt } => self.execute(call, attempt),
                Effect::Abort(call) => self.abort(&call),
                Effect::Announce(obligation) => self.announce(obligation),
                Effect::Wake(at) => {
                    self.wakes.insert(at);
                }
            }
        }
        self.ask_people();
    }

    fn is_done(&self) -> bool {
        match self.kept.run.phase() {
            Phase::Idle | Phase::Finished | Phase::Stopped(_) => true,
            Phase::Suspended => self.person.is_none() && self.people.is_empty(),
            Phase::Generating | Phase::Acting => false,
        }
    }

    async fn next(&mut self) -> Happened {
        let timer = self.timer();
        let cancellation = self.agent.context.cancellation().clone();
        tokio::select! {
            biased;
            () = cancellation.cancelled() => Happened::Cancelled,
            Some(joined) = self.jobs.join_next(), if !self.jobs.is_empty() => match joined {
                Ok(worked) => Happened::Worked(worked),
                // Aborted: its call has ended already.
                Err(_) => Happened::Time,
            },
            Some(asked) = self.asked.1.recv() => Happened::Asked(asked),
            (obligation, decision) = some(&mut self.person) => Happened::Decided(obligation, decision),
            delta = Asking::next(&mut self.asking) => Happened::Delta(delta),
            () = tokio::time::sleep_until(timer.unwrap_or_else(Instant::now)), if timer.is_some() => Happened::Time,
        }
    }

    async fn handle(&mut self, happened: Happened) -> Result<(), AgentError> {
        match happened {
            Happened::Worked(worked) => self.worked(worked),
            Happened::Asked(asked) => self.asked(asked).await?,
            Happened::Delta(delta) => self.delta(delta),
            Happened::Decided(obligation, decision) => self.person_decided(&obligation, decision),
            Happened::Time => self.time_passed().await?,
            Happened::Cancelled => {
                let by = self.kept.run.owner().clone();
                self.feed(Event::Cancel { by, at: now() })?;
            }
        }
        Ok(())
    }

    /// When something is to be looked at again.
    fn timer(&self) -> Option<Instant> {
        let limits = self.live.values().filter_map(|live| live.deadline);
        let wake = self.wakes.first().map(|at| {
            let millis = at.0.saturating_sub(now().0);
            Instant::now() + Duration::from_millis(millis)
        });
        let waits = self.kept.run.obligations().next().is_some();
        let poll = (waits && self.agent.store.is_some()).then(|| Instant::now() + POLL);
        let lease = self.lease.as_ref().map(|lease| {
            let millis = lease.until.0.saturating_sub(now().0) / 2;
            Instant::now() + Duration::from_millis(millis)
        });
        limits.chain(wake).chain(poll).chain(lease).min()
    }

    async fn time_passed(&mut self) -> Result<(), AgentError> {
        let time = now();
        if self.wakes.first().is_some_and(|at| *at <= time) {
            self.wakes.retain(|at| *at > time);
            self.feed_late(Event::Tick { at: time });
        }
        self.end_overdue();
        self.prolong_lease().await?;
        self.refresh().await?;
        Ok(())
    }

    /// What a call may know.
    fn context(&self, call: &CallId) -> Context {
        self.agent.context.clone().for_call(call.as_str()).with_taint(self.kept.run.taint())
    }

    /// Tells the front what went into the log.
    fn publish(&mut self, events: &[LogEvent]) {
        let run = &self.kept.run;
        for event in events {
            let told = match event {
                LogEvent::TurnStarted { .. } => Some(Told::StepStarted { step: run.steps() as usize }),
                LogEvent::Opened { call, obligation } => {
                    run.call(call).map(|call| Told::CallOpened { call, obligation })
                }
                LogEvent::Decided { obligation, decision, by, .. } => {
                    run.call(obligation.call()).map(|call| Told::CallDecided { call, obligation, decision, by })
                }
                LogEvent::Started { call, .. } => run.call(call).map(Told::CallStarted),
                LogEvent::Ended { call, result, .. } => run.call(call).map(|call| {
                    let detail = self.details.get(&call.id).map(String::as_str);
                    Told::CallFinished { call, result, detail }
                }),
                _ => None,
            };
            if let Some(told) = told {
                self.agent.front.event(told);
            }
        }
        for event in events {
            if let LogEvent::Ended { call, .. } = event {
                self.details.remove(call);
            }
        }
    }
}

/// The future's output, when there is one.
async fn some<T>(future: &mut Option<BoxFuture<'static, T>>) -> T {
    match future {
        Some(running) => {
            let output = running.await;
            *future = None;
            output
        }
        None => pending().await,
    }
}
