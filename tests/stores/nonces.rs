//! Tests that a nonce is spent once, whoever spends it first, also after a restart.

use std::{sync::Arc, time::Duration};

use tool_runtime::run::{Principal, Timestamp};
use tool_stores::{
    PostgresOptions, SqliteOptions, SqliteStore,
    sealed::{MemoryNonces, NonceStore},
};

use tool_test_kit::stores::{File, Schema};

const LATER: Timestamp = Timestamp(1_000_000);
const DAY: u64 = 24 * 60 * 60 * 1000;

/// Spends one nonce fifty times at once, alternating between two handles.
async fn one_of_fifty_wins(stores: [Arc<dyn NonceStore>; 2]) {
    for nonce in ["a", "b", "a'b\u{e9}"] {
        let spends = (0..50).map(|number| {
            let store = Arc::clone(&stores[number % 2]);
            tokio::spawn(async move { store.spend(nonce, LATER, Timestamp(1)).await.unwrap() })
        });
        let won = futures_util::future::join_all(spends).await.into_iter().filter(|won| *won.as_ref().unwrap()).count();
        assert_eq!(won, 1, "{nonce}");
        assert!(!stores[0].spend(nonce, LATER, Timestamp(2)).await.unwrap());
    }
}

/// A nonce is kept for a day after its sealed run expires, so that a store with a slow clock still refuses it.
async fn is_kept_for_a_day_after_its_end(store: &dyn NonceStore) {
    assert!(store.spend("x", LATER, Timestamp(1)).await.unwrap());
    let almost_a_day_later = Timestamp(LATER.0 + DAY - 1);
    assert!(store.spend("y", Timestamp(almost_a_day_later.0 + DAY), almost_a_day_later).await.unwrap());
    assert!(!store.spend("x", LATER, Timestamp(1)).await.unwrap(), "a spender whose clock is behind is still refused");
    assert!(store.spend("z", Timestamp(u64::MAX), Timestamp(LATER.0 + DAY)).await.unwrap());
    assert!(store.spend("x", LATER, Timestamp(1)).await.unwrap(), "an expired nonce is deleted");
    assert!(!store.spend("z", Timestamp(u64::MAX), Timestamp(u64::MAX / 2)).await.unwrap());
}

#[tokio::test]
async fn memory_spends_each_nonce_once() {
    let nonces: Arc<dyn NonceStore> = Arc::new(MemoryNonces::new());
    one_of_fifty_wins([Arc::clone(&nonces), Arc::clone(&nonces)]).await;
    is_kept_for_a_day_after_its_end(&MemoryNonces::new()).await;
    assert_ne!(nonces.id(), MemoryNonces::new().id());
}

/// The cost of one does not grow with their number: otherwise this test would take minutes.
#[tokio::test]
async fn the_nonces_of_a_principal_in_memory_leave_room_for_those_of_others() {
    let (store, greedy) = (MemoryNonces::new(), Principal::from("greedy"));
    let mut full = None;
    for number in 0..200_000 {
        if let Err(error) = store.spend_of(&greedy, &number.to_string(), LATER, Timestamp(1)).await {
            full = Some((number, error.to_string()));
            break;
        }
    }
    let (number, error) = full.expect("there is a limit");
    assert!(number == 100_000 && error.contains("too many sealed runs of this principal"), "{number} {error}");
    assert!(store.spend_of(&"other".into(), "a", LATER, Timestamp(1)).await.unwrap());
    assert!(store.spend_of(&greedy, "later", Timestamp(u64::MAX), Timestamp(LATER.0 + DAY)).await.unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sqlite_spends_each_nonce_once() {
    let file = File::new();
    let open = || Arc::new(SqliteStore::open(file.path()).unwrap());
    let id = open().id().map(str::to_owned);
    one_of_fifty_wins([open(), open()]).await;
    let again = open();
    assert!(!again.spend("a", LATER, Timestamp(3)).await.unwrap(), "the nonce stays spent after a restart");
    assert_eq!(again.id().map(str::to_owned), id);
    is_kept_for_a_day_after_its_end(&*again).await;
    assert_ne!(
        SqliteStore::open(File::new().path()).unwrap().id().map(str::to_owned),
        id,
        "another file is another store"
    );
    assert!(SqliteStore::in_memory().unwrap().spend("a", LATER, Timestamp(1)).await.unwrap());
}

#[tokio::test]
async fn a_locked_file_spends_nothing() {
    let file = File::new();
    let store = SqliteOptions::new().busy_timeout(Duration::from_millis(50)).open(file.path()).unwrap();
    let other = rusqlite::Connection::open(file.path()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let refused = store.spend("a", LATER, Timestamp(1)).await.unwrap_err().to_string();
    assert!(refused.contains("locked"), "{refused}");
    other.execute_batch("ROLLBACK").unwrap();
    assert!(store.spend("a", LATER, Timestamp(1)).await.unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgresql_spends_each_nonce_once() {
    let schema = Schema::new();
    let (one, other) = (Arc::new(schema.open().await), Arc::new(schema.open().await));
    assert!(one.id().is_some_and(|id| other.id() == Some(id)));
    one_of_fifty_wins([Arc::clone(&one) as _, Arc::clone(&other) as _]).await;
    let again = schema.open().await;
    assert!(!again.spend("a", LATER, Timestamp(3)).await.unwrap(), "the nonce stays spent after a restart");
    is_kept_for_a_day_after_its_end(&again).await;
    let elsewhere = Schema::new();
    assert_ne!(elsewhere.open().await.id(), one.id(), "another schema is another store");
    elsewhere.remove().await;
    schema.remove().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_connection_to_postgresql_is_replaced() {
    let schema = Schema::new();
    let mark = if schema.url.contains('?') { '&' } else { '?' };
    let url = format!("{}{mark}application_name={}", schema.url, schema.name);
    let store = PostgresOptions::new().schema(&schema.name).max_connections(1).connect(&url).await.unwrap();
    for nonce in ["a", "b", "c"] {
        let kill = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = ";
        schema.sql(&format!("{kill}'{}'", schema.name)).await;
        assert!(store.spend(nonce, LATER, Timestamp(1)).await.unwrap());
        assert!(!store.spend(nonce, LATER, Timestamp(1)).await.unwrap());
    }
    schema.remove().await;
}
