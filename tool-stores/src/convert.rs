//! Conversion of a run's values to database columns. Databases have only signed numbers, and some texts without NUL.

use tool_run::run::RecordError;
use tool_runtime::run::{Principal, RunId, Time};
use tool_runtime::store::{StoreError, WaitingItem};

/// Returns the number, or the largest number of a database.
pub(crate) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Returns the number, or 0 for a negative one, which is never stored.
pub(crate) fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

pub(crate) fn size(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(crate) fn time(number: i64) -> Time {
    // A time that is that far away never comes.
    if number == i64::MAX { Time(u64::MAX) } else { Time(unsigned(number)) }
}

/// Reads a stored interrupt.
pub(crate) fn waiting_item(run: String, owner: String, body: &str) -> Result<WaitingItem, StoreError> {
    let interrupt = serde_json::from_str(body)
        .map_err(|error| RecordError::Malformed(format!("the interrupts of run `{run}`: {error}")))?;
    Ok(WaitingItem::new(RunId::from(run), Principal::from(owner), interrupt))
}
