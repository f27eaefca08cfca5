//! The guard before an HTTP service.
//!
//! A hostile web page can let its own name lead to this machine (DNS rebinding). Its browser takes the server for the page's
//! own then, and lets the page send requests and read the answers. What gives such a page away is the `Host` of its requests.

mod authority;

use std::sync::Arc;

use axum::{
    Router,
    extract::{Request, State},
    http::{HeaderMap, StatusCode, Uri, header},
    middleware::{self, Next},
    response::Response,
};

use crate::host::ApiError;
use authority::Authority;

/// The rules by which requests are let through.
#[derive(Clone, Debug, Default)]
pub(crate) struct Guard {
    hosts: Hosts,
}

/// The names that a service answers to.
#[derive(Clone, Debug, Default)]
enum Hosts {
    /// The names of loopback.
    #[default]
    Loopback,
    /// These names, and no others.
    Named(Vec<Authority>),
}

impl Guard {
    /// Sets the names that the service answers to, in place of those of loopback. A text that is no name matches no request.
    pub(crate) fn set_hosts(&mut self, hosts: impl IntoIterator<Item = impl Into<String>>) {
        let hosts = hosts.into_iter().filter_map(|host| Authority::read(&host.into()));
        self.hosts = Hosts::Named(hosts.collect());
    }

    /// Puts the guard before every route of `router`. Paths without a route are left to the application.
    pub(crate) fn protect(&self, router: Router) -> Router {
        router.route_layer(middleware::from_fn_with_state(Arc::new(self.clone()), guard))
    }

    fn check(&self, request: &Request) -> Result<(), ApiError> {
        let host = asked(request.uri(), request.headers())?;
        let is_allowed = match &self.hosts {
            Hosts::Loopback => host.is_loopback(),
            Hosts::Named(hosts) => hosts.iter().any(|allowed| allowed.covers(&host)),
        };
        if !is_allowed {
            let message = format!(
                "invalid host `{host}`: the server does not answer to this name; if it is reached by it, allow the name with \
                 the setting `hosts`"
            );
            return Err(ApiError::new(StatusCode::FORBIDDEN, "invalid_host", message));
        }
        Ok(())
    }
}

async fn guard(State(guard): State<Arc<Guard>>, request: Request, next: Next) -> Result<Response, ApiError> {
    guard.check(&request)?;
    Ok(next.run(request).await)
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
