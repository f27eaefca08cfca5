//! The sessions of clients, in which a call can let go of the stream that its client waits on.

use std::{
    collections::{HashMap, VecDeque},
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    task::{Context, Poll, Waker},
    time::Duration,
};

use futures_core::Stream as Messages;
use futures_util::{future::Either, stream::poll_fn};
use rmcp::{
    model::{ClientJsonRpcMessage, GetExtensions, ServerJsonRpcMessage},
    transport::streamable_http_server::session::{
        ServerSseMessage, SessionId, SessionManager,
        local::{LocalSessionManager, LocalSessionManagerError},
    },
};
use tokio::sync::mpsc::{Receiver, UnboundedReceiver, unbounded_channel};

/// How many messages are kept for a client that was let go. Of more, all but the result are left out.
const MOST_KEPT: usize = 256;

/// How long a result is kept for a client that does not come back.
const PATIENCE: Duration = Duration::from_mins(1);

/// The messages that are kept for released clients, by session and number of the stream.
type Kept = Mutex<HashMap<(SessionId, u64), UnboundedReceiver<ServerSseMessage>>>;

/// The stream that the client of a request waits on.
#[derive(Clone)]
pub struct Stream(Arc<Waited>);

struct Waited {
    key: (SessionId, u64),
    kept: Weak<Kept>,
    line: Mutex<Line>,
}

/// The messages to a client, as long as it waits.
struct Line {
    messages: Option<Receiver<ServerSseMessage>>,
    /// The messages before its release: later the client names the last of them.
    last: VecDeque<ServerSseMessage>,
    /// When it is to come back, if that was not sent yet.
    pause: Option<Duration>,
    waker: Option<Waker>,
}

impl Stream {
    /// Ends the stream, and asks the client to come back after `pause`. Later messages wait for it. rmcp can do that too, and
    /// forgets results that come while the client is away.
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
                // The client came back, took the receiver, and has gone for good.
                if (count < MOST_KEPT || is_result(&message)) && send.send(message).is_err() {
                    return;
                }
            }
            drop(send);
            tokio::time::sleep(PATIENCE).await;
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

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// rmcp's sessions, in which each request knows its stream.
#[derive(Default)]
pub struct Sessions {
    sessions: LocalSessionManager,
    kept: Arc<Kept>,
}

type Failed = LocalSessionManagerError;

impl SessionManager for Sessions {
    type Error = Failed;
    type Transport = <LocalSessionManager as SessionManager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Failed> {
        self.sessions.create_session().await
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Failed> {
        self.sessions.initialize_session(id, message).await
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Failed> {
        self.sessions.has_session(id).await
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Failed> {
        lock(&self.kept).retain(|(session, _), _| session != id);
        self.sessions.close_session(id).await
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        mut message: ClientJsonRpcMessage,
    ) -> Result<impl Messages<Item = ServerSseMessage> + Send + Sync + 'static, Failed> {
        let session = self.sessions.sessions.read().await.get(id).cloned();
        let session = session.ok_or_else(|| LocalSessionManagerError::SessionNotFound(id.clone()))?;
        let receiver = session.establish_request_wise_channel().await?;
        let number = receiver.http_request_id;
        let stream = Stream(Arc::new(Waited {
            key: (id.clone(), number.unwrap_or_default()),
            kept: Arc::downgrade(&self.kept),
            line: Mutex::new(Line { messages: Some(receiver.inner), last: VecDeque::new(), pause: None, waker: None }),
        }));
        if let (Some(_), ClientJsonRpcMessage::Request(request)) = (number, &mut message) {
            request.request.extensions_mut().insert(stream.clone());
        }
        session.push_message(message, number).await?;
        Ok(poll_fn(move |task| stream.poll(task)))
    }

    async fn accept_message(&self, id: &SessionId, message: ClientJsonRpcMessage) -> Result<(), Failed> {
        self.sessions.accept_message(id, message).await
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Messages<Item = ServerSseMessage> + Send + Sync + 'static, Failed> {
        self.sessions.create_standalone_stream(id).await
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Messages<Item = ServerSseMessage> + Send + Sync + 'static, Failed> {
        // An event is called `number/stream`.
        let number = last_event_id.split_once('/').and_then(|(_, stream)| stream.parse().ok());
        let kept = number.and_then(|number: u64| lock(&self.kept).remove(&(id.clone(), number)));
        match kept {
            Some(mut kept) => Ok(Either::Left(poll_fn(move |task| kept.poll_recv(task)))),
            None => Ok(Either::Right(self.sessions.resume(id, last_event_id).await?)),
        }
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("Stream").field(&self.0.key).finish()
    }
}
