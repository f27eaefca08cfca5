//! The server: an agent with its HTTP routes and settings.

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

/// The default of [`Server::body_limit`]: the maximum size of a request, in bytes.
pub const DEFAULT_BODY_LIMIT: usize = 4 * 1024 * 1024;

/// The default of [`Server::grace`]: the time for which answers may go on at shutdown.
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
    /// Creates a server for `agent`. It accepts only the host names of loopback until [`Server::hosts`] sets others. All callers
    /// are one anonymous principal until [`Server::authenticate`] sets the authentication. An agent without a store gets one in
    /// memory.
    ///
    /// A prompt supersedes the calls that wait, because a frontend's user can always send another message.
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

    /// Sets the maximum size of a request, in bytes.
    pub fn body_limit(mut self, bytes: usize) -> Self {
        self.body_limit = bytes;
        self
    }

    /// Sets the number of bytes of an answer that the server keeps for late and slow readers. It disconnects a reader that is
    /// further behind.
    pub fn replay_limit(mut self, bytes: usize) -> Self {
        self.replay.bytes = bytes;
        self
    }

    /// Sets the number of bytes of all answers together that the server keeps for late and slow readers. Each answer has an equal
    /// share, and at least 64 KiB.
    pub fn replay_total(mut self, bytes: usize) -> Self {
        self.replay.total = bytes;
        self
    }

    /// Sets a function that changes the settings of AI SDK streams, for example whether they carry the model's reasoning.
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

    /// Sets the time of silence after which the server sends a comment, so that no proxy closes the connection.
    pub fn keep_alive(mut self, every: Duration) -> Self {
        self.replay.keep_alive = every;
        self
    }

    /// Sets the host names that the server accepts, such as `tools.example.com` or `tools.example.com:8443`. They replace the
    /// names of loopback: `localhost`, `127.0.0.1` and `[::1]`. A name without a port allows every port.
    ///
    /// The server refuses requests with another `Host`, so that a web page cannot reach it by a name of the page's own (DNS
    /// rebinding). Behind a proxy that sets `Host`, set the name that the proxy sends.
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

    /// Allows pages of these origins to use the server, in addition to its own pages. An origin is a text such as
    /// `https://app.example`; `http://localhost:*` allows any port.
    ///
    /// The server refuses a request that names another `Origin`, or the origin `null`. If a proxy changes `Host`, the server
    /// cannot know its own origin: name it here.
    ///
    /// Fails when a text is not an origin, such as one with a path.
    pub fn origins<T: AsRef<str>>(mut self, origins: impl IntoIterator<Item = T>) -> Result<Self, InvalidOrigin> {
        let origins: Result<Vec<_>, _> =
            origins.into_iter().map(|origin| AllowedOrigin::read(origin.as_ref())).collect();
        self.guard.set_origins(origins?);
        Ok(self)
    }

    /// Sets the CORS headers, which control what pages of other origins may send and read. By default, pages of the
    /// [`origins`](Self::origins) may send `GET`, `POST`, `PATCH` and `DELETE`, with `Authorization` and `Content-Type`.
    ///
    /// The layer does not allow any origin by itself: the server cannot read a layer's origins, and refuses those that `origins`
    /// does not name.
    pub fn cors(mut self, cors: CorsLayer) -> Self {
        self.cors = Some(cors);
        self
    }

    /// Serves the agent over AG-UI as well.
    pub fn ag_ui(mut self, options: AgUi) -> Self {
        self.ag_ui = Some(options);
        self
    }

    /// Makes the server stateless: the client gets the sealed run with each answer, and sends it back with the next request. In
    /// the AI SDK's protocol the sealed run is in a message's metadata, in AG-UI in its `encryptedValue`.
    ///
    /// A run with an open interrupt can be continued once: the first call that starts, or the model's next turn, spends it.
    /// `nonces` remembers spent runs. The server does not use the agent's own store.
    ///
    /// Keys that outlive the process need nonces that outlive it, too: a `SqliteStore`, or a `PostgresStore` for several
    /// machines. All processes with the same keys must share that store. `MemoryNonces` forgets spent runs when the process ends.
    /// It refuses runs with an open interrupt that were sealed before it was created, so it fits a key that lives as long as the
    /// process:
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

    /// Sets the time for which answers in progress may go on at shutdown.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Returns a handle that ends the server's answers at shutdown, for an application that serves the routes itself.
    pub fn handle(&self) -> ShutdownHandle {
        ShutdownHandle { registry: Arc::clone(&self.registry) }
    }

    /// Serves on `listener` until `shutdown` completes. Then the server refuses new requests, and lets answers go on for at most
    /// the time of [`Server::grace`]. Runs whose answers have not ended by then stay in the store as they are.
    pub async fn serve(
        self,
        listener: TcpListener,
        shutdown: impl Future<Output = ()> + Send + 'static,
    ) -> io::Result<()> {
        let (handle, grace) = (self.handle(), self.grace);
        serve(listener, self.router(), async move {
            shutdown.await;
            // Spawned, so that axum closes idle connections meanwhile.
            tokio::spawn(async move { handle.suspend(grace).await });
        })
        .await
    }

    /// Returns the routes, to nest in an application's router or to pass to [`serve`]. An application that serves them otherwise
    /// should set `TCP_NODELAY`, which axum does not: `axum::serve(listener.tap_io(|stream| _ = stream.set_nodelay(true)),
    /// router)`.
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
            .merge(crate::chats::routes())
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
        // A load balancer uses the machine's address as the host, so this route accepts every name.
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

/// Serves `router` on `listener` until `shutdown` completes. It sets `TCP_NODELAY`, so that small pieces are sent at once.
/// Otherwise each piece of an answer may wait 40 ms for the client's acknowledgement of the previous one.
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

/// A listener that sets `TCP_NODELAY` on every connection.
struct NoDelay(TcpListener);

impl axum::serve::Listener for NoDelay {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Connection, SocketAddr) {
        let (stream, address) = axum::serve::Listener::accept(&mut self.0).await;
        // An error is ignored: without the option the connection is only slower.
        let _ = stream.set_nodelay(true);
        (Connection(stream), address)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }
}

/// The maximum number of bytes that are copied together into one write.
const SMALL: usize = 1024;

/// A connection that joins small slices into one write. For a piece of a few words, copying is cheaper than having the system
/// gather three slices: the chunk and the two parts of its frame.
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

/// Returns the slices joined in `room`, or `None` if they do not fit.
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
