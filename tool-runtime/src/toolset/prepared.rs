//! A call that is read once: first to be judged, then to run.

use std::{
    fmt,
    future::poll_fn,
    sync::{Arc, Mutex, PoisonError},
    task::{self, Poll},
};

use futures_util::future::BoxFuture;

use super::{Toolset, dispatch::begin};
use crate::tool::{CallError, CallFuture, Context, DynTool, Output, Resources, Started};

/// A call with its arguments, owned: one future, which reads the arguments, rests, and then runs the tool.
///
/// [`Prepared::poll_read`] polls it up to its rest, and [`Prepared::run`] from there on. Dropped in between, nothing of the
/// tool has run.
pub(crate) struct Prepared {
    call: BoxFuture<'static, Result<Output, CallError>>,
    reading: Reading,
}

/// The tool's statement about arguments that it accepts.
#[derive(Debug)]
pub(crate) struct Accepted {
    /// Set if somebody must approve the call first.
    pub(crate) needs_approval: bool,
    /// The arguments as validators changed them, where they did.
    pub(crate) normalized: Option<Arc<str>>,
    /// The resources that the call reads and writes, where its tool declares them.
    pub(crate) touches: Option<Arc<Resources>>,
}

impl Toolset {
    /// Returns the call of the tool `name`. Nothing is read before it is polled.
    pub(crate) fn prepare(&self, name: &str, arguments: &Arc<str>, cx: Context) -> Prepared {
        match self.admitted(name, arguments) {
            Ok(tool) => Prepared::new(Arc::clone(tool), Arc::clone(arguments), cx),
            Err(error) => Prepared::refused(error),
        }
    }
}

impl Prepared {
    /// Returns the call of `tool`.
    pub(crate) fn new(tool: Arc<dyn DynTool>, arguments: Arc<str>, cx: Context) -> Self {
        let reading = Arc::new(Mutex::new(None));
        Self { call: Box::pin(call(tool, arguments, cx, Arc::clone(&reading))), reading }
    }

    fn refused(error: CallError) -> Self {
        let reading = Arc::new(Mutex::new(Some(Err(error))));
        Self { call: Box::pin(std::future::pending()), reading }
    }

    /// Lets the tool read the arguments. Pending while its validators wait for somebody.
    pub(crate) fn poll_read(&mut self, task: &mut task::Context<'_>) -> Poll<Result<Accepted, CallError>> {
        if let Some(read) = self.take_read() {
            return Poll::Ready(read);
        }
        // It rests when the arguments are read, and nobody polls it again before they are judged.
        let _ = self.call.as_mut().poll(task);
        self.take_read().map_or(Poll::Pending, Poll::Ready)
    }

    /// Lets the tool read the arguments, and waits for its validators.
    pub(crate) async fn read(&mut self) -> Result<Accepted, CallError> {
        poll_fn(|task| self.poll_read(task)).await
    }

    /// Runs a call whose arguments were read. It may panic where the tool does.
    #[cfg(feature = "agent")]
    pub(crate) fn run(self) -> CallFuture<'static> {
        self.call
    }

    /// Reads arguments that were accepted before, and runs the call.
    ///
    /// Fails when a validator understands them otherwise now: that is not what was judged, and maybe approved.
    #[cfg(feature = "agent")]
    pub(crate) async fn run_again(mut self) -> Result<Output, CallError> {
        super::dispatch::unchanged(self.read().await?.normalized.as_deref())?;
        self.run().await
    }

    fn take_read(&self) -> Option<Result<Accepted, CallError>> {
        self.reading.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl fmt::Debug for Prepared {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Prepared")
    }
}

/// The place where a call leaves its tool's answer to the arguments.
type Reading = Arc<Mutex<Option<Result<Accepted, CallError>>>>;

/// The future of a call. It rests once, when `reading` holds what the tool states about the arguments.
async fn call(tool: Arc<dyn DynTool>, arguments: Arc<str>, cx: Context, reading: Reading) -> Result<Output, CallError> {
    let started = match begin(&*tool, &arguments, &cx).now() {
        Ok(started) => started,
        // Whoever polls first only wants to know what needs no wait. Boxed, so that calls that do not wait are small.
        Err(asking) => {
            Box::pin(async {
                yield_once().await;
                asking.await
            })
            .await
        }
    };
    let Some(work) = leave(started, reading) else { return std::future::pending().await };
    rest().await;
    work.await
}

/// Leaves the tool's answer in `reading`, and returns the work of a call that it accepts.
#[allow(clippy::needless_pass_by_value, reason = "it ends here: a call that runs does not hold it")]
fn leave(started: Result<Started<'_>, CallError>, reading: Reading) -> Option<CallFuture<'_>> {
    let (read, work) = match started {
        Ok(Started { needs_approval, normalized, touches, work }) => {
            (Ok(Accepted { needs_approval, normalized: normalized.map(Arc::from), touches }), Some(work))
        }
        Err(error) => (Err(error), None),
    };
    *reading.lock().unwrap_or_else(PoisonError::into_inner) = Some(read);
    work
}

/// Is pending once. Nobody is woken: whoever judges the call polls it again.
async fn rest() {
    let mut rested = false;
    poll_fn(|_| if std::mem::replace(&mut rested, true) { Poll::Ready(()) } else { Poll::Pending }).await;
}

/// Is pending once, and wakes its task.
async fn yield_once() {
    let mut yielded = false;
    poll_fn(|task| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        task.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

#[cfg(all(test, feature = "agent"))]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use futures_util::FutureExt as _;
    use serde_json::json;

    use super::*;
    use crate::toolset::RuntimeTool;

    fn counting(ran: &Arc<AtomicU32>) -> Toolset {
        let ran = Arc::clone(ran);
        let schema = json!({ "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"] });
        let tool = RuntimeTool::new("count", "Counts.").input(schema).handler(move |_, _| {
            ran.fetch_add(1, Ordering::SeqCst);
            async { Ok(json!(1)) }
        });
        Toolset::new().with(tool.unwrap()).unwrap()
    }

    #[test]
    fn nothing_runs_before_it_is_judged() {
        let ran = Arc::default();
        let tools = counting(&ran);
        let mut call = tools.prepare("count", &r#"{"n":1}"#.into(), Context::new("call_1"));
        assert!(!call.read().now_or_never().unwrap().unwrap().needs_approval);
        assert_eq!(ran.load(Ordering::SeqCst), 0);
        call.run().now_or_never().unwrap().unwrap();
        assert_eq!(ran.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn refused_arguments_say_so_and_never_run() {
        let ran = Arc::default();
        let tools = counting(&ran);
        for (name, arguments) in [("count", "{}"), ("other", "{}")] {
            let mut call = tools.prepare(name, &arguments.into(), Context::new("call_1"));
            assert!(call.read().now_or_never().unwrap().is_err());
            assert!(call.run().now_or_never().is_none());
        }
        assert_eq!(ran.load(Ordering::SeqCst), 0);
    }
}
