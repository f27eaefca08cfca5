//! The guard before an HTTP service: it refuses what web pages of others have their visitors' browsers send.
//!
//! - A page can let its own name lead to this machine (DNS rebinding). Its browser takes the server for the page's own then, and
//!   lets the page send requests and read the answers. What gives such a page away is the `Host` of its requests.
//! - A page can send some requests to every server, and not read the answers. What gives it away is their `Origin`, which
//!   browsers send with every `POST`.
//! - Old browsers leave `Origin` out of forms. Those are never JSON, which browsers send to other servers only after they have
//!   asked (CORS).

mod names;

use std::sync::Arc;

use axum::{
    Router,
    body::HttpBody,
    extract::{Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header},
    middleware::{self, Next},
    response::Response,
};

use tower_http::cors::{AllowOrigin, CorsLayer};

use crate::host::ApiError;
pub(crate) use names::AllowedOrigin;
pub use names::InvalidOrigin;
use names::{Authority, Origin};

/// The rules by which requests are let through.
#[derive(Clone, Debug, Default)]
pub(crate) struct Guard {
    hosts: Hosts,
    origins: Arc<[AllowedOrigin]>,
}

/// The names that a service answers to.
#[derive(Clone, Debug, Default)]
enum Hosts {
    /// The names of loopback.
    #[default]
    Loopback,
    /// These names, and no others.
    Named(Vec<Authority>),
    /// Every name.
    Any,
}

impl Guard {
    /// Sets the names that the service answers to, in place of those of loopback. A text that is no name matches no request.
    pub(crate) fn set_hosts(&mut self, hosts: impl IntoIterator<Item = impl Into<String>>) {
        let hosts = hosts.into_iter().filter_map(|host| Authority::of_setting(&host.into()));
        self.hosts = Hosts::Named(hosts.collect());
    }

    /// Returns `true` if the application has set the names that the service answers to.
    #[cfg(feature = "mcp")]
    pub(crate) fn has_hosts(&self) -> bool {
        matches!(self.hosts, Hosts::Named(_))
    }

    /// Sets the origins whose pages may use the service beside its own.
    pub(crate) fn set_origins(&mut self, origins: impl IntoIterator<Item = AllowedOrigin>) {
        self.origins = origins.into_iter().collect();
    }

    /// Returns what lets pages of the allowed origins send requests and read the answers; `None` where there are none.
    pub(crate) fn cors(&self) -> Option<CorsLayer> {
        let guard = self.clone();
        let is_allowed =
            move |origin: &HeaderValue, _: &_| read_origin(origin).is_some_and(|origin| guard.allows(&origin));
        let cors = CorsLayer::new()
            .allow_origin(AllowOrigin::predicate(is_allowed))
            .allow_methods([Method::GET, Method::POST])
            .allow_headers([header::AUTHORIZATION, header::CONTENT_TYPE]);
        (!self.origins.is_empty()).then_some(cors)
    }

    /// Returns the same rules for routes that answer to every name.
    pub(crate) fn for_any_host(&self) -> Self {
        Self { hosts: Hosts::Any, origins: Arc::clone(&self.origins) }
    }

    /// Puts the guard before every route of `router`. Paths without a route are left to the application.
    pub(crate) fn protect(&self, router: Router) -> Router {
        router.route_layer(middleware::from_fn_with_state(Arc::new(self.clone()), guard))
    }

    fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), ApiError> {
        let host = self.check_host(uri, headers)?;
        self.check_origin(headers, host.as_ref())
    }

    /// Returns the host that a request names, which may be missing where every name is answered.
    fn check_host(&self, uri: &Uri, headers: &HeaderMap) -> Result<Option<Authority>, ApiError> {
        let asked = asked(uri, headers);
        let is_allowed = |host: &Authority| match &self.hosts {
            Hosts::Loopback => host.is_loopback(),
            Hosts::Named(hosts) => hosts.iter().any(|allowed| allowed.covers(host)),
            Hosts::Any => true,
        };
        match asked {
            Ok(host) if is_allowed(&host) => Ok(Some(host)),
            Ok(host) => {
                let message = format!(
                    "invalid host `{host}`: the server does not answer to this name; if it is reached by it, allow the name \
                     with the setting `hosts`"
                );
                Err(ApiError::new(StatusCode::FORBIDDEN, "invalid_host", message))
            }
            Err(_) if matches!(self.hosts, Hosts::Any) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn check_origin(&self, headers: &HeaderMap, host: Option<&Authority>) -> Result<(), ApiError> {
        let mut sent = headers.get_all(header::ORIGIN).iter();
        let Some(first) = sent.next() else { return Ok(()) };
        let origin = read_origin(first).filter(|_| sent.next().is_none());
        if origin.is_some_and(|origin| self.allows(&origin) || host.is_some_and(|host| origin.is_of(host))) {
            return Ok(());
        }
        let message = format!(
            "invalid origin `{}`: its pages may not use this server; if they are yours, allow the origin with the setting \
             `origins`",
            first.as_bytes().escape_ascii()
        );
        Err(ApiError::new(StatusCode::FORBIDDEN, "invalid_origin", message))
    }

    fn allows(&self, origin: &Origin) -> bool {
        self.origins.iter().any(|allowed| allowed.covers(origin))
    }
}

async fn guard(State(guard): State<Arc<Guard>>, request: Request, next: Next) -> Result<Response, ApiError> {
    guard.check(request.uri(), request.headers())?;
    Ok(next.run(request).await)
}

fn read_origin(value: &HeaderValue) -> Option<Origin> {
    Origin::read(value.to_str().ok()?)
}

/// Returns the host that a request names: in `Host`, or in the URI, where HTTP/2 has it (`:authority`).
///
/// Fails when there is none, when there are several, and when the two differ.
fn asked(uri: &Uri, headers: &HeaderMap) -> Result<Authority, ApiError> {
    let refused = |message: String| ApiError::new(StatusCode::BAD_REQUEST, "invalid_host", message);
    let read = |text: &[u8]| {
        std::str::from_utf8(text).ok().and_then(Authority::read).ok_or_else(|| {
            let text = text.escape_ascii();
            refused(format!("invalid host `{text}`: send a name, and a port if there is one, such as `localhost:3000`"))
        })
    };
    let mut sent = headers.get_all(header::HOST).iter();
    let (header, second) = (sent.next(), sent.next());
    let in_header = header.map(|host| read(host.as_bytes())).transpose()?;
    let in_uri = uri.authority().map(|host| read(host.as_str().as_bytes())).transpose()?;
    match (in_header, in_uri, second) {
        (Some(host), None, None) | (None, Some(host), None) => Ok(host),
        (Some(host), Some(same), None) if host == same => Ok(host),
        (None, None, _) => {
            Err(refused("invalid host: the request names none; send the server's name as `Host`".to_owned()))
        }
        _ => Err(refused("invalid host: the request names more than one; send one `Host`".to_owned())),
    }
}

/// Refuses requests that change something and are not JSON. One without a body needs no `Content-Type`: forms always have one.
pub(crate) async fn json(request: Request, next: Next) -> Result<Response, ApiError> {
    if request.method().is_safe() || is_json(&request) {
        return Ok(next.run(request).await);
    }
    let sent = request.headers().get(header::CONTENT_TYPE).map_or(&b""[..], HeaderValue::as_bytes).escape_ascii();
    let message = format!("invalid content type `{sent}`: send the request as `Content-Type: application/json`");
    Err(ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", message))
}

fn is_json(request: &Request) -> bool {
    let text = |name: HeaderName| {
        let mut values = request.headers().get_all(name).iter();
        // Of several values, none counts.
        values.next().map(|value| value.to_str().ok().filter(|_| values.next().is_none()).unwrap_or_default())
    };
    match text(header::CONTENT_TYPE) {
        Some(kind) => kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json")),
        None => {
            let is_elsewhere =
                matches!(text(HeaderName::from_static("sec-fetch-site")), Some("cross-site" | "same-site"));
            request.body().is_end_stream() && !is_elsewhere
        }
    }
}
