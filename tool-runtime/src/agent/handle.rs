//! The signals that reach a run from outside while it is driven: requests, prompts that steer it, cancellation.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, Ordering},
};

use futures_util::future::BoxFuture;
use tokio::sync::{Notify, mpsc};

use crate::agent::Agent;
use crate::message::Part;
use crate::run::{Principal, Prompt, Timestamp};
use crate::sync::lock;
use tool_run::run::LogInput;

/// A handle that stops the work of a [`Session`](super::Session) from another task.
/// [`Session::handle`](super::Session::handle) returns one. Clones stop the same session.
///
/// A request made while nothing runs applies to the next work. From another process, [`Agent::cancel`] and [`Agent::stop`] stop
/// a run that has a store.
///
/// ```
/// use tool_runtime::{Agent, model::{ScriptedModel, Turn}, run::{Phase, StopReason}, toolset, tool};
///
/// /// Looks something up.
/// #[tool(effect = read_only)]
/// fn look() -> i64 {
///     7
/// }
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let model = ScriptedModel::new([Turn::call("look", "{}"), Turn::call("look", "{}"), Turn::say("Seven.")]);
/// let mut session = Agent::new(model).tools(toolset!(look)).session();
/// session.handle().stop();
/// let reply = session.send("How many?").await?;
/// assert_eq!((reply.phase, reply.steps), (Phase::Stopped(StopReason::Requested), 1)); // its calls have run
/// assert_eq!(session.resume().await?.text, "Seven.");
/// # Ok::<(), tool_runtime::AgentError>(())
/// # }).unwrap();
/// ```
#[derive(Clone, Debug, Default)]
pub struct Handle {
    state: Arc<HandleState>,
}

#[derive(Debug, Default)]
struct HandleState {
    request: Mutex<Option<HandleRequest>>,
    has_left: AtomicBool,
    changed: Notify,
}

/// A request through a handle. Each variant includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HandleRequest {
    PollStore,
    Stop,
    Cancel,
}

impl Handle {
    /// Cancels the work under way. The model's turn is dropped, running calls are cancelled without a wait for their end, and
    /// waiting calls and prompts are dropped. The session's future ends with
    /// [`AgentError::Cancelled`](super::AgentError::Cancelled). The conversation can be continued.
    pub fn cancel(&self) {
        self.request(HandleRequest::Cancel);
    }

    /// Stops the run after its present step, in place of the next request to the model. The reply then has the stop reason
    /// [`StopReason::Requested`](crate::run::StopReason::Requested). The calls of the step still end first, even if they wait
    /// for a decision. [`Session::resume`](super::Session::resume) continues the run.
    pub fn stop(&self) {
        self.request(HandleRequest::Stop);
    }

    /// Makes the driver read the store at once. Call this after a decision or a message if the store does not notify
    /// ([`Store::watch`](crate::store::Store::watch)).
    pub fn poll_store(&self) {
        self.request(HandleRequest::PollStore);
    }

    /// Reports that no client follows the session any more. The work is cancelled as by [`Handle::cancel`], but only after the
    /// calls with a decision have ended, so that approved calls run. A suspended run keeps waiting, unless its operator is
    /// being asked.
    pub fn client_left(&self) {
        self.state.has_left.store(true, Ordering::SeqCst);
        self.poll_store();
    }

    /// Reports that a client follows the session again. Work that was not cancelled since [`Handle::client_left`] goes on.
    pub fn client_returned(&self) {
        self.state.has_left.store(false, Ordering::SeqCst);
    }

    pub(super) fn has_left(&self) -> bool {
        self.state.has_left.load(Ordering::SeqCst)
    }

    fn request(&self, request: HandleRequest) {
        let mut last = lock(&self.state.request);
        // A weaker request does not replace a stronger one, such as a cancellation.
        *last = (*last).max(Some(request));
        self.state.changed.notify_one();
    }

    fn has_request(&self) -> bool {
        lock(&self.state.request).is_some()
    }

    async fn requested(&self) -> HandleRequest {
        loop {
            let last = lock(&self.state.request).take();
            match last {
                Some(request) => return request,
                None => self.state.changed.notified().await,
            }
        }
    }
}

/// A handle that sends messages to a run while it goes on. The run accepts them between two turns of the model, and the next
/// turn sees them. The messages end nothing, and reset no limit of steps, tokens or time.
///
/// It can be cloned and sent to other tasks. A message to a run that is not driven waits until the run is prompted or resumed.
/// A message that arrives just when the run finishes lets it go on.
#[derive(Clone, Debug)]
pub struct Steering {
    messages: mpsc::UnboundedSender<Vec<Part>>,
}

