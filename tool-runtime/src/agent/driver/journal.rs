//! Questions and steps of running tools, on their way to the run.

use std::panic::AssertUnwindSafe;
use std::sync::{
    Arc, Mutex, OnceLock, PoisonError,
    atomic::{AtomicU32, Ordering},
};

use futures_util::{FutureExt as _, future::BoxFuture};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use super::{
    Driver, Worked,
    inside::{AskedInside, Outer},
    tell::{contained, tell},
};
use crate::agent::{AgentError, Event as Told, Front};
use crate::run::{Answer, Answered, Call, CallId, Event, Question, Spent, Stage, StepRecord};
use crate::tool::{Failure, Journal, Progress};

/// Something that a running tool wants of its run.
pub(super) enum Asked {
    Question { call: CallId, attempt: u32, question: Question, reply: Reply<Answer> },
    Begin { call: CallId, attempt: u32, name: String, reply: Reply<()> },
    Step { call: CallId, attempt: u32, name: String, value: Value, spent: Spent, reply: Reply<()> },
    Inside(AskedInside),
}

/// Where the calls of a run say what they have to say.
pub(in crate::agent) struct Ties {
    pub(super) asked: mpsc::UnboundedSender<Box<Asked>>,
    pub(super) worked: mpsc::UnboundedSender<Worked>,
    pub(in crate::agent) front: Arc<dyn Front>,
}

pub(super) type Reply<T> = oneshot::Sender<Result<T, Failure>>;

/// A call that was started, as its task and its driver know it: its journal, in one allocation with what else it has.
pub(in crate::agent) struct CallJournal {
    pub(in crate::agent) call: CallId,
    /// Which start of the call it is; another when it goes on after an answer.
    pub(super) attempt: AtomicU32,
    asked: AtomicU32,
    /// Returns whether the log keeps when a step begins.
    keeps_begun: bool,
    pub(in crate::agent) ties: Arc<Ties>,
    /// How it was written, and what was done and answered when the call ran before.
    pub(super) before: Option<Box<Before>>,
    /// The steps that were taken since it started, and how often. Made at the first.
    taken: OnceLock<Box<Taken>>,
    /// Whether nobody hears it any more: the call has ended, whether or not its tool has.
    closed: Mutex<bool>,
}

type Taken = Mutex<Vec<(String, usize)>>;

pub(super) struct Before {
    given: Option<Arc<str>>,
    pub(super) answers: Vec<Answered>,
    steps: Vec<StepRecord>,
    /// The run that the call belongs to, where the call is a run of its own.
    pub(super) outer: Option<Outer>,
}

impl CallJournal {
    pub(super) fn new(call: &Call, attempt: u32, ties: Arc<Ties>, outer: Option<Outer>) -> Self {
        let given = call.revisions().last().filter(|_| call.arguments().by.is_none()).map(|given| given.text.clone());
        let before = Before { given, answers: call.answers().to_vec(), steps: call.steps().to_vec(), outer };
        let is_first = before.given.is_none() && before.answers.is_empty() && before.steps.is_empty();
        let is_first = is_first && before.outer.is_none();
        Self {
            call: call.id.clone(),
            attempt: AtomicU32::new(attempt),
            asked: AtomicU32::new(0),
            keeps_begun: call.tool.as_ref().is_some_and(|tool| tool.keeps_begun_steps()),
            ties,
            before: (!is_first).then(|| Box::new(before)),
            taken: OnceLock::new(),
            closed: Mutex::new(false),
        }
    }

    /// Says that the call has ended: what its tool still reports is not told.
    pub(super) fn close(&self) {
        *self.closed.lock().unwrap_or_else(PoisonError::into_inner) = true;
    }

    pub(super) fn attempt(&self) -> u32 {
        self.attempt.load(Ordering::SeqCst)
    }
}

/// Tells the front how far a call has come, unless that has ended.
pub(in crate::agent) fn tell_progress(closed: &Mutex<bool>, front: &dyn Front, progress: &Progress) {
    // Held while it is told, so that nothing is told of a call behind its end.
    let closed = closed.lock().unwrap_or_else(PoisonError::into_inner);
    if !*closed {
        tell(front, Told::CallProgress(progress));
    }
}

/// Waits until the front has room for more of a call.
pub(in crate::agent) fn room<'a>(front: &'a dyn Front, call: &'a CallId) -> Option<BoxFuture<'a, ()>> {
    let room = contained(|| front.room(call)).flatten()?;
    Some(Box::pin(AssertUnwindSafe(room).catch_unwind().map(drop)))
}

impl Journal for CallJournal {
    fn report(&self, progress: Progress) {
        tell_progress(&self.closed, &*self.ties.front, &progress);
    }

