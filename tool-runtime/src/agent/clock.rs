//! The time that runs go by.

#[cfg(feature = "test-util")]
mod fake;

use std::{
    future::pending,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

#[cfg(feature = "test-util")]
use futures_util::FutureExt as _;
use tokio::time::Instant;

use crate::run::Time;

#[cfg(feature = "test-util")]
pub use fake::Clock;

/// This machine's clock, or one that a test made.
#[derive(Clone, Debug, Default)]
pub struct Source {
    #[cfg(feature = "test-util")]
    made: Option<Clock>,
}

#[cfg_attr(not(feature = "test-util"), allow(clippy::unused_self, reason = "without a test there is one clock"))]
impl Source {
    #[cfg(feature = "test-util")]
    pub fn made(clock: &Clock) -> Self {
        Self { made: Some(clock.clone()) }
    }

    pub fn now(&self) -> Time {
        #[cfg(feature = "test-util")]
        if let Some(made) = &self.made {
            return made.now();
        }
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Time(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }

    /// The moment of a time on this clock; now, if it has passed.
    pub fn instant(&self, time: Time) -> Instant {
        Instant::now() + Duration::from_millis(time.0.saturating_sub(self.now().0))
    }

    /// Waits until somebody sets the clock forward after now.
    pub fn moved(&self) -> impl Future<Output = ()> + Send + use<> {
        #[cfg(feature = "test-util")]
        if let Some(made) = &self.made {
            return made.moved().left_future();
        }
        #[cfg(feature = "test-util")]
        return pending().right_future();
        #[cfg(not(feature = "test-util"))]
        pending()
    }
}
