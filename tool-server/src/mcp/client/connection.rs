//! A connection to a server, which is opened again after it was lost, and its transports.

use std::{
    collections::HashSet,
    ffi::OsString,
    fmt, io,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::future::BoxFuture;
use http::HeaderMap;
use reqwest::redirect::Policy;
use rmcp::{
    Peer, RoleClient,
    model::{
        ClientRequest, ErrorCode, ListToolsRequest, PaginatedRequestParams, ProtocolVersion, ServerNotification,
        ServerResult, SetLevelRequestParams, SubscriptionFilter,
    },
    service::{ClientLifecycleMode, ClientServiceExt, RunningService, ServiceError},
    transport::{StreamableHttpClientTransport, streamable_http_client::StreamableHttpClientTransportConfig},
};
use rustls::{ClientConfig, crypto::ring};
use rustls_platform_verifier::BuilderVerifierExt;
use serde_json::value::RawValue;
use tokio::io::{AsyncRead, AsyncWrite};
use tool_runtime::feedback::one_line;

use super::{
    BoxError, RemoteLimits, RemoteServer,
    handler::ClientEnd,
    http_client::HttpClient,
    program::Program,
    reading::ServerMessages,
    results::{Page, name_of},
    with_time_limit,
};
use crate::mcp::{LogLevel, lines::Lines};

/// The wait after the first failure to connect. It doubles with each further failure.
const FIRST_WAIT: Duration = Duration::from_millis(500);

/// The maximum wait after a failure to connect.
const MAX_WAIT: Duration = Duration::from_secs(30);

/// The maximum number of pages of a list. Pages can be empty, so the number of tools does not limit them.
const MAX_PAGES: usize = 1000;

/// The current connection to a server.
#[derive(Default)]
pub struct Connection {
    running: Option<RunningService<RoleClient, ClientEnd>>,
    failures: u32,
    not_before: Option<Instant>,
}

impl Connection {
    /// Returns the server's peer, if the connection is open.
    pub fn peer(&self) -> Option<Peer<RoleClient>> {
        let running = self.running.as_ref().filter(|running| !running.is_transport_closed())?;
        Some(running.peer().clone())
    }

    /// Opens the connection. Soon after a failure this fails immediately, so that calls do not queue up for an unreachable
    /// server.
    pub async fn open(&mut self, server: &RemoteServer, client: ClientEnd) -> Result<Peer<RoleClient>, BoxError> {
        if self.not_before.is_some_and(|time| time > Instant::now()) {
            return Err("it could not be reached, and is tried again in some seconds".into());
        }
        self.running = None;
        let limits = &server.limits;
        match with_time_limit(limits.connect, "connecting", server.transport.connect(client.clone(), server)).await {
            Ok(running) => {
                let peer = running.peer().clone();
                if let Some(logs) = server.logs.as_ref().filter(|_| has_log_level(&peer)) {
                    tokio::spawn(set_level(peer.clone(), logs.least));
                }
                // In revisions with sessions, servers report changes without a subscription.
                if peer.peer_info().is_some_and(|info| !info.protocol_version.has_initialize()) {
                    tokio::spawn(subscribe(peer.clone(), client));
                }
                (self.failures, self.not_before) = (0, None);
                self.running = Some(running);
                Ok(peer)
            }
            Err(error) => {
                let wait = FIRST_WAIT.saturating_mul(1 << self.failures.min(10)).min(MAX_WAIT);
                self.failures = self.failures.saturating_add(1);
                self.not_before = Some(Instant::now() + wait);
                Err(error)
            }
        }
    }

    pub async fn close(&mut self) {
        if let Some(running) = self.running.take() {
            let _ = running.cancel().await;
        }
    }
}

/// Returns whether a client sets the server's log level once per session. In the revision without sessions, each call sets it.
fn has_log_level(peer: &Peer<RoleClient>) -> bool {
    has_sessions(peer) && peer.peer_info().is_some_and(|info| info.capabilities.logging.is_some())
}

/// Returns whether the connection is of a revision with sessions, which begin with `initialize`.
pub fn has_sessions(peer: &Peer<RoleClient>) -> bool {
    peer.peer_info().is_some_and(|info| info.protocol_version.has_initialize())
}

async fn set_level(peer: Peer<RoleClient>, least: LogLevel) {
    let _ = peer.set_level(SetLevelRequestParams::new(least.wire())).await;
}

/// Subscribes to changes of the list. Servers of revisions with sessions notify their clients without that.
async fn subscribe(peer: Peer<RoleClient>, client: ClientEnd) {
    if has_sessions(&peer) {
        return;
    }
    let mut filter = SubscriptionFilter::default();
    filter.tools_list_changed = Some(true);
    let Ok(mut subscription) = peer.listen(filter).await else { return };
    while let Ok(Some(notification)) = subscription.next().await {
        if matches!(notification, ServerNotification::ToolListChangedNotification(_)) {
            client.0.mark_stale();
        }
    }
}

/// A tool in a server's list.
pub struct ListedTool {
    /// The definition as it came.
    pub definition: Box<RawValue>,
    /// Set if rmcp refuses to call it, because headers of HTTP cannot be made of its schema.
    pub is_refused: bool,
}

/// Reads all pages of the list of tools. A page or a cursor that comes again ends the list, and equal definitions count once. The
/// list of a server that has no such method is empty. If the server refuses a later page, also returns the reason.
///
/// Fails when there are more tools than the limit, or too many pages.
pub async fn list_tools(
    peer: &Peer<RoleClient>,
    server: &RemoteServer,
) -> Result<(Vec<ListedTool>, Option<String>), BoxError> {
    let most = server.limits.tools;
    with_time_limit(server.limits.connect, "listing the tools", async {
        let (mut tools, mut cursor) = (Vec::new(), None);
        let (mut known, mut cursors) = (HashSet::new(), HashSet::new());
        for number in 1..=MAX_PAGES {
            let (page, callable) = match list_page(peer, cursor.take()).await {
                Ok(Some(page)) => page,
                Ok(None) => return Ok((tools, None)),
                Err(error) => match error.downcast_ref() {
                    Some(ServiceError::McpError(refused)) if number > 1 => {
                        let reason = format!("page {number} of the list was refused: {}", one_line(&refused.message));
                        return Ok((tools, Some(reason)));
                    }
                    _ => return Err(error),
                },
            };
            let (came, before) = (page.definitions.len(), tools.len());
            for definition in page.definitions {
                if known.insert(definition.get().to_owned()) {
                    let is_refused = name_of(&definition).is_some_and(|name| !callable.contains(&name));
                    tools.push(ListedTool { definition, is_refused });
                }
            }
            if tools.len() > most {
                return Err(format!("it has more than {most} tools").into());
            }
            let is_repeated = came > 0 && tools.len() == before;
            match page.next {
                Some(next) if !is_repeated && cursors.insert(next.clone()) => cursor = Some(next),
                _ => return Ok((tools, None)),
            }
        }
        Err("its list of tools has no end".into())
    })
    .await
}

/// Reads a page of the list of tools, and the names of the tools that rmcp can call. Returns `None` if the server has no tools.
async fn list_page(
    peer: &Peer<RoleClient>,
    cursor: Option<String>,
) -> Result<Option<(Page, HashSet<String>)>, BoxError> {
    let mut params = PaginatedRequestParams::default();
    params.cursor = cursor;
    let request = ListToolsRequest::with_param(params);
    let listed = match peer.send_request(ClientRequest::ListToolsRequest(request)).await {
        Ok(ServerResult::ListToolsResult(listed)) => listed,
        Ok(_) => return Err("its response to `tools/list` is not a list of tools".into()),
        Err(ServiceError::McpError(error)) if error.code == ErrorCode::METHOD_NOT_FOUND || !has_tools(peer) => {
            return Ok(None);
        }
        Err(error) => return Err(error.into()),
    };
    let callable = listed.tools.iter().map(|tool| tool.name.to_string()).collect();
    Ok(Page::of(&listed).map(|page| (page, callable)))
}

/// Returns whether the server declares tools. Some servers list tools without declaring them.
fn has_tools(peer: &Peer<RoleClient>) -> bool {
    peer.peer_info().is_some_and(|info| info.capabilities.tools.is_some())
}

type Read = Box<dyn AsyncRead + Send + Unpin>;
type Write = Box<dyn AsyncWrite + Send + Unpin>;

/// A source of the streams of a connection. Closures that return a future of a pair of streams implement it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not open streams to a server",
    label = "not a function that gives a future of two streams",
    note = "write `|| async {{ Ok((read, write)) }}`"
)]
pub trait OpenStreams: Send + Sync + 'static {
    /// Opens a new pair of streams: the server's output and its input.
    fn open(&self) -> BoxFuture<'static, io::Result<(Read, Write)>>;
}

