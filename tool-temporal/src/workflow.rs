//! The workflow that keeps the log of one run.

use std::time::{Duration, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use temporalio_common::{MemoValues, RetryPolicy};
use temporalio_macros::{workflow, workflow_methods};
use temporalio_sdk::{
    ActivityOptions, ChildWorkflowOptions, ContinueAsNewOptions, ParentClosePolicy, SignalWorkflowOptions,
    SyncWorkflowContext, TimerOptions, WaitConditionOptions, WorkflowCancellationToken, WorkflowContext,
    WorkflowContextView, WorkflowResult, workflows::select,
};
use tool_runtime::run::{RunId, Timestamp};
use tool_runtime::store::Record;

use crate::{
    drive::Driver,
    log::{Added, Addition, DriveAttempt, Piece, RunLog, Summary},
    pages::{Page, Part, PartInput, Position},
    store::LENGTHS,
};

/// The key of the summary in the workflow's memo.
pub const SUMMARY: &str = "summary";

/// The prefix of the ids of workflows that keep old records.
const PART_PREFIX: &str = "tool-log/";

/// The maximum time between two heartbeats of a driving process.
pub const HEARTBEAT_TIMEOUT: Duration = Duration::from_secs(6);

/// The maximum time of a drive. A drive ends when its run rests.
const MAX_DRIVE_TIME: Duration = Duration::from_hours(365 * 24);

/// The minimum and the maximum pause between drives that change nothing, for example because a clock is behind the server's.
const RETRY_PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_mins(1));

/// The maximum time of an attempt to cancel a run.
const MAX_CANCEL_TIME: Duration = Duration::from_mins(1);

/// The maximum length of the records that are passed to a new execution, in bytes. The server refuses inputs of two megabytes.
const MAX_CONTINUED_BYTES: usize = 512 << 10;

/// The length from which on earlier builds did not continue a log in a new execution.
const MAX_CONTINUED_BEFORE: usize = 1 << 20;

/// The beginning of an execution of the workflow.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Begin {
    /// A new run, with its first entries.
    New(RunId, Box<Addition>),
    /// A run whose previous execution had a long history, or was cancelled.
    Continued(Box<RunLog>),
    /// A run like this whose oldest records are in other workflows. Earlier builds refuse this input, because they could not read them.
    Parted(Box<RunLog>),
}

/// The workflow of a run. Updates add entries to the log, and the main function drives the run when something is due.
#[workflow]
pub struct ToolRun {
    log: RunLog,
    /// Set if a process asked for a new execution, because this one accepts no more updates.
    is_full: bool,
}

#[workflow_methods]
impl ToolRun {
    #[init]
    fn new(_: &WorkflowContextView, begin: Begin) -> Self {
        let log = match begin {
            Begin::New(run, first) => RunLog::new(run, *first),
            Begin::Continued(log) | Begin::Parted(log) => *log,
        };
        Self { log, is_full: false }
    }

    // Nothing here inherits the workflow's cancellation: otherwise each wait would return at once, and the loop would never yield.
    // Builds before this one began runs whose histories this code replays, so the order of its commands changes only behind
    // `patched`.
    #[run]
    pub async fn run(ctx: &mut WorkflowContext<Self>) -> WorkflowResult<()> {
        let mut pause = RETRY_PAUSES.0;
        loop {
            let (due, is_deleted, is_full) = ctx.state(|flow| (flow.log.due, flow.log.is_deleted, flow.is_full));
            if is_deleted {
                return Self::end_parts(ctx).await;
            }
            let is_cancelled = ctx.cancellation_token().is_cancelled();
            if is_cancelled {
                let run = ctx.state(|flow| flow.log.run.clone());
                // The server repeats the activity until it succeeds. A run that nobody can read has nothing to cancel.
                let _ = ctx.execute_activity(Driver::cancel, run, cancel_options()).await;
            }
            if is_cancelled || is_full || Self::may_continue(ctx) {
                Self::continue_anew(ctx).await?;
            }
            let changed = |flow: &Self| flow.log.due != due || flow.log.is_deleted || flow.is_full;
            match due.map(|at| time_until(at, ctx)) {
                None => select! {
                    _ = ctx.wait_condition_with_options(changed, lasting()) => {}
                    _ = ctx.cancelled() => {}
                },
                Some(Some(left)) => select! {
                    _ = ctx.wait_condition_with_options(changed, lasting()) => {}
                    _ = ctx.timer(lasting_timer(left)) => {}
                    _ = ctx.cancelled() => {}
                },
                Some(None) => {
                    let (task, rev) = ctx.state_mut(|flow| flow.log.begin_drive());
                    let run = task.run.clone();
                    let mut drive = ctx.execute_activity(Driver::drive, task, drive_options());
                    // The outcome does not matter: the log states what is due.
                    select! {
                        _ = drive => {}
                        _ = ctx.cancelled() => {
                            // The driver reads in the log that the run was cancelled.
                            let _ = ctx.execute_activity(Driver::cancel, run, cancel_options()).await;
                            let _ = drive.await;
                            Self::continue_anew(ctx).await?;
                        }
                    }
                    if ctx.state(|flow| flow.log.rev == rev && flow.log.due == due) {
                        select! {
                            _ = ctx.timer(lasting_timer(pause)) => {}
                            _ = ctx.cancelled() => {}
                        }
                        pause = (pause * 2).min(RETRY_PAUSES.1);
                    } else {
                        pause = RETRY_PAUSES.0;
                    }
                }
            }
        }
    }

