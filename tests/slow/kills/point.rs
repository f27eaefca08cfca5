//! The points at which a process can die.

use std::{
    ops::Range,
    path::{Path, PathBuf},
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use futures_util::future::BoxFuture;
use rustix::process::{Signal, getpid, kill_process};
use tool_runtime::{
    agent::{Event, Observer},
    run::{Principal, RunId, Timestamp},
    store::{Append, Lease, Record, RunItem, Store, StoreError, StoredRun, WaitingFilter, WaitingItem},
};

/// The number of the point at which this process dies, or 0.
static DEADLY: AtomicU64 = AtomicU64::new(0);
static PASSED: AtomicU64 = AtomicU64::new(0);
/// The file whose presence lets this process continue, if it stops at that point in place of dying.
static CONTINUE: OnceLock<PathBuf> = OnceLock::new();

/// Lets this process die at the point with this number. 0 is none.
pub(crate) fn die_at(point: u64) {
    DEADLY.store(point, Ordering::SeqCst);
}

/// Stops this process at the point with this number, until somebody creates the file `go_on` and sends SIGCONT.
pub(crate) fn stop_at(point: u64, go_on: PathBuf) {
    CONTINUE.set(go_on).unwrap();
    die_at(point);
}

pub(crate) fn die_after(time: Duration) {
    std::thread::spawn(move || {
        std::thread::sleep(time);
        die();
    });
}

/// Returns the number of points that this process has passed.
pub(crate) fn passed() -> u64 {
    PASSED.load(Ordering::SeqCst)
}

/// Kills this process, as a power failure does, if this is the chosen point.
pub(crate) fn pass_point() {
    if PASSED.fetch_add(1, Ordering::SeqCst) + 1 == DEADLY.load(Ordering::SeqCst) {
        match CONTINUE.get() {
            Some(go_on) => stop(go_on),
            None => die(),
        }
    }
}

/// Stops this process. The signal goes to the process, so this thread may run for a while before it stops: it waits here for
/// the file, and does not go beyond the point.
fn stop(go_on: &Path) {
    kill_process(getpid(), Signal::STOP).unwrap();
    while !go_on.exists() {
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn die() -> ! {
    kill_process(getpid(), Signal::KILL).unwrap();
    loop {
        std::thread::park();
    }
}

/// An observer with points in the middle of a turn, and between the log and its actions.
pub(crate) struct PointObserver;

impl Observer for PointObserver {
    fn on_event(&self, event: Event<'_>) {
        if matches!(event, Event::StepStarted { .. } | Event::CallArguments { .. } | Event::CallStarted(_)) {
            pass_point();
        }
    }
}

/// A store with a point before and after each operation.
pub(crate) struct PointedStore(pub(crate) Arc<dyn Store>);

type Promise<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

fn pass_around<'a, T: 'a>(work: Promise<'a, T>) -> Promise<'a, T> {
    Box::pin(async move {
        pass_point();
        let result = work.await;
        pass_point();
        result
    })
}

impl Store for PointedStore {
    fn append<'a>(&'a self, run: &'a RunId, append: Append) -> Promise<'a, ()> {
        pass_around(self.0.append(run, append))
    }

    fn load<'a>(&'a self, run: &'a RunId) -> Promise<'a, Option<StoredRun>> {
        self.0.load(run)
    }

    fn read<'a>(&'a self, run: &'a RunId, rev: u64) -> Promise<'a, Vec<Record>> {
        self.0.read(run, rev)
    }

    fn save_snapshot<'a>(&'a self, run: &'a RunId, rev: u64, text: String) -> Promise<'a, ()> {
        pass_around(self.0.save_snapshot(run, rev, text))
    }

    fn lease<'a>(&'a self, run: &'a RunId, worker: &'a str, now: Timestamp, ttl: Duration) -> Promise<'a, Lease> {
        pass_around(self.0.lease(run, worker, now, ttl))
    }

    fn release<'a>(&'a self, run: &'a RunId, lease: &'a Lease) -> Promise<'a, ()> {
        pass_around(self.0.release(run, lease))
    }

    fn waiting<'a>(&'a self, filter: &'a WaitingFilter) -> Promise<'a, Vec<WaitingItem>> {
        self.0.waiting(filter)
    }

    fn due(&self, now: Timestamp, limit: usize) -> Promise<'_, Vec<RunId>> {
        self.0.due(now, limit)
    }

    fn list<'a>(&'a self, owner: &'a Principal, page: Range<usize>) -> Promise<'a, Vec<RunItem>> {
        self.0.list(owner, page)
    }

    fn delete<'a>(&'a self, run: &'a RunId) -> Promise<'a, bool> {
        self.0.delete(run)
    }
}
