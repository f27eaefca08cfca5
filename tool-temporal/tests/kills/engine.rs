//! Temporal, for the tests that kill.

use std::{
    env, process,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use tool_runtime::{Agent, run::RunId, store::Store};
use tool_temporal::TemporalStore;

pub(crate) const PID: &str = "TEMPORAL_PID";
pub(crate) const START: &str = "TEMPORAL_START";

/// The maximum time between two kills, in milliseconds.
pub(crate) const MAX_KILL_DELAY: u64 = 1500;

async fn store(queue: &str) -> TemporalStore {
    let address = env::var("TEMPORAL_ADDRESS").unwrap_or_else(|_| panic!("start this with `scripts/engine temporal`"));
    TemporalStore::connect(&address, queue).await.unwrap()
}

/// Returns the store of a process that does not drive.
pub(crate) async fn connect(queue: &str) -> Arc<dyn Store> {
    Arc::new(store(queue).await)
}

/// Returns the name of a new task queue.
#[allow(clippy::unused_async, reason = "that of another engine waits")]
pub(crate) async fn new_address() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("kills-{}-{}", process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// Drives runs of `queue`, until the process is killed.
pub(crate) async fn serve(queue: &str, agents: impl Fn(&RunId) -> Agent + Send + Sync + 'static) {
    store(queue).await.serve(agents).await.unwrap();
}

/// Does nothing: a worker needs no announcement.
#[allow(clippy::unused_async, reason = "that of another engine waits")]
pub(crate) async fn announce(_: &str) {}
