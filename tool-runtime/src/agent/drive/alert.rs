//! A waker that reports whether anything but the model has woken the loop.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Wake, Waker},
};

use futures_util::task::AtomicWaker;

/// The waker of everything that is rare. A loop that was woken without it was woken for the model's next piece, and does not ask
/// everything else: that would cost more than the piece.
#[derive(Default)]
pub struct Alert(Arc<Shared>);

#[derive(Default)]
struct Shared {
    is_raised: AtomicBool,
    /// The driver's own.
    task: AtomicWaker,
}

impl Alert {
    /// Returns a waker that raises the alert.
    pub fn waker(&self) -> Waker {
        Arc::clone(&self.0).into()
    }

    /// Has everything asked once.
    pub fn raise(&self) {
        self.0.is_raised.store(true, Ordering::Release);
    }

    /// Lowers the alert, and returns whether it was raised. If it is raised later, `task` is woken.
    pub fn take(&self, task: &Waker) -> bool {
        self.0.task.register(task);
        self.0.is_raised.swap(false, Ordering::AcqRel)
    }
}

impl Wake for Shared {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.is_raised.store(true, Ordering::Release);
        self.task.wake();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn who_raises_it_wakes_the_task_and_it_is_taken_once() {
        let (alert, woken) = (Alert::default(), Arc::new(Woken::default()));
        let task = Waker::from(Arc::clone(&woken));
        assert!(!alert.take(&task));
        alert.waker().wake();
        assert_eq!(woken.0.load(Ordering::SeqCst), 1);
        assert!(alert.take(&task) && !alert.take(&task));
        // The driver raises it for itself, and is awake.
        alert.raise();
        assert_eq!(woken.0.load(Ordering::SeqCst), 1);
        assert!(alert.take(&task));
    }
}
