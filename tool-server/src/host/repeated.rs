//! Requests that were sent twice: with the same ids and the same content. Each prompt in a log has the idempotency key of its
//! request, so every server of a store recognizes the second one.

use std::sync::Arc;

use axum::http::StatusCode;
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
pub(crate) fn repeated_prompt(run: &Run, key: &str) -> Option<usize> {
    run.prompts().iter().rposition(|prompt| prompt.key.as_deref() == Some(key))
}

/// Returns the number of the prompt of `run` that came with the idempotency key `key`.
///
/// Fails if the conversation had this prompt before an edit or another answer.
fn find_sent_before(run: &Run, key: &str) -> Result<Option<usize>, ApiError> {
    let found = repeated_prompt(run, key);
    if found.is_none() && run.replaced_keys().iter().any(|replaced| replaced == key) {
        let text = "this message was sent before, and an edit or another answer has replaced it since; nothing ran again. \
                    Load the chat again, or send another text";
        return Err(ApiError::new(StatusCode::CONFLICT, "replaced", text));
    }
    Ok(found)
}

/// Returns the error of a request that was sent before, and whose first copy a client cannot join.
pub(super) fn is_being_processed() -> ApiError {
    ApiError::conflict("an earlier copy of this request is being processed; nothing ran twice")
}

/// Returns whether only steering messages came after the prompt with this number.
fn is_latest(run: &Run, prompt: usize) -> bool {
    run.prompts().iter().skip(prompt + 1).all(|later| later.steers)
}

/// Returns whether the answer of `run` was left in the middle.
fn is_left(run: &Run) -> bool {
    matches!(run.phase(), Phase::Stopped(StopReason::Cancelled | StopReason::ModelFailed(_)))
}

impl Chat {
    /// Opens the chat's latest run for a request, and cancels the active response. `active` is a response that the client
    /// can join. `answers` is set if the request answers an interrupt.
    pub(super) async fn open_stored(
        &self,
        answers: bool,
        key: Option<&str>,
        active: Option<Arc<ChatResponse>>,
    ) -> Result<Opened, ApiError> {
        if let Some(key) = key
            && let Some(session) = self.open().await?
            && let Some(prompt) = find_sent_before(session.run(), key)?
            // An answer that was sent twice is known by its interrupt.
            && !answers
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
        if answers {
            return Ok(Opened::Run(self.open().await?));
        }
        let opened = self.open_at_rest(key).await?;
        let found = opened.as_ref().zip(key).map(|(session, key)| find_sent_before(session.run(), key));
        Ok(match (opened, found.transpose()?.flatten()) {
            (Some(session), Some(prompt)) => Opened::Repeated(session, prompt),
            (opened, _) => Opened::Run(opened),
        })
    }

    /// Returns whether the answer to the prompt with this key was left: the log has its end, which the response may not have.
    pub(super) async fn was_left(&self, key: &str) -> Result<bool, ApiError> {
        let session = self.open().await?;
        Ok(session.is_some_and(|session| {
            let run = session.run();
            repeated_prompt(run, key).is_some_and(|prompt| is_latest(run, prompt)) && is_left(run)
        }))
    }

    /// Returns the response to a request that was sent before, whose prompt has the number `prompt` in the run of `session`.
    ///
    /// Fails if the run is for another prompt by now.
    pub(crate) async fn respond_again(&self, session: Session, prompt: usize) -> Result<Again, ApiError> {
        let run = session.run();
        if !is_latest(run, prompt) {
            return Ok(Again::Show(session, false));
        }
        if is_in_progress(run) {
            let followed = match self.joinable() {
                Some(_) => None,
                None => self.open_before_prompt(&session).await?,
            };
            return followed.map(|(session, start)| Again::Follow(session, start)).ok_or_else(is_being_processed);
        }
        Ok(if is_left(run) { Again::Continue(session) } else { Again::Show(session, true) })
    }
}
