//! Guards against tests that hang. No test asserts durations, because they depend on the machine's load.

use std::{fs, future::Future, process, sync::mpsc, thread, time::Duration};

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

/// Checks that a process does almost nothing for two seconds. A loop that never waits takes all the time of a core.
pub async fn assert_idle(process: u32) {
    let before = cpu_time(process);
    tokio::time::sleep(Duration::from_secs(2)).await;
    let used = cpu_time(process).saturating_sub(before);
    println!("process {process} used {used:?} in two seconds");
    assert!(used < Duration::from_millis(500), "process {process} used {used:?} in two seconds");
}

/// Returns the time that a process has spent on the processor. It reads Linux's `/proc`, which counts in steps of 10 ms.
fn cpu_time(process: u32) -> Duration {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).expect("a process of this machine");
    // The name of the program, in parentheses, may contain spaces.
    let (_, fields) = stat.rsplit_once(')').expect("a name");
    let ticks = fields.split_whitespace().skip(11).take(2).map(|field| field.parse::<u64>().expect("a number"));
    Duration::from_millis(ticks.sum::<u64>() * 10)
}
