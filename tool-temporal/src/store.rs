//! The store of runs on a Temporal server, which every process uses.

use std::{
    fmt,
    ops::Range,
    sync::{Arc, LazyLock},
    time::Duration,
};

use futures_util::{
    future::{BoxFuture, FutureExt as _, ready},
    stream::{BoxStream, StreamExt as _, TryStreamExt as _},
};
use temporalio_client::{
    Client, ClientOptions, Connection, ConnectionOptions, WorkflowExecuteUpdateOptions, WorkflowHandle,
    WorkflowListOptions, WorkflowQueryOptions, WorkflowStartOptions,
    errors::{WorkflowQueryError, WorkflowStartError, WorkflowUpdateError},
};
use temporalio_common::protos::temporal::api::failure::v1::{Failure, failure::FailureInfo};
use temporalio_sdk::{Runtime, Worker, WorkerOptions, runtime::RuntimeOptions};
use tool_runtime::{
    Agent,
    run::{Principal, RunId, Timestamp},
    store::{
        Append, Keeper, Lease, LogLengths, MemoryStore, Record, RunItem, Store, StoreError, StoredRun, WaitingFilter,
        WaitingItem,
    },
};
use url::Url;

use crate::{
    drive::Driver,
    keeper::TemporalKeeper,
    log::{Added, Addition, DriveAttempt, Summary},
    workflow::{Begin, SUMMARY, ToolRun},
};

/// The prefix of the ids of workflows.
const PREFIX: &str = "tool-run/";

/// The lengths of logs. A workflow cannot hold values of its process, so it reports its additions here.
pub(crate) static LENGTHS: LazyLock<LogLengths> = LazyLock::new(LogLengths::default);

/// The number of times that an update is sent if the worker ends its tasks without it.
const MAX_UPDATES: usize = 5;

/// The maximum time to connect.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// A store of runs on a Temporal server, and the worker that drives them.
///
/// Each run has a workflow, whose id is `tool-run/` and the run's id. Updates add entries to the run's log. When a run has work
/// to do, its workflow starts an activity, which drives the run in one of the processes that [`serve`](Self::serve).
///
/// A clone is cheap, and shares the connection.
#[derive(Clone)]
pub struct TemporalStore {
    client: Client,
    queue: String,
    /// The drive that uses this store; `None` outside of an activity.
    drive: Option<DriveAttempt>,
    /// The store that passes on the pieces of turns. It stores no runs.
    pieces: Arc<dyn Store>,
}

impl TemporalStore {
    /// Connects to the server at `url`, such as `http://127.0.0.1:7233`, in the namespace `default`. All processes that serve
    /// or use the same runs name the same task queue.
    ///
    /// Fails if the address is invalid, or the server cannot be reached within ten seconds.
    pub async fn connect(url: &str, queue: impl Into<String>) -> Result<Self, StoreError> {
        let address = Url::parse(url).map_err(|error| {
            StoreError::unavailable(format!("invalid address `{url}` of the Temporal server: {error}"))
        })?;
        let options = ConnectionOptions::new(address).connect_timeout(CONNECT_TIMEOUT).build();
        let connection = Connection::connect(options).await;
        let connection = connection.map_err(|error| unavailable(format_args!("cannot connect to {url}"), &error))?;
        let client = Client::new(connection, ClientOptions::new("default").build()).map_err(StoreError::unavailable)?;
        Ok(Self::new(client, queue))
    }

    /// Creates the store that uses `client`, for example with another namespace, TLS or an API key.
    pub fn new(client: Client, queue: impl Into<String>) -> Self {
        Self { client, queue: queue.into(), drive: None, pieces: Arc::new(MemoryStore::new()) }
    }

    /// Passes the pieces of the model's turns over `store`, such as a `PostgresStore`, from the processes that drive runs to
    /// those that follow them. By default, pieces reach only the sessions of clones of this store.
    pub fn pieces_over(self, store: impl Store + 'static) -> Self {
        Self { pieces: Arc::new(store), ..self }
    }

    /// Drives runs in this process, each with the agent that `agents` returns for it, until the worker is shut down or fails.
    /// Agents use this store in place of their own.
    ///
    /// The future is not `Send`, so it cannot be spawned on several threads: await it in `main`, or in a
    /// [`LocalSet`](tokio::task::LocalSet).
    ///
    /// Fails if the server refuses the worker, for example because the namespace does not exist.
    pub async fn serve(&self, agents: impl Fn(&RunId) -> Agent + Send + Sync + 'static) -> Result<(), StoreError> {
        let runtime = Runtime::from_current_tokio(RuntimeOptions::default()).map_err(StoreError::unavailable)?;
        let options = WorkerOptions::new(self.queue.clone())
            .register_activities(Driver { agents: Box::new(agents), store: self.clone() })
            .register_workflow::<ToolRun>()
            .map_err(StoreError::unavailable)?
            .build();
        let worker = Worker::new(&runtime, self.client.clone(), options);
        let worker_failed = format!("the worker of task queue `{}` failed", self.queue);
        let mut worker = worker
            .map_err(|error| unavailable(&worker_failed, &*Box::<dyn std::error::Error + Send + Sync>::from(error)))?;
        worker.run().await.map_err(|error| unavailable(&worker_failed, &error))
    }

