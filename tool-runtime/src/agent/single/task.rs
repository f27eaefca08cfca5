//! What polls a call that has no run.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    task::{Context, Poll},
};

use futures_util::future::BoxFuture;
use tokio::task::JoinHandle;

use crate::agent::driver::spawn;

/// The work of a call. Dropped, it is given up.
pub(super) enum Task<T> {
    /// Its caller polls it, unless it is over: nothing has to be done beside it, so a task of its own would only be woken to
    /// wake its caller.
    Here(Option<BoxFuture<'static, T>>),
    /// It has a task of its own.
    Own(JoinHandle<T>),
}

impl<T: Send + 'static> Task<T> {
    /// With `alone`, what polls it is free meanwhile, even if the work never lets go of its thread; so may `blocking` work.
    pub(super) fn new(work: impl Future<Output = T> + Send + 'static, alone: bool, blocking: bool) -> Self {
        if alone || blocking { Self::Own(spawn(work, blocking)) } else { Self::Here(Some(Box::pin(work))) }
    }
}

impl<T> Future for Task<T> {
    /// `None` where the runtime has dropped it.
    type Output = Option<T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let work = match &mut *self {
            Self::Own(task) => return Pin::new(task).poll(cx).map(Result::ok),
            Self::Here(work) => work,
        };
        let ended = work.as_mut().map_or(Poll::Ready(None), |work| work.as_mut().poll(cx).map(Some));
        if ended.is_ready() {
            *work = None;
        }
        ended
    }
}

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        match self {
            // What a tool holds may panic when it is dropped: that is the call's affair, not its caller's.
            Self::Here(work) => drop(catch_unwind(AssertUnwindSafe(|| drop(work.take())))),
            Self::Own(task) => task.abort(),
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::Task;

    struct Bomb;

    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("what a tool held");
        }
    }

    #[tokio::test]
    async fn what_panics_when_it_is_given_up_stays_inside() {
        for alone in [false, true] {
            let work = async {
                let _bomb = Bomb;
                std::future::pending::<()>().await;
            };
            let mut task = Task::new(work, alone, false);
            assert!((&mut task).now_or_never().is_none());
            drop(task);
            tokio::task::yield_now().await;
        }
    }
}