    fn room(&self) -> Option<BoxFuture<'_, ()>> {
        room(&*self.ties.front, &self.call)
    }

    fn as_any(&self) -> Option<&dyn std::any::Any> {
        Some(self)
    }

    fn given(&self) -> Option<&str> {
        self.before.as_ref()?.given.as_deref()
    }

    fn ask(&self, question: Question) -> BoxFuture<'static, Result<Answer, Failure>> {
        let number = self.asked.fetch_add(1, Ordering::SeqCst);
        if let Some(known) = self.before.as_ref().and_then(|before| before.answers.get(number as usize)) {
            let answer = if question.is(known.question) {
                Ok(known.answer.clone())
            } else {
                Err(Failure::hidden("the tool asks something else than when it ran before"))
            };
            return Box::pin(std::future::ready(answer));
        }
        let (reply, answer) = oneshot::channel();
        let asked = Asked::Question { call: self.call.clone(), attempt: self.attempt(), question, reply };
        send(&self.ties.asked, asked, answer)
    }

    fn recorded(&self, name: &str) -> Option<Value> {
        let mut taken = self.taken.get_or_init(Box::default).lock().unwrap_or_else(PoisonError::into_inner);
        let at = taken.iter().position(|(known, _)| known == name).unwrap_or_else(|| {
            taken.push((name.to_owned(), 0));
            taken.len() - 1
        });
        let count = &mut taken[at].1;
        let step =
            self.before.as_ref().and_then(|before| before.steps.iter().filter(|step| step.name == name).nth(*count));
        *count += 1;
        step.map(|step| step.value.clone())
    }

    fn begin(&self, name: &str) -> Option<BoxFuture<'static, Result<(), Failure>>> {
        let (reply, answer) = oneshot::channel();
        let begin = || Asked::Begin { call: self.call.clone(), attempt: self.attempt(), name: name.to_owned(), reply };
        self.keeps_begun.then(|| send(&self.ties.asked, begin(), answer))
    }

    fn record(&self, name: &str, value: Value) -> BoxFuture<'static, Result<(), Failure>> {
        self.record_spent(name, value, Spent::default())
    }
}

pub(super) fn send<T: Send + 'static>(
    run: &mpsc::UnboundedSender<Box<Asked>>,
    asked: Asked,
    answer: oneshot::Receiver<Result<T, Failure>>,
) -> BoxFuture<'static, Result<T, Failure>> {
    let sent = run.send(Box::new(asked));
    Box::pin(async move {
        match (sent, answer.await) {
            (Ok(()), Ok(answer)) => answer,
            // The run has ended the call, and this future will be dropped.
            _ => Err(Failure::told("the run does not go on")),
        }
    })
}

impl Asked {
    fn call(&self) -> &CallId {
        match self {
            Self::Question { call, .. }
            | Self::Begin { call, .. }
            | Self::Step { call, .. }
            | Self::Inside(AskedInside { call, .. }) => call,
        }
    }
}

impl Driver<'_> {
    /// Keeps what a call wants that waits for an answer to another question: it is asked next. A step can be kept meanwhile.
    fn hold(&mut self, asked: Asked) -> Option<Asked> {
        let call = asked.call();
        let waits = self.live.get(call).is_some_and(super::Live::waits);
        let is_open = || self.kept.run.call(call).is_some_and(|call| call.stage() == Stage::Open);
        if !waits || matches!(asked, Asked::Begin { .. } | Asked::Step { .. }) && is_open() {
            return Some(asked);
        }
        self.held.push(asked);
        None
    }

    /// Takes up what a call wants that goes on.
    pub(super) fn take_held(&mut self, call: &CallId) {
        for asked in self.held.extract_if(.., |asked| asked.call() == call) {
            // Behind what came before it, and what the call wants now.
            let _ = self.ties.asked.send(Box::new(asked));
        }
    }

    /// The start of a call that one of its task's was: a task goes through several when it asks.
    pub(super) fn attempt(&self, call: &CallId, attempt: u32) -> u32 {
        self.live.get(call).filter(|live| live.is_of(attempt)).map_or(attempt, super::Live::attempt)
    }

    /// A running tool asks, or took a step.
    pub(super) async fn asked(&mut self, asked: Asked) -> Result<(), AgentError> {
        let Some(asked) = self.hold(asked) else { return Ok(()) };
        match asked {
            Asked::Question { call, attempt, question, reply } => {
                let attempt = self.attempt(&call, attempt);
                match self.feed(Event::Asked { call: call.clone(), attempt, question, at: self.now() }) {
                    Ok(()) => self.pause(&call, reply),
                    Err(refusal) => drop(reply.send(Err(Failure::told(refusal.to_string())))),
                }
            }
            Asked::Inside(asked) => self.asked_inside(asked),
            Asked::Begin { call, attempt, name, reply } => {
                let attempt = self.attempt(&call, attempt);
                let begun = self.feed(Event::Stepping { call, attempt, name });
                // The step begins when that is safe, not before.
                self.keep().await?;
                let _ = reply.send(begun.map_err(|refusal| Failure::told(refusal.to_string())));
            }
            Asked::Step { call, attempt, name, value, spent, reply } => {
                let attempt = self.attempt(&call, attempt);
                let recorded = self.feed(Event::Stepped { call, attempt, name, value, spent });
                // The tool goes on when the step is safe, not before.
                self.keep().await?;
                let _ = reply.send(recorded.map_err(|refusal| Failure::told(refusal.to_string())));
            }
        }
        Ok(())
    }
}
