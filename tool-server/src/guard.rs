//! The guard of an HTTP service. It refuses requests that foreign web pages make their visitors' browsers send.
//!
//! - A page can make its own name resolve to this machine (DNS rebinding). The browser then treats the server as the page's own,
//!   and lets the page send requests and read the responses. The guard recognizes such a page by the `Host` of its requests.
//! - A page can send some requests to any server, without reading the responses. The guard recognizes it by their `Origin`, which
//!   browsers send with every `POST`.
//! - Old browsers leave `Origin` out of forms. But forms are never JSON, and browsers send JSON to other servers only if a CORS
//!   preflight request allows it.

use std::{fmt, net::Ipv6Addr, sync::Arc};

use axum::{
    Router,
    body::HttpBody,
    extract::{Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header},
    middleware::{self, Next},
    response::Response,
};
use tower_http::cors::{AllowHeaders, AllowOrigin, CorsLayer};

use crate::host::ApiError;

/// The rules that decide which requests pass.
#[derive(Clone, Debug, Default)]
pub(crate) struct Guard {
    hosts: Hosts,
    origins: Arc<[AllowedOrigin]>,
}

/// The host names that a service accepts.
#[derive(Clone, Debug, Default)]
enum Hosts {
    /// The names of loopback.
    #[default]
    Loopback,
    /// Only these names.
    Named(Vec<Authority>),
    /// Every name.
    Any,
}

impl Guard {
    /// Sets the host names that the service accepts, in place of those of loopback. A text that is not a name matches no request.
    pub(crate) fn set_hosts(&mut self, hosts: impl IntoIterator<Item = impl Into<String>>) {
        let hosts = hosts.into_iter().filter_map(|host| Authority::of_setting(&host.into()));
        self.hosts = Hosts::Named(hosts.collect());
    }

    /// Sets the origins whose pages may use the service, in addition to its own.
    pub(crate) fn set_origins(&mut self, origins: impl IntoIterator<Item = AllowedOrigin>) {
        self.origins = origins.into_iter().collect();
    }

    /// Returns a CORS layer that lets pages of the allowed origins send requests and read the responses. Returns `None` if no
    /// origins are allowed.
    pub(crate) fn cors(&self) -> Option<CorsLayer> {
        let guard = self.clone();
        let is_allowed =
            move |origin: &HeaderValue, _: &_| read_origin(origin).is_some_and(|origin| guard.allows(&origin));
        let cors = CorsLayer::new()
            .allow_origin(AllowOrigin::predicate(is_allowed))
            .allow_methods([Method::GET, Method::POST, Method::PATCH, Method::DELETE])
            // The origins are the guard. Frontends, tracing and browsers add headers that no list could foresee.
            .allow_headers(AllowHeaders::mirror_request())
            .expose_headers([HeaderName::from_static("mcp-session-id")]);
        (!self.origins.is_empty()).then_some(cors)
    }

    /// Returns the rules without the check of host names, for routes that accept every name.
    pub(crate) fn for_any_host(&self) -> Self {
        Self { hosts: Hosts::Any, origins: Arc::clone(&self.origins) }
    }

    /// Adds the guard to every route of `router`. It does not cover paths without a route, which the application may handle.
    pub(crate) fn protect(&self, router: Router) -> Router {
        router.route_layer(middleware::from_fn_with_state(Arc::new(self.clone()), refuse_foreign))
    }

    fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), ApiError> {
        let host = self.check_host(uri, headers)?;
        self.check_origin(headers, host.as_ref())
    }

    /// Checks and returns the host that a request names. Returns `None` for a missing or invalid host if the service accepts
    /// every name.
    fn check_host(&self, uri: &Uri, headers: &HeaderMap) -> Result<Option<Authority>, ApiError> {
        let requested = requested_host(uri, headers);
        let is_allowed = |host: &Authority| match &self.hosts {
            Hosts::Loopback => host.is_loopback(),
            Hosts::Named(hosts) => hosts.iter().any(|allowed| allowed.covers(host)),
            Hosts::Any => true,
        };
        match requested {
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

async fn refuse_foreign(State(guard): State<Arc<Guard>>, request: Request, next: Next) -> Result<Response, ApiError> {
    guard.check(request.uri(), request.headers())?;
    Ok(next.run(request).await)
}

fn read_origin(value: &HeaderValue) -> Option<Origin> {
    Origin::read(value.to_str().ok()?)
}

/// Returns the host that a request names, in `Host` or in the URI (`:authority` of HTTP/2).
///
/// Fails when there is no host, when there are several, or when the header and the URI differ.
fn requested_host(uri: &Uri, headers: &HeaderMap) -> Result<Authority, ApiError> {
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

/// Checks that a request with an unsafe method is JSON in UTF-8. A request without a body needs no `Content-Type`, because forms
/// always have one. It still needs one if `Sec-Fetch-Site` is `cross-site` or `same-site`.
pub(crate) fn check_type(request: &Request) -> Result<(), ApiError> {
    if request.method().is_safe() {
        return Ok(());
    }
    let kind = request.headers().get(header::CONTENT_TYPE).map_or(&b""[..], HeaderValue::as_bytes);
    if !is_json(request) {
        let sent = kind.escape_ascii();
        return Err(unsupported(format!(
            "invalid content type `{sent}`: send the request as `Content-Type: application/json`"
        )));
    }
    match other_charset(&String::from_utf8_lossy(kind)) {
        Some(sent) => {
            let sent = sent.escape_default();
            Err(unsupported(format!("invalid character set `{sent}`: send the request in UTF-8")))
        }
        None => Ok(()),
    }
}

/// Checks that the body of a request with an unsafe method is not compressed.
pub(crate) fn check_coding(request: &Request) -> Result<(), ApiError> {
    let is_other = |coding: &&HeaderValue| !coding.as_bytes().eq_ignore_ascii_case(b"identity");
    match request.headers().get_all(header::CONTENT_ENCODING).iter().find(is_other) {
        Some(sent) if !request.method().is_safe() => {
            let sent = sent.as_bytes().escape_ascii();
            Err(unsupported(format!("invalid content encoding `{sent}`: send the body without compression")))
        }
        _ => Ok(()),
    }
}

fn unsupported(message: String) -> ApiError {
    ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", message)
}

/// Returns the character set of a content type, if it is neither UTF-8 nor a part of UTF-8.
fn other_charset(kind: &str) -> Option<&str> {
    let charset = kind.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        name.trim().eq_ignore_ascii_case("charset").then(|| value.trim().trim_matches('"'))
    })?;
    let is_known = ["utf-8", "utf8", "us-ascii"].iter().any(|known| charset.eq_ignore_ascii_case(known));
    (!is_known).then_some(charset)
}

/// Checks that a body can be JSON: a text in UTF-8 without a byte order mark. A parser would report only its first character.
pub(crate) fn check_text(body: &[u8]) -> Result<(), ApiError> {
    let problem = match body {
        [0xef, 0xbb, 0xbf, ..] => "the body begins with a byte order mark; send it without one",
        [0, ..] | [_, 0, ..] => "the body is not UTF-8 but, it seems, UTF-16 or UTF-32; send it in UTF-8",
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => "the body begins with a byte order mark of UTF-16; send it in UTF-8",
        _ if std::str::from_utf8(body).is_err() => "the body is not UTF-8; send JSON in UTF-8, without compression",
        _ => return Ok(()),
    };
    Err(ApiError::bad_request(problem))
}

fn is_json(request: &Request) -> bool {
    let text = |name: HeaderName| {
        let mut values = request.headers().get_all(name).iter();
        // Several values count as an empty one.
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

/// A host name or address, with or without a port.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Authority {
    /// The name in lower case; an IPv6 address in brackets and in its shortest form.
    name: String,
    port: Option<u16>,
}

impl Authority {
    /// Reads a name from an application's setting, in which an IPv6 address needs no brackets.
    fn of_setting(text: &str) -> Option<Self> {
        Self::read(text)
            .or_else(|| text.parse().ok().map(|address: Ipv6Addr| Self { name: format!("[{address}]"), port: None }))
    }

    /// Reads `name`, `name:port`, `[::1]` or `[::1]:port`. Returns `None` for any other text, such as one with a user or a path.
    fn read(text: &str) -> Option<Self> {
        let (name, port) = match text.rsplit_once(':') {
            Some((name, port)) if !port.ends_with(']') => (name, Some(port)),
            _ => (text, None),
        };
        let port = match port {
            // The standard library's parser would accept a sign.
            Some(port) if port.starts_with('+') => return None,
            Some(port) => Some(port.parse().ok()?),
            None => None,
        };
        let is_name = |name: &str| {
            !name.is_empty()
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_'))
        };
        let name = match name.strip_prefix('[').and_then(|name| name.strip_suffix(']')) {
            Some(address) => format!("[{}]", address.parse::<Ipv6Addr>().ok()?),
            None if is_name(name) => name.to_ascii_lowercase(),
            None => return None,
        };
        Some(Self { name, port })
    }

    /// Returns whether this is a name of loopback, with any port.
    fn is_loopback(&self) -> bool {
        matches!(&*self.name, "localhost" | "127.0.0.1" | "[::1]")
    }

    /// Returns whether `asked` has this name and this port. A name without a port covers every port.
    fn covers(&self, asked: &Self) -> bool {
        self.name == asked.name && (self.port.is_none() || self.port == asked.port)
    }
}

impl fmt::Display for Authority {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.name)?;
        self.port.map_or(Ok(()), |port| write!(out, ":{port}"))
    }
}

