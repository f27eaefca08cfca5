//! The settings that every HTTP service of this crate has, and the layers that apply them to its routes.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use axum::{
    Router,
    body::Body,
    extract::{DefaultBodyLimit, Request, State},
    http::{
        HeaderValue, StatusCode,
        header::{ACCEPT_ENCODING, WWW_AUTHENTICATE},
    },
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::MethodRouter,
};
use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use tokio::{
    net::TcpListener,
    time::{Instant, timeout_at},
};
use tool_runtime::run::Principal;
use tower_http::cors::CorsLayer;

use crate::{
    failures::{SHOW_LOG, report_response, warn_if_unheard},
    guard::{Guard, check_coding, check_text, check_type},
    host::{Admitted, ApiError, Authenticate, Authenticated, Permit, Place, Queue, Shares, caller_of},
    serve::Exposed,
};

/// The time for the rest of a body that is too large, and the maximum number of its frames that are read.
const DISCARD_TIMEOUT: Duration = Duration::from_secs(1);
const MAX_DISCARDED_FRAMES: usize = 1_000;

/// The default of `max_body_bytes`: the maximum size of a request's body, in bytes.
pub const DEFAULT_MAX_BODY_BYTES: usize = 4 * 1024 * 1024;

/// The default of `grace`: the time within which a service ends at shutdown.
pub const DEFAULT_GRACE: Duration = Duration::from_secs(10);

/// The default of `max_requests`: the maximum number of a principal's requests in progress.
pub const DEFAULT_MAX_REQUESTS: usize = 2000;

/// The size from which a body is large, in bytes.
const LARGE_BODY: usize = 64 * 1024;

/// The number of large bodies that a service reads at once: of all principals, and of one.
const MAX_LARGE_BODIES: (usize, usize) = (128, 32);

/// The time in which a client must send the body of a request. Each [`BODY_RATE`] bytes that have arrived add a second.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// The number of bytes of a body that a slow client must send in a second.
const BODY_RATE: usize = 16 * 1024;

/// The maximum part of the grace in which the service only sends the ends of responses.
const MAX_END_TIME: Duration = Duration::from_secs(1);

/// The settings of an HTTP service. [`http_setters`] defines the methods that set them.
#[derive(Clone)]
pub(crate) struct HttpSettings {
    pub(crate) guard: Guard,
    pub(crate) cors: Option<CorsLayer>,
    /// `None` if all callers are anonymous because the application has set no authentication.
    pub(crate) authenticate: Option<Arc<dyn Authenticate>>,
    pub(crate) www_authenticate: HeaderValue,
    pub(crate) max_body_bytes: usize,
    pub(crate) max_requests: usize,
    pub(crate) grace: Duration,
    /// The requests in progress of each principal.
    requests: Shares<Principal>,
    /// The places for large bodies.
    large_bodies: Arc<Queue>,
}

impl Default for HttpSettings {
    fn default() -> Self {
        Self {
            guard: Guard::default(),
            cors: None,
            authenticate: None,
            www_authenticate: HeaderValue::from_static("Bearer"),
            max_body_bytes: DEFAULT_MAX_BODY_BYTES,
            max_requests: DEFAULT_MAX_REQUESTS,
            grace: DEFAULT_GRACE,
            requests: Shares::default(),
            large_bodies: Arc::new(Queue::new(MAX_LARGE_BODIES.0, MAX_LARGE_BODIES.1)),
        }
    }
}

impl HttpSettings {
    /// Adds the layers to every route of `router`. A request passes the guard, CORS, the check of its content type, the
    /// authentication, and the limits of its body, in this order. Each failed response has a line in the log.
    pub(crate) fn protect(&self, router: Router) -> Router {
        // `admit` limits bodies, whatever extractor the handler uses.
        let router = router
            .layer(DefaultBodyLimit::disable())
            .route_layer(middleware::from_fn_with_state(Arc::new(self.clone()), admit));
        warn_if_unheard(SHOW_LOG);
        self.guard.protect(self.with_cors(router)).route_layer(middleware::from_fn(report_response))
    }

    /// Adds the layers to routes that anybody may read, by any host name.
    pub(crate) fn publish(&self, router: Router) -> Router {
        self.guard.for_any_host().protect(self.with_cors(router))
    }

    /// Returns the time for which active responses go on at shutdown. In the rest of the grace, the service sends their ends.
    pub(crate) fn response_grace(&self) -> Duration {
        self.grace.saturating_sub(MAX_END_TIME.min(self.grace / 10))
    }

    fn with_cors(&self, router: Router) -> Router {
        match self.cors.clone().or_else(|| self.guard.cors()) {
            Some(cors) => router.layer(cors),
            None => router,
        }
    }

