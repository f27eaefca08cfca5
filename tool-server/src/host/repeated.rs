//! Requests that were sent twice: with the same ids and the same content. Each prompt in a log has the idempotency key of its
//! request, so every server of a store recognizes the second one.

use std::sync::Arc;

use tool_run::run::Digest;
use tool_runtime::{
    Part,
    agent::Session,
    run::{Phase, Run, StopReason},
};

use super::{ApiError, Chat, Start, other_server::is_in_progress, registry::ChatResponse};

/// The chat as a request finds it.
pub(crate) enum Opened {
    /// The run that the request continues, if there is one.
    Run(Option<Session>),
    /// The request was sent before, and its response is active in this process.
    Active(Arc<ChatResponse>),
    /// The request was sent before, and the run has its prompt, which has this number.
    Repeated(Session, usize),
}

/// The response to a request that was sent before.
pub(crate) enum Again {
    /// The response goes on: it is followed from its prompt on.
    Follow(Session, Start),
    /// The response has ended early, because its clients left or the model failed. It is shown, and the run is continued.
    Continue(Session),
    /// The response has ended, and is shown. The flag is set if no prompt came later.
    Show(Session, bool),
}

/// Returns the idempotency key of a request with these ids that brings a prompt with `content`.
pub(crate) fn request_key(ids: &[&str], content: &[Part]) -> String {
    Digest::of(serde_json::to_vec(&(ids, content)).unwrap_or_default()).to_string()
}

/// Returns the number of the prompt of `run` that came with the idempotency key `key`.
pub(super) fn repeated_prompt(run: &Run, key: &str) -> Option<usize> {
    run.prompts().iter().rposition(|prompt| prompt.key.as_deref() == Some(key))
}

/// Returns whether only steering messages came after the prompt with this number.
fn is_latest(run: &Run, prompt: usize) -> bool {
    run.prompts().iter().skip(prompt + 1).all(|later| later.steers)
}

impl Chat {
    /// Opens the chat's latest run for a request, and cancels the active response, which is `active` if it is of the same
    /// protocol. `answers` is set if the request answers an interrupt.
    pub(super) async fn open_stored(
        &self,
        answers: bool,
        key: Option<&str>,
        active: Option<Arc<ChatResponse>>,
    ) -> Result<Opened, ApiError> {
        // The prompt comes after the calls that the request decides about, so it may not be in the log yet.
        let answers_it =
            |active: &&Arc<ChatResponse>| active.prompt().is_some_and(|prompt| prompt.key.as_deref() == key);
        if let Some(active) = active.as_ref().filter(|active| key.is_some() && answers_it(active)) {
            return Ok(Opened::Active(Arc::clone(active)));
        }
        // An answer that was sent twice is known by its interrupt.
        let key = key.filter(|_| !answers);
        let find = |session: &Session| key.and_then(|key| repeated_prompt(session.run(), key));
        if key.is_some()
            && let Some(session) = self.open().await?
            && let Some(prompt) = find(&session)
        {
            // A response without a prompt continues the latest one.
            let goes_on = |active: &Arc<ChatResponse>| active.prompt().is_none() && is_latest(session.run(), prompt);
            return Ok(match active.filter(goes_on) {
                Some(active) => Opened::Active(active),
                None => Opened::Repeated(session, prompt),
            });
        }
        self.cancel_active().await?;
        // A run that the request answers is not cancelled.
        let opened = if answers { self.open().await? } else { self.open_at_rest(key).await? };
        Ok(match opened {
            Some(session) if let Some(prompt) = find(&session) => Opened::Repeated(session, prompt),
            opened => Opened::Run(opened),
        })
    }

    /// Returns the response to a request that was sent before, whose prompt has the number `prompt` in the run of `session`.
    ///
    /// Fails if the response is active in another protocol.
    pub(crate) async fn respond_again(&self, session: Session, prompt: usize) -> Result<Again, ApiError> {
        let run = session.run();
        if !is_latest(run, prompt) {
            return Ok(Again::Show(session, false));
        }
        if is_in_progress(run) {
            let followed = match self.guard.active() {
                Some(_) => None,
                None => self.open_before_prompt(&session).await?,
            };
            let busy = || ApiError::conflict("an earlier copy of this request is being processed; nothing ran twice");
            return followed.map(|(session, start)| Again::Follow(session, start)).ok_or_else(busy);
        }
        let was_left = matches!(run.phase(), Phase::Stopped(StopReason::Cancelled | StopReason::ModelFailed(_)));
        Ok(if was_left { Again::Continue(session) } else { Again::Show(session, true) })
    }
}
