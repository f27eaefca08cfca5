//! The adapter and the bare service on Restate.

use std::{future::pending, io, time::Duration};

use futures_util::future::{BoxFuture, FutureExt, LocalBoxFuture};
use restate_sdk::{endpoint::Endpoint, http_server::HttpServer, prelude::*};
use tokio::net::TcpListener;
use tool_restate::RestateStore;
use tool_runtime::{
    Agent,
    run::RunId,
    store::{Record, Store},
};

use super::{BareLog, Engine, Entries};
use crate::fleet::ask;

/// The interval at which clients of the bare service read a run. Clients of the adapter use the same interval.
const POLL: Duration = Duration::from_millis(200);

/// A Restate server: its address for requests, and the adapter's connection to it.
pub(crate) struct Server {
    ingress: String,
    connection: RestateStore,
}

impl Server {
    pub(crate) fn new(ingress: &str, admin: &str) -> io::Result<Self> {
        let connection = RestateStore::new(ingress, admin).map_err(io::Error::other)?;
        Ok(Self { ingress: ingress.trim_start_matches("http://").to_owned(), connection })
    }

    /// Runs `serving`, the service at the address `own`, until the process is killed. Registers the service with the Restate
    /// server, and then calls `ready`.
    async fn register_and_serve(&self, own: &str, ready: fn(), serving: impl Future<Output = ()>) -> io::Result<()> {
        let registering = async {
            self.connection.register(own).await.map_err(io::Error::other)?;
            ready();
            pending().await
        };
        tokio::select! {
            failed = registering => failed,
            () = serving => Ok(()),
        }
    }
}

impl Engine for Server {
    fn store(&self) -> BoxFuture<'_, io::Result<Box<dyn Store>>> {
        async { Ok(Box::new(self.connection.clone()) as Box<dyn Store>) }.boxed()
    }

    fn play<'a>(&'a self, run: &'a RunId, log: &'a BareLog) -> BoxFuture<'a, io::Result<()>> {
        async move {
            let path = |handler: &str| format!("/BareRun/{}/{handler}", run.as_str());
            let mut known = 0;
            for entries in &log.client {
                ask(&self.ingress, "POST", &path("append"), &serde_json::to_string(entries)?).await?;
                known += entries.record.count;
            }
            while known < log.len() {
                tokio::time::sleep(POLL).await;
                let read = ask(&self.ingress, "POST", &path("read"), &known.to_string()).await?;
                known += serde_json::from_str::<Vec<Record>>(&read)?.iter().map(|record| record.count).sum::<u64>();
            }
            Ok(())
        }
        .boxed()
    }

    fn serve(&self, agent: Agent, ready: fn()) -> LocalBoxFuture<'_, io::Result<()>> {
        async move {
            let listener = TcpListener::bind("127.0.0.1:0").await?;
            let own = address(&listener)?;
            let serving = self.connection.serve(listener, move |_| agent.clone());
            self.register_and_serve(&own, ready, serving).await
        }
        .boxed_local()
    }

    fn serve_bare(&self, log: BareLog, ready: fn()) -> LocalBoxFuture<'_, io::Result<()>> {
        async move {
            let listener = TcpListener::bind("127.0.0.1:0").await?;
            let own = address(&listener)?;
            let endpoint = Endpoint::builder().bind(BareRun).bind(BareDriver { entries: log.driver }).build();
            let serving = HttpServer::new(endpoint).serve_with_cancel(listener, pending::<()>());
            self.register_and_serve(&own, ready, serving).await
        }
        .boxed_local()
    }
}

fn address(listener: &TcpListener) -> io::Result<String> {
    Ok(format!("http://{}", listener.local_addr()?))
}

/// The log of a run of the bare service.
pub(crate) struct BareRun;

#[object]
impl BareRun {
    /// Appends entries of a client, and starts the driver if `starts_driver` is set.
    #[handler(lazy_state)]
    async fn append(&self, ctx: ObjectContext<'_>, entries: Json<Entries>) -> HandlerResult<()> {
        let starts_driver = entries.0.starts_driver;
        append_entries(&ctx, entries.0).await?;
        if starts_driver {
            ctx.object_client::<BareDriverClient>(ctx.key()).drive().send();
        }
        Ok(())
    }

    /// Appends entries of the driver.
    #[handler(lazy_state, ingress_private)]
    async fn record(&self, ctx: ObjectContext<'_>, entries: Json<Entries>) -> HandlerResult<()> {
        append_entries(&ctx, entries.0).await?;
        Ok(())
    }

    /// Returns the records after the first `known` entries.
    #[handler(lazy_state)]
    async fn read(&self, ctx: SharedObjectContext<'_>, known: u64) -> HandlerResult<Json<Vec<Record>>> {
        let mut records = Vec::new();
        let rev = ctx.get::<Json<(u64, String)>>("head").await?.map_or(0, |head| head.0.0);
        if rev > known {
            let keys = ctx.get_keys().await?;
            let mut revs: Vec<u64> = keys.iter().filter_map(|key| key.strip_prefix("log/")?.parse().ok()).collect();
            revs.sort_unstable();
            for rev in revs.into_iter().filter(|rev| *rev >= known) {
                records.extend(ctx.get::<Json<Record>>(&format!("log/{rev}")).await?.map(|record| record.0));
            }
        }
        Ok(Json(records))
    }
}

/// Appends entries at the log's end.
async fn append_entries(ctx: &ObjectContext<'_>, entries: Entries) -> HandlerResult<()> {
    let rev = ctx.get::<Json<(u64, String)>>("head").await?.map_or(0, |head| head.0.0);
    ctx.set("head", Json((rev + entries.record.count, entries.head)));
    ctx.set(&format!("log/{rev}"), Json(entries.record));
    Ok(())
}

/// The driver of the bare service.
pub(crate) struct BareDriver {
    entries: Vec<Entries>,
}

#[object]
impl BareDriver {
    /// Journals the entries of a run, and appends them.
    #[handler(ingress_private)]
    async fn drive(&self, ctx: ObjectContext<'_>) -> HandlerResult<()> {
        for entries in &self.entries {
            let entries = ctx.run(|| async { Ok(Json(entries.clone())) }).name("entries").await?;
            ctx.object_client::<BareRunClient>(ctx.key()).record(entries).call().await?;
        }
        Ok(())
    }
}
