//! The workflow that keeps the log of one run.

use std::time::{Duration, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use temporalio_common::RetryPolicy;
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{
    ActivityOptions, ContinueAsNewOptions, SyncWorkflowContext, WorkflowContext, WorkflowContextView, WorkflowResult,
    workflows::select,
};
use tool_runtime::run::{RunId, Timestamp};
use tool_runtime::store::Record;

use crate::{
    drive::Driver,
    log::{Added, Addition, DriveAttempt, RunLog, Summary},
    store::LENGTHS,
};

/// The key of the summary in the workflow's memo.
pub const SUMMARY: &str = "summary";

/// The maximum time between two heartbeats of a driving process.
const HEARTBEAT_TIMEOUT: Duration = Duration::from_secs(6);

/// The maximum time of a drive. A drive ends when its run rests.
const MAX_DRIVE_TIME: Duration = Duration::from_hours(365 * 24);

/// The minimum and the maximum pause between drives that change nothing, for example because a clock is behind the server's.
const RETRY_PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_mins(1));

/// The maximum length of a log that is passed to a new execution, in bytes. The server refuses inputs of two megabytes.
const MAX_CONTINUED_BYTES: usize = 1 << 20;

/// The beginning of an execution of the workflow.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Begin {
    /// A new run, with its first entries.
    New(RunId, Box<Addition>),
    /// A run whose previous execution had a long history.
    Continued(Box<RunLog>),
}

/// The workflow of a run. Updates add entries to the log, and the main function drives the run when something is due.
#[workflow]
pub struct ToolRun {
    log: RunLog,
}

#[workflow_methods]
impl ToolRun {
    #[init]
    fn new(_: &WorkflowContextView, begin: Begin) -> Self {
        let log = match begin {
            Begin::New(run, first) => RunLog::new(run, *first),
            Begin::Continued(log) => *log,
        };
        Self { log }
    }

    #[run]
    pub async fn run(ctx: &mut WorkflowContext<Self>) -> WorkflowResult<()> {
        let mut pause = RETRY_PAUSES.0;
        loop {
            let (due, is_deleted, len) = ctx.state(|flow| (flow.log.due, flow.log.is_deleted, flow.log.byte_len()));
            if is_deleted {
                return Ok(());
            }
            if ctx.continue_as_new_suggested() && len <= MAX_CONTINUED_BYTES {
                let log = ctx.state(|flow| flow.log.clone());
                ctx.continue_as_new(Begin::Continued(Box::new(log)), ContinueAsNewOptions::default())?;
            }
            let changed = |flow: &Self| flow.log.due != due || flow.log.is_deleted;
            match due.map(|at| time_until(at, ctx)) {
                None => ctx.wait_condition(changed).await?,
                Some(Some(left)) => select! {
                    changed = ctx.wait_condition(changed) => changed?,
                    _ = ctx.timer(left) => {}
                },
                Some(None) => {
                    let (task, rev) = ctx.state_mut(|flow| flow.log.begin_drive());
                    // The outcome does not matter: the log states what is due.
                    let _ = ctx.execute_activity(Driver::drive, task, drive_options()).await;
                    if ctx.state(|flow| flow.log.rev == rev && flow.log.due == due) {
                        ctx.timer(pause).await;
                        pause = (pause * 2).min(RETRY_PAUSES.1);
                    } else {
                        pause = RETRY_PAUSES.0;
                    }
                }
            }
        }
    }

    /// Adds entries, if they continue the log and their drive is not fenced.
    #[update]
    pub fn append(&mut self, ctx: &mut SyncWorkflowContext<Self>, addition: Addition) -> Added {
        let is_listed = addition.changes_summary();
        let added = self.log.add(addition);
        if added == Added::Stored {
            if is_listed {
                write_memo(ctx, &self.log.summary);
            }
            LENGTHS.report(&self.log.run, self.log.rev);
        }
        added
    }

    /// Gives the log to a drive, and fences the earlier ones.
    #[update]
    pub fn claim(&mut self, _: &mut SyncWorkflowContext<Self>, drive: DriveAttempt) -> Added {
        self.log.claim(drive)
    }

    /// Deletes the run. Returns whether it was there.
    #[update]
    pub fn delete(&mut self, _: &mut SyncWorkflowContext<Self>) -> bool {
        LENGTHS.report(&self.log.run, u64::MAX);
        !std::mem::replace(&mut self.log.is_deleted, true)
    }

    /// Returns the records after the first `known` entries; `None` if the run was deleted.
    #[query]
    pub fn read(&self, _: &WorkflowContextView, known: u64) -> Option<Vec<Record>> {
        self.log.read(known)
    }
}

/// Writes the summary of the run to the memo, which lists of workflows contain.
fn write_memo(ctx: &SyncWorkflowContext<ToolRun>, summary: &Summary) {
    // Writing cannot fail, because the summary is plain data.
    let _ = ctx.upsert_memo([(SUMMARY, Some(temporalio_sdk::MemoValue::new(summary.clone())))]);
}

/// Returns the time until `at` by the workflow's clock; `None` if it has passed.
fn time_until(at: Timestamp, ctx: &WorkflowContext<ToolRun>) -> Option<Duration> {
    let now = ctx.workflow_time().and_then(|now| now.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
    Duration::from_millis(at.0).checked_sub(now).filter(|left| !left.is_zero())
}

/// Returns the options of a drive, which the server retries without end.
fn drive_options() -> ActivityOptions {
    let retry = RetryPolicy::builder().initial_interval(RETRY_PAUSES.0).maximum_interval(RETRY_PAUSES.1).build();
    ActivityOptions::with_start_to_close_timeout(MAX_DRIVE_TIME)
        .heartbeat_timeout(HEARTBEAT_TIMEOUT)
        .retry_policy(retry)
        .build()
}
