//! The replay buffer: the bytes of one response, kept for several readers. Each reader begins at the beginning, and then reads
//! bytes as they arrive.

use std::{
    collections::VecDeque,
    io,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use super::{lock, shares::BufferOwner, transcript::next_piece};
use crate::protocol::{Encoder, End};
use axum::{
    body::Body,
    http::{HeaderMap, HeaderName, HeaderValue, header},
    response::Response,
};
use bytes::{Bytes, BytesMut};
use futures_core::Stream;
use futures_util::{
    future::{BoxFuture, FutureExt},
    stream::unfold,
};
use tokio::{
    sync::Notify,
    time::{Instant, timeout_at},
};
use tool_runtime::{
    agent::{Event, Observer},
    run::CallId,
};

/// The number of bytes that each response may keep, however many responses there are.
const MIN_BYTES: usize = 64 * 1024;

/// The comment that is sent during silence, so that no proxy closes the connection.
const KEEP_ALIVE: &[u8] = b": keep-alive\n\n";

/// A response as bytes. The run's driver writes it, and any number of clients read it.
///
/// All readers share one copy of the bytes, up to a limit. The buffer drops the oldest bytes without waiting, and disconnects a
/// reader that still needs them.
pub(crate) struct ReplayBuffer {
    state: Mutex<State>,
    /// Wakes the readers when there is more.
    more: Notify,
    /// Wakes tools when readers have made room.
    room: Notify,
    began: Instant,
    limits: ReplayLimits,
    /// The principal of the response, whose part of the limit of all responses its responses share.
    owner: Arc<BufferOwner>,
    readers: AtomicUsize,
    /// Set if the observer leaves events out.
    muted: AtomicBool,
}

/// A function that the buffer calls with `true` when the last reader has left, and with `false` when the first reader comes.
pub(crate) type OnReaders = Box<dyn Fn(bool) + Send + Sync>;

/// The limits of replay buffers, and the interval of keep-alive comments.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReplayLimits {
    /// The number of bytes that one response may keep.
    pub(crate) bytes: usize,
    /// The number of bytes that all responses together may keep.
    pub(crate) total: usize,
    pub(crate) keep_alive: Duration,
}

impl Default for ReplayLimits {
    fn default() -> Self {
        Self { bytes: 8 * 1024 * 1024, total: 256 * 1024 * 1024, keep_alive: Duration::from_secs(15) }
    }
}

#[derive(Default)]
struct State {
    encoder: Option<Box<dyn Encoder>>,
    segments: Segments,
    /// The position in the response after the frames of [`Encoder::begin`].
    opened: u64,
    /// The bytes that late readers get in place of these frames.
    preamble: Option<Bytes>,
    /// The number of the segment with the last frame, if that frame names a request.
    closing: Option<u64>,
    /// The time at which the encoder writes bytes that it holds back. The readers sleep until then.
    due: Option<Duration>,
    /// The position that the fastest reader has reached.
    read: u64,
    /// Set if a tool waits until readers have read more.
    wants_room: bool,
    on_readers: Option<OnReaders>,
    is_over: bool,
}

