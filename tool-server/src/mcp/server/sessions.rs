//! The sessions of streamable HTTP. Each belongs to a principal, and a call can release the stream that its client waits on.
//!
//! Three defects of rmcp 3.11 and its `LocalSessionManager` make this module necessary. The tests in `tool-server/tests/mcp` fail
//! without it.
//!
//! - rmcp drops the response to a request when it sends the response, whether or not the client is there
//!   (`LocalSessionWorker::handle_server_message`): `a_released_client_comes_back_for_the_rest`.
//! - It sends both responses to requests that share an id to the second request (`LocalSessionWorker::register_resource`):
//!   `requests_that_share_an_id_in_flight_are_refused`.
//! - It does not limit the number of sessions, and does not pass the caller to the manager (`SessionManager::create_session`):
//!   `the_least_recently_used_session_of_the_principal_ends`.

use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::{Arc, Mutex, Weak},
    task::{Context, Poll, Waker},
    time::Duration,
};

use futures_core::Stream as Messages;
use futures_util::{
    future::{Either, ready},
    stream::{once, poll_fn},
};
use rmcp::{
    model::{ClientJsonRpcMessage, GetExtensions, RequestId, ServerJsonRpcMessage},
    transport::streamable_http_server::session::{
        ServerSseMessage, SessionId, SessionManager,
        local::{LocalSessionManager, LocalSessionManagerError},
    },
};
use tokio::sync::mpsc::{Receiver, UnboundedReceiver, unbounded_channel};
use tool_runtime::run::Principal;

use super::duplicate_ids::duplicate_id_error;
use crate::host::lock;

tokio::task_local! {
    /// The principal of the HTTP request to which the current task responds.
    pub static CALLER: Option<Principal>;
}

/// The owners of the sessions.
#[derive(Default)]
struct Owners {
    sessions: HashMap<SessionId, OwnedSession>,
    /// The number of requests so far.
    uses: u64,
}

struct OwnedSession {
    by: Option<Principal>,
    /// The number of the last request in the session.
    used: u64,
}

impl Owners {
    /// Returns the number of a new request.
    fn count_use(&mut self) -> u64 {
        self.uses += 1;
        self.uses
    }

    /// Adds a session. Returns the session to end, if its principal now has more than `most`.
    fn add(&mut self, id: SessionId, by: Option<Principal>, most: usize) -> Option<SessionId> {
        let used = self.count_use();
        let others = || self.sessions.iter().filter(|(_, owned)| owned.by == by);
        let oldest = others().min_by_key(|(_, owned)| owned.used).filter(|_| others().count() >= most);
        let oldest = oldest.map(|(id, _)| id.clone());
        self.sessions.insert(id, OwnedSession { by, used });
        oldest
    }
}

/// The maximum number of messages that the server keeps for a released client. Beyond it, the server keeps only the result.
const MAX_KEPT_MESSAGES: usize = 256;

/// The time for which the server keeps a result for a released client.
const RESULT_RETENTION: Duration = Duration::from_mins(1);

/// The messages for released clients, by session and stream number.
type KeptMessages = Mutex<HashMap<(SessionId, u64), UnboundedReceiver<ServerSseMessage>>>;

/// The ids of requests that are in flight, by session.
type InFlight = Mutex<HashSet<(SessionId, RequestId)>>;

/// The stream on which the client of a request waits.
#[derive(Clone)]
pub struct Stream(Arc<StreamState>);

struct StreamState {
    key: (SessionId, u64),
    kept: Weak<KeptMessages>,
    queue: Mutex<MessageQueue>,
    _in_flight: Option<InFlightGuard>,
}

/// The mark of a request in flight. The call's context and the client's stream hold it, so it lasts until both have ended.
struct InFlightGuard {
    request: (SessionId, RequestId),
    all: Arc<InFlight>,
}

impl InFlightGuard {
    /// Returns `None` if a request with this id is in flight.
    fn enter(all: &Arc<InFlight>, session: &SessionId, request: &RequestId) -> Option<Self> {
        let request = (session.clone(), request.clone());
        lock(all).insert(request.clone()).then(|| Self { request, all: Arc::clone(all) })
    }
}

