//! The registry of chats that are in use, with their answers.

use std::{
    collections::{HashMap, hash_map::Entry},
    fmt,
    sync::{
        Arc, Mutex, OnceLock, Weak,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::Duration,
};

use axum::http::StatusCode;
use tokio::{
    sync::{Mutex as AsyncMutex, OwnedMutexGuard, watch},
    task::AbortHandle,
    time::Instant,
};
use tool_runtime::{
    Cancellation, Part,
    agent::{Handle as DriverHandle, Session, Steering},
    run::{Principal, Run},
};

use super::{ApiError, lock, replay::ReplayBuffer};

/// The chats that a request uses or that have an answer in progress, by the names of their runs.
#[derive(Default)]
pub(crate) struct Registry {
    chats: Mutex<Chats>,
    is_closed: AtomicBool,
}

#[derive(Default)]
struct Chats {
    entries: HashMap<String, Arc<ChatEntry>>,
    /// The number of chats of each principal that are answered.
    counts: HashMap<Principal, usize>,
}

/// An entry of the registry: one chat.
#[derive(Default)]
pub(crate) struct ChatEntry {
    /// The lock that a request holds while it changes the chat.
    gate: Arc<AsyncMutex<()>>,
    active: Mutex<Option<Arc<ActiveResponse>>>,
    /// The answer in progress, or the last one if a client that loaded the chat may still read it.
    readable: Mutex<Weak<ActiveResponse>>,
    /// The principal among whose answered chats this one counts.
    answered_for: Mutex<Option<Principal>>,
    /// The number of the chat's latest run that this process knows; 0 before the first.
    pub(crate) generation: AtomicU32,
}

/// The protocol of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    Ui,
    AgUi,
}

/// A message of a person: its id, and its content.
pub(crate) type Prompted = (Option<String>, Vec<Part>);

/// An answer in progress.
pub(crate) struct ActiveResponse {
    pub(crate) protocol: Protocol,
    pub(crate) buffer: Arc<ReplayBuffer>,
    pub(crate) cancel: Cancellation,
    pub(crate) driver: DriverHandle,
    /// The way for messages to reach the run, if clients keep the runs. Otherwise messages reach it through the store.
    pub(crate) steering: Option<Steering>,
    /// The number of entries that the run's log had before the answer.
    pub(crate) rev: u64,
    /// The prompt that is answered, if the run may not have accepted it yet.
    prompt: Option<(usize, Prompted)>,
    /// Set while clients that have loaded the chat have not read the answer: their number, and the time until which they can.
    pub(crate) kept: Mutex<Option<(usize, Instant)>>,
    over: watch::Sender<bool>,
    task: OnceLock<AbortHandle>,
}

impl ActiveResponse {
    /// Creates the entry for the answer of `session` to `prompt` that is written into `buffer`.
    pub(crate) fn new(
        protocol: Protocol,
        buffer: Arc<ReplayBuffer>,
        cancel: Cancellation,
        session: &mut Session,
        prompt: Option<Prompted>,
    ) -> Arc<Self> {
        let (rev, accepted) = (session.run().rev(), session.run().prompts().len());
        let (prompt, kept) = (prompt.map(|prompt| (accepted, prompt)), Mutex::default());
        let steering = session.agent().stored_in().is_none().then(|| session.steering());
        let (over, task) = (watch::Sender::new(false), OnceLock::new());
        let driver = session.handle();
        Arc::new(Self { protocol, buffer, cancel, driver, steering, rev, prompt, kept, over, task })
    }

    /// Notes that a client reads the answer.
    pub(crate) fn was_read(&self) {
        let mut kept = lock(&self.kept);
        *kept =
            kept.take().and_then(|(clients, until)| Some((clients.checked_sub(1).filter(|left| *left > 0)?, until)));
    }

    /// Returns the prompt that is answered, if `run` has not accepted it yet.
    pub(crate) fn pending_prompt(&self, run: &Run) -> Option<&Prompted> {
        let accepted = |before: usize| run.prompts().iter().skip(before).any(|said| !said.steers);
        self.prompt.as_ref().filter(|(before, _)| !accepted(*before)).map(|(_, prompt)| prompt)
    }

    /// Returns the prompt that is answered, if the answer is one to a prompt.
    pub(crate) fn prompt(&self) -> Option<&Prompted> {
        self.prompt.as_ref().map(|(_, prompt)| prompt)
    }

    /// Sets the task that drives the run.
    pub(crate) fn set_task(&self, task: AbortHandle) {
        let _ = self.task.set(task);
    }

    /// Waits until the answer has ended and its run is at rest.
    pub(crate) async fn until_over(&self) {
        let _ = self.over.subscribe().wait_for(|over| *over).await;
    }
}