    /// Returns the store for a drive.
    pub(crate) fn for_drive(&self, drive: DriveAttempt) -> Self {
        Self { drive: Some(drive), ..self.clone() }
    }

    fn workflow(&self, run: &RunId) -> WorkflowHandle<Client, ToolRun> {
        self.client.get_workflow_handle(workflow_id(run))
    }

    /// Adds entries to a run. The first entries create the run.
    pub(crate) async fn add(&self, run: &RunId, append: Append) -> Result<(), StoreError> {
        let addition = Addition::new(append, self.drive);
        if addition.record.rev == 0 {
            let options = WorkflowStartOptions::new(self.queue.clone(), workflow_id(run)).build();
            let begin = Begin::New(run.clone(), Box::new(addition));
            return match self.client.start_workflow(ToolRun::run, begin, options).await {
                Ok(_) => Ok(()),
                Err(WorkflowStartError::AlreadyStarted { .. }) => Err(StoreError::Conflict),
                Err(error) => Err(StoreError::unavailable(error)),
            };
        }
        let workflow = self.workflow(run);
        let append =
            || workflow.execute_update(ToolRun::append, addition.clone(), WorkflowExecuteUpdateOptions::default());
        to_result(execute_processed(append).await)
    }

    /// Gives the log of a run to a drive.
    pub(crate) async fn claim(&self, run: &RunId, drive: DriveAttempt) -> Result<(), StoreError> {
        let workflow = self.workflow(run);
        let claim = || workflow.execute_update(ToolRun::claim, drive, WorkflowExecuteUpdateOptions::default());
        to_result(execute_processed(claim).await)
    }

    /// Reads the records after the first `known` entries.
    pub(crate) async fn read_records(&self, run: &RunId, known: u64) -> Result<Vec<Record>, StoreError> {
        let read = self.workflow(run).query(ToolRun::read, known, WorkflowQueryOptions::default()).await;
        match read {
            Ok(Some(records)) => Ok(records),
            Ok(None) | Err(WorkflowQueryError::NotFound(_)) => Err(StoreError::NotFound),
            Err(error) => Err(StoreError::unavailable(error)),
        }
    }

    /// Lists the summaries of all runs.
    async fn list_summaries(&self) -> Result<Vec<(RunId, Summary)>, StoreError> {
        let query = "WorkflowType = 'ToolRun' AND ExecutionStatus = 'Running'";
        let listed = self.client.list_workflows(query, WorkflowListOptions::default());
        let items = listed.map_err(StoreError::unavailable).try_filter_map(|workflow| {
            let summary = workflow.memo().get::<Summary>(SUMMARY).map_err(StoreError::unavailable);
            let run = workflow.id().strip_prefix(PREFIX).map(RunId::from);
            ready(summary.map(|summary| run.zip(summary)))
        });
        items.boxed().try_collect().await
    }

    async fn find_waiting(&self, filter: &WaitingFilter) -> Result<Vec<WaitingItem>, StoreError> {
        let mut items = Vec::new();
        if let Some(id) = &filter.run {
            let run = match self.load(id).await? {
                Some(stored) => stored.rebuild()?,
                None => return Ok(items),
            };
            let open = run.interrupts().cloned();
            items.extend(open.map(|interrupt| WaitingItem::new(id.clone(), run.owner().clone(), interrupt)));
        } else {
            for (id, Summary { owner, waits, .. }) in self.list_summaries().await? {
                let item = |interrupt| WaitingItem::new(id.clone(), owner.clone(), interrupt);
                items.extend(waits.into_iter().map(item));
            }
        }
        if let Some(principal) = &filter.principal {
            items.retain(|item| item.interrupt.may_be_decided(&item.owner, principal));
        }
        // The sort keeps the order of the interrupts of a run.
        items.sort_by(|a, b| (a.interrupt.opened_at, &a.run).cmp(&(b.interrupt.opened_at, &b.run)));
        Ok(items.into_iter().skip(filter.offset).take(filter.max_items()).collect())
    }
}

impl fmt::Debug for TemporalStore {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("TemporalStore").field("queue", &self.queue).finish_non_exhaustive()
    }
}

impl Store for TemporalStore {
    fn append<'a>(&'a self, run: &'a RunId, append: Append) -> BoxFuture<'a, Result<(), StoreError>> {
        self.add(run, append).boxed()
    }

    fn load<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<Option<StoredRun>, StoreError>> {
        let found = |read| match read {
            Ok(records) => Ok(Some(StoredRun::new(None, records))),
            Err(StoreError::NotFound) => Ok(None),
            Err(error) => Err(error),
        };
        self.read_records(run, 0).map(found).boxed()
    }

    fn read<'a>(&'a self, run: &'a RunId, rev: u64) -> BoxFuture<'a, Result<Vec<Record>, StoreError>> {
        self.read_records(run, rev).boxed()
    }

