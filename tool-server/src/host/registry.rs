//! The registry of chats that are in use, with their responses.

use std::{
    collections::HashMap,
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
use tokio_util::sync::CancellationToken;
use tool_runtime::{
    Cancellation, Part,
    agent::{Handle as DriverHandle, Session, Steering},
    run::{Principal, Run, RunId},
};

use super::{
    ApiError, Start, lock,
    reload::LeftOut,
    replay::ReplayBuffer,
    shares::{Permit, Shares},
    transcript::KnownTranscript,
};
#[cfg(feature = "ag-ui")]
use crate::protocol::ag_ui::ProtocolVersion;
use crate::protocol::ai_sdk::SdkVersion;

/// The chats that a request uses or that have an active response, by the names of their runs.
#[derive(Default)]
pub(crate) struct Registry {
    chats: Mutex<HashMap<String, Arc<ChatEntry>>>,
    permits: Shares<(Principal, Purpose)>,
    /// Cancelled when the server shuts down.
    pub(crate) closed: CancellationToken,
    /// Cancelled when the time to shut down is over.
    pub(crate) abandoned: CancellationToken,
    /// Has a receiver for each worker that continues runs of servers that are gone.
    pub(crate) workers: watch::Sender<()>,
}

/// The purpose of a permit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Purpose {
    /// A response is active.
    Active,
    /// A response stays readable after its end, for clients that have loaded its chat.
    Readable,
}

/// A permit for one response of a principal. The number of permits is limited.
pub(crate) type ResponsePermit = Permit<(Principal, Purpose)>;

/// An entry of the registry: one chat.
#[derive(Default)]
pub(crate) struct ChatEntry {
    /// The lock that a request holds while it changes the chat.
    request_lock: Arc<AsyncMutex<()>>,
    /// The responses in progress: the active one, and those that follow its run in other forms.
    responses: Mutex<Vec<Arc<ChatResponse>>>,
    /// These responses. If there are none, the last ones, which a client that loaded the chat may still read.
    readable: Mutex<Vec<Weak<ChatResponse>>>,
    /// The permit that the chat holds while it has an active response.
    permit: Mutex<Weak<ResponsePermit>>,
    /// The transcripts that clients receive now.
    pub(super) transcripts: Mutex<Vec<KnownTranscript>>,
    /// The answers that clients have not loaded, because they were being written elsewhere.
    pub(super) left_out: Mutex<Vec<LeftOut>>,
    /// The number of the chat's latest run that this process has found in the store; 0 before the first.
    pub(crate) generation: AtomicU32,
    /// The name of the agent that made the chat's first run, once it is known.
    pub(crate) made_by: Mutex<Option<String>>,
}

/// The form of a response. A client cannot read responses of another form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    AiSdk(SdkVersion),
    /// The path of the endpoint, and the client's version of the protocol. A client that came back without its version reads all.
    #[cfg(feature = "ag-ui")]
    AgUi(String, Option<ProtocolVersion>),
}

impl Form {
    /// Returns whether a client that asked for this form reads a response of the form `written`.
    fn reads(&self, written: &Self) -> bool {
        match (self, written) {
            #[cfg(feature = "ag-ui")]
            (Self::AgUi(path, version), Self::AgUi(of, written)) => {
                path == of && version.is_none_or(|version| version == written.unwrap_or_default())
            }
            _ => self == written,
        }
    }
}

/// A message of a person.
#[derive(Clone, Debug)]
pub(crate) struct Prompted {
    pub(crate) id: Option<String>,
    pub(crate) content: Vec<Part>,
    /// The idempotency key of the request that brought it.
    pub(crate) key: Option<String>,
}

/// A response that is active, or that has ended and stays readable.
pub(crate) struct ChatResponse {
    form: Form,
    pub(crate) buffer: Arc<ReplayBuffer>,
    pub(crate) cancel: Cancellation,
    pub(crate) driver: DriverHandle,
    /// The sender of steering messages, if clients keep the runs. Otherwise messages reach the run through the store.
    pub(crate) steering: Option<Steering>,
    pub(crate) run: RunId,
    /// The number of entries that the run's log had before the response.
    pub(crate) rev: u64,
    /// The number of messages that the run had before the response.
    pub(crate) messages: usize,
    /// The number of prompts that the run had before the response, and the prompt to respond to.
    prompt: Option<(usize, Prompted)>,
    /// Set if the response follows a run that was in progress. It begins with the run's last prompt, whatever a client has of it.
    pub(crate) follows: bool,
    /// The time until which clients that have loaded the chat can read the response, although it may have ended.
    pub(crate) kept: Mutex<Option<Instant>>,
    pub(crate) at_rest: AtomicBool,
    over: watch::Sender<bool>,
    task: OnceLock<AbortHandle>,
}

