//! The server: an agent, and how it is reached.

use std::{
    io::{self, IoSlice},
    net::SocketAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use axum::{
    Json, Router,
    extract::{DefaultBodyLimit, State},
    http::header,
    middleware::from_fn,
    response::IntoResponse,
    routing::get,
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream},
};
use tool_runtime::{Agent, run::OnPrompt, store::MemoryStore};
use tool_stores::sealed::{Keyring, NonceStore};
use tower_http::cors::CorsLayer;

use crate::ag_ui::{self, AgUi};
use crate::guard::{self, AllowedOrigin, Guard, InvalidOrigin};
use crate::host::{Authenticate, Caller, Everybody, Registry, ReplayLimits, Seals, Shared, ShutdownHandle, UiSettings};
use crate::protocol::ui_stream::StreamSettings;

/// The default of [`Server::body_limit`]: how many bytes a request may have.
pub const DEFAULT_BODY_LIMIT: usize = 4 * 1024 * 1024;

/// The default of [`Server::grace`]: how long answers may go on when the server is shut down.
pub const DEFAULT_GRACE: Duration = Duration::from_secs(10);

/// An agent as a service for frontends.
pub struct Server {
    agent: Agent,
    authenticate: Arc<dyn Authenticate>,
    replay: ReplayLimits,
    body_limit: usize,
    guard: Guard,
    cors: Option<CorsLayer>,
    ag_ui: Option<AgUi>,
    registry: Arc<Registry>,
    seals: Option<Seals>,
    grace: Duration,
    ui: UiSettings,
}

impl Server {
    /// Creates a server for `agent`. It answers to the names of loopback until [`Server::hosts`] sets others. All callers are
    /// one anonymous principal until [`Server::authenticate`] tells them apart. An agent without a store gets one in memory.
    ///
    /// A prompt that comes while calls wait supersedes them: a frontend's user can always say something else.
    pub fn new(agent: Agent) -> Self {
        let agent = agent.options(|options| options.on_prompt = OnPrompt::Supersede);
        let authenticate = Arc::new(Everybody("anonymous".into()));
        Self {
            agent,
            authenticate,
            replay: ReplayLimits::default(),
            body_limit: DEFAULT_BODY_LIMIT,
            guard: Guard::default(),
            cors: None,
            ag_ui: None,
            registry: Arc::default(),
            seals: None,
            grace: DEFAULT_GRACE,
            ui: Arc::new(|settings| settings),
        }
    }

    /// Sets the authentication of requests.
    pub fn authenticate(mut self, authenticate: impl Authenticate) -> Self {
        self.authenticate = Arc::new(authenticate);
        self
    }

    /// Sets how many bytes a request may have.
    pub fn body_limit(mut self, bytes: usize) -> Self {
        self.body_limit = bytes;
        self
    }

    /// Sets how many bytes of an answer are kept for late and slow readers. A reader that is further behind is disconnected.
    pub fn replay_limit(mut self, bytes: usize) -> Self {
        self.replay.bytes = bytes;
        self
    }

    /// Sets how many bytes of all answers together are kept for such readers. Each answer has an equal share, but 64 KiB in any
    /// case.
    pub fn replay_total(mut self, bytes: usize) -> Self {
        self.replay.total = bytes;
        self
    }

    /// Changes the AI SDK's streams, for example whether they carry the model's reasoning.
    ///
    /// ```
    /// use tool_runtime::{Agent, model::{ScriptedModel, Turn}};
    /// use tool_server::Server;
    ///
    /// let agent = Agent::new(ScriptedModel::new([Turn::say("Hello.")]));
    /// let server = Server::new(agent).ui(|mut settings| {
    ///     settings.reasoning = false;
    ///     settings
    /// });
    /// # let _ = server;
    /// ```
    pub fn ui(mut self, change: impl Fn(StreamSettings) -> StreamSettings + Send + Sync + 'static) -> Self {
        self.ui = Arc::new(change);
        self
    }

    /// Sets after how much silence a comment is sent, so that no proxy gives up the connection.
    pub fn keep_alive(mut self, every: Duration) -> Self {
        self.replay.keep_alive = every;
        self
    }