    /// Checks that the service may listen on `listener`.
    ///
    /// Fails when the address is not loopback and the application has set no authentication.
    pub(crate) fn check_listener(&self, listener: &TcpListener) -> io::Result<()> {
        match Exposed::at(listener.local_addr()?).filter(|_| self.authenticate.is_none()) {
            Some(exposed) => Err(io::Error::new(io::ErrorKind::InvalidInput, anonymous_message(exposed))),
            None => Ok(()),
        }
    }
}

/// Defines the methods of a service that set its field `http`. Every service has the same names, types and defaults.
macro_rules! http_setters {
    () => {
        /// Sets the authentication of every request, for example by bearer token. Without authentication, all callers are one
        /// anonymous principal, and [`serve`](Self::serve) accepts only addresses of loopback.
        ///
        /// Chats, sessions, runs and approvals belong to the principal.
        ///
        /// ```
        /// use tool_runtime::{Agent, model::{ScriptedModel, Turn}};
        /// use tool_server::{BearerToken, Server};
        ///
        /// let agent = Agent::new(ScriptedModel::new([Turn::say("Hello.")]));
        /// let server = Server::new(agent).authenticate(BearerToken::of([("s3cret", "anna")]));
        /// # let _ = server;
        /// ```
        pub fn authenticate(mut self, authenticate: impl $crate::host::Authenticate) -> Self {
            self.http.authenticate = Some(std::sync::Arc::new(authenticate));
            self
        }

        /// Sets the `WWW-Authenticate` header for unauthenticated clients, such as `Bearer
        /// resource_metadata="https://example.com/.well-known/oauth-protected-resource"`. The default is `Bearer`.
        pub fn www_authenticate(mut self, value: axum::http::HeaderValue) -> Self {
            self.http.www_authenticate = value;
            self
        }

        /// Sets the maximum size of a body, in bytes. The default is [`DEFAULT_MAX_BODY_BYTES`](crate::DEFAULT_MAX_BODY_BYTES).
        pub fn max_body_bytes(mut self, bytes: usize) -> Self {
            self.http.max_body_bytes = bytes;
            self
        }

        /// Sets the maximum number of requests of one principal that are in progress. A request is in progress until its response
        /// was sent, so streams and slow readers count. Beyond this number, a request gets 429. Without authentication, all
        /// callers are one principal. The default is [`DEFAULT_MAX_REQUESTS`](crate::DEFAULT_MAX_REQUESTS).
        pub fn max_requests(mut self, requests: usize) -> Self {
            self.http.max_requests = requests;
            self
        }

        /// Sets the host names that the service accepts, such as `tools.example.com` or `tools.example.com:8443`. They
        /// replace the names of loopback: `localhost`, `127.0.0.1` and `[::1]`. A name without a port allows every port.
        ///
        /// The service refuses requests with another `Host`, so that a web page cannot reach it by a name of the page's own
        /// (DNS rebinding). Behind a proxy that sets `Host`, set the name that the proxy sends.
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
            self.http.guard.set_hosts(hosts);
            self
        }

        /// Sets the origins whose pages may use the service, in addition to its own pages. An origin is a text such as
        /// `https://app.example`; `http://localhost:*` allows any port.
        ///
        /// The service refuses a request that names another `Origin`, or the origin `null`. If a proxy changes `Host`, the
        /// service cannot know its own origin: name it here.
        ///
        /// Fails when a text is not an origin, such as one with a path.
        pub fn origins<T: AsRef<str>>(
            mut self,
            origins: impl IntoIterator<Item = T>,
        ) -> Result<Self, $crate::guard::InvalidOrigin> {
            let read = |origin: T| $crate::guard::AllowedOrigin::read(origin.as_ref());
            let origins: Result<Vec<_>, _> = origins.into_iter().map(read).collect();
            self.http.guard.set_origins(origins?);
            Ok(self)
        }

        /// Sets the CORS headers, which control what pages of other origins may send and read. By default, pages of the
        /// [`origins`](Self::origins) may send the methods that the protocols need, and every header, but no cookies.
        ///
        /// The layer does not allow any origin by itself: the service cannot read a layer's origins, and refuses those that
        /// `origins` does not name.
        pub fn cors(mut self, cors: tower_http::cors::CorsLayer) -> Self {
            self.http.cors = Some(cors);
            self
        }

        /// Sets the time within which [`serve`](Self::serve) ends at shutdown. Active responses may go on for all of this time
        /// but its last tenth, or its last second if that is shorter. At the end, the service closes the connections that are
        /// left, such as those of clients that do not read. The default is [`DEFAULT_GRACE`](crate::DEFAULT_GRACE).
        pub fn grace(mut self, grace: std::time::Duration) -> Self {
            self.http.grace = grace;
            self
        }
    };
}
pub(crate) use http_setters;

