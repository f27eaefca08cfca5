//! The client behind a call, for what only MCP has.

#![expect(
    deprecated,
    reason = "logs, roots and sampling are; clients and servers of revisions up to 2025-11-25 have them"
)]

use std::{fmt, sync::Arc, time::Duration};

use rmcp::model::LoggingMessageNotificationParam;
use serde::Serialize;

use super::caller::Caller;
use crate::mcp::LogLevel;

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
    /// What it wants to hear of.
    level: Option<LogLevel>,
}

impl McpClient {
    /// The client of a request; `level` is what it has asked for in its session.
    pub(super) fn of(caller: &Arc<Caller>, level: LogLevel) -> Self {
        Self { caller: Arc::clone(caller), level: caller.level(level) }
    }

    /// Whether a message of this level would be sent: worth asking where it costs something to make one.
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
