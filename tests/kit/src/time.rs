//! Guards against tests that hang. No test asserts durations, because they depend on the machine's load.

use std::{future::Future, process, sync::mpsc, thread, time::Duration};

/// The maximum duration of a piece of work. It only ends tests that would never end.
const PATIENCE: Duration = Duration::from_mins(5);

/// Returns the output of `future`. Panics with `what` if the future hangs.
pub async fn within<F: Future>(what: &str, future: F) -> F::Output {
    tokio::time::timeout(PATIENCE, future).await.unwrap_or_else(|_| panic!("{what} hangs"))
}

/// Returns the output of `work`, which does not yield. Ends the process with `what` if the work hangs.
pub fn within_blocking<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let (done, ends) = mpsc::channel::<()>();
    let message = format!("{what} hangs");
    thread::spawn(move || {
        if ends.recv_timeout(PATIENCE) == Err(mpsc::RecvTimeoutError::Timeout) {
            eprintln!("{message}");
            process::abort();
        }
    });
    let output = work();
    drop(done);
    output
}
