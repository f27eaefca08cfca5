//! Streamable HTTP: hosts, origins and authentication, and sessions in which a call can release the stream that its client waits
//! on.

use std::{
    collections::{HashMap, VecDeque},
    convert::Infallible,
    fmt, io,
    sync::{Arc, Mutex, Weak},
    task::{Context, Poll, Waker},
    time::Duration,
};

use axum::{
    Router,
    extract::{Request, State},
    middleware::{self, Next},
    response::{IntoResponse, Response},
};
use futures_core::Stream as Messages;
use futures_util::{future::Either, stream::poll_fn};
use http::{HeaderMap, HeaderValue, Method, StatusCode, header::WWW_AUTHENTICATE};
use rmcp::{
    model::{ClientJsonRpcMessage, GetExtensions, ServerJsonRpcMessage},
    transport::streamable_http_server::{
        StreamableHttpServerConfig, StreamableHttpService,
        session::{
            ServerSseMessage, SessionId, SessionManager,
            local::{LocalSessionManager, LocalSessionManagerError},
        },
    },
};
use tokio::{
    net::{TcpListener, ToSocketAddrs},
    sync::mpsc::{Receiver, UnboundedReceiver, unbounded_channel},
};
use tool_runtime::run::Principal;
use tower::service_fn;

use super::{McpServer, caller::Authenticated};
use crate::{
    guard::{AllowedOrigin, Guard, json},
    host::{Authenticate, lock},
};

/// A server over streamable HTTP, at `/mcp`. It accepts only the host names of loopback until [`hosts`](Self::hosts) sets others.
///
/// It refuses requests with a foreign `Host`, so that a web page cannot reach a local server by a name of the page's own. It also
/// refuses requests with an `Origin` that is neither the server's own nor allowed.
pub struct McpHttp {
    server: McpServer,
    guard: Guard,
    authenticate: Option<Arc<dyn Authenticate>>,
    challenge: Option<HeaderValue>,
    max_bytes: usize,
}

impl McpServer {
    /// Returns this server over HTTP.
    pub fn http(&self) -> McpHttp {
        let http = McpHttp {
            server: self.clone(),
            guard: Guard::default(),
            authenticate: None,
            challenge: None,
            max_bytes: 4 * 1024 * 1024,
        };
        http.origins(["http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"])
    }
}

impl McpHttp {
    /// Sets the host names that the server accepts, such as `tools.example.com` or `tools.example.com:8443`. They replace the
    /// names of loopback: `localhost`, `127.0.0.1` and `[::1]`. A name without a port allows every port.
    pub fn hosts(mut self, hosts: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.guard.set_hosts(hosts);
        self
    }

    /// Sets the origins whose web pages may use the server, in addition to its own, such as `https://app.example.com` or
    /// `http://localhost:*` (any port). They replace the origins of loopback. A text that is not an origin allows no page.
    pub fn origins(mut self, origins: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let origins = origins.into_iter().filter_map(|origin| AllowedOrigin::read(&origin.into()).ok());
        self.guard.set_origins(origins);
        self
    }

    /// Sets the maximum size of a request, in bytes.
    pub fn max_bytes(mut self, bytes: usize) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Sets the authentication, for example by bearer token. It is called for every request. Only the principal who began a
    /// session can use it. Runs and unfinished calls belong to that principal.
    ///
    /// ```
    /// use tool_runtime::Toolset;
    /// use tool_server::{BearerToken, mcp::McpServer};
    ///
    /// let who = BearerToken::new(|token| (token == "s3cret").then(|| "anna".into()));
    /// let http = McpServer::new(Toolset::new()).http().authenticate(who);
    /// # let _ = http;
    /// ```
    pub fn authenticate(mut self, authenticate: impl Authenticate) -> Self {
        self.authenticate = Some(Arc::new(authenticate));
        self
    }

    /// Sets the `WWW-Authenticate` header for unauthenticated clients, such as `Bearer
    /// resource_metadata="https://example.com/.well-known/oauth-protected-resource"`. The default is `Bearer`.
    pub fn challenge(mut self, value: HeaderValue) -> Self {
        self.challenge = Some(value);
        self
    }

    /// Returns the routes, to nest in an application's router.
    pub fn router(self) -> Router {
        let server = self.server;
        // The guard checks hosts, and also origins, which rmcp does not check by default.
        let config =
            StreamableHttpServerConfig::default().disable_allowed_hosts().with_max_request_body_bytes(self.max_bytes);
        let sessions = Arc::new(Sessions::default());
        let service = Arc::new(StreamableHttpService::new(move || Ok(server.handler()), sessions, config));
        // In an `Arc`, because a router clones its services, and this one contains the whole configuration.
        let service = service_fn(move |request: Request| {
            let service = Arc::clone(&service);
            async move { Ok::<_, Infallible>(service.handle(request).await) }
        });
        let router = Router::new().route_service("/mcp", service).route_layer(middleware::from_fn(json));
        let router = match self.authenticate {
            Some(who) => router.layer(middleware::from_fn_with_state(Owners::new(who, self.challenge), check)),
            None => router,
        };
        self.guard.protect(router)
    }

