//! The chats that are in use, and their answers.

use std::{
    collections::HashMap,
    fmt,
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::Duration,
};

use axum::http::StatusCode;
use tokio::{
    sync::{Mutex as AsyncMutex, OwnedMutexGuard, watch},
    task::AbortHandle,
};
use tool_runtime::{
    Cancellation,
    agent::{Handle as DriverHandle, Session, Steering},
};

use super::{ApiError, lock, replay::ReplayBuffer};

/// The chats that a request is about, or whose answers are under way, by the names of their runs.
#[derive(Default)]
pub(crate) struct Registry {
    chats: Mutex<HashMap<String, Arc<ChatEntry>>>,
    is_closed: AtomicBool,
}

/// One chat.
#[derive(Default)]
pub(crate) struct ChatEntry {
    /// The lock of the request that changes the chat.
    gate: Arc<AsyncMutex<()>>,
    active: Mutex<Option<Arc<ActiveResponse>>>,
    /// The number of the chat's latest run that is known here; 0 before the first.
    pub(crate) generation: AtomicU32,
}

/// The protocol that an answer is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    Ui,
    AgUi,
}

/// An answer that is under way.
pub(crate) struct ActiveResponse {
    pub(crate) protocol: Protocol,
    pub(crate) buffer: Arc<ReplayBuffer>,
    pub(crate) cancel: Cancellation,
    pub(crate) driver: DriverHandle,
    /// Where clients keep the runs: the way in which messages reach this one. Others are reached through the store.
    pub(crate) steering: Option<Steering>,
    over: watch::Sender<bool>,
    task: OnceLock<AbortHandle>,
}

impl ActiveResponse {
    /// Returns the answer of `session` that is written into `buffer`.
    pub(crate) fn new(
        protocol: Protocol,
        buffer: Arc<ReplayBuffer>,
        cancel: Cancellation,
        session: &mut Session,
    ) -> Arc<Self> {
        let steering = session.agent().stored_in().is_none().then(|| session.steering());
        let (over, task) = (watch::Sender::new(false), OnceLock::new());
        Arc::new(Self { protocol, buffer, cancel, driver: session.handle(), steering, over, task })
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
    /// Returns the chat whose runs are called `name`.
    ///
    /// Fails when the server is being shut down.
    pub(crate) fn chat(self: &Arc<Self>, name: &str) -> Result<ChatGuard, ApiError> {
        let mut chats = lock(&self.chats);
        if self.is_closed.load(Ordering::SeqCst) {
            let message = "the server is being shut down; try again in a moment";
            return Err(ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", message));
        }
        let entry = Arc::clone(chats.entry(name.to_owned()).or_default());
        Ok(ChatGuard { registry: Arc::clone(self), name: name.to_owned(), entry })
    }

    /// Returns the answer of a chat that is under way.
    pub(crate) fn active(&self, name: &str) -> Option<Arc<ActiveResponse>> {
        lock(&self.chats).get(name)?.active()
    }

    /// Returns all answers that are under way.
    fn all_active(&self) -> Vec<Arc<ActiveResponse>> {
        lock(&self.chats).values().filter_map(|chat| chat.active()).collect()
    }
}

/// A chat that a request is about. It is forgotten when no request is, and no answer is under way.
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
        let mut chats = lock(&self.registry.chats);
        if chats.get(&self.name).is_some_and(|chat| Arc::strong_count(chat) == 1 && chat.active().is_none()) {
            chats.remove(&self.name);
        }
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

    pub(crate) fn set_active(&self, active: Arc<ActiveResponse>) {
        *lock(&self.active) = Some(active);
    }

    /// Marks `ended` as over, and forgets it unless another answer has taken its place.
    pub(crate) fn clear_active(&self, ended: &Arc<ActiveResponse>) {
        lock(&self.active).take_if(|active| Arc::ptr_eq(active, ended));
        ended.over.send_replace(true);
    }
}

/// A handle that ends a server's answers when the server is shut down. Cheap to clone.
#[derive(Clone)]
pub struct ShutdownHandle {
    pub(crate) registry: Arc<Registry>,
}

impl ShutdownHandle {
    /// Refuses new requests, waits up to `grace` for the answers that are under way, and abandons the others. Their runs
    /// stay in the store as they are: another process continues them, and asks about calls that may have had effects
    /// ([`Agent::sweep`](tool_runtime::Agent::sweep)).
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
