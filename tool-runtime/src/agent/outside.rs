//! What reaches a run from outside while it is driven: wishes, prompts that steer it, cancellation.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, Ordering},
};

use futures_util::future::BoxFuture;
use tokio::sync::{Notify, mpsc};

use crate::agent::Agent;
use crate::message::Part;

/// Stops what a [`Session`](super::Session) has under way, from another task: [`Session::handle`](super::Session::handle)
/// gives one. Clones stop the same session.
///
/// What is wished while nothing is under way holds for the next that is. From another process, a run with a store is stopped
/// with [`Agent::cancel`](super::Agent::cancel) and [`Agent::stop`](super::Agent::stop).
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
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    wish: Mutex<Option<Wish>>,
    has_left: AtomicBool,
    told: Notify,
}

/// The wish of somebody who has a handle. Each includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wish {
    Look,
    Stop,
    Cancel,
}

impl Handle {
    /// Drops what is under way: the model's turn is thrown away, calls that run are told and not waited for, calls that wait do
    /// not run, and prompts that wait are dropped. The session's future ends with
    /// [`AgentError::Cancelled`](super::AgentError::Cancelled); the conversation can go on.
    pub fn cancel(&self) {
        self.wish(Wish::Cancel);
    }

    /// Lets the step that is under way come to its end, calls and all, and then stops in place of asking the model again:
    /// the session's future ends with [`StopReason::Requested`](crate::run::StopReason::Requested). Calls that wait for somebody are
    /// waited for. [`Session::resume`](super::Session::resume) goes on.
    pub fn stop(&self) {
        self.wish(Wish::Stop);
    }

    /// Lets what is under way look into its store at once, and not within the next second: somebody has decided about
    /// something there, or said something.
    pub fn look(&self) {
        self.wish(Wish::Look);
    }

    /// Reports that nobody follows the session any more. What is under way is dropped as by [`Handle::cancel`], but not before
    /// the calls have ended that somebody has decided about: what was approved runs. A run that waits for somebody goes on
    /// waiting.
    pub fn leave(&self) {
        self.shared.has_left.store(true, Ordering::SeqCst);
        self.look();
    }

    /// Reports that somebody follows the session again. What has not been dropped since [`Handle::leave`] goes on.
    pub fn stay(&self) {
        self.shared.has_left.store(false, Ordering::SeqCst);
    }

    pub(super) fn has_left(&self) -> bool {
        self.shared.has_left.load(Ordering::SeqCst)
    }

    fn wish(&self, wish: Wish) {
        let mut last = self.last_wish();
        // Whoever wants it cancelled does not want less because somebody else does.
        *last = (*last).max(Some(wish));
        self.shared.told.notify_one();
    }

    fn last_wish(&self) -> MutexGuard<'_, Option<Wish>> {
        self.shared.wish.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until somebody wishes something.
    async fn wished(&self) -> Wish {
        loop {
            let last = self.last_wish().take();
            match last {
                Some(wish) => return wish,
                None => self.shared.told.notified().await,
            }
        }
    }
}

/// Says something to a run while it goes on: between two turns of the model, which sees it at the next. Nothing is ended,
/// and no step, token or time is given back.
///
/// It can be cloned and sent to other tasks. What is said while nobody drives the run joins the next prompt; what is said
/// just when the run comes to its end goes on with it.
#[derive(Clone, Debug)]
pub struct Steering {
    said: mpsc::UnboundedSender<Vec<Part>>,
}

/// Where what is said arrives.
#[derive(Debug)]
pub struct Steered {
    say: Steering,
    said: mpsc::UnboundedReceiver<Vec<Part>>,
}

impl Steering {
    /// Says something. `false` when the session is gone.
    pub fn say(&self, text: impl Into<String>) -> bool {
        self.say_parts(vec![Part::text(text)])
    }

    /// Says something in text and images. `false` when the session is gone.
    pub fn say_parts(&self, content: Vec<Part>) -> bool {
        self.said.send(content).is_ok()
    }
}

impl Steered {
    pub fn new() -> Self {
        let (say, said) = mpsc::unbounded_channel();
        Self { say: Steering { said: say }, said }
    }

    pub fn steering(&self) -> Steering {
        self.say.clone()
    }

    /// Waits for the next prompt; forever, if nobody has a sender.
    pub async fn next(steered: &mut Option<Self>) -> Option<Vec<Part>> {
        match steered {
            Some(steered) => steered.said.recv().await,
            None => std::future::pending().await,
        }
    }

    /// Returns what has arrived already.
    pub fn received(steered: &mut Option<Self>) -> Option<Vec<Part>> {
        steered.as_mut()?.said.try_recv().ok()
    }

    /// Returns whether something has arrived.
    pub fn has_content(&self) -> bool {
        !self.said.is_empty()
    }
}

/// A signal from outside.
pub enum Signal {
    /// The agent's context was cancelled.
    Cancelled,
    /// A wish of somebody who has a handle of the session.
    Wished(Wish),
    /// A prompt to the run while it goes on.
    Steered(Vec<Part>),
    /// A test has set the clock.
    ClockMoved,
}

/// The senders of such signals.
#[derive(Debug, Default)]
pub struct Outside {
    pub handle: Handle,
    pub steered: Option<Steered>,
}

/// Waits for a signal. It is kept from one time to the next: to begin costs more than a piece of text.
pub type Listener = BoxFuture<'static, Signal>;

impl Outside {
    /// Waits for the next signal to a run of `agent`. Dropped, it loses nothing.
    pub async fn next(&mut self, agent: &Agent, listener: &mut Option<Listener>) -> Signal {
        let listening = listener.get_or_insert_with(|| {
            let (cancellation, handle) = (agent.setup.context.cancellation().clone(), self.handle.clone());
            let moved = agent.setup.clock.moved();
            Box::pin(async move {
                tokio::select! {
                    biased;
                    () = cancellation.cancelled() => Signal::Cancelled,
                    wish = handle.wished() => Signal::Wished(wish),
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
            Some(content) = Steered::next(&mut self.steered) => Signal::Steered(content),
        }
    }
}