    /// Serves at `address` until the process ends.
    ///
    /// Fails when the address is in use. Also fails when it is not loopback and [`hosts`](Self::hosts) or
    /// [`authenticate`](Self::authenticate) is not set, because then anyone who reaches the machine could call the tools.
    pub async fn listen(self, address: impl ToSocketAddrs) -> io::Result<()> {
        self.serve(TcpListener::bind(address).await?).await
    }

    /// Serves on `listener` until the process ends, with the checks of [`listen`](Self::listen).
    pub async fn serve(self, listener: TcpListener) -> io::Result<()> {
        let address = listener.local_addr()?;
        if !address.ip().is_loopback() && (!self.guard.has_hosts() || self.authenticate.is_none()) {
            let text =
                format!("{address} is not loopback: say by which `hosts` it is reached, and how to `authenticate`");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        axum::serve(listener, self.router()).await
    }
}

impl fmt::Debug for McpHttp {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("McpHttp")
            .field("server", &self.server)
            .field("guard", &self.guard)
            .field("authenticates", &self.authenticate.is_some())
            .finish_non_exhaustive()
    }
}

const SESSION: &str = "mcp-session-id";

/// The maximum number of sessions that are remembered. Beyond it, each new session removes an arbitrary other one, whose client
/// must begin a new session.
const MOST_SESSIONS: usize = 65_536;

/// The authentication of requests, and the owners of sessions.
#[derive(Clone)]
struct Owners {
    authenticate: Arc<dyn Authenticate>,
    challenge: HeaderValue,
    sessions: Arc<Mutex<HashMap<String, Principal>>>,
}

impl Owners {
    fn new(authenticate: Arc<dyn Authenticate>, challenge: Option<HeaderValue>) -> Self {
        let challenge = challenge.unwrap_or(HeaderValue::from_static("Bearer"));
        Self { authenticate, challenge, sessions: Arc::default() }
    }
}

async fn check(State(owners): State<Owners>, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    let principal = match owners.authenticate.authenticate(&parts).await {
        Ok(principal) => principal,
        Err(refused) => {
            let mut response = refused.into_response();
            if response.status() == StatusCode::UNAUTHORIZED {
                response.headers_mut().insert(WWW_AUTHENTICATE, owners.challenge);
            }
            return response;
        }
    };
    let mut request = Request::from_parts(parts, body);
    let session = session_of(request.headers());
    if let Some(session) = &session
        && lock(&owners.sessions).get(session) != Some(&principal)
    {
        // The same response as for a missing session, so that nothing is revealed.
        return StatusCode::NOT_FOUND.into_response();
    }
    request.extensions_mut().insert(Authenticated(principal.clone()));
    let ends = request.method() == Method::DELETE;
    let response = next.run(request).await;
    let mut sessions = lock(&owners.sessions);
    match session {
        Some(session) if ends || response.status() == StatusCode::NOT_FOUND => drop(sessions.remove(&session)),
        Some(_) => {}
        None => {
            if let Some(begun) = session_of(response.headers()) {
                if sessions.len() >= MOST_SESSIONS
                    && let Some(other) = sessions.keys().next().cloned()
                {
                    sessions.remove(&other);
                }
                sessions.insert(begun, principal);
            }
        }
    }
    drop(sessions);
    response
}

fn session_of(headers: &HeaderMap) -> Option<String> {
    Some(headers.get(SESSION)?.to_str().ok()?.to_owned())
}

/// The maximum number of messages that are kept for a released client. Beyond it, only the result is kept.
const MOST_KEPT: usize = 256;

/// The time for which a result is kept for a released client.
const PATIENCE: Duration = Duration::from_mins(1);

/// The messages for released clients, by session and stream number.
type Kept = Mutex<HashMap<(SessionId, u64), UnboundedReceiver<ServerSseMessage>>>;

/// The stream that the client of a request waits on.
#[derive(Clone)]
pub struct Stream(Arc<Waited>);

struct Waited {
    key: (SessionId, u64),
    kept: Weak<Kept>,
    line: Mutex<Line>,
}

