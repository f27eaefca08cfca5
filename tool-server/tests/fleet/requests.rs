//! Tests of a client whose consecutive requests reach different servers.

use std::{sync::Arc, time::Duration};

use serde_json::Value;
use tokio::task::JoinHandle;
use tool_test_kit::within;

use super::{
    Fleet,
    client::{Client, Received},
    world::{script, turn},
};

/// A long lease. No server dies here, and a slow one must not lose its lease.
const LEASE: Duration = Duration::from_mins(1);

/// Sends a message, and waits until its call of `work` with the number `n` has begun.
async fn begin(fleet: &Fleet, client: &Arc<Client>, id: &'static str, n: u64) -> JoinHandle<Received> {
    let (client, text) =
        (Arc::clone(client), script(&[turn("I work.", &[("work", n)]), turn("I pay.", &[("pay", n)])]));
    let response = tokio::spawn(async move { client.say(id, &text).await });
    fleet.world().wait_for(&format!("work {n}")).await;
    response
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_response_is_read_decided_stopped_and_replaced_on_other_servers() {
    within("a fleet", async {
        let fleet = Fleet::start(LEASE).await;
        let (client, world) = (Arc::new(fleet.client("c")), fleet.world());
        // The response is read on a second server while the first one writes it.
        let response = begin(&fleet, &client, "m1", 1).await;
        let read = client.follow("I work.").await;
        world.go(1);
        let (response, read) = (response.await.unwrap(), read.await.unwrap());
        assert_eq!((response.text(), read.text()), ("I work.I pay.".to_owned(), "I work.I pay.".to_owned()));
        // A third server shows the request for approval. The same decision on two others counts once.
        let messages = client.load().await.unwrap();
        let parts = messages[1]["parts"].as_array().unwrap();
        let asked = parts.iter().find(|part| part["state"] == "approval-requested").unwrap();
        let approval = asked["approval"]["id"].as_str().unwrap();
        let decided = serde_json::json!({
            "id": "c", "messages": messages, "decisions": { approval: { "decision": "approve" } }, "resumable": true,
        });
        let (one, other) = tokio::join!(client.post("/api/chat", &decided), client.post("/api/chat", &decided));
        assert!(one.text() == "done" || other.text() == "done", "{one:?} {other:?}");
        assert_eq!(world.count("pay 1"), 1);
        // Another server stops a response.
        let response = begin(&fleet, &client, "m2", 2).await;
        assert_eq!(client.post("/api/chat/c/stop", &Value::Null).await.status, 204);
        assert_eq!(response.await.unwrap().text(), "I work.");
        // A new message replaces the response of another server.
        let response = begin(&fleet, &client, "m3", 3).await;
        assert_eq!(client.say("m4", &script(&[turn("Something else.", &[])])).await.text(), "Something else.");
        assert_eq!(response.await.unwrap().text(), "I work.");
        assert_eq!((world.count("pay 2"), world.count("pay 3")), (0, 0));
        fleet.end().await;
    })
    .await;
}
