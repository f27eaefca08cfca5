//! Checks of leases: one worker at a time has the right to drive a run.
//!
//! The checks call with times of their own, and a database judges leases by its own clock.

use std::time::Duration;

use tool_runtime::{
    run::{RunId, Timestamp},
    store::{Lease, Store, StoreError},
};

use tool_test_kit::stores::Stores;

use crate::sample_appends::{append, create, error_kind, id, with_lease};

/// Much longer than a test takes.
const HOUR: Duration = Duration::from_hours(1);
const MINUTE: Duration = Duration::from_mins(1);
/// A minute less than an hour.
const ALMOST: Duration = Duration::from_mins(59);

/// Returns whether `until` is the end of a lease, at most a minute before `end`.
fn is_near(until: Timestamp, end: Timestamp) -> bool {
    until <= end && until.saturating_add(MINUTE) >= end
}

/// Gives `worker` the lease for an hour.
async fn lease(store: &dyn Store, run: &RunId, worker: &str, now: Timestamp) -> Lease {
    store.lease(run, worker, now, HOUR).await.unwrap()
}

pub(crate) async fn one_worker_at_a_time_has_the_lease(stores: &Stores) {
    let (run, start) = (id("r"), Timestamp(1000));
    assert_eq!(error_kind(stores.one.lease(&run, "a", start, HOUR).await), "not found");
    create(&*stores.one, "r").await;
    let first = lease(&*stores.one, &run, "a", start).await;
    assert_eq!((first.worker.as_str(), first.until), ("a", start.saturating_add(HOUR)));
    let now = stores.pass(start, ALMOST).await;
    match stores.other.lease(&run, "b", now, HOUR).await {
        Err(StoreError::Leased { until }) => assert!(is_near(until, start.saturating_add(HOUR)), "{until:?}"),
        other => panic!("{other:?}"),
    }
    let longer = lease(&*stores.other, &run, "a", now).await;
    assert_eq!((longer.token, longer.until), (first.token, now.saturating_add(HOUR)));
    let now = stores.pass(now, ALMOST).await;
    assert_eq!(error_kind(stores.other.lease(&run, "b", now, HOUR).await), "leased");
    let now = stores.pass(now, MINUTE).await;
    let taken = lease(&*stores.other, &run, "b", now).await;
    assert!(taken.token > longer.token);
    assert_eq!(error_kind(stores.one.lease(&run, "a", now, HOUR).await), "leased");
}

pub(crate) async fn one_of_twenty_workers_gets_the_lease(stores: &Stores) {
    create(&*stores.one, "r").await;
    let tasks: Vec<_> = (0..20)
        .map(|number| {
            let store = stores.nth(number);
            tokio::spawn(async move { store.lease(&id("r"), &format!("w{number}"), Timestamp(0), HOUR).await })
        })
        .collect();
    let mut won = 0;
    for task in tasks {
        match task.await.unwrap() {
            Ok(_) => won += 1,
            Err(StoreError::Leased { .. }) => {}
            Err(other) => panic!("{other}"),
        }
    }
    assert_eq!(won, 1);
}

pub(crate) async fn an_older_token_is_fenced_off(stores: &Stores) {
    let run = id("r");
    create(&*stores.one, "r").await;
    let old = lease(&*stores.one, &run, "a", Timestamp(0)).await;
    stores.one.append(&run, with_lease(&old, append(1, "by a"))).await.unwrap();
    let now = stores.pass(Timestamp(0), HOUR).await;
    let new = lease(&*stores.other, &run, "b", now).await;
    assert_eq!(error_kind(stores.one.append(&run, with_lease(&old, append(2, "late"))).await), "fenced");
    // A decision from outside needs no lease.
    stores.one.append(&run, append(2, "from outside")).await.unwrap();
    assert_eq!(error_kind(stores.other.append(&run, with_lease(&new, append(2, "x"))).await), "conflict");
    stores.other.append(&run, with_lease(&new, append(3, "by b"))).await.unwrap();
}

pub(crate) async fn a_released_lease_is_free(stores: &Stores) {
    let run = id("r");
    create(&*stores.one, "r").await;
    let old = lease(&*stores.one, &run, "a", Timestamp(0)).await;
    let now = stores.pass(Timestamp(0), HOUR).await;
    let new = lease(&*stores.other, &run, "b", now).await;
    stores.one.release(&run, &old).await.unwrap();
    assert_eq!(error_kind(stores.one.lease(&run, "c", now, HOUR).await), "leased");
    stores.other.release(&run, &new).await.unwrap();
    stores.other.release(&run, &new).await.unwrap();
    let next = lease(&*stores.one, &run, "c", now).await;
    assert!(next.token > new.token);
    // After a release, the same worker counts as a new holder.
    stores.one.release(&run, &next).await.unwrap();
    let again = lease(&*stores.one, &run, "c", now).await;
    assert!(again.token > next.token);
    assert_eq!(error_kind(stores.one.append(&run, with_lease(&next, append(1, "late"))).await), "fenced");
    stores.one.release(&id("unknown"), &again).await.unwrap();
}

pub(crate) async fn the_lease_of_a_deleted_run_is_refused(stores: &Stores) {
    let run = id("r");
    create(&*stores.one, "r").await;
    let old = lease(&*stores.one, &run, "a", Timestamp(0)).await;
    stores.other.delete(&run).await.unwrap();
    assert_eq!(error_kind(stores.one.append(&run, with_lease(&old, append(1, "late"))).await), "not found");
    create(&*stores.other, "r").await;
    let new = lease(&*stores.other, &run, "b", Timestamp(0)).await;
    assert_ne!(new.token, old.token);
    assert_eq!(error_kind(stores.one.append(&run, with_lease(&old, append(1, "late"))).await), "fenced");
}

pub(crate) async fn a_lease_without_end_is_kept(stores: &Stores) {
    let run = id("r");
    create(&*stores.one, "r").await;
    let lease = stores.one.lease(&run, "a", Timestamp(1), Duration::MAX).await.unwrap();
    assert_eq!(lease.until, Timestamp(u64::MAX));
    let later = stores.pass(Timestamp(1 << 62), HOUR).await;
    match stores.other.lease(&run, "b", later, HOUR).await {
        Err(StoreError::Leased { until }) => assert_eq!(until, Timestamp(u64::MAX)),
        other => panic!("{other:?}"),
    }
}