impl ChatResponse {
    /// Creates the entry for the response of `session` that begins with `start`, and is written into `buffer`.
    pub(crate) fn new(
        form: Form,
        buffer: Arc<ReplayBuffer>,
        cancel: Cancellation,
        session: &mut Session,
        start: &Start,
    ) -> Arc<Self> {
        let (prompt, follows) = match start {
            Start::Prompt { prompt, .. } => (Some(prompt.clone()), false),
            Start::Follow { prompt } => (prompt.clone(), true),
            Start::Resume => (None, false),
        };
        let (rev, accepted) = (session.run().rev(), session.run().prompts().len());
        let messages = session.run().messages().len();
        let (prompt, kept) = (prompt.map(|prompt| (accepted, prompt)), Mutex::default());
        let steering = session.agent().run_store().is_none().then(|| session.steering());
        let (at_rest, over, task) = (AtomicBool::new(false), watch::Sender::new(false), OnceLock::new());
        let (driver, run) = (session.handle(), session.id().clone());
        Arc::new(Self {
            form,
            buffer,
            cancel,
            driver,
            steering,
            run,
            rev,
            messages,
            prompt,
            follows,
            kept,
            at_rest,
            over,
            task,
        })
    }

    /// Returns the prompt to respond to, if `run` has not accepted it yet.
    pub(crate) fn pending_prompt(&self, run: &Run) -> Option<&Prompted> {
        let accepted = |before: usize| run.prompts().iter().skip(before).any(|prompt| !prompt.steers);
        self.prompt.as_ref().filter(|(before, _)| !accepted(*before)).map(|(_, prompt)| prompt)
    }

    /// Returns the prompt to respond to, if there is one.
    pub(crate) fn prompt(&self) -> Option<&Prompted> {
        self.prompt.as_ref().map(|(_, prompt)| prompt)
    }

    pub(crate) fn set_task(&self, task: AbortHandle) {
        let _ = self.task.set(task);
    }

    /// Returns whether the run is at rest, and the response ends unless a decision has come.
    pub(crate) fn is_at_rest(&self) -> bool {
        self.at_rest.load(Ordering::SeqCst)
    }

    pub(crate) fn is_over(&self) -> bool {
        *self.over.borrow()
    }

    /// Waits until the response has ended and its run is at rest.
    pub(crate) async fn wait_until_over(&self) {
        let _ = self.over.subscribe().wait_for(|over| *over).await;
    }
}

impl Registry {
    /// Returns the chat whose runs are named `name`, and adds it if it is not in use.
    ///
    /// Fails when the server shuts down.
    pub(crate) fn enter(self: &Arc<Self>, name: &str) -> Result<ChatGuard, ApiError> {
        let mut chats = lock(&self.chats);
        if self.closed.is_cancelled() {
            let message = "the server is being shut down; try again in a moment";
            return Err(ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", message));
        }
        let entry = Arc::clone(chats.entry(name.to_owned()).or_default());
        Ok(ChatGuard { registry: Arc::clone(self), name: name.to_owned(), entry })
    }

    /// Cancels the responses of the chat that are in progress. Returns whether there were any.
    pub(crate) fn cancel(&self, name: &str) -> bool {
        lock(&self.chats).get(name).is_some_and(|chat| chat.cancel())
    }

    /// Returns the chat's response that clients of this form can read.
    pub(crate) fn readable(&self, name: &str, form: &Form) -> Option<Arc<ChatResponse>> {
        lock(&self.chats).get(name)?.readable(form)
    }

    fn all_active(&self) -> Vec<Arc<ChatResponse>> {
        lock(&self.chats).values().flat_map(|chat| chat.responses()).collect()
    }
}

/// A chat in use by a request. The registry drops the chat when no request uses it and no response is in progress.
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
        let mut entries = lock(&self.registry.chats);
        if entries.get(&self.name).is_some_and(|chat| Arc::strong_count(chat) == 1 && chat.responses().is_empty()) {
            entries.remove(&self.name);
        }
    }
}

