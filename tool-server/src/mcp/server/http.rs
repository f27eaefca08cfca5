//! Streamable HTTP: the settings, the route, and the authentication of sessions.

use std::{
    convert::Infallible,
    fmt, io,
    sync::{Arc, Once},
};

use axum::{
    Router,
    body::{Body, Bytes, to_bytes},
    extract::{Request, State},
    middleware::{self, Next},
    response::Response,
    routing::any_service,
};
use futures_util::stream;
use http::{Method, StatusCode};
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tower::service_fn;

use super::{
    McpServer, Shared,
    reading::take_arguments,
    sessions::{CALLER, Sessions},
};
use crate::{
    host::{ApiError, Authenticated, keep_streaming, run_sized},
    http_settings::{HttpSettings, add_routes, http_setters},
    serve::serve,
};

/// The default of [`McpHttp::max_sessions`].
const DEFAULT_MAX_SESSIONS: usize = 1000;

/// An MCP server over streamable HTTP, at `/mcp`. It accepts only the host names of loopback until [`hosts`](Self::hosts) sets
/// others.
///
/// Only the principal who began a session can use it. Runs and unfinished calls belong to that principal.
pub struct McpHttp {
    server: McpServer,
    http: HttpSettings,
    max_sessions: usize,
}

impl McpServer {
    /// Returns this server over HTTP.
    pub fn http(&self) -> McpHttp {
        McpHttp { server: self.clone(), http: HttpSettings::default(), max_sessions: DEFAULT_MAX_SESSIONS }
    }
}

impl McpHttp {
    http_setters!();

    /// Sets the maximum number of sessions of one principal, at least one. Each session takes about 54 kB. A new session beyond
    /// the limit ends the one that the principal has not used for the longest time; its client must begin another. Without
    /// authentication, all clients are one principal. The default is 1,000. A session without requests ends after five minutes.
    pub fn max_sessions(mut self, sessions: usize) -> Self {
        self.max_sessions = sessions.max(1);
        self
    }

    /// Returns the routes, to nest in an application's router, to [merge](crate::Server::merge) into a server's, or to pass to
    /// [`serve`].
    pub fn router(self) -> Router {
        self.router_until(CancellationToken::new())
    }

    /// Returns the routes. Their sessions end when `stopped` is cancelled, and when the routes are dropped.
    fn router_until(self, stopped: CancellationToken) -> Router {
        let (server, shared) = (self.server.clone(), self.server.shared);
        let config = StreamableHttpServerConfig::default()
            // `HttpSettings` checks hosts, origins and sizes.
            .disable_allowed_hosts()
            .with_max_request_body_bytes(usize::MAX)
            .with_cancellation_token(stopped.clone());
        let sessions = Arc::new(Sessions::new(self.max_sessions));
        let service = StreamableHttpService::new(move || Ok(server.handler()), Arc::clone(&sessions), config);
        // In an `Arc`, because a router clones its services, and this one contains the whole configuration.
        let service = Arc::new((service, stopped.clone().drop_guard()));
        let work = Arc::new(Once::new());
        let service = service_fn(move |request: Request| {
            // Begun by a request, because routes can be made outside of a runtime.
            work.call_once(|| spawn_worker(&shared, &stopped));
            let (service, shared) = (Arc::clone(&service), Arc::clone(&shared));
            async move {
                let ends_session = request.method() == Method::DELETE;
                let mut response = service.0.handle(take_arguments_of(request, &shared).await).await;
                // rmcp answers 202. Clients of Python's `mcp` warn unless it is 200, 204 or 405.
                if ends_session && response.status() == StatusCode::ACCEPTED {
                    *response.status_mut() = StatusCode::NO_CONTENT;
                }
                Ok::<_, Infallible>(response)
            }
        });
        let router = add_routes(Router::new(), [("/mcp", any_service(service))]);
        self.http.protect(router.route_layer(middleware::from_fn_with_state(sessions, check_owner)))
    }

    /// Serves on `listener` until `shutdown` completes. Then the server refuses new connections, and ends within the time of
    /// [`McpHttp::grace`], whatever its clients do.
    ///
    /// Fails when the address is not loopback and [`McpHttp::authenticate`] is not set, because then everybody who reaches the
    /// machine could call the tools.
    pub async fn serve(
        self,
        listener: TcpListener,
        shutdown: impl Future<Output = ()> + Send + 'static,
    ) -> io::Result<()> {
        self.http.check_listener(&listener)?;
        let (stopped, grace, response_grace) = (CancellationToken::new(), self.http.grace, self.http.response_grace());
        spawn_worker(&self.server.shared, &stopped);
        let router = self.router_until(stopped.clone());
        let shutdown = async move {
            shutdown.await;
            // Spawned, so that idle connections are closed meanwhile.
            tokio::spawn(async move {
                tokio::time::sleep(response_grace).await;
                stopped.cancel();
            });
        };
        serve(listener, router, shutdown, grace).await
    }
}

/// Continues the calls that other people have decided, until `stopped` is cancelled.
fn spawn_worker(shared: &Arc<Shared>, stopped: &CancellationToken) {
    let (shared, stopped) = (Arc::clone(shared), stopped.clone());
    tokio::spawn(async move { shared.continue_calls(&stopped, &stopped).await });
}

impl fmt::Debug for McpHttp {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("McpHttp").field("server", &self.server).finish_non_exhaustive()
    }
}

/// Takes the arguments of a call out of the body, for the call's handler.
async fn take_arguments_of(mut request: Request, shared: &Arc<Shared>) -> Request {
    if request.method() != Method::POST {
        return request;
    }
    let body = match to_bytes(std::mem::take(request.body_mut()), usize::MAX).await {
        Ok(bytes) => {
            let (offer, message) = (shared.offer(), bytes.clone());
            let keeps = move |name: &str| offer.get(name).is_some_and(|tool| tool.has_header_arguments);
            match run_sized(bytes.len(), move || take_arguments(&message, keeps)).await {
                Ok(Some((message, arguments))) => {
                    request.extensions_mut().insert(arguments);
                    message.into()
                }
                _ => bytes.into(),
            }
        }
        // rmcp responds to the error.
        Err(error) => Body::from_stream(stream::iter([Err::<Bytes, _>(error)])),
    };
    *request.body_mut() = body;
    request
}

/// Refuses requests for sessions of other principals, and passes the caller to the session manager. Adds the headers of event
/// streams to responses.
async fn check_owner(
    State(sessions): State<Arc<Sessions>>,
    request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    let caller = request.extensions().get().map(|Authenticated(caller)| caller.principal.clone());
    let session = request.headers().get("mcp-session-id").and_then(|id| id.to_str().ok());
    if session.is_some_and(|id| !sessions.is_of(id, caller.as_ref())) {
        // The same response as for a missing session, so that nothing is revealed.
        let message = "there is no such session; begin another with `initialize`";
        return Err(ApiError::new(StatusCode::NOT_FOUND, "not_found", message));
    }
    let mut response = CALLER.scope(caller, next.run(request)).await;
    keep_streaming(response.headers_mut());
    Ok(response)
}
