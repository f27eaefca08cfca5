//! The messages from the tasks of a run's calls to the run.

use std::{
    collections::VecDeque,
    future::poll_fn,
    sync::{Mutex, MutexGuard, PoisonError},
    task::{Poll, Waker},
};

use super::{CallEvent, TaskEnd, journal::CallRequest};

/// A queue from the tasks of calls to their run. Most runs have few calls at a time, so it allocates nothing in advance.
#[derive(Default)]
pub struct Inbox(Mutex<Messages>);

#[derive(Default)]
struct Messages {
    ended: VecDeque<TaskEnd>,
    requests: VecDeque<Box<CallRequest>>,
    /// The waker of the run, if it waits.
    waker: Option<Waker>,
    /// Set if the run is not driven any more.
    is_closed: bool,
}

impl Inbox {
    /// Sends the end of a call. It is lost if the run is not driven any more.
    pub fn send_ended(&self, ended: TaskEnd) {
        self.send(ended, |messages, ended| messages.ended.push_back(ended));
    }

    /// Sends a request of a call. It is lost if the run is not driven any more.
    pub fn send_request(&self, request: Box<CallRequest>) {
        self.send(request, |messages, request| messages.requests.push_back(request));
    }

    fn send<T>(&self, message: T, add: impl FnOnce(&mut Messages, T)) {
        let mut messages = self.messages();
        if messages.is_closed {
            // A message may own values of the tool, so it is dropped without the lock.
            drop(messages);
            return drop(message);
        }
        add(&mut messages, message);
        let waker = messages.waker.take();
        drop(messages);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// Waits for the next message: ends come before requests. If the future is dropped, nothing is lost.
    pub async fn next(&self) -> CallEvent {
        poll_fn(|task| {
            let mut messages = self.messages();
            if let Some(ended) = messages.ended.pop_front() {
                return Poll::Ready(CallEvent::Ended(ended));
            }
            if let Some(request) = messages.requests.pop_front() {
                return Poll::Ready(CallEvent::Asked(request));
            }
            messages.waker = Some(task.waker().clone());
            Poll::Pending
        })
        .await
    }

    /// Returns the ends that have arrived already.
    pub fn take_ended(&self) -> VecDeque<TaskEnd> {
        std::mem::take(&mut self.messages().ended)
    }

    /// Returns a request that has arrived already.
    pub fn take_request(&self) -> Option<Box<CallRequest>> {
        self.messages().requests.pop_front()
    }

    /// Drops all messages, and those that come later.
    pub fn close(&self) {
        let closed = Messages { is_closed: true, ..Messages::default() };
        drop(std::mem::replace(&mut *self.messages(), closed));
    }

    fn messages(&self) -> MutexGuard<'_, Messages> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
