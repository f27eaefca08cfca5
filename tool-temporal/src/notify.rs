//! Notifications from a workflow to the sessions that wait for its log, as far as they are in the same process.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use tokio::sync::watch;

/// The lengths of logs, by the ids of workflows that a session in this process waits for.
static LENGTHS: Mutex<Option<HashMap<String, watch::Sender<u64>>>> = Mutex::new(None);

fn with<R>(act: impl FnOnce(&mut HashMap<String, watch::Sender<u64>>) -> R) -> R {
    act(LENGTHS.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default())
}

/// Returns the length of the log of the workflow `id`, from now on.
pub fn lengths(id: &str) -> watch::Receiver<u64> {
    with(|all| {
        if let Some(length) = all.get(id) {
            return length.subscribe();
        }
        // Logs that no session waits for any more are forgotten here.
        all.retain(|_, length| length.receiver_count() > 0);
        let length = watch::Sender::new(0);
        let lengths = length.subscribe();
        all.insert(id.to_owned(), length);
        lengths
    })
}

/// Reports that the log of the workflow `id` has `length` entries.
pub fn report(id: &str, length: u64) {
    with(|all| all.get(id).map(|known| known.send_replace(length)));
}
