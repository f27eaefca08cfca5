//! The start of a tool's function: it begins only while its call stands, and a `blocking` function only where it may block.

use std::{cell::Cell, future::poll_fn, task::Poll};

use super::{CallError, CallFuture, Context, ErasedTool, Failure, Output};

/// Runs the `work` of `tool`, which was prepared in the context `cx`. If `tool` is inside layers, this is the innermost one.
///
/// Every way to a function leads through here. A call may have waited for long before: in a layer, or for a free thread.
///
/// Fails when the call has ended meanwhile, for example by its cancellation. Then the function does not begin.
#[allow(clippy::manual_async_fn, reason = "the future of an `async fn` holds each parameter twice")]
pub(crate) fn start<'a>(
    tool: &'a dyn ErasedTool,
    cx: &'a Context,
    mut work: CallFuture<'a>,
) -> impl Future<Output = Result<Output, CallError>> + Send {
    async move {
        let mut section = None;
        // The function inside layers begins further inside.
        if !tool.is_layer() {
            if cx.lacks_secret() {
                return Err(Failure::new("the tool is not configured").source("it lacks a secret").into());
            }
            if tool.spec().options.blocking {
                section = Some(enter_thread().await);
            }
            if !cx.begin() {
                return Err(CallError::Cancelled);
            }
        }
        let outcome = (&mut work).await;
        drop(work);
        drop(section);
        outcome
    }
}

/// The place in which a call is polled at the moment.
#[derive(Clone, Copy, PartialEq, Eq)]
#[cfg_attr(not(feature = "agent"), allow(dead_code, reason = "only the loop moves calls"))]
enum Place {
    /// A place of the application's choice, where a `blocking` function runs, too.
    Any,
    /// An executor, whose other tasks a `blocking` function would stop.
    Executor,
    /// An executor again. A `blocking` function is about to begin, and waits until its call is polled on a thread.
    ExecutorRefused,
    /// A thread of the call.
    Thread,
}

thread_local! {
    static PLACE: Cell<Place> = const { Cell::new(Place::Any) };
    /// The number of `blocking` functions that have begun and not ended, of the call on this thread.
    static SECTIONS: Cell<usize> = const { Cell::new(0) };
}

/// A `blocking` function that has begun. Until it is dropped, its call stays on its thread.
struct Section {
    on_thread: bool,
}

/// Waits until the call is polled where its function may block.
async fn enter_thread() -> Section {
    poll_fn(|task| match PLACE.get() {
        Place::Any => Poll::Ready(Section { on_thread: false }),
        Place::Thread => {
            SECTIONS.set(SECTIONS.get() + 1);
            Poll::Ready(Section { on_thread: true })
        }
        Place::Executor | Place::ExecutorRefused => {
            PLACE.set(Place::ExecutorRefused);
            // A layer may poll this future only after a notification.
            task.waker().wake_by_ref();
            Poll::Pending
        }
    })
    .await
}

impl Drop for Section {
    fn drop(&mut self) {
        if self.on_thread {
            SECTIONS.set(SECTIONS.get().saturating_sub(1));
        }
    }
}

/// Sets the place for the time of a poll.
#[cfg(feature = "agent")]
struct Placed(Place);

#[cfg(feature = "agent")]
impl Placed {
    fn at(place: Place) -> Self {
        Self(PLACE.replace(place))
    }
}

#[cfg(feature = "agent")]
impl Drop for Placed {
    fn drop(&mut self) {
        PLACE.set(self.0);
    }
}

/// Polls a call on an executor. Returns whether it must go on on a thread, because a `blocking` function is about to begin.
#[cfg(feature = "agent")]
pub(crate) fn poll_on_executor<T>(poll: impl FnOnce() -> Poll<T>) -> (Poll<T>, bool) {
    let _placed = Placed::at(Place::Executor);
    let polled = poll();
    (polled, PLACE.get() == Place::ExecutorRefused)
}

/// Polls a call on its thread. Returns whether it may leave the thread, because no `blocking` function is under way.
#[cfg(feature = "agent")]
pub(crate) fn poll_on_thread<T>(poll: impl FnOnce() -> Poll<T>) -> (Poll<T>, bool) {
    let _placed = Placed::at(Place::Thread);
    let polled = poll();
    (polled, SECTIONS.get() == 0)
}
