//! The server: an agent with its HTTP routes and settings.

use std::{io, sync::Arc, time::Duration};

use axum::{Json, Router, extract::State, http::header, response::IntoResponse, routing::get};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tool_runtime::{Agent, run::OnPrompt, store::MemoryStore};
use tool_stores::sealed::{Keyring, NonceStore};

use crate::ag_ui::{self, AgUi};
use crate::host::{Caller, Registry, ReplayLimits, Seals, Shared, ShutdownHandle, UiSettings};
use crate::protocol::ui_stream::StreamSettings;
use crate::serve::serve;
use crate::surface::{Surface, surface_settings};

/// The default of [`Server::max_answers`].
pub const DEFAULT_MAX_ANSWERS: usize = 100;

/// The maximum size of the logs in the default store, in bytes.
const MEMORY_LIMIT: usize = 1 << 30;

/// An agent as a service for frontends.
pub struct Server {
    agent: Agent,
    surface: Surface,
    replay: ReplayLimits,
    ag_ui: Option<AgUi>,
    registry: Arc<Registry>,
    max_answers: usize,
    seals: Option<Seals>,
    ui: UiSettings,
    merged: Router,
}

impl Server {
    /// Creates a server for `agent`. It accepts only the host names of loopback until [`Server::hosts`] sets others. All callers
    /// are one anonymous principal until [`Server::authenticate`] sets the authentication. An agent without a store gets one in
    /// memory, which is full at 1 GiB.
    ///
    /// A prompt supersedes the calls that wait, because a frontend's user can always send another message.
    pub fn new(agent: Agent) -> Self {
        let agent = agent.options(|options| options.on_prompt = OnPrompt::Supersede);
        Self {
            agent,
            surface: Surface::default(),
            replay: ReplayLimits::default(),
            ag_ui: None,
            registry: Arc::default(),
            max_answers: DEFAULT_MAX_ANSWERS,
            seals: None,
            ui: Arc::new(|settings| settings),
            merged: Router::new(),
        }
    }

    surface_settings!();

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

    /// Sets the maximum number of a principal's chats that are answered at once. The server refuses to begin another with 429.
    /// Without authentication, all callers are one principal. The default is [`DEFAULT_MAX_ANSWERS`].
    pub fn max_answers(mut self, chats: usize) -> Self {
        self.max_answers = chats;
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

    /// Adds routes of the application, such as those of its pages or of an MCP server. The server's authentication and checks do
    /// not apply to them.
    ///
    /// # Panics
    ///
    /// Panics when a route is there already. [`Server::router`] panics when a route overlaps with one of the server's own.
    pub fn merge(mut self, routes: Router) -> Self {
        self.merged = self.merged.merge(routes);
        self
    }

    /// Returns a handle that ends the server's answers at shutdown, for an application that serves the routes itself.
    pub fn handle(&self) -> ShutdownHandle {
        ShutdownHandle { registry: Arc::clone(&self.registry) }
    }

    /// Serves on `listener` until `shutdown` completes. Then the server refuses new requests, and lets answers go on for at most
    /// the time of [`Server::grace`]. Runs whose answers have not ended by then stay in the store as they are.
    ///
    /// Fails when the address is not loopback and [`Server::authenticate`] is not set, because then everybody who reaches the
    /// machine could use the agent.
    pub async fn serve(
        self,
        listener: TcpListener,
        shutdown: impl Future<Output = ()> + Send + 'static,
    ) -> io::Result<()> {
        self.surface.check_listener(&listener)?;
        let (handle, grace) = (self.handle(), self.surface.grace);
        serve(listener, self.router(), async move {
            shutdown.await;
            // Spawned, so that idle connections are closed meanwhile.
            tokio::spawn(async move { handle.suspend(grace).await });
        })
        .await
    }

    /// Returns the routes, to nest in an application's router or to pass to [`serve`].
    ///
    /// An application that serves them otherwise should limit the time for the headers of a request, set `TCP_NODELAY`, and not
    /// serve anonymous callers at an address that is not loopback. `axum::serve` does none of this.
    pub fn router(self) -> Router {
        let agent = match (&self.seals, self.agent.stored_in()) {
            (Some(_), _) => self.agent.without_store(),
            (None, Some(_)) => self.agent,
            (None, None) => self.agent.store(MemoryStore::new().limit(MEMORY_LIMIT)),
        };
        let shared = Arc::new(Shared {
            agent,
            registry: self.registry,
            max_answers: self.max_answers,
            seals: self.seals,
            limits: self.replay,
            buffers: Arc::default(),
            ui: self.ui,
        });
        let router = Router::new()
            .merge(crate::ui::routes())
            .merge(crate::chats::routes())
            .merge(self.ag_ui.map_or_else(Router::new, ag_ui::routes))
            .route("/api/tools", get(list_tools))
            .route("/api/tools.ts", get(list_types))
            .with_state(shared);
        // A load balancer uses the machine's address as the host, so this route accepts every name.
        let health = Router::new().route("/health", get(async || Json(json!({ "status": "ok" }))));
        self.surface.protect(router).merge(self.surface.publish(health)).merge(self.merged)
    }
}

impl std::fmt::Debug for Server {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Server").field("agent", &self.agent).finish_non_exhaustive()
    }
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