impl ReplayBuffer {
    pub(crate) fn new(limits: ReplayLimits, owner: Arc<BufferOwner>) -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::default(),
            more: Notify::new(),
            room: Notify::new(),
            began: Instant::now(),
            limits,
            owner,
            readers: AtomicUsize::new(0),
            muted: AtomicBool::new(false),
        })
    }

    /// Begins the response. Late readers get `preamble` in place of its first frames. The buffer calls `on_readers` when the last
    /// reader leaves before the response's end, and when a reader comes back.
    pub(crate) fn begin(
        &self,
        mut encoder: Box<dyn Encoder>,
        preamble: Option<Vec<u8>>,
        on_readers: Option<OnReaders>,
    ) {
        let mut state = self.state();
        encoder.begin(&mut state.segments.fresh);
        state.opened = state.segments.end();
        (state.encoder, state.preamble, state.on_readers) = (Some(encoder), preamble.map(Bytes::from), on_readers);
        self.publish(state);
    }

    /// Sets whether the observer leaves events out of the response.
    pub(crate) fn mute(&self, is_muted: bool) {
        self.muted.store(is_muted, Ordering::SeqCst);
    }

    /// Writes the encoder's pending data: parts that it has held back long enough, and parts that did not come as events.
    pub(crate) fn flush(&self) {
        let now = self.began.elapsed();
        self.write(|encoder, out| encoder.flush(now, out));
    }

    /// Ends the response. A second call has no effect.
    pub(crate) fn end(&self, end: End<'_>) {
        let mut guard = self.state();
        let state = &mut *guard;
        if let Some(encoder) = state.encoder.as_mut().filter(|_| !state.is_over) {
            let segments = &mut state.segments;
            encoder.end(end, &mut segments.fresh);
            let mut closing = Vec::new();
            encoder.end_for(None, &mut closing);
            if !closing.is_empty() {
                // This frame is a separate segment, because other requests read their own frame in its place.
                segments.freeze(self.share());
                state.closing = Some(segments.next());
                segments.fresh = closing;
            }
        }
        (state.is_over, state.on_readers) = (true, None);
        drop(guard);
        self.more.notify_waiters();
        self.room.notify_waiters();
    }

    /// Writes to the response, unless it has ended.
    pub(crate) fn write(&self, change: impl FnOnce(&mut dyn Encoder, &mut Vec<u8>)) {
        let mut guard = self.state();
        let state = &mut *guard;
        let Some(encoder) = state.encoder.as_mut().filter(|_| !state.is_over) else { return };
        let before = state.segments.fresh.len();
        change(&mut **encoder, &mut state.segments.fresh);
        let is_sooner = || encoder.due().is_some_and(|due| state.due.is_none_or(|until| due < until));
        if state.segments.fresh.len() > before || is_sooner() {
            self.publish(guard);
        }
    }

    /// Releases the state, and wakes the readers.
    fn publish(&self, mut state: MutexGuard<'_, State>) {
        let share = self.share();
        if state.segments.fresh.len() > share / 4 {
            state.segments.freeze(share);
        }
        drop(state);
        self.more.notify_waiters();
    }

    /// Returns the number of bytes that this response may keep.
    fn share(&self) -> usize {
        self.owner.part_of(self.limits.total).max(MIN_BYTES).min(self.limits.bytes)
    }

    /// Returns whether a tool that can wait may write more, because the fastest reader is not far behind or there is no reader.
    fn has_room(&self) -> bool {
        let mut state = self.state();
        let is_behind = state.segments.end() - state.read > (self.share() / 4) as u64;
        let waits = is_behind && !state.is_over && self.readers.load(Ordering::SeqCst) > 0;
        state.wants_room |= waits;
        !waits
    }

    /// Waits until a tool may write more.
    pub(crate) async fn wait_for_room(&self) {
        loop {
            let room = self.room.notified();
            if self.has_room() {
                return;
            }
            room.await;
        }
    }

    /// Returns the response for its own client. If `is_only` is set, no other client will read it.
    pub(crate) fn read(self: &Arc<Self>, is_only: bool) -> impl Stream<Item = io::Result<Bytes>> + Send + use<> {
        let mut reader = Reader::new(Arc::clone(self), 0, (0, 0));
        reader.is_only = is_only;
        reader.stream()
    }

    /// Returns whether a client that comes later can read the response from its beginning.
    pub(crate) fn has_beginning(&self) -> bool {
        let state = self.state();
        state.segments.find(if state.preamble.is_some() { state.opened } else { 0 }).is_some()
    }

    /// Returns the response for a client that has all messages before it, and reads `opening` in place of the first frames. Returns
    /// `None` if the response does not continue a message, or if its beginning is no longer kept.
    pub(crate) fn replay_after(
        self: &Arc<Self>,
        opening: Vec<u8>,
    ) -> Option<impl Stream<Item = io::Result<Bytes>> + Send + use<>> {
        let state = self.state();
        let (at, start) = (state.opened, state.segments.find(state.opened).filter(|_| state.preamble.is_some())?);
        drop(state);
        let mut reader = Reader::new(Arc::clone(self), at, start);
        reader.opening.push_back(opening.into());
        Some(reader.stream())
    }

    /// Returns the response for a client that comes later, or `None` if its beginning is no longer kept. Frames that name a
    /// request name `request`, if it is given. `messages` are frames with the conversation before the response. If they are
    /// given, the client first gets them and the frontend's state.
    pub(crate) fn replay(
        self: &Arc<Self>,
        request: Option<String>,
        messages: Vec<Bytes>,
    ) -> Option<impl Stream<Item = io::Result<Bytes>> + Send + use<>> {
        let state = self.state();
        let (mut begin, mut own) = (Vec::new(), Vec::new());
        if let Some(encoder) = &state.encoder {
            encoder.begin_for(request.as_deref(), &mut begin);
            encoder.begin_for(None, &mut own);
        }
        let opening = match &state.encoder {
            // A copy of the request that began the response gets the same first frames.
            Some(encoder) if begin != own || !messages.is_empty() => {
                let mut frontend = Vec::new();
                if !messages.is_empty() {
                    encoder.write_state(&mut frontend);
                }
                [begin.into()].into_iter().chain(messages).chain([frontend.into()]).collect()
            }
            _ => VecDeque::from_iter(state.preamble.clone()),
        };
        let at = if opening.is_empty() { 0 } else { state.opened };
        let start = state.segments.find(at)?;
        drop(state);
        let mut reader = Reader::new(Arc::clone(self), at, start);
        (reader.opening, reader.request) = (opening, request);
        Some(reader.stream())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic of an encoder leaves at worst an incomplete frame.
        lock(&self.state)
    }
}

