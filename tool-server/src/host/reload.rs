//! Pages that load a chat again, and the list of a principal's chats.

use std::{
    collections::HashSet,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use axum::http::StatusCode;
use serde::Serialize;
use tokio::time::Instant;
use tool_run::run::record;
use tool_runtime::{
    AgentError,
    agent::Session,
    run::{Principal, Run, RunId, Timestamp},
    store::{RunItem, Store},
};

use super::{
    ApiError, Chat, Shared,
    chat::{ChatName, chat_of, has_name},
    lock,
    other_server::is_in_progress,
    registry::{ChatGuard, ChatResponse, ResponsePermit},
};

/// The time for which a client can read a response after it has loaded the rest of the chat, even if the response has ended.
const RESPONSE_RETENTION: Duration = Duration::from_secs(30);

/// The maximum number of attempts to load a run whose response has just begun.
const MAX_ATTEMPTS: u32 = 100;

/// The pause between two attempts.
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
    pub(crate) async fn run_at(&self, id: &RunId, rev: u64) -> Result<Run, ApiError> {
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

impl Chat {
    /// Returns the chat's latest run, and the response that the client can read from its beginning: the one in progress, or one
    /// that is kept. The flag is set if another server writes the active response.
    ///
    /// Fails if there is no such chat.
    pub(crate) async fn reload(self) -> Result<(Session, Option<Arc<ChatResponse>>, bool), ApiError> {
        let protocol = self.protocol;
        let active =
            self.guard.readable().filter(|active| active.protocol == protocol && active.buffer.has_beginning());
        let mut attempts = 0;
        let session = loop {
            match self.open().await {
                // The first entries of the run are not stored yet.
                Err(error) if error.status == StatusCode::NOT_FOUND && active.is_some() && attempts < MAX_ATTEMPTS => {
                    attempts += 1;
                }
                opened => break opened?.ok_or_else(|| self.unknown_chat())?,
            }
            tokio::time::sleep(PAUSE).await;
        };
        let is_elsewhere = !self.is_stateless() && self.guard.active().is_none() && is_in_progress(session.run());
        Ok((session, active, is_elsewhere))
    }

    /// Reloads like [`Chat::reload`], for a client that reads the response with a second request. The response stays readable
    /// for [`RESPONSE_RETENTION`], even if it ends, unless the principal has too many such responses.
    pub(crate) async fn reload_and_keep(self) -> Result<(Session, Option<Arc<ChatResponse>>, bool), ApiError> {
        let (guard, principal, most) = (self.guard.clone(), self.principal.clone(), self.shared.max_responses);
        let (session, active, is_elsewhere) = self.reload().await?;
        if let Some(active) = &active {
            let mut kept = lock(&active.kept);
            let is_kept = kept.is_some();
            let permit = if is_kept { None } else { guard.acquire_keep_permit(&principal, most) };
            if is_kept || permit.is_some() {
                *kept = Some(Instant::now() + RESPONSE_RETENTION);
            }
            if let Some(permit) = permit {
                tokio::spawn(keep(Arc::clone(active), guard, permit));
            }
        }
        Ok((session, active, is_elsewhere))
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
        let latest = self.stored_generation().await?;
        let Some(store) = self.agent.run_store().filter(|_| latest > 0) else { return Err(self.unknown_chat()) };
        self.cancel_active().await?;
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

/// Keeps a response and the registry's entry of its chat, as long as clients that have loaded the chat may read the response.
async fn keep(active: Arc<ChatResponse>, _guard: ChatGuard, _permit: ResponsePermit) {
    let next = || {
        let mut kept = lock(&active.kept);
        kept.take_if(|until| *until <= Instant::now());
        *kept
    };
    while let Some(until) = next() {
        tokio::time::sleep_until(until).await;
    }
}

fn not_kept() -> ApiError {
    ApiError::not_found("this server keeps no chats: its clients keep them")
}
