//! A client that reads an answer.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, Waker, ready},
    time::Duration,
};

use bytes::Bytes;
use futures_core::Stream;
use tokio::time::{Instant, Sleep, sleep_until};

use super::Feed;

/// What is sent when nothing happens, so that nobody in between gives the connection up.
const KEEP_ALIVE: &[u8] = b": keep-alive\n\n";

/// One client, and how far it has read.
pub(super) struct Reader {
    feed: Arc<Feed>,
    number: usize,
    /// The piece that comes next, and how much of it is left out.
    piece: u64,
    skip: usize,
    /// Where in the answer that is.
    at: u64,
    preamble: Option<Bytes>,
    is_cut: bool,
    /// Whether nobody else will read the answer, so that what was read need not be kept.
    pub(super) is_only: bool,
    /// When something was sent last, since the answer began.
    sent: Duration,
    /// Set anew only when it is over or too late: setting a timer costs more than sending a piece.
    timer: Option<Pin<Box<Sleep>>>,
}

impl Reader {
    /// A reader of everything from the byte `at`, which is at `skip` in the piece of number `piece`.
    pub(super) fn new(feed: Arc<Feed>, at: u64, (piece, skip): (u64, usize), preamble: Option<Bytes>) -> Self {
        let number = feed.come().sleepers.number();
        let sent = feed.began.elapsed();
        Self { feed, number, piece, skip, at, preamble, is_cut: false, is_only: false, sent, timer: None }
    }

    /// Ready when there may be more than before; with what is sent all the same when nothing was for long.
    fn poll_time(&mut self, due: Option<Duration>, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let until = self.feed.began + due.unwrap_or(self.sent + self.feed.limits.keep_alive);
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(until)));
        if timer.deadline() > until {
            timer.as_mut().reset(until);
        }
        ready!(timer.as_mut().poll(cx));
        if Instant::now() < until {
            timer.as_mut().reset(until);
            ready!(timer.as_mut().poll(cx));
        }
        self.timer = None;
        if due.is_some() {
            self.feed.nudge();
            return Poll::Ready(None);
        }
        self.sent = self.feed.began.elapsed();
        Poll::Ready(Some(Bytes::from_static(KEEP_ALIVE)))
    }

    /// What comes next. Where nothing does yet, `waker` is woken when that changes.
    fn look(&mut self, waker: &Waker) -> Looked {
        // Dropped after the lock.
        let _before;
        let mut state = self.feed.state();
        _before = state.sleepers.remove(self.number);
        state.pieces.freeze(self.feed.share());
        let piece = loop {
            match state.pieces.piece(self.piece) {
                Err(_) => return Looked::Cut,
                Ok(None) if state.is_over => return Looked::Over,
                Ok(None) => {
                    let due = state.wire.as_ref().and_then(|wire| wire.due());
                    state.sleepers.add(self.number, due, waker.clone());
                    return Looked::Nothing { due };
                }
                Ok(Some(piece)) => {
                    let skip = std::mem::take(&mut self.skip);
                    self.piece += 1;
                    if skip < piece.len() {
                        break piece.slice(skip..);
                    }
                    self.skip = skip - piece.len();
                }
            }
        };
        if self.is_only {
            state.pieces.let_go(self.piece);
        }
        self.at += piece.len() as u64;
        state.read = state.read.max(self.at);
        let is_waited_for = std::mem::take(&mut state.wants_room);
        drop(state);
        if is_waited_for {
            self.feed.room.notify_waiters();
        }
        Looked::Sent(piece)
    }
}

impl Stream for Reader {
    type Item = Result<Bytes, io::Error>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let reader = self.get_mut();
        if let Some(preamble) = reader.preamble.take() {
            return Poll::Ready(Some(Ok(preamble)));
        }
        if reader.is_cut {
            return Poll::Ready(None);
        }
        loop {
            let due = match reader.look(cx.waker()) {
                Looked::Sent(piece) => {
                    reader.sent = reader.feed.began.elapsed();
                    return Poll::Ready(Some(Ok(piece)));
                }
                Looked::Cut => {
                    reader.is_cut = true;
                    return Poll::Ready(Some(Err(io::Error::other("the client reads too slowly"))));
                }
                Looked::Over => return Poll::Ready(None),
                Looked::Nothing { due } => due,
            };
            if let Some(comment) = ready!(reader.poll_time(due, cx)) {
                return Poll::Ready(Some(Ok(comment)));
            }
        }
    }
}

enum Looked {
    Sent(Bytes),
    /// What comes next is gone.
    Cut,
    Over,
    /// Nothing is there; what is held back is sent when it is `due`.
    Nothing {
        due: Option<Duration>,
    },
}

impl Drop for Reader {
    fn drop(&mut self) {
        let mut state = self.feed.state();
        let waker = state.sleepers.remove(self.number);
        let is_last = self.feed.go(&state);
        drop(state);
        drop(waker);
        if is_last {
            self.feed.room.notify_waiters();
        }
    }
}
