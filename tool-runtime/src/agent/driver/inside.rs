//! What a call that is a run of its own wants of the run that it belongs to.

use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio::sync::oneshot;

use super::{
    CallJournal, Driver,
    journal::{Asked, Reply, send},
};
use crate::feedback::Rejection;
use crate::run::{Answer, CallId, Event, Obligation, Principal, Run, Spent};
use crate::tool::{DynTool, Failure, Journal};

/// What a call knows of the run that it belongs to, if it is a run of its own.
#[derive(Clone, Debug)]
pub(in crate::agent) struct Outer {
    /// Whose it is.
    pub(in crate::agent) owner: Principal,
    /// How many calls it may still make.
    pub(in crate::agent) calls: u32,
    /// How many failed calls it may still try again.
    pub(in crate::agent) retries: u32,
    /// How many tokens its models may still use; `None` for any number.
    pub(in crate::agent) tokens: Option<u64>,
}

/// What somebody has to decide inside of a call.
pub(super) struct AskedInside {
    pub(super) call: CallId,
    pub(super) attempt: u32,
    pub(super) tool: String,
    pub(super) obligation: Box<Obligation>,
    pub(super) feedback: Option<Box<Rejection>>,
    pub(super) reply: Reply<Answer>,
}

impl Outer {
    pub(super) fn of(run: &Run) -> Self {
        let (calls, retries, tokens) = run.left();
        Self { owner: run.owner().clone(), calls, retries, tokens }
    }
}

impl CallJournal {
    /// The journal of a call that a driver runs.
    pub(in crate::agent) fn of(journal: &dyn Journal) -> Option<&Self> {
        journal.as_any()?.downcast_ref()
    }

    /// What the run is like that the call belongs to.
    pub(in crate::agent) fn outer(&self) -> Option<&Outer> {
        self.before.as_ref()?.outer.as_ref()
    }

    /// Asks about something that waits inside for the `tries`th time, from 0, unless that was decided when the call ran
    /// before.
    pub(in crate::agent) fn ask_inside(
        &self,
        tool: &str,
        open: Obligation,
        tries: usize,
        feedback: Option<Rejection>,
    ) -> BoxFuture<'static, Result<Answer, Failure>> {
        let digest = open.digest();
        let answers = self.before.iter().flat_map(|before| &before.answers);
        if let Some(known) = answers.filter(|known| known.question == digest).nth(tries) {
            return Box::pin(std::future::ready(Ok(known.answer.clone())));
        }
        let (reply, answer) = oneshot::channel();
        let (call, attempt) = (self.call.clone(), self.attempt());
        let (tool, obligation, feedback) = (tool.to_owned(), Box::new(open), feedback.map(Box::new));
        let asked = Asked::Inside(AskedInside { call, attempt, tool, obligation, feedback, reply });
        send(&self.ties.asked, asked, answer)
    }

    /// Keeps a step, and what it used of the run's limits.
    pub(in crate::agent) fn record_spent(
        &self,
        name: &str,
        value: Value,
        spent: Spent,
    ) -> BoxFuture<'static, Result<(), Failure>> {
        let (reply, answer) = oneshot::channel();
        let (call, name) = (self.call.clone(), name.to_owned());
        let asked = Asked::Step { call, attempt: self.attempt(), name, value, spent, reply };
        send(&self.ties.asked, asked, answer)
    }
}

impl Driver<'_> {
    /// Something waits inside of a running call.
    pub(super) fn asked_inside(&mut self, asked: AskedInside) {
        let AskedInside { call, attempt, tool, obligation, feedback, reply } = asked;
        let attempt = self.attempt(&call, attempt);
        let event = Event::AskedInside { call: call.clone(), attempt, tool, obligation, feedback, at: self.now() };
        match self.feed(event) {
            Ok(()) => self.pause(&call, reply),
            Err(refusal) => drop(reply.send(Err(Failure::told(refusal.to_string())))),
        }
    }

    /// Lets a call wait for an answer.
    pub(super) fn pause(&mut self, call: &CallId, reply: Reply<Answer>) {
        if let Some(live) = self.live.get_mut(call) {
            live.pause(reply);
        }
    }

    /// The run that a call of `tool` belongs to, if that is an agent.
    pub(super) fn outer(&self, tool: &dyn DynTool) -> Option<Outer> {
        (!tool.inside().is_empty() || tool.spec().traits.resumable).then(|| Outer::of(&self.kept.run))
    }
}
