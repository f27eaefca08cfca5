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
    chat::name,
    lock,
    registry::{ActiveResponse, ChatGuard},
};

/// The time for which a client can read an answer after it has loaded the rest of the chat, even if the answer has ended.
const KEPT: Duration = Duration::from_secs(30);

/// The number of tries, and the pause between two, to load a run whose answer has just begun.
const TRIES: u32 = 100;
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
        let store = self.agent.stored_in().ok_or_else(not_kept)?;
        let records = store.read(id, 0).await.map_err(AgentError::Store)?;
        let records = records.into_iter().take_while(|record| record.rev < rev);
        let entries = records.map(|record| record::decode(&record.text)).collect::<Result<Vec<_>, _>>();
        let entries = entries.map_err(|_| ApiError::internal())?.into_iter().flatten();
        Run::fold(entries.take(usize::try_from(rev).unwrap_or(usize::MAX))).map_err(|_| ApiError::internal())
    }

    /// Returns the chats of `principal`, the last changed first.
    ///
    /// Fails if clients keep the chats, or the store is not available.
    pub(crate) async fn chats(&self, principal: &Principal, page: Page) -> Result<Vec<ListedChat>, ApiError> {
        let store = self.agent.stored_in().ok_or_else(not_kept)?;
        let (mut seen, mut chats) = (HashSet::new(), Vec::new());
        let mut from = 0;
        while chats.len() < page.limit {
            let runs = store.list(principal, from..from + PAGE).await.map_err(AgentError::Store)?;
            let is_last = runs.len() < PAGE;
            from += runs.len();
            for RunItem { run, title, changed, .. } in runs {
                // Each message that was edited or regenerated has begun another run of its chat. The latest comes first.
                let Some(id) = chat_id(principal, run.as_str()).filter(|id| !seen.contains(*id)) else { continue };
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

/// Returns the id of the chat that a run of `principal` belongs to, if it belongs to one.
fn chat_id<'a>(principal: &Principal, run: &'a str) -> Option<&'a str> {
    let (generation, rest) = run.split_once(':')?;
    generation.parse::<u32>().ok()?;
    let id = rest.strip_prefix(&format!("{}:{principal}:", principal.as_str().len()))?;
    name(principal, id).is_ok().then_some(id)
}

impl Chat {
    /// Returns the chat's latest run, and the answer in progress that the client can read from its beginning. That answer stays
    /// readable for a while, although it may end before the client reads it.
    ///
    /// Fails if there is no such chat.
    pub(crate) async fn reload(self) -> Result<(Session, Option<Arc<ActiveResponse>>), ApiError> {
        let protocol = self.protocol;
        let active = self.guard.readable().filter(|active| active.protocol == protocol && active.buffer.is_whole());
        let mut tries = 0;
        let session = loop {
            match self.open().await {
                // The first entries of the run are not stored yet.
                Err(error) if error.status == StatusCode::NOT_FOUND && active.is_some() && tries < TRIES => tries += 1,
                opened => break opened?.ok_or_else(|| self.unknown())?,
            }
            tokio::time::sleep(PAUSE).await;
        };
        if let Some(active) = &active {
            let mut kept = lock(&active.kept);
            let clients = kept.map_or(1, |(clients, _)| clients + 1);
            if kept.replace((clients, Instant::now() + KEPT)).is_none() {
                tokio::spawn(keep(Arc::clone(active), self.guard));
            }
        }
        Ok((session, active))
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
        let Some(store) = self.agent.stored_in().filter(|_| latest > 0) else { return Err(self.unknown()) };
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
async fn keep(active: Arc<ActiveResponse>, _guard: ChatGuard) {
    let next = || {
        let mut kept = lock(&active.kept);
        kept.take_if(|(_, until)| *until <= Instant::now());
        kept.map(|(_, until)| until)
    };
    while let Some(until) = next() {
        tokio::time::sleep_until(until).await;
    }
}

fn not_kept() -> ApiError {
    ApiError::not_found("this server keeps no chats: its clients keep them")
}
