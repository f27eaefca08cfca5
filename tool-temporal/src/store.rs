//! The store of runs on a Temporal server, which every process uses.

use std::{
    collections::HashSet,
    fmt,
    hash::{BuildHasher as _, RandomState},
    ops::Range,
    pin::pin,
    sync::{
        Arc, LazyLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures_util::{
    future::{BoxFuture, FutureExt as _, pending, ready},
    stream::{BoxStream, StreamExt as _, TryStreamExt as _},
};
use temporalio_client::{
    Client, ClientKeepAliveOptions, ClientOptions, Connection, ConnectionOptions, NamespacedClient as _,
    QueryRejectCondition, WorkflowDescribeOptions, WorkflowExecuteUpdateOptions, WorkflowExecutionStatus,
    WorkflowHandle, WorkflowListOptions, WorkflowQueryOptions, WorkflowSignalOptions, WorkflowStartOptions,
    errors::{WorkflowInteractionError, WorkflowQueryError, WorkflowStartError, WorkflowUpdateError},
    grpc::WorkflowService as _,
    tonic::{Code, IntoRequest as _, Status},
};
use temporalio_common::{
    HasWorkflowDefinition, QueryDefinition,
    protos::temporal::api::{
        common::v1::WorkflowExecution,
        failure::v1::{Failure, failure::FailureInfo},
        workflowservice::v1::DeleteWorkflowExecutionRequest,
    },
};
use temporalio_sdk::{Runtime, Worker, WorkerOptions, WorkerOptionsBuilder, runtime::RuntimeOptions};
use tokio::time::timeout;
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
    drive::{Driver, HEARTBEAT_INTERVAL},
    keeper::{Drive, MAX_APPEND_BYTES, TemporalKeeper},
    log::{Added, Addition, DriveAttempt, Summary},
    pages::{Page, Part, Position, Reader},
    turns::Turns,
    workflow::{Begin, LogPart, SUMMARY, ToolRun},
};

/// The prefix of the ids of workflows.
const PREFIX: &str = "tool-run/";

/// The lengths of logs. A workflow cannot hold values of its process, so it reports its additions here.
pub(crate) static LENGTHS: LazyLock<LogLengths> = LazyLock::new(LogLengths::default);

/// The number of times that an update is sent if the worker ends its tasks without it, or the execution is full.
const MAX_UPDATES: usize = 5;

/// The number of times that a query is sent if the server has too many, or the workflow begins a new execution.
const MAX_QUERIES: usize = 20;

/// The pause before such a request is sent again.
const PAUSE: Duration = Duration::from_millis(200);

/// The pause of a drive after each of its appends that made appends of others fail, times the number of these, at most `MAX_PAUSES`.
/// Such a writer loads the log again before it tries again.
const PAUSE_BEFORE_OTHERS: Duration = Duration::from_millis(50);
const MAX_PAUSES: u32 = 20;

/// The maximum length of the input of a workflow, in bytes. The server refuses two megabytes.
const MAX_BEGIN: usize = 2_000_000;

/// The time that the calls of an ending process have.
const GRACE: Duration = Duration::from_secs(10);

/// The time after which the server gives the tasks of a silent worker to another one.
const STICKY_TIMEOUT: Duration = Duration::from_secs(3);

/// The turns of this process's readers of each run. The server lets few queries of a workflow wait.
static READERS: LazyLock<Turns> = LazyLock::new(Turns::default);

/// The error of an execution that accepts no more updates, or too few. The run goes on in a new one.
#[derive(Debug)]
pub struct ExecutionFull;

impl fmt::Display for ExecutionFull {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("the execution of the run's workflow is full; the run goes on in a new one")
    }
}

impl std::error::Error for ExecutionFull {}

/// The maximum time to connect.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The interval at which the client checks the connection, and the maximum time for the answer. After it, the client connects again,
/// so that requests work within 30 s of a fail-over that resets no connection. A server admits a check every ten seconds.
const KEEP_ALIVE: (Duration, Duration) = (Duration::from_secs(15), Duration::from_secs(5));

