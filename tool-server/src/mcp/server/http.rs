//! Streamable HTTP: who may connect, from where, and on whose behalf; and sessions in which a call can let go of the stream
//! that its client waits on.

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

/// A server over streamable HTTP, at `/mcp`. It answers to the names of loopback until [`hosts`](Self::hosts) sets others.
///
/// Requests with a foreign `Host` are refused, so that a web page cannot reach a local server by a name of its own, and so
/// are those with an `Origin` that is neither the server's own nor allowed.
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
    /// Sets the names that the server is reached by, such as `tools.example.com` or `tools.example.com:8443`, in place of
    /// those of loopback: `localhost`, `127.0.0.1` and `[::1]`. A name without a port is allowed at every port.
    pub fn hosts(mut self, hosts: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.guard.set_hosts(hosts);
        self
    }

    /// Sets the origins whose web pages may use the server beside its own, such as `https://app.example.com` or
    /// `http://localhost:*` (any port), in place of those of loopback. A text that is no origin allows no page.
    pub fn origins(mut self, origins: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let origins = origins.into_iter().filter_map(|origin| AllowedOrigin::read(&origin.into()).ok());
        self.guard.set_origins(origins);
        self
    }

    /// Sets how many bytes a request may have.
    pub fn max_bytes(mut self, bytes: usize) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Sets who finds out on whose behalf a request is made: from a bearer token, for one. Every request is asked about, and
    /// a session is good for the principal who began it only. Runs and unfinished calls belong to that principal.
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

    /// Sets the `WWW-Authenticate` header for clients that are not authenticated, such as
    /// `Bearer resource_metadata="https://example.com/.well-known/oauth-protected-resource"`. `Bearer` without it.
    pub fn challenge(mut self, value: HeaderValue) -> Self {
        self.challenge = Some(value);
        self
    }

    /// The service, to be put into a server of the application.
    pub fn router(self) -> Router {
        let server = self.server;
        // The guard checks the hosts, and the origins, which rmcp does not by default.
        let config =
            StreamableHttpServerConfig::default().disable_allowed_hosts().with_max_request_body_bytes(self.max_bytes);
        let sessions = Arc::new(Sessions::default());
        let service = Arc::new(StreamableHttpService::new(move || Ok(server.handler()), sessions, config));
        // In an `Arc`, as a router clones its services, and this one is all of the configuration.
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
    /// Fails when the address is in use, or is not loopback and [`hosts`](Self::hosts) or [`authenticate`](Self::authenticate) is
    /// missing: then anybody who reaches the machine could call the tools.
    pub async fn listen(self, address: impl ToSocketAddrs) -> io::Result<()> {
        self.serve(TcpListener::bind(address).await?).await
    }

    /// Serves on a listener, like [`listen`](Self::listen).
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

/// How many sessions are remembered; of older ones, one more is forgotten for each that is new. Who has a forgotten one
/// begins another.
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
        // As if it were not there: whether it is, is nobody else's business.
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

/// How many messages are kept for a client that was let go. Of more, all but the result are left out.
const MOST_KEPT: usize = 256;

/// How long a result is kept for a client that does not come back.
const PATIENCE: Duration = Duration::from_mins(1);

/// The messages that are kept for released clients, by session and number of the stream.
type Kept = Mutex<HashMap<(SessionId, u64), UnboundedReceiver<ServerSseMessage>>>;

/// The stream that the client of a request waits on.
#[derive(Clone)]
pub struct Stream(Arc<Waited>);

struct Waited {
    key: (SessionId, u64),
    kept: Weak<Kept>,
    line: Mutex<Line>,
}

/// The messages to a client, as long as it waits.
struct Line {
    messages: Option<Receiver<ServerSseMessage>>,
    /// The messages before its release: later the client names the last of them.
    last: VecDeque<ServerSseMessage>,
    /// When it is to come back, if that was not sent yet.
    pause: Option<Duration>,
    waker: Option<Waker>,
}

impl Stream {
    /// Ends the stream, and asks the client to come back after `pause`. Later messages wait for it. rmcp can do that too, and
    /// forgets results that come while the client is away.
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
                // The client came back, took the receiver, and has gone for good.
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

/// rmcp's sessions, in which each request knows its stream.
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
        // An event is called `number/stream`.
        let number = last_event_id.split_once('/').and_then(|(_, stream)| stream.parse().ok());
        let kept = number.and_then(|number: u64| lock(&self.kept).remove(&(id.clone(), number)));
        match kept {
            Some(mut kept) => Ok(Either::Left(poll_fn(move |task| kept.poll_recv(task)))),
            None => Ok(Either::Right(self.sessions.resume(id, last_event_id).await?)),
        }
    }
}
