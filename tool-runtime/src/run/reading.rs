//! What a tool says of arguments, before anybody judges them.

use std::{sync::Arc, time::Duration};

use futures_util::{
    FutureExt,
    future::{BoxFuture, Either, select},
};

use crate::feedback::Rejection;
use crate::tool::{CallError, Context, Started};
use crate::toolset::Toolset;

/// Arguments as their tool has read them.
pub(crate) struct Read {
    /// The text that was read.
    pub(super) text: Arc<str>,
    pub(super) outcome: Result<Taken, CallError>,
}

/// Arguments that the tool takes.
pub(super) struct Taken {
    pub(super) needs_approval: bool,
    /// The arguments as validators changed them, where they did.
    pub(super) normalized: Option<Arc<str>>,
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
    Taken { needs_approval: started.needs_approval, normalized: started.normalized.map(Arc::from) }
}