/// Adds the routes at these paths. Each is also served with a slash at its end: some clients add or keep one, and many do not
/// follow a redirect of a `POST`.
pub(crate) fn add_routes<S: Clone + Send + Sync + 'static>(
    router: Router<S>,
    routes: impl IntoIterator<Item = (impl AsRef<str>, MethodRouter<S>)>,
) -> Router<S> {
    routes.into_iter().fold(router, |router, (path, handlers)| {
        let path = path.as_ref();
        match path.trim_end_matches('/') {
            "" => router.route(path, handlers),
            bare => router.route(bare, handlers.clone()).route(&format!("{bare}/"), handlers),
        }
    })
}

/// Checks a request's content type and encoding, authenticates its caller, and reads its whole body. The caller has limited
/// numbers of requests and of large bodies.
async fn admit(State(settings): State<Arc<HttpSettings>>, request: Request, next: Next) -> Result<Response, Response> {
    check_type(&request).map_err(ApiError::into_response)?;
    // The header tells this response from one about the media type (RFC 7694).
    check_coding(&request).map_err(|error| ([(ACCEPT_ENCODING, "identity")], error).into_response())?;
    let (mut parts, body) = request.into_parts();
    if let Some(authentication) = &settings.authenticate {
        let authenticated = authentication.authenticate(&parts).await;
        let caller = authenticated.map_err(|error| settings.refusal(error))?;
        parts.extensions.insert(Authenticated(caller));
    } else if let Some(exposed) = parts.extensions.get() {
        // `check_listener` does not see routers that are merged into others.
        let refused = ApiError::new(StatusCode::FORBIDDEN, "anonymous", anonymous_message(*exposed));
        return Err(refused.into_response());
    }
    let principal = caller_of(&parts).principal;
    let permit = settings.requests.acquire(principal.clone(), settings.max_requests).ok_or_else(|| {
        let most = settings.max_requests;
        let message = format!("{most} requests of yours are in progress, as many as may be at once; end one of them");
        ApiError::new(StatusCode::TOO_MANY_REQUESTS, "too_many_requests", message).into_response()
    })?;
    parts.extensions.insert(Admitted);
    // Handlers do not read the bodies of safe methods.
    let body = if parts.method.is_safe() {
        Body::empty()
    } else {
        let body = read_body(body, settings.max_body_bytes, &settings.large_bodies, &principal).await;
        let checked = body.and_then(|body| check_text(&body).map(|()| body));
        checked.map_err(ApiError::into_response)?.into()
    };
    let response = next.run(Request::from_parts(parts, body)).await;
    Ok(response.map(|body| Body::new(PermittedBody { body, _permit: permit })))
}

/// The body of a response, with the permit of its request.
struct PermittedBody {
    body: Body,
    _permit: Permit<Principal>,
}

impl hyper::body::Body for PermittedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<hyper::body::Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> hyper::body::SizeHint {
        self.body.size_hint()
    }
}

impl HttpSettings {
    /// Returns the response for a caller who was not authenticated.
    fn refusal(&self, error: ApiError) -> Response {
        let mut response = error.into_response();
        if response.status() == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(WWW_AUTHENTICATE, self.www_authenticate.clone());
        }
        response
    }
}

/// Returns the message for a service that would serve anonymous callers at this address.
fn anonymous_message(Exposed(address): Exposed) -> String {
    format!(
        "refused to serve anonymous callers at {address}, which is not loopback: set `authenticate`, for example with \
         `BearerToken`; if everybody who reaches this address may use the service, set `authenticate(AllowAnonymous(…))`"
    )
}

