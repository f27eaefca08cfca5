//! Streamable HTTP: who may connect, from where, and on whose behalf.

mod guard;
mod sessions;

use std::{convert::Infallible, fmt, io, sync::Arc};

use axum::{Router, extract::Request, middleware};
use http::HeaderValue;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::{TcpListener, ToSocketAddrs};
use tower::service_fn;

use super::McpServer;
use crate::Authenticate;
use guard::{Guard, guard};
use sessions::Sessions;

pub(super) use sessions::Stream;

/// A server over streamable HTTP, at `/mcp`. For loopback, unless it is told of other hosts.
///
/// Requests with a foreign `Host` are refused, so that a web page cannot reach a local server by a name of its own, and so
/// are those with an `Origin` that is not allowed.
pub struct McpHttp {
    server: McpServer,
    hosts: Option<Vec<String>>,
    origins: Vec<String>,
    authenticate: Option<Arc<dyn Authenticate>>,
    challenge: Option<HeaderValue>,
    max_bytes: usize,
}

impl McpServer {
    /// The same server over HTTP.
    pub fn http(&self) -> McpHttp {
        McpHttp {
            server: self.clone(),
            hosts: None,
            origins: ["http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"].map(str::to_owned).to_vec(),
            authenticate: None,
            challenge: None,
            max_bytes: 4 * 1024 * 1024,
        }
    }
}

impl McpHttp {
    /// Sets the names that the server is reached by, such as `tools.example.com` or `tools.example.com:8443`, in place of
    /// those of loopback.
    pub fn hosts(mut self, hosts: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.hosts = Some(hosts.into_iter().map(Into::into).collect());
        self
    }

    /// Sets which web pages may use the server, such as `https://app.example.com:443`, in place of those of loopback.
    pub fn origins(mut self, origins: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.origins = origins.into_iter().map(Into::into).collect();
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

    /// Sets what a client is told that is not authenticated: the value of `WWW-Authenticate`, such as
    /// `Bearer resource_metadata="https://example.com/.well-known/oauth-protected-resource"`. `Bearer` without it.
    pub fn challenge(mut self, value: HeaderValue) -> Self {
        self.challenge = Some(value);
        self
    }

    /// The service, to be put into a server of the application.
    pub fn router(self) -> Router {
        let server = self.server;
        let mut config = StreamableHttpServerConfig::default()
            .with_allowed_origins(self.origins)
            .enforce_origin_validation()
            .with_max_request_body_bytes(self.max_bytes);
        if let Some(hosts) = self.hosts {
            config = config.with_allowed_hosts(hosts);
        }
        let sessions = Arc::new(Sessions::default());
        let service = Arc::new(StreamableHttpService::new(move || Ok(server.handler()), sessions, config));
        // In an `Arc`, as a router clones its services, and this one is all of the configuration.
        let service = service_fn(move |request: Request| {
            let service = Arc::clone(&service);
            async move { Ok::<_, Infallible>(service.handle(request).await) }
        });
        let router = Router::new().route_service("/mcp", service);
        match self.authenticate {
            Some(who) => router.layer(middleware::from_fn_with_state(Guard::new(who, self.challenge), guard)),
            None => router,
        }
    }

    /// Serves at `address` until the process ends.
    ///
    /// Fails when the address is taken, or is not loopback and [`hosts`](Self::hosts) or [`authenticate`](Self::authenticate) is
    /// missing: then anybody who reaches the machine could call the tools.
    pub async fn listen(self, address: impl ToSocketAddrs) -> io::Result<()> {
        self.serve(TcpListener::bind(address).await?).await
    }

    /// The same on a listener that is there already.
    pub async fn serve(self, listener: TcpListener) -> io::Result<()> {
        let address = listener.local_addr()?;
        if !address.ip().is_loopback() && (self.hosts.is_none() || self.authenticate.is_none()) {
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
            .field("hosts", &self.hosts)
            .field("origins", &self.origins)
            .field("authenticates", &self.authenticate.is_some())
            .finish_non_exhaustive()
    }
}
