//! A run as a stream of events that own their data.

use std::{
    collections::VecDeque,
    fmt,
    future::poll_fn,
    panic::resume_unwind,
    pin::Pin,
    sync::{Arc, Mutex},
    task::{Context, Poll, Waker},
};

use futures_core::Stream;
use futures_util::{future::BoxFuture, stream::unfold};
use tokio::task::JoinHandle;

use crate::agent::{Agent, AgentError, Event, EventKind, Handle, Observer, Reply, Session};
use crate::run::{CallId, RunId};
use crate::sync::lock;

/// A run that goes on in a task of its own, and the stream of its events. [`Agent::stream`], [`Session::stream`] and
/// [`Session::stream_with`] create it.
///
/// - **Slow readers.** The run does not wait for its reader, and no event is lost. Pieces of one text, and of the arguments of one
///   call, are joined while nobody reads them; a later progress of a call takes the place of an earlier one. So a stream that
///   nobody reads keeps the texts, and one event for each change of the run.
/// - **Drop.** Dropping the stream, or the future of [`RunStream::finish`], cancels the run like [`Handle::client_left`]: calls with
///   a decision end first, and a suspended run keeps waiting.
/// - **Other receivers.** The agent's [`Observer`] and hooks receive the events as for any run.
///
/// ```
/// use tool_runtime::{Agent, agent::EventKind, model::{ScriptedModel, Turn}};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let mut run = Agent::new(ScriptedModel::new([Turn::say("Hello.")])).stream("Hi.");
/// let mut text = String::new();
/// while let Some(event) = run.next().await {
///     match event.kind {
///         EventKind::Text(piece) => text.push_str(&piece),
///         EventKind::CallEnded { call, result, .. } => println!("{}: {}", call.name, result.is_success()),
///         _ => {}
///     }
/// }
/// assert_eq!(run.finish().await.unwrap().text, text);
/// # });
/// ```
#[must_use = "dropping the stream cancels the run"]
pub struct RunStream<T = Reply> {
    run: RunId,
    handle: Handle,
    buffer: Arc<Buffer>,
    /// The task that drives the run; `None` after its end.
    task: Option<JoinHandle<(Session, Result<T, AgentError>)>>,
}

/// An event of a [`RunStream`], with its origin.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RunEvent {
    /// The id of the streamed run.
    pub run: RunId,
    /// The calls around the run of the event, from the outside to the inside. It is empty for the streamed run itself. Each call is
    /// one of an agent as a tool, in the run around it.
    pub calls: Arc<[CallId]>,
    /// The name of the event's agent ([`Agent::name`]). An inner agent without a name has that of its tool, and any other the empty
    /// name.
    pub agent: Arc<str>,
    /// The event.
    pub kind: EventKind,
}

impl Agent {
    /// Answers one prompt in a new conversation, as a stream of events. The run begins at once. The [stream](RunStream) states what
    /// a slow reader and a drop do.
    ///
    /// # Panics
    ///
    /// Panics outside of a tokio runtime.
    pub fn stream(&self, prompt: impl Into<String>) -> RunStream {
        self.session().stream(prompt)
    }
}

impl Session {
    /// Sends a prompt like [`Session::send`], as a stream of events. [`RunStream::finish_session`] returns the session.
    ///
    /// # Panics
    ///
    /// Panics outside of a tokio runtime.
    pub fn stream(self, prompt: impl Into<String>) -> RunStream {
        let prompt = prompt.into();
        self.stream_with(|session| Box::pin(session.send(prompt)))
    }

    /// Streams the events of any method that drives the run: a prompt with images or an id, a typed answer, a resumed or a followed
    /// run. The result of `drive` is that of [`RunStream::finish`].
    ///
    /// ```
    /// # use tool_runtime::{Agent, model::{ScriptedModel, Turn}};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// use std::future::IntoFuture;
    ///
    /// let agent = Agent::new(ScriptedModel::new([Turn::call("final_answer", r#"{"answer": 7}"#)]));
    /// let run = agent.session().stream_with(|session| Box::pin(session.ask("Choose a number.").typed::<u8>().into_future()));
    /// let (mut session, answer) = run.finish_session().await;
    /// assert_eq!(answer.unwrap().value, 7);
    ///
    /// let again = session.stream_with(|session| Box::pin(session.resume()));
    /// # drop(again);
    /// # });
    /// ```
    ///
    /// # Panics
    ///
    /// Panics outside of a tokio runtime.
    pub fn stream_with<T, D>(mut self, drive: D) -> RunStream<T>
    where
        T: Send + 'static,
        D: for<'a> FnOnce(&'a mut Self) -> BoxFuture<'a, Result<T, AgentError>> + Send + 'static,
    {
        let (run, handle) = (self.id().clone(), self.handle());
        let own = self.agent.stored_name().unwrap_or_default();
        let acting = self.run().acting_agent().map(Arc::from);
        let buffer = Arc::new(Buffer::new(run.clone(), own, acting));
        let observer = Arc::clone(&self.agent.setup.observer);
        let streaming = Streaming { buffer: Arc::clone(&buffer), observer: Arc::clone(&observer) };
        self.agent.setup_mut().observer = Arc::new(streaming);
        // If the run panics, or its runtime ends, the reader must not wait for ever.
        let end = CloseWhenDropped(Arc::clone(&buffer));
        let task = tokio::spawn(async move {
            let _end = end;
            let done = drive(&mut self).await;
            self.agent.setup_mut().observer = observer;
            (self, done)
        });
        RunStream { run, handle, buffer, task: Some(task) }
    }
}

