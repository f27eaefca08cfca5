//! Conversion of a run's values to database columns, and back. The databases have only signed numbers.

use tool_run::run::RecordError;
use tool_runtime::run::{Principal, RunId, Timestamp};
use tool_runtime::store::{StoreError, WaitingItem};

/// Converts a number to a column's type. A number that is too large becomes the maximum.
pub(crate) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Converts a column's number back. A negative number, which is never stored, becomes 0.
pub(crate) fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

/// Converts a size to a column's type, like [`signed`].
pub(crate) fn size(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Converts a column's number to a time.
pub(crate) fn time(number: i64) -> Timestamp {
    // The maximum stands for a time that never comes.
    if number == i64::MAX { Timestamp(u64::MAX) } else { Timestamp(unsigned(number)) }
}

/// Parses the stored interrupt `body` of a run. Fails if the text is not an interrupt.
pub(crate) fn parse_waiting_item(run: String, owner: String, body: &str) -> Result<WaitingItem, StoreError> {
    let interrupt = serde_json::from_str(body)
        .map_err(|error| RecordError::Malformed(format!("the interrupts of run `{run}`: {error}")))?;
    Ok(WaitingItem::new(RunId::from(run), Principal::from(owner), interrupt))
}
