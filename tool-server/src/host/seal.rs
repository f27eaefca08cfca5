//! Runs that the client keeps: the server seals them with each answer, opens what comes back, and lets a run in which something
//! waits be used once.

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
    run::{Decision, Phase, Principal, Run, Time},
    store::StoreError,
};
use tool_stores::sealed::{Keyring, NonceStore, Opening, Replay, SealError, Sealer};

use super::{ApiError, Chat, lock};

/// The sealers of runs. A run in which something waits can be used once: nobody may approve the same call twice. A run at
/// rest can be continued as often as somebody wants another answer.
pub(crate) struct Seals {
    waits: Sealer,
    rests: Sealer,
}

impl Seals {
    pub(crate) fn new(ring: &Keyring, audience: &str, nonces: Arc<dyn NonceStore>) -> Self {
        let sealer = |kind: &str, replay| Sealer::new(ring.clone(), format!("{audience}/{kind}"), replay);
        Self { waits: sealer("waits", Replay::Refuse(nonces)), rests: sealer("rests", Replay::AllowReplay) }
    }

    /// Opens a run. Returns the opening that is spent by continuing it, if it can be used once only.
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

    /// Seals the run for its client, which has brought `once`. The text is empty when the run is too large: the client must not
    /// continue an earlier run, which lacks the latest messages.
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
    /// Opens the chat as it was left: from the store, or from the sealed run that the client has kept. `None` when there is
    /// neither.
    ///
    /// Fails when the sealed run is of another chat or principal, has expired, or was changed.
    pub(crate) async fn open_with(&mut self, sealed: Option<&str>) -> Result<Option<Session>, ApiError> {
        let Some(seals) = &self.shared.seals else { return self.open().await };
        let Some(text) = sealed else { return Ok(None) };
        let (run, once) = seals.open(text, &self.principal).map_err(refuse)?;
        if run.id().as_str().split_once(':').map(|(_, name)| name) != Some(&*self.name) {
            return Err(ApiError::conflict("the sealed run is of another chat"));
        }
        self.once = once;
        Ok(Some(self.agent.session_of(run)))
    }

    /// Opens the chat in place of the answer that is under way, which is cancelled. A sealed run that is refused is an error
    /// for a request that answers something in the chat (`answers`). For others there is no chat then, and the client's history
    /// is context.
    pub(crate) async fn resume_session(
        &mut self,
        sealed: Option<&str>,
        answers: bool,
    ) -> Result<Option<Session>, ApiError> {
        if !self.is_sealed() {
            self.cancel_active().await?;
            return self.open().await;
        }
        let opened = match self.open_with(sealed).await {
            Ok(Some(session)) => {
                // The run of an answer is spent when the answer leads to something.
                let spent = if answers { self.replace_active().await } else { self.spend().await };
                spent.map(|()| Some(session))
            }
            other => other,
        };
        let session = match opened {
            Err(error) if !answers && error.status.is_client_error() => None,
            opened => opened?,
        };
        // Not before: a request that was sent twice must not stop what the first one began.
        self.cancel_active().await?;
        Ok(session)
    }

    /// Cancels the answer that is under way, in favour of this request's. A sealed run that can be used once is spent before: a
    /// request that was sent twice must not stop what the first one began.
    pub(crate) async fn replace_active(&mut self) -> Result<(), ApiError> {
        if self.guard.active().is_none() {
            return Ok(());
        }
        self.spend().await?;
        self.cancel_active().await
    }

    /// Returns `true` if the client keeps the chat's run, and not the server.
    pub(crate) fn is_sealed(&self) -> bool {
        self.shared.seals.is_some()
    }

    /// Spends the sealed run, if it can be used once only.
    ///
    /// Fails when another request was faster.
    pub(crate) async fn spend(&mut self) -> Result<(), ApiError> {
        match self.once.take() {
            Some(once) => once.spend().await.map_err(refuse),
            None => Ok(()),
        }
    }
}

/// Returns the response to a sealed run that cannot be opened.
pub fn refuse(error: SealError) -> ApiError {
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
pub(crate) fn now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// The opening of a sealed run that a request has brought. The first thing that cannot be undone spends it: a call that starts,
/// or a turn of the model. Until then nothing has happened, and the text can be used again: a connection that is lost in
/// between must not use up an approval whose call did not run.
pub(crate) struct Once {
    sealer: Sealer,
    opening: Opening,
    /// How many entries the run had.
    rev: u64,
    /// Set by a decision that lets a call run.
    lets_run: AtomicBool,
    is_spent: AtomicBool,
    waiting: Mutex<Option<Waiting>>,
}

/// A request that waits until the opening was spent or was not, and the lock that it keeps until then.
struct Waiting {
    report: oneshot::Sender<Result<(), SealError>>,
    _gate: Option<OwnedMutexGuard<()>>,
}

impl Once {
    pub(crate) fn new(sealer: &Sealer, opening: Opening, run: &Run) -> Arc<Self> {
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
    pub(crate) fn note(&self, decision: &Decision) {
        let ends = matches!(decision, Decision::Deny { .. } | Decision::Respond { .. } | Decision::Fail { .. });
        self.lets_run.fetch_or(!ends, Ordering::SeqCst);
    }

    /// Spends the opening. Again has no effect.
    ///
    /// Fails when another request was faster, or that cannot be known.
    pub(crate) async fn spend(&self) -> Result<(), SealError> {
        if !self.is_spent.load(Ordering::SeqCst) {
            self.sealer.spend(&self.opening, now()).await?;
            self.is_spent.store(true, Ordering::SeqCst);
        }
        Ok(())
    }

    /// Has `session` spend the opening before it does anything that cannot be undone. The receiver gets the result, from
    /// [`Once::rest`] at the latest; `gate` is kept until then.
    pub(crate) fn commit_with(
        self: &Arc<Self>,
        session: &mut Session,
        gate: Option<OwnedMutexGuard<()>>,
    ) -> oneshot::Receiver<Result<(), SealError>> {
        let (report, reported) = oneshot::channel();
        *lock(&self.waiting) = Some(Waiting { report, _gate: gate });
        let once = Arc::clone(self);
        session.commit_with(async move {
            let spent = once.spend().await;
            // The request that waits gets the error; the run only has to stop.
            let done = if spent.is_ok() { Ok(()) } else { Err(AgentError::Store(StoreError::Conflict)) };
            once.report(spent);
            done
        });
        reported
    }

    /// Settles the opening when the run has come to rest. If nothing was done that cannot be undone, the opening is spent only
    /// where decisions were made and none lets a call run: an approved call that did not start can be approved again.
    pub(crate) async fn rest(&self, run: &Run) {
        if lock(&self.waiting).is_none() {
            return;
        }
        let is_over = run.rev() != self.rev && !self.lets_run.load(Ordering::SeqCst);
        let spent = if is_over { self.spend().await } else { Ok(()) };
        self.report(spent);
    }

    /// Seals `run` for the client: as a new text, or in place of the one that the request brought, where that was not spent.
    pub(crate) fn seal(&self, run: &Run, principal: &Principal) -> Result<String, SealError> {
        if self.is_spent.load(Ordering::SeqCst) {
            return self.sealer.seal(run, principal, now());
        }
        self.sealer.seal_again(run, principal, &self.opening)
    }

    fn report(&self, spent: Result<(), SealError>) {
        if let Some(waiting) = lock(&self.waiting).take() {
            // The request may be gone.
            let _ = waiting.report.send(spent);
        }
    }
}
