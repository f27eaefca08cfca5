//! The stages of one call: look up the tool, read the arguments, pause, and run the tool. Panics are contained.

use std::{
    any::Any,
    future::poll_fn,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    sync::{Arc, Mutex},
    task::{self, Poll, Waker},
    time::Duration,
};

use futures_util::{
    FutureExt,
    future::{BoxFuture, Either, select},
};

use super::Toolset;
use crate::feedback::{FeedbackFormat, Problem, ProblemKind, Rejection};
use crate::schema::ReadText;
use crate::sync::lock;
use crate::tool::{
    AcceptedCall, CallError, CallFuture, Context, ErasedTool, Output, PrepareFuture, panic_text, start, yield_once,
};
use tool_run::judge::{AcceptedArguments, ReadArguments};

impl Toolset {
    /// Calls the tool `name` with the JSON text `arguments`; blank text means `{}`.
    ///
    /// A panic in the tool ends only this call. Approvals, time limits and retries are the work of the agent and of layers: this
    /// method makes the call whatever the declaration says about them. The text of its error does not know the tool's effect; that of
    /// [`CallError::text_of`] does.
    pub async fn call(&self, name: &str, arguments: &str, cx: &Context) -> Result<Output, CallError> {
        let done = async {
            let tool = &**self.check_admitted(name, arguments)?;
            let work = prepare_tool(tool, arguments, cx).await?.work;
            run(start(tool, cx, work)).await
        };
        done.await.map_err(|error| self.explain(name, arguments, error, FeedbackFormat::default()))
    }

    /// Looks up the tool `name` and lets it read `arguments`. Its validators run, but the tool itself does not before
    /// [`AcceptedCall::work`](crate::tool::AcceptedCall::work) is polled. [`call`](Self::call) polls it and contains panics. It also adds
    /// the text for the model to a rejection; a rejection from here has only the JSON.
    #[inline]
    pub fn prepare<'a>(&'a self, name: &str, arguments: &'a str, cx: &'a Context) -> PrepareFuture<'a> {
        match self.check_admitted(name, arguments) {
            Ok(tool) => prepare_tool(&**tool, arguments, cx),
            Err(error) => PrepareFuture::read(Err(error)),
        }
    }

    /// Returns the tool `name`. Fails when there is no such tool, or the arguments are too large.
    #[inline]
    fn check_admitted(&self, name: &str, arguments: &str) -> Result<&Arc<dyn ErasedTool>, CallError> {
        let tool = self.get(name).ok_or_else(|| self.not_available(name))?;
        self.admit(arguments, "of arguments")?;
        Ok(tool)
    }

    /// Returns the arguments of a call of the tool `name` with the values that were sent in another form. Returns `None` if nothing is
    /// read: the tool is not [`lenient`](crate::tool::ToolOptions::lenient), for example, or the arguments are too large.
    pub(crate) fn read_values(&self, name: &str, arguments: &str) -> Option<ReadText> {
        self.check_admitted(name, arguments).ok()?.spec().read_values(arguments)
    }

    /// Reads the output that a client gave to a call of the external tool `name`. The limits on bytes and depth are those of
    /// arguments, and panics are contained.
    ///
    /// Fails when there is no such tool, it is not external, or the output is too large or has the wrong type.
    pub fn read_external_output(&self, name: &str, output: &str) -> Result<Output, CallError> {
        let tool = self.get(name).ok_or_else(|| self.not_available(name))?;
        self.admit(output, "of output")?;
        contain(|| tool.read_external_output(output))?
    }

    #[cold]
    fn not_available(&self, name: &str) -> CallError {
        CallError::NotAvailable { name: name.to_owned(), suggestion: self.nearest(name) }
    }

    #[inline]
    fn admit(&self, text: &str, what: &str) -> Result<(), Rejection> {
        let limit = self.inner.settings.max_argument_bytes;
        if text.len() <= limit { Ok(()) } else { Err(too_large(text.len(), limit, what)) }
    }
}

