//! An answer: its run is driven on a task of its own, and what comes of it is streamed.

use std::{panic::resume_unwind, sync::Arc};

use crate::protocol::{End, Wire};
use axum::{
    body::Body,
    http::{HeaderName, HeaderValue, header},
    response::Response,
};
use bytes::Bytes;
use futures_core::Stream;
use futures_util::{StreamExt, future::BoxFuture};
use tool_runtime::{
    AgentError, Part,
    agent::{Handle, Session},
    run::{Phase, Principal},
};

use super::{
    ApiError, Chat, Shared,
    feed::{Feed, Leave},
    registry::{Place, Running},
    seal::refused,
};
use crate::once::Once;

/// What an answer begins with.
#[derive(Debug)]
pub(crate) enum Work {
    /// Somebody says something. What was decided about calls that wait happens before, if `settle`, and is part of the answer,
    /// if `told`.
    Prompt { settle: bool, told: bool, id: Option<String>, content: Vec<Part> },
    /// The run goes on where it stands.
    Resume,
}

/// What becomes of an answer when everybody who reads it has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnLeave {
    /// Its run is cancelled, once the calls have ended that somebody has decided about.
    Cancel,
    /// It goes on, and can be read again.
    GoOn,
}

impl Chat {
    /// Answers: drives `session` on a task of its own, and streams what `wire` makes of it. `preamble` is what stands in
    /// place of the answer's beginning for who reads it later.
    ///
    /// Fails when the run came in a text that another request has spent meanwhile: then nothing was done.
    pub(crate) async fn answer(
        self,
        mut session: Session,
        work: Work,
        wire: Box<dyn Wire>,
        preamble: Option<Vec<u8>>,
        on_leave: OnLeave,
    ) -> Result<Response, ApiError> {
        let running = Running::new(self.protocol, Arc::clone(&self.feed), self.cancel, &mut session);
        self.place.run(Arc::clone(&running));
        let leave = (on_leave == OnLeave::Cancel).then(|| leave(session.handle()));
        self.feed.begin(wire, preamble, leave);
        let response = stream(self.feed.read());
        // Whoever comes next finds the text spent, or as it was.
        let told = self.once.as_ref().map(|once| once.commits(&mut session, Some(self.gate)));
        let answer = Answer {
            session,
            ending: Ending { place: self.place, running: Arc::clone(&running) },
            shared: self.shared,
            principal: self.principal,
            once: self.once,
        };
        running.drives(tokio::spawn(answer.drive(work)).abort_handle());
        if let Some(told) = told {
            told.await.map_err(|_| ApiError::internal())?.map_err(refused)?;
        }
        Ok(response)
    }
}

/// Does what a request wants on a task of its own, which a lost connection does not end: from the first thing that cannot be
/// undone, such as a decision, to the last that belongs to it, such as the start of what was approved.
pub(crate) async fn owned<T: Send + 'static>(work: BoxFuture<'static, Result<T, ApiError>>) -> Result<T, ApiError> {
    match tokio::spawn(work).await {
        Ok(done) => done,
        Err(failed) => match failed.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            Err(_) => Err(ApiError::internal()),
        },
    }
}

/// Reports to a session whether anybody reads its answer.
fn leave(handle: Handle) -> Leave {
    Box::new(move |has_left| if has_left { handle.leave() } else { handle.stay() })
}

impl Running {
    /// The answer from its beginning, for who reads it along; `None` where its beginning is gone.
    pub(crate) fn replay(&self) -> Option<Response> {
        self.feed.replay().map(stream)
    }

    /// The same for a request that is part of it: it has decided about something in the run, or was sent before.
    pub(crate) fn join(&self) -> Result<Response, ApiError> {
        self.join_as(|frames| frames)
    }

    /// The same, with what `change` makes of its frames for the request.
    pub(crate) fn join_as(&self, change: impl Fn(Bytes) -> Bytes + Send + 'static) -> Result<Response, ApiError> {
        let gone = || ApiError::conflict("what this was sent for is under way; nothing was done twice");
        let frames = self.feed.replay().ok_or_else(gone)?;
        Ok(stream(frames.map(move |frames| frames.map(&change))))
    }
}

struct Answer {
    session: Session,
    ending: Ending,
    shared: Arc<Shared>,
    principal: Principal,
    /// The opening that the run's text spends, if that is good for once.
    once: Option<Arc<Once>>,
}

impl Answer {
    async fn drive(mut self, work: Work) {
        let running = Arc::clone(&self.ending.running);
        let mut done = work_on(&mut self.session, work, &running.feed).await;
        if let Some(once) = &self.once {
            once.rests(self.session.run()).await;
        }
        loop {
            // Who decides about a call while an answer is under way leaves the rest to it. So it ends when nobody is about
            // to do so, or has.
            let gate = tokio::select! {
                gate = self.ending.place.enter() => Some(gate),
                () = running.cancel.cancelled() => None,
            };
            if done.is_err() || gate.is_none() || !self.is_behind().await {
                self.end(done.as_ref().err());
                return;
            }
            drop(gate);
            done = self.session.resume().await.map(drop);
        }
    }

    /// Whether somebody has decided about something, or said something, since the run was driven.
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
        self.ending.running.feed.end(End::new(Some(run), failure).with_sealed(sealed.as_deref()));
        self.ending.place.ended(&self.ending.running);
    }
}

async fn work_on(session: &mut Session, work: Work, feed: &Feed) -> Result<(), AgentError> {
    match work {
        Work::Prompt { settle, told, id, content } => {
            if settle {
                // Of an earlier message, which nothing in some protocols' answers can reach.
                feed.mute(!told);
                session.settle().await?;
                feed.mute(false);
            }
            session.send_named(id, content).await?;
        }
        Work::Resume => {
            session.resume().await?;
        }
    }
    Ok(())
}

/// Ends an answer whose task comes to no end of its own.
struct Ending {
    place: Place,
    running: Arc<Running>,
}

impl Drop for Ending {
    fn drop(&mut self) {
        self.running.feed.end(End::new(None, None));
        self.place.ended(&self.running);
    }
}

/// An event stream that nothing in between should hold back.
pub(crate) fn stream(body: impl Stream<Item = Result<Bytes, std::io::Error>> + Send + 'static) -> Response {
    let mut response = Response::new(Body::from_stream(body));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(header::CONNECTION, HeaderValue::from_static("keep-alive"));
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    response
}