/// An observer that writes a run's events into a buffer.
pub(crate) struct ReplayObserver(pub(crate) Arc<ReplayBuffer>);

impl Observer for ReplayObserver {
    fn on_event(&self, event: Event<'_>) {
        let buffer = &self.0;
        if !buffer.muted.load(Ordering::SeqCst) {
            let now = buffer.began.elapsed();
            buffer.write(|encoder, out| encoder.event(event, now, out));
        }
    }

    fn wait_for_room<'a>(&'a self, _: &'a CallId) -> Option<BoxFuture<'a, ()>> {
        (!self.0.has_room()).then(|| self.0.wait_for_room().boxed())
    }
}

/// A client that reads the response, and its position.
struct Reader {
    buffer: Arc<ReplayBuffer>,
    /// The number of the next segment, and the number of its bytes to skip.
    segment: u64,
    skip: usize,
    /// The position of the next byte in the response.
    at: u64,
    /// The bytes to send before all others.
    opening: VecDeque<Bytes>,
    /// The id of this reader's request, if another request began the response.
    request: Option<String>,
    /// Set if no other client will read the response, so that the buffer need not keep bytes that were read.
    is_only: bool,
    /// The time at which bytes were last sent.
    sent: Instant,
}

/// The result of looking for the next bytes.
enum Look {
    Found(Bytes),
    /// The buffer no longer keeps them.
    Gone,
    End,
    /// There are no new bytes. Bytes that the encoder holds back are `due` at this time.
    Nothing {
        due: Option<Duration>,
    },
}

impl Reader {
    /// Creates a reader that begins at byte `at`, which is the byte `skip` of segment number `segment`.
    fn new(buffer: Arc<ReplayBuffer>, at: u64, (segment, skip): (u64, usize)) -> Self {
        let state = buffer.state();
        if buffer.readers.fetch_add(1, Ordering::SeqCst) == 0
            && let Some(on_readers) = &state.on_readers
        {
            on_readers(false);
        }
        drop(state);
        let (opening, sent) = (VecDeque::new(), Instant::now());
        Self { buffer, segment, skip, at, opening, request: None, is_only: false, sent }
    }

    fn stream(self) -> impl Stream<Item = io::Result<Bytes>> + Send + use<> {
        unfold(Some(self), |reader| async move {
            let mut reader = reader?;
            let next = reader.next().await?;
            let rest = next.is_ok().then_some(reader);
            Some((next, rest))
        })
    }

    async fn next(&mut self) -> Option<io::Result<Bytes>> {
        if let Some(opening) = next_piece(&mut self.opening) {
            return Some(Ok(opening));
        }
        let buffer = Arc::clone(&self.buffer);
        loop {
            // Registered before the look, so that no notification in between is missed.
            let more = buffer.more.notified();
            let due = match self.look() {
                Look::Found(bytes) => {
                    self.sent = Instant::now();
                    return Some(Ok(bytes));
                }
                Look::Gone => return Some(Err(io::Error::other("the client reads too slowly"))),
                Look::End => return None,
                Look::Nothing { due } => due.map(|due| buffer.began + due),
            };
            let is_late = timeout_at(due.unwrap_or(self.sent + buffer.limits.keep_alive), more).await.is_err();
            if is_late && due.is_some() {
                buffer.flush();
            } else if is_late {
                self.sent = Instant::now();
                return Some(Ok(Bytes::from_static(KEEP_ALIVE)));
            }
        }
    }

