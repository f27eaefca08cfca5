//! Arguments as a tool reads them, before anybody judges them.

use std::{
    collections::HashMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    task::{Context as Task, Poll, Waker},
    time::Duration,
};

use futures_util::{
    FutureExt,
    future::{BoxFuture, Either, select},
};
use serde_json::{Map, Value};
use tool_run::judge::{Read, Taken};

use crate::feedback::Rejection;
use crate::tool::{CallError, Context, Failure};
use crate::toolset::{Accepted, Prepared, Toolset};
use tool_run::run::Author;
use tool_schema::json::text;

/// Changes arguments that a tool has accepted: their text, and the arguments themselves.
pub(crate) type Refine = dyn Fn(&str, &mut Map<String, Value>, &Context) + Send + Sync;

/// Arguments as their tool has read them, and the call itself where the text that was read is what would run.
pub(crate) struct ReadCall {
    pub(crate) read: Read,
    #[cfg_attr(not(feature = "agent"), allow(dead_code, reason = "only the loop runs calls"))]
    pub(crate) prepared: Option<Prepared>,
}

/// The tool's answer to arguments, and the call itself.
type Outcome = (Result<Taken, CallError>, Option<Prepared>);

impl ReadCall {
    fn new(text: Arc<str>, (outcome, prepared): Outcome) -> Self {
        Self { read: Read { text, outcome }, prepared }
    }
}

fn outcome(read: Result<Accepted, CallError>, prepared: Prepared) -> Outcome {
    let Accepted { needs_approval, normalized, touches } = match read {
        Ok(accepted) => accepted,
        Err(error) => return (Err(error), None),
    };
    let prepared = Some(prepared).filter(|_| normalized.is_none());
    (Ok(Taken { needs_approval, normalized, touches, author: Author::Validators }), prepared)
}

/// Returns the tool's answer to refined arguments, as if it had made them of those before.
fn refined(read: Read) -> Outcome {
    let refined = read.outcome.map(|taken| {
        let normalized = Some(taken.normalized.clone().unwrap_or(read.text));
        Taken { normalized, author: Author::Refinement, ..taken }
    });
    (refined, None)
}

/// The refined text of arguments that were accepted; what came of them before, where nothing was changed.
fn again(taken: Taken, text: &Arc<str>, refine: &Refine, cx: &Context) -> Result<Arc<str>, Result<Taken, CallError>> {
    let text = taken.normalized.as_deref().unwrap_or(text);
    let text = if text::is_blank(text) { "{}" } else { text };
    let Ok(before) = serde_json::from_str::<Map<String, Value>>(text) else { return Err(Ok(taken)) };
    let mut after = before.clone();
    if catch_unwind(AssertUnwindSafe(|| refine(text, &mut after, cx))).is_err() {
        return Err(Err(Failure::hidden("the refinement of the arguments panicked").into()));
    }
    if after == before {
        return Err(Ok(taken));
    }
    // What was left as it was keeps its digits.
    let mut written: HashMap<String, String> = text::entries(text).into_iter().collect();
    let text_of = |(name, value): (&String, &Value)| {
        let kept = written.remove(name).filter(|_| before.get(name) == Some(value));
        (name.clone(), kept.unwrap_or_else(|| value.to_string()))
    };
    Ok(text::object(&after.iter().map(text_of).collect::<Vec<_>>()).into())
}

/// Arguments that a tool reads: at once, or when its validators have answered.
pub(crate) enum Reading {
    Done(ReadCall),
    Asking(Asking),
}

/// Arguments whose tool asks its validators.
pub(crate) struct Asking {
    text: Arc<str>,
    work: BoxFuture<'static, Outcome>,
}

impl Asking {
    fn new(text: &Arc<str>, work: impl Future<Output = Outcome> + Send + 'static) -> Self {
        Self { text: Arc::clone(text), work: work.boxed() }
    }

    /// Waits for the validators, but not longer than `limit`: with `late`, which is ready when the time is over.
    #[cfg_attr(not(feature = "agent"), allow(dead_code, reason = "only the driver has a clock"))]
    pub(crate) async fn within(self, limit: Duration, late: impl Future<Output = ()>) -> ReadCall {
        let Self { text, work } = self;
        let late = std::pin::pin!(late);
        let outcome = match select(work, late).await {
            Either::Left((outcome, _)) => outcome,
            Either::Right(_) => {
                let told = format!("the arguments could not be checked within {} s", limit.as_secs_f64());
                (Err(Rejection::from_message(told).instruct("Try again later.").into()), None)
            }
        };
        ReadCall::new(text, outcome)
    }

    async fn done(self) -> ReadCall {
        ReadCall::new(self.text, self.work.await)
    }
}

impl Reading {
    /// Lets the tool `name` read `text`.
    pub(super) fn begin(tools: &Toolset, name: &str, text: &Arc<str>, cx: &Context) -> Self {
        let mut prepared = tools.prepare(name, text, cx.clone());
        match prepared.poll_read(&mut Task::from_waker(Waker::noop())) {
            Poll::Ready(read) => Self::Done(ReadCall::new(Arc::clone(text), outcome(read, prepared))),
            Poll::Pending => Self::Asking(Asking::new(text, async move {
                let read = prepared.read().await;
                outcome(read, prepared)
            })),
        }
    }

    /// Lets the tool `name` read `text`, and reads again what `refine` makes of arguments that it accepts.
    pub(super) fn refined(
        tools: &Toolset,
        name: &str,
        text: &Arc<str>,
        cx: &Context,
        refine: Option<&Arc<Refine>>,
    ) -> Self {
        let first = Self::begin(tools, name, text, cx);
        let Some(refine) = refine else { return first };
        match first {
            Self::Done(ReadCall { read: Read { outcome: Ok(taken), .. }, prepared }) => {
                match again(taken, text, &**refine, cx) {
                    Err(outcome) => Self::Done(ReadCall::new(Arc::clone(text), (outcome, prepared))),
                    Ok(again) => match Self::begin(tools, name, &again, cx) {
                        Self::Done(call) => Self::Done(ReadCall::new(Arc::clone(text), refined(call.read))),
                        Self::Asking(asking) => {
                            Self::Asking(Asking::new(text, async move { refined(asking.done().await.read) }))
                        }
                    },
                }
            }
            Self::Done(call) => Self::Done(call),
            Self::Asking(asking) => {
                let (tools, cx, name) = (tools.clone(), cx.clone(), name.to_owned());
                let (own, refine) = (Arc::clone(text), Arc::clone(refine));
                Self::Asking(Asking::new(text, async move {
                    let ReadCall { read, prepared } = asking.done().await;
                    let taken = match read.outcome {
                        Ok(taken) => taken,
                        Err(error) => return (Err(error), None),
                    };
                    match again(taken, &own, &*refine, &cx) {
                        Err(outcome) => (outcome, prepared),
                        Ok(text) => refined(Self::begin(&tools, &name, &text, &cx).done().await.read),
                    }
                }))
            }
        }
    }

    /// Waits for the tool's answer.
    pub(crate) async fn done(self) -> ReadCall {
        match self {
            Self::Done(call) => call,
            Self::Asking(asking) => asking.done().await,
        }
    }
}
