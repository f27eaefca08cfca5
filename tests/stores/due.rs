//! Checks of the list of runs that a worker should continue.

use std::time::Duration;

use tool_runtime::{run::Timestamp, store::Store};

use tool_test_kit::stores::Stores;

use crate::sample_appends::{append, id};

/// Much longer than a test takes.
const HOUR: Duration = Duration::from_hours(1);
const MINUTE: Duration = Duration::from_mins(1);
/// A minute less than an hour.
const ALMOST: Duration = Duration::from_mins(59);

/// A time after all leases of a test.
const FAR: u64 = 100 * 60 * 60 * 1000;

async fn put(store: &dyn Store, run: &str, rev: u64, is_active: bool, wake: Option<u64>) {
    let mut append = append(rev, run);
    (append.head.is_active, append.head.wake) = (is_active, wake.map(Timestamp));
    store.append(&id(run), append).await.unwrap();
}

async fn due(store: &dyn Store, now: u64) -> Vec<String> {
    store.due(Timestamp(now), 100).await.unwrap().iter().map(ToString::to_string).collect()
}

pub(crate) async fn due_runs_are_active_or_expired_and_not_leased(stores: &Stores) {
    let (one, other) = (&*stores.one, &*stores.other);
    put(one, "active", 0, true, None).await;
    put(one, "both", 0, true, Some(900)).await;
    put(one, "idle", 0, false, None).await;
    put(one, "late", 0, false, Some(500)).await;
    put(one, "later", 0, false, Some(FAR)).await;
    assert_eq!(due(other, 499).await, ["active", "both"]);
    assert_eq!(due(other, 500).await, ["active", "both", "late"]);
    assert_eq!(other.due(Timestamp(500), 2).await.unwrap().len(), 2);
    assert_eq!(other.due(Timestamp(500), 0).await.unwrap().len(), 0);

    let lease = one.lease(&id("active"), "a", Timestamp(500), HOUR).await.unwrap();
    one.lease(&id("late"), "a", Timestamp(500), HOUR).await.unwrap();
    let before = stores.pass(Timestamp(500), ALMOST).await;
    assert_eq!(due(other, before.0).await, ["both"]);
    one.release(&id("active"), &lease).await.unwrap();
    assert_eq!(due(other, before.0).await, ["both", "active"]);
    let after = stores.pass(before, MINUTE).await;
    assert_eq!(due(other, after.0).await, ["both", "active", "late"], "an expired lease hides no run");

    put(other, "active", 1, false, None).await;
    put(other, "both", 1, false, Some(FAR - 1)).await;
    put(other, "late", 1, false, None).await;
    put(other, "idle", 1, true, None).await;
    assert_eq!(due(one, FAR - 2).await, ["idle"]);
    assert_eq!(due(one, FAR).await, ["both", "idle", "later"]);
}

pub(crate) async fn the_run_that_was_driven_longest_ago_comes_first(stores: &Stores) {
    let store = &*stores.one;
    for run in ["a", "b", "c"] {
        put(store, run, 0, true, None).await;
    }
    let mut now = Timestamp(0);
    for run in ["c", "a"] {
        now = stores.pass(now, MINUTE).await;
        let lease = store.lease(&id(run), "w", now, MINUTE).await.unwrap();
        now = stores.pass(now, MINUTE).await;
        store.release(&id(run), &lease).await.unwrap();
    }
    assert_eq!(due(store, now.0).await, ["b", "c", "a"]);
}
