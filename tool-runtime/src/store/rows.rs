//! What the stores with tables keep of obligations.

use std::slice;

use super::{Head, StoreError, WaitingItem};
use crate::run::{Obligation, Principal, RecordError, RunId};

impl Head {
    /// Who may decide: those who are named, or the run's owner.
    pub(super) fn deciders<'a>(&'a self, obligation: &'a Obligation) -> &'a [Principal] {
        if obligation.deciders.is_empty() { slice::from_ref(&self.owner) } else { &obligation.deciders }
    }
}

/// An obligation as it was stored.
pub(super) fn waiting_item(run: String, owner: String, body: &str) -> Result<WaitingItem, StoreError> {
    let obligation = serde_json::from_str(body)
        .map_err(|error| RecordError::Malformed(format!("what waits in run `{run}`: {error}")))?;
    Ok(WaitingItem { run: RunId::from(run), owner: Principal::from(owner), obligation })
}
