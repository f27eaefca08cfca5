//! Requests of one connection that share an id.

use std::{
    borrow::Cow,
    collections::HashMap,
    sync::{Arc, Weak},
};

use rmcp::{
    ErrorData, RoleServer,
    model::{ClientJsonRpcMessage, ClientNotification, GetExtensions, JsonRpcMessage, RequestId, ServerJsonRpcMessage},
    transport::Transport,
};

/// Returns the error for a request whose id is that of another request in flight.
pub fn duplicate_id_error(id: &RequestId) -> ServerJsonRpcMessage {
    let message = format!("a request with the id `{id}` is in flight; give each request an id of its own");
    ServerJsonRpcMessage::error(ErrorData::invalid_request(message, None), Some(id.clone()))
}

/// A transport that refuses a request whose id is that of another request in flight.
///
/// rmcp 3.11 would drop one of the two responses: `serve_inner` keeps one entry for an id in `local_ct_pool`. The test
/// `lines_with_one_id_get_a_response_each` fails without this.
pub struct UniqueIds<T> {
    inner: T,
    in_flight: HashMap<RequestId, InFlightRequest>,
}

/// A request without a response.
struct InFlightRequest {
    /// Set if the client has cancelled it, so that rmcp sends no response.
    is_cancelled: bool,
    /// Alive as long as the request's handler runs.
    handler: Weak<HandlerMark>,
}

/// The mark of a running handler, among the request's extensions.
#[derive(Clone)]
struct HandlerMark;

impl InFlightRequest {
    fn is_over(&self) -> bool {
        self.is_cancelled && self.handler.strong_count() == 0
    }
}

impl<T> UniqueIds<T> {
    pub fn new(inner: T) -> Self {
        Self { inner, in_flight: HashMap::new() }
    }

    /// Tracks a message of the client. Returns the id of a request that must be refused.
    fn track(&mut self, message: &mut ClientJsonRpcMessage) -> Option<RequestId> {
        match message {
            JsonRpcMessage::Request(request) => {
                if self.in_flight.get(&request.id).is_some_and(|tracked| !tracked.is_over()) {
                    return Some(request.id.clone());
                }
                let handler = Arc::new(HandlerMark);
                let tracked = InFlightRequest { is_cancelled: false, handler: Arc::downgrade(&handler) };
                self.in_flight.insert(request.id.clone(), tracked);
                request.request.extensions_mut().insert(handler);
            }
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    if let Some(tracked) = self.in_flight.get_mut(id) {
                        tracked.is_cancelled = true;
                    }
                    self.in_flight.retain(|_, tracked| !tracked.is_over());
                }
            }
            _ => {}
        }
        None
    }
}

impl<T: Transport<RoleServer>> Transport<RoleServer> for UniqueIds<T> {
    type Error = T::Error;

    fn name() -> Cow<'static, str> {
        T::name()
    }

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let responds_to = match &message {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            _ => None,
        };
        if let Some(id) = responds_to {
            self.in_flight.remove(id);
        }
        self.inner.send(message)
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            let mut message = self.inner.receive().await?;
            let Some(duplicate) = self.track(&mut message) else { return Some(message) };
            // On a separate task, because rmcp drops this future when it has something else to do.
            tokio::spawn(self.inner.send(duplicate_id_error(&duplicate)));
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}
