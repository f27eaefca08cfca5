//! A client that reads an answer.

use std::{
    io,
    pin::{Pin, pin},
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use bytes::Bytes;
use futures_core::Stream;
use futures_util::stream;
use tokio::time::{Instant, Sleep, sleep_until};

use super::Feed;

/// What is sent when nothing happens, so that nobody in between gives the connection up.
const KEEP_ALIVE: &[u8] = b": keep-alive\n\n";

/// One client, and how far it has read.
pub(super) struct Reader {
    feed: Arc<Feed>,
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
        feed.readers.fetch_add(1, Ordering::SeqCst);
        let sent = feed.began.elapsed();
        Self { feed, piece, skip, at, preamble, is_cut: false, is_only: false, sent, timer: None }
    }

    pub(super) fn into_stream(self) -> impl Stream<Item = Result<Bytes, io::Error>> + Send + use<> {
        stream::unfold(self, |mut reader| async move { Some((reader.next().await?, reader)) })
    }

    async fn next(&mut self) -> Option<Result<Bytes, io::Error>> {
        if let Some(preamble) = self.preamble.take() {
            return Some(Ok(preamble));
        }
        if self.is_cut {
            return None;
        }
        let feed = Arc::clone(&self.feed);
        loop {
            let more = pin!(feed.more.notified());
            let (due, until) = match self.look() {
                Looked::Sent(piece) => {
                    self.sent = feed.began.elapsed();
                    return Some(Ok(piece));
                }
                Looked::Cut => {
                    self.is_cut = true;
                    return Some(Err(io::Error::other("the client reads too slowly")));
                }
                Looked::Over => return None,
                Looked::Nothing { due } => (due, due.unwrap_or(self.sent + feed.limits.keep_alive)),
            };
            let until = feed.began + until;
            let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(until)));
            if timer.deadline() > until {
                timer.as_mut().reset(until);
            }
            tokio::select! {
                biased;
                () = more => {}
                () = timer.as_mut() => {
                    if Instant::now() < until {
                        timer.as_mut().reset(until);
                    } else if due.is_some() {
                        self.timer = None;
                        feed.nudge();
                    } else {
                        self.timer = None;
                        self.sent = feed.began.elapsed();
                        return Some(Ok(Bytes::from_static(KEEP_ALIVE)));
                    }
                }
            }
        }
    }

    fn look(&mut self) -> Looked {
        let mut state = self.feed.state();
        state.pieces.freeze(self.feed.share());
        let piece = loop {
            match state.pieces.piece(self.piece) {
                Err(_) => return Looked::Cut,
                Ok(None) if state.is_over => return Looked::Over,
                Ok(None) => {
                    let due = state.wire.as_ref().and_then(|wire| wire.due());
                    state.sleeps_until(due);
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
        if self.feed.readers.fetch_sub(1, Ordering::SeqCst) != 1 {
            return;
        }
        self.feed.room.notify_waiters();
        if self.feed.bound.load(Ordering::SeqCst) && !self.feed.state().is_over {
            self.feed.cancel.cancel();
        }
    }
}
