//! The connection to a server of Restate, and the service that it calls.

use std::{fmt, sync::Arc, time::Duration};

use bytes::Bytes;
use restate_sdk::{endpoint::Endpoint, http_server::HttpServer, ingress};
use rustls::{ClientConfig, crypto::ring};
use rustls_platform_verifier::BuilderVerifierExt;
use tokio::{net::TcpListener, sync::mpsc};
use tool_runtime::Agent;
use tool_runtime::run::RunId;
use tool_runtime::store::{LogLengths, MemoryStore, Store, StoreError};

use crate::drive::{Agents, ToolDriver};
use crate::keeper::{AppendReceiver, AppendSender};
use crate::log::ToolRun;

/// The longest wait for an answer of the server.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// Runs on a server of Restate. Give it to an agent as its store: [`Agent::store`]. Clones share their connections.
#[derive(Clone)]
pub struct Restate {
    pub(crate) shared: Arc<Shared>,
    /// Set in the loop that Restate lets go on.
    pub(crate) appends: Option<AppendSender>,
    /// Passes pieces of turns on, and keeps nothing.
    pub(crate) pieces: Arc<dyn Store>,
}

pub struct Shared {
    pub client: ingress::Client<Http>,
    admin: String,
    http: reqwest::Client,
    pub lengths: LogLengths,
}

impl fmt::Debug for Restate {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Restate").field("admin", &self.shared.admin).finish_non_exhaustive()
    }
}

impl Restate {
    /// Creates the connection to a server with the given addresses of its ingress and of its admin API, such as
    /// `http://127.0.0.1:8080` and `http://127.0.0.1:9070`. Nothing is sent yet.
    ///
    /// Fails if an address is not one, or the system's verifier of certificates is missing.
    pub fn new(ingress: &str, admin: &str) -> Result<Self, StoreError> {
        let tls = tls().map_err(StoreError::unavailable)?;
        let http = reqwest::Client::builder().timeout(REQUEST_TIMEOUT).tls_backend_preconfigured(tls).build();
        let http = http.map_err(StoreError::unavailable)?;
        let uri = ingress.parse::<http::Uri>().map_err(StoreError::unavailable)?;
        let client = ingress::Client::new(uri, Http(http.clone())).map_err(StoreError::unavailable)?;
        let admin = admin.trim_end_matches('/').to_owned();
        let shared = Shared { client, admin, http, lengths: LogLengths::default() };
        Ok(Self { shared: Arc::new(shared), appends: None, pieces: Arc::new(MemoryStore::new()) })
    }

    /// Passes the pieces of the model's turns over `store`, such as a `PostgresStore`, from the processes that drive runs to those
    /// that follow them. By default, they reach the sessions of clones of this store.
    pub fn pieces_over(self, store: impl Store + 'static) -> Self {
        Self { pieces: Arc::new(store), ..self }
    }

    /// Drives runs in this process, each with the agent that `agents` returns for it, until the future is dropped. Restate
    /// connects to `listener`; [`register`](Self::register) announces it.
    pub async fn serve(&self, listener: TcpListener, agents: impl Fn(&RunId) -> Agent + Send + Sync + 'static) {
        let agents: Agents = Arc::new(agents);
        let driver = ToolDriver { engine: self.clone(), agents };
        let endpoint = Endpoint::builder().bind(ToolRun).bind(driver).build();
        HttpServer::new(endpoint).serve_with_cancel(listener, std::future::pending::<()>()).await;
    }

    /// Announces to the server that `service` ([`serve`](Self::serve)) drives runs from now on, such as `http://127.0.0.1:9080`.
    pub async fn register(&self, service: &str) -> Result<(), StoreError> {
        let body = serde_json::json!({ "uri": service, "force": true }).to_string();
        self.admin("deployments", body).await.map(drop)
    }

    /// Sends a request to the admin API, and returns its answer.
    pub(crate) async fn admin(&self, path: &str, body: String) -> Result<Bytes, StoreError> {
        let request = self.shared.http.post(format!("{}/{path}", self.shared.admin)).body(body);
        let request = request.header("content-type", "application/json").header("accept", "application/json");
        let answer = request.send().await.map_err(StoreError::unavailable)?;
        let (status, body) = (answer.status(), answer.bytes().await.map_err(StoreError::unavailable)?);
        if status.is_success() {
            return Ok(body);
        }
        let text = String::from_utf8_lossy(&body);
        Err(StoreError::unavailable(format!("Restate answered {status} to `{path}`: {text}")))
    }

    /// Returns this engine for a loop that Restate lets go on, and the receiver of its requests.
    pub(crate) fn driving(&self) -> (Self, AppendReceiver) {
        let (appends, requests) = mpsc::unbounded_channel();
        (Self { appends: Some(appends), ..self.clone() }, requests)
    }
}

/// Sends the requests of the SDK.
pub struct Http(reqwest::Client);

impl ingress::RequestExecutor for Http {
    type Error = reqwest::Error;

    async fn execute(&self, request: http::Request<Bytes>) -> Result<http::Response<Bytes>, reqwest::Error> {
        let answer = self.0.execute(request.try_into()?).await?;
        let (status, headers) = (answer.status(), answer.headers().clone());
        let mut response = http::Response::new(answer.bytes().await?);
        *response.status_mut() = status;
        *response.headers_mut() = headers;
        Ok(response)
    }
}

/// Returns a TLS configuration that checks certificates with the system's verifier. It has its own cryptography provider, so it
/// does not need a process-wide one.
fn tls() -> Result<ClientConfig, rustls::Error> {
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    Ok(builder.with_safe_default_protocol_versions()?.with_platform_verifier()?.with_no_client_auth())
}