impl Registry {
    /// Returns the chat with the run name `name`, and adds it if it is not in use.
    ///
    /// Fails when the server shuts down.
    pub(crate) fn chat(self: &Arc<Self>, name: &str) -> Result<ChatGuard, ApiError> {
        let mut chats = lock(&self.chats);
        if self.is_closed.load(Ordering::SeqCst) {
            let message = "the server is being shut down; try again in a moment";
            return Err(ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", message));
        }
        let entry = Arc::clone(chats.entries.entry(name.to_owned()).or_default());
        Ok(ChatGuard { registry: Arc::clone(self), name: name.to_owned(), entry })
    }

    /// Returns a chat's answer in progress.
    pub(crate) fn active(&self, name: &str) -> Option<Arc<ActiveResponse>> {
        lock(&self.chats).entries.get(name)?.active()
    }

    /// Returns the chat's answer that clients can read.
    pub(crate) fn readable(&self, name: &str) -> Option<Arc<ActiveResponse>> {
        lock(&self.chats).entries.get(name)?.readable()
    }

    /// Returns all answers in progress.
    fn all_active(&self) -> Vec<Arc<ActiveResponse>> {
        lock(&self.chats).entries.values().filter_map(|chat| chat.active()).collect()
    }
}

/// A chat in use by a request. The registry drops the chat when no request uses it and no answer is in progress.
pub(crate) struct ChatGuard {
    registry: Arc<Registry>,
    name: String,
    entry: Arc<ChatEntry>,
}

impl std::ops::Deref for ChatGuard {
    type Target = ChatEntry;

    fn deref(&self) -> &ChatEntry {
        &self.entry
    }
}

impl Drop for ChatGuard {
    fn drop(&mut self) {
        self.entry = Arc::default();
        let mut guard = lock(&self.registry.chats);
        let Chats { entries, counts } = &mut *guard;
        if entries.get(&self.name).is_some_and(|chat| Arc::strong_count(chat) == 1 && chat.active().is_none()) {
            let principal = entries.remove(&self.name).and_then(|chat| lock(&chat.answered_for).take());
            if let Some(Entry::Occupied(mut count)) = principal.map(|principal| counts.entry(principal)) {
                *count.get_mut() -= 1;
                if *count.get() == 0 {
                    count.remove();
                }
            }
        }
    }
}

impl ChatGuard {
    /// Counts the chat among those of `principal` that are answered, as long as the registry has it.
    ///
    /// Fails when `most` other chats of the principal are.
    pub(crate) fn count(&self, principal: &Principal, most: usize) -> Result<(), ApiError> {
        let counts = &mut lock(&self.registry.chats).counts;
        let mut answered_for = lock(&self.answered_for);
        if answered_for.is_some() {
            return Ok(());
        }
        let count = counts.get(principal).copied().unwrap_or_default();
        if count >= most {
            let message = format!(
                "{most} chats of yours are being answered, as many as may be at once; wait until an answer has ended, or \
                 stop one"
            );
            return Err(ApiError::new(StatusCode::TOO_MANY_REQUESTS, "too_many_answers", message));
        }
        counts.insert(principal.clone(), count + 1);
        *answered_for = Some(principal.clone());
        Ok(())
    }
}

impl ChatEntry {
    /// Waits until no other request changes the chat.
    pub(crate) async fn enter(&self) -> OwnedMutexGuard<()> {
        Arc::clone(&self.gate).lock_owned().await
    }

    pub(crate) fn active(&self) -> Option<Arc<ActiveResponse>> {
        lock(&self.active).clone()
    }

    pub(crate) fn readable(&self) -> Option<Arc<ActiveResponse>> {
        lock(&self.readable).upgrade().filter(|last| !*last.over.borrow() || lock(&last.kept).is_some())
    }

    /// Forgets the last answer, because the chat was deleted.
    pub(crate) fn forget(&self) {
        *lock(&self.readable) = Weak::new();
    }

    pub(crate) fn set_active(&self, active: Arc<ActiveResponse>) {
        *lock(&self.readable) = Arc::downgrade(&active);
        *lock(&self.active) = Some(active);
    }

    /// Marks `ended` as over, and removes it unless another answer has taken its place.
    pub(crate) fn clear_active(&self, ended: &Arc<ActiveResponse>) {
        lock(&self.active).take_if(|active| Arc::ptr_eq(active, ended));
        ended.over.send_replace(true);
    }
}

/// A handle that ends a server's answers at shutdown. It is cheap to clone.
#[derive(Clone)]
pub struct ShutdownHandle {
    pub(crate) registry: Arc<Registry>,
}

impl ShutdownHandle {
    /// Refuses new requests, and waits up to `grace` for the answers in progress. It then aborts the answers that are left. Their
    /// runs stay in the store as they are. Another process can continue them ([`Agent::sweep`](tool_runtime::Agent::sweep)), and
    /// asks about calls that may have had effects.
    pub async fn suspend(&self, grace: Duration) {
        self.registry.is_closed.store(true, Ordering::SeqCst);
        let active = self.registry.all_active();
        let all_over = async {
            for active in &active {
                active.until_over().await;
            }
        };
        if tokio::time::timeout(grace, all_over).await.is_err() {
            active.iter().filter_map(|active| active.task.get()).for_each(AbortHandle::abort);
        }
    }
}

impl fmt::Debug for ShutdownHandle {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "ShutdownHandle({} answers)", self.registry.all_active().len())
    }
}
