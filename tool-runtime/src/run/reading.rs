//! What a tool says of arguments, before anybody judges them.

use std::{
    collections::HashMap,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};

use futures_util::{
    FutureExt,
    future::{BoxFuture, Either, select},
};
use serde_json::{Map, Value};

use super::Author;
#[cfg(feature = "agent")]
use super::Shown;
use crate::feedback::Rejection;
use crate::text;
#[cfg(feature = "agent")]
use crate::tool::ToolSpec;
use crate::tool::{CallError, Context, Failure, Started, Touches};
use crate::toolset::Toolset;

/// Arguments as their tool has read them.
pub(crate) struct Read {
    /// The text that was read.
    pub(super) text: Arc<str>,
    pub(super) outcome: Result<Taken, CallError>,
}

impl Read {
    /// What a person is shown of the arguments that would be used.
    #[cfg(feature = "agent")]
    pub(crate) fn shown(&self, spec: &ToolSpec) -> Result<Shown, Rejection> {
        match &self.outcome {
            Ok(taken) => Shown::new(spec, taken.normalized.as_deref().unwrap_or(&self.text), &[]),
            Err(CallError::Rejected(feedback)) => Err(feedback.clone()),
            Err(error) => Err(error.feedback().cloned().unwrap_or_else(|| Rejection::told(error.to_string()))),
        }
    }
}

/// Arguments that the tool takes.
pub(super) struct Taken {
    pub(super) needs_approval: bool,
    /// The arguments as validators changed them, where they did.
    pub(super) normalized: Option<Arc<str>>,
    /// What the call reads and writes, where the tool says so.
    pub(super) touches: Option<Arc<Touches>>,
    /// Who changed them last.
    pub(super) author: Author,
}

/// Changes arguments that a tool has accepted: their text, and the arguments themselves.
pub(crate) type Refine = dyn Fn(&str, &mut Map<String, Value>, &Context) + Send + Sync;

impl Read {
    /// What the tool says of refined arguments, as if it had made them of those before.
    fn refined(self) -> Result<Taken, CallError> {
        let taken = self.outcome?;
        let normalized = Some(taken.normalized.clone().unwrap_or(self.text));
        Ok(Taken { normalized, author: Author::Refinement, ..taken })
    }
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
    Done(Read),
    Asking(Asking),
}

/// Arguments whose tool asks its validators.
pub(crate) struct Asking {
    text: Arc<str>,
    work: BoxFuture<'static, Result<Taken, CallError>>,
}

impl Asking {
    /// Waits for the validators, but not longer than `limit`: with `late`, which is ready when the time is over.
    #[cfg_attr(not(feature = "agent"), allow(dead_code, reason = "only the driver has a clock"))]
    pub(crate) async fn within(self, limit: Duration, late: impl Future<Output = ()>) -> Read {
        let Self { text, work } = self;
        let late = std::pin::pin!(late);
        let outcome = match select(work, late).await {
            Either::Left((outcome, _)) => outcome,
            Either::Right(_) => {
                let told = format!("the arguments could not be checked within {} s", limit.as_secs_f64());
                Err(Rejection::told(told).instruct("Try again later.").into())
            }
        };
        Read { text, outcome }
    }

    async fn done(self) -> Read {
        let Self { text, work } = self;
        Read { text, outcome: work.await }
    }
}

impl Reading {
    /// Lets the tool `name` read `text`.
    pub(super) fn begin(tools: &Toolset, name: &str, text: &Arc<str>, cx: &Context) -> Self {
        if let Ok(started) = tools.start(name, text, cx).now() {
            let outcome = started.map(taken);
            return Self::Done(Read { text: Arc::clone(text), outcome });
        }
        let (tools, cx, name, arguments) = (tools.clone(), cx.clone(), name.to_owned(), Arc::clone(text));
        let work = async move { tools.start(&name, &arguments, &cx).await.map(taken) };
        Self::Asking(Asking { text: Arc::clone(text), work: work.boxed() })
    }

    /// The same; what the tool takes is refined, and what comes of it read again.
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
            Self::Done(Read { outcome: Ok(taken), .. }) => match again(taken, text, &**refine, cx) {
                Err(outcome) => Self::Done(Read { text: Arc::clone(text), outcome }),
                Ok(refined) => match Self::begin(tools, name, &refined, cx) {
                    Self::Done(read) => Self::Done(Read { text: Arc::clone(text), outcome: read.refined() }),
                    Self::Asking(asking) => {
                        let work = async move { asking.done().await.refined() };
                        Self::Asking(Asking { text: Arc::clone(text), work: work.boxed() })
                    }
                },
            },
            Self::Done(read) => Self::Done(read),
            Self::Asking(asking) => {
                let (tools, cx, name) = (tools.clone(), cx.clone(), name.to_owned());
                let (text, refine) = (Arc::clone(text), Arc::clone(refine));
                let own = Arc::clone(&text);
                let work = async move {
                    match again(asking.done().await.outcome?, &text, &*refine, &cx) {
                        Err(outcome) => outcome,
                        Ok(refined) => Self::begin(&tools, &name, &refined, &cx).done().await.refined(),
                    }
                };
                Self::Asking(Asking { text: own, work: work.boxed() })
            }
        }
    }

    /// What the tool says in the end.
    pub(crate) async fn done(self) -> Read {
        match self {
            Self::Done(read) => read,
            Self::Asking(asking) => asking.done().await,
        }
    }
}

#[allow(clippy::needless_pass_by_value, reason = "its work is dropped: nothing of it may run")]
fn taken(started: Started<'_>) -> Taken {
    let Started { needs_approval, normalized, touches, .. } = started;
    Taken { needs_approval, normalized: normalized.map(Arc::from), touches, author: Author::Validators }
}