    /// Returns whether the run should continue in a new execution.
    fn may_continue(ctx: &WorkflowContext<Self>) -> bool {
        let (len, rev) = ctx.state(|flow| (flow.log.byte_len(), flow.log.rev));
        // An execution that an earlier build began may have passed this place with a long log, and gone on.
        let is_new = || len <= MAX_CONTINUED_BEFORE || ctx.patched(&format!("parts after {rev} entries"));
        ctx.continue_as_new_suggested() && is_new()
    }

    /// Continues the run in a new execution. Its input is limited, so workflows of their own keep the oldest records.
    async fn continue_anew(ctx: &WorkflowContext<Self>) -> WorkflowResult<()> {
        while let Some(oldest) = ctx.state(|flow| flow.log.oldest(MAX_CONTINUED_BYTES)) {
            let number = ctx.state(|flow| flow.log.parts.len());
            let workflow = format!("{PART_PREFIX}{}/{number}", ctx.run_id());
            let options = ChildWorkflowOptions::builder()
                .workflow_id(workflow.clone())
                .parent_close_policy(ParentClosePolicy::Abandon)
                .cancellation_token(WorkflowCancellationToken::new())
                .build();
            if ctx.start_child_workflow(LogPart::run, oldest.clone(), options).await.is_err() {
                // The id is new, so this is unlikely. The run goes on in this execution.
                ctx.timer(lasting_timer(RETRY_PAUSES.1)).await;
                return Ok(());
            }
            ctx.state_mut(|flow| flow.log.move_out(workflow, &oldest));
        }
        let mut log = Box::new(ctx.state(|flow| flow.log.clone()));
        log.executions.push(ctx.run_id().to_owned());
        let begin = if log.parts.is_empty() { Begin::Continued(log) } else { Begin::Parted(log) };
        // The SDK keeps no memo by itself.
        let mut memo = MemoValues::new();
        memo.insert(SUMMARY, ctx.state(|flow| flow.log.summary.clone()));
        ctx.continue_as_new(begin, ContinueAsNewOptions::builder().memo(memo).build())?;
        Ok(())
    }

    /// Ends the workflows that keep records of this run.
    async fn end_parts(ctx: &WorkflowContext<Self>) -> WorkflowResult<()> {
        for part in ctx.state(|flow| flow.log.parts.clone()) {
            let options = SignalWorkflowOptions::builder().cancellation_token(WorkflowCancellationToken::new()).build();
            // The workflow may be gone already.
            let _ = ctx.external_workflow(part.workflow, None).signal(LogPart::delete, (), options).await;
        }
        Ok(())
    }

    /// Adds entries, if they continue the log and their drive is not fenced.
    #[update]
    pub fn append(&mut self, ctx: &mut SyncWorkflowContext<Self>, addition: Addition) -> Added {
        let is_listed = addition.changes_summary();
        let added = self.log.add(addition);
        if matches!(added, Added::Stored | Added::StoredBeforeOthers(_)) {
            if is_listed {
                write_memo(ctx, &self.log.summary);
            }
            LENGTHS.report(&self.log.run, self.log.rev);
        }
        added
    }

    /// Keeps a piece of a long text, with which the next addition begins.
    #[update]
    pub fn begin(&mut self, _: &mut SyncWorkflowContext<Self>, piece: Piece) -> Added {
        self.log.begin(piece)
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

    /// Continues the run in a new execution when no drive is in progress.
    #[signal]
    pub fn renew(&mut self, _: &mut SyncWorkflowContext<Self>) {
        self.is_full = true;
    }

    /// Returns the records after the first `known` entries, as far as they fit into one answer; `None` if the run was deleted.
    /// If the answer ends with a piece, [`Self::read_on`] returns the rest.
    #[query]
    pub fn read(&self, _: &WorkflowContextView, known: u64) -> Option<Vec<Record>> {
        match self.log.read(Position { known, pieces: 0 })? {
            Page::Records(records) => Some(records),
            Page::In(_) => Some(vec![Record::new(known, 0, String::new())]),
        }
    }

    /// Returns the records from a position on, or the workflow that has them; `None` if the run was deleted.
    #[query]
    pub fn read_on(&self, _: &WorkflowContextView, at: Position) -> Option<Page> {
        self.log.read(at)
    }

    /// Returns the workflows that keep records of this run, and the ids of the earlier executions of this workflow.
    #[query]
    pub fn traces(&self, _: &WorkflowContextView) -> (Vec<Part>, Vec<String>) {
        (self.log.parts.clone(), self.log.executions.clone())
    }
}

/// A workflow that keeps old records of a run's log.
#[workflow]
pub struct LogPart {
    input: PartInput,
    is_deleted: bool,
}

#[workflow_methods]
impl LogPart {
    #[init]
    fn new(_: &WorkflowContextView, input: PartInput) -> Self {
        Self { input, is_deleted: false }
    }

