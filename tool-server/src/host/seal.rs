//! Sealed runs, which the client keeps. The server seals a run with each response and opens the run that a request brings. A run
//! with an open interrupt is single-use.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::{SystemTime, UNIX_EPOCH},
};

use tokio::sync::{OwnedMutexGuard, oneshot};
use tool_runtime::{
    AgentError,
    agent::Session,
    run::{Decision, Phase, Principal, Run, Timestamp},
    store::StoreError,
};
use tool_stores::sealed::{Keyring, NonceStore, PendingOpening, ReplayPolicy, SealError, Sealer};

use super::{
    ApiError, Chat,
    chat::{chat_of, has_name, run_name},
    lock,
    registry::ChatResponse,
    repeated::{Opened, is_being_processed},
};

/// The sealers of runs. A run with an open interrupt is single-use, so that no call is approved twice. A run without one can be
/// continued any number of times.
pub(crate) struct Seals {
    waits: Sealer,
    rests: Sealer,
}

impl Seals {
    pub(crate) fn new(ring: &Keyring, audience: &str, nonces: Arc<dyn NonceStore>) -> Self {
        let sealer = |kind: &str, replay| Sealer::new(ring.clone(), format!("{audience}/{kind}"), replay);
        Self { waits: sealer("waits", ReplayPolicy::Refuse(nonces)), rests: sealer("rests", ReplayPolicy::Allow) }
    }

    /// Opens a run. For a single-use run, also returns the opening, which a request spends when it continues the run.
    fn open(&self, text: &str, principal: &Principal) -> Result<(Run, Option<Arc<SingleUse>>), SealError> {
        match self.waits.peek(text, principal, now()) {
            Err(SealError::Audience) => Ok((self.rests.peek(text, principal, now())?.0, None)),
            Err(error) => Err(error),
            Ok((run, opening)) => {
                let single_use = SingleUse::new(&self.waits, opening, &run);
                Ok((run, Some(single_use)))
            }
        }
    }

    /// Seals the run for its client, whose request brought `single_use`. Returns an empty text if sealing fails, for example
    /// because the run is too large. The client then drops its earlier sealed run, which lacks the latest messages.
    pub(crate) fn seal(&self, run: &Run, principal: &Principal, single_use: Option<&SingleUse>) -> String {
        let sealed = match (run.phase(), single_use) {
            (Phase::Idle | Phase::Finished | Phase::Stopped(_), _) => self.rests.seal(run, principal, now()),
            (_, Some(single_use)) => single_use.seal(run, principal),
            (_, None) => self.waits.seal(run, principal, now()),
        };
        sealed.unwrap_or_default()
    }
}

impl Chat {
    /// Opens the chat's latest run, from the store or from the sealed run that the client has kept. Returns `None` if there is
    /// neither.
    ///
    /// Fails when the sealed run belongs to another chat or principal, has expired, or was changed.
    pub(crate) async fn open_with(&mut self, sealed: Option<&str>) -> Result<Option<Session>, ApiError> {
        let Some(seals) = &self.shared.seals else { return self.open().await };
        let Some(text) = sealed else { return Ok(None) };
        let (run, single_use) = seals.open(text, &self.principal).map_err(seal_error)?;
        let chat = chat_of(run.id());
        let name = chat.and_then(|chat| run_name(&chat.principal.into(), chat.id).ok());
        if name.as_ref() != Some(&self.name) {
            return Err(ApiError::conflict(
                "the sealed run belongs to another chat; send the one of this chat, or a new message",
            ));
        }
        if !has_name(&self.agent, run.made_by().unwrap_or_default()) {
            return Err(seal_error(SealError::Audience));
        }
        self.single_use = single_use;
        Ok(Some(self.agent.session_from_run(run)))
    }

    /// Opens the chat's latest run for a request with the idempotency key `key`, and cancels the active response. `answers` is
    /// set if the request answers an interrupt. If the sealed run cannot be used, such a request fails. For other requests the
    /// result is `None`, and the client's history becomes context.
    ///
    /// If the request was sent before, nothing is cancelled. With sealed runs, this is known only while its response is active.
    pub(crate) async fn open_for_request(
        &mut self,
        sealed: Option<&str>,
        answers: bool,
        key: Option<&str>,
    ) -> Result<Opened, ApiError> {
        // A stored run tells more than a response that is about to end.
        let goes_on = |active: &Arc<ChatResponse>| self.is_stateless() || !active.is_at_rest();
        let active = self.guard.active_in(&self.form).filter(goes_on);
        // The prompt comes after the calls that the request decides about, so it may not be in the log yet.
        let answers_it =
            |active: &Arc<ChatResponse>| active.prompt().is_some_and(|prompt| prompt.key.as_deref() == key);
        if let Some(key) = key
            && self.guard.active().filter(goes_on).is_some_and(|active| answers_it(&active))
        {
            let active = active.filter(answers_it).ok_or_else(is_being_processed)?;
            if self.is_stateless() || !self.was_left(key).await? {
                return Ok(Opened::Active(active));
            }
            // The response ends without the rest of the answer, because its client had left. The request continues the answer.
            // It would wait for this request, which may bring a decision.
            self.cancel_active().await?;
            return self.open_stored(answers, Some(key), None).await;
        }
        if !self.is_stateless() {
            return self.open_stored(answers, key, active).await;
        }
        let opened = match self.open_with(sealed).await {
            Ok(Some(session)) => {
                // A request that answers an interrupt spends the run later, with its first effect, unless it replaces another
                // response.
                let spent = if answers { self.replace_active().await } else { self.spend().await };
                spent.map(|()| Some(session))
            }
            other => other,
        };
        let session = match opened {
            Err(error) if !answers && error.status.is_client_error() => None,
            opened => opened?,
        };
        // This must come last: a request that was sent twice must not stop the response that the first one began.
        self.cancel_active().await?;
        Ok(Opened::Run(session))
    }