    fn look(&mut self) -> Look {
        let mut guard = self.buffer.state();
        let state = &mut *guard;
        state.segments.freeze(self.buffer.share());
        let mut bytes = loop {
            match state.segments.get(self.segment) {
                Err(Gone) => return Look::Gone,
                Ok(None) if state.is_over => return Look::End,
                Ok(None) => {
                    state.due = state.encoder.as_ref().and_then(|encoder| encoder.due());
                    return Look::Nothing { due: state.due };
                }
                Ok(Some(segment)) => {
                    let skip = std::mem::take(&mut self.skip);
                    self.segment += 1;
                    if skip < segment.len() {
                        break segment.slice(skip..);
                    }
                    self.skip = skip - segment.len();
                }
            }
        };
        self.at += bytes.len() as u64;
        if let (Some(request), Some(encoder)) = (&self.request, &state.encoder)
            && state.closing == Some(self.segment - 1)
        {
            let mut closing = Vec::new();
            encoder.end_for(Some(request), &mut closing);
            bytes = closing.into();
        }
        if self.is_only {
            state.segments.forget(self.segment);
        }
        state.read = state.read.max(self.at);
        let is_waited_for = std::mem::take(&mut state.wants_room);
        drop(guard);
        if is_waited_for {
            self.buffer.room.notify_waiters();
        }
        Look::Found(bytes)
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let state = self.buffer.state();
        let is_last = self.buffer.readers.fetch_sub(1, Ordering::SeqCst) == 1;
        if let Some(on_readers) = state.on_readers.as_ref().filter(|_| is_last) {
            on_readers(true);
        }
        drop(state);
        if is_last {
            self.buffer.room.notify_waiters();
        }
    }
}

/// The least size of a write that becomes a segment without a copy, in bytes. Smaller writes share allocations.
const LARGE: usize = 4 * 1024;

/// The size of the allocation that small segments share, in bytes.
const BLOCK: usize = 1024;

/// The bytes of a response, in numbered segments. The oldest segments are dropped when there are too many bytes.
#[derive(Default)]
struct Segments {
    /// The bytes that are not in a segment yet.
    fresh: Vec<u8>,
    block: BytesMut,
    kept: VecDeque<Bytes>,
    kept_bytes: usize,
    /// The position in the response at which `kept` begins.
    first: u64,
    /// The number of the first segment in `kept`.
    number: u64,
}

/// The error for a segment that was dropped.
#[derive(Debug)]
struct Gone;

impl Segments {
    /// Makes the fresh bytes a segment, and drops the oldest segments while more than `most` bytes are kept. The latest segment
    /// always stays.
    fn freeze(&mut self, most: usize) {
        if self.fresh.is_empty() {
            return;
        }
        let segment = if self.fresh.len() >= LARGE {
            Bytes::from(std::mem::take(&mut self.fresh))
        } else {
            if self.block.capacity() < self.fresh.len() {
                self.block.reserve(BLOCK.max(self.fresh.len()));
            }
            self.block.extend_from_slice(&self.fresh);
            self.fresh.clear();
            self.block.split().freeze()
        };
        self.kept_bytes += segment.len();
        self.kept.push_back(segment);
        while self.kept_bytes > most && self.kept.len() > 1 {
            self.forget_oldest();
        }
    }

    /// Drops the segments before `number`.
    fn forget(&mut self, number: u64) {
        while self.number < number && self.forget_oldest() {}
    }

    fn forget_oldest(&mut self) -> bool {
        let Some(oldest) = self.kept.pop_front() else { return false };
        self.kept_bytes -= oldest.len();
        self.first += oldest.len() as u64;
        self.number += 1;
        true
    }

    /// Returns the number of the next segment.
    fn next(&self) -> u64 {
        self.number + self.kept.len() as u64
    }

    /// Returns the position after the last written byte.
    fn end(&self) -> u64 {
        self.first + (self.kept_bytes + self.fresh.len()) as u64
    }

    /// Returns the segment with this number, or `None` if it does not exist yet.
    fn get(&self, number: u64) -> Result<Option<&Bytes>, Gone> {
        let at = number.checked_sub(self.number).ok_or(Gone)?;
        Ok(usize::try_from(at).ok().and_then(|at| self.kept.get(at)))
    }

    /// Returns the number of the segment that contains, or will contain, the byte `at`, and the byte's offset there. Returns
    /// `None` if the byte was dropped.
    fn find(&self, at: u64) -> Option<(u64, usize)> {
        let mut left = usize::try_from(at.checked_sub(self.first)?).ok()?;
        let mut number = self.number;
        for segment in &self.kept {
            if left < segment.len() {
                break;
            }
            left -= segment.len();
            number += 1;
        }
        Some((number, left))
    }
}

/// The media type of event streams.
const EVENT_STREAM: HeaderValue = HeaderValue::from_static("text/event-stream");