    #[run]
    pub async fn run(ctx: &mut WorkflowContext<Self>) -> WorkflowResult<()> {
        ctx.wait_condition_with_options(|part| part.is_deleted, lasting()).await?;
        Ok(())
    }

    /// Ends the workflow.
    #[signal]
    pub fn delete(&mut self, _: &mut SyncWorkflowContext<Self>) {
        self.is_deleted = true;
    }

    /// Returns the records from a position on.
    #[query]
    pub fn read(&self, _: &WorkflowContextView, at: Position) -> Vec<Record> {
        self.input.read(at)
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

/// Returns the options of a wait that the workflow's cancellation does not end.
fn lasting() -> WaitConditionOptions {
    WaitConditionOptions::builder().cancellation_token(WorkflowCancellationToken::new()).build()
}

/// Returns the options of a timer that the workflow's cancellation does not end.
fn lasting_timer(time: Duration) -> TimerOptions {
    TimerOptions::builder(time).cancellation_token(WorkflowCancellationToken::new()).build()
}

/// Returns the options of a drive, which the server retries without end.
fn drive_options() -> ActivityOptions {
    ActivityOptions::with_start_to_close_timeout(MAX_DRIVE_TIME)
        .heartbeat_timeout(HEARTBEAT_TIMEOUT)
        .retry_policy(retry_policy())
        .cancellation_token(WorkflowCancellationToken::new())
        .build()
}

/// Returns the options of the activity that cancels a run, which the server retries without end.
fn cancel_options() -> ActivityOptions {
    ActivityOptions::with_start_to_close_timeout(MAX_CANCEL_TIME)
        .retry_policy(retry_policy())
        .cancellation_token(WorkflowCancellationToken::new())
        .build()
}

fn retry_policy() -> RetryPolicy {
    RetryPolicy::builder().initial_interval(RETRY_PAUSES.0).maximum_interval(RETRY_PAUSES.1).build()
}

#[cfg(test)]
mod tests {
    use temporalio_client::WorkflowHistory;
    use temporalio_common::protos::temporal::api::history::v1::{History, history_event::Attributes};
    use temporalio_sdk::workflow_replayer::{WorkflowReplayer, WorkflowReplayerOptions};

    use super::*;

    /// The histories of open runs that the build before this one began, as `WorkflowHistory::to_json` wrote them. The first one
    /// has a timer, a decision and a drive in progress. The second one has three drives.
    const EARLIER: [&str; 2] = [
        include_str!("../tests/histories/approval_with_timer.json"),
        include_str!("../tests/histories/three_drives.json"),
    ];

    async fn replay(history: WorkflowHistory) {
        let options = WorkflowReplayerOptions::new().register_workflow::<ToolRun>().unwrap().build();
        WorkflowReplayer::new(options).unwrap().replay_workflow(history).await.unwrap();
    }

    #[tokio::test]
    async fn runs_of_the_build_before_go_on() {
        for history in EARLIER {
            replay(WorkflowHistory::from_json(history.as_bytes()).unwrap()).await;
        }
    }

    /// The earlier build did not continue a log of more than a megabyte in a new execution.
    #[tokio::test]
    async fn a_run_of_the_build_before_goes_on_with_a_long_log() {
        for history in EARLIER {
            let history = WorkflowHistory::from_json(history.as_bytes()).unwrap();
            let mut events = history.into_events().await.unwrap();
            let mut is_long = false;
            for event in &mut events {
                match event.attributes.as_mut().unwrap() {
                    Attributes::WorkflowTaskStartedEventAttributes(started) => {
                        started.suggest_continue_as_new = is_long;
                    }
                    Attributes::WorkflowExecutionUpdateAcceptedEventAttributes(accepted) => {
                        let input = accepted.accepted_request.as_mut().unwrap().input.as_mut().unwrap();
                        let data = &mut input.args.as_mut().unwrap().payloads[0].data;
                        let mut addition: Addition = serde_json::from_slice(data).unwrap();
                        addition.record.text.push_str(&" ".repeat(MAX_CONTINUED_BEFORE));
                        (*data, is_long) = (serde_json::to_vec(&addition).unwrap(), true);
                    }
                    _ => {}
                }
            }
            assert!(is_long);
            replay(History { events }.into()).await;
        }
    }
}
