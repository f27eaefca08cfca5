//! Stopping a conversation from elsewhere.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU8, Ordering},
};

use tokio::sync::Notify;

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
    wish: AtomicU8,
    has_left: AtomicBool,
    told: Notify,
}

/// The wish of somebody who has a handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    Look,
    Stop,
    Cancel,
}

const LOOK: u8 = 1;
const STOP: u8 = 2;
const CANCEL: u8 = 3;

impl Handle {
    /// Drops what is under way: the model's turn is thrown away, calls that run are told and not waited for, calls that wait do
    /// not run, and prompts that wait are dropped. The session's future ends with
    /// [`AgentError::Cancelled`](super::AgentError::Cancelled); the conversation can go on.
    pub fn cancel(&self) {
        self.wish(CANCEL);
    }

    /// Lets the step that is under way come to its end, calls and all, and then stops in place of asking the model again:
    /// the session's future ends with [`StopReason::Requested`](crate::run::StopReason::Requested). Calls that wait for somebody are
    /// waited for. [`Session::resume`](super::Session::resume) goes on.
    pub fn stop(&self) {
        self.wish(STOP);
    }

    /// Lets what is under way look into its store at once, and not within the next second: somebody has decided about
    /// something there, or said something.
    pub fn look(&self) {
        self.wish(LOOK);
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

    fn wish(&self, wish: u8) {
        // Whoever wants it cancelled does not want less because somebody else does.
        self.shared.wish.fetch_max(wish, Ordering::SeqCst);
        self.shared.told.notify_one();
    }

    /// Waits until somebody wishes something.
    pub(super) async fn wished(&self) -> Wish {
        loop {
            match self.shared.wish.swap(0, Ordering::SeqCst) {
                0 => self.shared.told.notified().await,
                LOOK => return Wish::Look,
                STOP => return Wish::Stop,
                _ => return Wish::Cancel,
            }
        }
    }
}
