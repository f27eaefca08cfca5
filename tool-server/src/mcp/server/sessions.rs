//! The sessions of streamable HTTP. Each belongs to a principal, and a call can release the stream that its client waits on.
//!
//! Three defects of rmcp 3.11 make this necessary, beside its `LocalSessionManager`. The tests in `tool-server/tests/mcp` fail without it.
//!
//! - It drops the answer to a request when it sends the answer, whether or not the client is there
//!   (`LocalSessionWorker::handle_server_message`): `a_client_comes_back_for_what_was_let_go`.
//! - It sends both answers of requests that share an id to the second (`LocalSessionWorker::register_resource`):
//!   `requests_that_share_an_id_in_flight_are_refused`.
//! - It does not limit the number of sessions, and does not pass the caller to the manager (`SessionManager::create_session`):
//!   `the_session_that_ends_is_the_oldest_of_the_same_principal`.

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

use super::duplicate_ids::refuse_twin;
use crate::host::lock;

tokio::task_local! {
    /// The principal of the HTTP request that the current task answers.
    pub static CALLER: Option<Principal>;
}

/// The owners of the sessions.
#[derive(Default)]
struct Owners {
    sessions: HashMap<SessionId, Owned>,
    /// The number of requests so far.
    uses: u64,
}

struct Owned {
    by: Option<Principal>,
    /// The number of the last request in the session.
    used: u64,
}

impl Owners {
    fn next(&mut self) -> u64 {
        self.uses += 1;
        self.uses
    }

    /// Adds a session. Returns the session to end, if its principal now has more than `most`.
    fn add(&mut self, id: SessionId, by: Option<Principal>, most: usize) -> Option<SessionId> {
        let used = self.next();
        let others = || self.sessions.iter().filter(|(_, owned)| owned.by == by);
        let oldest = others().min_by_key(|(_, owned)| owned.used).filter(|_| others().count() >= most);
        let oldest = oldest.map(|(id, _)| id.clone());
        self.sessions.insert(id, Owned { by, used });
        oldest
    }
}

/// The maximum number of messages that are kept for a released client. Beyond it, only the result is kept.
const MAX_KEPT: usize = 256;

/// The time for which a result is kept for a released client.
const IDLE_TIMEOUT: Duration = Duration::from_mins(1);

/// The messages for released clients, by session and stream number.
type Kept = Mutex<HashMap<(SessionId, u64), UnboundedReceiver<ServerSseMessage>>>;

/// The ids of requests that are in flight, by session.
type InFlight = Mutex<HashSet<(SessionId, RequestId)>>;

/// The stream that the client of a request waits on.
#[derive(Clone)]
pub struct Stream(Arc<Waited>);

struct Waited {
    key: (SessionId, u64),
    kept: Weak<Kept>,
    line: Mutex<Line>,
    _in_flight: Option<InFlightGuard>,
}

/// A request in flight: the call's context and the client's stream hold it, so it lasts until both have ended.
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

/// The messages to a client that waits.
struct Line {
    messages: Option<Receiver<ServerSseMessage>>,
    /// The messages before the release. When the client comes back, it names the last of them.
    last: VecDeque<ServerSseMessage>,
    /// The time until the client should come back, if it was not sent yet.
    pause: Option<Duration>,
    waker: Option<Waker>,
}

impl Stream {
    /// Ends the stream, and asks the client to come back after `pause`. Later messages are kept for it.
    pub fn close(&self, pause: Duration) -> bool {
        let Some(kept) = self.0.kept.upgrade() else { return false };
        let mut line = lock(&self.0.line);
        let Some(mut messages) = line.messages.take() else { return false };
        line.last.extend(std::iter::from_fn(|| messages.try_recv().ok()));
        line.pause = Some(pause);
        if let Some(waker) = line.waker.take() {
            waker.wake();
        }
        drop(line);
        let (send, receive) = unbounded_channel();
        lock(&kept).insert(self.0.key.clone(), receive);
        drop(kept);
        let waited = Arc::clone(&self.0);
        tokio::spawn(async move {
            let mut count = 0;
            while let Some(message) = messages.recv().await {
                count += 1;
                // Sending fails if the client came back, took the receiver, and left again.
                if (count < MAX_KEPT || is_result(&message)) && send.send(message).is_err() {
                    return;
                }
            }
            drop(send);
            tokio::time::sleep(IDLE_TIMEOUT).await;
            if let Some(kept) = waited.kept.upgrade() {
                lock(&kept).remove(&waited.key);
            }
        });
        true
    }

