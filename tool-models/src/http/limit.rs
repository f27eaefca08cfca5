//! Asking no faster than a quota allows.

use std::{collections::VecDeque, sync::Arc, time::Duration};

use tokio::{
    sync::{Mutex, OwnedSemaphorePermit, Semaphore},
    time::{Instant, sleep_until},
};

const MINUTE: Duration = Duration::from_mins(1);

/// How fast requests may be sent; what is over it waits, first come first served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most requests whose answers are still being read. No limit at first.
    pub in_flight: usize,
    /// The most requests begun within any 60 seconds, retries included. No limit at first.
    pub per_minute: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { in_flight: Semaphore::MAX_PERMITS, per_minute: usize::MAX }
    }
}

/// Enforces [`Limits`] on all that share it.
#[derive(Debug)]
pub struct Limiter {
    slots: Arc<Semaphore>,
    per_minute: usize,
    /// When the requests of the last minute began.
    begun: Mutex<VecDeque<Instant>>,
}

impl Default for Limiter {
    fn default() -> Self {
        Self::new(Limits::default())
    }
}

impl Limiter {
    pub fn new(limits: Limits) -> Self {
        // Zero would wait forever, which nobody asks for.
        let slots = Arc::new(Semaphore::new(limits.in_flight.clamp(1, Semaphore::MAX_PERMITS)));
        Self { slots, per_minute: limits.per_minute.max(1), begun: Mutex::default() }
    }

    /// Waits for a turn. The request counts as in flight until the permit is dropped.
    pub async fn acquire(&self) -> OwnedSemaphorePermit {
        let permit = self.slots.clone().acquire_owned().await.expect("the semaphore is never closed");
        if self.per_minute < usize::MAX {
            // Held while waiting: the lock is fair, so it is the queue.
            let mut begun = self.begun.lock().await;
            if begun.len() >= self.per_minute
                && let Some(oldest) = begun.front().copied()
            {
                sleep_until(oldest + MINUTE).await;
                begun.pop_front();
            }
            begun.push_back(Instant::now());
        }
        permit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn begins_no_more_than_the_quota_in_any_minute() {
        let limiter = Limiter::new(Limits { per_minute: 3, ..Limits::default() });
        let start = Instant::now();
        let mut begun = Vec::new();
        for _ in 0..8 {
            drop(limiter.acquire().await);
            begun.push(start.elapsed().as_secs());
        }
        assert_eq!(begun, [0, 0, 0, 60, 60, 60, 120, 120]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_that_is_given_up_does_not_use_up_the_quota() {
        let limiter = Limiter::new(Limits { per_minute: 1, ..Limits::default() });
        drop(limiter.acquire().await);
        assert!(tokio::time::timeout(Duration::from_secs(1), limiter.acquire()).await.is_err());
        let start = Instant::now();
        drop(limiter.acquire().await);
        assert_eq!(start.elapsed().as_secs(), 59);
    }

    #[tokio::test]
    async fn a_slot_is_free_again_when_its_permit_is_dropped() {
        let limiter = Limiter::new(Limits { in_flight: 1, ..Limits::default() });
        let held = limiter.acquire().await;
        let brief = Duration::from_millis(10);
        assert!(tokio::time::timeout(brief, limiter.acquire()).await.is_err());
        drop(held);
        assert!(tokio::time::timeout(brief, limiter.acquire()).await.is_ok());
    }
}