#[diagnostic::do_not_recommend]
impl<F, R, I, O> OpenStreams for F
where
    F: Fn() -> R + Send + Sync + 'static,
    R: Future<Output = io::Result<(I, O)>> + Send + 'static,
    I: AsyncRead + Send + Unpin + 'static,
    O: AsyncWrite + Send + Unpin + 'static,
{
    fn open(&self) -> BoxFuture<'static, io::Result<(Read, Write)>> {
        let opening = self();
        Box::pin(async move {
            let (read, write) = opening.await?;
            Ok((Box::new(read) as Read, Box::new(write) as Write))
        })
    }
}

/// The transport to a server.
#[derive(Clone)]
pub enum Transport {
    Command { program: PathBuf, args: Vec<String>, env: Vec<(String, String)>, directory: Option<PathBuf> },
    Http { address: String, headers: HeaderMap },
    Streams(Arc<dyn OpenStreams>),
}

/// The environment variables that a program inherits, because it needs them to run.
const INHERITED: [&str; 11] =
    ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TMPDIR", "TEMP", "SystemRoot", "USERPROFILE"];

impl Transport {
    /// Connects with the newest revision that both sides know, or with the newest one with sessions if `server` wants that. Some
    /// servers fail when a client asks for the newest one, so a second attempt begins with `initialize`.
    pub async fn connect(
        &self,
        client: ClientEnd,
        server: &RemoteServer,
    ) -> Result<RunningService<RoleClient, ClientEnd>, BoxError> {
        let limits = &server.limits;
        if server.older_revision {
            return self.connect_with(client, limits, ClientLifecycleMode::Initialize).await;
        }
        let newest = ClientLifecycleMode::Auto {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
            legacy_version: Some(ProtocolVersion::V_2025_11_25),
        };
        match self.connect_with(client.clone(), limits, newest).await {
            Ok(running) => Ok(running),
            Err(_) => self.connect_with(client, limits, ClientLifecycleMode::Initialize).await,
        }
    }

