//! The server: an agent with its HTTP routes and settings.

use std::{io, sync::Arc, time::Duration};

use axum::{Json, Router, routing::get};
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinSet};
use tool_runtime::{Agent, ToolSpec, run::OnPrompt, store::MemoryStore};
use tool_stores::sealed::{Keyring, NonceStore};

pub use crate::host::DEFAULT_MAX_TAKEOVERS;
use crate::host::{
    AiSdkSettings, ByteShares, ForCaller, Queue, Registry, ReplayLimits, Seals, Shared, ShutdownHandle, Worker,
};
use crate::http_settings::{HttpSettings, add_routes, http_setters};
use crate::protocol::{Visibility, VisibilityRule, ai_sdk::StreamSettings};
#[cfg(feature = "ag-ui")]
use crate::routes::ag_ui::{self, AgUi};
use crate::serve::serve;

/// The default of [`Server::max_responses`].
pub const DEFAULT_MAX_RESPONSES: usize = 100;

/// The maximum size of the chats in the default store, in bytes: of all, and of one principal.
const MAX_CHATS_BYTES: (usize, usize) = (1 << 30, 128 << 20);

/// The number of chats that the server loads into memory at once: of all, and of one principal.
const MAX_LOADS: (usize, usize) = (16, 4);

/// An agent as a service for frontends.
pub struct Server {
    agent: Agent,
    http: HttpSettings,
    replay: ReplayLimits,
    #[cfg(feature = "ag-ui")]
    ag_ui: Vec<AgUi>,
    registry: Arc<Registry>,
    max_responses: usize,
    max_takeovers: usize,
    seals: Option<Arc<Seals>>,
    ai_sdk: AiSdkSettings,
    visibility: VisibilityRule,
    merged: Router,
    /// Merged routes with the checks of the server's own.
    guarded: Router,
}

impl Server {
    /// Creates a server for `agent`. It accepts only the host names of loopback until [`Server::hosts`] sets others. All
    /// callers are one anonymous principal until [`Server::authenticate`] sets the authentication. An agent without a store
    /// gets one in memory, with room for 1 GiB, and for 128 MiB of each principal. When the store is full, a request gets 507,
    /// or its response ends with an error.
    ///
    /// A prompt supersedes the calls that wait, because a frontend's user can always send another message.
    ///
    /// If several servers with different agents share a store, give each agent a name ([`Agent::name`]). A server then neither
    /// shows nor continues the chats of other agents.
    pub fn new(agent: Agent) -> Self {
        let agent = agent.options(|options| options.on_prompt = OnPrompt::Supersede);
        Self {
            agent,
            http: HttpSettings::default(),
            replay: ReplayLimits::default(),
            #[cfg(feature = "ag-ui")]
            ag_ui: Vec::new(),
            registry: Arc::default(),
            max_responses: DEFAULT_MAX_RESPONSES,
            max_takeovers: DEFAULT_MAX_TAKEOVERS,
            seals: None,
            ai_sdk: Arc::new(|settings| settings),
            visibility: VisibilityRule::default(),
            merged: Router::new(),
            guarded: Router::new(),
        }
    }

    http_setters!();

    /// Sets the number of bytes of a response that the server keeps for late and slow readers. The server disconnects a reader
    /// that is further behind. The default is 8 MiB.
    pub fn max_replay_bytes(mut self, bytes: usize) -> Self {
        self.replay.bytes = bytes;
        self
    }

    /// Sets the number of bytes of all responses together that the server keeps for late and slow readers. Each response has an
    /// equal share, and at least 64 KiB. As many bytes may the chats have that clients load at the same time, and a quarter of
    /// them those of one principal; the first chat of a principal may have more. Beyond it, a request gets 503. Clients that load
    /// the same chat share one copy. The default is 256 MiB.
    pub fn max_total_replay_bytes(mut self, bytes: usize) -> Self {
        self.replay.total = bytes;
        self
    }

    /// Sets the maximum number of a principal's active responses. A chat has at most one. Beyond this number, a request gets
    /// 429. Without authentication, all callers are one principal. The default is [`DEFAULT_MAX_RESPONSES`].
    pub fn max_responses(mut self, responses: usize) -> Self {
        self.max_responses = responses;
        self
    }

    /// Sets the maximum number of chats that this server continues at once because their own server is gone
    /// ([`Server::take_over`]). With 0, it continues such a chat only when a client asks for it. The default is
    /// [`DEFAULT_MAX_TAKEOVERS`].
    pub fn max_takeovers(mut self, chats: usize) -> Self {
        self.max_takeovers = chats;
        self
    }

    /// Sets a function that changes the settings of AI SDK streams, for example whether they carry the model's reasoning.
    ///
    /// ```
    /// use tool_runtime::{Agent, model::{ScriptedModel, Turn}};
    /// use tool_server::Server;
    ///
    /// let agent = Agent::new(ScriptedModel::new([Turn::say("Hello.")]));
    /// let server = Server::new(agent).ai_sdk(|mut settings| {
    ///     settings.reasoning = false;
    ///     settings
    /// });
    /// # let _ = server;
    /// ```
    pub fn ai_sdk(mut self, change: impl Fn(StreamSettings) -> StreamSettings + Send + Sync + 'static) -> Self {
        self.ai_sdk = Arc::new(change);
        self
    }

