//! What every store does in the same way.

use std::time::Duration;

use super::Head;
use crate::run::Time;

impl Head {
    /// From when on somebody should take the run up; `None` for never.
    pub(super) fn due(&self) -> Option<Time> {
        if self.is_active { Some(Time(0)) } else { self.wake }
    }
}

pub(super) fn lease_end(now: Time, ttl: Duration) -> Time {
    now.plus(u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX))
}
