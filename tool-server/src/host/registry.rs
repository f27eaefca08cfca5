//! The registry of chats that are in use, with their answers.

use std::{
    collections::{HashMap, hash_map::Entry},
    fmt,
    sync::{Arc, Mutex, OnceLock, Weak, atomic::AtomicU32},
    time::Duration,
};

use axum::http::StatusCode;
use tokio::{
    sync::{Mutex as AsyncMutex, OwnedMutexGuard, watch},
    task::AbortHandle,
    time::Instant,
};
use tokio_util::sync::CancellationToken;
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
    /// Cancelled when the server shuts down.
    pub(crate) closed: CancellationToken,
    /// Cancelled when the time to shut down is over.
    pub(crate) abandoned: CancellationToken,
    /// The workers that continue runs of servers that are gone: each has a receiver.
    pub(crate) workers: watch::Sender<()>,
}

#[derive(Default)]
struct Chats {
    entries: HashMap<String, Arc<ChatEntry>>,
    /// The numbers of places that principals have taken.
    places: HashMap<(Principal, Purpose), usize>,
}

/// The purpose of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Purpose {
    /// A chat is answered.
    Answer,
    /// An answer that has ended is kept for clients that have loaded its chat.
    Keep,
}

/// One of the places of a principal, of which there are only so many. It is free again when it is dropped.
pub(crate) struct AnswerPermit {
    registry: Arc<Registry>,
    of: (Principal, Purpose),
}

impl Drop for AnswerPermit {
    fn drop(&mut self) {
        if let Entry::Occupied(mut taken) = lock(&self.registry.chats).places.entry(self.of.clone()) {
            *taken.get_mut() -= 1;
            if *taken.get() == 0 {
                taken.remove();
            }
        }
    }
}

/// An entry of the registry: one chat.
#[derive(Default)]
pub(crate) struct ChatEntry {
    /// The lock that a request holds while it changes the chat.
    gate: Arc<AsyncMutex<()>>,
    active: Mutex<Option<Arc<ActiveResponse>>>,
    /// The answer in progress, or the last one if a client that loaded the chat may still read it.
    readable: Mutex<Weak<ActiveResponse>>,
    /// The place that the chat takes while it is answered.
    place: Mutex<Weak<AnswerPermit>>,
    /// The number of the chat's latest run that this process knows; 0 before the first.
    pub(crate) generation: AtomicU32,
}

/// The protocol of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    AiSdk,
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
    /// The time until which clients that have loaded the chat can read the answer, although it may have ended.
    pub(crate) kept: Mutex<Option<Instant>>,
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
        let steering = session.agent().run_store().is_none().then(|| session.steering());
        let (over, task) = (watch::Sender::new(false), OnceLock::new());
        let driver = session.handle();
        Arc::new(Self { protocol, buffer, cancel, driver, steering, rev, prompt, kept, over, task })
    }

    /// Returns the prompt that is answered, if `run` has not accepted it yet.
    pub(crate) fn pending_prompt(&self, run: &Run) -> Option<&Prompted> {
        let accepted = |before: usize| run.prompts().iter().skip(before).any(|prompt| !prompt.steers);
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
        if self.closed.is_cancelled() {
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

    /// Takes one of the `most` places that `principal` has for this purpose. Returns `None` if they are taken.
    fn place(self: &Arc<Self>, principal: &Principal, purpose: Purpose, most: usize) -> Option<AnswerPermit> {
        let of = (principal.clone(), purpose);
        let places = &mut lock(&self.chats).places;
        let taken = places.get(&of).copied().unwrap_or_default();
        (taken < most).then(|| {
            places.insert(of.clone(), taken + 1);
            AnswerPermit { registry: Arc::clone(self), of }
        })
    }

    /// Returns all answers in progress.
    fn all_active(&self) -> Vec<Arc<ActiveResponse>> {
        lock(&self.chats).entries.values().filter_map(|chat| chat.active()).collect()
    }
}

/// A chat in use by a request. The registry drops the chat when no request uses it and no answer is in progress.
#[derive(Clone)]
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
        let entries = &mut guard.entries;
        if entries.get(&self.name).is_some_and(|chat| Arc::strong_count(chat) == 1 && chat.active().is_none()) {
            entries.remove(&self.name);
        }
    }
}

impl ChatGuard {
    /// Takes the chat's place among those of `principal` that are answered. A chat takes only one. The caller must hold the chat's
    /// lock.
    ///
    /// Fails when `most` other chats of the principal are answered.
    pub(crate) fn place(&self, principal: &Principal, most: usize) -> Result<Arc<AnswerPermit>, ApiError> {
        if let Some(place) = lock(&self.entry.place).upgrade() {
            return Ok(place);
        }
        let place = self.registry.place(principal, Purpose::Answer, most).ok_or_else(|| {
            let message = format!(
                "{most} chats of yours are being answered, as many as may be at once; wait until an answer has ended, or \
                 stop one"
            );
            ApiError::new(StatusCode::TOO_MANY_REQUESTS, "too_many_answers", message)
        })?;
        let place = Arc::new(place);
        *lock(&self.entry.place) = Arc::downgrade(&place);
        Ok(place)
    }

    /// Takes a place among the answers of `principal` that are kept. Returns `None` if there are `most` others.
    pub(crate) fn place_to_keep(&self, principal: &Principal, most: usize) -> Option<AnswerPermit> {
        self.registry.place(principal, Purpose::Keep, most)
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
    /// Refuses new requests, and waits up to `grace` for the answers in progress and for the runs of
    /// [`Server::take_over`](crate::Server::take_over). It then aborts those that are left. Their runs stay in the store as they
    /// are. Another process can continue them, and asks about calls that may have had effects.
    pub async fn suspend(&self, grace: Duration) {
        self.registry.closed.cancel();
        let all_over = async {
            // A request that came before may begin an answer meanwhile.
            while let Some(active) = self.registry.all_active().first() {
                active.until_over().await;
            }
            self.registry.workers.closed().await;
        };
        if tokio::time::timeout(grace, all_over).await.is_err() {
            let active = self.registry.all_active();
            active.iter().filter_map(|active| active.task.get()).for_each(AbortHandle::abort);
            self.registry.abandoned.cancel();
        }
    }
}

impl fmt::Debug for ShutdownHandle {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "ShutdownHandle({} answers)", self.registry.all_active().len())
    }
}
