//! Tests of a PostgreSQL that does not answer any more, although no connection is reset: a network that swallows packets, or a
//! stopped server.

use std::time::Duration;

use futures_util::{StreamExt as _, future::join_all};
use tokio::time::timeout;
use tool_runtime::store::{Store as _, StoreError};
use tool_stores::{PostgresOptions, PostgresStore};
use tool_test_kit::{black_hole::BlackHole, stores::Schema};

use crate::sample_appends::{append, create, id};

/// The time for one statement, and the time in which everything must have an end.
const STATEMENT: Duration = Duration::from_millis(500);
const END: Duration = Duration::from_secs(30);

async fn open(schema: &Schema) -> (BlackHole, PostgresStore) {
    let (hole, url) = BlackHole::of_postgres(&schema.url).await;
    let options = PostgresOptions::new().schema(&schema.name).max_connections(2).statement_timeout(STATEMENT);
    (hole, options.connect(&url).await.unwrap())
}

fn is_unavailable<T>(result: &Result<T, StoreError>) -> bool {
    matches!(result, Err(StoreError::Unavailable { .. }))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn operations_on_a_silent_server_end_as_unavailable() {
    let schema = Schema::new();
    let (hole, store) = open(&schema).await;
    create(&store, "r").await;
    hole.silence();
    // More operations than connections: none waits for the others for ever.
    let run = id("r");
    let all = join_all((0..8).map(async |_| {
        let (read, appended) = tokio::join!(store.read(&run, 0), store.append(&run, append(1, "x")));
        is_unavailable(&read) && is_unavailable(&appended)
    }));
    let ended = timeout(END, all).await.expect("every operation ends");
    assert!(ended.into_iter().all(|is_unavailable| is_unavailable));
    schema.remove().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connecting_ends_although_a_server_is_silent_or_a_process_holds_the_lock() {
    let schema = Schema::new();
    let (hole, url) = BlackHole::of_postgres(&schema.url).await;
    let options = PostgresOptions::new().schema(&schema.name).statement_timeout(STATEMENT);
    hole.silence();
    assert!(is_unavailable(&timeout(END, options.connect(&url)).await.expect("it ends")));
    // Another process updates the tables, and hangs. The transaction of the lock is that of both statements.
    let lock =
        format!("SELECT pg_advisory_xact_lock(hashtextextended('tool-runtime {}', 0)), pg_sleep(12)", schema.name);
    let holder = schema.clone();
    let held = tokio::spawn(async move { holder.sql(&lock).await });
    tokio::time::sleep(Duration::from_secs(1)).await;
    let refused = timeout(END, options.connect(&schema.url)).await.expect("it ends");
    let text = format!("{refused:?}");
    assert!(is_unavailable(&refused) && text.contains("lock timeout"), "{text}");
    assert!(!held.is_finished(), "it does not wait for the other process");
    held.await.unwrap();
    options.connect(&schema.url).await.unwrap();
    schema.remove().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fail_over_without_a_reset_opens_new_connections() {
    let schema = Schema::new();
    let (hole, store) = open(&schema).await;
    create(&store, "r").await;
    let run = id("r");
    let mut watch = store.watch(&run).unwrap();
    // Both connections of the pool are open.
    join_all((0..2).map(|_| store.read(&run, 0))).await;
    hole.fail_over();
    let recovered = async {
        // The append is made once, whether or not the silent server had received it.
        store.append(&run, append(1, "x")).await.unwrap();
        assert_eq!(store.read(&run, 0).await.unwrap().len(), 2);
    };
    timeout(END, recovered).await.expect("it uses new connections");
    // The connection for notifications is replaced, too.
    let other = schema.open().await;
    let notified = async {
        let mut rev = 2;
        loop {
            other.append(&run, append(rev, "x")).await.unwrap();
            rev += 1;
            if timeout(Duration::from_millis(200), watch.next()).await.is_ok() {
                return;
            }
        }
    };
    timeout(END, notified).await.expect("notifications arrive again");
    schema.remove().await;
}
