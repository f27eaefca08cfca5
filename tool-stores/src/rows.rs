//! What the stores with tables keep of obligations.

use tool_runtime::run::{Principal, RecordError, RunId};
use tool_runtime::store::{StoreError, WaitingItem};

/// An obligation as it was stored.
pub(crate) fn waiting_item(run: String, owner: String, body: &str) -> Result<WaitingItem, StoreError> {
    let obligation = serde_json::from_str(body)
        .map_err(|error| RecordError::Malformed(format!("what waits in run `{run}`: {error}")))?;
    Ok(WaitingItem::new(RunId::from(run), Principal::from(owner), obligation))
}
