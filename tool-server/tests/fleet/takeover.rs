//! Tests of chats that no client reads when their server dies.

use std::{sync::Arc, time::Duration};

use tool_test_kit::within;

use super::{
    Fleet,
    world::{script, turn},
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chat_without_a_client_is_continued_on_behalf_of_its_owner() {
    within("a fleet", async {
        let mut fleet = Fleet::start(Duration::from_secs(5)).await;
        let (client, world) = (Arc::new(fleet.client("c")), fleet.world());
        let turns = [
            turn("I add.", &[("add", 2)]),
            turn("I work.", &[("work", 1)]),
            turn("I am", &[("whoami", 4)]),
            turn("I pay.", &[("pay", 3)]),
        ];
        let text = script(&turns);
        let sender = Arc::clone(&client);
        let response = tokio::spawn(async move { sender.say("m1", &text).await });
        // When `work` has begun, the log has the output of `add`. Without the output, a person would have to decide the call.
        world.wait_for("work 1").await;
        // The connection of the client ends with the server.
        fleet.kill(0);
        response.await.unwrap();
        world.go(1);
        let loaded = loop {
            // This request reads the store, and continues no run.
            let loaded = client.load().await.map(serde_json::Value::from).unwrap_or_default().to_string();
            if loaded.contains("approval-requested") {
                break loaded;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        };
        for part in ["worked", "\"anna\"", "I pay."] {
            assert!(loaded.contains(part), "{part}: {loaded}");
        }
        // Only `work` was repeated, and the approval still waits. A slow server may have lost its lease, too, so `work` may have
        // run more than twice.
        assert!(world.count("work 1") >= 2, "{:?}", world.effects());
        assert_eq!((world.count("add 2"), world.count("pay 3")), (1, 0));
        fleet.end().await;
    })
    .await;
}
