//! The virtual object that drives a run. Restate runs one of its invocations at a time. If its process ends, Restate tries the
//! invocation again on another process.
//!
//! The loop of the runtime is not deterministic, and its journal is. Each batch of entries that the loop wants to store is the
//! result of one `run` entry of the journal. Its append is one call. A replay takes both from the journal, and runs nothing. At
//! the end of the journal, a new loop continues from the log.

use std::sync::Arc;

use restate_sdk::prelude::*;
use serde::{Deserialize, Serialize};
use tokio::{sync::Mutex, task::JoinHandle};
use tool_runtime::run::{Phase, RunId};
use tool_runtime::store::StoreError;
use tool_runtime::{Agent, AgentError};

use crate::engine::Restate;
use crate::keeper::{AppendReceiver, AppendReply, AppendRequest};
use crate::log::ToolRunClient;
use crate::wire::now;
use crate::wire::{Appended, Entries};

/// The function that returns the agent of a run.
pub type Agents = Arc<dyn Fn(&RunId) -> Agent + Send + Sync>;

/// The driver of runs.
pub struct ToolDriver {
    pub engine: Restate,
    pub agents: Agents,
}

/// The next request of the loop.
#[derive(Debug, Serialize, Deserialize)]
enum LoopRequest {
    /// Stores entries, and continues.
    Append(Entries),
    /// Rests until the given number of milliseconds has passed, or somebody appends.
    Rest(Option<u64>),
}

#[object]
impl ToolDriver {
    /// Drives a run until it rests.
    #[handler(
        ingress_private,
        inactivity_timeout = "1 day",
        abort_timeout = "1 day",
        invocation_retry_policy(initial_interval = "50ms", factor = 2.0, max_interval = "2s")
    )]
    async fn drive(&self, ctx: ObjectContext<'_>) -> HandlerResult<()> {
        let run = RunId::from(ctx.key());
        let driver =
            Arc::new(Mutex::new(Driver { engine: self.engine.clone(), agents: self.agents.clone(), run, work: None }));
        loop {
            let next = Arc::clone(&driver);
            let next = ctx.run(|| async move { Ok(Json(next.lock().await.next().await?)) }).name("entries");
            match next.await?.0 {
                LoopRequest::Append(entries) => {
                    let length = entries.expected + entries.count;
                    let log = ctx.object_client::<ToolRunClient>(ctx.key());
                    let Json(appended) = log.record(Json(entries)).call().await?;
                    driver.lock().await.answer(appended, length);
                }
                LoopRequest::Rest(wake) => {
                    if let Some(after) = wake {
                        let later = ctx.object_client::<ToolDriverClient>(ctx.key()).drive();
                        later.send_after(std::time::Duration::from_millis(after.max(1)));
                    }
                    return Ok(());
                }
            }
        }
    }
}

/// The loop of a run, which begins when the journal has no more entries.
struct Driver {
    engine: Restate,
    agents: Agents,
    run: RunId,
    work: Option<Work>,
}

/// A loop under way.
struct Work {
    appends: AppendReceiver,
    task: Task,
    /// The receiver of the answer about the last entries.
    answer: Option<AppendReply>,
}

/// A task that ends with its handle, and all calls of the run with it.
struct Task(JoinHandle<Result<Option<u64>, AgentError>>);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Driver {
    async fn next(&mut self) -> Result<LoopRequest, AgentError> {
        let work = self.work.get_or_insert_with(|| {
            let (engine, appends) = self.engine.driving();
            let (agent, run) = ((self.agents)(&self.run).store(engine), self.run.clone());
            Work { appends, task: Task(tokio::spawn(drive(agent, run))), answer: None }
        });
        tokio::select! {
            biased;
            Some(AppendRequest { entries, answer }) = work.appends.recv() => {
                work.answer = Some(answer);
                Ok(LoopRequest::Append(entries))
            }
            done = &mut work.task.0 => match done {
                Ok(done) => Ok(LoopRequest::Rest(done?)),
                Err(panic) => Err(StoreError::unavailable(panic).into()),
            },
        }
    }

    /// Answers the loop, unless the entries are of an earlier one. The log has `length` entries if they were appended.
    fn answer(&mut self, appended: Appended, length: u64) {
        let Some(answer) = self.work.as_mut().and_then(|work| work.answer.take()) else { return };
        if appended == Appended::Yes {
            self.engine.shared.lengths.report(&self.run, length);
        }
        let _ = answer.send(appended);
    }
}

/// Drives a run until it rests. Returns the time in milliseconds after which it must be resumed.
async fn drive(agent: Agent, run: RunId) -> Result<Option<u64>, AgentError> {
    let mut session = match agent.open_for_owner(&run).await {
        // It was deleted in the meantime.
        Err(AgentError::Store(StoreError::NotFound)) => return Ok(None),
        opened => opened?,
    };
    if !matches!(session.run().phase(), Phase::Generating | Phase::Acting | Phase::Suspended) {
        // An earlier invocation did everything. To resume a stopped run would continue it, which only its owner may do.
        return Ok(None);
    }
    match session.resume().await {
        // The run holds the error, and is stopped.
        Ok(_) | Err(AgentError::Model(_) | AgentError::Cancelled) => {}
        Err(AgentError::Store(StoreError::NotFound)) => return Ok(None),
        Err(error) => return Err(error),
    }
    Ok(session.run().next_expiry().map(|wake| wake.0.saturating_sub(now().0)))
}
