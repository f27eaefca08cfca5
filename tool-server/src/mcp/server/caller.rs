//! Who makes a request, and what is known of them.

use std::sync::Arc;

use rmcp::{
    Peer, RoleServer,
    model::{ClientCapabilities, ProgressToken, ProtocolVersion},
    service::RequestContext,
};
use tokio_util::sync::CancellationToken;
use tool_runtime::{Agent, Cancellation, Context, run::Principal};

use super::{McpClient, http::Stream};
use crate::mcp::LogLevel;

/// Whom the application has authenticated as the client of an HTTP request.
#[derive(Clone, Debug)]
pub(in crate::mcp) struct Authenticated(pub(in crate::mcp) Principal);

/// The client of a request. What a client can do is read from the request when somebody wants to know: most calls ask nobody.
pub(super) struct Caller {
    context: RequestContext<RoleServer>,
    is_modern: bool,
}

impl Caller {
    pub(super) fn new(context: RequestContext<RoleServer>) -> Arc<Self> {
        let is_modern = is_modern(&context);
        Arc::new(Self { context, is_modern })
    }

    /// Whether its revision is one without sessions, where results ask for input.
    pub(super) fn is_modern(&self) -> bool {
        self.is_modern
    }

    pub(super) fn peer(&self) -> &Peer<RoleServer> {
        &self.context.peer
    }

    /// Ends when nobody waits for the answer any more.
    pub(super) fn gone(&self) -> &CancellationToken {
        &self.context.ct
    }

    pub(super) fn capabilities(&self) -> ClientCapabilities {
        self.context.client_capabilities().unwrap_or_default()
    }

    /// Whether somebody can be asked there.
    pub(super) fn asks(&self) -> bool {
        self.capabilities().elicitation.is_some()
    }

    /// Whether it takes a result that asks for input.
    pub(super) fn asks_by_result(&self) -> bool {
        self.is_modern && self.asks()
    }

    pub(super) fn progress_token(&self) -> Option<ProgressToken> {
        self.context.meta.get_progress_token()
    }

    /// What it wants to hear of, which without sessions each request says.
    pub(super) fn level(&self, of_session: LogLevel) -> Option<LogLevel> {
        if self.is_modern { self.context.meta.log_level().map(LogLevel::of) } else { Some(of_session) }
    }

    /// What it waits on, where that can be let go.
    pub(super) fn stream(&self) -> Option<&Stream> {
        self.context.extensions.get()
    }

    /// The context of an agent, on behalf of the client.
    pub(super) fn represent(self: &Arc<Self>, cx: Context, cancellation: &Cancellation, level: LogLevel) -> Context {
        let cx = cx.with_cancellation(cancellation.clone()).with(McpClient::of(self, level));
        match authenticated(&self.context) {
            Some(principal) => cx.with_principal(principal.as_str()),
            None => cx,
        }
    }
}

/// Whether a request is of a revision without sessions.
pub(super) fn is_modern(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
}

/// On whose behalf `agent` acts for a request.
pub(super) fn principal(agent: &Agent, context: &RequestContext<RoleServer>) -> Principal {
    authenticated(context).cloned().unwrap_or_else(|| agent.principal())
}

fn authenticated(context: &RequestContext<RoleServer>) -> Option<&Principal> {
    let parts = context.extensions.get::<http::request::Parts>()?;
    let Authenticated(principal) = parts.extensions.get()?;
    Some(principal)
}
