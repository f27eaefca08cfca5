//! The calls that wait for a principal's decision, in chats and runs of any owner.

use std::{collections::HashMap, sync::Arc};

use axum::http::StatusCode;
use serde_json::{Value, json};
use tool_runtime::{
    AgentError,
    agent::{LoadedRun, Suspend},
    run::{Decision, InterruptKind, Phase, Principal, Refusal, RunId},
    store::{Store, StoreError, WaitingFilter, WaitingItem},
};

use super::{
    ApiError, Page, Shared,
    chat::{chat_of, has_name, run_name},
    reload::not_kept,
};
use crate::protocol::approval_id;

/// The number of interrupts that one read of the store returns at most.
const MAX_READ: usize = 256;

impl Shared {
    /// Returns what waits for a decision of `principal`, the oldest first.
    ///
    /// Fails if clients keep the runs, or the store is not available.
    pub(crate) async fn waiting(&self, principal: &Principal, page: Page) -> Result<Vec<Value>, ApiError> {
        let mut filter = WaitingFilter::new().for_principal(principal.clone());
        filter.limit = MAX_READ;
        let (mut seen, mut listed, mut known) = (0, Vec::new(), HashMap::new());
        while listed.len() < page.limit {
            let items = self.store_of_runs()?.waiting(&filter).await.map_err(AgentError::Store)?;
            let is_last = items.len() < MAX_READ;
            filter.offset += items.len();
            for item in items {
                if self.is_own(&item.run, principal, &mut known).await? {
                    seen += 1;
                    if seen > page.offset && listed.len() < page.limit {
                        listed.push(describe(&item));
                    }
                }
            }
            if is_last {
                break;
            }
        }
        Ok(listed)
    }

    /// Submits a decision of `principal` about the interrupt that clients know as `id`, in `run`. Then continues the run if it is a
    /// chat.
    ///
    /// Fails if nothing with this id waits for the principal, or the run refuses the decision.
    pub(crate) async fn decide_waiting(
        self: &Arc<Self>,
        principal: Principal,
        run: RunId,
        id: &str,
        decision: Decision,
    ) -> Result<(), ApiError> {
        let filter = WaitingFilter::new().for_principal(principal.clone()).in_run(run.clone());
        let items = self.store_of_runs()?.waiting(&filter).await.map_err(AgentError::Store)?;
        if !items.iter().any(|item| item.run == run && approval_id(&run, &item.interrupt) == id) {
            return Err(nothing_waits());
        }
        let permit = self.acquire_load(&principal).await?;
        let mut loaded = self.load_own(&run).await?.ok_or_else(nothing_waits)?;
        // The list may be older than the run.
        let open = loaded.run().interrupts().find(|open| approval_id(&run, open) == id).ok_or_else(nothing_waits)?;
        let (interrupt, owner) = (open.id.clone(), loaded.run().owner().clone());
        drop(permit);
        match self.agent.decide_in(&mut loaded, &interrupt, decision, principal).await {
            // Somebody else was faster.
            Err(
                AgentError::Refused(Refusal::Forbidden | Refusal::Closed { .. } | Refusal::Conflict { .. })
                | AgentError::Store(StoreError::NotFound),
            ) => return Err(nothing_waits()),
            decided => decided?,
        }
        self.go_on(run, &owner);
        Ok(())
    }

    fn store_of_runs(&self) -> Result<&Arc<dyn Store>, ApiError> {
        self.agent.run_store().ok_or_else(not_kept)
    }

    /// Returns whether a run belongs to this application. The id of a chat says so; any other run is loaded on behalf of `by`.
    async fn is_own(&self, run: &RunId, by: &Principal, known: &mut HashMap<RunId, bool>) -> Result<bool, ApiError> {
        if let Some(chat) = chat_of(run) {
            return Ok(has_name(&self.agent, chat.made_by));
        }
        if let Some(is_own) = known.get(run) {
            return Ok(*is_own);
        }
        let _permit = self.acquire_load(by).await?;
        let is_own = self.load_own(run).await?.is_some();
        known.insert(run.clone(), is_own);
        Ok(is_own)
    }

