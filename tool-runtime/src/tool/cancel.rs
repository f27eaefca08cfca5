//! Cancellation, without a timer or an executor.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use event_listener::Event;

/// Tells a tool that nobody waits for it any more. Clones belong to one signal.
#[derive(Clone, Debug, Default)]
pub struct Cancellation {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    cancelled: AtomicBool,
    event: Event,
}

impl Cancellation {
    /// A signal that has not been given.
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives the signal. Again has no effect.
    pub fn cancel(&self) {
        self.shared.cancelled.store(true, Ordering::SeqCst);
        self.shared.event.notify(usize::MAX);
    }

    /// Whether the signal was given.
    pub fn is_cancelled(&self) -> bool {
        self.shared.cancelled.load(Ordering::SeqCst)
    }

    /// Waits until the signal is given.
    pub async fn cancelled(&self) {
        while !self.is_cancelled() {
            let listener = self.shared.event.listen();
            if self.is_cancelled() {
                return;
            }
            listener.await;
        }
    }
}
