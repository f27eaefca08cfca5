//! Queues of changes to stored runs.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, Weak},
};

use tokio::sync::OwnedMutexGuard;

use crate::run::RunId;
use crate::sync::lock;

/// A queue for each run whose changes by this process fail each other's appends: one after the other loads the run and appends.
#[derive(Default)]
pub struct ChangeQueues(Mutex<HashMap<RunId, Weak<tokio::sync::Mutex<()>>>>);

impl ChangeQueues {
    /// Waits for the changes of `run` that came before. The guard lets the next one in.
    pub async fn enter(&self, run: &RunId) -> OwnedMutexGuard<()> {
        let queue = {
            let mut queues = lock(&self.0);
            queues.retain(|_, queue| queue.strong_count() > 0);
            let known = queues.get(run).and_then(Weak::upgrade);
            known.unwrap_or_else(|| {
                let queue = Arc::default();
                queues.insert(run.clone(), Arc::downgrade(&queue));
                queue
            })
        };
        queue.lock_owned().await
    }
}
