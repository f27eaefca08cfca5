//! A sealed run that can be used once, in the hands of the request that brought it.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{SystemTime, UNIX_EPOCH},
};

use tokio::sync::{OwnedMutexGuard, oneshot};
use tool_runtime::{
    AgentError,
    agent::Session,
    run::{Decision, Principal, Run, Time},
    store::StoreError,
};
use tool_stores::sealed::{Opening, SealError, Sealer};

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
        *self.waiting() = Some(Waiting { report, _gate: gate });
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
        if self.waiting().is_none() {
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
        if let Some(waiting) = self.waiting().take() {
            // The request may be gone.
            let _ = waiting.report.send(spent);
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Option<Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