/// The messages to a client that waits.
struct Line {
    messages: Option<Receiver<ServerSseMessage>>,
    /// The messages before the release. When the client comes back, it names the last of them.
    last: VecDeque<ServerSseMessage>,
    /// The time until the client should come back, if it was not sent yet.
    pause: Option<Duration>,
    waker: Option<Waker>,
}

impl Stream {
    /// Ends the stream, and asks the client to come back after `pause`. Later messages are kept for it. rmcp can do that, too,
    /// but drops results that arrive while the client is away.
    pub fn close(&self, pause: Duration) -> bool {
        let Some(kept) = self.0.kept.upgrade() else { return false };
        let mut line = lock(&self.0.line);
        let Some(mut messages) = line.messages.take() else { return false };
        line.last.extend(std::iter::from_fn(|| messages.try_recv().ok()));
        line.pause = Some(pause);
        if let Some(waker) = line.waker.take() {
            waker.wake();
        }
        drop(line);
        let (send, receive) = unbounded_channel();
        lock(&kept).insert(self.0.key.clone(), receive);
        drop(kept);
        let waited = Arc::clone(&self.0);
        tokio::spawn(async move {
            let mut count = 0;
            while let Some(message) = messages.recv().await {
                count += 1;
                // Sending fails if the client came back, took the receiver, and left again.
                if (count < MOST_KEPT || is_result(&message)) && send.send(message).is_err() {
                    return;
                }
            }
            drop(send);
            tokio::time::sleep(PATIENCE).await;
            if let Some(kept) = waited.kept.upgrade() {
                lock(&kept).remove(&waited.key);
            }
        });
        true
    }

    fn poll(&self, task: &mut Context<'_>) -> Poll<Option<ServerSseMessage>> {
        let mut line = lock(&self.0.line);
        if let Some(messages) = &mut line.messages {
            let polled = messages.poll_recv(task);
            if polled.is_pending() {
                line.waker = Some(task.waker().clone());
            }
            return polled;
        }
        Poll::Ready(line.last.pop_front().or_else(|| line.pause.take().map(ServerSseMessage::retry)))
    }
}

fn is_result(message: &ServerSseMessage) -> bool {
    let message = message.message.as_deref();
    matches!(message, Some(ServerJsonRpcMessage::Response(_) | ServerJsonRpcMessage::Error(_)))
}

/// A session manager that wraps rmcp's and attaches to each request its stream.
#[derive(Default)]
pub struct Sessions {
    sessions: LocalSessionManager,
    kept: Arc<Kept>,
}

type Failed = LocalSessionManagerError;

impl SessionManager for Sessions {
    type Error = Failed;
    type Transport = <LocalSessionManager as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Failed> {
        self.sessions.create_session().await
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Failed> {
        self.sessions.initialize_session(id, message).await
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Failed> {
        self.sessions.has_session(id).await
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Failed> {
        lock(&self.kept).retain(|(session, _), _| session != id);
        self.sessions.close_session(id).await
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        mut message: ClientJsonRpcMessage,
    ) -> Result<impl Messages<Item = ServerSseMessage> + Send + Sync + 'static, Failed> {
        let session = self.sessions.sessions.read().await.get(id).cloned();
        let session = session.ok_or_else(|| LocalSessionManagerError::SessionNotFound(id.clone()))?;
        let receiver = session.establish_request_wise_channel().await?;
        let number = receiver.http_request_id;
        let stream = Stream(Arc::new(Waited {
            key: (id.clone(), number.unwrap_or_default()),
            kept: Arc::downgrade(&self.kept),
            line: Mutex::new(Line { messages: Some(receiver.inner), last: VecDeque::new(), pause: None, waker: None }),
        }));
        if let (Some(_), ClientJsonRpcMessage::Request(request)) = (number, &mut message) {
            request.request.extensions_mut().insert(stream.clone());
        }
        session.push_message(message, number).await?;
        Ok(poll_fn(move |task| stream.poll(task)))
    }

    async fn accept_message(&self, id: &SessionId, message: ClientJsonRpcMessage) -> Result<(), Failed> {
        self.sessions.accept_message(id, message).await
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Messages<Item = ServerSseMessage> + Send + Sync + 'static, Failed> {
        self.sessions.create_standalone_stream(id).await
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Messages<Item = ServerSseMessage> + Send + Sync + 'static, Failed> {
        // An event's id is `number/stream`.
        let number = last_event_id.split_once('/').and_then(|(_, stream)| stream.parse().ok());
        let kept = number.and_then(|number: u64| lock(&self.kept).remove(&(id.clone(), number)));
        match kept {
            Some(mut kept) => Ok(Either::Left(poll_fn(move |task| kept.poll_recv(task)))),
            None => Ok(Either::Right(self.sessions.resume(id, last_event_id).await?)),
        }
    }
}
