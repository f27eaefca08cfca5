//! An answer: its run is driven on a task of its own, and streamed to the client.

use std::{panic::resume_unwind, sync::Arc};

use crate::protocol::{Encoder, End};
use axum::{
    body::Body,
    http::{HeaderName, HeaderValue, header},
    response::Response,
};
use bytes::Bytes;
use futures_core::Stream;
use futures_util::future::BoxFuture;
use tool_runtime::{
    AgentError, Part,
    agent::Session,
    run::{Phase, Principal},
};

use super::{
    ApiError, Chat, Shared,
    registry::{ActiveResponse, ChatGuard},
    replay::{OnReaders, ReplayBuffer},
    seal::refuse,
};
use crate::once::Once;

/// How an answer begins.
#[derive(Debug)]
pub(crate) enum Start {
    /// With a prompt. If `settle`, calls that were decided about end first, and if `is_shown`, as part of the answer.
    Prompt { settle: bool, is_shown: bool, id: Option<String>, content: Vec<Part> },
    /// Where the run stands.
    Resume,
}

/// The fate of an answer when all its readers have left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnLeave {
    /// Its run is cancelled, once the calls have ended that somebody has decided about.
    Cancel,
    /// It goes on, and can be read again.
    GoOn,
}

impl Chat {
    /// Drives `session` on a task of its own, and streams it as `encoder` writes it. Late readers get `preamble` in place of
    /// the answer's beginning.
    ///
    /// Fails when another request has spent the sealed run meanwhile: then nothing was done.
    pub(crate) async fn answer(
        self,
        mut session: Session,
        start: Start,
        encoder: Box<dyn Encoder>,
        preamble: Option<Vec<u8>>,
        on_leave: OnLeave,
    ) -> Result<Response, ApiError> {
        let active = ActiveResponse::new(self.protocol, Arc::clone(&self.buffer), self.cancel, &mut session);
        self.guard.set_active(Arc::clone(&active));
        let driver = session.handle();
        let on_readers: OnReaders = Box::new(move |have_left| if have_left { driver.leave() } else { driver.stay() });
        self.buffer.begin(encoder, preamble, (on_leave == OnLeave::Cancel).then_some(on_readers));
        let response = stream(self.buffer.read(false));
        // The next request finds the text spent, or as it was.
        let spent = self.once.as_ref().map(|once| once.commit_with(&mut session, Some(self.gate)));
        let answer = Answer {
            session,
            end: EndOnDrop { guard: self.guard, active: Arc::clone(&active) },
            shared: self.shared,
            principal: self.principal,
            once: self.once,
        };
        active.set_task(tokio::spawn(answer.drive(start)).abort_handle());
        if let Some(spent) = spent {
            spent.await.map_err(|_| ApiError::internal())?.map_err(refuse)?;
        }
        Ok(response)
    }
}

/// Runs `work` on a task of its own, which a lost connection does not end. It reaches from the first thing that cannot be
/// undone, such as a decision, to the last that belongs to it, such as the start of the approved call.
pub(crate) async fn detach<T: Send + 'static>(work: BoxFuture<'static, Result<T, ApiError>>) -> Result<T, ApiError> {
    match tokio::spawn(work).await {
        Ok(done) => done,
        Err(failed) => match failed.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            Err(_) => Err(ApiError::internal()),
        },
    }
}

impl ActiveResponse {
    /// Returns the answer from its beginning; `None` where its beginning is gone.
    pub(crate) fn replay(&self) -> Option<Response> {
        self.buffer.replay(None).map(stream)
    }

    /// Returns the answer for a request that is part of it: it has decided about something in the run, or was sent before.
    /// Frames that name a request name `request`, if there is one.
    pub(crate) fn join(&self, request: Option<String>) -> Result<Response, ApiError> {
        let gone = || ApiError::conflict("what this was sent for is under way; nothing was done twice");
        self.buffer.replay(request).map(stream).ok_or_else(gone)
    }
}

struct Answer {
    session: Session,
    end: EndOnDrop,
    shared: Arc<Shared>,
    principal: Principal,
    /// The opening of the sealed run, if it can be used once only.
    once: Option<Arc<Once>>,
}

impl Answer {
    async fn drive(mut self, start: Start) {
        let active = Arc::clone(&self.end.active);
        let mut done = begin(&mut self.session, start, &active.buffer).await;
        if let Some(once) = &self.once {
            once.rest(self.session.run()).await;
        }
        loop {
            // A request that decides about a call while an answer is under way leaves the rest to the answer. So it ends when
            // no request is about to do so, or has.
            let gate = tokio::select! {
                gate = self.end.guard.enter() => Some(gate),
                () = active.cancel.cancelled() => None,
            };
            if done.is_err() || gate.is_none() || !self.is_behind().await {
                self.end(done.as_ref().err());
                return;
            }
            drop(gate);
            done = self.session.resume().await.map(drop);
        }
    }

    /// Returns `true` if a request has decided about something, or said something, since the run was driven.
    async fn is_behind(&self) -> bool {
        if self.session.has_late_word() {
            return true;
        }
        let run = self.session.run();
        let Some(store) = self.session.agent().stored_in().filter(|_| run.phase() == Phase::Suspended) else {
            return false;
        };
        store.read(run.id(), run.rev()).await.is_ok_and(|records| !records.is_empty())
    }

    fn end(&mut self, failure: Option<&AgentError>) {
        let run = self.session.run();
        let sealed = self.shared.seals.as_ref().map(|seals| seals.seal(run, &self.principal, self.once.as_deref()));
        self.end.active.buffer.end(End::new(Some(run), failure).with_sealed(sealed.as_deref()));
        self.end.guard.clear_active(&self.end.active);
    }
}

async fn begin(session: &mut Session, start: Start, buffer: &ReplayBuffer) -> Result<(), AgentError> {
    match start {
        Start::Prompt { settle, is_shown, id, content } => {
            if settle {
                // These calls belong to an earlier message, which the answers of some protocols cannot reach.
                buffer.mute(!is_shown);
                session.settle().await?;
                buffer.mute(false);
            }
            session.send_named(id, content).await?;
        }
        Start::Resume => {
            session.resume().await?;
        }
    }
    Ok(())
}

/// Ends an answer whose task does not end it.
struct EndOnDrop {
    guard: ChatGuard,
    active: Arc<ActiveResponse>,
}

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        self.active.buffer.end(End::new(None, None));
        self.guard.clear_active(&self.active);
    }
}

/// Returns an event stream that no proxy should hold back.
pub(crate) fn stream(body: impl Stream<Item = Result<Bytes, std::io::Error>> + Send + 'static) -> Response {
    let mut response = Response::new(Body::from_stream(body));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(header::CONNECTION, HeaderValue::from_static("keep-alive"));
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    response
}