/// Reads a body of at most `limit` bytes. A large one holds a place of `principal` among `places` until the handler has read it.
async fn read_body(body: Body, limit: usize, places: &Queue, principal: &Principal) -> Result<Bytes, ApiError> {
    struct Large(Vec<u8>, #[expect(dead_code, reason = "dropped with the bytes")] Place);
    impl AsRef<[u8]> for Large {
        fn as_ref(&self) -> &[u8] {
            &self.0
        }
    }
    let (mut body, mut read, mut place) = (Limited::new(body, limit), Vec::new(), None);
    let began = Instant::now();
    loop {
        let more = Duration::from_secs((read.len() / BODY_RATE) as u64);
        let frame = timeout_at(began + BODY_TIMEOUT + more, body.frame()).await.map_err(|_| {
            let (time, rate) = (BODY_TIMEOUT.as_secs(), BODY_RATE / 1024);
            let message = format!(
                "the body did not arrive within {time} s and a second for each {rate} KiB of it; send it again, and faster"
            );
            ApiError::new(StatusCode::REQUEST_TIMEOUT, "timeout", message)
        })?;
        match frame {
            None => {
                return Ok(match place {
                    Some(place) => Bytes::from_owner(Large(read, place)),
                    None => read.into(),
                });
            }
            Some(Ok(frame)) => {
                let data = frame.data_ref().map_or(&[][..], |data| &data[..]);
                if place.is_none() && read.len() + data.len() > LARGE_BODY {
                    let busy = || ApiError::busy("too many large requests are being read; try again in a moment");
                    place = Some(places.enter(principal).await.ok_or_else(busy)?);
                }
                read.extend_from_slice(data);
            }
            Some(Err(error)) if error.is::<LengthLimitError>() => {
                let _ = timeout_at(Instant::now() + DISCARD_TIMEOUT, discard(&mut body)).await;
                return Err(ApiError::too_large(limit));
            }
            Some(Err(_)) => return Err(ApiError::bad_request("the body did not arrive as a whole; send it again")),
        }
    }
}

/// Reads the rest of a body that is too large. A client that still writes when its connection is closed would not read the answer.
async fn discard(body: &mut Limited<Body>) {
    for _ in 0..MAX_DISCARDED_FRAMES {
        match body.frame().await {
            Some(Err(error)) if !error.is::<LengthLimitError>() => return,
            Some(_) => {}
            None => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use axum::routing::get;
    use futures_util::{future::ready, stream};
    use tower::ServiceExt;

    use super::*;
    use crate::host::AllowAnonymous;

    /// Returns the status of a request that arrived at `address`.
    async fn status(settings: &HttpSettings, address: &str) -> u16 {
        let router = settings.protect(Router::new().route("/", get(async || ())));
        let mut request = Request::get("http://localhost/").body(Body::empty()).unwrap();
        if let Some(exposed) = Exposed::at(address.parse().unwrap()) {
            request.extensions_mut().insert(exposed);
        }
        router.oneshot(request).await.unwrap().status().as_u16()
    }

    /// Sends a body in `pieces` of this size, one after each `pause`. Returns the length that was read, or the status.
    async fn send(pieces: usize, size: usize, pause: Duration) -> Result<usize, u16> {
        let body = stream::unfold(0, move |sent| async move {
            tokio::time::sleep(pause).await;
            (sent < pieces).then(|| (Ok::<_, io::Error>(Bytes::from(vec![b' '; size])), sent + 1))
        });
        let read = read_body(Body::from_stream(body), DEFAULT_MAX_BODY_BYTES, &Queue::new(1, 1), &"anna".into()).await;
        read.map(|read| read.len()).map_err(|error| error.status.as_u16())
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_body_arrives_and_one_that_drips_does_not() {
        let (size, pause) = (64 * 1024, Duration::from_secs(3));
        assert_eq!(send(60, size, pause).await, Ok(60 * size), "three minutes for nearly 4 MiB");
        let began = Instant::now();
        assert_eq!(send(usize::MAX, 1, Duration::from_secs(1)).await, Err(408));
        assert_eq!(send(usize::MAX, 64, Duration::from_millis(10)).await, Err(408), "6 KiB in a second");
        assert!(began.elapsed() < Duration::from_secs(100), "of the paused clock");
        assert_eq!(send(usize::MAX, size, Duration::ZERO).await, Err(413));
    }

    /// A client reads the answer only if it could write its whole body.
    #[tokio::test(start_paused = true)]
    async fn the_rest_of_a_body_that_is_too_large_is_read() {
        let left = Arc::new(AtomicUsize::new(100));
        let pieces = Arc::clone(&left);
        let body = stream::unfold((), move |()| {
            let sent = pieces.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
            ready(sent.ok().map(|_| (Ok::<_, io::Error>(Bytes::from(vec![b' '; 64 * 1024])), ())))
        });
        let read = read_body(Body::from_stream(body), DEFAULT_MAX_BODY_BYTES, &Queue::new(1, 1), &"anna".into()).await;
        assert_eq!(read.map_err(|error| error.status.as_u16()), Err(413));
        assert_eq!(left.load(Ordering::SeqCst), 0);
    }

    /// A router of a service without authentication may have been merged into one that listens everywhere.
    #[tokio::test]
    async fn anonymous_callers_reach_a_service_at_loopback_only() {
        let anonymous = HttpSettings::default();
        let admitting =
            HttpSettings { authenticate: Some(Arc::new(AllowAnonymous("guest".into()))), ..HttpSettings::default() };
        for address in ["127.0.0.1:80", "[::1]:80", "[::ffff:127.0.0.1]:80"] {
            assert_eq!((status(&anonymous, address).await, status(&admitting, address).await), (200, 200), "{address}");
        }
        for address in ["10.0.0.7:80", "[fe80::1]:80", "[::ffff:10.0.0.7]:80"] {
            assert_eq!((status(&anonymous, address).await, status(&admitting, address).await), (403, 200), "{address}");
        }
    }
}
