//! The activity that drives a run until it rests.

use std::{
    pin::pin,
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use temporalio_common::error::ApplicationFailure;
use temporalio_macros::activities;
use temporalio_sdk::activities::{ActivityContext, ActivityError};
use tokio::time::interval;
use tool_runtime::{Agent, AgentError, run::RunId, store::StoreError};

use crate::{
    keeper::Drive,
    log::{DriveAttempt, Task},
    store::{ExecutionFull, TemporalStore},
    workflow::HEARTBEAT_TIMEOUT,
};

/// The interval of the heartbeats. Without [`max_heartbeat_throttle_interval`], the SDK sends one of them in each 0.8 of the timeout:
/// a delay of the rest would end a drive that goes on.
///
/// [`max_heartbeat_throttle_interval`]: temporalio_sdk::WorkerOptions::max_heartbeat_throttle_interval
pub const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(2);
const _: () = assert!(HEARTBEAT_INTERVAL.as_secs() * 3 <= HEARTBEAT_TIMEOUT.as_secs(), "two heartbeats may be late");

/// The driver of runs in a process.
pub struct Driver {
    /// The function that returns the agent of a run.
    pub agents: Box<dyn Fn(&RunId) -> Agent + Send + Sync>,
    pub store: TemporalStore,
    /// Set if the process is about to end, so that drives end with their steps.
    pub is_ending: Arc<AtomicBool>,
}

#[activities]
impl Driver {
    /// Drives a run until it has finished, was stopped, or needs a decision.
    #[activity]
    pub async fn drive(self: Arc<Self>, cx: ActivityContext, task: Task) -> Result<(), ActivityError> {
        let drive = DriveAttempt { number: task.number, attempt: cx.info().attempt };
        let agent =
            (self.agents)(&task.run).store(self.store.for_drive(Drive::new(drive, Arc::clone(&self.is_ending))));
        let mut driven = pin!(async {
            // Earlier attempts are fenced before the run is loaded. The workflow has fenced the earlier drives.
            if drive.attempt > 1 {
                match self.store.claim(&task.run, drive).await {
                    Ok(()) => {}
                    Err(StoreError::Fenced | StoreError::NotFound) => return Ok(false),
                    Err(error) => return Err(error.into()),
                }
            }
            agent.resume_run(&task.run).await
        });
        let mut beat = interval(HEARTBEAT_INTERVAL);
        loop {
            tokio::select! {
                biased;
                done = &mut driven => return done.map(drop).map_err(drive_error),
                // This return drops the work. If this process ends, another process continues the run.
                () = cx.cancelled() => return Err(activity_error("this process drives no more runs".into())),
                _ = beat.tick() => cx.record_heartbeat(()).await.map_err(|error| activity_error(error.into()))?,
            }
        }
    }

    /// Adds to the log that the run was cancelled, on behalf of its owner.
    #[activity]
    pub async fn cancel(self: Arc<Self>, _: ActivityContext, run: RunId) -> Result<(), ActivityError> {
        let agent = (self.agents)(&run).store(self.store.clone());
        let cancelled = async {
            let owner = agent.open(&run).await?.run().owner().clone();
            agent.cancel(&run, owner).await
        };
        match cancelled.await {
            // A run at rest has nothing to cancel.
            Ok(_) | Err(AgentError::Refused(_) | AgentError::Store(StoreError::NotFound | StoreError::Ended(_))) => {
                Ok(())
            }
            Err(error) => Err(activity_error(error.into())),
        }
    }
}

/// Returns the error of a drive. If the workflow needs a new execution, the server does not repeat the activity in this one.
fn drive_error(error: AgentError) -> ActivityError {
    let is_full = matches!(&error, AgentError::Store(StoreError::Unavailable(error)) if error.is::<ExecutionFull>());
    if is_full {
        ActivityError::application(ApplicationFailure::non_retryable(error))
    } else {
        activity_error(error.into())
    }
}

fn activity_error(error: Box<dyn std::error::Error + Send + Sync>) -> ActivityError {
    ActivityError::application(ApplicationFailure::new(error))
}