impl Drop for InFlightGuard {
    fn drop(&mut self) {
        lock(&self.all).remove(&self.request);
    }
}

/// The messages to the client that waits on a stream.
struct MessageQueue {
    messages: Option<Receiver<ServerSseMessage>>,
    /// The messages before the release. When the client comes back, it names the last of them.
    last: VecDeque<ServerSseMessage>,
    /// The time after which the client should come back, if the server has not sent it yet.
    pause: Option<Duration>,
    waker: Option<Waker>,
}

impl Stream {
    /// Ends the stream, and asks the client to come back after `pause`. The server keeps later messages for the client.
    pub fn close(&self, pause: Duration) -> bool {
        let Some(kept) = self.0.kept.upgrade() else { return false };
        let mut queue = lock(&self.0.queue);
        let Some(mut messages) = queue.messages.take() else { return false };
        queue.last.extend(std::iter::from_fn(|| messages.try_recv().ok()));
        queue.pause = Some(pause);
        if let Some(waker) = queue.waker.take() {
            waker.wake();
        }
        drop(queue);
        let (send, receive) = unbounded_channel();
        lock(&kept).insert(self.0.key.clone(), receive);
        drop(kept);
        let state = Arc::clone(&self.0);
        tokio::spawn(async move {
            let mut count = 0;
            while let Some(message) = messages.recv().await {
                count += 1;
                // Sending fails if the client came back, took the receiver, and left again.
                if (count < MAX_KEPT_MESSAGES || is_result(&message)) && send.send(message).is_err() {
                    return;
                }
            }
            drop(send);
            tokio::time::sleep(RESULT_RETENTION).await;
            if let Some(kept) = state.kept.upgrade() {
                lock(&kept).remove(&state.key);
            }
        });
        true
    }

    fn poll(&self, task: &mut Context<'_>) -> Poll<Option<ServerSseMessage>> {
        let mut queue = lock(&self.0.queue);
        if let Some(messages) = &mut queue.messages {
            let polled = messages.poll_recv(task);
            if polled.is_pending() {
                queue.waker = Some(task.waker().clone());
            }
            return polled;
        }
        Poll::Ready(queue.last.pop_front().or_else(|| queue.pause.take().map(ServerSseMessage::retry)))
    }
}

fn is_result(message: &ServerSseMessage) -> bool {
    let message = message.message.as_deref();
    matches!(message, Some(ServerJsonRpcMessage::Response(_) | ServerJsonRpcMessage::Error(_)))
}

/// A session manager that wraps rmcp's. It ends sessions of principals that have too many. It refuses requests that share an
/// id with a request in flight, and attaches to each request its stream.
pub struct Sessions {
    inner: Arc<LocalSessionManager>,
    most: usize,
    owners: Mutex<Owners>,
    kept: Arc<KeptMessages>,
    in_flight: Arc<InFlight>,
}

impl Sessions {
    /// Creates a manager of at most `most` sessions for each principal.
    pub fn new(most: usize) -> Self {
        let (owners, kept, in_flight) = (Mutex::default(), Arc::default(), Arc::default());
        Self { inner: Arc::default(), most, owners, kept, in_flight }
    }

    /// Returns whether `caller` has begun the session. This counts as a use of it.
    pub fn is_of(&self, id: &str, caller: Option<&Principal>) -> bool {
        let mut owners = lock(&self.owners);
        let used = owners.count_use();
        match owners.sessions.get_mut(id) {
            Some(owned) if owned.by.as_ref() == caller => {
                owned.used = used;
                true
            }
            _ => false,
        }
    }

    /// Forgets a session: its owner, and the messages for its client.
    fn forget(&self, id: &SessionId) {
        lock(&self.owners).sessions.remove(id);
        lock(&self.kept).retain(|(session, _), _| session != id);
    }
}

