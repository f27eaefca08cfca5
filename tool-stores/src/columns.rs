//! Values of runs in the columns of databases, which know only numbers with a sign, and in part no NUL.

use tool_run::run::RecordError;
use tool_runtime::run::{Principal, RunId, Time};
use tool_runtime::store::{StoreError, WaitingItem};

/// Returns the number, or the largest that a database knows.
pub(crate) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Returns the number; 0 for one below, which nobody stores.
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

/// Returns an interrupt as it was stored.
pub(crate) fn waiting_item(run: String, owner: String, body: &str) -> Result<WaitingItem, StoreError> {
    let interrupt = serde_json::from_str(body)
        .map_err(|error| RecordError::Malformed(format!("what waits in run `{run}`: {error}")))?;
    Ok(WaitingItem::new(RunId::from(run), Principal::from(owner), interrupt))
}
