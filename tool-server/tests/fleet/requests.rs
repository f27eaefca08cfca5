//! Each request of a client reaches another server than the one before.

use std::{sync::Arc, time::Duration};

use serde_json::Value;
use tokio::task::JoinHandle;
use tool_test_kit::within;

use super::{
    Fleet,
    client::{Client, Got},
    world::{script, turn},
};

/// No server dies here, and a slow one must not be taken for dead.
const LEASE: Duration = Duration::from_mins(1);

/// Sends a message, and waits until its call of `work` with the number `n` has begun.
async fn begin(fleet: &Fleet, client: &Arc<Client>, id: &'static str, n: u64) -> JoinHandle<Got> {
    let (client, text) =
        (Arc::clone(client), script(&[turn("I work.", &[("work", n)]), turn("I pay.", &[("pay", n)])]));
    let answer = tokio::spawn(async move { client.say(id, &text).await });
    fleet.world().until(&format!("work {n}")).await;
    answer
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_is_read_decided_stopped_and_replaced_on_other_servers() {
    within("a fleet", async {
        let fleet = Fleet::start(LEASE).await;
        let (client, world) = (Arc::new(fleet.client("c")), fleet.world());
        // It is read on a second server while the first one writes it.
        let answer = begin(&fleet, &client, "m1", 1).await;
        let read = client.follow("I work.").await;
        world.go(1);
        let (answer, read) = (answer.await.unwrap(), read.await.unwrap());
        assert_eq!((answer.text(), read.text()), ("I work.I pay.".to_owned(), "I work.I pay.".to_owned()));
        // The approval is shown on a third one, and the same decision counts once on two others.
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
        // It is stopped from another server.
        let answer = begin(&fleet, &client, "m2", 2).await;
        assert_eq!(client.post("/api/chat/c/stop", &Value::Null).await.status, 204);
        assert_eq!(answer.await.unwrap().text(), "I work.");
        // A new message replaces the answer of another server.
        let answer = begin(&fleet, &client, "m3", 3).await;
        assert_eq!(client.say("m4", &script(&[turn("Something else.", &[])])).await.text(), "Something else.");
        assert_eq!(answer.await.unwrap().text(), "I work.");
        assert_eq!((world.count("pay 2"), world.count("pay 3")), (0, 0));
        fleet.end().await;
    })
    .await;
}
