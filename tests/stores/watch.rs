//! Tests of notifications about entries that other processes append.

use std::time::Duration;

use futures_util::{StreamExt as _, stream::BoxStream};
use tokio::time::timeout;
use tool_runtime::{
    run::Timestamp,
    store::{Store, StoreError},
};
use tool_stores::PostgresOptions;
use tool_test_kit::stores::{File, Schema, Stores};

use crate::sample_appends::{append, create, id, with_lease};

/// Waits for a notification that the log may have `rev` entries or more.
async fn wait_for_rev(news: &mut BoxStream<'static, u64>, rev: u64) {
    let reached = async { while news.next().await.expect("the notifications ended") < rev {} };
    timeout(Duration::from_secs(20), reached).await.expect("no notification arrived");
}

/// Waits until the store receives notifications.
async fn wait_for_connection(stores: &Stores) {
    create(&*stores.one, "probe").await;
    let mut news = stores.other.watch(&id("probe")).unwrap();
    let mut rev = 1;
    while timeout(Duration::from_millis(100), news.next()).await.is_err() {
        stores.one.append(&id("probe"), append(rev, "x")).await.unwrap();
        rev += 1;
    }
}

pub(crate) async fn appends_from_outside_and_the_end_are_notified(stores: &Stores) {
    let name = "ü \u{0} \\ r";
    create(&*stores.one, name).await;
    create(&*stores.one, "other").await;
    let mut news = stores.other.watch(&id(name)).unwrap();
    wait_for_connection(stores).await;
    stores.one.append(&id("other"), append(1, "x")).await.unwrap();
    stores.one.append(&id(name), append(1, "x")).await.unwrap();
    wait_for_rev(&mut news, 2).await;
    stores.other.append(&id(name), append(2, "x")).await.unwrap();
    wait_for_rev(&mut news, 3).await;
    // The store sends no notification of a refused append, or of entries that a reader already has.
    assert!(matches!(stores.one.append(&id(name), append(1, "x")).await, Err(StoreError::Conflict)));
    let mut second = stores.other.watch(&id(name)).unwrap();
    drop(news);
    stores.one.append(&id(name), append(3, "x")).await.unwrap();
    assert_eq!(timeout(Duration::from_secs(20), second.next()).await.unwrap(), Some(4));
    stores.one.delete(&id(name)).await.unwrap();
    wait_for_rev(&mut second, 5).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memory_notifies_of_appends() {
    let stores = Stores::memory();
    assert!(stores.one.watch(&id("nobody knows it")).is_none());
    appends_from_outside_and_the_end_are_notified(&stores).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgresql_notifies_other_processes() {
    let schema = Schema::new();
    appends_from_outside_and_the_end_are_notified(&schema.stores().await).await;
    schema.remove().await;
}

#[test]
fn sqlite_notifies_of_nothing() {
    let file = File::new();
    assert!(file.stores().one.watch(&id("r")).is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_workers_own_appends_cost_no_notification_in_postgresql() {
    let schema = Schema::new();
    let stores = schema.stores().await;
    create(&*stores.one, "r").await;
    let mut news = stores.other.watch(&id("r")).unwrap();
    wait_for_connection(&stores).await;
    let lease = stores.one.lease(&id("r"), "worker", Timestamp(0), Duration::from_secs(9)).await.unwrap();
    stores.one.append(&id("r"), with_lease(&lease, append(1, "mine"))).await.unwrap();
    stores.one.append(&id("r"), append(2, "a decision")).await.unwrap();
    while let Some(rev) = timeout(Duration::from_secs(20), news.next()).await.unwrap() {
        if rev == 3 {
            break;
        }
        // This notification reports the new connection.
        assert_eq!(rev, u64::MAX);
    }
    schema.remove().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_follower_is_notified_of_the_workers_appends() {
    let schema = Schema::new();
    for stores in [Stores::memory(), schema.stores().await] {
        create(&*stores.one, "r").await;
        let lease = stores.one.lease(&id("r"), "worker", Timestamp(0), Duration::from_secs(9)).await.unwrap();
        let driver = stores.one.watch(&id("r")).unwrap();
        let mut news = stores.other.follow(&id("r")).unwrap();
        // The store sends no notification of appends before the worker's process knows of the follower.
        stores.one.append(&id("r"), with_lease(&lease, append(1, "x"))).await.unwrap();
        let mut rev = 2;
        while !timeout(Duration::from_millis(200), news.next()).await.is_ok_and(|notified| notified == Some(rev)) {
            stores.one.append(&id("r"), with_lease(&lease, append(rev, "x"))).await.unwrap();
            rev += 1;
            assert!(rev < 100, "no append was notified");
        }
        for rev in rev..rev + 3 {
            stores.one.append(&id("r"), with_lease(&lease, append(rev, "x"))).await.unwrap();
            wait_for_rev(&mut news, rev + 1).await;
        }
        drop(driver);
    }
    schema.remove().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn watchers_read_again_after_a_lost_connection_or_an_append_with_a_long_name() {
    let schema = Schema::new();
    let other = PostgresOptions::new().schema(&schema.name).connect(&schema.named_url()).await.unwrap();
    let stores = Stores::of(std::sync::Arc::new(schema.open().await), std::sync::Arc::new(other));
    create(&*stores.one, "r").await;
    let long = "a".repeat(8_000);
    create(&*stores.one, &long).await;
    let mut news = stores.other.watch(&id("r")).unwrap();
    wait_for_connection(&stores).await;
    stores.one.append(&id(&long), append(1, "x")).await.unwrap();
    wait_for_rev(&mut news, u64::MAX).await;
    schema.cut().await;
    wait_for_rev(&mut news, u64::MAX).await;
    stores.one.append(&id("r"), append(1, "x")).await.unwrap();
    wait_for_rev(&mut news, 2).await;
    schema.remove().await;
}
