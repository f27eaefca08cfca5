//! Tests of sealed runs with an approved call that does not run yet.

use std::sync::atomic::Ordering;
use tool_test_kit::AllAndSome as _;

use crate::lost_connections::{
    client::{Answer, Client, Protocol},
    world::World,
};

/// The second call is approved, and waits for the first, which nobody has decided.
#[tokio::test]
async fn an_approval_that_waits_for_another_is_not_used_up() {
    for protocol in [Protocol::AiSdk, Protocol::AgUi] {
        let world = World::new(true);
        let client = Client::begin(&world, protocol, "pay book").await;
        let first = world.post(protocol.path(), &client.answer_body(Answer::Yes, &["book"])).await;
        assert_eq!((world.counts.pay.runs(), world.counts.book.runs()), (0, 0), "{}", first.text);
        // The client may or may not have received the response. Exactly one of its sealed runs goes on.
        let received = client.with_seal_of(&first);
        let (lost, received) = if protocol == Protocol::AiSdk { (client, received) } else { (received, client) };
        let done = world.post(protocol.path(), &lost.answer_body(Answer::Yes, &["pay", "book"])).await;
        assert_eq!(done.status, 200, "{}", done.text);
        assert_eq!((world.counts.pay.runs(), world.counts.book.runs()), (1, 1), "{}", done.text);
        let other = world.post(protocol.path(), &received.answer_body(Answer::Yes, &["pay", "book"])).await;
        assert_eq!(other.status, 409, "{}", other.text);
        assert_eq!((world.counts.pay.runs(), world.counts.book.runs()), (1, 1), "{}", other.text);
    }
}

/// A request that decides nothing does not spend the sealed run.
#[tokio::test]
async fn an_unclear_answer_spends_nothing() {
    let world = World::new(true);
    let client = Client::begin(&world, Protocol::AgUi, "pay").await;
    let unclear = client.answer_body(Answer::Yes, &["pay"]).replace(r#""approved":true"#, r#""approved":"hm""#);
    let again = world.post("/agent", &unclear).await;
    assert_eq!(again.event("RUN_FINISHED")["outcome"]["type"], "interrupt");
    assert_eq!(world.post("/agent", &client.answer_body(Answer::Yes, &["pay"])).await.status, 200);
    assert_eq!(world.counts.pay.runs(), 1);
    let new = client.with_seal_of(&again);
    assert_eq!(world.post("/agent", &new.answer_body(Answer::Yes, &["pay"])).await.status, 409);
    assert_eq!(world.counts.pay.runs(), 1);
}

/// Of many simultaneous requests with one sealed run, one counts, and the others are refused.
#[tokio::test]
async fn fifty_approvals_at_once_are_one() {
    for protocol in [Protocol::AiSdk, Protocol::AgUi] {
        let world = World::new(true);
        let client = Client::begin(&world, protocol, "pay").await;
        let body = client.answer_body(Answer::Yes, &["pay"]);
        let all = (0..50).map(|_| world.post(protocol.path(), &body));
        let all = futures_util::future::join_all(all).await;
        assert_eq!(all.iter().filter(|response| response.status == 200).count(), 1);
        assert!(all.iter().all_and_some(|response| matches!(response.status, 200 | 409)));
        assert_eq!(world.counts.pay.runs(), 1);
    }
}

/// Without the store, the server cannot know that the sealed run is unspent. It runs nothing, and spends nothing.
#[tokio::test]
async fn while_nonces_are_unavailable_requests_are_refused_and_spend_nothing() {
    for protocol in [Protocol::AiSdk, Protocol::AgUi] {
        let world = World::new(true);
        let client = Client::begin(&world, protocol, "pay").await;
        let body = client.answer_body(Answer::Yes, &["pay"]);
        world.nonces.is_unavailable.store(true, Ordering::SeqCst);
        let refused = world.post(protocol.path(), &body).await;
        assert_eq!(refused.status, 503, "{}", refused.text);
        assert!(refused.text.contains("try again later") && !refused.text.contains("database"), "{}", refused.text);
        world.settle().await;
        assert_eq!(world.counts.pay.runs(), 0);
        world.nonces.is_unavailable.store(false, Ordering::SeqCst);
        assert_eq!(world.post(protocol.path(), &body).await.status, 200);
        assert_eq!(world.counts.pay.runs(), 1);
    }
}
