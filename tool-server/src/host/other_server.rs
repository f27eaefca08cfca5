//! Chats whose runs are driven elsewhere: by another server on the same store, or by a response in another form.

use tokio::time::{Instant, sleep};
use tool_run::run::{LogEntry, record};
use tool_runtime::{
    AgentError,
    agent::{Session, Suspend},
    run::{Phase, Refusal, Run},
    store::StoreError,
};

use super::{
    ApiError, Chat, Start,
    chat::{CANCEL_TIMEOUT, PAUSE, REPEAT_WAIT},
    registry::Prompted,
    repeated::repeated_prompt,
};

/// Returns whether a run goes on by itself: a process drives it, or must take it over.
pub(super) fn is_in_progress(run: &Run) -> bool {
    matches!(run.phase(), Phase::Generating | Phase::Acting)
}

impl Chat {
    /// Opens the chat's latest run for a new message, whose request has the idempotency key `key`. Cancels the run first if
    /// another server drives it, unless it is for the same request.
    pub(super) async fn open_at_rest(&self, key: Option<&str>) -> Result<Option<Session>, ApiError> {
        match self.open().await? {
            Some(session)
                if is_in_progress(session.run())
                    && key.and_then(|key| repeated_prompt(session.run(), key)).is_none() =>
            {
                self.cancel_elsewhere(&session).await?;
                self.wait_until_free(&session).await?;
                self.open().await
            }
            opened => Ok(opened),
        }
    }

    /// Cancels the active response, wherever its run is driven.
    pub(crate) async fn stop(&self) -> Result<(), ApiError> {
        if self.guard.cancel() {
            return Ok(());
        }
        if let Some(session) = self.open().await?.filter(|session| is_in_progress(session.run())) {
            self.cancel_elsewhere(&session).await?;
        }
        Ok(())
    }

    /// Opens the chat's run as it was before its last prompt, if the run is driven elsewhere, or was when a client loaded the chat
    /// without the answer. Also returns the start that follows the other response.
    pub(crate) async fn open_elsewhere(&self) -> Result<Option<(Session, Start)>, ApiError> {
        if self.is_stateless() || self.guard.active_in(&self.form).is_some() {
            return Ok(None);
        }
        let until = Instant::now() + REPEAT_WAIT;
        loop {
            match self.open().await? {
                Some(session) if is_in_progress(session.run()) || self.has_left_out(session.id()) => {
                    return self.open_before_prompt(&session).await;
                }
                // A response that has just begun has not stored its prompt, or not begun with what was decided.
                _ if self.guard.active().is_some_and(|active| !active.is_at_rest()) && Instant::now() < until => {
                    sleep(PAUSE).await;
                }
                _ => return Ok(None),
            }
        }
    }

    /// Opens the stored run of `session` as it was before its last prompt. Also returns the start that follows from there.
    pub(super) async fn open_before_prompt(&self, session: &Session) -> Result<Option<(Session, Start)>, ApiError> {
        let _permit = self.acquire_load().await?;
        let Some(store) = self.agent.run_store() else { return Ok(None) };
        let records = store.read(session.id(), 0).await.map_err(AgentError::Store)?;
        let entries = records.iter().map(|record| record::decode(&record.text)).collect::<Result<Vec<_>, _>>();
        let mut entries: Vec<LogEntry> =
            entries.map_err(|error| ApiError::internal().cause(&error))?.into_iter().flatten().collect();
        let is_prompt = |entry: &LogEntry| matches!(entry, LogEntry::Prompted { prompt, .. } if !prompt.steers);
        // The response to a conversation without a prompt of its own begins with the run.
        let rest = entries.split_off(entries.iter().rposition(is_prompt).unwrap_or(1).clamp(1, entries.len()));
        let run = Run::fold(entries).map_err(|error| ApiError::internal().cause(&error))?;
        let prompt = match rest.into_iter().next() {
            Some(LogEntry::Prompted { prompt, .. }) => {
                Some(Prompted { id: prompt.id, content: prompt.content, key: prompt.key })
            }
            _ => None,
        };
        Ok(Some((self.agent.session_from_run(run), Start::Follow { prompt })))
    }

    async fn cancel_elsewhere(&self, session: &Session) -> Result<(), ApiError> {
        match self.agent.cancel(session.id(), self.principal.clone()).await {
            // The run has ended meanwhile.
            Ok(_) | Err(AgentError::Refused(Refusal::NotActive)) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Waits until no other server drives the cancelled run of `session`.
    async fn wait_until_free(&self, session: &Session) -> Result<(), ApiError> {
        let until = Instant::now() + CANCEL_TIMEOUT;
        let agent = self.shared.agent.clone().operator(Suspend);
        loop {
            let mut session = agent.open_for_owner(session.id()).await?;
            match session.run_pending_calls().await {
                Err(AgentError::Store(StoreError::Leased { .. })) if Instant::now() < until => sleep(PAUSE).await,
                Err(AgentError::Store(StoreError::Leased { .. })) => {
                    let message = "the previous answer is still being cancelled; try again in a moment";
                    return Err(ApiError::conflict(message));
                }
                Ok(_) | Err(AgentError::Cancelled | AgentError::Blocked { .. }) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
    }
}
