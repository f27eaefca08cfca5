//! Drives a run: performs what its log says is to be done, and tells it what came of it.
//!
//! An event leads to entries ([`step`](crate::run::step)), the entries go into the store, and only then anything is done.

mod alert;
mod ask;
mod asking;
mod feed;
mod history;
mod inputs;
mod inside;
mod journal;
mod keep;
mod lease;
mod leave;
mod limits;
mod look;
mod mend;
mod onward;
mod people;
mod tell;
mod trace;
mod turn;
mod wait;
mod work;

use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    sync::Arc,
};

use tokio::{sync::mpsc, task::JoinSet, time::Instant};

use super::{Agent, AgentError, Event as Told, single::Underway};
use crate::message::ToolCall;
use crate::model::ModelError;
use crate::run::{CallId, Effect, Event, Inspector, LogEvent, ObligationId, Phase, StopReason, Time};
use crate::tool::Context;
use crate::toolset::ToolList;
use asking::Asking;
use history::History;
pub(super) use history::conversation;
use journal::{Asked, Ties};
pub(super) use journal::{CallJournal, room, tell_progress};
pub(super) use keep::Kept;
pub(super) use leave::Commit;
use limits::Clocks;
use look::Looked;
pub(super) use look::in_time;
use mend::Mending;
use onward::Attempts;
use people::Person;
pub(super) use tell::tell;
use trace::Trace;
pub(super) use trace::is_traced;
use wait::Waits;
pub(super) use work::spawn;
use work::{Live, Worked};

/// How many places for things to do are kept.
const SOME: usize = 16;

/// What a run has under way, and what it is to do next.
pub(super) struct Driver<'a> {
    agent: Agent,
    inspector: Inspector,
    /// Whether the agent or a tool of it has hooks around arguments.
    hears: bool,
    kept: &'a mut Kept,
    /// Whom the store knows this driver as: nobody else has the name.
    worker: String,
    /// Calls to look at.
    looks: VecDeque<CallId>,
    /// Calls that their tools' validators look at.
    readings: JoinSet<Looked>,
    /// Calls that are being mended, and their ids.
    mending: JoinSet<Box<Mending>>,
    bad: Vec<CallId>,
    /// What is to be done when the log is kept.
    effects: VecDeque<Effect>,
    /// Room for what follows from an event.
    lists: (Vec<LogEvent>, Vec<Effect>),
    live: HashMap<CallId, Live, foldhash::fast::RandomState>,
    ties: Arc<Ties>,
    asked: mpsc::UnboundedReceiver<Box<Asked>>,
    /// What calls want that wait for an answer.
    held: Vec<Asked>,
    worked: mpsc::UnboundedReceiver<Worked>,
    asking: Option<Asking>,
    /// The next turn, where somebody else than the model says it.
    given: Option<ToolCall>,
    /// A call that goes on in this run.
    underway: Option<Underway>,
    /// Obligations that the front has not been asked about yet.
    people: VecDeque<ObligationId>,
    person: Option<Person>,
    /// When the run was last read from its store.
    refreshed: Instant,
    /// Set while all that is new is that nobody follows the run any more.
    is_leaving: bool,
    waits: Waits,
    /// Whether time was the last that happened.
    was_time: bool,
    /// The turn of the model since the prompt whose end was not told yet.
    step: Option<usize>,
    wakes: BTreeSet<Time>,
    history: History,
    /// What the calls of a turn may know in common.
    turn_context: Context,
    /// Whether the model is not asked: the run is left where it would be. And whether it is there.
    holds: bool,
    is_held: bool,
    failure: Option<ModelError>,
    /// The tools on offer, where nothing else is said for a step.
    list: Option<ToolList>,
    attempts: Attempts,
    clocks: Clocks,
    details: HashMap<CallId, String, foldhash::fast::RandomState>,
    trace: Trace,
}

impl<'a> Driver<'a> {
    pub(super) fn new(agent: &Agent, inspector: Inspector, kept: &'a mut Kept) -> Self {
        let (tell_asked, asked) = mpsc::unbounded_channel();
        let (tell_worked, worked) = mpsc::unbounded_channel();
        Self {
            agent: agent.clone(),
            hears: Self::has_hooks(agent, &inspector),
            inspector,
            kept,
            worker: uuid::Uuid::new_v4().to_string(),
            looks: VecDeque::new(),
            readings: JoinSet::new(),
            mending: JoinSet::new(),
            bad: Vec::new(),
            effects: VecDeque::new(),
            lists: (Vec::new(), Vec::new()),
            live: HashMap::default(),
            ties: Arc::new(Ties { asked: tell_asked, worked: tell_worked, front: Arc::clone(&agent.front) }),
            asked,
            held: Vec::new(),
            worked,
            asking: None,
            given: None,
            underway: None,
            people: VecDeque::new(),
            person: None,
            refreshed: Instant::now(),
            is_leaving: false,
            waits: Waits::default(),
            was_time: false,
            step: None,
            wakes: BTreeSet::new(),
            history: History::default(),
            turn_context: agent.context.clone(),
            holds: false,
            is_held: false,
            failure: None,
            list: None,
            attempts: Attempts::default(),
            clocks: Clocks::default(),
            details: HashMap::default(),
            trace: Trace::new(agent),
        }
    }

