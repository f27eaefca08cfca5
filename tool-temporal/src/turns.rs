//! The turns that the readers of a run in this process take.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    sync::{Mutex as Turn, OwnedMutexGuard},
    time::timeout,
};
use tool_runtime::run::RunId;

/// The time after which a reader goes ahead out of turn, for example because no process serves.
const MAX_WAIT: Duration = Duration::from_secs(10);

/// The turns by run.
#[derive(Default)]
pub struct Turns(Mutex<HashMap<RunId, Arc<Turn<()>>>>);

impl Turns {
    /// Waits for the readers of `run` that came before. The turn ends when the returned value is dropped.
    pub async fn wait(&self, run: &RunId) -> Option<OwnedMutexGuard<()>> {
        let turn = {
            let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            // Runs that nobody reads any more are forgotten here.
            all.retain(|_, turn| Arc::strong_count(turn) > 1);
            Arc::clone(all.entry(run.clone()).or_default())
        };
        timeout(MAX_WAIT, turn.lock_owned()).await.ok()
    }
}
