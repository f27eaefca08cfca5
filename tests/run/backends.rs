//! The stores that keep the runs of these tests: memory, SQLite and PostgreSQL. The crate of each engine includes
//! `engine_backends.rs` instead.

use std::sync::Arc;

use tool_runtime::{
    Agent,
    store::{MemoryStore, Store},
};
use tool_stores::SqliteStore;
use tool_test_kit::stores::{File, Schema};

use crate::store_hooks::Wrapped;

/// Returns every kind of store, empty. Each is removed when it is dropped.
pub(crate) async fn stores() -> Vec<Arc<dyn Store>> {
    let file = File::new();
    let sqlite: Arc<dyn Store> = Arc::new(SqliteStore::open(file.path()).unwrap());
    let schema = Schema::new();
    let postgres: Arc<dyn Store> = Arc::new(schema.open().await);
    vec![
        store(),
        Wrapped::new(&sqlite).holding(file).shared(),
        Wrapped::new(&postgres).holding(RemovedOnDrop(Some(schema))).shared(),
    ]
}

/// A schema that is removed with its last user.
struct RemovedOnDrop(Option<Schema>);

impl Drop for RemovedOnDrop {
    fn drop(&mut self) {
        let Some(schema) = self.0.take() else { return };
        // On a separate thread, because this one belongs to a runtime that must not block.
        let removed = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(schema.remove());
        });
        assert!(removed.join().is_ok() || std::thread::panicking(), "the schema was not removed");
    }
}

/// Returns one empty store, for a test that needs no other kind.
pub(crate) fn store() -> Arc<dyn Store> {
    Arc::new(MemoryStore::new())
}

/// Returns the agent with the given store, in which it drives its runs itself.
pub(crate) fn on(agent: Agent, store: &Arc<dyn Store>) -> Agent {
    agent.store(Arc::clone(store))
}

/// Returns the agent, for a test that needs no store.
pub(crate) fn anywhere(agent: Agent) -> Agent {
    agent
}
