//! Tests of stores that pass pieces of the model's turns from the driver of a run to its followers.

use std::time::Duration;

use futures_util::{FutureExt as _, StreamExt as _, stream::BoxStream};
use tokio::time::timeout;
use tool_runtime::store::Store;
use tool_test_kit::stores::{File, Schema, Stores};

use crate::sample_appends::id;

/// Waits for the next item. Panics if none arrives.
async fn next<T>(stream: &mut BoxStream<'static, T>) -> T {
    timeout(Duration::from_mins(1), stream.next()).await.expect("no item arrived").expect("the stream has ended")
}

/// Waits for these pieces, in this order.
async fn expect_pieces(pieces: &mut BoxStream<'static, String>, wanted: impl IntoIterator<Item = String>) {
    for wanted in wanted {
        assert_eq!(next(pieces).await, wanted);
    }
}

pub(crate) async fn pieces_come_in_order_to_all_followers(stores: &Stores) {
    let (run, other) = (id("ü \u{0} \\ r\n+3 {}"), id("other"));
    let mut followed = stores.one.watch_readers(&run).unwrap();
    assert!(followed.next().now_or_never().is_none(), "no process follows");
    let mut far = stores.other.pieces(&run).unwrap();
    assert!(next(&mut followed).await);
    let mut near = stores.one.pieces(&run).unwrap();
    assert!(next(&mut followed).await);
    let mut others = stores.other.pieces(&other).unwrap();
    let many = || (0..200).map(|number| format!("{{\"number\":{number},\"text\":\"\\u0000 ü \\\\n\"}}"));
    for piece in many() {
        stores.one.publish(&other, format!("[{piece}]"));
        stores.one.publish(&run, piece);
    }
    let long = format!("\"{}\"", "x".repeat(6998));
    stores.one.publish(&run, long.clone());
    expect_pieces(&mut far, many().chain([long.clone()])).await;
    expect_pieces(&mut near, many().chain([long])).await;
    expect_pieces(&mut others, many().map(|piece| format!("[{piece}]"))).await;
    // A driver that begins later is notified of those that follow already.
    let mut later = stores.one.watch_readers(&run).unwrap();
    assert!(next(&mut later).await);
    drop(far);
    stores.one.publish(&run, "{}".to_owned());
    expect_pieces(&mut near, ["{}".to_owned()]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memory_passes_pieces_on() {
    let stores = Stores::memory();
    pieces_come_in_order_to_all_followers(&stores).await;
    let mut followed = stores.one.watch_readers(&id("r")).unwrap();
    let (one, other) = (stores.one.pieces(&id("r")).unwrap(), stores.one.pieces(&id("r")).unwrap());
    drop(one);
    assert!(next(&mut followed).await && next(&mut followed).await);
    assert!(followed.next().now_or_never().is_none(), "one follower is left");
    drop(other);
    assert!(!next(&mut followed).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn memory_keeps_no_more_pieces_than_fit_for_a_slow_follower() {
    let stores = Stores::memory();
    let mut pieces = stores.one.pieces(&id("r")).unwrap();
    for number in 0..10_000 {
        stores.one.publish(&id("r"), number.to_string());
    }
    let kept = std::iter::from_fn(|| pieces.next().now_or_never().flatten()).collect::<Vec<_>>();
    assert!((1000..2000).contains(&kept.len()), "{}", kept.len());
    assert!(kept.iter().enumerate().all(|(number, piece)| *piece == number.to_string()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgresql_passes_pieces_to_other_processes() {
    let schema = Schema::new();
    let stores = schema.stores().await;
    pieces_come_in_order_to_all_followers(&stores).await;
    // An id without room for pieces loses them, and nothing else.
    let long = id(&"a".repeat(7_890));
    let (mut followed, mut pieces) = (stores.one.watch_readers(&long).unwrap(), stores.other.pieces(&long).unwrap());
    assert!(next(&mut followed).await);
    stores.one.publish(&long, format!("\"{}\"", "x".repeat(500)));
    stores.one.publish(&long, "{}".to_owned());
    expect_pieces(&mut pieces, ["{}".to_owned()]).await;
    assert!(stores.other.pieces(&id(&"a".repeat(8_000))).is_none());
    schema.remove().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn postgresql_notices_that_the_last_follower_is_gone() {
    let schema = Schema::new();
    let stores = schema.stores().await;
    let mut followed = stores.one.watch_readers(&id("r")).unwrap();
    let pieces = stores.other.pieces(&id("r")).unwrap();
    assert!(next(&mut followed).await);
    drop(pieces);
    while next(&mut followed).await {}
    schema.remove().await;
}

#[test]
fn sqlite_passes_no_pieces_on() {
    let store = File::new().stores().one;
    store.publish(&id("r"), "{}".to_owned());
    assert!(store.pieces(&id("r")).is_none() && store.watch_readers(&id("r")).is_none());
}