impl<T: Send + 'static> RunStream<T> {
    /// Returns the id of the run.
    pub fn run(&self) -> &RunId {
        &self.run
    }

    /// Returns a handle that stops or cancels the run from another task. The stream then has the events up to the end.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Returns the next event, or `None` after the last one.
    pub async fn next(&mut self) -> Option<RunEvent> {
        poll_fn(|task| self.buffer.poll(task)).await
    }

    /// Waits for the end of the run. The events that were not read are dropped.
    ///
    /// Fails like the method that drives the run, for example [`Session::send`].
    ///
    /// # Panics
    ///
    /// Panics if the run panicked, or if the runtime that drove it was shut down.
    pub async fn finish(self) -> Result<T, AgentError> {
        self.finish_session().await.1
    }

    /// Waits for the end of the run, and also returns the session, which can go on. The events that were not read are dropped.
    ///
    /// # Panics
    ///
    /// Panics in the same cases as [`RunStream::finish`].
    pub async fn finish_session(mut self) -> (Session, Result<T, AgentError>) {
        self.buffer.close(true);
        let ended = match self.task.as_mut() {
            Some(task) => task.await,
            None => unreachable!("only this method takes the task, and it consumes the stream"),
        };
        self.task = None;
        ended.unwrap_or_else(|error| match error.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            Err(error) => panic!("the runtime that drove the run was shut down: {error}"),
        })
    }

    /// Returns the texts of the streamed run, without those of inner agents, and then the error if the run fails. The text of a turn
    /// that fails and is repeated is not taken back.
    ///
    /// ```
    /// # use tool_runtime::{Agent, model::{ScriptedModel, Turn}};
    /// # use futures_util::TryStreamExt;
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// let texts = Agent::new(ScriptedModel::new([Turn::say("Hello.")])).stream("Hi.").texts();
    /// assert_eq!(texts.try_collect::<String>().await.unwrap(), "Hello.");
    /// # });
    /// ```
    pub fn texts(self) -> impl Stream<Item = Result<String, AgentError>> + Send + 'static {
        unfold(Some(self), |run| async move {
            let mut run = run?;
            while let Some(event) = run.next().await {
                if let (EventKind::Text(text), true) = (event.kind, event.calls.is_empty()) {
                    return Some((Ok(text), Some(run)));
                }
            }
            run.finish().await.err().map(|error| (Err(error), None))
        })
    }
}

impl<T> Stream for RunStream<T> {
    type Item = RunEvent;

    fn poll_next(self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Option<RunEvent>> {
        self.buffer.poll(task)
    }
}

impl<T> Drop for RunStream<T> {
    fn drop(&mut self) {
        if self.task.is_some() {
            self.handle.client_left();
            self.buffer.close(true);
        }
    }
}

impl<T> fmt::Debug for RunStream<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("RunStream").field("run", &self.run).finish_non_exhaustive()
    }
}

/// The observer of a streamed run: it passes the events on to the agent's own observer, and keeps copies for the reader.
struct Streaming {
    buffer: Arc<Buffer>,
    observer: Arc<dyn Observer>,
}

impl Observer for Streaming {
    fn on_event(&self, event: Event<'_>) {
        self.buffer.push(event);
        self.observer.on_event(event);
    }

    fn wait_for_room<'a>(&'a self, call: &'a CallId) -> Option<BoxFuture<'a, ()>> {
        self.observer.wait_for_room(call)
    }
}

/// The events between a run and its reader.
struct Buffer(Mutex<State>);

struct State {
    run: RunId,
    events: VecDeque<RunEvent>,
    /// The number of events that were read, which is the position of the first event that was not.
    read: u64,
    outermost: Origin,
    reader: Option<Waker>,
    /// Set if no more events are kept, because the run has ended or nobody reads.
    is_closed: bool,
}

/// The origin of events: the streamed run, or one inside of its calls.
struct Origin {
    calls: Arc<[CallId]>,
    /// The name of the run's own agent.
    own: Arc<str>,
    /// The name of the agent that acts, if it is another one.
    acting: Option<Arc<str>>,
    /// The positions of the events of this origin that a later one may join.
    open: Vec<u64>,
    inner: Vec<Origin>,
}

struct CloseWhenDropped(Arc<Buffer>);

impl Drop for CloseWhenDropped {
    fn drop(&mut self) {
        self.0.close(false);
    }
}

