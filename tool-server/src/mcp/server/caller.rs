//! The client of a request, and its face for tools.

use std::{fmt, sync::Arc, time::Duration};

use rmcp::{
    Peer, RoleServer,
    model::{ClientCapabilities, LoggingMessageNotificationParam, ProgressToken, ProtocolVersion},
    service::RequestContext,
};
use serde::Serialize;
use tokio_util::sync::CancellationToken;
use tool_runtime::{Agent, Cancellation, Context, run::Principal};

use super::http::Stream;
use crate::mcp::LogLevel;

/// The principal that the application has found for an HTTP request.
#[derive(Clone, Debug)]
pub struct Authenticated(pub Principal);

/// The client of a request. What a client can do is read from the request when somebody wants to know: most calls ask nobody.
pub struct Caller {
    context: RequestContext<RoleServer>,
    is_modern: bool,
}

impl Caller {
    pub fn new(context: RequestContext<RoleServer>) -> Arc<Self> {
        let is_modern = is_modern(&context);
        Arc::new(Self { context, is_modern })
    }

    /// Returns `true` if its revision is one without sessions, where results ask for input.
    pub fn is_modern(&self) -> bool {
        self.is_modern
    }

    pub fn peer(&self) -> &Peer<RoleServer> {
        &self.context.peer
    }

    /// Returns the signal that the client waits no more.
    pub fn gone(&self) -> &CancellationToken {
        &self.context.ct
    }

    pub fn capabilities(&self) -> ClientCapabilities {
        self.context.client_capabilities().unwrap_or_default()
    }

    /// Returns `true` if somebody can be asked there.
    pub fn asks(&self) -> bool {
        self.capabilities().elicitation.is_some()
    }

    /// Returns `true` if it accepts a result that asks for input.
    pub fn asks_by_result(&self) -> bool {
        self.is_modern && self.asks()
    }

    pub fn progress_token(&self) -> Option<ProgressToken> {
        self.context.meta.get_progress_token()
    }

    /// Returns the least level of logs that it wants. Without sessions, each request names it.
    pub fn level(&self, of_session: LogLevel) -> Option<LogLevel> {
        if self.is_modern { self.context.meta.log_level().map(LogLevel::of) } else { Some(of_session) }
    }

    /// Returns the stream that it waits on, where that can be released.
    pub fn stream(&self) -> Option<&Stream> {
        self.context.extensions.get()
    }

    /// Returns the context of an agent that acts on behalf of the client.
    pub fn represent(self: &Arc<Self>, cx: Context, cancellation: &Cancellation, level: LogLevel) -> Context {
        let cx = cx.with_cancellation(cancellation.clone()).with(McpClient::of(self, level));
        match authenticated(&self.context) {
            Some(principal) => cx.with_principal(principal.as_str()),
            None => cx,
        }
    }
}

/// Returns `true` if a request is of a revision without sessions.
pub fn is_modern(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
}

/// On whose behalf `agent` acts for a request.
pub fn principal(agent: &Agent, context: &RequestContext<RoleServer>) -> Principal {
    authenticated(context).cloned().unwrap_or_else(|| agent.principal())
}

fn authenticated(context: &RequestContext<RoleServer>) -> Option<&Principal> {
    let parts = context.extensions.get::<http::request::Parts>()?;
    let Authenticated(principal) = parts.extensions.get()?;
    Some(principal)
}

/// The MCP client that made a call: for a tool that has something to say to it which no other frontend has a place for.
///
/// A call that no MCP client made has none:
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
    caller: Arc<Caller>,
    /// The least level that it wants.
    level: Option<LogLevel>,
}

impl McpClient {
    /// Returns the client of a request; `level` is the level of its session.
    fn of(caller: &Arc<Caller>, level: LogLevel) -> Self {
        Self { caller: Arc::clone(caller), level: caller.level(level) }
    }

    /// Returns `true` if a message of this level would be sent: worth asking where it costs something to make one.
    pub fn hears(&self, level: LogLevel) -> bool {
        self.level.is_some_and(|least| level >= least)
    }

    /// Sends the client a log message, if it wants messages of this level. A message that cannot be sent is lost.
    pub async fn log(&self, level: LogLevel, data: impl Serialize) {
        if !self.hears(level) {
            return;
        }
        let Ok(data) = serde_json::to_value(data) else { return };
        let sent = self.caller.peer().notify_logging_message(LoggingMessageNotificationParam::new(level.wire(), data));
        let _ = sent.await;
    }

    /// Lets go of the connection that the client waits on, for a call that takes long: the client comes back for the rest
    /// after about `pause`, and what there is in between is kept for it: a result for a minute. Says whether there was a connection
    /// to let go of: over stdio, and in the revision without sessions, there is none.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    pub fn release(&self, pause: Duration) -> bool {
        self.caller.stream().is_some_and(|stream| stream.close(pause))
    }
}

impl fmt::Debug for McpClient {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("McpClient").field("level", &self.level).finish_non_exhaustive()
    }
}
