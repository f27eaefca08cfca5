//! A driver that has not begun.

use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    sync::Arc,
};

use tokio::{sync::mpsc, task::JoinSet, time::Instant};

use super::{Attempts, Clocks, Driver, History, Kept, journal::Ties, trace::Trace};
use crate::agent::Agent;
use crate::message::ToolCall;
use crate::run::Inspector;

impl<'a> Driver<'a> {
    pub(in crate::agent) fn new(agent: &Agent, inspector: Inspector, kept: &'a mut Kept) -> Self {
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
            mending: JoinSet::new(),
            bad: Vec::new(),
            effects: VecDeque::new(),
            live: HashMap::default(),
            ties: Arc::new(ties),
            asked,
            held: Vec::new(),
            worked,
            asking: None,
            given: None,
            people: VecDeque::new(),
            person: None,
            refreshed: Instant::now(),
            alarm: None,
            cancelled: None,
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
    pub(in crate::agent) fn without_model(mut self) -> Self {
        self.holds = true;
        self
    }

    /// The same, with a first turn that makes the call `given`.
    pub(in crate::agent) fn saying(mut self, given: Option<ToolCall>) -> Self {
        self.given = given;
        self
    }
}
