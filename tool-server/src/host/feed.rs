//! The bytes of one answer, on their way to everybody who reads it: from its beginning, and then as they come.

use std::{
    collections::VecDeque,
    io,
    pin::pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use bytes::Bytes;
use futures_core::Stream;
use futures_util::stream;
use tokio::sync::Notify;
use tool_runtime::{
    Cancellation,
    agent::{Event, Front},
    protocol::{End, Wire},
};

/// What is sent when nothing happens, so that nobody in between gives the connection up.
const KEEP_ALIVE: &[u8] = b": keep-alive\n\n";

/// An answer as bytes. Written by the run's driver, read by any number of clients.
///
/// What was written is kept once, for all readers, up to a limit. Who reads so slowly that the beginning of what he has not
/// read is gone is cut off; nobody waits for him.
pub(crate) struct Feed {
    state: Mutex<State>,
    more: Notify,
    began: Instant,
    limits: FeedLimits,
    readers: AtomicUsize,
    /// Whether the run is cancelled when the last reader leaves.
    bound: AtomicBool,
    /// Whether events go unwritten.
    muted: AtomicBool,
    cancel: Cancellation,
}

/// How much of an answer is kept, and how often something is sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FeedLimits {
    pub(crate) bytes: usize,
    pub(crate) keep_alive: Duration,
}

#[derive(Default)]
struct State {
    wire: Option<Box<dyn Wire>>,
    /// Written, and not asked for yet.
    fresh: Vec<u8>,
    /// What was asked for, in pieces.
    kept: VecDeque<Bytes>,
    kept_bytes: usize,
    /// Where in the answer `kept` begins.
    first: u64,
    /// What a reader gets who comes later, in place of as many bytes of the answer's beginning.
    preamble: Option<(Bytes, u64)>,
    is_over: bool,
}

impl Feed {
    pub(crate) fn new(limits: FeedLimits, cancel: Cancellation) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::default(),
            more: Notify::new(),
            began: Instant::now(),
            limits,
            readers: AtomicUsize::new(0),
            bound: AtomicBool::new(true),
            muted: AtomicBool::new(false),
            cancel,
        })
    }

    /// Begins the answer. `preamble` is what stands in place of its beginning for who reads it later.
    pub(crate) fn begin(&self, mut wire: Box<dyn Wire>, preamble: Option<Vec<u8>>, is_bound: bool) {
        self.bound.store(is_bound, Ordering::SeqCst);
        let mut state = self.state();
        let mut fresh = std::mem::take(&mut state.fresh);
        wire.begin(&mut fresh);
        state.preamble = preamble.map(|bytes| (bytes.into(), fresh.len() as u64));
        state.fresh = fresh;
        state.wire = Some(wire);
        self.wrote(state);
    }

    /// Whether what happens now is not part of the answer.
    pub(crate) fn mute(&self, is_muted: bool) {
        self.muted.store(is_muted, Ordering::SeqCst);
    }

    fn event(&self, event: Event<'_>) {
        if self.muted.load(Ordering::SeqCst) {
            return;
        }
        let now = self.began.elapsed();
        self.write(|wire, out| wire.event(event, now, out));
    }

    /// Writes what the wire has to tell by itself.
    pub(crate) fn nudge(&self) {
        let now = self.began.elapsed();
        self.write(|wire, out| wire.flush(now, out));
    }

    /// Ends the answer. Again has no effect.
    pub(crate) fn end(&self, end: End<'_>) {
        self.write(|wire, out| wire.end(end, out));
        let mut state = self.state();
        state.wire = None;
        state.is_over = true;
        drop(state);
        self.more.notify_waiters();
    }

    fn write(&self, change: impl FnOnce(&mut dyn Wire, &mut Vec<u8>)) {
        let mut guard = self.state();
        let state = &mut *guard;
        let Some(wire) = &mut state.wire else { return };
        let (before, due) = (state.fresh.len(), wire.due());
        change(&mut **wire, &mut state.fresh);
        // A reader sleeps until what was due when it fell asleep.
        let is_sooner = wire.due().is_some_and(|now| due.is_none_or(|due| now < due));
        if state.fresh.len() > before || is_sooner {
            self.wrote(guard);
        }
    }

    fn wrote(&self, mut state: MutexGuard<'_, State>) {
        if state.fresh.len() > self.limits.bytes / 4 {
            state.freeze(self.limits.bytes);
        }
        drop(state);
        self.more.notify_waiters();
    }

    /// What the answer's own client reads.
    pub(crate) fn read(self: &Arc<Self>) -> impl Stream<Item = Result<Bytes, io::Error>> + Send + use<> {
        self.reader(0, None)
    }

    /// What somebody reads who comes later; `None` when its beginning is gone.
    pub(crate) fn replay(self: &Arc<Self>) -> Option<impl Stream<Item = Result<Bytes, io::Error>> + Send + use<>> {
        let state = self.state();
        let (preamble, at) = match &state.preamble {
            Some((preamble, at)) => (Some(preamble.clone()), *at),
            None => (None, 0),
        };
        let is_whole = state.first <= at;
        drop(state);
        is_whole.then(|| self.reader(at, preamble))
    }

    fn reader(
        self: &Arc<Self>,
        at: u64,
        preamble: Option<Bytes>,
    ) -> impl Stream<Item = Result<Bytes, io::Error>> + Send + use<> {
        self.readers.fetch_add(1, Ordering::SeqCst);
        let reader = Reader { feed: Arc::clone(self), at, preamble, is_cut: false };
        stream::unfold(reader, |mut reader| async move { Some((reader.next().await?, reader)) })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic of a wire leaves at worst half a frame.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Makes what was written readable, and lets go of the oldest where it is too much.
    fn freeze(&mut self, most: usize) {
        if self.fresh.is_empty() {
            return;
        }
        let piece = Bytes::from(std::mem::take(&mut self.fresh));
        self.kept_bytes += piece.len();
        self.kept.push_back(piece);
        while self.kept_bytes > most && self.kept.len() > 1 {
            let Some(oldest) = self.kept.pop_front() else { break };
            self.kept_bytes -= oldest.len();
            self.first += oldest.len() as u64;
        }
    }

    /// What stands at `at`: all that is there of its piece.
    fn piece(&self, at: u64) -> Option<Bytes> {
        let mut from = self.first;
        for piece in &self.kept {
            let end = from + piece.len() as u64;
            if at < end {
                let skip = usize::try_from(at - from).ok()?;
                return Some(piece.slice(skip..));
            }
            from = end;
        }
        None
    }
}

