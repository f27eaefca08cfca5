//! Pages that load a chat again, and the list of a principal's chats.

use std::{
    collections::HashSet,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use serde::Serialize;
use tokio::time::Instant;
use tool_run::run::{Digest, record};
use tool_runtime::{
    AgentError,
    agent::Session,
    run::{Principal, Run, RunId, Timestamp},
    store::{RunItem, Store, StoreError},
};

use super::{
    ApiError, Chat, Form, Shared,
    chat::{CANCEL_TIMEOUT, ChatName, chat_of, has_name},
    lock,
    other_server::is_in_progress,
    registry::{ChatGuard, ChatResponse, ResponsePermit},
};

/// The time for which a client can read a response after it has loaded the rest of the chat, even if the response has ended.
const RESPONSE_RETENTION: Duration = Duration::from_secs(30);

/// The pause between two looks for a run whose response has just begun.
const PAUSE: Duration = Duration::from_millis(5);

/// The number of runs that one read of the store returns at most.
const MAX_RUNS_READ: usize = 256;

/// A chat in the list of its principal's chats.
#[derive(Debug, Serialize)]
pub(crate) struct ListedChat {
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    /// The time of the last change that a person can see, in milliseconds since 1970.
    changed: Timestamp,
}

/// A part of the list of a principal's chats.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Page {
    pub(crate) offset: usize,
    pub(crate) limit: usize,
}

impl Shared {
    /// Returns the run `id` as it was when its log had `rev` entries.
    async fn run_at(&self, id: &RunId, rev: u64) -> Result<Run, ApiError> {
        let store = self.agent.run_store().ok_or_else(not_kept)?;
        let records = store.read(id, 0).await.map_err(AgentError::Store)?;
        let fold = move || {
            let records = records.into_iter().take_while(|record| record.rev < rev);
            let entries = records.map(|record| record::decode(&record.text)).collect::<Result<Vec<_>, _>>();
            let entries = entries.map_err(|error| ApiError::internal().cause(&error))?.into_iter().flatten();
            Run::fold(entries.take(usize::try_from(rev).unwrap_or(usize::MAX)))
                .map_err(|error| ApiError::internal().cause(&error))
        };
        tokio::task::spawn_blocking(fold).await.map_err(|error| ApiError::internal().cause(&error))?
    }

    /// Returns the chats of `principal`, the most recently changed first.
    ///
    /// Fails if clients keep the chats, or the store is not available.
    pub(crate) async fn chats(&self, principal: &Principal, page: Page) -> Result<Vec<ListedChat>, ApiError> {
        let store = self.agent.run_store().ok_or_else(not_kept)?;
        let (mut seen, mut chats) = (HashSet::new(), Vec::new());
        let mut from = 0;
        while chats.len() < page.limit {
            let runs = store.list(principal, from..from + MAX_RUNS_READ).await.map_err(AgentError::Store)?;
            let is_last = runs.len() < MAX_RUNS_READ;
            from += runs.len();
            for RunItem { run, title, changed, .. } in runs {
                // Each edited message and each regenerated response has begun another run of its chat. The latest comes first.
                let own = chat_of(&run).filter(|chat| {
                    chat.principal == principal.as_str()
                        && has_name(&self.agent, chat.made_by)
                        && !seen.contains(chat.id)
                });
                let Some(ChatName { id, .. }) = own else { continue };
                seen.insert(id.to_owned());
                if seen.len() > page.offset && chats.len() < page.limit {
                    chats.push(ListedChat { id: id.to_owned(), title, changed });
                }
            }
            if is_last {
                break;
            }
        }
        Ok(chats)
    }
}

/// A chat that a client loads.
pub(crate) struct Loaded {
    /// The chat's latest run.
    pub(crate) session: Session,
    /// The response that the client can read from its beginning.
    pub(crate) response: Option<Arc<ChatResponse>>,
    /// The run as it was before `response`, for a protocol whose clients get both in one stream.
    pub(crate) before: Option<Run>,
    /// Set if the active response is written elsewhere: on another server, or in another form.
    pub(crate) is_elsewhere: bool,
}

