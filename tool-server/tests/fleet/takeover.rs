//! Chats that no client reads when their server dies.

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
        let says = Arc::clone(&client);
        let answer = tokio::spawn(async move { says.say("m1", &text).await });
        // By now, the log has the output of `add`. Without it, the call would be lost, and a person would be asked about it.
        world.until("work 1").await;
        // The client of the first server goes with it.
        fleet.kill(0);
        answer.await.unwrap();
        world.go(1);
        let loaded = loop {
            // This reads the store, and continues nothing.
            let loaded = client.load().await.map(serde_json::Value::from).unwrap_or_default().to_string();
            if loaded.contains("approval-requested") {
                break loaded;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        };
        for part in ["worked", "\"anna\"", "I pay."] {
            assert!(loaded.contains(part), "{part}: {loaded}");
        }
        // What can be repeated was, and nothing else. A person still approves. A server that was slow may have lost its lease
        // too.
        assert!(world.count("work 1") >= 2, "{:?}", world.effects());
        assert_eq!((world.count("add 2"), world.count("pay 3")), (1, 0));
        fleet.end().await;
    })
    .await;
}