type SessionError = LocalSessionManagerError;

impl SessionManager for Sessions {
    type Error = SessionError;
    type Transport = <LocalSessionManager as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), SessionError> {
        let (id, transport) = self.inner.create_session().await?;
        let by = CALLER.try_with(Clone::clone).unwrap_or_default();
        let oldest = lock(&self.owners).add(id.clone(), by, self.most);
        if let Some(oldest) = oldest {
            self.forget(&oldest);
            let inner = Arc::clone(&self.inner);
            // On a separate task: rmcp drops this future if the client leaves, and then nobody would end the new session.
            tokio::spawn(async move {
                // An error means that its worker has ended already.
                let _ = inner.close_session(&oldest).await;
            });
        }
        Ok((id, transport))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, SessionError> {
        self.inner.initialize_session(id, message).await
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, SessionError> {
        self.inner.has_session(id).await
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), SessionError> {
        self.forget(id);
        self.inner.close_session(id).await
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        mut message: ClientJsonRpcMessage,
    ) -> Result<impl Messages<Item = ServerSseMessage> + Send + Sync + 'static, SessionError> {
        let session = self.inner.sessions.read().await.get(id).cloned();
        let session = session.ok_or_else(|| SessionError::SessionNotFound(id.clone()))?;
        let in_flight = match &message {
            ClientJsonRpcMessage::Request(request) => match InFlightGuard::enter(&self.in_flight, id, &request.id) {
                Some(in_flight) => Some(in_flight),
                None => {
                    let refusal = ServerSseMessage::from_message(duplicate_id_error(&request.id));
                    return Ok(Either::Left(once(ready(refusal))));
                }
            },
            _ => None,
        };
        let receiver = session.establish_request_wise_channel().await?;
        let number = receiver.http_request_id;
        let stream = Stream(Arc::new(StreamState {
            key: (id.clone(), number.unwrap_or_default()),
            kept: Arc::downgrade(&self.kept),
            queue: Mutex::new(MessageQueue {
                messages: Some(receiver.inner),
                last: VecDeque::new(),
                pause: None,
                waker: None,
            }),
            _in_flight: in_flight,
        }));
        if let ClientJsonRpcMessage::Request(request) = &mut message {
            request.request.extensions_mut().insert(stream.clone());
        }
        session.push_message(message, number).await?;
        Ok(Either::Right(poll_fn(move |task| stream.poll(task))))
    }

    async fn accept_message(&self, id: &SessionId, message: ClientJsonRpcMessage) -> Result<(), SessionError> {
        self.inner.accept_message(id, message).await
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Messages<Item = ServerSseMessage> + Send + Sync + 'static, SessionError> {
        self.inner.create_standalone_stream(id).await
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Messages<Item = ServerSseMessage> + Send + Sync + 'static, SessionError> {
        // An event's id is `number/stream`.
        let number = last_event_id.split_once('/').and_then(|(_, stream)| stream.parse().ok());
        let kept = number.and_then(|number: u64| lock(&self.kept).remove(&(id.clone(), number)));
        match kept {
            Some(mut kept) => Ok(Either::Left(poll_fn(move |task| kept.poll_recv(task)))),
            None => Ok(Either::Right(self.inner.resume(id, last_event_id).await?)),
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    /// A client may leave at each point at which its request waits. A session that exists by then would never end.
    #[tokio::test]
    async fn a_request_does_not_wait_after_its_session_exists() {
        let sessions = Sessions::new(1);
        let (first, _transport) = sessions.create_session().await.unwrap();
        let begun = sessions.create_session().now_or_never();
        let known = sessions.inner.sessions.read().await.len();
        let (second, _transport) = begun.unwrap_or_else(|| panic!("{known} sessions, one of them nobody's")).unwrap();
        assert!(!sessions.is_of(&first, None) && sessions.is_of(&second, None));
        while sessions.has_session(&first).await.unwrap() {
            tokio::task::yield_now().await;
        }
        assert!(sessions.has_session(&second).await.unwrap());
    }
}
