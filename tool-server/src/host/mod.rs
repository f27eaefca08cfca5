//! The parts that all protocols share: authentication, the chats in use, and the responses that are sent to clients.
//!
//! The route of a protocol reads a request, enters the [`Chat`], and opens or creates its session. It submits the request's
//! decisions of open interrupts. Then it passes the session and an [`Encoder`](crate::protocol::Encoder) to [`Chat::respond`].

mod chat;
mod for_caller;
mod new_message;
mod other_server;
mod registry;
mod reload;
mod repeated;
mod replay;
mod seal;
mod shares;
mod takeover;
mod transcript;
mod waiting;

use std::{
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use axum::{
    Json,
    extract::FromRequestParts,
    http::{StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};
use futures_util::future::{BoxFuture, ready};
use serde_json::json;
use subtle::ConstantTimeEq;
use tool_runtime::{
    Agent, AgentError, Toolset,
    agent::Caller,
    run::{Principal, Refusal},
    store::StoreError,
};

use crate::failures::Cause;
use crate::protocol::{
    Visibility, VisibilityRule,
    ai_sdk::{SdkVersion, StreamSettings},
    store_failure,
};
#[cfg(feature = "mcp")]
pub(crate) use chat::has_name;
pub(crate) use chat::{Chat, DecisionOutcome, OnLeave, Start, cancel_open, detach, run_name};
pub(crate) use for_caller::ForCaller;
pub use registry::ShutdownHandle;
pub(crate) use registry::{ChatResponse, Form, Prompted, Registry};
pub(crate) use reload::{ListedChat, Loaded, Page};
pub(crate) use repeated::{Again, Opened, repeated_prompt, request_key};
#[cfg(feature = "mcp")]
pub(crate) use replay::keep_streaming;
pub(crate) use replay::{ReplayBuffer, ReplayLimits, event_stream, finished_stream};
pub(crate) use seal::Seals;
#[cfg(feature = "mcp")]
pub(crate) use seal::{SingleUse, now};
pub(crate) use shares::{BufferOwner, BufferOwners, ByteShares, Permit, Place, Queue, Shares};
pub use takeover::DEFAULT_MAX_TAKEOVERS;
pub(crate) use takeover::Worker;
pub(crate) use transcript::{Transcript, Written, in_pieces};

/// Locks `mutex`, poisoned or not. A panic leaves the state usable.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The state that every request needs.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) agent: Agent,
    pub(crate) registry: Arc<Registry>,
    /// The maximum number of a principal's active responses.
    pub(crate) max_responses: usize,
    pub(crate) seals: Option<Arc<Seals>>,
    pub(crate) limits: ReplayLimits,
    /// The principals that have replay buffers now.
    pub(crate) buffers: Arc<BufferOwners>,
    /// The places for loading runs.
    pub(crate) loads: Arc<Queue>,
    /// The bytes of transcripts that are being sent.
    pub(crate) transcripts: Arc<ByteShares>,
    pub(crate) ai_sdk: AiSdkSettings,
    pub(crate) visibility: VisibilityRule,
}

/// The maximum size of a request that is read on the async runtime's threads, in bytes. Reading it takes less than a millisecond.
pub(crate) const MAX_INLINE_BYTES: usize = 64 * 1024;

/// Runs `work`, whose time grows with a request's size in `bytes`. Long work runs on a blocking thread, so that it does not delay
/// other requests.
pub(crate) async fn run_sized<T: Send + 'static>(
    bytes: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ApiError> {
    if bytes <= MAX_INLINE_BYTES {
        return Ok(work());
    }
    tokio::task::spawn_blocking(work).await.map_err(|error| ApiError::internal().cause(&error))
}

/// The application's function that changes the settings of AI SDK streams.
pub(crate) type AiSdkSettings = Arc<dyn Fn(StreamSettings) -> StreamSettings + Send + Sync>;

impl Shared {
    /// Returns whether the clients, not the server, keep the runs. Then no other server drives them.
    pub(crate) fn is_stateless(&self) -> bool {
        self.seals.is_some()
    }

    /// Waits for the permit to load a run into memory on behalf of `principal`.
    ///
    /// Fails when the principal, or the server, has too many to load.
    async fn acquire_load(&self, principal: &Principal) -> Result<Place, ApiError> {
        let place = self.loads.enter(principal).await;
        place.ok_or_else(|| ApiError::busy("too many chats are being loaded; try again in a moment"))
    }

    /// Returns a chat's response from its beginning: the one in progress, or one that is kept for clients that have loaded the
    /// chat. Returns `None` if there is no response, or if its beginning is no longer kept.
    pub(crate) fn replay(&self, form: &Form, principal: &Principal, id: &str) -> Result<Option<Response>, ApiError> {
        let active = self.registry.readable(&run_name(principal, id)?, form);
        Ok(active.and_then(|active| active.replay()))
    }

    /// Returns the settings of streams of `viewer` for clients of the AI SDK of this version.
    pub(crate) fn ai_sdk_settings(&self, client_version: SdkVersion, viewer: &Principal) -> StreamSettings {
        (self.ai_sdk)(StreamSettings::new(self.agent.toolset().clone()).client_version(client_version))
            .visibility_rule(self.visibility.clone())
            .viewer(viewer.clone())
            .agent(self.agent.clone())
    }

    /// Returns the tools that clients see.
    pub(crate) fn visible_tools(&self) -> Toolset {
        self.agent.toolset().filter(|spec| self.visibility.of(spec) != Visibility::Hidden)
    }
}

/// Authentication by the application. For every request, it finds the principal on whose behalf the client makes the request.
///
/// Chats, approvals and sealed runs belong to the principal. Other principals cannot reach them.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot authenticate requests",
    label = "`Authenticate` is not implemented",
    note = "`BearerToken` asks a function about a token; implement `Authenticate` for anything else"
)]
pub trait Authenticate: Send + Sync + 'static {
    /// Returns the caller of a request: the principal, and its claims if the application uses them. Fails when the caller is not known or
    /// not admitted. The client receives the error.
    fn authenticate<'a>(&'a self, request: &'a Parts) -> BoxFuture<'a, Result<Caller, ApiError>>;
}

