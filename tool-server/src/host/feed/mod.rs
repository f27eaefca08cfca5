//! The bytes of one answer, on their way to everybody who reads it: from its beginning, and then as they come.

mod pieces;
mod reader;
mod sleepers;

use std::{
    io,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    task::Waker,
    time::Duration,
};

use crate::protocol::{End, Wire};
use bytes::Bytes;
use futures_core::Stream;
use futures_util::future::{BoxFuture, FutureExt};
use tokio::{sync::Notify, time::Instant};
use tool_runtime::{
    agent::{Event, Front},
    run::CallId,
};

use pieces::Pieces;
use reader::Reader;
use sleepers::Sleepers;

/// How many bytes of an answer are kept in any case, however many answers there are.
const LEAST: usize = 64 * 1024;

/// An answer as bytes. Written by the run's driver, read by any number of clients.
///
/// What was written is kept once, for all readers, up to a limit. Who reads so slowly that the beginning of what he has not
/// read is gone is cut off; nobody waits for him.
pub(crate) struct Feed {
    state: Mutex<State>,
    room: Notify,
    began: Instant,
    limits: FeedLimits,
    /// How many answers share what may be kept.
    live: Arc<AtomicUsize>,
    readers: AtomicUsize,
    /// Whether events go unwritten.
    muted: AtomicBool,
}

/// Receives whether all readers have left.
pub(crate) type Leave = Box<dyn Fn(bool) + Send + Sync>;

/// How much of answers is kept, and how often something is sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FeedLimits {
    /// Of one answer.
    pub(crate) bytes: usize,
    /// Of all answers together.
    pub(crate) total: usize,
    pub(crate) keep_alive: Duration,
}

#[derive(Default)]
struct State {
    wire: Option<Box<dyn Wire>>,
    pieces: Pieces,
    /// What a reader gets who comes later, in place of as many bytes of the answer's beginning.
    preamble: Option<(Bytes, u64)>,
    /// How far who reads fastest has read.
    read: u64,
    /// Whether somebody waits until more was read.
    wants_room: bool,
    sleepers: Sleepers,
    /// Receives whether all readers have left, if that matters to the answer.
    leave: Option<Leave>,
    is_over: bool,
}

impl Feed {
    pub(crate) fn new(limits: FeedLimits, live: &Arc<AtomicUsize>) -> Arc<Self> {
        live.fetch_add(1, Ordering::Relaxed);
        Arc::new(Self {
            state: Mutex::default(),
            room: Notify::new(),
            began: Instant::now(),
            limits,
            live: Arc::clone(live),
            readers: AtomicUsize::new(0),
            muted: AtomicBool::new(false),
        })
    }

    /// Begins the answer. `preamble` is what stands in place of its beginning for who reads it later; `leave` is called
    /// when the last reader leaves before the answer's end, and when one comes back.
    pub(crate) fn begin(&self, mut wire: Box<dyn Wire>, preamble: Option<Vec<u8>>, leave: Option<Leave>) {
        let mut state = self.state();
        state.leave = leave;
        wire.begin(&mut state.pieces.fresh);
        state.preamble = preamble.map(|bytes| (bytes.into(), state.pieces.end()));
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
        (state.wire, state.leave) = (None, None);
        state.is_over = true;
        let awake = state.sleepers.take();
        drop(state);
        awake.for_each(Waker::wake);
        self.room.notify_waiters();
    }

    /// Writes, as long as the answer has not ended.
    pub(crate) fn write(&self, change: impl FnOnce(&mut dyn Wire, &mut Vec<u8>)) {
        let mut guard = self.state();
        let state = &mut *guard;
        let Some(wire) = &mut state.wire else { return };
        let before = state.pieces.fresh.len();
        change(&mut **wire, &mut state.pieces.fresh);
        let is_sooner = || wire.due().is_some_and(|due| state.sleepers.any_until_after(due));
        if state.pieces.fresh.len() > before || is_sooner() {
            self.wrote(guard);
        }
    }

    fn wrote(&self, mut state: MutexGuard<'_, State>) {
        let share = self.share();
        if state.pieces.fresh.len() > share / 4 {
            state.pieces.freeze(share);
        }
        let awake = state.sleepers.take();
        drop(state);
        awake.for_each(Waker::wake);
    }

    /// How many bytes of this answer may be kept.
    fn share(&self) -> usize {
        let share = self.limits.total / self.live.load(Ordering::Relaxed).max(1);
        share.max(LEAST).min(self.limits.bytes)
    }

    /// Whether there is room for more, for who can wait: the fastest reader is not far behind, or there is none.
    fn has_room(&self) -> bool {
        let mut state = self.state();
        let is_behind = state.pieces.end() - state.read > (self.share() / 4) as u64;
        let waits = is_behind && !state.is_over && self.readers.load(Ordering::SeqCst) > 0;
        state.wants_room |= waits;
        !waits
    }

    pub(crate) async fn until_room(&self) {
        loop {
            let room = self.room.notified();
            if self.has_room() {
                return;
            }
            room.await;
        }
    }

    /// What the answer's own client reads.
    pub(crate) fn read(self: &Arc<Self>) -> impl Stream<Item = Result<Bytes, io::Error>> + Send + use<> {
        Reader::new(Arc::clone(self), 0, (0, 0), None)
    }

    /// The same, of an answer that nobody else will read.
    pub(crate) fn read_once(self: &Arc<Self>) -> impl Stream<Item = Result<Bytes, io::Error>> + Send + use<> {
        let mut reader = Reader::new(Arc::clone(self), 0, (0, 0), None);
        reader.is_only = true;
        reader
    }

    /// What somebody reads who comes later; `None` when its beginning is gone.
    pub(crate) fn replay(self: &Arc<Self>) -> Option<impl Stream<Item = Result<Bytes, io::Error>> + Send + use<>> {
        let state = self.state();
        let (preamble, at) = match &state.preamble {
            Some((preamble, at)) => (Some(preamble.clone()), *at),
            None => (None, 0),
        };
        let place = state.pieces.find(at)?;
        drop(state);
        Some(Reader::new(Arc::clone(self), at, place, preamble))
    }

    /// Counts a reader that comes.
    fn come(&self) -> MutexGuard<'_, State> {
        let state = self.state();
        if self.readers.fetch_add(1, Ordering::SeqCst) == 0
            && let Some(leave) = &state.leave
        {
            leave(false);
        }
        state
    }

    /// Counts a reader that goes. Returns whether it was the last.
    fn go(&self, state: &State) -> bool {
        let is_last = self.readers.fetch_sub(1, Ordering::SeqCst) == 1;
        if let Some(leave) = state.leave.as_ref().filter(|_| is_last) {
            leave(true);
        }
        is_last
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic of a wire leaves at worst half a frame.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.live.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The front of a run whose answer is a feed: nobody is there to decide, whoever decides asks again.
pub(crate) struct Tap(pub(crate) Arc<Feed>);

impl Front for Tap {
    fn event(&self, event: Event<'_>) {
        self.0.event(event);
    }

    fn room<'a>(&'a self, _: &'a CallId) -> Option<BoxFuture<'a, ()>> {
        (!self.0.has_room()).then(|| self.0.until_room().boxed())
    }

    fn attends(&self) -> bool {
        false
    }
}
