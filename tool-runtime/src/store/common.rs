//! What every store does in the same way.

use std::{slice, time::Duration};

use super::{Head, StoreError, WaitingItem};
use crate::run::{Obligation, Principal, RecordError, RunId, Time};

impl Head {
    /// From when on somebody should take the run up; `None` for never.
    pub(super) fn due(&self) -> Option<Time> {
        if self.is_active { Some(Time(0)) } else { self.wake }
    }

    /// Who may decide: those who are named, or the run's owner.
    pub(super) fn deciders<'a>(&'a self, obligation: &'a Obligation) -> &'a [Principal] {
        if obligation.deciders.is_empty() { slice::from_ref(&self.owner) } else { &obligation.deciders }
    }
}

pub(super) fn lease_end(now: Time, ttl: Duration) -> Time {
    now.plus(u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX))
}

/// An obligation as it was stored.
pub(super) fn waiting_item(run: String, owner: String, body: &str) -> Result<WaitingItem, StoreError> {
    let obligation = serde_json::from_str(body)
        .map_err(|error| RecordError::Malformed(format!("what waits in run `{run}`: {error}")))?;
    Ok(WaitingItem { run: RunId::from(run), owner: Principal::from(owner), obligation })
}
