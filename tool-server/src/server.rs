//! The server: an agent, and how it is reached.

use std::{sync::Arc, time::Duration};

use crate::protocol::ui_stream::Settings;
use axum::{Router, extract::DefaultBodyLimit, middleware::from_fn};
use tokio::net::TcpListener;
use tool_runtime::{Agent, run::OnPrompt, store::MemoryStore};
use tool_stores::sealed::{Keyring, NonceStore};
use tower_http::cors::CorsLayer;

use crate::about;
use crate::ag_ui::{self, AgUi};
use crate::guard::{self, AllowedOrigin, Guard, InvalidOrigin};
use crate::host::{Authenticate, DEFAULT_FEED, Everybody, FeedLimits, Handle, Registry, Seals, Shared, UiSettings};
use crate::listener::NoDelay;

/// How many bytes a request may have, unless [`Server::body_limit`] says otherwise.
pub const DEFAULT_BODY_LIMIT: usize = 4 * 1024 * 1024;

/// How long answers may go on when the server is shut down, unless [`Server::grace`] says otherwise.
pub const DEFAULT_GRACE: Duration = Duration::from_secs(10);

/// An agent as a service for frontends.
pub struct Server {
    agent: Agent,
    authenticate: Arc<dyn Authenticate>,
    feed: FeedLimits,
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
    /// Creates a server for `agent`. It answers to the names of loopback until [`Server::hosts`] sets others, and everybody is
    /// one anonymous principal until [`Server::authenticate`] tells them apart. An agent without a store gets one in memory.
    ///
    /// A prompt that comes while calls wait supersedes them: a frontend's user can always say something else.
    pub fn new(agent: Agent) -> Self {
        let agent = agent.options(|options| options.on_prompt = OnPrompt::Supersede);
        let authenticate = Arc::new(Everybody("anonymous".into()));
        Self {
            agent,
            authenticate,
            feed: DEFAULT_FEED,
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

    /// Sets who asks.
    pub fn authenticate(mut self, authenticate: impl Authenticate) -> Self {
        self.authenticate = Arc::new(authenticate);
        self
    }

    /// Sets how many bytes a request may have.
    pub fn body_limit(mut self, bytes: usize) -> Self {
        self.body_limit = bytes;
        self
    }

    /// Sets how many bytes of an answer are kept for who reads it late or slowly. Who is further behind is cut off.
    pub fn replay_limit(mut self, bytes: usize) -> Self {
        self.feed.bytes = bytes;
        self
    }

    /// Sets how many bytes of all answers together are kept like this: each has an equal share, but 64 KiB in any case.
    pub fn replay_total(mut self, bytes: usize) -> Self {
        self.feed.total = bytes;
        self
    }

    /// Changes what the AI SDK's streams are like: for example whether the model's reasoning is in them.
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
    pub fn ui(mut self, change: impl Fn(Settings) -> Settings + Send + Sync + 'static) -> Self {
        self.ui = Arc::new(change);
        self
    }

    /// Sets after how much silence a comment is sent, so that nobody in between gives the connection up.
    pub fn keep_alive(mut self, every: Duration) -> Self {
        self.feed.keep_alive = every;
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
    /// Fails when a text is no origin, such as one with a path.
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

    /// Serves the agent over AG-UI, too.
    pub fn ag_ui(mut self, options: AgUi) -> Self {
        self.ag_ui = Some(options);
        self
    }

    /// Keeps nothing between requests: with each answer the client gets the run, sealed, and sends it back with the next
    /// request: in a message's metadata over the AI SDK's protocol, in its `encryptedValue` over AG-UI. A run in which something
    /// waits can be gone on from once: the first call that starts, or the model's next turn, spends it. `nonces` remembers. A store that
    /// the agent has is not used.
    ///
    /// Keys that outlive the process need nonces that do, too: a `SqliteStore`, or a `PostgresStore` where several machines
    /// serve. All processes with the same keys share it. `MemoryNonces` forgets what was spent when the process ends; so it
    /// refuses runs that wait and were sealed before it began, and goes with a key of the process:
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

    /// What ends the server's answers, for an application that serves the routes itself.
    pub fn handle(&self) -> Handle {
        Handle::new(Arc::clone(&self.registry))
    }

    /// Serves on `listener` until `shutdown` is ready. Then it takes no more requests, lets answers go on for the time of
    /// [`Server::grace`], and leaves the runs of the others in the store as they are.
    pub async fn serve(
        self,
        listener: TcpListener,
        shutdown: impl Future<Output = ()> + Send + 'static,
    ) -> std::io::Result<()> {
        let (handle, grace) = (self.handle(), self.grace);
        serve(listener, self.router(), async move {
            shutdown.await;
            // While connections that are at rest are closed.
            tokio::spawn(async move { handle.suspend(grace).await });
        })
        .await
    }

    /// The routes, to be nested in an application's. [`serve`] serves them; who serves them otherwise sets `TCP_NODELAY`
    /// (`axum::serve(listener.tap_io(|stream| _ = stream.set_nodelay(true)), router)`), which axum does not.
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
            limits: self.feed,
            feeds: Arc::default(),
            body_limit: self.body_limit,
            ui: self.ui,
        });
        let router = Router::new()
            .merge(crate::ui::routes())
            .merge(self.ag_ui.map_or_else(Router::new, ag_ui::routes))
            .merge(about::routes())
            .layer(DefaultBodyLimit::max(self.body_limit))
            .route_layer(from_fn(guard::json))
            .with_state(shared);
        let cors = self.cors.or_else(|| self.guard.cors());
        let with_cors = |router: Router| match &cors {
            Some(cors) => router.layer(cors.clone()),
            None => router,
        };
        let health = self.guard.for_any_host().protect(with_cors(about::health()));
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
) -> std::io::Result<()> {
    axum::serve(NoDelay(listener), router).with_graceful_shutdown(shutdown).await
}