/// Lets `tool` read arguments; a panic in it becomes [`CallError::Panicked`].
#[inline]
fn prepare_tool<'a>(tool: &'a dyn ErasedTool, arguments: &'a str, cx: &'a Context) -> PrepareFuture<'a> {
    match contain(|| tool.prepare(arguments, cx).now()) {
        Ok(Ok(read)) => PrepareFuture::read(read),
        Ok(Err(asking)) => PrepareFuture::asking(
            AssertUnwindSafe(asking)
                .catch_unwind()
                .map(|started| started.map_err(panicked).and_then(|started| started)),
        ),
        Err(panicked) => PrepareFuture::read(Err(panicked)),
    }
}

/// Returns the work of a call that was accepted before. Asks the validators again, because their answers may have changed since.
pub async fn accepted_work(preparing: PrepareFuture<'_>) -> Result<CallFuture<'_>, CallError> {
    let asking = match preparing.now() {
        Ok(started) => return Ok(started?.work),
        Err(asking) => asking,
    };
    let started = asking.await?;
    check_unchanged(started.normalized.as_deref())?;
    Ok(started.work)
}

/// Checks that validators leave arguments unchanged that they accepted before. Fails when a validator changes them: the new
/// arguments were not judged, and maybe not approved.
pub fn check_unchanged(normalized: Option<&str>) -> Result<(), CallError> {
    match normalized {
        None => Ok(()),
        Some(_) => Err(Rejection::from_message(
            "the tool now reads the arguments differently than when it accepted the call; make the call again",
        )
        .into()),
    }
}

/// Runs the work of a call; a panic in it becomes [`CallError::Panicked`].
pub async fn run(work: impl Future<Output = Result<Output, CallError>>) -> Result<Output, CallError> {
    AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(|panic| Err(panicked(panic)))
}

// A tool that panics can leave only its own state half-done: it shares no state with the runtime.
#[inline]
pub fn contain<T>(work: impl FnOnce() -> T) -> Result<T, CallError> {
    catch_unwind(AssertUnwindSafe(work)).map_err(panicked)
}

#[cold]
#[allow(clippy::needless_pass_by_value, reason = "it ends here")]
pub(crate) fn panicked(panic: Box<dyn Any + Send>) -> CallError {
    CallError::Panicked { message: panic_text(&*panic).unwrap_or("a panic without a text").to_owned() }
}

#[cold]
fn too_large(bytes: usize, limit: usize, what: &str) -> Rejection {
    let problem = Problem::new("", ProblemKind::TooLarge, format!("at most {limit} bytes {what}"));
    Rejection::one(problem.got(format!("{bytes} bytes")))
}

/// A call as one future, which reads the arguments, pauses, and then runs the tool.
///
/// [`Prepared::poll_read`] polls it up to the pause, and [`Prepared::run`] from there on. If it is dropped in between, nothing of
/// the tool has run.
pub(crate) struct Prepared {
    call: CallFuture<'static>,
    reading: ReadSlot,
}

impl Prepared {
    /// Creates the call of `tool`, which owns its arguments. Nothing is read before it is polled.
    pub(crate) fn new(tool: Arc<dyn ErasedTool>, arguments: Arc<str>, cx: Context) -> Self {
        let reading = ReadSlot::default();
        Self { call: Box::pin(read_then_run(tool, arguments, cx, Arc::clone(&reading))), reading }
    }

    /// Lets the tool read the arguments. Pending while its validators wait.
    pub(crate) fn poll_read(&mut self, task: &mut task::Context<'_>) -> Poll<Result<AcceptedArguments, CallError>> {
        // The call pauses after reading the arguments, and is not polled again before they are judged.
        let _ = self.call.as_mut().poll(task);
        lock(&self.reading).take().map_or(Poll::Pending, Poll::Ready)
    }

    /// Lets the tool read the arguments, and waits for its validators.
    pub(crate) async fn read(&mut self) -> Result<AcceptedArguments, CallError> {
        poll_fn(|task| self.poll_read(task)).await
    }

    /// Runs a call whose arguments were read. It panics if the tool does.
    pub(crate) fn run(self) -> CallFuture<'static> {
        self.call
    }

    /// Reads arguments that were accepted before. Fails when a validator changes them: the new arguments were not judged, and
    /// maybe not approved.
    ///
    /// Fails when the validators have not answered within `limit`; then the future `late` completes.
    #[cfg(feature = "agent")]
    pub(crate) async fn read_again(
        &mut self,
        limit: Duration,
        late: impl Future<Output = ()>,
    ) -> Result<(), CallError> {
        let read = match select(pin!(self.read()), pin!(late)).await {
            Either::Left((read, _)) => read,
            Either::Right(_) => return Err(checked_too_late(limit)),
        };
        check_unchanged(read?.normalized.as_deref())
    }
}