/// The error for a text in a setting that is not an origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidOrigin(String);

impl fmt::Display for InvalidOrigin {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "invalid origin `{}`: write a scheme and a host, with a port where it is not the scheme's own and without a path, \
             such as `https://app.example`, `http://localhost:5173` or `http://localhost:*`",
            self.0
        )
    }
}

impl std::error::Error for InvalidOrigin {}

/// The origin of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Origin {
    scheme: String,
    /// The authority, with the scheme's default port if the text has none.
    authority: Authority,
}

impl Origin {
    /// Reads `scheme://name` or `scheme://name:port`. Returns `None` for any other text, such as `null`.
    fn read(text: &str) -> Option<Self> {
        let (scheme, authority) = text.split_once("://")?;
        let is_scheme = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
        if scheme.is_empty() || !scheme.bytes().all(is_scheme) {
            return None;
        }
        let (scheme, mut authority) = (scheme.to_ascii_lowercase(), Authority::read(authority)?);
        authority.port = authority.port.or(default_port(&scheme));
        Some(Self { scheme, authority })
    }

    /// Returns whether a page of this origin came from `host`. Both `http` and `https` count, because TLS may end at a proxy.
    fn is_of(&self, host: &Authority) -> bool {
        let port = default_port(&self.scheme).map(|own| host.port.unwrap_or(own));
        port.is_some() && self.authority.port == port && self.authority.name == host.name
    }
}

fn default_port(scheme: &str) -> Option<u16> {
    match scheme {
        "http" => Some(80),
        "https" => Some(443),
        _ => None,
    }
}

/// An origin that the application allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AllowedOrigin {
    origin: Origin,
    at_any_port: bool,
}

impl AllowedOrigin {
    /// Reads an origin, whose port may be `*`.
    pub(crate) fn read(text: &str) -> Result<Self, InvalidOrigin> {
        let (origin, at_any_port) = match text.strip_suffix(":*") {
            // A text with a port before the star then has two ports, and is refused.
            Some(origin) => (Origin::read(&format!("{origin}:1")), true),
            None => (Origin::read(text), false),
        };
        let origin = origin.ok_or_else(|| InvalidOrigin(text.to_owned()))?;
        Ok(Self { origin, at_any_port })
    }