    /// Stores nothing: the workflow has the whole log.
    fn save_snapshot<'a>(&'a self, _: &'a RunId, _: u64, _: String) -> BoxFuture<'a, Result<(), StoreError>> {
        ready(Ok(())).boxed()
    }

    /// Fails, because only the server grants the right to drive a run.
    fn lease<'a>(
        &'a self,
        _: &'a RunId,
        _: &'a str,
        now: Timestamp,
        ttl: Duration,
    ) -> BoxFuture<'a, Result<Lease, StoreError>> {
        ready(Err(StoreError::Leased { until: now.saturating_add(ttl) })).boxed()
    }

    fn release<'a>(&'a self, _: &'a RunId, _: &'a Lease) -> BoxFuture<'a, Result<(), StoreError>> {
        ready(Ok(())).boxed()
    }

    /// Returns the open interrupts. Without a run in `filter`, the server's list can be a moment behind.
    fn waiting<'a>(&'a self, filter: &'a WaitingFilter) -> BoxFuture<'a, Result<Vec<WaitingItem>, StoreError>> {
        self.find_waiting(filter).boxed()
    }

    /// Returns no runs, because Temporal resumes them.
    fn due(&self, _: Timestamp, _: usize) -> BoxFuture<'_, Result<Vec<RunId>, StoreError>> {
        ready(Ok(Vec::new())).boxed()
    }

    /// Returns the runs from the server's list, which can be a moment behind.
    fn list<'a>(&'a self, owner: &'a Principal, page: Range<usize>) -> BoxFuture<'a, Result<Vec<RunItem>, StoreError>> {
        async move {
            let mut runs = self.list_summaries().await?;
            runs.retain(|(_, summary)| summary.owner == *owner);
            runs.sort_by(|(a, one), (b, other)| (other.changed, b).cmp(&(one.changed, a)));
            let item = |(run, summary): (RunId, Summary)| RunItem::new(run, summary.title, summary.changed);
            Ok(runs.into_iter().skip(page.start).take(page.len()).map(item).collect())
        }
        .boxed()
    }

    fn keeper(&self, run: &RunId) -> Option<Box<dyn Keeper>> {
        Some(Box::new(TemporalKeeper::new(self.clone(), run, self.drive)))
    }

    fn publish(&self, run: &RunId, piece: String) {
        self.pieces.publish(run, piece);
    }

    fn pieces(&self, run: &RunId) -> Option<BoxStream<'static, String>> {
        self.pieces.pieces(run)
    }

    fn watch_readers(&self, run: &RunId) -> Option<BoxStream<'static, bool>> {
        self.pieces.watch_readers(run)
    }

    fn delete<'a>(&'a self, run: &'a RunId) -> BoxFuture<'a, Result<bool, StoreError>> {
        async move {
            let workflow = self.workflow(run);
            let delete = || workflow.execute_update(ToolRun::delete, (), WorkflowExecuteUpdateOptions::default());
            match execute_processed(delete).await {
                Ok(was_there) => Ok(was_there),
                Err(WorkflowUpdateError::NotFound(_)) => Ok(false),
                Err(error) => Err(StoreError::unavailable(error)),
            }
        }
        .boxed()
    }
}

/// Returns the id of the workflow of `run`.
pub(crate) fn workflow_id(run: &RunId) -> String {
    format!("{PREFIX}{}", run.as_str())
}

/// Executes an update, and again while the worker ends its tasks without it. That happens under load. The server then rejects
/// the update, and it has no effect.
async fn execute_processed<T, F>(execute: impl Fn() -> F) -> Result<T, WorkflowUpdateError>
where
    F: Future<Output = Result<T, WorkflowUpdateError>>,
{
    for _ in 1..MAX_UPDATES {
        match execute().await {
            Err(WorkflowUpdateError::Failed(failure)) if is_unprocessed(&failure) => {}
            executed => return executed,
        }
    }
    execute().await
}

fn is_unprocessed(failure: &Failure) -> bool {
    matches!(&failure.failure_info, Some(FailureInfo::ApplicationFailureInfo(info)) if info.r#type == "UnprocessedUpdate")
}

fn to_result(added: Result<Added, WorkflowUpdateError>) -> Result<(), StoreError> {
    match added {
        Ok(Added::Stored) => Ok(()),
        Ok(Added::Conflict) => Err(StoreError::Conflict),
        Ok(Added::Fenced) => Err(StoreError::Fenced),
        Ok(Added::Deleted) | Err(WorkflowUpdateError::NotFound(_)) => Err(StoreError::NotFound),
        Err(error) => Err(StoreError::unavailable(error)),
    }
}

/// Returns the error for `what`, with the causes of `error`.
fn unavailable(what: impl fmt::Display, error: &dyn std::error::Error) -> StoreError {
    let causes = std::iter::successors(Some(error), |error| error.source()).map(ToString::to_string);
    StoreError::unavailable(format!("{what}: {}", causes.collect::<Vec<_>>().join(": ")))
}
