//! Ending a server without losing what it is at.

use std::{sync::Arc, time::Duration};

use super::Registry;

/// Ends a server's answers, for whoever shuts it down. Cheap to clone.
#[derive(Clone)]
pub struct Handle {
    registry: Arc<Registry>,
}

impl Handle {
    pub(crate) fn new(registry: Arc<Registry>) -> Self {
        Self { registry }
    }

    /// Takes no more requests, waits up to `grace` for the answers that are under way, and lets go of the others. Their
    /// runs stay in the store as they are: whoever takes them up goes on, and asks about calls that may have had effects
    /// ([`Agent::sweep`](tool_runtime::Agent::sweep)).
    pub async fn suspend(&self, grace: Duration) {
        self.registry.close();
        let running = self.registry.all();
        let all_over = async {
            for running in &running {
                running.over().await;
            }
        };
        if tokio::time::timeout(grace, all_over).await.is_err() {
            for running in &running {
                running.abandon();
            }
        }
    }
}

impl std::fmt::Debug for Handle {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Handle({} answers)", self.registry.all().len())
    }
}
