//! The virtual object that drives a run. Restate runs one of its invocations at a time. If the process of an invocation ends,
//! Restate tries the invocation again on another process.
//!
//! The loop of the runtime is not deterministic, but Restate's journal of the invocation is. Each batch of log entries from the
//! loop is the result of one `run` entry of the journal. The append of the batch is one call entry. A replay reads both from
//! the journal, and runs nothing. At the end of the journal, a new loop continues from the log.

use std::{sync::Arc, time::Duration};

use restate_sdk::prelude::*;
use serde::{Deserialize, Serialize};
use tokio::{
    sync::{Mutex, watch},
    task::JoinHandle,
    time::sleep,
};
use tool_runtime::run::{Phase, Run, RunId};
use tool_runtime::store::StoreError;
use tool_runtime::{Agent, AgentError};

use crate::engine::RestateStore;
use crate::keeper::{AppendReceiver, AppendReply, AppendRequest};
use crate::log::ToolRunClient;
use crate::wire::{Appended, Entries, now};

/// The least time in milliseconds after which Restate starts a driver again for a run that this process leaves alone. By then,
/// another process may serve.
const LOOK_AGAIN: u64 = 60_000;

/// The pause of a driver after an append, for each append of others that failed because the driver was faster. It gives them the
/// time to load the run.
const PAUSE: Duration = Duration::from_millis(100);

/// The maximum number of failed appends that make a pause longer.
const MAX_PAUSES: u32 = 16;

/// The code of the error with which Restate ends an invocation that was cancelled or killed.
const ABORTED: u16 = 409;

/// The function that returns the agent of a run.
pub type Agents = Arc<dyn Fn(&RunId) -> Agent + Send + Sync>;

/// The virtual object that drives a run, with the agents of this process.
pub struct ToolDriver {
    pub store: RestateStore,
    pub agents: Agents,
    /// The number of drives in progress.
    pub drives: Arc<watch::Sender<usize>>,
}

/// A guard that counts one drive until it is dropped.
struct Driving(Arc<watch::Sender<usize>>);

impl Driving {
    fn begin(drives: &Arc<watch::Sender<usize>>) -> Self {
        drives.send_modify(|count| *count += 1);
        Self(Arc::clone(drives))
    }
}

impl Drop for Driving {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

/// The next request of the loop.
#[derive(Debug, Serialize, Deserialize)]
enum LoopRequest {
    /// Stores entries, and continues.
    Append(Entries),
    /// Rests until the given number of milliseconds has passed, or until an append.
    Rest(Option<u64>),
}

#[object(journal_retention = "0s", idempotency_retention = "0s")]
impl ToolDriver {
    /// Drives a run until it rests. If an operator cancels the invocation, the run is cancelled.
    #[handler(
        ingress_private,
        inactivity_timeout = "1 day",
        abort_timeout = "1 day",
        invocation_retry_policy(
            initial_interval = "50ms",
            factor = 2.0,
            max_interval = "2s",
            max_attempts = 1_000_000_000
        )
    )]
    async fn drive(&self, ctx: ObjectContext<'_>) -> HandlerResult<()> {
        let _driving = Driving::begin(&self.drives);
        let run = RunId::from(ctx.key());
        let driver =
            Arc::new(Mutex::new(Driver { store: self.store.clone(), agents: self.agents.clone(), run, work: None }));
        loop {
            let next = Arc::clone(&driver);
            let next = ctx.run(|| async move { Ok(Json(next.lock().await.next_request().await?)) }).name("entries");
            let entries = match next.await {
                Ok(Json(LoopRequest::Append(entries))) => entries,
                Ok(Json(LoopRequest::Rest(wake))) => {
                    if let Some(after) = wake {
                        let later = ctx.object_client::<ToolDriverClient>(ctx.key()).drive();
                        later.send_after(Duration::from_millis(after.max(1)));
                    }
                    return Ok(());
                }
                Err(error) => return leave(&ctx, driver, error).await,
            };
            let length = entries.expected + entries.count;
            let log = ctx.object_client::<ToolRunClient>(ctx.key());
            match log.record(Json(entries)).call().await {
                Ok(Json(appended)) => driver.lock().await.reply(appended, length),
                Err(error) => return leave(&ctx, driver, error).await,
            }
        }
    }
}

/// Ends the drive of an invocation that an operator has cancelled: cancels the run. After any other error, such as an append that
/// an operator has killed, starts another drive.
async fn leave(ctx: &ObjectContext<'_>, driver: Arc<Mutex<Driver>>, error: TerminalError) -> HandlerResult<()> {
    if error.code() == ABORTED && error.message().eq_ignore_ascii_case("cancelled") {
        ctx.run(|| async move { Ok(driver.lock().await.cancel().await?) }).name("cancel").await?;
    } else {
        ctx.object_client::<ToolDriverClient>(ctx.key()).drive().send();
    }
    Ok(())
}

