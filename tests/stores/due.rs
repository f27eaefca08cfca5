//! The list of runs that a worker should take up.

use std::time::Duration;

use tool_runtime::{run::Time, store::Store};

use tool_test_kit::stores::Stores;

use crate::made::{append, id};

const SECOND: Duration = Duration::from_secs(1);

async fn put(store: &dyn Store, run: &str, rev: u64, is_active: bool, wake: Option<u64>) {
    let mut append = append(rev, run);
    (append.head.is_active, append.head.wake) = (is_active, wake.map(Time));
    store.append(&id(run), append).await.unwrap();
}

async fn due(store: &dyn Store, now: u64) -> Vec<String> {
    store.due(Time(now), 100).await.unwrap().iter().map(ToString::to_string).collect()
}

pub(crate) async fn expired_active_and_leased(stores: &Stores) {
    let (one, other) = (&*stores.one, &*stores.other);
    put(one, "active", 0, true, None).await;
    put(one, "both", 0, true, Some(900)).await;
    put(one, "idle", 0, false, None).await;
    put(one, "late", 0, false, Some(500)).await;
    put(one, "later", 0, false, Some(5000)).await;
    assert_eq!(due(other, 499).await, ["active", "both"]);
    assert_eq!(due(other, 500).await, ["active", "both", "late"]);
    assert_eq!(other.due(Time(500), 2).await.unwrap().len(), 2);
    assert_eq!(other.due(Time(500), 0).await.unwrap().len(), 0);

    let lease = one.lease(&id("active"), "a", Time(500), SECOND).await.unwrap();
    one.lease(&id("late"), "a", Time(500), SECOND).await.unwrap();
    assert_eq!(due(other, 1499).await, ["both"]);
    assert_eq!(due(other, 1500).await, ["both", "active", "late"], "leases that are over hold nobody off");
    one.release(&id("active"), &lease).await.unwrap();
    assert_eq!(due(other, 1499).await, ["both", "active"]);

    put(other, "active", 1, false, None).await;
    put(other, "both", 1, false, Some(2000)).await;
    put(other, "late", 1, false, None).await;
    put(other, "idle", 1, true, None).await;
    assert_eq!(due(one, 1999).await, ["idle"]);
    assert_eq!(due(one, 5000).await, ["both", "idle", "later"]);
}

pub(crate) async fn the_longest_left_alone_comes_first(stores: &Stores) {
    let store = &*stores.one;
    for run in ["a", "b", "c"] {
        put(store, run, 0, true, None).await;
    }
    for (now, run) in [(10, "a"), (20, "c")] {
        let lease = store.lease(&id(run), "w", Time(now), SECOND).await.unwrap();
        store.release(&id(run), &lease).await.unwrap();
    }
    assert_eq!(due(store, 30).await, ["b", "a", "c"]);
}