impl Buffer {
    /// Creates the buffer of `run`, whose own agent is `own`. Another one may act in it.
    fn new(run: RunId, own: Arc<str>, acting: Option<Arc<str>>) -> Self {
        let outermost = Origin { calls: Arc::default(), own, acting, open: Vec::new(), inner: Vec::new() };
        let (events, read, reader, is_closed) = (VecDeque::new(), 0, None, false);
        Self(Mutex::new(State { run, events, read, outermost, reader, is_closed }))
    }

    fn push(&self, event: Event<'_>) {
        let mut state = lock(&self.0);
        if state.is_closed {
            return;
        }
        state.push(event);
        let reader = state.reader.take();
        drop(state);
        wake(reader);
    }

    fn poll(&self, task: &Context<'_>) -> Poll<Option<RunEvent>> {
        let mut state = lock(&self.0);
        if let Some(event) = state.events.pop_front() {
            state.read += 1;
            return Poll::Ready(Some(event));
        }
        if state.is_closed {
            return Poll::Ready(None);
        }
        state.reader = Some(task.waker().clone());
        Poll::Pending
    }

    /// Keeps no more events. If `drops` is set, those that were not read are dropped.
    fn close(&self, drops: bool) {
        let mut state = lock(&self.0);
        state.is_closed = true;
        if drops {
            state.events = VecDeque::new();
        }
        let reader = state.reader.take();
        drop(state);
        wake(reader);
    }
}

fn wake(reader: Option<Waker>) {
    if let Some(reader) = reader {
        reader.wake();
    }
}

impl State {
    fn push(&mut self, mut event: Event<'_>) {
        let mut origin = &mut self.outermost;
        while let Event::Inner { call, agent, event: inner } = event {
            (origin, event) = (origin.inside(call, agent), *inner);
        }
        if let Event::CallEnded { call, .. } = event {
            origin.inner.retain(|inner| inner.calls.last() != Some(&call.id));
        }
        let (events, read) = (&mut self.events, self.read);
        let index = |at: u64| usize::try_from(at.checked_sub(read)?).ok();
        for at in &origin.open {
            if let Some(earlier) = index(*at).and_then(|index| events.get_mut(index))
                && earlier.kind.join(&event)
            {
                return;
            }
        }
        let kind = EventKind::from(event);
        origin.open.retain(|at| index(*at).is_some_and(|index| events[index].kind.stays_open(&kind)));
        if kind.is_piece() {
            origin.open.push(read + events.len() as u64);
        }
        if let EventKind::HandedOver { to } = &kind {
            origin.acting = to.as_deref().map(Arc::from);
        }
        let agent = Arc::clone(origin.acting.as_ref().unwrap_or(&origin.own));
        let (run, calls) = (self.run.clone(), Arc::clone(&origin.calls));
        events.push_back(RunEvent { run, calls, agent, kind });
    }
}

impl Origin {
    /// Returns the origin of the run inside of `call`.
    fn inside(&mut self, call: &CallId, agent: &str) -> &mut Self {
        let at = self.inner.iter().position(|inner| inner.calls.last() == Some(call)).unwrap_or_else(|| {
            let calls = self.calls.iter().chain([call]).cloned().collect();
            self.inner.push(Self { calls, own: agent.into(), acting: None, open: Vec::new(), inner: Vec::new() });
            self.inner.len() - 1
        });
        &mut self.inner[at]
    }
}

impl EventKind {
    /// Returns whether a later event may join this one.
    fn is_piece(&self) -> bool {
        matches!(self, Self::Text(_) | Self::Reasoning(_) | Self::CallArguments { .. } | Self::CallProgress(_))
    }

    /// Returns whether an event may still join this one after `next`, which has not. The order of what calls do at the same time is
    /// not kept.
    fn stays_open(&self, next: &Self) -> bool {
        match next {
            Self::CallProgress(_) => true,
            Self::CallArguments { .. } => matches!(self, Self::CallArguments { .. } | Self::CallProgress(_)),
            Self::Text(_) | Self::Reasoning(_) => matches!(self, Self::CallProgress(_)),
            _ => false,
        }
    }

    /// Adds the next piece, if `event` is one. Returns whether it is.
    fn join(&mut self, event: &Event<'_>) -> bool {
        match (self, event) {
            (Self::Text(text), Event::Text(more)) | (Self::Reasoning(text), Event::Reasoning(more)) => {
                text.push_str(more);
            }
            (Self::CallArguments { id, text }, Event::CallArguments { id: same, text: more, .. }) if id == *same => {
                text.push_str(more);
            }
            (Self::CallProgress(before), Event::CallProgress(now)) if before.call_id == now.call_id => {
                // A report without a preliminary output leaves the one before in place.
                let preliminary = now.preliminary.clone().or_else(|| before.preliminary.take());
                **before = (*now).clone();
                before.preliminary = preliminary;
            }
            _ => return false,
        }
        true
    }
}