/// The receiver of steering messages.
#[derive(Debug)]
pub struct SteeringMessages {
    say: Steering,
    messages: mpsc::UnboundedReceiver<Vec<Part>>,
}

impl Steering {
    /// Sends a text. Returns `false` if the session is gone.
    pub fn say(&self, text: impl Into<String>) -> bool {
        self.say_parts(vec![Part::text(text)])
    }

    /// Sends text and images. Returns `false` if the session is gone.
    pub fn say_parts(&self, content: Vec<Part>) -> bool {
        self.messages.send(content).is_ok()
    }
}

impl SteeringMessages {
    pub fn new() -> Self {
        let (say, messages) = mpsc::unbounded_channel();
        Self { say: Steering { messages: say }, messages }
    }

    pub fn steering(&self) -> Steering {
        self.say.clone()
    }

    /// Waits for the next message; for ever, if there is no sender.
    pub async fn next(steered: &mut Option<Self>) -> Option<Vec<Part>> {
        match steered {
            Some(steered) => steered.messages.recv().await,
            None => std::future::pending().await,
        }
    }

    /// Returns a message that has arrived already.
    pub fn received(steered: &mut Option<Self>) -> Option<Vec<Part>> {
        steered.as_mut()?.messages.try_recv().ok()
    }

    pub fn has_content(&self) -> bool {
        !self.messages.is_empty()
    }
}

pub enum Signal {
    /// The agent's context was cancelled.
    Cancelled,
    /// A request through a handle of the session.
    Requested(HandleRequest),
    /// Others may have added entries to the log.
    Added,
    /// A message to the run while it goes on.
    Steered(Vec<Part>),
    /// `true` if other processes follow the run: its driver then publishes the present turn so far, and the further pieces.
    Followed(bool),
    /// A piece of the model's turn, from the driver of the run.
    Piece(String),
    /// A test has set the clock.
    ClockMoved,
}

/// Returns the input that `signal` is for the run of `owner`, if it is one.
pub fn input_of(signal: Signal, agent: &Agent, owner: Principal, at: Timestamp) -> Option<LogInput> {
    match signal {
        Signal::Cancelled | Signal::Requested(HandleRequest::Cancel) => Some(LogInput::Cancel { by: owner, at }),
        Signal::Requested(HandleRequest::Stop) => Some(LogInput::StopRequested { by: owner, at }),
        Signal::Steered(content) => {
            let mut prompt = Prompt::new(content, owner, at).steering();
            prompt.final_tools = agent.setup.final_tools.to_vec();
            prompt.claims = agent.setup.context.shared_claims().cloned();
            Some(LogInput::Prompt(prompt))
        }
        Signal::Requested(HandleRequest::PollStore)
        | Signal::Added
        | Signal::Followed(_)
        | Signal::Piece(_)
        | Signal::ClockMoved => None,
    }
}

/// The sources of signals in this process.
#[derive(Debug, Default)]
pub struct SignalSources {
    pub handle: Handle,
    pub steered: Option<SteeringMessages>,
}

impl Signal {
    /// Returns whether the signal cancels the run.
    pub fn is_cancellation(&self) -> bool {
        matches!(self, Self::Cancelled | Self::Requested(HandleRequest::Cancel))
    }
}

/// A future that returns the next signal. The loop keeps it, because creating it costs more than receiving a delta.
pub type Listener = BoxFuture<'static, Signal>;

impl SignalSources {
    /// Returns whether the agent's context was cancelled, or a request came through a handle.
    pub fn has_urgent(&self, agent: &Agent) -> bool {
        self.handle.has_request() || agent.setup.context.cancellation().is_cancelled()
    }

    /// Waits for the next signal to a run of `agent`. Cancel safe.
    pub async fn next(&mut self, agent: &Agent, listener: &mut Option<Listener>) -> Signal {
        let listening = listener.get_or_insert_with(|| {
            let (cancellation, handle) = (agent.setup.context.cancellation().clone(), self.handle.clone());
            let moved = agent.setup.clock.moved();
            Box::pin(async move {
                tokio::select! {
                    biased;
                    () = cancellation.cancelled() => Signal::Cancelled,
                    request = handle.requested() => Signal::Requested(request),
                    () = moved => Signal::ClockMoved,
                }
            })
        });
        tokio::select! {
            biased;
            signal = listening.as_mut() => {
                *listener = None;
                signal
            }
            Some(content) = SteeringMessages::next(&mut self.steered) => Signal::Steered(content),
        }
    }
}
