//! Threads for `blocking` functions. A call runs on the executor, and moves to a thread while such a function runs.
//!
//! So the layers around the function wait on the executor, where an aborted call is dropped. Only the function itself cannot be
//! stopped. Nobody waits for these threads, not even the end of the runtime: a program ends although a function still blocks.

use std::{
    future::poll_fn,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    task::Poll,
    thread,
};

use tokio::{runtime::Handle, sync::oneshot};

use crate::tool::{CallError, CallFuture, Failure, Output, poll_on_executor, poll_on_thread};

type Outcome = Result<Output, CallError>;

/// Runs a call, whose `blocking` functions get a thread. If the future is dropped, the call is dropped, too, unless it is in
/// the middle of such a function. Then its thread drops it afterwards.
pub async fn with_threads(mut work: CallFuture<'static>) -> Outcome {
    loop {
        let polled = poll_fn(|task| match poll_on_executor(|| work.as_mut().poll(task)) {
            (Poll::Ready(outcome), _) => Poll::Ready(Some(outcome)),
            (Poll::Pending, true) => Poll::Ready(None),
            (Poll::Pending, false) => Poll::Pending,
        });
        if let Some(outcome) = polled.await {
            return outcome;
        }
        let (give_back, back) = oneshot::channel();
        let runtime = Handle::current();
        let running = thread::Builder::new().name("tool".to_owned()).spawn(move || {
            runtime.block_on(on_thread(work, give_back));
        });
        if let Err(error) = running {
            return Err(CallError::Failed(Failure::hidden(format!("no thread for a `blocking` tool: {error}"))));
        }
        match back.await {
            Ok(Moved::Back(on)) => work = on,
            Ok(Moved::Ended(outcome)) => return outcome,
            Ok(Moved::Panicked(panic)) => resume_unwind(panic),
            // The runtime of the call has ended.
            Err(_) => return Err(CallError::Cancelled),
        }
    }
}

/// A call that leaves its thread.
enum Moved {
    Back(CallFuture<'static>),
    Ended(Outcome),
    Panicked(Box<dyn std::any::Any + Send>),
}

/// Polls a call until it has ended, or no `blocking` function is under way. Stops early when nobody waits for it any more.
async fn on_thread(mut work: CallFuture<'static>, mut give_back: oneshot::Sender<Moved>) {
    let moved = poll_fn(|task| {
        if give_back.poll_closed(task).is_ready() {
            return Poll::Ready(None);
        }
        match catch_unwind(AssertUnwindSafe(|| poll_on_thread(|| work.as_mut().poll(task)))) {
            Ok((Poll::Ready(outcome), _)) => Poll::Ready(Some(Moved::Ended(outcome))),
            Ok((Poll::Pending, true)) => Poll::Ready(None),
            Ok((Poll::Pending, false)) => Poll::Pending,
            Err(panic) => Poll::Ready(Some(Moved::Panicked(panic))),
        }
    })
    .await;
    // If nobody waits for the call any more, its values are dropped here, on its thread.
    let _ = give_back.send(moved.unwrap_or(Moved::Back(work)));
}