    fn covers(&self, asked: &Origin) -> bool {
        let Origin { scheme, authority } = &self.origin;
        let is_port = self.at_any_port || authority.port == asked.authority.port;
        *scheme == asked.scheme && authority.name == asked.authority.name && is_port
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Authority {
        Authority::read(text).unwrap_or_else(|| panic!("{text}"))
    }

    #[test]
    fn names_are_read_in_one_form() {
        for (text, form) in [
            ("LocalHost", "localhost"),
            ("localhost:3000", "localhost:3000"),
            ("127.0.0.1:80", "127.0.0.1:80"),
            ("[::1]", "[::1]"),
            ("[0:0:0:0:0:0:0:1]:3000", "[::1]:3000"),
            ("my_service.internal:1", "my_service.internal:1"),
        ] {
            assert_eq!(read(text).to_string(), form);
        }
        assert_eq!(Authority::of_setting("::1"), Some(read("[::1]")));
    }

    #[test]
    fn other_texts_are_no_names() {
        for text in [
            "",
            ":",
            ":80",
            "localhost:",
            "localhost:+80",
            "localhost:65536",
            "localhost:80:80",
            "evil@localhost",
            "localhost@evil",
            "localhost/",
            "http://localhost",
            "localhost evil",
            "localhost,evil",
            "[localhost]",
            "[::1",
            "::1",
            "::1]",
            "[::1]x",
            "[[::1]]",
            "lócalhost",
            "*",
        ] {
            assert_eq!(Authority::read(text), None, "{text}");
        }
    }

    #[test]
    fn a_name_without_a_port_covers_every_port() {
        assert!(read("a.example").covers(&read("A.example")) && read("a.example").covers(&read("a.example:1")));
        assert!(read("a.example:1").covers(&read("a.example:1")));
        for asked in ["a.example", "a.example:2", "b.a.example:1", "example:1"] {
            assert!(!read("a.example:1").covers(&read(asked)), "{asked}");
        }
    }

    #[test]
    fn only_three_names_are_loopback() {
        for text in ["localhost", "LOCALHOST:1", "127.0.0.1", "[::1]:3000"] {
            assert!(read(text).is_loopback(), "{text}");
        }
        for text in ["localhost.evil.example", "127.0.0.1.evil.example", "127.0.0.2", "0.0.0.0", "[::]", "localhost."] {
            assert!(!read(text).is_loopback(), "{text}");
        }
    }

    fn allowed(text: &str) -> AllowedOrigin {
        AllowedOrigin::read(text).unwrap()
    }

    fn origin(text: &str) -> Origin {
        Origin::read(text).unwrap_or_else(|| panic!("{text}"))
    }

    #[test]
    fn other_texts_are_no_origins() {
        for text in [
            "",
            "null",
            "*",
            "app.example",
            "https://",
            "://app.example",
            "https://app.example/",
            "https://app.example/page",
            "https://me@app.example",
            "https://*.app.example",
            "https://app.example:443:*",
            "https://app.example:*:*",
            "https://app.example https://evil.example",
            "null:*",
        ] {
            let error = AllowedOrigin::read(text).unwrap_err().to_string();
            assert!(error.starts_with(&format!("invalid origin `{text}`: ")), "{error}");
        }
    }

    #[test]
    fn an_origin_is_a_scheme_a_name_and_a_port() {
        for (setting, asked) in [
            ("https://app.example", "https://app.example"),
            ("https://app.example", "HTTPS://App.Example:443"),
            ("http://localhost:*", "http://localhost"),
            ("http://localhost:*", "http://localhost:5173"),
            ("http://[::1]:*", "http://[::1]:5173"),
            ("chrome-extension://abcdef", "chrome-extension://abcdef"),
        ] {
            assert!(allowed(setting).covers(&origin(asked)), "{setting}, {asked}");
        }
        for (setting, asked) in [
            ("https://app.example", "http://app.example"),
            ("https://app.example", "https://app.example:8443"),
            ("https://app.example", "https://evil.app.example"),
            ("https://app.example", "https://app.example.evil.example"),
            ("http://localhost:*", "https://localhost"),
        ] {
            assert!(!allowed(setting).covers(&origin(asked)), "{setting}, {asked}");
        }
    }

    #[test]
    fn a_page_of_the_server_itself_has_its_host() {
        let is_own = |page: &str, host: &str| origin(page).is_of(&Authority::read(host).unwrap());
        for (page, host) in [
            ("http://localhost:3000", "LOCALHOST:3000"),
            ("https://app.example", "app.example"),
            ("https://app.example", "app.example:443"),
            ("http://app.example", "app.example:80"),
            ("https://app.example:3000", "app.example:3000"),
        ] {
            assert!(is_own(page, host), "{page}, {host}");
        }
        for (page, host) in [
            ("http://localhost:3001", "localhost:3000"),
            ("http://localhost", "localhost:3000"),
            ("http://localhost:3000", "localhost"),
            ("http://127.0.0.1:3000", "localhost:3000"),
            ("http://evil.example:3000", "localhost:3000"),
            ("tauri://localhost", "localhost"),
        ] {
            assert!(!is_own(page, host), "{page}, {host}");
        }
    }
}
