//! The server of Restate, and services that drive runs there.

use std::{
    env, fs,
    path::PathBuf,
    process::Command,
    sync::mpsc,
    thread::{self, JoinHandle},
    time::Duration,
};

use tokio::{net::TcpListener, sync::oneshot, time::sleep};
use tool_restate::RestateStore;
use tool_runtime::{Agent, run::RunId};

/// The engine's name in messages.
pub(crate) const NAME: &str = "Restate";

/// The maximum time between two kills, in milliseconds.
pub(crate) const MAX_KILL_DELAY: u64 = 400;

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("{name} is not set; start the tests with `scripts/engine restate`"))
}

/// Returns a new connection to the server.
#[allow(clippy::unused_async, reason = "other engines connect")]
pub(crate) async fn connect() -> RestateStore {
    RestateStore::new(&variable("ENGINE_INGRESS"), &variable("ENGINE_ADMIN")).unwrap()
}

/// Returns the address of a new service.
pub(crate) async fn new_address() -> String {
    TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().to_string()
}

/// Returns a connection to the server, for runs of the service at `address`.
pub(crate) async fn connect_to(_: &str) -> RestateStore {
    connect().await
}

/// Drives runs at `address`, until the process is killed.
pub(crate) async fn serve(address: &str, agents: impl Fn(&RunId) -> Agent + Send + Sync + 'static) {
    let listener = loop {
        match TcpListener::bind(address).await {
            Ok(listener) => break listener,
            // The previous process has the address until it has ended.
            Err(_) => sleep(Duration::from_millis(10)).await,
        }
    };
    connect().await.serve(listener, agents).await;
}

/// Announces the service at `address` to the server, as soon as it answers.
pub(crate) async fn announce(address: &str) {
    while connect().await.register(&format!("http://{address}")).await.is_err() {
        sleep(Duration::from_millis(50)).await;
    }
}

/// Kills the server.
pub(crate) fn kill_server() {
    let pid = fs::read_to_string(variable("ENGINE_PID")).unwrap();
    assert!(Command::new("kill").args(["-9", pid.trim()]).status().unwrap().success());
}

/// Starts the server again, with its data.
pub(crate) fn start_server() {
    let start = PathBuf::from(variable("ENGINE_START"));
    let log = start.with_file_name("log");
    assert!(Command::new(&start).status().unwrap().success(), "see {}", log.display());
}

/// A thread that drives runs, and looks like a process to the server. Dropping this value ends it, even in the middle of a run.
pub(crate) struct Service {
    end: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Service {
    /// Starts to drive runs with `agent`.
    pub(crate) fn start(agent: Agent) -> Self {
        let ((ready, is_ready), (end, has_ended)) = (mpsc::channel(), oneshot::channel());
        let serve = async move || {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let own = format!("http://{}", listener.local_addr().unwrap());
            let store = connect().await;
            let service = store.clone();
            tokio::spawn(async move { service.serve(listener, move |_| agent.clone()).await });
            store.register(&own).await.unwrap();
            ready.send(()).unwrap();
            let _ = has_ended.await;
        };
        let thread = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
            runtime.block_on(serve());
        });
        is_ready.recv_timeout(Duration::from_mins(1)).expect("the service did not start");
        Self { end: Some(end), thread: Some(thread) }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        drop(self.end.take());
        let _ = self.thread.take().map(JoinHandle::join);
    }
}
