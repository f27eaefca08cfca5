//! Tests of PostgreSQL behind a pooler: one that gives each transaction another connection, and one that keeps sessions. `main.rs`
//! runs every check of a store behind the first.

use std::{
    fmt::{Debug, Write as _},
    sync::{Arc, Mutex},
};

use futures_util::future::{join_all, try_join_all};
use tool_runtime::{run::Timestamp, store::Store as _};
use tool_stores::{PostgresOptions, PostgresStore};
use tool_test_kit::{
    stores::{Schema, Stores},
    within,
};
use tracing::{
    Event, Level, Metadata, Subscriber,
    field::{Field, Visit},
    span,
};

use crate::{
    pieces::pieces_come_in_order_to_all_followers,
    real_runs::many_runs_are_driven_at_once,
    sample_appends::{append, create, id},
    watch::appends_from_outside_and_the_end_are_notified,
};

/// Keeps the texts of all warnings.
#[derive(Clone, Default)]
struct Warnings(Arc<Mutex<String>>);

impl Subscriber for Warnings {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() == Level::WARN
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        struct Text<'t>(&'t mut String);
        impl Visit for Text<'_> {
            fn record_debug(&mut self, _: &Field, value: &dyn Debug) {
                let _ = writeln!(self.0, "{value:?}");
            }
        }
        event.record(&mut Text(&mut self.0.lock().unwrap()));
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

impl Warnings {
    fn take(&self) -> String {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

/// Opens a store that has only the address of the pooler.
async fn open_pooled(schema: &Schema) -> PostgresStore {
    PostgresOptions::new().schema(&schema.name).connect(schema.pooler.as_ref().unwrap()).await.unwrap()
}

#[tokio::test]
async fn a_store_says_whether_it_has_notifications() {
    let Some(schema) = Schema::pooled("transaction") else { return };
    let warnings = Warnings::default();
    let guard = tracing::subscriber::set_default(warnings.clone());
    let store = open_pooled(&schema).await;
    let text = warnings.take();
    assert!(text.contains("delivers no notifications") && text.contains("PostgresOptions::notifications"), "{text}");
    assert!(!store.has_notifications());
    create(&store, "r").await;
    assert!(store.watch(&id("r")).is_none() && store.follow(&id("r")).is_none());
    assert!(store.pieces(&id("r")).is_none() && store.watch_readers(&id("r")).is_none());
    store.publish(&id("r"), "{}".to_owned());

    // The second address leads to the pooler, too.
    let pooler = schema.pooler.clone().unwrap();
    let options = PostgresOptions::new().schema(&schema.name).notifications(&pooler);
    assert!(!options.connect(&pooler).await.unwrap().has_notifications());
    let text = warnings.take();
    assert!(text.contains("the address of `PostgresOptions::notifications` delivers no"), "{text}");

    // Nothing is at the second address.
    let options = PostgresOptions::new().schema(&schema.name).notifications("postgres://u@127.0.0.1:1/x");
    assert!(!options.connect(&schema.url).await.unwrap().has_notifications());
    assert!(warnings.take().contains("the address of `PostgresOptions::notifications` delivers no"));

    assert!(schema.open().await.has_notifications());
    let direct = PostgresOptions::new().schema(&schema.name).connect(&schema.url).await.unwrap();
    assert!(direct.has_notifications());
    assert_eq!(warnings.take(), "");
    drop(guard);
    schema.remove().await;
}

#[tokio::test]
async fn a_second_address_without_a_server_is_named_with_the_reason() {
    let (schema, warnings) = (Schema::new(), Warnings::default());
    let guard = tracing::subscriber::set_default(warnings.clone());
    let options = PostgresOptions::new().schema(&schema.name).notifications("postgres://u@127.0.0.1:1/x");
    assert!(!options.connect(&schema.url).await.unwrap().has_notifications());
    let text = warnings.take();
    assert!(text.contains("PostgresOptions::notifications") && text.contains("refused"), "{text}");
    drop(guard);
    schema.remove().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn notifications_and_pieces_take_the_direct_way() {
    let Some(schema) = Schema::pooled("transaction") else { return };
    let stores = schema.stores().await;
    appends_from_outside_and_the_end_are_notified(&stores).await;
    pieces_come_in_order_to_all_followers(&stores).await;
    schema.remove().await;
}

/// A driver behind a pooler does not know who follows its run, so it notifies each append.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_follower_is_notified_by_a_driver_without_notifications() {
    let Some(schema) = Schema::pooled("transaction") else { return };
    let (driver, follower) = (open_pooled(&schema).await, schema.open().await);
    create(&driver, "r").await;
    let lease = driver.lease(&id("r"), "w", Timestamp(0), std::time::Duration::from_secs(9)).await.unwrap();
    let mut news = follower.follow(&id("r")).unwrap();
    let mut rev = 1;
    let notified = async {
        // The first notification may report the connection.
        while futures_util::StreamExt::next(&mut news).await.is_some_and(|notified| notified == u64::MAX) {
            for _ in 0..20 {
                driver.append(&id("r"), crate::sample_appends::with_lease(&lease, append(rev, "x"))).await.unwrap();
                rev += 1;
            }
        }
    };
    within("the notification", notified).await;
    schema.remove().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn runs_are_driven_without_notifications() {
    let Some(schema) = Schema::pooled("transaction") else { return };
    let stores = join_all((0..6).map(|_| open_pooled(&schema))).await;
    let [one, other] = [0, 1].map(|nth| -> Arc<dyn tool_runtime::store::Store> { Arc::new(stores[nth].clone()) });
    many_runs_are_driven_at_once(&Stores::of(one, other)).await;
    schema.remove().await;
}

/// The pooler gives three sessions, and the store asks for ten.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_uses_the_sessions_that_a_pooler_has() {
    let Some(schema) = Schema::pooled("session") else { return };
    let work = async {
        let store = open_pooled(&schema).await;
        assert!(store.has_notifications());
        create(&store, "r").await;
        // The connection of the notifications takes one of the sessions.
        let watched = store.watch(&id("r"));
        for round in 0..3 {
            let runs = (0..12).map(|nth| {
                let (store, run) = (store.clone(), id(&format!("{round}-{nth}")));
                async move {
                    for rev in 0..10 {
                        store.append(&run, append(rev, "x")).await?;
                    }
                    store.read(&run, 0).await
                }
            });
            let read = try_join_all(runs).await.unwrap();
            assert!(read.iter().all(|records| records.len() == 10));
        }
        drop((watched, store));
    };
    within("a store with three sessions", work).await;
    schema.remove().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_processes_create_the_tables_behind_a_pooler() {
    let Some(schema) = Schema::pooled("transaction") else { return };
    let stores = join_all((0..8).map(|_| schema.open())).await;
    create(&stores[0], "r").await;
    for store in &stores {
        assert_eq!(store.read(&id("r"), 0).await.unwrap().len(), 1);
    }
    schema.remove().await;
}

/// Names as other clients write them in the address.
#[tokio::test]
async fn the_address_can_name_the_schema() {
    let schema = Schema::new();
    let mark = if schema.url.contains('?') { '&' } else { '?' };
    let url = format!("{}{mark}schema={}&pgbouncer=true&connection_limit=2", schema.url, schema.name);
    let store = PostgresStore::connect(&url).await.unwrap();
    create(&store, "r").await;
    assert_eq!(schema.open().await.read(&id("r"), 0).await.unwrap().len(), 1);
    schema.remove().await;
}
