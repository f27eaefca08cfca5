//! Questions and steps of running tools, on their way to the run.

use std::sync::{
    Arc, Mutex, OnceLock, PoisonError,
    atomic::{AtomicU32, Ordering},
};

use futures_util::future::BoxFuture;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use super::{Driver, Worked, now, tell::tell};
use crate::agent::{AgentError, Event as Told, Front};
use crate::run::{Answer, Answered, Call, CallId, Event, Question, StepRecord};
use crate::tool::{Failure, Journal, Progress};

/// Something that a running tool wants of its run.
pub(super) enum Asked {
    Question { call: CallId, attempt: u32, question: Question, reply: Reply<Answer> },
    Step { call: CallId, attempt: u32, name: String, value: Value, reply: Reply<()> },
}

/// Where the calls of a run say what they have to say.
pub(super) struct Ties {
    pub(super) asked: mpsc::UnboundedSender<Asked>,
    pub(super) worked: mpsc::UnboundedSender<Worked>,
    pub(super) front: Arc<dyn Front>,
}

pub(super) type Reply<T> = oneshot::Sender<Result<T, Failure>>;

/// A call that was started, as its task and its driver know it: its journal, in one allocation with what else it has.
pub(super) struct CallJournal {
    pub(super) call: CallId,
    /// Which start of the call it is; another when it goes on after an answer.
    pub(super) attempt: AtomicU32,
    asked: AtomicU32,
    pub(super) ties: Arc<Ties>,
    /// How it was written, and what was done and answered when the call ran before.
    before: Option<Box<Before>>,
    /// The steps that were taken since it started, and how often. Made at the first.
    taken: OnceLock<Box<Taken>>,
}

type Taken = Mutex<Vec<(String, usize)>>;

struct Before {
    given: Option<Arc<str>>,
    answers: Vec<Answered>,
    steps: Vec<StepRecord>,
}

impl CallJournal {
    pub(super) fn new(call: &Call, attempt: u32, ties: Arc<Ties>) -> Self {
        let given = call.revisions().last().filter(|_| call.arguments().by.is_none()).map(|given| given.text.clone());
        let before = Before { given, answers: call.answers().to_vec(), steps: call.steps().to_vec() };
        let is_first = before.given.is_none() && before.answers.is_empty() && before.steps.is_empty();
        Self {
            call: call.id.clone(),
            attempt: AtomicU32::new(attempt),
            asked: AtomicU32::new(0),
            ties,
            before: (!is_first).then(|| Box::new(before)),
            taken: OnceLock::new(),
        }
    }

    pub(super) fn attempt(&self) -> u32 {
        self.attempt.load(Ordering::SeqCst)
    }
}

impl Journal for CallJournal {
    fn report(&self, progress: Progress) {
        tell(&*self.ties.front, Told::CallProgress(&progress));
    }

    fn given(&self) -> Option<&str> {
        self.before.as_ref()?.given.as_deref()
    }

    fn ask(&self, question: Question) -> BoxFuture<'static, Result<Answer, Failure>> {
        let number = self.asked.fetch_add(1, Ordering::SeqCst);
        if let Some(known) = self.before.as_ref().and_then(|before| before.answers.get(number as usize)) {
            let answer = if known.question == question.digest() {
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

    fn record(&self, name: &str, value: Value) -> BoxFuture<'static, Result<(), Failure>> {
        let (reply, answer) = oneshot::channel();
        let (call, name) = (self.call.clone(), name.to_owned());
        let asked = Asked::Step { call, attempt: self.attempt(), name, value, reply };
        send(&self.ties.asked, asked, answer)
    }
}

fn send<T: Send + 'static>(
    run: &mpsc::UnboundedSender<Asked>,
    asked: Asked,
    answer: oneshot::Receiver<Result<T, Failure>>,
) -> BoxFuture<'static, Result<T, Failure>> {
    let sent = run.send(asked);
    Box::pin(async move {
        match (sent, answer.await) {
            (Ok(()), Ok(answer)) => answer,
            // The run has ended the call, and this future will be dropped.
            _ => Err(Failure::told("the run does not go on")),
        }
    })
}

impl Driver<'_> {
    /// A running tool asks, or took a step.
    pub(super) async fn asked(&mut self, asked: Asked) -> Result<(), AgentError> {
        match asked {
            Asked::Question { call, attempt, question, reply } => {
                match self.feed(Event::Asked { call: call.clone(), attempt, question, at: now() }) {
                    Ok(()) => {
                        if let Some(live) = self.live.get_mut(&call) {
                            live.pause(reply);
                        }
                    }
                    Err(refusal) => drop(reply.send(Err(Failure::told(refusal.to_string())))),
                }
            }
            Asked::Step { call, attempt, name, value, reply } => {
                let recorded = self.feed(Event::Stepped { call, attempt, name, value });
                // The tool goes on when the step is safe, not before.
                self.keep().await?;
                let _ = reply.send(recorded.map_err(|refusal| Failure::told(refusal.to_string())));
            }
        }
        Ok(())
    }
}
