//! Runs that the client keeps: the server seals them with each answer, and opens what comes back.

use std::sync::Arc;

use tool_runtime::{
    agent::Session,
    run::{Phase, Principal, Run},
};
use tool_stores::sealed::{Keyring, NonceStore, Replay, SealError, Sealer};

use super::{ApiError, Chat};
use crate::{clock::now, once::Once};

/// What seals runs. One in which something waits is good for once: what was approved must not be approved again. One at
/// rest can be gone on from as often as somebody wants another answer.
pub(crate) struct Seals {
    waits: Sealer,
    rests: Sealer,
}

impl Seals {
    pub(crate) fn new(ring: &Keyring, audience: &str, nonces: Arc<dyn NonceStore>) -> Self {
        let sealer = |kind: &str, replay| Sealer::new(ring.clone(), format!("{audience}/{kind}"), replay);
        Self { waits: sealer("waits", Replay::Refuse(nonces)), rests: sealer("rests", Replay::AllowReplay) }
    }

    /// The run, and what is to be spent by going on with it.
    fn open(&self, text: &str, principal: &Principal) -> Result<(Run, Option<Arc<Once>>), SealError> {
        match self.waits.peek(text, principal, now()) {
            Err(SealError::Audience) => Ok((self.rests.peek(text, principal, now())?.0, None)),
            Err(error) => Err(error),
            Ok((run, opening)) => {
                let once = Once::new(&self.waits, opening, &run);
                Ok((run, Some(once)))
            }
        }
    }

    /// The run as a text for its client, where it has brought `once`. Empty when it is too large: the client must not go on
    /// from an earlier one, which does not know what was said since.
    pub(crate) fn seal(&self, run: &Run, principal: &Principal, once: Option<&Once>) -> String {
        let sealed = match (run.phase(), once) {
            (Phase::Idle | Phase::Finished | Phase::Stopped(_), _) => self.rests.seal(run, principal, now()),
            (_, Some(once)) => once.seal(run, principal),
            (_, None) => self.waits.seal(run, principal, now()),
        };
        sealed.unwrap_or_default()
    }
}

impl Chat {
    /// The chat as it was left: from the store, or out of the text that the client has kept. `None` when there is neither.
    ///
    /// Fails when the text is of another chat or principal, is over, or was changed.
    pub(crate) async fn open_with(&mut self, sealed: Option<&str>) -> Result<Option<Session>, ApiError> {
        let Some(seals) = &self.shared.seals else { return self.open().await };
        let Some(text) = sealed else { return Ok(None) };
        let (run, once) = seals.open(text, &self.principal).map_err(refused)?;
        if run.id().as_str().split_once(':').map(|(_, name)| name) != Some(&*self.name) {
            return Err(ApiError::conflict("the sealed run is of another chat"));
        }
        self.once = once;
        Ok(Some(self.agent.session_of(run)))
    }

    /// The same, in place of the answer that is under way, which is called off. A text that is refused is an error for who
    /// answers something in the chat (`answers`); for others it is no chat, and what the client says of it is context.
    pub(crate) async fn take_up(&mut self, sealed: Option<&str>, answers: bool) -> Result<Option<Session>, ApiError> {
        if !self.is_sealed() {
            self.stop_running().await?;
            return self.open().await;
        }
        let taken = match self.open_with(sealed).await {
            Ok(Some(session)) => {
                // Who answers something has it spent when that leads to something.
                let spent = if answers { self.make_way().await } else { self.spend().await };
                spent.map(|()| Some(session))
            }
            other => other,
        };
        let session = match taken {
            Err(error) if !answers && error.status.is_client_error() => None,
            taken => taken?,
        };
        // Not before: a request that was sent twice must not stop what the first one began.
        self.stop_running().await?;
        Ok(session)
    }

    /// Calls off the answer that is under way, in whose place that of this request comes. A text that is good for once is spent
    /// before: a request that was sent twice must not stop what the first one began.
    pub(crate) async fn make_way(&mut self) -> Result<(), ApiError> {
        if self.place.running().is_none() {
            return Ok(());
        }
        self.spend().await?;
        self.stop_running().await
    }

    /// Whether the client keeps the chat's run, and not the server.
    pub(crate) fn is_sealed(&self) -> bool {
        self.shared.seals.is_some()
    }

    /// Spends the text that the run was opened from, if it is good for once.
    ///
    /// Fails when somebody was faster.
    pub(crate) async fn spend(&mut self) -> Result<(), ApiError> {
        match self.once.take() {
            Some(once) => once.spend().await.map_err(refused),
            None => Ok(()),
        }
    }
}

/// What a client is told whose text is not opened.
pub(super) fn refused(error: SealError) -> ApiError {
    match error {
        SealError::Store(error) => tool_runtime::AgentError::Store(error).into(),
        SealError::Forgotten => ApiError::conflict(
            "the sealed run was made before this server began, or by another process, so it may have been used already; \
             nothing was done, send a new message",
        ),
        SealError::Record(_) => ApiError::conflict("the sealed run is of a version that is not read here; begin again"),
        SealError::Malformed(_) => ApiError::bad_request("the sealed run is damaged; send it as it was received"),
        error => ApiError::conflict(error.to_string()),
    }
}