impl<T: Authenticate + ?Sized> Authenticate for Arc<T> {
    fn authenticate<'a>(&'a self, request: &'a Parts) -> BoxFuture<'a, Result<Caller, ApiError>> {
        (**self).authenticate(request)
    }
}

/// Authentication that admits all callers, as one principal. Use it for tests, and for services that are open to everybody.
/// With it, a service also listens on addresses that are not loopback.
///
/// ```
/// use tool_runtime::{Agent, model::{ScriptedModel, Turn}};
/// use tool_server::{AllowAnonymous, Server};
///
/// let agent = Agent::new(ScriptedModel::new([Turn::say("Hello.")]));
/// let server = Server::new(agent).authenticate(AllowAnonymous("guest".into()));
/// # let _ = server;
/// ```
#[derive(Clone, Debug)]
pub struct AllowAnonymous(pub Principal);

impl Authenticate for AllowAnonymous {
    fn authenticate<'a>(&'a self, _: &'a Parts) -> BoxFuture<'a, Result<Caller, ApiError>> {
        Box::pin(ready(Ok(self.0.clone().into())))
    }
}

/// Authentication by bearer token.
///
/// ```
/// use tool_server::BearerToken;
///
/// let users = BearerToken::of([("s3cret", "anna"), ("t0ken", "ben")]);
/// # let _ = users;
/// ```
#[derive(Clone)]
pub struct BearerToken(Arc<FindCaller>);

type FindCaller = dyn Fn(&str) -> Option<Caller> + Send + Sync;

impl BearerToken {
    /// Creates authentication by a list of tokens, each with its principal or its [`Caller`]. Every token is compared in constant time, so that
    /// response times reveal at most a token's length.
    pub fn of(tokens: impl IntoIterator<Item = (impl Into<String>, impl Into<Caller>)>) -> Self {
        let tokens: Vec<(String, Caller)> =
            tokens.into_iter().map(|(token, caller)| (token.into(), caller.into())).collect();
        Self::new(move |sent| {
            let equal = |known: &String| bool::from(known.as_bytes().ct_eq(sent.as_bytes()));
            // No early return: the time does not depend on which token matches.
            tokens.iter().fold(None, |found, (token, caller)| if equal(token) { Some(caller.clone()) } else { found })
        })
    }

    /// Creates authentication in which `find` returns the caller of a token, or `None` for an unknown token. `find` should
    /// look up a digest of the token: a comparison with `==` reveals by its time how much of a guess is right.
    pub fn new(find: impl Fn(&str) -> Option<Caller> + Send + Sync + 'static) -> Self {
        Self(Arc::new(find))
    }
}

impl fmt::Debug for BearerToken {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("BearerToken")
    }
}

impl Authenticate for BearerToken {
    fn authenticate<'a>(&'a self, request: &'a Parts) -> BoxFuture<'a, Result<Caller, ApiError>> {
        let header = request.headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let token =
            header.and_then(|value| value.split_once(' ')).filter(|(kind, _)| kind.eq_ignore_ascii_case("bearer"));
        let found = match token {
            None => Err(ApiError::unauthenticated("send `Authorization: Bearer <token>`")),
            Some((_, token)) => {
                (self.0)(token.trim()).ok_or_else(|| ApiError::unauthenticated("this token is not known"))
            }
        };
        Box::pin(ready(found))
    }
}

/// The mark of a request that has passed the service's checks, among the request's extensions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Admitted;

/// An extractor of the caller on whose behalf a request is made. Without [`authenticate`](crate::Server::authenticate), the
/// principal is `anonymous`.
///
/// It works in routes that [`Server::merge_guarded`](crate::Server::merge_guarded) adds. Elsewhere nobody has authenticated the caller,
/// so every request fails with status 500.
///
/// ```
/// use axum::{Router, routing::get};
/// use tool_runtime::{Agent, model::{ScriptedModel, Turn}};
/// use tool_server::{Authenticated, BearerToken, Server};
///
/// async fn who(Authenticated(caller): Authenticated) -> String {
///     caller.principal.to_string()
/// }
///
/// let agent = Agent::new(ScriptedModel::new([Turn::say("Hello.")]));
/// let server = Server::new(agent)
///     .authenticate(BearerToken::of([("s3cret", "anna")]))
///     .merge_guarded(Router::new().route("/api/me", get(who)));
/// # let _ = server;
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Authenticated(pub Caller);

