//! Leases: the right to drive a run.

use std::time::Duration;

use tool_runtime::{run::Time, store::StoreError};

use tool_test_kit::stores::Stores;

use crate::made::{append, create, id, kind, under};

const SECOND: Duration = Duration::from_secs(1);

pub(crate) async fn one_worker_at_a_time(stores: &Stores) {
    let run = id("r");
    assert_eq!(kind(stores.one.lease(&run, "a", Time(0), SECOND).await), "not found");
    create(&*stores.one, "r").await;
    let first = stores.one.lease(&run, "a", Time(1000), SECOND).await.unwrap();
    assert_eq!((first.worker.as_str(), first.until), ("a", Time(2000)));
    match stores.other.lease(&run, "b", Time(1999), SECOND).await {
        Err(StoreError::Leased { until }) => assert_eq!(until, Time(2000)),
        other => panic!("{other:?}"),
    }
    let longer = stores.other.lease(&run, "a", Time(1500), SECOND).await.unwrap();
    assert_eq!((longer.token, longer.until), (first.token, Time(2500)));
    assert_eq!(kind(stores.other.lease(&run, "b", Time(2499), SECOND).await), "leased");
    let taken = stores.other.lease(&run, "b", Time(2500), SECOND).await.unwrap();
    assert!(taken.token > longer.token);
    assert_eq!(kind(stores.one.lease(&run, "a", Time(2600), SECOND).await), "leased");
}

pub(crate) async fn one_of_twenty_gets_it(stores: &Stores) {
    create(&*stores.one, "r").await;
    let tasks: Vec<_> = (0..20)
        .map(|number| {
            let store = stores.nth(number);
            tokio::spawn(async move { store.lease(&id("r"), &format!("w{number}"), Time(0), SECOND).await })
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
    let old = stores.one.lease(&run, "a", Time(0), SECOND).await.unwrap();
    stores.one.append(&run, under(&old, append(1, "by a"))).await.unwrap();
    let new = stores.other.lease(&run, "b", Time(1000), SECOND).await.unwrap();
    assert_eq!(kind(stores.one.append(&run, under(&old, append(2, "late"))).await), "fenced");
    // A decision from outside needs no lease.
    stores.one.append(&run, append(2, "from outside")).await.unwrap();
    assert_eq!(kind(stores.other.append(&run, under(&new, append(2, "x"))).await), "conflict");
    stores.other.append(&run, under(&new, append(3, "by b"))).await.unwrap();
}

pub(crate) async fn giving_back(stores: &Stores) {
    let run = id("r");
    create(&*stores.one, "r").await;
    let old = stores.one.lease(&run, "a", Time(0), SECOND).await.unwrap();
    let new = stores.other.lease(&run, "b", Time(1000), SECOND).await.unwrap();
    stores.one.release(&run, &old).await.unwrap();
    assert_eq!(kind(stores.one.lease(&run, "c", Time(1001), SECOND).await), "leased");
    stores.other.release(&run, &new).await.unwrap();
    stores.other.release(&run, &new).await.unwrap();
    let next = stores.one.lease(&run, "c", Time(1001), SECOND).await.unwrap();
    assert!(next.token > new.token);
    // After a release, the same worker counts as a new holder.
    stores.one.release(&run, &next).await.unwrap();
    let again = stores.one.lease(&run, "c", Time(1002), SECOND).await.unwrap();
    assert!(again.token > next.token);
    assert_eq!(kind(stores.one.append(&run, under(&next, append(1, "late"))).await), "fenced");
    stores.one.release(&id("unknown"), &again).await.unwrap();
}

pub(crate) async fn of_a_deleted_run_is_worth_nothing(stores: &Stores) {
    let run = id("r");
    create(&*stores.one, "r").await;
    let old = stores.one.lease(&run, "a", Time(0), SECOND).await.unwrap();
    stores.other.delete(&run).await.unwrap();
    assert_eq!(kind(stores.one.append(&run, under(&old, append(1, "late"))).await), "not found");
    create(&*stores.other, "r").await;
    let new = stores.other.lease(&run, "b", Time(0), SECOND).await.unwrap();
    assert_ne!(new.token, old.token);
    assert_eq!(kind(stores.one.append(&run, under(&old, append(1, "late"))).await), "fenced");
}

pub(crate) async fn for_ever(stores: &Stores) {
    let run = id("r");
    create(&*stores.one, "r").await;
    let lease = stores.one.lease(&run, "a", Time(1), Duration::MAX).await.unwrap();
    assert_eq!(lease.until, Time(u64::MAX));
    match stores.other.lease(&run, "b", Time(1 << 62), SECOND).await {
        Err(StoreError::Leased { until }) => assert_eq!(until, Time(u64::MAX)),
        other => panic!("{other:?}"),
    }
}
