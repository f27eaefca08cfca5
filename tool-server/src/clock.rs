//! The time on this machine's clock.

use std::time::{SystemTime, UNIX_EPOCH};

use tool_runtime::run::Time;

/// Now.
pub(crate) fn now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