    /// Cancels the active response, so that this request's can begin. A single-use sealed run is spent first: a request that
    /// was sent twice must not stop the response that the first one began.
    pub(crate) async fn replace_active(&mut self) -> Result<(), ApiError> {
        if self.guard.active().is_none() {
            return Ok(());
        }
        self.spend().await?;
        self.cancel_active().await
    }

    /// Returns whether the client, not the server, keeps the chat's run.
    pub(crate) fn is_stateless(&self) -> bool {
        self.shared.is_stateless()
    }

    /// Spends the sealed run, if it is single-use.
    ///
    /// Fails when another request has spent it.
    pub(crate) async fn spend(&mut self) -> Result<(), ApiError> {
        match self.single_use.take() {
            Some(single_use) => single_use.spend().await.map_err(seal_error),
            None => Ok(()),
        }
    }
}

/// Returns the error response for a sealed run that cannot be opened or spent.
pub fn seal_error(error: SealError) -> ApiError {
    match error {
        SealError::Store(error) => AgentError::Store(error).into(),
        SealError::Forgotten => ApiError::conflict(
            "the sealed run was made before this server began, or by another process, so it may have been used already; \
             nothing was done, send a new message",
        ),
        SealError::Record(_) => ApiError::conflict("the sealed run is of a version that is not read here; begin again"),
        SealError::Malformed(_) => ApiError::bad_request("the sealed run is damaged; send it as it was received"),
        error => ApiError::conflict(error.to_string()),
    }
}

/// Returns the time on this machine's clock.
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// The opening of a single-use sealed run that a request has brought. The first effect that cannot be undone spends it: the start
/// of a call, or a turn of the model. Until then, the client can send the sealed run again. So a lost connection does not use up
/// an approval whose call did not run.
pub(crate) struct SingleUse {
    sealer: Sealer,
    opening: PendingOpening,
    /// The number of log entries that the run had.
    rev: u64,
    /// Set by a decision that lets a call run.
    lets_run: AtomicBool,
    is_spent: AtomicBool,
    waiting: Mutex<Option<Waiting>>,
}

/// A request that waits until the opening is spent, and the chat's lock, which is held until then.
struct Waiting {
    report: oneshot::Sender<Result<(), SealError>>,
    _request_lock: Option<OwnedMutexGuard<()>>,
}

impl SingleUse {
    pub(crate) fn new(sealer: &Sealer, opening: PendingOpening, run: &Run) -> Arc<Self> {
        Arc::new(Self {
            sealer: sealer.clone(),
            opening,
            rev: run.rev(),
            lets_run: AtomicBool::new(false),
            is_spent: AtomicBool::new(false),
            waiting: Mutex::default(),
        })
    }

    /// Notes a decision that the run has accepted.
    pub(crate) fn note_decision(&self, decision: &Decision) {
        let ends = matches!(decision, Decision::Deny { .. } | Decision::Respond { .. } | Decision::Fail { .. });
        self.lets_run.fetch_or(!ends, Ordering::SeqCst);
    }

    /// Spends the opening. A second call has no effect.
    ///
    /// Fails when another request has spent it, or when the nonce store is not available.
    pub(crate) async fn spend(&self) -> Result<(), SealError> {
        if !self.is_spent.load(Ordering::SeqCst) {
            self.sealer.spend(&self.opening, now()).await?;
            self.is_spent.store(true, Ordering::SeqCst);
        }
        Ok(())
    }

    /// Makes `session` spend the opening before its first effect that cannot be undone. The receiver gets the result, at the
    /// latest when [`SingleUse::settle`] is called. `request_lock` is held until then.
    pub(crate) fn before_next_effect(
        self: &Arc<Self>,
        session: &mut Session,
        request_lock: Option<OwnedMutexGuard<()>>,
    ) -> oneshot::Receiver<Result<(), SealError>> {
        let (report, reported) = oneshot::channel();
        *lock(&self.waiting) = Some(Waiting { report, _request_lock: request_lock });
        let single_use = Arc::clone(self);
        session.before_next_effect(async move {
            let spent = single_use.spend().await;
            // The request that waits gets the error; the run only has to stop.
            let done = if spent.is_ok() { Ok(()) } else { Err(AgentError::Store(StoreError::Conflict)) };
            single_use.report(spent);
            done
        });
        reported
    }

    /// Settles the opening when the run has come to rest. Without an irreversible effect, this spends the opening only if the run
    /// has new decisions and none of them lets a call run. So an approved call that did not start can be approved again.
    pub(crate) async fn settle(&self, run: &Run) {
        if lock(&self.waiting).is_none() {
            return;
        }
        let is_over = run.rev() != self.rev && !self.lets_run.load(Ordering::SeqCst);
        let spent = if is_over { self.spend().await } else { Ok(()) };
        self.report(spent);
    }

    /// Seals `run` for the client. If the sealed run of the request is not spent, the new text has the nonce of the old one.
    pub(crate) fn seal(&self, run: &Run, principal: &Principal) -> Result<String, SealError> {
        if self.is_spent.load(Ordering::SeqCst) {
            return self.sealer.seal(run, principal, now());
        }
        self.sealer.seal_again(run, principal, &self.opening)
    }

    fn report(&self, spent: Result<(), SealError>) {
        if let Some(waiting) = lock(&self.waiting).take() {
            // The request may have ended.
            let _ = waiting.report.send(spent);
        }
    }
}