/// The maximum time for the response to a request. With a wait for a turn, an operation on a silent server ends within 30 s. The
/// server itself answers after ten seconds that no process serves a task queue.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(15);

/// Waits for the response to a request. The client of the SDK waits for 30 to 70 s, and repeats requests.
///
/// Fails if it does not arrive in time.
async fn respond<T>(queue: &str, request: impl Future<Output = T>) -> Result<T, StoreError> {
    let text = || {
        let seconds = REQUEST_TIMEOUT.as_secs();
        format!(
            "the Temporal server did not respond within {seconds} s: check that it runs, and that a process serves the task queue \
             `{queue}`, by `TemporalStore::serve`"
        )
    };
    timeout(REQUEST_TIMEOUT, request).await.map_err(|_| StoreError::unavailable(text()))
}

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
    drive: Option<Drive>,
    /// The store that passes on the pieces of turns. It stores no runs.
    pieces: Arc<dyn Store>,
}

impl TemporalStore {
    /// Connects to the server at `url`, such as `http://127.0.0.1:7233`, in the namespace `default`. All processes that serve
    /// or use the same runs name the same task queue.
    ///
    /// Fails if the address is invalid, or the server cannot be reached within ten seconds, or does not respond within 15.
    pub async fn connect(url: &str, queue: impl Into<String>) -> Result<Self, StoreError> {
        let queue = queue.into();
        let address = Url::parse(url).map_err(|error| {
            StoreError::unavailable(format!("invalid address `{url}` of the Temporal server: {error}"))
        })?;
        let keep_alive = ClientKeepAliveOptions::builder().interval(KEEP_ALIVE.0).timeout(KEEP_ALIVE.1).build();
        let options = ConnectionOptions::new(address).connect_timeout(CONNECT_TIMEOUT).keep_alive(Some(keep_alive));
        let options = options.build();
        let connection = respond(&queue, Connection::connect(options)).await?;
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

    /// Drives runs in this process, each with the agent that `agents` returns for it, until the worker fails. Agents use this
    /// store in place of their own.
    ///
    /// The future is not `Send`, so it cannot be spawned on several threads: await it in `main`, or in a
    /// [`LocalSet`](tokio::task::LocalSet).
    ///
    /// Fails if the server refuses the worker, for example because the namespace does not exist.
    pub async fn serve(&self, agents: impl Fn(&RunId) -> Agent + Send + Sync + 'static) -> Result<(), StoreError> {
        self.serve_until(agents, pending()).await
    }

    /// Drives runs like [`Self::serve`], until `stop` is ready. Then it takes no new work and reports this to the server. A turn
    /// or a call in progress has ten seconds to end. Another process continues the runs, at once.
    ///
    /// Call it with a signal of the system, so that a restart neither delays a run nor loses the outcome of a call.
    pub async fn serve_until(
        &self,
        agents: impl Fn(&RunId) -> Agent + Send + Sync + 'static,
        stop: impl Future<Output = ()>,
    ) -> Result<(), StoreError> {
        let runtime = Runtime::from_current_tokio(RuntimeOptions::default()).map_err(StoreError::unavailable)?;
        let is_ending = Arc::new(AtomicBool::new(false));
        let driver = Driver { agents: Box::new(agents), store: self.clone(), is_ending: Arc::clone(&is_ending) };
        let options = WorkerOptions::new(self.queue.clone())
            .register_activities(driver)
            .register_workflow::<ToolRun>()
            .and_then(WorkerOptionsBuilder::register_workflow::<LogPart>)
            .map_err(StoreError::unavailable)?
            .graceful_shutdown_period(GRACE)
            .sticky_queue_schedule_to_start_timeout(STICKY_TIMEOUT)
            .max_heartbeat_throttle_interval(HEARTBEAT_INTERVAL)
            .build();
        let worker = Worker::new(&runtime, self.client.clone(), options);
        let worker_failed = format!("the worker of task queue `{}` failed", self.queue);
        let mut worker = worker
            .map_err(|error| unavailable(&worker_failed, &*Box::<dyn std::error::Error + Send + Sync>::from(error)))?;
        let shut_down = worker.shutdown_handle();
        let mut run = pin!(worker.run());
        let done = tokio::select! {
            biased;
            done = &mut run => done,
            () = stop => {
                is_ending.store(true, Ordering::Relaxed);
                shut_down();
                run.await
            }
        };
        done.map_err(|error| unavailable(&worker_failed, &error))
    }

    /// Returns the store for a drive.
    pub(crate) fn for_drive(&self, drive: Drive) -> Self {
        Self { drive: Some(drive), ..self.clone() }
    }

    fn workflow(&self, run: &RunId) -> WorkflowHandle<Client, ToolRun> {
        self.client.get_workflow_handle(workflow_id(run))
    }

    /// Adds entries to a run. The first entries create the run.
    pub(crate) async fn add(&self, run: &RunId, append: Append) -> Result<(), StoreError> {
        let bytes = append.text.len();
        let mut addition = Addition::new(append, self.drive.as_ref().map(|drive| drive.attempt));
        if addition.record.rev == 0 {
            return self.begin(run, addition).await;
        }
        if bytes > MAX_APPEND_BYTES {
            return Err(StoreError::TooLarge { bytes, limit: MAX_APPEND_BYTES });
        }
        let workflow = self.workflow(run);
        let name = format!("{:x}", RandomState::new().hash_one(bytes));
        for piece in addition.take_pieces(&name) {
            let begin =
                || workflow.execute_update(ToolRun::begin, piece.clone(), WorkflowExecuteUpdateOptions::default());
            to_result(self.execute(run, begin).await?)?;
        }
        let append =
            || workflow.execute_update(ToolRun::append, addition.clone(), WorkflowExecuteUpdateOptions::default());
        let added = self.execute(run, append).await?;
        if let Added::StoredBeforeOthers(failed) = added {
            tokio::time::sleep(PAUSE_BEFORE_OTHERS * failed.min(MAX_PAUSES)).await;
        }
        to_result(added)
    }

    /// Starts the workflow of a new run, with its first entries.
    async fn begin(&self, run: &RunId, first: Addition) -> Result<(), StoreError> {
        let options = WorkflowStartOptions::new(self.queue.clone(), workflow_id(run)).build();
        let begin = Begin::New(run.clone(), Box::new(first));
        let bytes = serde_json::to_vec(&begin).map_or(0, |input| input.len());
        if bytes > MAX_BEGIN {
            return Err(StoreError::TooLarge { bytes, limit: MAX_BEGIN });
        }
        match respond(&self.queue, self.client.start_workflow(ToolRun::run, begin, options)).await? {
            Ok(_) => Ok(()),
            Err(WorkflowStartError::AlreadyStarted { .. }) => Err(StoreError::Conflict),
            Err(error) => Err(StoreError::unavailable(error)),
        }
    }

    /// Gives the log of a run to a drive.
    pub(crate) async fn claim(&self, run: &RunId, drive: DriveAttempt) -> Result<(), StoreError> {
        let workflow = self.workflow(run);
        let claim = || workflow.execute_update(ToolRun::claim, drive, WorkflowExecuteUpdateOptions::default());
        to_result(self.execute(run, claim).await?)
    }

    /// Executes an update of a run. Executes it again while the worker ends its tasks without it, which happens under load: the
    /// server then rejects the update, and it has no effect. If the execution accepts no more updates, asks for a new one.
    async fn execute<T, F>(&self, run: &RunId, update: impl Fn() -> F) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, WorkflowUpdateError>>,
    {
        let mut left = MAX_UPDATES;
        loop {
            left -= 1;
            match respond(&self.queue, update()).await? {
                Err(WorkflowUpdateError::Failed(failure)) if left > 0 && is_unprocessed(&failure) => {}
                Err(WorkflowUpdateError::Rpc(status)) if is_full(&status) => {
                    // While a drive is in progress, there is no new execution. It ends its own drive.
                    if self.drive.is_some() || left < MAX_UPDATES - 1 {
                        return Err(StoreError::unavailable(ExecutionFull));
                    }
                    let workflow = self.workflow(run);
                    let renewed = workflow.signal(ToolRun::renew, (), WorkflowSignalOptions::default());
                    respond(&self.queue, renewed).await?.map_err(StoreError::unavailable)?;
                    tokio::time::sleep(PAUSE).await;
                }
                Err(WorkflowUpdateError::NotFound(_)) => match self.find_end(run).await {
                    None if left > 0 => tokio::time::sleep(PAUSE).await,
                    end => return Err(end.unwrap_or_else(|| StoreError::unavailable(ExecutionFull))),
                },
                done => return done.map_err(|error| self.failed(error.into())),
            }
        }
    }

    /// Reads the records after the first `known` entries.
    pub(crate) async fn read_records(&self, run: &RunId, known: u64) -> Result<Vec<Record>, StoreError> {
        let _turn = READERS.wait(run).await;
        let (workflow, mut reader) = (self.workflow(run), Reader::new(known));
        let mut page = self.query(run, &workflow, || ToolRun::read, known).await?.ok_or(StoreError::NotFound)?;
        while let Some(at) = reader.add(page) {
            page = match self.query(run, &workflow, || ToolRun::read_on, at).await?.ok_or(StoreError::NotFound)? {
                Page::Records(records) => records,
                Page::In(part) => self.read_part(run, part, at).await?,
            };
        }
        Ok(reader.into_records())
    }

    /// Reads records that a workflow of their own keeps.
    async fn read_part(&self, run: &RunId, part: String, at: Position) -> Result<Vec<Record>, StoreError> {
        let workflow = self.client.get_workflow_handle::<LogPart>(part.clone());
        let lost = || StoreError::Ended(format!("the workflow `{part}`, which has a part of its log, is gone"));
        match self.query(run, &workflow, || LogPart::read, at).await {
            Err(StoreError::NotFound | StoreError::Ended(_)) => Err(lost()),
            read => read,
        }
    }

    async fn query<W, Q>(
        &self,
        run: &RunId,
        workflow: &WorkflowHandle<Client, W>,
        query: impl Fn() -> Q,
        input: Q::Input,
    ) -> Result<Q::Output, StoreError>
    where
        W: HasWorkflowDefinition,
        Q: QueryDefinition<Workflow = W::Run>,
        Q::Input: Clone + Send,
    {
        let mut left = MAX_QUERIES;
        loop {
            left -= 1;
            let options = WorkflowQueryOptions::builder().reject_condition(QueryRejectCondition::NotOpen).build();
            match respond(&self.queue, workflow.query(query(), input.clone(), options)).await? {
                Err(WorkflowQueryError::NotFound(_)) => return Err(StoreError::NotFound),
                Err(WorkflowQueryError::Rejected { status: Some(status) }) if is_closed(status) => {
                    return Err(ended(run, status));
                }
                // The query came between two executions.
                Err(WorkflowQueryError::Rejected { .. }) if left > 0 => {}
                // Other processes have too many queries under way.
                Err(WorkflowQueryError::Rpc(status)) if left > 0 && status.code() == Code::ResourceExhausted => {}
                done => return done.map_err(|error| self.failed(error.into())),
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Returns the error for a run whose workflow is not open; `None` if a new execution is.
    async fn find_end(&self, run: &RunId) -> Option<StoreError> {
        match respond(&self.queue, self.workflow(run).describe(WorkflowDescribeOptions::default())).await {
            Ok(Ok(found)) => is_closed(found.status()).then(|| ended(run, found.status())),
            Ok(Err(WorkflowInteractionError::NotFound(_))) => Some(StoreError::NotFound),
            Ok(Err(error)) => Some(StoreError::unavailable(error)),
            Err(silent) => Some(silent),
        }
    }

    /// Returns the error of a request that the server could not answer.
    fn failed(&self, error: Box<dyn std::error::Error + Send + Sync>) -> StoreError {
        if error.to_string().contains("no poller seen") {
            let queue = &self.queue;
            return StoreError::unavailable(format!(
                "no process serves the task queue `{queue}`; start one that calls `TemporalStore::serve`"
            ));
        }
        StoreError::Unavailable(error)
    }

    /// Deletes an execution of a workflow, with its history. Returns whether it was there.
    async fn erase(&self, workflow_id: &str, run_id: String) -> Result<bool, StoreError> {
        let execution = WorkflowExecution { workflow_id: workflow_id.to_owned(), run_id };
        let request =
            DeleteWorkflowExecutionRequest { namespace: self.client.namespace(), workflow_execution: Some(execution) };
        match respond(&self.queue, self.client.clone().delete_workflow_execution(request.into_request())).await? {
            Ok(_) => Ok(true),
            Err(status) if status.code() == Code::NotFound => Ok(false),
            Err(status) => Err(StoreError::unavailable(status)),
        }
    }

    /// Deletes the workflow of a run, and all that keeps a part of its log. Returns whether the run was there.
    async fn delete_run(&self, run: &RunId) -> Result<bool, StoreError> {
        let workflow = self.workflow(run);
        let found = match respond(&self.queue, workflow.describe(WorkflowDescribeOptions::default())).await? {
            Ok(found) => found,
            Err(WorkflowInteractionError::NotFound(_)) => return Ok(false),
            Err(error) => return Err(StoreError::unavailable(error)),
        };
        // The parts of a run that an operator has ended are found, too.
        let traces = respond(&self.queue, workflow.query(ToolRun::traces, (), WorkflowQueryOptions::default())).await?;
        let (parts, executions): (Vec<Part>, Vec<String>) = traces.map_err(|error| self.failed(error.into()))?;
        let was_there = if found.status() == WorkflowExecutionStatus::Running {
            // The processes that follow the run notice this at once.
            let delete = || workflow.execute_update(ToolRun::delete, (), WorkflowExecuteUpdateOptions::default());
            self.execute(run, delete).await?
        } else {
            found.status() != WorkflowExecutionStatus::Completed
        };
        for part in parts {
            self.erase(&part.workflow, String::new()).await?;
        }
        for execution in executions.into_iter().chain([found.run_id().to_owned()]) {
            self.erase(found.id(), execution).await?;
        }
        Ok(was_there)
    }

    /// Lists the summaries of all open runs; with `with_ended`, also of those that an operator has ended, with a title that says so.
    async fn list_summaries(&self, with_ended: bool) -> Result<Vec<(RunId, Summary)>, StoreError> {
        let of_status = if with_ended { "NOT IN ('Completed', 'ContinuedAsNew')" } else { "= 'Running'" };
        let query = format!("WorkflowType = 'ToolRun' AND ExecutionStatus {of_status}");
        let listed = self.client.list_workflows(query, WorkflowListOptions::default());
        let items = listed.map_err(StoreError::unavailable).try_filter_map(|workflow| {
            let summary = workflow.memo().get::<Summary>(SUMMARY).map_err(StoreError::unavailable);
            let run = workflow.id().strip_prefix(PREFIX).map(RunId::from);
            let is_ended = is_closed(workflow.status());
            ready(summary.map(|summary| run.zip(summary).map(|(run, summary)| (run, summary, is_ended))))
        });
        let (mut listed, mut items) = (items.boxed(), Vec::new());
        while let Some(item) = respond(&self.queue, listed.next()).await? {
            items.push(item?);
        }
        // The id of a run that has ended may belong to another one now.
        items.sort_by_key(|(.., is_ended)| *is_ended);
        let mut known = HashSet::new();
        items.retain(|(run, ..)| known.insert(run.clone()));
        let item = |(run, mut summary, is_ended): (RunId, Summary, bool)| {
            if is_ended {
                summary.title = Some(format!("{} (ended by an operator)", summary.title.unwrap_or_default()));
            }
            (run, summary)
        };
        Ok(items.into_iter().map(item).collect())
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
            for (id, Summary { owner, waits, unlisted, .. }) in self.list_summaries(false).await? {
                let item = |interrupt| WaitingItem::new(id.clone(), owner.clone(), interrupt);
                if unlisted.is_empty() {
                    items.extend(waits.into_iter().map(item));
                } else if let Some(stored) = self.load(&id).await? {
                    items.extend(stored.rebuild()?.interrupts().cloned().map(item));
                }
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

    /// Returns the runs from the server's list, which can be a moment behind. Runs that an operator has ended are in it until they
    /// are deleted, or the namespace's retention has passed.
    fn list<'a>(&'a self, owner: &'a Principal, page: Range<usize>) -> BoxFuture<'a, Result<Vec<RunItem>, StoreError>> {
        async move {
            let mut runs = self.list_summaries(true).await?;
            runs.retain(|(_, summary)| summary.owner == *owner);
            runs.sort_by(|(a, one), (b, other)| (other.changed, b).cmp(&(one.changed, a)));
            let item = |(run, summary): (RunId, Summary)| RunItem::new(run, summary.title, summary.changed);
            Ok(runs.into_iter().skip(page.start).take(page.len()).map(item).collect())
        }
        .boxed()
    }

    fn keeper(&self, run: &RunId) -> Option<Box<dyn Keeper>> {
        Some(Box::new(TemporalKeeper::new(self.clone(), run, self.drive.clone())))
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
        self.delete_run(run).boxed()
    }
}

/// Returns the id of the workflow of `run`.
pub(crate) fn workflow_id(run: &RunId) -> String {
    format!("{PREFIX}{}", run.as_str())
}

fn is_unprocessed(failure: &Failure) -> bool {
    matches!(&failure.failure_info, Some(FailureInfo::ApplicationFailureInfo(info)) if info.r#type == "UnprocessedUpdate")
}

/// Returns whether the execution of a workflow accepts no more updates.
fn is_full(status: &Status) -> bool {
    status.message().contains("total number of distinct updates")
}

fn to_result(added: Added) -> Result<(), StoreError> {
    match added {
        Added::Stored | Added::StoredBeforeOthers(_) => Ok(()),
        Added::Conflict => Err(StoreError::Conflict),
        Added::Fenced => Err(StoreError::Fenced),
        Added::Deleted => Err(StoreError::NotFound),
    }
}

/// Returns whether a workflow with this status has no open execution.
fn is_closed(status: WorkflowExecutionStatus) -> bool {
    use WorkflowExecutionStatus::{Canceled, Completed, Failed, Terminated, TimedOut};
    matches!(status, Completed | Failed | Canceled | Terminated | TimedOut)
}

/// Returns the error for a run whose workflow was closed. The workflow of a deleted run has completed.
fn ended(run: &RunId, status: WorkflowExecutionStatus) -> StoreError {
    let how = match status {
        WorkflowExecutionStatus::Completed => return StoreError::NotFound,
        WorkflowExecutionStatus::Terminated => "was terminated",
        WorkflowExecutionStatus::Canceled => "was cancelled",
        WorkflowExecutionStatus::TimedOut => "timed out",
        _ => "failed",
    };
    StoreError::Ended(format!("its workflow `{}` {how}", workflow_id(run)))
}

/// Returns the error for `what`, with the causes of `error`.
fn unavailable(what: impl fmt::Display, error: &dyn std::error::Error) -> StoreError {
    let causes = std::iter::successors(Some(error), |error| error.source()).map(ToString::to_string);
    StoreError::unavailable(format!("{what}: {}", causes.collect::<Vec<_>>().join(": ")))
}