/// Returns a response with an event stream, and headers that keep proxies from holding it back.
pub(crate) fn event_stream(body: impl Stream<Item = io::Result<Bytes>> + Send + 'static) -> Response {
    let mut response = Response::new(Body::from_stream(body));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, EVENT_STREAM);
    headers.insert(header::CONNECTION, HeaderValue::from_static("keep-alive"));
    keep_streaming(headers);
    response
}

/// Returns a response with all frames of an event stream.
pub(crate) fn finished_stream(frames: Vec<u8>) -> Response {
    event_stream(futures_util::stream::iter([Ok(frames.into())]))
}

/// Adds the headers that keep proxies from holding an event stream back. Changes nothing for other content.
///
/// A proxy that compresses waits for more bytes. `no-transform` forbids that.
pub(crate) fn keep_streaming(headers: &mut HeaderMap) {
    if headers.get(header::CONTENT_TYPE) == Some(&EVENT_STREAM) {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
        headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    }
}

#[cfg(test)]
mod tests {
    use futures_util::StreamExt;

    use super::*;

    fn write(segments: &mut Segments, text: &str, most: usize) {
        segments.fresh.extend_from_slice(text.as_bytes());
        segments.freeze(most);
    }

    #[test]
    fn segments_of_any_size_are_read_as_written() {
        let mut segments = Segments::default();
        let texts: Vec<String> = (1..200).map(|size| "x".repeat(size * size % 6000 + 1)).collect();
        for text in &texts {
            write(&mut segments, text, usize::MAX);
        }
        for (number, text) in (0..).zip(&texts) {
            assert_eq!(segments.get(number).unwrap().unwrap(), text.as_bytes());
        }
        assert!(matches!(segments.get(texts.len() as u64), Ok(None)));
        assert_eq!(segments.end(), texts.iter().map(String::len).sum::<usize>() as u64);
    }

    #[test]
    fn the_oldest_are_forgotten() {
        let mut segments = Segments::default();
        for text in ["abc", "de", "fgh"] {
            write(&mut segments, text, 5);
        }
        assert!(segments.get(0).is_err() && segments.find(2).is_none());
        assert_eq!(segments.find(4), Some((1, 1)));
        assert_eq!(segments.find(5), Some((2, 0)));
        assert_eq!(segments.find(8), Some((3, 0)));
        assert_eq!(segments.end(), 8);
        // The latest segment is kept, whatever its size.
        write(&mut segments, &"x".repeat(9000), 5);
        assert!(segments.get(3).unwrap().is_some());
    }

    /// An encoder that holds each text back for 50 ms.
    #[derive(Default)]
    struct Held(Option<Duration>);

    impl Encoder for Held {
        fn begin(&mut self, _: &mut Vec<u8>) {}

        fn event(&mut self, _: Event<'_>, now: Duration, _: &mut Vec<u8>) {
            self.0 = Some(now + Duration::from_millis(50));
        }

        fn due(&self) -> Option<Duration> {
            self.0
        }

        fn flush(&mut self, now: Duration, out: &mut Vec<u8>) {
            if self.0.take_if(|due| *due <= now).is_some() {
                out.extend_from_slice(b"held");
            }
        }

        fn end(&mut self, _: End<'_>, out: &mut Vec<u8>) {
            out.extend_from_slice(b"end");
        }
    }

    #[tokio::test]
    async fn readers_wake_for_new_and_due_bytes_and_leave_nothing_behind() {
        let buffer = ReplayBuffer::new(ReplayLimits::default(), BufferOwner::alone());
        buffer.begin(Box::<Held>::default(), None, None);
        let mut readers = [(); 3].map(|()| Some(Box::pin(buffer.read(false))));
        let began = Instant::now();
        for reader in readers.iter_mut().flatten() {
            assert!(reader.next().now_or_never().is_none());
        }
        drop(readers[1].take());
        ReplayObserver(Arc::clone(&buffer)).on_event(Event::Text("x"));
        for reader in readers.iter_mut().flatten() {
            assert_eq!(reader.next().await.unwrap().unwrap(), &b"held"[..]);
        }
        assert!(began.elapsed() >= Duration::from_millis(50));
        buffer.end(End::new(None, None));
        for reader in readers.iter_mut().flatten() {
            assert_eq!(reader.next().await.unwrap().unwrap(), &b"end"[..]);
            assert!(reader.next().await.is_none());
        }
        drop(readers);
        assert_eq!(Arc::strong_count(&buffer), 1);
    }
}
