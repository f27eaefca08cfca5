//! Numbers of 64 bits in databases, which know only those with a sign.

use tool_runtime::run::Time;

/// The number, or the largest that a database knows.
pub(crate) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The number; 0 for one below, which nobody stores.
pub(crate) fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

pub(crate) fn size(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(crate) fn time(number: i64) -> Time {
    // What is that far away is never over.
    if number == i64::MAX { Time(u64::MAX) } else { Time(unsigned(number)) }
}