    fn poll(&self, task: &mut Context<'_>) -> Poll<Option<ServerSseMessage>> {
        let mut line = lock(&self.0.line);
        if let Some(messages) = &mut line.messages {
            let polled = messages.poll_recv(task);
            if polled.is_pending() {
                line.waker = Some(task.waker().clone());
            }
            return polled;
        }
        Poll::Ready(line.last.pop_front().or_else(|| line.pause.take().map(ServerSseMessage::retry)))
    }
}

fn is_result(message: &ServerSseMessage) -> bool {
    let message = message.message.as_deref();
    matches!(message, Some(ServerJsonRpcMessage::Response(_) | ServerJsonRpcMessage::Error(_)))
}

/// A session manager that wraps rmcp's. It ends the sessions that a principal has too many of. It refuses requests that share an
/// id with one in flight, and attaches to each request its stream.
pub struct Sessions {
    inner: Arc<LocalSessionManager>,
    most: usize,
    owners: Mutex<Owners>,
    kept: Arc<Kept>,
    in_flight: Arc<InFlight>,
}

impl Sessions {
    /// Creates a manager of at most `most` sessions for each principal.
    pub fn new(most: usize) -> Self {
        let (owners, kept, in_flight) = (Mutex::default(), Arc::default(), Arc::default());
        Self { inner: Arc::default(), most, owners, kept, in_flight }
    }

    /// Returns `true` if `caller` has begun the session. This counts as a use of it.
    pub fn is_of(&self, id: &str, caller: Option<&Principal>) -> bool {
        let mut owners = lock(&self.owners);
        let used = owners.next();
        match owners.sessions.get_mut(id) {
            Some(owned) if owned.by.as_ref() == caller => {
                owned.used = used;
                true
            }
            _ => false,
        }
    }

    /// Removes what is known of a session.
    fn forget(&self, id: &SessionId) {
        lock(&self.owners).sessions.remove(id);
        lock(&self.kept).retain(|(session, _), _| session != id);
    }
}

type Failed = LocalSessionManagerError;

impl SessionManager for Sessions {
    type Error = Failed;
    type Transport = <LocalSessionManager as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Failed> {
        let (id, transport) = self.inner.create_session().await?;
        let by = CALLER.try_with(Clone::clone).unwrap_or_default();
        let oldest = lock(&self.owners).add(id.clone(), by, self.most);
        if let Some(oldest) = oldest {
            self.forget(&oldest);
            let inner = Arc::clone(&self.inner);
            // On a task of its own: this future is dropped if the client leaves, and then nobody would end the new session.
            tokio::spawn(async move {
                // An error says that its worker has ended already.
                let _ = inner.close_session(&oldest).await;
            });
        }
        Ok((id, transport))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Failed> {
        self.inner.initialize_session(id, message).await
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Failed> {
        self.inner.has_session(id).await
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Failed> {
        self.forget(id);
        self.inner.close_session(id).await
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        mut message: ClientJsonRpcMessage,
    ) -> Result<impl Messages<Item = ServerSseMessage> + Send + Sync + 'static, Failed> {
        let session = self.inner.sessions.read().await.get(id).cloned();
        let session = session.ok_or_else(|| LocalSessionManagerError::SessionNotFound(id.clone()))?;
        let in_flight = match &message {
            ClientJsonRpcMessage::Request(request) => match InFlightGuard::enter(&self.in_flight, id, &request.id) {
                Some(in_flight) => Some(in_flight),
                None => {
                    let refusal = ServerSseMessage::from_message(refuse_twin(&request.id));
                    return Ok(Either::Left(once(ready(refusal))));
                }
            },
            _ => None,
        };
        let receiver = session.establish_request_wise_channel().await?;
        let number = receiver.http_request_id;
        let stream = Stream(Arc::new(Waited {
            key: (id.clone(), number.unwrap_or_default()),
            kept: Arc::downgrade(&self.kept),
            line: Mutex::new(Line { messages: Some(receiver.inner), last: VecDeque::new(), pause: None, waker: None }),
            _in_flight: in_flight,
        }));
        if let ClientJsonRpcMessage::Request(request) = &mut message {
            request.request.extensions_mut().insert(stream.clone());
        }
        session.push_message(message, number).await?;
        Ok(Either::Right(poll_fn(move |task| stream.poll(task))))
    }

    async fn accept_message(&self, id: &SessionId, message: ClientJsonRpcMessage) -> Result<(), Failed> {
        self.inner.accept_message(id, message).await
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Messages<Item = ServerSseMessage> + Send + Sync + 'static, Failed> {
        self.inner.create_standalone_stream(id).await
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Messages<Item = ServerSseMessage> + Send + Sync + 'static, Failed> {
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

    /// A client may leave at each point where its request waits. A session that exists by then would never end.
    #[tokio::test]
    async fn a_request_waits_for_nothing_after_its_session_exists() {
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
