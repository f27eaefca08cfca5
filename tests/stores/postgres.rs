//! Properties of PostgreSQL only: a server that can stop, and tables that other processes create at the same time.

use tool_runtime::store::Store as _;
use tool_stores::{PostgresOptions, PostgresStore};

use tool_test_kit::stores::Schema;

use crate::made::{append, create, id};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_processes_make_the_tables_at_once() {
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
    let url =
        format!("{}{}application_name={}", schema.url, if schema.url.contains('?') { "&" } else { "?" }, schema.name);
    let store = PostgresOptions::new().schema(&schema.name).connections(1).connect(&url).await.unwrap();
    create(&store, "r").await;
    for rev in 1..4 {
        let kill = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = ";
        schema.sql(&format!("{kill}'{}'", schema.name)).await;
        assert_eq!(store.read(&id("r"), 0).await.unwrap().len() as u64, rev);
        store.append(&id("r"), append(rev, "x")).await.unwrap();
    }
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