    /// Sets the part of each tool's calls that clients see, in every protocol and on every route. The rule applies to
    /// responses, to the messages of a chat that is loaded again, and to the list of tools. By default, only tools with
    /// `meta(hidden = true)` are hidden. The rule does not apply to MCP, whose clients make the calls themselves.
    ///
    /// ```
    /// use tool_runtime::{Agent, model::{ScriptedModel, Turn}};
    /// use tool_server::{Server, protocol::Visibility};
    ///
    /// let agent = Agent::new(ScriptedModel::new([Turn::say("Hello.")]));
    /// let server = Server::new(agent).visibility(|spec| match spec.name.as_str() {
    ///     "find_customer" => Visibility::WithoutResult,
    ///     "audit" => Visibility::Hidden,
    ///     _ => Visibility::Shown,
    /// });
    /// # let _ = server;
    /// ```
    pub fn visibility(mut self, rule: impl Fn(&ToolSpec) -> Visibility + Send + Sync + 'static) -> Self {
        self.visibility = VisibilityRule::new(rule);
        self
    }

    /// Sets the time of silence after which the server sends a comment, so that no proxy closes the connection. The default is
    /// 15 s.
    pub fn keep_alive(mut self, every: Duration) -> Self {
        // A longer time is beyond the range of the clock.
        self.replay.keep_alive = every.min(Duration::from_hours(24 * 365));
        self
    }

    /// Serves the agent over AG-UI as well. Further calls add paths ([`AgUi::path`]) with settings of their own; a second call with
    /// the same path replaces the first.
    #[cfg(feature = "ag-ui")]
    pub fn ag_ui(mut self, options: AgUi) -> Self {
        self.ag_ui.retain(|other| other.own_path() != options.own_path());
        self.ag_ui.push(options);
        self
    }