#[cold]
fn checked_too_late(limit: Duration) -> CallError {
    let late = format!("the arguments could not be checked within {} s", limit.as_secs_f64());
    Rejection::from_message(late).instruct("Try again later.").into()
}

/// Arguments as their tool has read them. The call itself is present if it runs with exactly the text that was read.
pub(crate) struct ReadCall {
    pub(crate) read: ReadArguments,
    #[cfg_attr(not(feature = "agent"), allow(dead_code, reason = "only the loop runs calls"))]
    pub(crate) prepared: Option<Prepared>,
}

impl ReadCall {
    /// Returns the tool's answer to `text`, with the prepared call if validators left the text unchanged and no secret comes later.
    fn new(text: Arc<str>, outcome: Result<AcceptedArguments, CallError>, prepared: Prepared, cx: &Context) -> Self {
        let is_unchanged = outcome.as_ref().is_ok_and(|accepted| accepted.normalized.is_none());
        let runs_unchanged = is_unchanged && cx.wanted_secrets().is_empty();
        Self { prepared: runs_unchanged.then_some(prepared), ..Self::without_call(text, outcome) }
    }

    /// Returns the tool's answer to `text` without a prepared call: if the call runs, its tool reads the arguments again.
    pub(crate) fn without_call(text: Arc<str>, outcome: Result<AcceptedArguments, CallError>) -> Self {
        Self { read: ReadArguments { text, outcome }, prepared: None }
    }

    /// Returns the tool's answer to `sent`, which was read as `reading`. A rejection says how it was read.
    fn read_as(self, sent: Arc<str>, reading: Arc<ReadText>) -> Self {
        let outcome = match self.read.outcome {
            Ok(accepted) => Ok(accepted.read_as(reading)),
            Err(CallError::Rejected(rejection)) => {
                Err(reading.readings.iter().fold(rejection, Rejection::remark).into())
            }
            Err(error) => Err(error),
        };
        Self::without_call(sent, outcome)
    }
}

/// Arguments that a tool reads: at once, or when its validators have answered.
pub(crate) enum Reading {
    Done(ReadCall),
    Pending(PendingRead),
}

/// Arguments whose tool is asking its validators.
pub(crate) struct PendingRead {
    pub(crate) text: Arc<str>,
    pub(crate) work: BoxFuture<'static, ReadCall>,
}

impl PendingRead {
    /// Waits for the validators, but not longer than `limit`. The future `late` completes when that time is over.
    #[cfg_attr(not(feature = "agent"), allow(dead_code, reason = "only the driver has a clock"))]
    pub(crate) async fn within(self, limit: Duration, late: impl Future<Output = ()>) -> ReadCall {
        let Self { text, work } = self;
        let late = pin!(late);
        match select(work, late).await {
            Either::Left((call, _)) => call,
            Either::Right(_) => ReadCall::without_call(text, Err(checked_too_late(limit))),
        }
    }
}

impl Reading {
    /// Lets the tool `name` read `text`.
    pub(crate) fn begin(tools: &Toolset, name: &str, text: &Arc<str>, cx: Context) -> Self {
        let text = Arc::clone(text);
        let tool = match tools.check_admitted(name, &text) {
            Ok(tool) => Arc::clone(tool),
            Err(error) => return Self::Done(ReadCall::without_call(text, Err(error))),
        };
        let mut prepared = Prepared::new(tool, Arc::clone(&text), cx.clone());
        match prepared.poll_read(&mut task::Context::from_waker(Waker::noop())) {
            Poll::Ready(read) => Self::Done(ReadCall::new(text, read, prepared, &cx)),
            Poll::Pending => {
                let shown = Arc::clone(&text);
                let work = async move { ReadCall::new(shown, prepared.read().await, prepared, &cx) };
                Self::Pending(PendingRead { text, work: work.boxed() })
            }
        }
    }

