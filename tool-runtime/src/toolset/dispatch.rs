//! One call: look up, decode, run, encode, and keep a panic inside.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    sync::Arc,
    task::{self, Poll},
};

use futures_util::FutureExt;

use super::Toolset;
use crate::feedback::{Problem, ProblemKind, Rejection};
use crate::tool::{CallError, CallFuture, Context, DynTool, Output, Starting};

impl Toolset {
    /// Calls the tool `name` with the JSON text `arguments`; blank text means `{}`.
    ///
    /// A panic in the tool ends only this call. Approvals, time limits and retries are the agent's business (and that of
    /// layers): here the call is made, whatever the declaration says about them.
    pub async fn call(&self, name: &str, arguments: &str, cx: &Context) -> Result<Output, CallError> {
        let started = match self.start(name, arguments, cx).now() {
            Ok(started) => started?,
            Err(asking) => asking.await?,
        };
        Contained(started.work).await
    }

    /// Looks up the tool `name` and lets it read `arguments`. Nothing runs before [`Started::work`](crate::tool::Started::work) is polled; [`call`](Self::call)
    /// polls it with panics kept inside.
    #[inline]
    pub fn start<'a>(&'a self, name: &str, arguments: &'a str, cx: &'a Context) -> Starting<'a> {
        match self.admitted(name, arguments) {
            Ok(tool) => begin(&**tool, arguments, cx),
            Err(error) => Starting::read(Err(error)),
        }
    }

    /// Looks up the tool `name` for arguments that are not too large.
    #[inline]
    pub(super) fn admitted(&self, name: &str, arguments: &str) -> Result<&Arc<dyn DynTool>, CallError> {
        let tool = self.get(name).ok_or_else(|| self.not_available(name))?;
        self.admit(arguments, "of arguments")?;
        Ok(tool)
    }

    /// Reads the output that somebody outside gave to a call of the external tool `name`: under the same limit on bytes and
    /// depth as arguments, and with panics kept inside.
    ///
    /// Fails when there is no such tool, it is not external, or the output is too large or not of its type.
    pub fn answer(&self, name: &str, output: &str) -> Result<Output, CallError> {
        let tool = self.get(name).ok_or_else(|| self.not_available(name))?;
        self.admit(output, "of output")?;
        contain(|| tool.answer(output))?
    }

    #[cold]
    fn not_available(&self, name: &str) -> CallError {
        CallError::NotAvailable { name: name.to_owned(), suggestion: self.nearest(name) }
    }

    #[inline]
    fn admit(&self, text: &str, what: &str) -> Result<(), Rejection> {
        let limit = self.inner.argument_limit;
        if text.len() <= limit { Ok(()) } else { Err(too_large(text.len(), limit, what)) }
    }
}

/// Lets `tool` read arguments; a panic in it becomes [`CallError::Panicked`].
#[inline]
pub(crate) fn begin<'a>(tool: &'a dyn DynTool, arguments: &'a str, cx: &'a Context) -> Starting<'a> {
    match contain(|| tool.start(arguments, cx)) {
        Ok(starting) => starting.wrap(|asking| {
            AssertUnwindSafe(asking).catch_unwind().map(|started| started.map_err(panicked).and_then(|started| started))
        }),
        Err(panicked) => Starting::read(Err(panicked)),
    }
}

/// The work of a call that was accepted before. Its validators are asked again: what was approved is a text, and much may
/// have happened since. As one box, so that a task that waits for it is small.
pub fn accepted(starting: Starting<'_>) -> CallFuture<'_> {
    match starting.now() {
        Ok(Ok(started)) => started.work,
        Ok(Err(error)) => Box::pin(std::future::ready(Err(error))),
        Err(asking) => Box::pin(async move {
            let started = asking.await?;
            unchanged(started.normalized.as_deref())?;
            started.work.await
        }),
    }
}

/// Fails when a validator understands arguments otherwise now that were accepted before: that is not what was judged, and
/// maybe approved.
pub fn unchanged(normalized: Option<&str>) -> Result<(), CallError> {
    match normalized {
        None => Ok(()),
        Some(_) => Err(Rejection::from_message(
            "the arguments are understood otherwise now than when the call was accepted; make it again",
        )
        .into()),
    }
}

/// Runs the work of a call; a panic in it becomes [`CallError::Panicked`].
pub async fn run(work: CallFuture<'_>) -> Result<Output, CallError> {
    Contained(work).await
}

/// The work of a call, of which no panic comes out.
struct Contained<'a>(CallFuture<'a>);

impl Future for Contained<'_> {
    type Output = Result<Output, CallError>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, task: &mut task::Context<'_>) -> Poll<Self::Output> {
        contain(|| self.0.as_mut().poll(task)).unwrap_or_else(|panicked| Poll::Ready(Err(panicked)))
    }
}

// What a tool leaves half-done when it panics is the tool's own; nothing of ours is shared with it.
#[inline]
pub fn contain<T>(work: impl FnOnce() -> T) -> Result<T, CallError> {
    catch_unwind(AssertUnwindSafe(work)).map_err(panicked)
}

/// How a call ends whose tool panicked.
#[cold]
#[allow(clippy::needless_pass_by_value, reason = "it ends here")]
pub(crate) fn panicked(panic: Box<dyn Any + Send>) -> CallError {
    CallError::Panicked { message: text_of(&*panic) }
}

fn text_of(panic: &(dyn Any + Send)) -> String {
    if let Some(text) = panic.downcast_ref::<&str>() {
        (*text).to_owned()
    } else if let Some(text) = panic.downcast_ref::<String>() {
        text.clone()
    } else {
        "a panic without a text".to_owned()
    }
}

#[cold]
fn too_large(bytes: usize, limit: usize, what: &str) -> Rejection {
    let problem = Problem::new("", ProblemKind::TooLarge, format!("at most {limit} bytes {what}"));
    Rejection::one(problem.got(format!("{bytes} bytes")))
}