/// An answer that clients of one form have not loaded, because it was being written elsewhere. They can read it from its beginning.
pub(super) struct LeftOut {
    form: Form,
    run: RunId,
    until: Instant,
}

impl Chat {
    /// Returns the response that a client can read from its beginning: the one in progress, or one that is kept.
    pub(crate) fn readable(&self) -> Option<Arc<ChatResponse>> {
        self.guard.readable(&self.form).filter(|response| response.buffer.has_beginning())
    }

    /// Loads the chat for a client that can read `response`. The caller must hold a permit to load.
    ///
    /// Fails if there is no such chat.
    pub(super) async fn load(&self, response: Option<Arc<ChatResponse>>) -> Result<Loaded, ApiError> {
        let session = self.open_permitted().await?.ok_or_else(|| self.unknown_chat())?;
        let response = response.filter(|response| response.run == *session.id());
        let before = match response.as_ref().filter(|_| !matches!(self.form, Form::AiSdk(_))) {
            Some(response) => Some(self.shared.run_at(session.id(), response.rev).await?),
            None => None,
        };
        let is_elsewhere =
            !self.is_stateless() && self.guard.active_in(&self.form).is_none() && is_in_progress(session.run());
        Ok(Loaded { session, response, before, is_elsewhere })
    }

    /// Waits until the store has the run of a response that has just begun. Gives up when the response has ended without a stored
    /// run, or after [`CANCEL_TIMEOUT`]. Meanwhile the chat is not locked: the response needs the lock to end.
    pub(super) async fn wait_until_stored(mut self) -> Result<Self, ApiError> {
        let until = Instant::now() + CANCEL_TIMEOUT;
        while !self.is_stateless()
            && Instant::now() < until
            && let Some(response) = self.guard.active()
            && !self.exists(&response.run).await?
        {
            drop(self.request_lock);
            tokio::select! {
                () = response.wait_until_over() => {}
                () = tokio::time::sleep(PAUSE) => {}
            }
            self.request_lock = self.guard.lock_for_request().await;
            if response.is_over() {
                break;
            }
        }
        Ok(self)
    }

    /// Keeps `response` readable for [`RESPONSE_RETENTION`], even if it ends, unless the principal has too many such responses. So
    /// a client that has loaded the rest of the chat can read it with a second request.
    pub(super) fn keep_readable(&self, response: &Arc<ChatResponse>) {
        let mut kept = lock(&response.kept);
        let is_kept = kept.is_some();
        let permit = if is_kept { None } else { self.acquire_keep_permit() };
        if is_kept || permit.is_some() {
            *kept = Some(Instant::now() + RESPONSE_RETENTION);
        }
        if let Some(permit) = permit {
            let response = Arc::clone(response);
            let until = move |_: &ChatGuard| {
                let mut kept = lock(&response.kept);
                kept.take_if(|until| *until <= Instant::now());
                *kept
            };
            tokio::spawn(keep(self.guard.clone(), until, permit));
        }
    }

    fn acquire_keep_permit(&self) -> Option<ResponsePermit> {
        self.guard.acquire_keep_permit(&self.principal, self.shared.max_responses)
    }

    /// Lets a client that has loaded the chat without the answer of `run`, which is being written elsewhere, read it from its
    /// beginning for [`RESPONSE_RETENTION`], even if it ends. The principal may have too many such answers.
    pub(super) fn leave_out(&self, run: &RunId) {
        let mut left_out = lock(&self.guard.left_out);
        let known = left_out.iter().position(|known| known.form == self.form).map(|at| left_out.swap_remove(at));
        let permit = if known.is_some() { None } else { self.acquire_keep_permit() };
        if known.is_some() || permit.is_some() {
            let until = Instant::now() + RESPONSE_RETENTION;
            left_out.push(LeftOut { form: self.form.clone(), run: run.clone(), until });
        }
        if let Some(permit) = permit {
            let form = self.form.clone();
            let until = move |guard: &ChatGuard| {
                let mut left_out = lock(&guard.left_out);
                left_out.retain(|known| known.until > Instant::now());
                left_out.iter().find(|known| known.form == form).map(|known| known.until)
            };
            tokio::spawn(keep(self.guard.clone(), until, permit));
        }
    }