    /// Sets the names that the server is reached by, such as `tools.example.com` or `tools.example.com:8443`, in place of those
    /// of loopback: `localhost`, `127.0.0.1` and `[::1]`. A name without a port is allowed at every port.
    ///
    /// Requests with another `Host` are refused, so that a web page cannot reach the server by a name of its own (DNS
    /// rebinding). Behind a proxy that sets `Host`, this is the name that the proxy sends.
    ///
    /// ```
    /// use tool_runtime::{Agent, model::{ScriptedModel, Turn}};
    /// use tool_server::Server;
    ///
    /// let agent = Agent::new(ScriptedModel::new([Turn::say("Hello.")]));
    /// let server = Server::new(agent).hosts(["tools.example.com", "localhost"]);
    /// # let _ = server;
    /// ```
    pub fn hosts(mut self, hosts: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.guard.set_hosts(hosts);
        self
    }

    /// Allows pages of these origins to use the server beside its own, such as `https://app.example`; `http://localhost:*` is
    /// one of any port.
    ///
    /// A request that names another `Origin` is refused, and so is one with the origin `null`. Where a proxy changes `Host`, the
    /// server cannot know its own origin: name it here.
    ///
    /// Fails when a text is not an origin, such as one with a path.
    pub fn origins<T: AsRef<str>>(mut self, origins: impl IntoIterator<Item = T>) -> Result<Self, InvalidOrigin> {
        let origins: Result<Vec<_>, _> =
            origins.into_iter().map(|origin| AllowedOrigin::read(origin.as_ref())).collect();
        self.guard.set_origins(origins?);
        Ok(self)
    }

    /// Sets the headers by which browsers learn what pages of other origins may send and read. Without it, pages of the
    /// [`origins`](Self::origins) may send `GET` and `POST`, with `Authorization` and `Content-Type`.
    ///
    /// It allows no origin by itself: the server cannot read a layer's origins, and refuses those that `origins` does not name.
    pub fn cors(mut self, cors: CorsLayer) -> Self {
        self.cors = Some(cors);
        self
    }

    /// Serves the agent over AG-UI as well.
    pub fn ag_ui(mut self, options: AgUi) -> Self {
        self.ag_ui = Some(options);
        self
    }

    /// Keeps nothing between requests: with each answer the client gets the sealed run, and sends it back with the next
    /// request. It stands in a message's metadata over the AI SDK's protocol, in its `encryptedValue` over AG-UI.
    ///
    /// A run in which something waits can be continued once: the first call that starts, or the model's next turn, spends it.
    /// `nonces` remembers that. The agent's own store is not used.
    ///
    /// Keys that outlive the process need nonces that do, too: a `SqliteStore`, or a `PostgresStore` where several machines
    /// serve. All processes with the same keys share it. `MemoryNonces` forgets spent runs when the process ends. So it refuses
    /// waiting runs that were sealed before it began, and fits a key of the process:
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tool_runtime::{Agent, model::{ScriptedModel, Turn}};
    /// use tool_stores::sealed::{Key, Keyring, MemoryNonces};
    /// use tool_server::Server;
    ///
    /// let keys = Keyring::new("process", Key::random());
    /// let agent = Agent::new(ScriptedModel::new([Turn::say("Hello.")]));
    /// let server = Server::new(agent).stateless(&keys, "airline-desk", Arc::new(MemoryNonces::new()));
    /// # let _ = server;
    /// ```
    pub fn stateless(mut self, keys: &Keyring, audience: &str, nonces: Arc<dyn NonceStore>) -> Self {
        self.seals = Some(Seals::new(keys, audience, nonces));
        self
    }

    /// Sets how long answers that are under way may go on when the server is shut down.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Returns a handle that ends the server's answers, for an application that serves the routes itself.
    pub fn handle(&self) -> ShutdownHandle {
        ShutdownHandle { registry: Arc::clone(&self.registry) }
    }

    /// Serves on `listener` until `shutdown` is ready. Then it refuses new requests, lets answers go on for the time of
    /// [`Server::grace`], and leaves the runs of the others in the store as they are.
    pub async fn serve(
        self,
        listener: TcpListener,
        shutdown: impl Future<Output = ()> + Send + 'static,
    ) -> io::Result<()> {
        let (handle, grace) = (self.handle(), self.grace);
        serve(listener, self.router(), async move {
            shutdown.await;
            // While connections that are at rest are closed.
            tokio::spawn(async move { handle.suspend(grace).await });
        })
        .await
    }

