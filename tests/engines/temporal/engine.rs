//! The server of Temporal, and processes that drive runs there.

use std::{
    env, fs,
    process::{self, Command},
    sync::atomic::{AtomicU32, Ordering},
    thread::{self, JoinHandle},
};

use tokio::sync::oneshot;
use tool_runtime::{Agent, run::RunId};
use tool_temporal::TemporalStore;

/// The engine's name in messages.
pub(crate) const NAME: &str = "Temporal";

/// The maximum time between two kills, in milliseconds.
pub(crate) const MAX_KILL_DELAY: u64 = 1500;

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("{name} is not set; start the tests with `scripts/engine temporal`"))
}

/// Returns the task queue of this process's services.
fn queue() -> String {
    format!("tool-temporal-{}", process::id())
}

/// Returns a new connection to the server.
pub(crate) async fn connect() -> TemporalStore {
    connect_to(&queue()).await
}

/// Returns the name of a new task queue.
#[allow(clippy::unused_async, reason = "that of another engine waits")]
pub(crate) async fn new_address() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("kills-{}-{}", process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// Returns a connection to the server, for runs of the task queue `queue`.
pub(crate) async fn connect_to(queue: &str) -> TemporalStore {
    TemporalStore::connect(&variable("TEMPORAL_ADDRESS"), queue).await.unwrap()
}

/// Drives runs of `queue`, until the process is killed.
pub(crate) async fn serve(queue: &str, agents: impl Fn(&RunId) -> Agent + Send + Sync + 'static) {
    connect_to(queue).await.serve(agents).await.unwrap();
}

/// Does nothing: a worker needs no announcement.
#[allow(clippy::unused_async, reason = "that of another engine waits")]
pub(crate) async fn announce(_: &str) {}

/// Kills the server.
pub(crate) fn kill_server() {
    let pid = fs::read_to_string(variable("TEMPORAL_PID")).unwrap();
    assert!(Command::new("kill").args(["-9", pid.trim()]).status().unwrap().success());
}

/// Starts the server again, with its data.
pub(crate) fn start_server() {
    assert!(Command::new(variable("TEMPORAL_START")).status().unwrap().success());
}

/// A thread that drives runs, and looks like a process to the server. Dropping this value ends it, even in the middle of a run.
pub(crate) struct Service {
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Service {
    /// Starts to drive runs with `agent`.
    pub(crate) fn start(agent: Agent) -> Self {
        let (end, has_ended) = oneshot::channel();
        let serve = async move || {
            let runs = connect().await;
            tokio::select! {
                served = runs.serve(move |_| agent.clone()) => served.unwrap(),
                _ = has_ended => {}
            }
        };
        let thread = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
            runtime.block_on(serve());
        });
        Self { end: Some(end), thread: Some(thread) }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        drop(self.end.take());
        let _ = self.thread.take().map(JoinHandle::join);
    }
}