    /// Notes that a client has loaded the whole chat.
    pub(super) fn forget_left_out(&self) {
        lock(&self.guard.left_out).retain(|known| known.form != self.form);
    }

    /// Returns whether a client of this form has loaded the chat without the answer of `run`.
    pub(super) fn has_left_out(&self, run: &RunId) -> bool {
        lock(&self.guard.left_out).iter().any(|known| known.form == self.form && known.run == *run)
    }

    /// Returns the digest of the end of the log of `run`, if the log has `rev` entries, and no more. It differs from that of another
    /// run that had the same id, because entries have times.
    pub(super) async fn digest_at(&self, run: &RunId, rev: u64) -> Result<Option<Digest>, ApiError> {
        let Some(store) = self.agent.run_store() else { return Ok(None) };
        let read = async |from| match store.read(run, from).await {
            Ok(records) => Ok(records),
            Err(StoreError::NotFound) => Ok(Vec::new()),
            Err(error) => Err(ApiError::from(AgentError::Store(error))),
        };
        let last = read(rev.saturating_sub(1)).await?;
        let is_at_end = !last.is_empty() && read(rev).await?.is_empty();
        Ok(is_at_end.then(|| Digest::of(last.iter().flat_map(|record| record.text.bytes()).collect::<Vec<_>>())))
    }

    /// Gives the chat a title.
    ///
    /// Fails if there is no such chat.
    pub(crate) async fn rename(self, title: String) -> Result<(), ApiError> {
        match self.stored_generation().await? {
            0 => Err(self.unknown_chat()),
            generation => {
                self.agent.rename(&self.run_id(generation), title, self.principal.clone()).await?;
                Ok(())
            }
        }
    }

    /// Cancels the chat's active response in this process, and deletes all runs of the chat.
    ///
    /// Fails if there is no such chat.
    pub(crate) async fn delete(self) -> Result<(), ApiError> {
        if self.stored_generation().await? == 0 && self.guard.active().is_none() {
            return Err(self.unknown_chat());
        }
        self.cancel_active().await?;
        // The cancelled response may have begun a run.
        let latest = self.stored_generation().await?;
        let Some(store) = self.agent.run_store() else { return Err(self.unknown_chat()) };
        // The latest comes first: if a deletion fails, the rest is a chat that can still be deleted.
        for generation in (1..=latest).rev() {
            store.delete(&self.run_id(generation)).await.map_err(AgentError::Store)?;
            self.guard.generation.store(generation - 1, Ordering::SeqCst);
        }
        self.guard.forget_last();
        Ok(())
    }

    /// Returns the number of the chat's latest run, like [`Chat::latest_generation`].
    ///
    /// Fails if clients keep the chats.
    async fn stored_generation(&self) -> Result<u32, ApiError> {
        if self.is_stateless() { Err(not_kept()) } else { self.latest_generation().await }
    }

    fn unknown_chat(&self) -> ApiError {
        if self.is_stateless() { not_kept() } else { ApiError::not_found("no such chat") }
    }
}

/// Keeps the registry's entry of a chat, with what it has for clients that have loaded the chat, as long as `until` returns a time.
async fn keep(guard: ChatGuard, until: impl Fn(&ChatGuard) -> Option<Instant>, _permit: ResponsePermit) {
    while let Some(until) = until(&guard) {
        tokio::time::sleep_until(until).await;
    }
}

pub(super) fn not_kept() -> ApiError {
    ApiError::not_found("this server keeps no chats: its clients keep them")
}
