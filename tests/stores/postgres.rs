//! Tests of PostgreSQL only: a server that can stop, tables that other processes create at the same time, and a clock of its
//! own.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tool_runtime::{
    run::Timestamp,
    store::{Store as _, StoreError},
};
use tool_stores::{PostgresOptions, PostgresStore};

use tool_test_kit::stores::Schema;

use crate::sample_appends::{append, create, error_kind, id, with_lease};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_processes_create_the_tables_at_once() {
    let schema = Schema::new();
    let stores = futures_util::future::join_all((0..8).map(|_| schema.open())).await;
    create(&stores[0], "r").await;
    for store in &stores {
        assert_eq!(store.read(&id("r"), 0).await.unwrap().len(), 1);
    }
    schema.remove().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_connection_is_replaced() {
    let schema = Schema::new();
    let store =
        PostgresOptions::new().schema(&schema.name).max_connections(1).connect(&schema.named_url()).await.unwrap();
    create(&store, "r").await;
    for rev in 1..4 {
        schema.cut().await;
        assert_eq!(store.read(&id("r"), 0).await.unwrap().len() as u64, rev);
        store.append(&id("r"), append(rev, "x")).await.unwrap();
    }
    schema.remove().await;
}

/// A caller with many statements waits for each connection in line, behind all others.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_statements_of_one_caller_delay_another_by_one_round() {
    const GREEDY: usize = 50;
    let schema = Schema::new();
    let options = PostgresOptions::new().schema(&schema.name).max_connections(1);
    let store = Arc::new(options.connect(&schema.url).await.unwrap());
    create(&*store, "r").await;
    let count = Arc::new(AtomicUsize::new(0));
    let greedy: Vec<_> = (0..GREEDY)
        .map(|_| {
            let (store, count) = (Arc::clone(&store), Arc::clone(&count));
            tokio::spawn(async move {
                loop {
                    store.read(&id("r"), 0).await.unwrap();
                    count.fetch_add(1, Ordering::SeqCst);
                }
            })
        })
        .collect();
    while count.load(Ordering::SeqCst) < GREEDY {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    for _ in 0..5 {
        let before = count.load(Ordering::SeqCst);
        store.read(&id("r"), 0).await.unwrap();
        let between = count.load(Ordering::SeqCst) - before;
        assert!(between <= 2 * GREEDY, "{between} others came first");
    }
    greedy.iter().for_each(tokio::task::JoinHandle::abort);
    drop(futures_util::future::join_all(greedy).await);
    schema.remove().await;
}

#[tokio::test]
async fn newer_tables_are_refused() {
    let schema = Schema::new();
    drop(schema.open().await);
    schema.sql(&format!("UPDATE {}.version SET version = 7", schema.name)).await;
    let error = PostgresOptions::new().schema(&schema.name).connect(&schema.url).await.unwrap_err().to_string();
    assert!(error.contains("version 7 of the tables") && error.contains("update it"), "{error}");
    schema.remove().await;
}

#[tokio::test]
async fn a_missing_server_is_explained() {
    let error = PostgresStore::connect("postgres://127.0.0.1:1/x?user=u").await.unwrap_err().to_string();
    assert!(error.contains("connect"), "{error}");
    let error = PostgresOptions::new().schema("a\"b").connect("postgres://127.0.0.1:1/x").await.unwrap_err();
    assert!(error.to_string().contains("invalid schema name"), "{error}");
}

/// A server whose clock is an hour ahead takes over no run that is driven. One whose clock is an hour behind loses a run whose
/// lease has ended.
#[tokio::test]
async fn leases_hold_whatever_the_clocks_of_servers_show() {
    const LEASE: Duration = Duration::from_mins(5);
    const HOUR: Duration = Duration::from_hours(1);
    let schema = Schema::new();
    let stores = schema.stores().await;
    let right = Timestamp(1_767_225_600_000);
    let (ahead, behind) = (right.saturating_add(HOUR), Timestamp(right.0 - 3_600_000));
    for (number, (driver, other)) in
        [(right, ahead), (right, behind), (ahead, behind), (behind, ahead)].into_iter().enumerate()
    {
        let name = format!("r{number}");
        let mut active = append(0, "first");
        active.head.is_active = true;
        stores.one.append(&id(&name), active).await.unwrap();
        let lease = stores.one.lease(&id(&name), "driver", driver, LEASE).await.unwrap();
        assert_eq!(lease.until, driver.saturating_add(LEASE));
        match stores.other.lease(&id(&name), "other", other, LEASE).await {
            // The time is that of the caller's own clock.
            Err(StoreError::Leased { until }) => {
                assert!(until <= other.saturating_add(LEASE) && until > other.saturating_add(Duration::from_mins(4)));
            }
            taken => panic!("{taken:?}"),
        }
        assert_eq!(stores.other.due(other, 10).await.unwrap(), []);
        schema.pass(LEASE).await;
        assert_eq!(stores.other.due(other, 10).await.unwrap(), [id(&name)]);
        let taken = stores.other.lease(&id(&name), "other", other, LEASE).await.unwrap();
        assert_eq!(taken.until, other.saturating_add(LEASE));
        assert_eq!(error_kind(stores.one.append(&id(&name), with_lease(&lease, append(1, "late"))).await), "fenced");
        assert_eq!(error_kind(stores.one.lease(&id(&name), "driver", driver, LEASE).await), "leased");
        stores.one.delete(&id(&name)).await.unwrap();
    }
    schema.remove().await;
}