/// The driver of one run. It starts a loop when the journal has no more entries.
struct Driver {
    store: RestateStore,
    agents: Agents,
    run: RunId,
    work: Option<Work>,
}

/// A loop in progress.
struct Work {
    appends: AppendReceiver,
    task: Task,
    /// The last append, until its result is known. The sender passes the result to the loop.
    last: Option<(Entries, AppendReply)>,
}

/// The task of a loop. Dropping it aborts the loop, and all calls of the run.
struct Task(JoinHandle<Result<Option<u64>, AgentError>>);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Driver {
    /// Waits for the next request of the loop. Starts a loop if none is in progress.
    async fn next_request(&mut self) -> Result<LoopRequest, AgentError> {
        if self.work.is_none() {
            self.store.begin_drive(&self.run).await?;
        }
        let work = self.work.get_or_insert_with(|| {
            let (store, appends) = self.store.for_driver();
            let (agent, run) = ((self.agents)(&self.run).store(store), self.run.clone());
            Work { appends, task: Task(tokio::spawn(drive(agent, run))), last: None }
        });
        tokio::select! {
            biased;
            Some(AppendRequest { entries, reply }) = work.appends.recv() => {
                work.last = Some((entries.clone(), reply));
                Ok(LoopRequest::Append(entries))
            }
            done = &mut work.task.0 => match done {
                Ok(done) => Ok(LoopRequest::Rest(done?)),
                Err(panic) => Err(StoreError::unavailable(panic).into()),
            },
        }
    }

    /// Reports the result of an append to the loop, unless an earlier loop sent the entries. `length` is the length of the log
    /// after a successful append.
    fn reply(&mut self, appended: Appended, length: u64) {
        let Some((_, reply)) = self.work.as_mut().and_then(|work| work.last.take()) else { return };
        let report = {
            let (store, run) = (self.store.clone(), self.run.clone());
            move || {
                if appended.into_result().is_ok() {
                    store.shared.lengths.report(&run, length);
                }
                let _ = reply.send(appended);
            }
        };
        match appended {
            Appended::YesBeforeOthers(failed) => drop(tokio::spawn(async move {
                sleep(PAUSE * failed.min(MAX_PAUSES)).await;
                report();
            })),
            _ => report(),
        }
    }

    /// Ends the loop with all calls, and cancels the run.
    async fn cancel(&mut self) -> Result<(), AgentError> {
        if let Some((entries, _)) = self.work.take().and_then(|work| work.last) {
            // The cancelled invocation may not have stored what the loop had to say last, such as the result of a call.
            self.store.append_entries(&self.run, entries).await?;
        }
        let agent = (self.agents)(&self.run).store(self.store.clone());
        let cancelled = match agent.open(&self.run).await {
            Ok(session) => agent.cancel(&self.run, session.run().owner().clone()).await.map(drop),
            Err(error) => Err(error),
        };
        match cancelled {
            Err(AgentError::Store(StoreError::NotFound) | AgentError::Refused(_)) => Ok(()),
            done => done,
        }
    }
}

/// Drives a run until it rests. Returns the time in milliseconds after which it must be resumed.
async fn drive(agent: Agent, run: RunId) -> Result<Option<u64>, AgentError> {
    let mut session = match agent.open_for_owner(&run).await {
        // The run was deleted in the meantime.
        Err(AgentError::Store(StoreError::NotFound)) => return Ok(None),
        opened => opened?,
    };
    let time_left = |run: &Run| run.next_expiry().map(|wake| wake.0.saturating_sub(now().0));
    if !matches!(session.run().phase(), Phase::Generating | Phase::Acting | Phase::Suspended) {
        // An earlier invocation did everything. Resuming would continue a stopped run, and only its owner may do that.
        return Ok(None);
    }
    if session.agent().reason_to_leave(session.run()).is_some() {
        let is_waiting = session.run().phase() == Phase::Suspended;
        let after = if is_waiting { time_left(session.run()) } else { Some(0) };
        return Ok(after.map(|after| after.max(LOOK_AGAIN)));
    }
    match session.resume().await {
        // The log contains the error, and the run is stopped.
        Ok(_) | Err(AgentError::Model(_) | AgentError::Cancelled | AgentError::Blocked { .. }) => {}
        Err(AgentError::Store(StoreError::NotFound)) => return Ok(None),
        Err(error) => return Err(error),
    }
    Ok(time_left(session.run()))
}