    /// Loads a run of this application. Returns `None` for any other run, and for one that was deleted or that no build like this one can
    /// read: it must not hide the others. The caller must hold a permit to load.
    async fn load_own(&self, run: &RunId) -> Result<Option<LoadedRun>, ApiError> {
        let loaded = match self.agent.load_run(run).await {
            Ok(loaded) => loaded,
            Err(AgentError::Store(StoreError::NotFound | StoreError::Record(_) | StoreError::Ended(_))) => {
                return Ok(None);
            }
            Err(error) => return Err(error.into()),
        };
        let made_by = match chat_of(run) {
            Some(chat) => chat.made_by,
            None => loaded.run().made_by().unwrap_or_default(),
        };
        let is_own = has_name(&self.agent, made_by);
        Ok(is_own.then_some(loaded))
    }

    /// Continues a chat whose call was decided. If the chat has an active response here, that goes on. If the owner has too many active
    /// responses, a worker continues the chat later ([`Server::take_over`](crate::Server::take_over)).
    fn go_on(self: &Arc<Self>, run: RunId, owner: &Principal) {
        let Some(name) = chat_of(&run).and_then(|chat| run_name(owner, chat.id).ok()) else { return };
        let Ok(guard) = self.registry.enter(&name) else { return };
        let (shared, owner) = (Arc::clone(self), owner.clone());
        tokio::spawn(async move {
            let request_lock = guard.lock_for_request().await;
            if let Some(active) = guard.active() {
                return active.driver.poll_store();
            }
            let Ok(_permit) = guard.acquire_permit(&owner, shared.max_responses) else { return };
            // At shutdown, the registry waits for this work.
            let works = shared.registry.workers.subscribe();
            drop(request_lock);
            tokio::select! {
                () = shared.follow(&run, &owner) => {}
                () = shared.registry.abandoned.cancelled() => {}
            }
            drop(works);
        });
    }

    /// Continues a run on behalf of its owner, or follows the process that drives it. The agent reports a failure; the run then stays as
    /// it is, for a worker.
    async fn follow(&self, run: &RunId, owner: &Principal) {
        let Ok(permit) = self.acquire_load(owner).await else { return };
        let agent = self.agent.clone().operator(Suspend);
        let Ok(mut session) = agent.open_for_owner(run).await else { return };
        drop(permit);
        // Only the owner may continue a run that the decision has stopped.
        let goes_on = matches!(session.run().phase(), Phase::Generating | Phase::Acting);
        if goes_on && session.agent().reason_to_leave(session.run()).is_none() {
            let _ = session.follow().await;
        }
    }
}

fn nothing_waits() -> ApiError {
    let text =
        "nothing with this id waits for your decision; if it did before, somebody has decided, or it has expired";
    ApiError::new(StatusCode::NOT_FOUND, "not_found", text)
}

/// Returns what a person needs to know in order to decide.
fn describe(item: &WaitingItem) -> Value {
    let (open, inner) = (&item.interrupt, item.interrupt.innermost());
    let shown = &inner.shown;
    let (kind, question) = match &inner.kind {
        InterruptKind::Question { question } if question.schema.is_some() => ("question", Some(&question.text)),
        InterruptKind::Question { question } => ("permission", Some(&question.text)),
        InterruptKind::External => ("external", shown.challenge.as_ref()),
        InterruptKind::Reconcile => ("reconcile", shown.challenge.as_ref()),
        _ => ("approval", shown.challenge.as_ref()),
    };
    let mut listed = json!({
        "id": approval_id(&item.run, open),
        "run": item.run,
        "owner": item.owner,
        "kind": kind,
        "tool": shown.tool,
        "effect": shown.effect,
        "arguments": shown.arguments,
        "lines": shown.lines,
        "deciders": open.deciders_of(&item.owner),
        "since": open.opened_at,
    });
    let schema = match &inner.kind {
        InterruptKind::Question { question } => question.schema.as_ref(),
        _ => None,
    };
    let chat = chat_of(&item.run).map(|chat| chat.id);
    let more = [
        ("chat", chat.map(Value::from)),
        ("title", shown.title.as_deref().map(Value::from)),
        ("question", question.map(|text| text.as_str().into())),
        ("schema", schema.cloned()),
        ("need", inner.need().map(|need| json!(need))),
        ("taintedBy", (!shown.tainted_by.is_empty()).then(|| json!(shown.tainted_by))),
        ("expires", open.expires_at.map(|time| json!(time))),
    ];
    for (name, value) in more {
        if let Some(value) = value {
            listed[name] = value;
        }
    }
    listed
}
