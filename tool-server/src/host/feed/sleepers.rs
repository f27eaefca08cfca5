//! Who is woken when an answer goes on.

use std::{task::Waker, time::Duration};

/// The readers that sleep. They lie under the lock of what they wait for: a `Notify` has one of its own, and costs as much as
/// writing a piece.
#[derive(Default)]
pub(super) struct Sleepers {
    /// How many readers there were.
    numbers: usize,
    asleep: Vec<Sleeper>,
}

struct Sleeper {
    number: usize,
    /// When it wakes by itself.
    until: Duration,
    waker: Waker,
}

impl Sleepers {
    /// A number that no other reader has.
    pub(super) fn number(&mut self) -> usize {
        self.numbers += 1;
        self.numbers
    }

    /// A reader that does not sleep goes to sleep, until something is due if anything is.
    pub(super) fn add(&mut self, number: usize, due: Option<Duration>, waker: Waker) {
        self.asleep.push(Sleeper { number, until: due.unwrap_or(Duration::MAX), waker });
    }

    /// A reader is awake, or leaves. What it would have been woken by is let go of when nothing is locked.
    pub(super) fn remove(&mut self, number: usize) -> Option<Waker> {
        let at = self.asleep.iter().position(|sleeper| sleeper.number == number)?;
        Some(self.asleep.swap_remove(at).waker)
    }

    /// Whether somebody sleeps longer than until then.
    pub(super) fn any_until_after(&self, due: Duration) -> bool {
        self.asleep.iter().any(|sleeper| due < sleeper.until)
    }

    /// Everybody who sleeps, to be woken when nothing is locked.
    pub(super) fn take(&mut self) -> impl Iterator<Item = Waker> + use<> {
        // Mostly there is one, whose place is kept.
        let one = self.asleep.pop();
        let others = if self.asleep.is_empty() { Vec::new() } else { std::mem::take(&mut self.asleep) };
        one.into_iter().chain(others).map(|sleeper| sleeper.waker)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    };

    use super::*;

    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl std::task::Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn whoever_sleeps_is_woken_once_and_who_left_is_not() {
        let woken = [(); 3].map(|()| Arc::new(Woken::default()));
        let mut sleepers = Sleepers::default();
        let numbers = woken.each_ref().map(|woken| {
            let number = sleepers.number();
            sleepers.add(number, None, Arc::clone(woken).into());
            number
        });
        assert!(sleepers.remove(numbers[1]).is_some());
        assert!(sleepers.remove(numbers[1]).is_none());
        for _ in 0..2 {
            sleepers.take().for_each(Waker::wake);
            assert_eq!(woken.each_ref().map(|woken| woken.0.load(Ordering::SeqCst)), [1, 0, 1]);
        }
        // Nothing is kept that would keep a connection.
        assert!(woken.iter().all(|woken| Arc::strong_count(woken) == 1));
    }

    #[test]
    fn only_who_sleeps_longer_is_woken_for_what_is_due() {
        let mut sleepers = Sleepers::default();
        assert!(!sleepers.any_until_after(Duration::ZERO));
        sleepers.add(1, Some(Duration::from_millis(50)), Waker::noop().clone());
        assert!(sleepers.any_until_after(Duration::from_millis(49)));
        assert!(!sleepers.any_until_after(Duration::from_millis(50)));
        sleepers.add(2, None, Waker::noop().clone());
        assert!(sleepers.any_until_after(Duration::from_millis(50)));
    }
}
