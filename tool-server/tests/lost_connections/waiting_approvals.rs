//! Sealed runs in which something was approved that does not run yet.

use std::sync::atomic::Ordering;
use tool_test_kit::AllAndSome as _;

use crate::lost_connections::{
    client::{Client, Protocol, Says},
    world::World,
};

/// The second call runs alone, behind the first, which nobody has decided about: it is approved, and waits.
#[tokio::test]
async fn an_approval_that_waits_for_another_is_not_used_up() {
    for protocol in [Protocol::AiSdk, Protocol::AgUi] {
        let world = World::new(true);
        let client = Client::asked(&world, protocol, "pay book").await;
        let first = world.post(protocol.path(), &client.answers(Says::Yes, &["book"])).await;
        assert_eq!((world.counts.pay.runs(), world.counts.book.runs()), (0, 0), "{}", first.text);
        // Whether the client has received the answer or not, one of its texts goes on.
        let received = client.with_seal_of(&first);
        let (lost, received) = if protocol == Protocol::AiSdk { (client, received) } else { (received, client) };
        let done = world.post(protocol.path(), &lost.answers(Says::Yes, &["pay", "book"])).await;
        assert_eq!(done.status, 200, "{}", done.text);
        assert_eq!((world.counts.pay.runs(), world.counts.book.runs()), (1, 1), "{}", done.text);
        let other = world.post(protocol.path(), &received.answers(Says::Yes, &["pay", "book"])).await;
        assert_eq!(other.status, 409, "{}", other.text);
        assert_eq!((world.counts.pay.runs(), world.counts.book.runs()), (1, 1), "{}", other.text);
    }
}

/// A request that decides nothing leaves the text as it was.
#[tokio::test]
async fn an_unclear_answer_spends_nothing() {
    let world = World::new(true);
    let client = Client::asked(&world, Protocol::AgUi, "pay").await;
    let unclear = client.answers(Says::Yes, &["pay"]).replace(r#""approved":true"#, r#""approved":"hm""#);
    let again = world.post("/agent", &unclear).await;
    assert_eq!(again.event("RUN_FINISHED")["outcome"]["type"], "interrupt");
    assert_eq!(world.post("/agent", &client.answers(Says::Yes, &["pay"])).await.status, 200);
    assert_eq!(world.counts.pay.runs(), 1);
    let new = client.with_seal_of(&again);
    assert_eq!(world.post("/agent", &new.answers(Says::Yes, &["pay"])).await.status, 409);
    assert_eq!(world.counts.pay.runs(), 1);
}

/// Many requests at once with one text: one of them counts, and the others are refused before they have answered.
#[tokio::test]
async fn fifty_approvals_at_once_are_one() {
    for protocol in [Protocol::AiSdk, Protocol::AgUi] {
        let world = World::new(true);
        let client = Client::asked(&world, protocol, "pay").await;
        let body = client.answers(Says::Yes, &["pay"]);
        let all = (0..50).map(|_| world.post(protocol.path(), &body));
        let all = futures_util::future::join_all(all).await;
        assert_eq!(all.iter().filter(|answer| answer.status == 200).count(), 1);
        assert!(all.iter().all_and_some(|answer| matches!(answer.status, 200 | 409)));
        assert_eq!(world.counts.pay.runs(), 1);
    }
}

/// Without the store, it is not known whether the text was spent: nothing runs, and the text is as good as before.
#[tokio::test]
async fn nonces_that_are_away_refuse_and_spend_nothing() {
    for protocol in [Protocol::AiSdk, Protocol::AgUi] {
        let world = World::new(true);
        let client = Client::asked(&world, protocol, "pay").await;
        let body = client.answers(Says::Yes, &["pay"]);
        world.nonces.is_away.store(true, Ordering::SeqCst);
        let refused = world.post(protocol.path(), &body).await;
        assert_eq!(refused.status, 503, "{}", refused.text);
        assert!(refused.text.contains("try again later") && !refused.text.contains("database"), "{}", refused.text);
        world.rest().await;
        assert_eq!(world.counts.pay.runs(), 0);
        world.nonces.is_away.store(false, Ordering::SeqCst);
        assert_eq!(world.post(protocol.path(), &body).await.status, 200);
        assert_eq!(world.counts.pay.runs(), 1);
    }
}