    async fn connect_with(
        &self,
        client: ClientEnd,
        limits: &RemoteLimits,
        lifecycle: ClientLifecycleMode,
    ) -> Result<RunningService<RoleClient, ClientEnd>, BoxError> {
        let running = match self {
            Self::Command { program, args, env, directory } => {
                let mut command = tokio::process::Command::new(program);
                command.args(args).env_clear();
                command.envs(INHERITED.iter().filter_map(|name| Some((*name, std::env::var_os(name)?))));
                command.envs(env.iter().map(|(name, value)| (name, OsString::from(value))));
                if let Some(directory) = directory {
                    command.current_dir(directory);
                }
                let program = Program::start(command)
                    .map_err(|error| format!("`{}` cannot be started: {error}", program.display()))?;
                client.serve_with_lifecycle(program, lifecycle).await
            }
            Self::Http { address, headers } => {
                let http = HttpClient::new(http_client(limits.connect)?);
                let mut config = StreamableHttpClientTransportConfig::with_uri(address.as_str());
                config.custom_headers = headers.iter().map(|(name, value)| (name.clone(), value.clone())).collect();
                config.max_sse_event_size = limits.result_bytes.saturating_mul(2).max(1024 * 1024);
                let transport = StreamableHttpClientTransport::with_client(http, config);
                client.serve_with_lifecycle(transport, lifecycle).await
            }
            Self::Streams(streams) => {
                let (read, write) = streams.open().await?;
                client.serve_with_lifecycle(Lines::new(ServerMessages::default(), read, write), lifecycle).await
            }
        };
        Ok(running?)
    }
}

impl fmt::Debug for Transport {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command { program, args, .. } => {
                out.debug_struct("Command").field("program", program).field("args", args).finish_non_exhaustive()
            }
            Self::Http { address, .. } => out.debug_struct("Http").field("address", address).finish_non_exhaustive(),
            Self::Streams(_) => out.write_str("Streams"),
        }
    }
}

fn http_client(connect: Duration) -> Result<reqwest::Client, BoxError> {
    let client = reqwest::Client::builder()
        .tls_backend_preconfigured(tls_config()?)
        .connect_timeout(connect)
        // A redirect would send headers with keys to another host.
        .redirect(Policy::none())
        // A connection cannot be reused if its event stream was not read to the end.
        .pool_max_idle_per_host(0)
        .user_agent(concat!(env!("CARGO_PKG_NAME"), "/", env!("CARGO_PKG_VERSION")))
        .build()?;
    Ok(client)
}

/// Returns a TLS configuration that checks certificates with the system's verifier. It has its own cryptography provider, so it
/// does not need a process-wide one.
///
/// Fails when the system's verifier is missing.
fn tls_config() -> Result<ClientConfig, rustls::Error> {
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    Ok(builder.with_safe_default_protocol_versions()?.with_platform_verifier()?.with_no_client_auth())
}
