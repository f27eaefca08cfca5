//! The MCP server: it offers a toolset to MCP clients.

mod call;
mod caller;
mod duplicate_ids;
mod handler;
mod http;
mod list;
mod operator;
mod reading;
mod sessions;
mod task_list;
mod tasks;

use std::{fmt, sync::Arc, time::Duration};

use rmcp::{ErrorData, ServiceExt, transport::stdio_pipes};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{Mutex, watch};
use tokio_util::sync::CancellationToken;
use tool_runtime::{Agent, ToolSpec, Toolset, agent::Caller, run::Principal};
use tool_stores::sealed::{Key, Keyring, MemoryNonces, ReplayPolicy, Sealer};

use crate::failures::{SHOW_LOG_ON_STDERR, report_error, warn_if_unheard};

pub use caller::McpClient;
pub use http::McpHttp;
pub use tasks::TaskSupport;

use duplicate_ids::UniqueIds;
use handler::Handler;
use list::Offer;
use reading::ClientMessages;
use tasks::Tasks;

use crate::{
    host::{DEFAULT_MAX_TAKEOVERS, Shares, Worker},
    mcp::lines::Lines,
};

/// The default time for which a client can continue an unfinished call.
const STATE_LIFETIME: Duration = Duration::from_hours(1);

/// The default of [`McpServer::max_calls`].
const DEFAULT_MAX_CALLS: usize = 256;

/// An MCP server that offers tools over stdio or HTTP. It is cheap to clone, and clones serve the same tools.
///
/// Each `tools/call` is a call without a conversation ([`Agent::call`]). The runtime validates its arguments, applies policies,
/// layers and limits, and obtains approvals. With a store, it logs everything, and a call that waits for another person runs when
/// that person has approved it, at most half a lease later ([`Agent::lease_time`]), in whichever process serves the tools then.
#[derive(Clone)]
pub struct McpServer {
    shared: Arc<Shared>,
}

#[derive(Clone)]
pub(super) struct Shared {
    name: String,
    title: Option<String>,
    version: String,
    instructions: Option<String>,
    page: usize,
    sealer: Sealer,
    tasks: Tasks,
    /// The maximum number of calls of one principal that run at a time.
    max_calls: usize,
    calls: Shares<Principal>,
    offer: watch::Sender<Arc<Offer>>,
    /// The lock of the worker that continues calls. One worker is enough for all connections.
    worker: Arc<Mutex<()>>,
}

impl McpServer {
    /// Creates a server of `tools`, without policies.
    pub fn new(tools: Toolset) -> Self {
        Self::of(Agent::tools_only(tools))
    }

