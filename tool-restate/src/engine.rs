//! The connection to a Restate server, and the service that the server calls.

use std::{fmt, sync::Arc, time::Duration};

use bytes::Bytes;
use http::Method;
use restate_sdk::{endpoint::Endpoint, http_server::HttpServer, ingress};
use rustls::{ClientConfig, crypto::ring};
use rustls_platform_verifier::BuilderVerifierExt;
use tokio::{
    net::TcpListener,
    sync::{mpsc, watch},
    time::sleep,
};
use tool_runtime::Agent;
use tool_runtime::run::RunId;
use tool_runtime::store::{LogLengths, MemoryStore, Store, StoreError};

use crate::drive::{Agents, ToolDriver};
use crate::keeper::{AppendReceiver, AppendSender};
use crate::log::ToolRun;

/// The maximum time for a request to the server.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(20);

/// The interval at which a process that drives runs looks for runs of processes that are gone.
const LOOK_AFTER_LOST: Duration = Duration::from_mins(1);

/// A store of runs on a Restate server, and the service that drives them. Give it to an agent with [`Agent::store`]. Clones
/// share their connections.
#[derive(Clone)]
pub struct RestateStore {
    pub(crate) shared: Arc<Shared>,
    /// Passes the appends of a driver to its invocation. `None` outside of an invocation.
    pub(crate) appends: Option<AppendSender>,
    /// The store that passes on the pieces of turns. It stores no runs.
    pub(crate) pieces: Arc<dyn Store>,
}

/// The part that clones share.
pub struct Shared {
    pub client: ingress::Client<Http>,
    admin: String,
    http: reqwest::Client,
    pub lengths: LogLengths,
}

impl fmt::Debug for RestateStore {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("RestateStore").field("admin", &self.shared.admin).finish_non_exhaustive()
    }
}

impl RestateStore {
    /// Creates the store of the server whose ingress and admin API have these addresses, such as `http://127.0.0.1:8080` and
    /// `http://127.0.0.1:9070`. Sends nothing yet.
    ///
    /// Fails if the address `ingress` is invalid, or the system's verifier of certificates is missing.
    pub fn new(ingress: &str, admin: &str) -> Result<Self, StoreError> {
        let tls = build_tls_config().map_err(StoreError::unavailable)?;
        let http = reqwest::Client::builder().timeout(REQUEST_TIMEOUT).tls_backend_preconfigured(tls).build();
        let http = http.map_err(StoreError::unavailable)?;
        let uri = ingress.parse::<http::Uri>().map_err(StoreError::unavailable)?;
        let client = ingress::Client::new(uri, Http(http.clone())).map_err(StoreError::unavailable)?;
        let admin = admin.trim_end_matches('/').to_owned();
        let shared = Shared { client, admin, http, lengths: LogLengths::default() };
        Ok(Self { shared: Arc::new(shared), appends: None, pieces: Arc::new(MemoryStore::new()) })
    }

    /// Passes the pieces of the model's turns over `store`, such as a `PostgresStore`, from the processes that drive runs to
    /// those that follow them. By default, pieces reach only the sessions of clones of this store.
    pub fn pieces_over(self, store: impl Store + 'static) -> Self {
        Self { pieces: Arc::new(store), ..self }
    }

    /// Drives runs in this process, each with the agent that `agents` returns for it, until the future is dropped. Agents use
    /// this store in place of their own. Restate connects to `listener`, whose address [`register`](Self::register) announces.
    pub async fn serve(&self, listener: TcpListener, agents: impl Fn(&RunId) -> Agent + Send + Sync + 'static) {
        self.serve_until(listener, agents, std::future::pending()).await;
    }

    /// Drives runs in this process, as [`serve`](Self::serve) does, until `end` completes. Then it accepts no further runs, and
    /// returns when all runs in progress are at rest. If that takes too long, drop the future: what is cut is continued elsewhere as
    /// after a crash.
    pub async fn serve_until(
        &self,
        listener: TcpListener,
        agents: impl Fn(&RunId) -> Agent + Send + Sync + 'static,
        end: impl Future<Output = ()> + Send,
    ) {
        let agents: Agents = Arc::new(agents);
        let drives = Arc::new(watch::Sender::new(0));
        let driver = ToolDriver { store: self.clone(), agents, drives: Arc::clone(&drives) };
        let endpoint = Endpoint::builder().bind(ToolRun).bind(driver).build();
        let served = HttpServer::new(endpoint).serve_with_cancel(listener, end);
        let looked_after = async {
            loop {
                sleep(LOOK_AFTER_LOST).await;
                // While the server is away, there is nothing to do.
                let _ = self.end_lost(None).await;
            }
        };
        tokio::select! {
            () = served => {}
            () = looked_after => {}
        }
        let _ = drives.subscribe().wait_for(|drives| *drives == 0).await;
    }

    /// Registers the address of a service that drives runs ([`serve`](Self::serve)), such as `http://127.0.0.1:9080`, with the
    /// server. From now on, the server sends everything to this address. Runs in progress stay at their address as long as it
    /// answers. Otherwise they continue at this one.
    ///
    /// Fails if the server cannot be reached, or refuses the service.
    pub async fn register(&self, service: &str) -> Result<(), StoreError> {
        let body = serde_json::json!({ "uri": service, "force": true }).to_string();
        self.send_to_admin(Method::POST, "deployments", body).await?;
        // A server that has just started may refuse the query. It has no runs in progress, and each process that serves tries again.
        let _ = self.end_lost(None).await;
        Ok(())
    }

    /// Sends a request to the admin API, and returns the body of the response.
    pub(crate) async fn send_to_admin(&self, method: Method, path: &str, body: String) -> Result<Bytes, StoreError> {
        let request = self.shared.http.request(method, format!("{}/{path}", self.shared.admin)).body(body);
        let request = request.header("content-type", "application/json").header("accept", "application/json");
        let response = request.send().await.map_err(StoreError::unavailable)?;
        let (status, body) = (response.status(), response.bytes().await.map_err(StoreError::unavailable)?);
        if status.is_success() {
            return Ok(body);
        }
        let text = String::from_utf8_lossy(&body);
        Err(StoreError::unavailable(format!("Restate responded to `{path}` with {status}: {text}")))
    }

    /// Returns the store for a loop that drives a run in an invocation, and the receiver of its appends.
    pub(crate) fn for_driver(&self) -> (Self, AppendReceiver) {
        let (appends, receiver) = mpsc::unbounded_channel();
        (Self { appends: Some(appends), ..self.clone() }, receiver)
    }
}

/// The client that sends the requests of the SDK.
pub struct Http(reqwest::Client);

impl ingress::RequestExecutor for Http {
    type Error = reqwest::Error;

    async fn execute(&self, request: http::Request<Bytes>) -> Result<http::Response<Bytes>, reqwest::Error> {
        let received = self.0.execute(request.try_into()?).await?;
        let (status, headers) = (received.status(), received.headers().clone());
        let mut response = http::Response::new(received.bytes().await?);
        *response.status_mut() = status;
        *response.headers_mut() = headers;
        Ok(response)
    }
}

/// Returns a TLS configuration that checks certificates with the system's verifier. It has its own cryptography provider, so it
/// does not need a process-wide one.
fn build_tls_config() -> Result<ClientConfig, rustls::Error> {
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    Ok(builder.with_safe_default_protocol_versions()?.with_platform_verifier()?.with_no_client_auth())
}
