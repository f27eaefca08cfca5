//! The activity that drives a run until it rests.

use std::{pin::pin, sync::Arc, time::Duration};

use temporalio_common::error::ApplicationFailure;
use temporalio_macros::activities;
use temporalio_sdk::activities::{ActivityContext, ActivityError};
use tokio::time::interval;
use tool_runtime::{Agent, run::RunId, store::StoreError};

use crate::{
    log::{DriveAttempt, Task},
    store::TemporalStore,
};

/// The interval of the heartbeats.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(2);

/// The driver of runs in a process.
pub struct Driver {
    /// The function that returns the agent of a run.
    pub agents: Box<dyn Fn(&RunId) -> Agent + Send + Sync>,
    pub store: TemporalStore,
}

#[activities]
impl Driver {
    /// Drives a run until it has finished, was stopped, or needs a decision.
    #[activity]
    pub async fn drive(self: Arc<Self>, cx: ActivityContext, task: Task) -> Result<(), ActivityError> {
        let drive = DriveAttempt { number: task.number, attempt: cx.info().attempt };
        let agent = (self.agents)(&task.run).store(self.store.for_drive(drive));
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
                done = &mut driven => return done.map(drop).map_err(|error| activity_error(error.into())),
                // This return drops the work. If this process ends, another process continues the run.
                () = cx.cancelled() => return Err(activity_error("this process drives no more runs".into())),
                _ = beat.tick() => cx.record_heartbeat(()).await.map_err(|error| activity_error(error.into()))?,
            }
        }
    }
}

fn activity_error(error: Box<dyn std::error::Error + Send + Sync>) -> ActivityError {
    ActivityError::application(ApplicationFailure::new(error))
}
