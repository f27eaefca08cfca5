//! Restate, for the tests that kill.

use std::{env, sync::Arc, time::Duration};

use tokio::{net::TcpListener, time::sleep};
use tool_restate::RestateStore;
use tool_runtime::{Agent, run::RunId, store::Store};

pub(crate) const PID: &str = "ENGINE_PID";
pub(crate) const START: &str = "ENGINE_START";

/// The maximum time between two kills, in milliseconds.
pub(crate) const MAX_KILL_DELAY: u64 = 400;

fn store() -> RestateStore {
    let address = |name: &str| env::var(name).unwrap_or_else(|_| panic!("start this with `scripts/engine restate`"));
    RestateStore::new(&address("ENGINE_INGRESS"), &address("ENGINE_ADMIN")).unwrap()
}

/// Returns the store of a process that does not drive.
#[allow(clippy::unused_async, reason = "that of another engine waits")]
pub(crate) async fn connect(_: &str) -> Arc<dyn Store> {
    Arc::new(store())
}

/// Returns the address of a new service.
pub(crate) async fn new_address() -> String {
    TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().to_string()
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
    store().serve(listener, agents).await;
}

/// Announces the service at `address` to the server, as soon as it answers.
pub(crate) async fn announce(address: &str) {
    while store().register(&format!("http://{address}")).await.is_err() {
        sleep(Duration::from_millis(50)).await;
    }
}
