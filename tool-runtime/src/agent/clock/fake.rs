//! A clock that a test sets forward.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use event_listener::Event;
use tokio::time::Instant;

use crate::run::Timestamp;

/// A clock for [`Agent::clock`](crate::Agent::clock): approvals, grants and leases expire when a test sets it forward. Clones
/// are the same clock.
///
/// It starts at a fixed time, follows tokio's time, and is set forward by [`advance`](Self::advance). The time limits of
/// tools and the waits between retries follow tokio's time alone. With paused time (`#[tokio::test(start_paused = true)]`,
/// tokio's feature `test-util`), the clock follows the paused time too. A wait for the next timer then takes no real time.
///
/// ```
/// use std::time::Duration;
/// use tool_runtime::test::TestClock;
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let clock = TestClock::new();
/// let before = clock.now();
/// clock.advance(Duration::from_secs(3600));
/// assert!(clock.now() >= before.saturating_add(Duration::from_secs(3600)));
/// # });
/// ```
#[derive(Clone)]
pub struct TestClock {
    inner: Arc<Inner>,
}

struct Inner {
    start: Timestamp,
    began: Instant,
    /// The milliseconds by which a test has set the clock forward.
    ahead: AtomicU64,
    moved: Event,
}

impl TestClock {
    /// Creates a clock that shows midnight of 1 January 2026, UTC.
    pub fn new() -> Self {
        Self::at(Timestamp(1_767_225_600_000))
    }

    /// Creates a clock that shows `time`.
    pub fn at(time: Timestamp) -> Self {
        let inner = Inner { start: time, began: Instant::now(), ahead: AtomicU64::new(0), moved: Event::new() };
        Self { inner: Arc::new(inner) }
    }

    /// Returns the time on the clock.
    pub fn now(&self) -> Timestamp {
        let ahead = self.inner.ahead.load(Ordering::SeqCst);
        self.inner.start.saturating_add(self.inner.began.elapsed() + Duration::from_millis(ahead))
    }

    /// Sets the clock forward. The drivers of runs notice this at once.
    pub fn advance(&self, by: Duration) {
        self.inner.ahead.fetch_add(millis(by), Ordering::SeqCst);
        self.inner.moved.notify(usize::MAX);
    }

    /// Waits until the clock is set forward after this call.
    pub(super) fn moved(&self) -> event_listener::EventListener {
        self.inner.moved.listen()
    }
}

impl Default for TestClock {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for TestClock {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("TestClock").field(&self.now()).finish()
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
