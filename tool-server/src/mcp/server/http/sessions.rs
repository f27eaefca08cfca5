//! The sessions of clients, which know which stream each request waits on.

use std::time::Duration;

use futures_core::Stream as Messages;
use futures_util::stream::poll_fn;
use rmcp::{
    model::{ClientJsonRpcMessage, GetExtensions, ServerJsonRpcMessage},
    transport::streamable_http_server::session::{
        ServerSseMessage, SessionId, SessionManager,
        local::{LocalSessionHandle, LocalSessionManager, LocalSessionManagerError},
    },
};

/// The stream that the client of a request waits on.
#[derive(Clone)]
pub(in crate::mcp::server) struct Stream {
    session: LocalSessionHandle,
    number: u64,
}

impl Stream {
    /// Ends the stream; what is sent from now on waits for the client, who is told to come back after `pause`.
    pub(in crate::mcp::server) async fn close(&self, pause: Duration) -> bool {
        self.session.close_sse_stream(self.number, Some(pause)).await.is_ok()
    }
}

/// rmcp's sessions, in which each request is told its stream.
#[derive(Default)]
pub(super) struct Sessions(LocalSessionManager);

type Failed = LocalSessionManagerError;

impl SessionManager for Sessions {
    type Error = Failed;
    type Transport = <LocalSessionManager as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Failed> {
        self.0.create_session().await
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Failed> {
        self.0.initialize_session(id, message).await
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Failed> {
        self.0.has_session(id).await
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Failed> {
        self.0.close_session(id).await
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        mut message: ClientJsonRpcMessage,
    ) -> Result<impl Messages<Item = ServerSseMessage> + Send + Sync + 'static, Failed> {
        let session = self.0.sessions.read().await.get(id).cloned();
        let session = session.ok_or_else(|| LocalSessionManagerError::SessionNotFound(id.clone()))?;
        let mut receiver = session.establish_request_wise_channel().await?;
        if let (Some(number), ClientJsonRpcMessage::Request(request)) = (receiver.http_request_id, &mut message) {
            request.request.extensions_mut().insert(Stream { session: session.clone(), number });
        }
        session.push_message(message, receiver.http_request_id).await?;
        Ok(poll_fn(move |task| receiver.inner.poll_recv(task)))
    }

    async fn accept_message(&self, id: &SessionId, message: ClientJsonRpcMessage) -> Result<(), Failed> {
        self.0.accept_message(id, message).await
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Messages<Item = ServerSseMessage> + Send + Sync + 'static, Failed> {
        self.0.create_standalone_stream(id).await
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Messages<Item = ServerSseMessage> + Send + Sync + 'static, Failed> {
        self.0.resume(id, last_event_id).await
    }
}