    /// Makes the server stateless: the client gets the sealed run with each response, and sends it back with the next request.
    /// In the AI SDK's protocol the sealed run is in a message's metadata, in AG-UI in a message's `encryptedValue`.
    ///
    /// A run with an open interrupt can be continued once: the first call that starts, or the model's next turn, spends it.
    /// `nonces` remembers spent runs. The server does not use the agent's own store.
    ///
    /// Keys that outlive the process need nonces that outlive it, too: a `SqliteStore`, or a `PostgresStore` for several
    /// machines. All processes with the same keys must share that store. `MemoryNonces` forgets spent runs when the process
    /// ends. It refuses runs with an open interrupt that were sealed before it was created. So use it with a key that lives as
    /// long as the process:
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
        self.seals = Some(Arc::new(Seals::new(keys, audience, nonces)));
        self
    }

    /// Adds routes of the application, such as those of its pages or of an MCP server. The server's authentication and checks do
    /// not apply to them; [`Server::merge_guarded`] adds routes to which they do.
    ///
    /// # Panics
    ///
    /// Panics when two merged routes overlap. [`Server::router`] panics when a merged route overlaps with one of the server's
    /// own.
    pub fn merge(mut self, routes: Router) -> Self {
        self.merged = self.merged.merge(routes);
        self
    }

    /// Adds routes of the application that are checked like the server's own: the host, the origin, the content type, the caller and the
    /// body. A handler gets the caller from the extractor [`Authenticated`](crate::Authenticated).
    ///
    /// # Panics
    ///
    /// Panics as [`Server::merge`] does.
    pub fn merge_guarded(mut self, routes: Router) -> Self {
        self.guarded = self.guarded.merge(routes);
        self
    }

    /// Returns a handle that ends the server's responses at shutdown, for an application that serves the routes itself.
    pub fn shutdown_handle(&self) -> ShutdownHandle {
        ShutdownHandle { registry: Arc::clone(&self.registry) }
    }

    /// Continues the chats of servers that are gone. The future ends after [`ShutdownHandle::suspend`] is called, or at once
    /// without a store of the application. [`Server::serve`] runs it; an application that serves the routes itself spawns it.
    ///
    /// The server continues a response at most half a lease after its lease has ended ([`Agent::lease_time`]). It acts on
    /// behalf of the chat's owner: a call that needs an approval still waits for a person. Approvals that nobody gave in time
    /// expire. The server does not continue runs that are not chats, and leaves chats alone as any worker does
    /// ([`Agent::reason_to_leave`]).
    pub fn take_over(&self) -> impl Future<Output = ()> + Send + use<> {
        let most = if self.seals.is_some() { 0 } else { self.max_takeovers };
        let (worker, registry) = (Worker::of_chats(&self.agent, most), Arc::clone(&self.registry));
        // Kept while the worker works, so that the registry waits for it at shutdown.
        let works = registry.workers.subscribe();
        async move {
            worker.work(&registry.closed, &registry.abandoned).await;
            drop(works);
        }
    }

    /// Serves on `listener` until `shutdown` completes. Then the server refuses new requests, and ends within the time of
    /// [`Server::grace`], whatever its clients do. Runs whose responses have not ended by then stay in the store as they are.
    ///
    /// Fails when the address is not loopback and [`Server::authenticate`] is not set, because then everybody who reaches the
    /// machine could use the agent.
    pub async fn serve(
        self,
        listener: TcpListener,
        shutdown: impl Future<Output = ()> + Send + 'static,
    ) -> io::Result<()> {
        self.http.check_listener(&listener)?;
        let (handle, grace, response_grace) = (self.shutdown_handle(), self.http.grace, self.http.response_grace());
        let mut worker = JoinSet::new();
        worker.spawn(self.take_over());
        let shutdown = async move {
            shutdown.await;
            // Spawned, so that idle connections are closed meanwhile.
            tokio::spawn(async move { handle.suspend(response_grace).await });
        };
        serve(listener, self.router(), shutdown, grace).await?;
        while worker.join_next().await.is_some() {}
        Ok(())
    }

    /// Returns the routes, to nest in an application's router or to pass to [`serve`].
    ///
    /// An application that serves the routes otherwise, such as with `axum::serve`, should do four things itself. It should
    /// limit the time for the headers of a request, close connections whose clients take nothing, set `TCP_NODELAY`, and refuse
    /// anonymous callers at an address that is not loopback.
    ///
    /// ```
    /// use axum::{Router, routing::get};
    /// use tool_runtime::{Agent, model::{ScriptedModel, Turn}};
    /// use tool_server::Server;
    ///
    /// let agent = Agent::new(ScriptedModel::new([Turn::say("Hello.")]));
    /// let app: Router = Router::new()
    ///     .route("/health", get(|| async { "ok" }))
    ///     .nest("/assistant", Server::new(agent).router()); // POST /assistant/api/chat
    /// ```
    ///
    /// # Panics
    ///
    /// Panics when a merged route overlaps with one of the server's own, or the path of [`AgUi::path`] does not begin with `/`.
    pub fn router(self) -> Router {
        let agent = match (&self.seals, self.agent.run_store()) {
            (Some(_), _) => self.agent.without_store(),
            (None, Some(_)) => self.agent,
            (None, None) => {
                self.agent.store(MemoryStore::new().max_bytes(MAX_CHATS_BYTES.0).max_owner_bytes(MAX_CHATS_BYTES.1))
            }
        };
        let shared = Arc::new(Shared {
            agent,
            registry: self.registry,
            max_responses: self.max_responses,
            seals: self.seals,
            limits: self.replay,
            buffers: Arc::default(),
            loads: Arc::new(Queue::new(MAX_LOADS.0, MAX_LOADS.1)),
            transcripts: Arc::new(ByteShares::new(self.replay.total)),
            ai_sdk: self.ai_sdk,
            visibility: self.visibility,
        });
        let router = Router::new()
            .merge(crate::routes::ai_sdk::routes())
            .merge(crate::routes::chats::routes())
            .merge(crate::routes::waiting::routes());
        #[cfg(feature = "ag-ui")]
        let router = self.ag_ui.into_iter().map(ag_ui::routes).fold(router, Router::merge);
        let router = add_routes(router, [("/api/tools", get(list_tools))]);
        #[cfg(feature = "typescript")]
        let router = add_routes(router, [("/api/tools.ts", get(list_types))]);
        let router = router.with_state(shared).merge(self.guarded);
        // A load balancer uses the machine's address as the host, so this route accepts every name.
        let health = add_routes(Router::new(), [("/health", get(async || Json(json!({ "status": "ok" }))))]);
        self.http.protect(router).merge(self.http.publish(health)).merge(self.merged)
    }
}

impl std::fmt::Debug for Server {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Server").field("agent", &self.agent).finish_non_exhaustive()
    }
}

async fn list_tools(ForCaller(shared, _): ForCaller) -> Json<Value> {
    let tools = shared.visible_tools();
    let tools = tools.iter().map(|tool| tool.spec()).map(|spec| {
        json!({
            "name": spec.name,
            "title": spec.title,
            "description": spec.description,
            "input": spec.input.neutral(),
            "output": spec.output.as_ref().map(|schema| schema.neutral()),
            "effect": spec.options.effect,
            "approval": spec.options.approval,
            "external": spec.options.external,
        })
    });
    Json(tools.collect())
}

/// Returns the tools as TypeScript types, for the developer of a frontend.
#[cfg(feature = "typescript")]
async fn list_types(ForCaller(shared, _): ForCaller) -> impl axum::response::IntoResponse {
    ([(axum::http::header::CONTENT_TYPE, "text/plain; charset=utf-8")], crate::typescript(&shared.visible_tools()))
}
