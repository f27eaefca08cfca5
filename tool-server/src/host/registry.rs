//! The chats that are dealt with now.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
};

use axum::http::StatusCode;
use tokio::{
    sync::{Mutex as AsyncMutex, OwnedMutexGuard, watch},
    task::AbortHandle,
};
use tool_runtime::{
    Cancellation,
    agent::{Handle, Session, Steering},
};

use super::{ApiError, feed::Feed};

/// The chats that somebody asks about, or whose answers are under way, by the names of their runs.
#[derive(Default)]
pub(crate) struct Registry {
    slots: Mutex<HashMap<String, Arc<Slot>>>,
    is_closed: AtomicBool,
}

/// One chat.
#[derive(Default)]
pub(crate) struct Slot {
    /// Whoever has it changes the chat; one at a time.
    gate: Arc<AsyncMutex<()>>,
    running: Mutex<Option<Arc<Running>>>,
    /// Which of the chat's runs was the latest when somebody looked; 0 for nobody.
    pub(crate) generation: AtomicU32,
}

/// What an answer is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    Ui,
    AgUi,
}

/// An answer that is under way.
pub(crate) struct Running {
    pub(crate) protocol: Protocol,
    pub(crate) feed: Arc<Feed>,
    pub(crate) cancel: Cancellation,
    /// What its driver listens to.
    pub(crate) session: Handle,
    /// Where clients keep the runs: what says something to this one. In others it is said in the store.
    pub(crate) steering: Option<Steering>,
    over: watch::Sender<bool>,
    task: OnceLock<AbortHandle>,
}

impl Running {
    /// The answer of `session` that goes into `feed`.
    pub(crate) fn new(protocol: Protocol, feed: Arc<Feed>, cancel: Cancellation, session: &mut Session) -> Arc<Self> {
        let steering = session.agent().stored_in().is_none().then(|| session.steering());
        let session = session.handle();
        let (over, task) = (watch::Sender::new(false), OnceLock::new());
        Arc::new(Self { protocol, feed, cancel, session, steering, over, task })
    }

    /// The task that drives the run.
    pub(crate) fn drives(&self, task: AbortHandle) {
        let _ = self.task.set(task);
    }

    /// Lets go of the run: it stays as it is.
    pub(crate) fn abandon(&self) {
        if let Some(task) = self.task.get() {
            task.abort();
        }
    }

    /// Waits until the answer has ended and its run is at rest.
    pub(crate) async fn over(&self) {
        let _ = self.over.subscribe().wait_for(|over| *over).await;
    }
}

impl Registry {
    /// The chat whose runs are called `name`.
    ///
    /// Fails when the server is being shut down.
    pub(crate) fn place(self: &Arc<Self>, name: &str) -> Result<Place, ApiError> {
        let slot = self.slot(name)?;
        Ok(Place { registry: Arc::clone(self), name: name.to_owned(), slot })
    }

    fn slot(&self, name: &str) -> Result<Arc<Slot>, ApiError> {
        let mut slots = self.slots();
        if self.is_closed.load(Ordering::SeqCst) {
            let message = "the server is being shut down; try again in a moment";
            return Err(ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", message));
        }
        if let Some(slot) = slots.get(name) {
            return Ok(Arc::clone(slot));
        }
        let slot = Arc::new(Slot::default());
        slots.insert(name.to_owned(), Arc::clone(&slot));
        Ok(slot)
    }

    /// Takes no more chats.
    pub(crate) fn close(&self) {
        self.is_closed.store(true, Ordering::SeqCst);
    }

    /// The answer of a chat that is under way.
    pub(crate) fn running(&self, name: &str) -> Option<Arc<Running>> {
        self.slots().get(name)?.running()
    }

    /// All answers that are under way.
    pub(crate) fn all(&self) -> Vec<Arc<Running>> {
        self.slots().values().filter_map(|slot| slot.running()).collect()
    }

    /// Forgets a chat that nobody asks about.
    fn tidy(&self, name: &str) {
        let mut slots = self.slots();
        if slots.get(name).is_some_and(|slot| Arc::strong_count(slot) == 1 && slot.running().is_none()) {
            slots.remove(name);
        }
    }

    fn slots(&self) -> MutexGuard<'_, HashMap<String, Arc<Slot>>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A chat that somebody asks about. When nobody does any more, it is forgotten.
pub(crate) struct Place {
    registry: Arc<Registry>,
    name: String,
    slot: Arc<Slot>,
}

impl std::ops::Deref for Place {
    type Target = Slot;

    fn deref(&self) -> &Slot {
        &self.slot
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.slot = Arc::default();
        self.registry.tidy(&self.name);
    }
}

impl Slot {
    pub(crate) async fn enter(&self) -> OwnedMutexGuard<()> {
        Arc::clone(&self.gate).lock_owned().await
    }

    pub(crate) fn running(&self) -> Option<Arc<Running>> {
        self.place().clone()
    }

    pub(crate) fn run(&self, running: Arc<Running>) {
        *self.place() = Some(running);
    }

    /// The answer has ended.
    pub(crate) fn ended(&self, running: &Arc<Running>) {
        let mut place = self.place();
        if place.as_ref().is_some_and(|known| Arc::ptr_eq(known, running)) {
            *place = None;
        }
        drop(place);
        running.over.send_replace(true);
    }

    fn place(&self) -> MutexGuard<'_, Option<Arc<Running>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
