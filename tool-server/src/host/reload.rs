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
    run::{Principal, Run, RunId, Time},
    store::{RunItem, Store},
};

use super::{
    ApiError, Chat, Shared,
    chat::chat_of,
    lock,
    other_server::is_in_progress,
    registry::{ActiveResponse, AnswerPermit, ChatGuard},
};

/// The time for which a client can read an answer after it has loaded the rest of the chat, even if the answer has ended.
const ANSWER_RETENTION: Duration = Duration::from_secs(30);

/// The maximum number of attempts to load a run whose answer has just begun.
const MAX_TRIES: u32 = 100;
/// The pause between two attempts.
const PAUSE: Duration = Duration::from_millis(5);

/// The number of runs that are read from the store at once.
const PAGE: usize = 256;

/// A chat in the list of its principal's chats.
#[derive(Debug, Serialize)]
pub(crate) struct ListedChat {
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    /// The time at which a person last saw something change, in milliseconds since 1970.
    changed: Time,
}

/// A part of the list.
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
            let entries = entries.map_err(|_| ApiError::internal())?.into_iter().flatten();
            Run::fold(entries.take(usize::try_from(rev).unwrap_or(usize::MAX))).map_err(|_| ApiError::internal())
        };
        tokio::task::spawn_blocking(fold).await.map_err(|_| ApiError::internal())?
    }

    /// Returns the chats of `principal`, the last changed first.
    ///
    /// Fails if clients keep the chats, or the store is not available.
    pub(crate) async fn chats(&self, principal: &Principal, page: Page) -> Result<Vec<ListedChat>, ApiError> {
        let store = self.agent.run_store().ok_or_else(not_kept)?;
        let (mut seen, mut chats) = (HashSet::new(), Vec::new());
        let mut from = 0;
        while chats.len() < page.limit {
            let runs = store.list(principal, from..from + PAGE).await.map_err(AgentError::Store)?;
            let is_last = runs.len() < PAGE;
            from += runs.len();
            for RunItem { run, title, changed, .. } in runs {
                // Each message that was edited or regenerated has begun another run of its chat. The latest comes first.
                let of_principal =
                    chat_of(&run).filter(|(owner, id)| *owner == principal.as_str() && !seen.contains(*id));
                let Some((_, id)) = of_principal else { continue };
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
    /// Returns the chat's latest run, and the answer that the client can read from its beginning: the one in progress, or one that
    /// is kept. The flag is set if another server writes the answer in progress.
    ///
    /// Fails if there is no such chat.
    pub(crate) async fn reload(self) -> Result<(Session, Option<Arc<ActiveResponse>>, bool), ApiError> {
        let protocol = self.protocol;
        let active = self.guard.readable().filter(|active| active.protocol == protocol && active.buffer.is_whole());
        let mut tries = 0;
        let session = loop {
            match self.open().await {
                // The first entries of the run are not stored yet.
                Err(error) if error.status == StatusCode::NOT_FOUND && active.is_some() && tries < MAX_TRIES => {
                    tries += 1;
                }
                opened => break opened?.ok_or_else(|| self.unknown())?,
            }
            tokio::time::sleep(PAUSE).await;
        };
        let is_elsewhere = !self.is_sealed() && self.guard.active().is_none() && is_in_progress(session.run());
        Ok((session, active, is_elsewhere))
    }

    /// Like [`Chat::reload`], for a client that reads the answer with another request. The answer stays readable for a while,
    /// although it may end before, unless the principal has too many such answers.
    pub(crate) async fn reload_and_keep(self) -> Result<(Session, Option<Arc<ActiveResponse>>, bool), ApiError> {
        let (guard, principal, most) = (self.guard.clone(), self.principal.clone(), self.shared.max_answers);
        let (session, active, is_elsewhere) = self.reload().await?;
        if let Some(active) = &active {
            let mut kept = lock(&active.kept);
            let is_kept = kept.is_some();
            let place = if is_kept { None } else { guard.place_to_keep(&principal, most) };
            if is_kept || place.is_some() {
                *kept = Some(Instant::now() + ANSWER_RETENTION);
            }
            if let Some(place) = place {
                tokio::spawn(keep(Arc::clone(active), guard, place));
            }
        }
        Ok((session, active, is_elsewhere))
    }

    /// Gives the chat a title.
    ///
    /// Fails if there is no such chat.
    pub(crate) async fn rename(self, title: String) -> Result<(), ApiError> {
        match self.stored_generation().await? {
            0 => Err(self.unknown()),
            generation => {
                self.agent.rename(&self.run_id(generation), title, self.principal.clone()).await?;
                Ok(())
            }
        }
    }

    /// Deletes all runs of the chat, after its answer in progress was cancelled.
    ///
    /// Fails if there is no such chat.
    pub(crate) async fn delete(self) -> Result<(), ApiError> {
        let latest = self.stored_generation().await?;
        let Some(store) = self.agent.run_store().filter(|_| latest > 0) else { return Err(self.unknown()) };
        self.cancel_active().await?;
        // The latest comes first: if the rest fails, what is left is a chat that can be deleted.
        for generation in (1..=latest).rev() {
            store.delete(&self.run_id(generation)).await.map_err(AgentError::Store)?;
            self.guard.generation.store(generation - 1, Ordering::SeqCst);
        }
        self.guard.forget();
        Ok(())
    }

    /// Returns the number of the chat's latest run, like [`Chat::latest`].
    ///
    /// Fails if clients keep the chats.
    async fn stored_generation(&self) -> Result<u32, ApiError> {
        if self.is_sealed() { Err(not_kept()) } else { self.latest().await }
    }

    fn unknown(&self) -> ApiError {
        if self.is_sealed() { not_kept() } else { ApiError::not_found("no such chat") }
    }
}

/// Keeps an answer, and the registry's entry of its chat, as long as clients that have loaded the chat may read it.
async fn keep(active: Arc<ActiveResponse>, _guard: ChatGuard, _place: AnswerPermit) {
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