impl ChatGuard {
    /// Acquires the permit for the chat's active response. A chat has only one. The caller must hold the chat's lock.
    ///
    /// Fails when `most` other chats of the principal have an active response.
    pub(crate) fn acquire_permit(&self, principal: &Principal, most: usize) -> Result<Arc<ResponsePermit>, ApiError> {
        if let Some(permit) = lock(&self.entry.permit).upgrade() {
            return Ok(permit);
        }
        let permit = self.registry.permits.acquire((principal.clone(), Purpose::Active), most).ok_or_else(|| {
            let message = format!(
                "{most} chats of yours are being answered, as many as may be at once; wait until an answer has ended, or \
                 stop one"
            );
            ApiError::new(StatusCode::TOO_MANY_REQUESTS, "too_many_answers", message)
        })?;
        let permit = Arc::new(permit);
        *lock(&self.entry.permit) = Arc::downgrade(&permit);
        Ok(permit)
    }

    /// Acquires a permit to keep a response of `principal` readable after its end. Returns `None` if `most` others are kept.
    pub(crate) fn acquire_keep_permit(&self, principal: &Principal, most: usize) -> Option<ResponsePermit> {
        self.registry.permits.acquire((principal.clone(), Purpose::Readable), most)
    }
}

impl ChatEntry {
    /// Locks the chat for a request, after waiting until no other request changes it.
    pub(crate) async fn lock_for_request(&self) -> OwnedMutexGuard<()> {
        Arc::clone(&self.request_lock).lock_owned().await
    }

    pub(crate) fn active(&self) -> Option<Arc<ChatResponse>> {
        lock(&self.responses).first().cloned()
    }

    /// Cancels the responses in progress. Returns whether there were any.
    pub(crate) fn cancel(&self) -> bool {
        let responses = self.responses();
        for response in &responses {
            response.cancel.cancel();
        }
        !responses.is_empty()
    }

    /// Returns the responses in progress, the active one first.
    pub(crate) fn responses(&self) -> Vec<Arc<ChatResponse>> {
        lock(&self.responses).clone()
    }

    /// Returns the latest response in progress that clients of this form can read.
    pub(crate) fn active_in(&self, form: &Form) -> Option<Arc<ChatResponse>> {
        lock(&self.responses).iter().rev().find(|response| form.reads(&response.form)).cloned()
    }

    /// Returns the latest response that clients of this form can read: one in progress, or one that is kept.
    pub(crate) fn readable(&self, form: &Form) -> Option<Arc<ChatResponse>> {
        let is_readable = |response: &Arc<ChatResponse>| {
            form.reads(&response.form) && (!response.is_over() || lock(&response.kept).is_some())
        };
        lock(&self.readable).iter().rev().filter_map(Weak::upgrade).find(is_readable)
    }

    /// Forgets the last responses, because the chat was deleted.
    pub(crate) fn forget_last(&self) {
        lock(&self.readable).clear();
    }

    /// Adds a response, in place of one in the same form that is about to end. It is the active one, unless there is one whose run
    /// it follows.
    pub(crate) fn add_response(&self, response: Arc<ChatResponse>) {
        let (mut responses, mut readable) = (lock(&self.responses), lock(&self.readable));
        // A response that only follows goes on beside one that a decision of its form begins.
        let stays = |earlier: &Arc<ChatResponse>| earlier.form != response.form || !earlier.is_at_rest();
        responses.retain(stays);
        readable.retain(|earlier| earlier.upgrade().as_ref().is_some_and(stays));
        if responses.is_empty() {
            readable.clear();
        }
        readable.push(Arc::downgrade(&response));
        responses.push(response);
    }

    /// Marks `ended` as over, and removes it from the responses in progress.
    pub(crate) fn remove_response(&self, ended: &Arc<ChatResponse>) {
        lock(&self.responses).retain(|response| !Arc::ptr_eq(response, ended));
        ended.over.send_replace(true);
    }
}

/// A handle that ends a server's responses at shutdown. It is cheap to clone.
#[derive(Clone)]
pub struct ShutdownHandle {
    pub(crate) registry: Arc<Registry>,
}

impl ShutdownHandle {
    /// Refuses new requests, and waits up to `grace` for the active responses and for the runs of
    /// [`Server::take_over`](crate::Server::take_over). It then aborts those that are left. Their runs stay in the store as they
    /// are. Another process can continue them, and asks about calls that may have had effects.
    pub async fn suspend(&self, grace: Duration) {
        self.registry.closed.cancel();
        let all_over = async {
            // A request that came before may begin a response meanwhile.
            while let Some(active) = self.registry.all_active().first() {
                active.wait_until_over().await;
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
        write!(out, "ShutdownHandle({} active responses)", self.registry.all_active().len())
    }
}