    /// Lets the tool `name` read `reading`, which `sent` became.
    pub(crate) fn begin_read(tools: &Toolset, name: &str, sent: Arc<str>, reading: ReadText, cx: Context) -> Self {
        let (text, reading) = (Arc::from(&*reading.text), Arc::new(reading));
        match Self::begin(tools, name, &text, cx) {
            Self::Done(call) => Self::Done(call.read_as(sent, reading)),
            Self::Pending(asking) => {
                let text = Arc::clone(&sent);
                let work = async move { asking.work.await.read_as(sent, reading) };
                Self::Pending(PendingRead { text, work: work.boxed() })
            }
        }
    }

    /// Waits for the tool's answer.
    pub(crate) async fn done(self) -> ReadCall {
        match self {
            Self::Done(call) => call,
            Self::Pending(asking) => asking.work.await,
        }
    }
}

/// The slot in which a call stores its tool's answer to the arguments.
type ReadSlot = Arc<Mutex<Option<Result<AcceptedArguments, CallError>>>>;

/// Returns the future of a call. It pauses once, after it has stored the tool's answer to the arguments in `reading`.
#[allow(clippy::manual_async_fn, reason = "the future of an `async fn` holds each parameter twice")]
fn read_then_run(
    tool: Arc<dyn ErasedTool>,
    arguments: Arc<str>,
    cx: Context,
    reading: ReadSlot,
) -> impl Future<Output = Result<Output, CallError>> + Send {
    async move {
        let mut work = None;
        let asking = match prepare_tool(&*tool, &arguments, &cx).now() {
            Ok(started) => {
                work = separate_work(&reading, started);
                None
            }
            // The first poll may be that of `Reading::begin`, whose waker wakes nobody. So validators begin at the second one.
            // Boxed, so that calls that do not wait are small.
            Err(asking) => Some(Box::pin(async {
                yield_once().await;
                asking.await
            })),
        };
        if let Some(asking) = asking {
            work = separate_work(&reading, asking.await);
        }
        // A running call does not need the slot.
        drop(reading);
        pause().await;
        match work {
            Some(work) => start(&*tool, &cx, work).await,
            None => std::future::pending().await,
        }
    }
}

/// Stores the tool's answer to the arguments in `reading`, and returns the work if the tool accepts them.
fn separate_work<'a>(reading: &ReadSlot, started: Result<AcceptedCall<'a>, CallError>) -> Option<CallFuture<'a>> {
    let (read, work) = match started {
        Ok(AcceptedCall { needs_approval, normalized, touches, work }) => {
            (Ok(AcceptedArguments::new(needs_approval, normalized.map(Arc::from), touches)), Some(work))
        }
        Err(error) => (Err(error), None),
    };
    *lock(reading) = Some(read);
    work
}

/// Pauses a call: the future is pending once, and wakes nobody. The caller that judges the call polls it again.
async fn pause() {
    let mut rested = false;
    poll_fn(|_| if std::mem::replace(&mut rested, true) { Poll::Ready(()) } else { Poll::Pending }).await;
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
        let tool = tools.get("count").unwrap();
        let mut call = Prepared::new(Arc::clone(tool), r#"{"n":1}"#.into(), Context::new("call_1"));
        assert!(!call.read().now_or_never().unwrap().unwrap().needs_approval);
        assert_eq!(ran.load(Ordering::SeqCst), 0);
        call.run().now_or_never().unwrap().unwrap();
        assert_eq!(ran.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn refused_arguments_say_so_and_never_run() {
        let ran = Arc::default();
        let tools = counting(&ran);
        let mut call = Prepared::new(Arc::clone(tools.get("count").unwrap()), "{}".into(), Context::new("call_1"));
        assert!(call.read().now_or_never().unwrap().is_err());
        assert!(call.run().now_or_never().is_none());
        assert!(tools.check_admitted("other", "{}").is_err());
        assert_eq!(ran.load(Ordering::SeqCst), 0);
    }
}