    /// The same, but the run is left where the model would be asked.
    pub(super) fn without_model(mut self) -> Self {
        self.holds = true;
        self
    }

    /// The same, with a first turn that makes the call `given`.
    pub(super) fn saying(mut self, given: ToolCall) -> Self {
        self.given = Some(given);
        self
    }

    /// The same, where the first call to be started is under way already.
    pub(super) fn with_underway(mut self, underway: Option<Underway>) -> Self {
        self.underway = underway;
        self
    }

    /// Goes on, after `event`, until the run has finished, was stopped, or waits for somebody who is not there.
    pub(super) async fn drive(mut self, event: Option<Event>) -> Result<Phase, AgentError> {
        #[cfg_attr(
            not(feature = "tracing"),
            allow(clippy::let_unit_value, reason = "without traces a span is nothing")
        )]
        let span = self.trace.begin(&self.agent, &self.kept.run);
        let drive = async {
            let done = self.drive_on(event).await;
            self.trace.over(&self.kept.run, &done);
            done
        };
        trace::within(span, drive).await
    }

    async fn drive_on(&mut self, event: Option<Event>) -> Result<Phase, AgentError> {
        self.take_lease().await?;
        let done = self.run(event).await;
        let released = self.give_lease_back().await;
        let phase = done?;
        released?;
        self.tell(Told::RunPaused(&phase));
        match (phase, self.failure.take()) {
            (Phase::Stopped(StopReason::ModelFailed(_)), Some(error)) => Err(error.into()),
            (Phase::Stopped(StopReason::Cancelled), None) => Err(AgentError::Cancelled),
            (phase, _) => Ok(phase),
        }
    }

    async fn run(&mut self, event: Option<Event>) -> Result<Phase, AgentError> {
        self.restart_run_clock();
        self.forget_unkept().await?;
        self.refresh().await?;
        let is_busy = matches!(self.kept.run.phase(), Phase::Generating | Phase::Acting | Phase::Suspended);
        self.step = is_busy.then(|| self.kept.run.steps() as usize);
        if self.kept.run.current().iter().any(|call| call.result().is_none()) {
            self.share_conversation();
        }
        // Whatever ran when the run was left is lost; nothing of it is under way here.
        self.feed(Event::Recover { at: self.now() })?;
        // What was over before does not wait for a timer: nobody may be there to keep the run waiting for it.
        self.feed(Event::Tick { at: self.now() })?;
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
            self.commit().await?;
            self.keep().await?;
            self.perform();
            if self.is_done() {
                if let Ok(asked) = self.asked.try_recv() {
                    // What a call wants beside what it waits for.
                    self.asked(*asked).await?;
                    continue;
                }
                if !self.refresh().await? && !self.take_late_word() {
                    return Ok(self.kept.run.phase());
                }
                continue;
            }
            if !self.looks.is_empty() || !self.effects.is_empty() {
                continue;
            }
            if self.leave().await? {
                continue;
            }
            // What has changed may be waited for in another way.
            self.waits.alert.raise();
            loop {
                let happened = self.next().await;
                let is_piece = happened.is_piece();
                self.handle(happened).await?;
                if !(is_piece && self.only_listens()) {
                    break;
                }
            }
            // What is there already goes into the same append.
            self.take_worked();
        }
    }

    /// Does what the log says is to be done.
    fn perform(&mut self) {
        let mut last = 0;
        let starts = self.effects.iter().filter(|effect| matches!(effect, Effect::Execute { .. })).count();
        self.live.reserve(starts);
        while let Some(effect) = self.effects.pop_front() {
            match effect {
                Effect::CallModel if self.holds => self.is_held = true,
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

    /// Whether the model's turn goes on, and nothing else followed from what happened.
    fn only_listens(&self) -> bool {
        self.asking.is_some() && self.kept.is_kept() && self.looks.is_empty() && self.effects.is_empty()
    }
}
