//! The client of a request, and its API for tools.

use std::{fmt, sync::Arc, time::Duration};

use rmcp::{
    Peer, RoleServer,
    model::{ClientCapabilities, LoggingMessageNotificationParam, ProgressToken, ProtocolVersion},
    service::RequestContext,
};
use serde::Serialize;
use tokio_util::sync::CancellationToken;
use tool_runtime::{Agent, Cancellation, Context, agent::Caller, run::Principal};

use super::sessions::Stream;
use crate::{host::Authenticated, mcp::LogLevel};

/// The client of a request. [`RequestClient::capabilities`] reads them on demand, because most calls do not need them.
pub struct RequestClient {
    context: RequestContext<RoleServer>,
    is_modern: bool,
}

impl RequestClient {
    pub fn new(context: RequestContext<RoleServer>) -> Arc<Self> {
        let is_modern = is_modern(&context);
        Arc::new(Self { context, is_modern })
    }

    /// Returns whether the client speaks a revision without sessions, in which results ask for input.
    pub fn is_modern(&self) -> bool {
        self.is_modern
    }

    /// Returns the caller whom the application authenticated.
    pub fn authenticated(&self) -> Option<&Caller> {
        caller_of(&self.context)
    }

    pub fn peer(&self) -> &Peer<RoleServer> {
        &self.context.peer
    }

    /// Returns the signal that the client no longer waits.
    pub fn gone(&self) -> &CancellationToken {
        &self.context.ct
    }

    pub fn capabilities(&self) -> ClientCapabilities {
        self.context.client_capabilities().unwrap_or_default()
    }

    /// Returns whether the client can ask a person.
    pub fn can_ask(&self) -> bool {
        self.capabilities().elicitation.is_some()
    }

    /// Returns whether the client accepts a result that asks for input.
    pub fn accepts_input_requests(&self) -> bool {
        self.is_modern && self.can_ask()
    }

    pub fn progress_token(&self) -> Option<ProgressToken> {
        self.context.meta.get_progress_token()
    }

    /// Returns the lowest log level that the client wants. Without sessions, each request names it.
    pub fn log_level(&self, of_session: LogLevel) -> Option<LogLevel> {
        if self.is_modern { self.context.meta.log_level().map(LogLevel::of) } else { Some(of_session) }
    }

    /// Returns the stream that the client waits on, if the stream can be released.
    pub fn stream(&self) -> Option<&Stream> {
        self.context.extensions.get()
    }

    /// Returns the context for calls on behalf of the client.
    pub fn represent(self: &Arc<Self>, cx: Context, cancellation: &Cancellation, level: LogLevel) -> Context {
        let cx = cx.with_cancellation(cancellation.clone()).with(McpClient::of(self, level));
        match caller_of(&self.context) {
            Some(Caller { principal, claims, .. }) => cx.with_principal(principal.as_str()).with_claims(claims.clone()),
            None => cx,
        }
    }
}

/// Returns whether a request is of a revision without sessions.
fn is_modern(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
}

/// Returns the principal on whose behalf `agent` acts for a request.
pub fn principal(agent: &Agent, context: &RequestContext<RoleServer>) -> Principal {
    caller_of(context).map_or_else(|| agent.owner(), |caller| caller.principal.clone())
}

/// Returns the caller whom the application authenticated; `None` over streams, and without authentication.
pub fn caller_of(context: &RequestContext<RoleServer>) -> Option<&Caller> {
    let parts = context.extensions.get::<http::request::Parts>()?;
    let Authenticated(caller) = parts.extensions.get()?;
    Some(caller)
}

/// The MCP client that made a call. A tool can send it messages for which other frontends have no equivalent.
///
/// A call that no MCP client made has no such value in its context:
///
/// ```
/// use tool_runtime::{Context, Text, tool};
/// use tool_server::mcp::{LogLevel, server::McpClient};
///
/// /// Rebuilds the index.
/// #[tool(effect = write)]
/// async fn rebuild(#[context] cx: &Context) -> Text {
///     if let Some(client) = cx.get::<McpClient>() {
///         client.log(LogLevel::Info, "reading 1200 files").await;
///     }
///     Text("done".to_owned())
/// }
/// ```
#[derive(Clone)]
pub struct McpClient {
    caller: Arc<RequestClient>,
    /// The lowest log level that the client wants.
    level: Option<LogLevel>,
}

impl McpClient {
    /// Creates the client of a request. `level` is the log level of its session.
    fn of(caller: &Arc<RequestClient>, level: LogLevel) -> Self {
        Self { caller: Arc::clone(caller), level: caller.log_level(level) }
    }

    /// Returns whether the client wants log messages of this level. Call this before building an expensive message.
    pub fn is_enabled(&self, level: LogLevel) -> bool {
        self.level.is_some_and(|least| level >= least)
    }

    /// Sends the client a log message, if the client wants messages of this level. A message that cannot be sent is lost.
    pub async fn log(&self, level: LogLevel, data: impl Serialize) {
        if !self.is_enabled(level) {
            return;
        }
        let Ok(data) = serde_json::to_value(data) else { return };
        let sent = self.caller.peer().notify_logging_message(LoggingMessageNotificationParam::new(level.wire(), data));
        let _ = sent.await;
    }

    /// Closes the connection on which the client waits for a long call. The client reconnects after about `pause` to read the
    /// rest. Meanwhile the server keeps messages for the client, and the result for a minute. Returns `false` if there is no
    /// such connection: over stdio, in the revision without sessions, or after an earlier release.
    ///
    /// # Panics
    ///
    /// Panics outside of a tokio runtime.
    pub fn release(&self, pause: Duration) -> bool {
        self.caller.stream().is_some_and(|stream| stream.close(pause))
    }
}

impl fmt::Debug for McpClient {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("McpClient").field("level", &self.level).finish_non_exhaustive()
    }
}
