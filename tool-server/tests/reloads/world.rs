//! A server with its model and tools, and requests to it.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::Semaphore;
use tool_server::AgUi;
use tool_stores::sealed::{Key, Keyring, MemoryNonces};

use super::{Kind, tools};
use crate::ai_sdk::reload::{Stream, World as Server};

/// The time by which the paused clock advances when no task can go on.
const SETTLE_TIME: Duration = Duration::from_millis(200);

pub(crate) struct World {
    pub(crate) kind: Kind,
    server: Server,
    ran: Arc<AtomicUsize>,
}

impl World {
    pub(crate) fn new(kind: Kind) -> Self {
        let ran = Arc::new(AtomicUsize::new(0));
        let state = tools::State { done: Arc::new(Semaphore::new(0)), ran: Arc::clone(&ran) };
        let server = Server::of(tools::tools(&state), state.done, |server| {
            let server = server.ag_ui(AgUi::new().detach(|_| true));
            if kind.is_sealed {
                let keys = Keyring::new("test", Key::from_bytes([7; 32]));
                server.stateless(&keys, "desk", Arc::new(MemoryNonces::new()))
            } else {
                server
            }
        });
        Self { kind, server, ran }
    }

    pub(crate) async fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Stream {
        self.server.ask("anna", method, path, body).await
    }

    /// Waits until all tasks of the server have ended, or wait for a permit.
    pub(crate) async fn settle(&self) {
        tokio::time::sleep(SETTLE_TIME).await;
    }

    /// Lets the model, or one call, go on.
    pub(crate) async fn release(&self) {
        self.server.done.add_permits(1);
        self.server.hold.add_permits(1);
        self.settle().await;
        // A permit that nobody waited for must not release a later wait.
        for permits in [&self.server.done, &self.server.hold] {
            permits.forget_permits(permits.available_permits());
        }
    }

    /// Returns the number of approved calls that ran.
    pub(crate) fn ran(&self) -> usize {
        self.ran.load(Ordering::SeqCst)
    }
}