    /// Returns the routes, to be nested in an application's. [`serve`] serves them. An application that serves them otherwise
    /// sets `TCP_NODELAY`, which axum does not: `axum::serve(listener.tap_io(|stream| _ = stream.set_nodelay(true)), router)`.
    pub fn router(self) -> Router {
        let agent = match (&self.seals, self.agent.stored_in()) {
            (Some(_), _) => self.agent.without_store(),
            (None, Some(_)) => self.agent,
            (None, None) => self.agent.store(MemoryStore::new()),
        };
        let shared = Arc::new(Shared {
            agent,
            authenticate: self.authenticate,
            registry: self.registry,
            seals: self.seals,
            limits: self.replay,
            buffers: Arc::default(),
            body_limit: self.body_limit,
            ui: self.ui,
        });
        let router = Router::new()
            .merge(crate::ui::routes())
            .merge(self.ag_ui.map_or_else(Router::new, ag_ui::routes))
            .route("/api/tools", get(list_tools))
            .route("/api/tools.ts", get(list_types))
            .layer(DefaultBodyLimit::max(self.body_limit))
            .route_layer(from_fn(guard::json))
            .with_state(shared);
        let cors = self.cors.or_else(|| self.guard.cors());
        let with_cors = |router: Router| match &cors {
            Some(cors) => router.layer(cors.clone()),
            None => router,
        };
        // A load balancer asks by the machine's address, so this route answers to every name.
        let health = Router::new().route("/health", get(async || Json(json!({ "status": "ok" }))));
        let health = self.guard.for_any_host().protect(with_cors(health));
        self.guard.protect(with_cors(router)).merge(health)
    }
}

impl std::fmt::Debug for Server {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Server").field("agent", &self.agent).finish_non_exhaustive()
    }
}

/// Serves `router` on `listener` until `shutdown` is ready. Small pieces go out at once (`TCP_NODELAY`): without it, every
/// piece of an answer may wait 40 ms for the client's acknowledgement of the one before.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    axum::serve(NoDelay(listener), router).with_graceful_shutdown(shutdown).await
}

async fn list_tools(State(shared): State<Arc<Shared>>, _: Caller) -> Json<Value> {
    let specs = shared.agent.toolset().iter().map(|tool| tool.spec()).filter(|spec| !spec.is_hidden());
    let tools = specs.map(|spec| {
        json!({
            "name": spec.name,
            "title": spec.title,
            "description": spec.description,
            "input": spec.input.neutral(),
            "output": spec.output.as_ref().map(|schema| schema.neutral()),
            "effect": spec.traits.effect,
            "approval": spec.traits.approval,
            "external": spec.traits.external,
        })
    });
    Json(tools.collect())
}

/// Returns the tools as types, for the developer of a frontend.
async fn list_types(State(shared): State<Arc<Shared>>, _: Caller) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "text/plain; charset=utf-8")], crate::typescript(shared.agent.toolset()))
}

/// Has `TCP_NODELAY` set for every connection.
struct NoDelay(TcpListener);

impl axum::serve::Listener for NoDelay {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Connection, SocketAddr) {
        let (stream, address) = axum::serve::Listener::accept(&mut self.0).await;
        // A connection without it is slower, not wrong.
        let _ = stream.set_nodelay(true);
        (Connection(stream), address)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }
}

/// How many bytes are put together before they are written.
const SMALL: usize = 1024;

/// A connection that writes small slices as one: what a piece of some words costs the system to gather from three slices, a chunk
/// and its frame, is more than to copy it once.
struct Connection(TcpStream);

impl AsyncRead for Connection {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let mut small = [0; SMALL];
        match joined(slices, &mut small) {
            Some(bytes) => Pin::new(&mut self.0).poll_write(cx, bytes),
            None => Pin::new(&mut self.0).poll_write_vectored(cx, slices),
        }
    }

    fn is_write_vectored(&self) -> bool {
        self.0.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

/// The slices one after the other in `room`; `None` where they are larger.
fn joined<'a>(slices: &[IoSlice<'_>], room: &'a mut [u8]) -> Option<&'a [u8]> {
    let mut length = 0;
    for slice in slices {
        room.get_mut(length..length + slice.len())?.copy_from_slice(slice);
        length += slice.len();
    }
    room.get(..length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_slices_are_joined_in_their_order() {
        let slices = [&b"5\r\n"[..], b"", b"hello", b"\r\n"].map(IoSlice::new);
        assert_eq!(joined(&slices, &mut [0; SMALL]), Some(&b"5\r\nhello\r\n"[..]));
        assert_eq!(joined(&slices, &mut [0; 10]), Some(&b"5\r\nhello\r\n"[..]));
        assert_eq!(joined(&slices, &mut [0; 9]), None);
        assert_eq!(joined(&[], &mut [0; 9]), Some(&b""[..]));
    }
}
