//! A service in this process for all tests.

use std::{
    sync::{Arc, LazyLock, OnceLock},
    time::Duration,
};

use tokio::net::TcpListener;
use tool_restate::RestateStore;
use tool_runtime::{
    Agent, Toolset,
    agent::{Session, Suspend},
    model::{ScriptedModel, ScriptedTurn, Turn},
    run::{Run, RunId},
    store::{MemoryStore, Store},
};

use crate::backends;

pub(crate) fn address(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set; start the tests with `scripts/engine restate`"))
}

/// Passes pieces of turns from the service to the other connections.
static PIECES: LazyLock<Arc<MemoryStore>> = LazyLock::new(Arc::default);

/// Returns a new connection to the server.
pub(crate) fn connection() -> RestateStore {
    let store = RestateStore::new(&address("ENGINE_INGRESS"), &address("ENGINE_ADMIN")).unwrap();
    store.pieces_over(Arc::clone(&PIECES))
}

/// Returns the store on Restate, whose runs this process drives.
pub(crate) fn engine() -> Arc<dyn Store> {
    serve();
    Arc::new(connection())
}

/// Starts the service of this process, once.
fn serve() {
    static SERVED: OnceLock<()> = OnceLock::new();
    SERVED.get_or_init(|| {
        let store = connection();
        let (ready, is_ready) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async move {
                let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
                let own = format!("http://{}", listener.local_addr().unwrap());
                let service = store.clone();
                let serving = tokio::spawn(async move { service.serve(listener, backends::driver).await });
                store.register(&own).await.unwrap();
                ready.send(()).unwrap();
                serving.await.unwrap();
            });
        });
        is_ready.recv_timeout(Duration::from_secs(30)).expect("the service did not start");
    });
}

/// Returns a session of a new run that an agent of these tools and turns drives. The session's own model says only "never".
pub(crate) fn session<A: Into<ScriptedTurn>>(tools: Toolset, turns: impl IntoIterator<Item = A>) -> Session {
    let driver = Agent::new(ScriptedModel::new(turns)).tools(tools.clone()).operator(Suspend);
    session_with(tools, driver)
}

/// Returns a session of a new run that `driver` drives, even while no session follows the run.
pub(crate) fn session_with(tools: Toolset, driver: Agent) -> Session {
    serve();
    let session = front(tools).session();
    backends::serve(session.id(), driver);
    session
}

/// Returns the agent of a process that drives no runs.
pub(crate) fn front(tools: Toolset) -> Agent {
    Agent::new(ScriptedModel::new([Turn::say("never")])).tools(tools).operator(Suspend).store(connection())
}

/// Waits until `is_so` holds of the run, and returns a session of it.
pub(crate) async fn wait_until(agent: &Agent, id: &RunId, is_so: impl Fn(&Run) -> bool) -> Session {
    let waiting = async {
        loop {
            match agent.open(id).await {
                Ok(session) if is_so(session.run()) => break session,
                _ => tokio::time::sleep(Duration::from_millis(50)).await,
            }
        }
    };
    tokio::time::timeout(Duration::from_mins(1), waiting).await.expect("the run did not get there")
}