/// One client, and how far it has read.
struct Reader {
    feed: Arc<Feed>,
    at: u64,
    preamble: Option<Bytes>,
    is_cut: bool,
}

impl Reader {
    async fn next(&mut self) -> Option<Result<Bytes, io::Error>> {
        if let Some(preamble) = self.preamble.take() {
            return Some(Ok(preamble));
        }
        if self.is_cut {
            return None;
        }
        loop {
            let mut more = pin!(self.feed.more.notified());
            let due = {
                let mut state = self.feed.state();
                if self.at < state.first {
                    self.is_cut = true;
                    return Some(Err(io::Error::other("the client reads too slowly")));
                }
                state.freeze(self.feed.limits.bytes);
                if let Some(piece) = state.piece(self.at) {
                    self.at += piece.len() as u64;
                    return Some(Ok(piece));
                }
                if state.is_over {
                    return None;
                }
                state.wire.as_ref().and_then(|wire| wire.due())
            };
            let wait = due.map_or(self.feed.limits.keep_alive, |due| due.saturating_sub(self.feed.began.elapsed()));
            if tokio::time::timeout(wait, more.as_mut()).await.is_err() {
                if due.is_none() {
                    return Some(Ok(Bytes::from_static(KEEP_ALIVE)));
                }
                self.feed.nudge();
            }
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let was_last = self.feed.readers.fetch_sub(1, Ordering::SeqCst) == 1;
        if was_last && self.feed.bound.load(Ordering::SeqCst) && !self.feed.state().is_over {
            self.feed.cancel.cancel();
        }
    }
}

/// The front of a run whose answer is a feed: nobody is there to decide, whoever decides asks again.
pub(crate) struct Tap(pub(crate) Arc<Feed>);

impl Front for Tap {
    fn event(&self, event: Event<'_>) {
        self.0.event(event);
    }

    fn attends(&self) -> bool {
        false
    }
}