    /// Creates a server of an agent's tools, with its policies, limits, context and store. The clients make the calls and the
    /// decisions, so the agent's model, observer and operator are not used.
    pub fn of(agent: Agent) -> Self {
        let sealer = Sealer::new(
            Keyring::new("process", Key::random()),
            "mcp",
            ReplayPolicy::Refuse(Arc::new(MemoryNonces::new())),
        );
        let shared = Shared {
            name: env!("CARGO_PKG_NAME").to_owned(),
            title: None,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            instructions: None,
            page: 100,
            sealer: sealer.lifetime(STATE_LIFETIME),
            tasks: Tasks::default(),
            max_calls: DEFAULT_MAX_CALLS,
            calls: Shares::default(),
            offer: watch::Sender::new(Arc::new(Offer::new(agent.without_models(), false))),
            worker: Arc::default(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Sets the name and the version that clients see.
    pub fn name(self, name: impl Into<String>, version: impl Into<String>) -> Self {
        self.change(|shared| (shared.name, shared.version) = (name.into(), version.into()))
    }

    /// Sets the name that people see.
    pub fn title(self, title: impl Into<String>) -> Self {
        self.change(|shared| shared.title = Some(title.into()))
    }

    /// Sets the text that a model reads about the server as a whole.
    pub fn instructions(self, text: impl Into<String>) -> Self {
        self.change(|shared| shared.instructions = Some(text.into()))
    }

    /// Sets the number of tools on a page of the list, at least one. The default is 100.
    pub fn page_size(self, tools: usize) -> Self {
        self.change(|shared| shared.page = tools.max(1))
    }

    /// Sets the sealer of the unfinished calls that clients keep. The default key is random and lasts as long as the process;
    /// with it, a client can continue a call for an hour. If several processes serve the same clients, or calls must survive a
    /// restart, set keys and a persistent nonce store, such as `SqliteStore` or `PostgresStore`. All processes share that
    /// store.
    pub fn sealer(self, sealer: Sealer) -> Self {
        self.change(|shared| shared.sealer = sealer)
    }

    /// Sets the function that selects the tools whose calls become tasks, for calls that take longer than clients want to wait.
    /// A task belongs to the principal who began it. It may take five minutes, and the server removes it five minutes after its
    /// end. At most 1,024 tasks run at a time, 100 of one principal. Of one principal, the server keeps at most 2,000 ended tasks
    /// and 32 MiB of results, of all together 256 MiB; beyond that, it removes the oldest.
    pub fn tasks(self, support: impl Fn(&ToolSpec) -> TaskSupport + Send + Sync + 'static) -> Self {
        self.change(|shared| shared.tasks = Tasks::new(support))
    }

    /// Sets the maximum number of calls of one principal whose clients wait, at least one. The server refuses further calls. Calls
    /// that become tasks have a limit of their own. Without authentication, all clients are one principal. The default is 256.
    pub fn max_calls(self, calls: usize) -> Self {
        self.change(|shared| shared.max_calls = calls.max(1))
    }

    /// Lists the exact schema of each tool, also where its root is not one object. By default, a union of objects is written as one
    /// that accepts the arguments of every branch, because most clients pass a schema on to providers, which refuse a union there.
    /// Arguments that are no objects are wrapped in one: MCP knows no others, so a tool with exact roots does not get them.
    pub fn exact_roots(self) -> Self {
        self.shared.offer.send_modify(|offer| *offer = Arc::new(offer.with_exact_roots()));
        self
    }

    /// Replaces the tools, and notifies the clients. Running calls go on.
    pub fn replace(&self, tools: Toolset) {
        self.shared.offer.send_modify(|offer| *offer = Arc::new(offer.with_tools(tools)));
    }

    /// Serves the parent process over stdin and stdout, until it closes them.
    ///
    /// Nothing else may write to stdout, because `println!` would break the protocol. Write logs to stderr.
    ///
    /// Fails when the client does not speak MCP, or the connection breaks.
    pub async fn serve_stdio(&self) -> Result<(), ServeError> {
        let (read, write) = stdio_pipes();
        Box::pin(self.serve_streams(read, write)).await
    }

    /// Serves one client over any pair of streams, until the client closes them, and the calls that another person approved
    /// have ended.
    ///
    /// Fails when the client does not speak MCP, or the connection breaks.
    pub async fn serve_streams(
        &self,
        read: impl AsyncRead + Send + Unpin + 'static,
        write: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Result<(), ServeError> {
        warn_if_unheard(SHOW_LOG_ON_STDERR);
        let lines = UniqueIds::new(Lines::new(ClientMessages, read, write));
        // Boxed, so that the connection does not keep the memory of its handshake.
        let running = Box::pin(self.handler().serve(lines)).await.map_err(|error| ServeError(error.into()))?;
        let (closed, never) = (CancellationToken::new(), CancellationToken::new());
        let waiting = async {
            let ended = running.waiting().await;
            closed.cancel();
            ended
        };
        let (ended, ()) = tokio::join!(waiting, self.shared.continue_calls(&closed, &never));
        ended.map_err(|error| ServeError(error.into()))?;
        Ok(())
    }

    pub(super) fn handler(&self) -> Handler {
        Handler::new(Arc::clone(&self.shared))
    }

    /// Changes the settings, before the server serves anything.
    fn change(mut self, change: impl FnOnce(&mut Shared)) -> Self {
        change(Arc::make_mut(&mut self.shared));
        self
    }
}

impl Shared {
    fn offer(&self) -> Arc<Offer> {
        Arc::clone(&self.offer.borrow())
    }

    /// Returns the tools of `caller`; without authentication, those of the agent's own caller.
    async fn offer_for(&self, caller: Option<&Caller>) -> Result<Arc<Offer>, ErrorData> {
        let offer = self.offer();
        if !offer.agent.asks_for_callers() {
            return Ok(offer);
        }
        let caller = caller.cloned().unwrap_or_else(|| offer.agent.caller());
        // Boxed, because most servers offer everybody the same tools, and each call would be larger.
        match Box::pin(offer.agent.for_caller(caller)).await {
            Ok(agent) => Ok(Arc::new(offer.with_agent(agent))),
            Err(error) => {
                report_error("the tools of a caller cannot be offered", &error);
                Err(ErrorData::internal_error("this server cannot serve you now; try again later", None))
            }
        }
    }

    /// Continues calls that other people have decided, until `closed` is cancelled. Then waits for these calls, until `abandoned`
    /// is cancelled. Does nothing without a store.
    async fn continue_calls(self: &Arc<Self>, closed: &CancellationToken, abandoned: &CancellationToken) {
        let turn = tokio::select! {
            turn = self.worker.lock() => turn,
            () = closed.cancelled() => return,
        };
        let shared = Arc::clone(self);
        let worker =
            Worker::new(move || shared.offer().agent.clone(), |_, run| call::owner_of_call(run), DEFAULT_MAX_TAKEOVERS);
        // Boxed, because most servers have no store, and each connection waits here.
        Box::pin(worker.work(closed, abandoned)).await;
        drop(turn);
    }
}

/// The error for a connection that could not be served, or that broke.
#[derive(Debug)]
pub struct ServeError(Box<dyn std::error::Error + Send + Sync>);

impl fmt::Display for ServeError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "MCP: {}", self.0)
    }
}

impl std::error::Error for ServeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source() // the text has that of the error inside
    }
}

impl fmt::Debug for McpServer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("McpServer")
            .field("name", &self.shared.name)
            .field("tools", self.shared.offer().agent.toolset())
            .finish_non_exhaustive()
    }
}
