//! The adapter and the bare service on Temporal.

use std::{io, sync::Arc, time::Duration};

use futures_util::future::{BoxFuture, FutureExt, LocalBoxFuture};
use temporalio_client::{
    Client, ClientOptions, Connection, ConnectionOptions, WorkflowExecuteUpdateOptions, WorkflowQueryOptions,
    WorkflowStartOptions,
};
use temporalio_macros::{activities, workflow, workflow_methods};
use temporalio_sdk::{
    ActivityOptions, Runtime, SyncWorkflowContext, Worker, WorkerOptions, WorkflowContext, WorkflowContextView,
    WorkflowResult,
    activities::{ActivityContext, ActivityError},
    runtime::RuntimeOptions,
};
use tool_runtime::{
    Agent,
    run::RunId,
    store::{Record, Store},
};
use tool_temporal::TemporalStore;
use url::Url;

use super::{BareLog, Engine, Entries};

/// The task queue of the adapter.
const ADAPTER: &str = "adapter";

/// The task queue of the bare service.
const BARE: &str = "bare";

/// The interval at which clients of the bare service read a run. Clients of the adapter use the same interval.
const POLL: Duration = Duration::from_millis(500);

/// The maximum time of the activity that drives a run.
const MAX_DRIVE_TIME: Duration = Duration::from_mins(1);

/// A Temporal server: its address, and the client that the first use connects.
pub(crate) struct Server {
    url: String,
    client: tokio::sync::OnceCell<Client>,
}

impl Server {
    pub(crate) fn new(url: String) -> Self {
        Self { url, client: tokio::sync::OnceCell::new() }
    }

    async fn client(&self) -> io::Result<&Client> {
        let connecting = Box::pin(async {
            let url = Url::parse(&self.url).map_err(io::Error::other)?;
            let connection =
                Connection::connect(ConnectionOptions::new(url).build()).await.map_err(io::Error::other)?;
            Client::new(connection, ClientOptions::new("default").build()).map_err(io::Error::other)
        });
        self.client.get_or_try_init(|| connecting).await
    }
}

impl Engine for Server {
    fn store(&self) -> BoxFuture<'_, io::Result<Box<dyn Store>>> {
        async { Ok(Box::new(TemporalStore::new(self.client().await?.clone(), ADAPTER)) as Box<dyn Store>) }.boxed()
    }

    fn play<'a>(&'a self, run: &'a RunId, log: &'a BareLog) -> BoxFuture<'a, io::Result<()>> {
        async move {
            let client = self.client().await?;
            let workflow = client.get_workflow_handle::<BareRun>(run.as_str());
            let mut known = 0;
            for entries in &log.client {
                if known == 0 {
                    let options = WorkflowStartOptions::new(BARE, run.as_str()).build();
                    let started = client.start_workflow(BareRun::run, entries.clone(), options).await;
                    started.map_err(io::Error::other)?;
                } else {
                    let options = WorkflowExecuteUpdateOptions::default();
                    let updated = workflow.execute_update(BareRun::append, entries.clone(), options).await;
                    updated.map_err(io::Error::other)?;
                }
                known += entries.record.count;
            }
            while known < log.len() {
                tokio::time::sleep(POLL).await;
                let read = workflow.query(BareRun::read, known, WorkflowQueryOptions::default()).await;
                known += read.map_err(io::Error::other)?.iter().map(|record| record.count).sum::<u64>();
            }
            Ok(())
        }
        .boxed()
    }

    fn serve(&self, agent: Agent, ready: fn()) -> LocalBoxFuture<'_, io::Result<()>> {
        async move {
            let runs = TemporalStore::new(self.client().await?.clone(), ADAPTER);
            ready();
            runs.serve(move |_| agent.clone()).await.map_err(io::Error::other)
        }
        .boxed_local()
    }

    fn serve_bare(&self, log: BareLog, ready: fn()) -> LocalBoxFuture<'_, io::Result<()>> {
        async move {
            let client = self.client().await?.clone();
            let runtime = Runtime::from_current_tokio(RuntimeOptions::default()).map_err(io::Error::other)?;
            let options = WorkerOptions::new(BARE)
                .register_activities(BareDriver { client: client.clone(), entries: log.driver })
                .register_workflow::<BareRun>()
                .map_err(io::Error::other)?
                .build();
            let mut worker =
                Worker::new(&runtime, client, options).map_err(|error| io::Error::other(error.to_string()))?;
            ready();
            worker.run().await.map_err(io::Error::other)
        }
        .boxed_local()
    }
}

/// The workflow of a run of the bare service.
#[workflow]
pub struct BareRun {
    records: Vec<Record>,
    starts_driver: bool,
}

#[workflow_methods]
impl BareRun {
    #[init]
    fn new(_: &WorkflowContextView, first: Entries) -> Self {
        Self { records: vec![first.record], starts_driver: first.starts_driver }
    }

    #[run]
    pub async fn run(ctx: &mut WorkflowContext<Self>) -> WorkflowResult<()> {
        ctx.wait_condition(|flow: &Self| flow.starts_driver).await?;
        let run = ctx.workflow_id().to_owned();
        let options = ActivityOptions::with_start_to_close_timeout(MAX_DRIVE_TIME).build();
        let _ = ctx.execute_activity(BareDriver::drive, run, options).await;
        // The workflow never completes.
        ctx.wait_condition(|_: &Self| false).await?;
        Ok(())
    }

    #[update]
    pub fn append(&mut self, _: &mut SyncWorkflowContext<Self>, entries: Entries) -> bool {
        self.records.push(entries.record);
        self.starts_driver |= entries.starts_driver;
        true
    }

    #[query]
    pub fn read(&self, _: &WorkflowContextView, known: u64) -> Vec<Record> {
        self.records.iter().filter(|record| record.rev >= known).cloned().collect()
    }
}

/// The activity that drives runs of the bare service.
pub struct BareDriver {
    client: Client,
    entries: Vec<Entries>,
}

#[activities]
impl BareDriver {
    /// Appends the entries of a run.
    #[activity]
    pub async fn drive(self: Arc<Self>, _: ActivityContext, run: String) -> Result<(), ActivityError> {
        let workflow = self.client.get_workflow_handle::<BareRun>(run);
        for entries in &self.entries {
            let options = WorkflowExecuteUpdateOptions::default();
            workflow.execute_update(BareRun::append, entries.clone(), options).await?;
        }
        Ok(())
    }
}