impl<S: Sync> FromRequestParts<S> for Authenticated {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        if parts.extensions.get::<Admitted>().is_none() {
            return Err(ApiError::internal().cause(&Unguarded));
        }
        Ok(Self(caller_of(parts)))
    }
}

/// The mistake of an application that reads the caller in a route without checks.
#[derive(Debug)]
struct Unguarded;

impl fmt::Display for Unguarded {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(
            "a route reads its caller, and nobody has authenticated it: add the route with `Server::merge_guarded`",
        )
    }
}

impl std::error::Error for Unguarded {}

/// Returns the caller on whose behalf a request is made.
pub(crate) fn caller_of(parts: &Parts) -> Caller {
    let known = parts.extensions.get().map(|Authenticated(caller)| caller.clone());
    known.unwrap_or_else(|| Caller::new("anonymous"))
}

/// An error response: a status, a code for programs, and a message for people with the problem and what to do about it.
///
/// It reveals no internals of the server.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ApiError {
    /// The HTTP status.
    pub status: StatusCode,
    /// The code for programs.
    pub code: &'static str,
    /// The problem, and what to do about it.
    pub message: String,
    /// The cause, for the log of the server.
    cause: Option<Cause>,
}

impl ApiError {
    /// Returns an error of this status.
    pub fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), cause: None }
    }

    /// Returns the error for a request that the server cannot read: 400 Bad Request.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad_request", message)
    }

    /// Returns the error for a request that does not fit the chat's state on the server: 409 Conflict.
    pub fn conflict(message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, "conflict", message)
    }

    /// Returns the error for a request that is well-formed and still cannot be done: 422 Unprocessable Entity.
    pub(crate) fn unprocessable(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, code, message)
    }

    /// Returns the error for a request about something that does not exist: 404 Not Found.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", message)
    }

    /// Returns the error for a request with more than `limit` bytes.
    pub(crate) fn too_large(limit: usize) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", format!("a request has at most {limit} bytes"))
    }

    /// Returns the error for a request without a known principal: 401 Unauthorized.
    pub fn unauthenticated(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "unauthenticated", message)
    }

    /// Adds the cause. The server writes it to its log, and never sends it to the client.
    pub fn cause(mut self, error: &(dyn std::error::Error + 'static)) -> Self {
        self.cause = Some(Cause::of(error));
        self
    }

    /// Returns the error for a server with too much to do: 503 Service Unavailable.
    pub(crate) fn busy(message: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", message)
    }

    /// Returns the error for a failure of the server: 500 Internal Server Error. It does not reveal the cause.
    pub fn internal() -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "the server failed; try again later")
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let body = Json(json!({ "error": { "code": self.code, "message": self.message } }));
        let mut response = (self.status, body).into_response();
        if let Some(cause) = self.cause {
            response.extensions_mut().insert(cause);
        }
        response
    }
}

impl From<AgentError> for ApiError {
    fn from(error: AgentError) -> Self {
        let response = match &error {
            AgentError::Refused(refusal) => return refusal.clone().into(),
            AgentError::Store(StoreError::Leased { .. } | StoreError::Fenced | StoreError::Conflict) => {
                Self::conflict("this chat is busy elsewhere; try again when its answer has ended")
            }
            AgentError::Caller { .. } => Self::busy("this server cannot serve you now; try again later"),
            AgentError::Store(StoreError::NotFound) => Self::not_found("no such chat"),
            AgentError::Store(StoreError::Unavailable { .. }) => Self::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "unavailable",
                "the chat cannot be loaded now; try again later",
            ),
            AgentError::Store(error) if let Some((code, message)) = store_failure(error) => {
                let status = match error {
                    StoreError::Full { .. } => StatusCode::INSUFFICIENT_STORAGE,
                    StoreError::Ended(_) => StatusCode::GONE,
                    _ => StatusCode::PAYLOAD_TOO_LARGE,
                };
                Self::new(status, code, message)
            }
            _ => Self::internal(),
        };
        response.cause(&error)
    }
}

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> Self {
        let status = match refusal {
            Refusal::Forbidden => StatusCode::FORBIDDEN,
            Refusal::EmptyPrompt
            | Refusal::Invalid { .. }
            | Refusal::NotOffered { .. }
            | Refusal::LimitReached { .. } => StatusCode::UNPROCESSABLE_ENTITY,
            _ => StatusCode::CONFLICT,
        };
        let code = if status == StatusCode::FORBIDDEN { "forbidden" } else { "refused" };
        Self::new(status, code, refusal.to_string())
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.message)
    }
}

impl std::error::Error for ApiError {}
