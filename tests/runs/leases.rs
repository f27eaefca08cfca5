//! Leases that are prolonged in time, or cannot be.

use std::{sync::Arc, time::Duration};

use serde_json::json;
use tool_runtime::{
    Agent,
    agent::{Later, Stopped},
    model::Turn,
    run::Time,
    store::StoreError,
};

use crate::{
    kit::{World, agent, memory, millis, tools},
    wrapped::Wrapped,
};

#[tokio::test]
async fn a_lease_is_prolonged_while_a_model_never_pauses() {
    let store = memory();
    let model = tool_runtime::model::FunctionModel::streaming(|_| {
        futures_util::stream::unfold(0u32, |count| async move {
            if count == 300 {
                return None;
            }
            millis(1).await;
            let delta = match count {
                299 => tool_runtime::model::Delta::Finish(tool_runtime::model::FinishReason::Stop),
                _ => tool_runtime::model::Delta::Text("x".into()),
            };
            Some((Ok(delta), count + 1))
        })
    });
    let agent = Agent::new(model).store(Arc::clone(&store)).lease(Duration::from_millis(100)).front(Later);
    let mut session = agent.session();
    let id = session.id().clone();
    let run = tokio::spawn(async move { session.send("go").await });
    for _ in 0..15 {
        millis(15).await;
        let taken = store.lease(&id, "thief", now(), Duration::from_secs(1)).await;
        assert!(matches!(taken, Err(StoreError::Leased { .. })) || run.is_finished(), "{taken:?}");
    }
    run.await.unwrap().unwrap();
}

fn now() -> Time {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    Time(u64::try_from(since.as_millis()).unwrap())
}

#[tokio::test]
async fn a_store_that_is_slower_than_the_lease_does_not_stop_the_run() {
    let (store, world) = (memory(), World::new());
    let slow = Wrapped::new(&store).before_read(|_| {
        Box::pin(async {
            millis(5).await;
            Ok(())
        })
    });
    let turns = [Turn::call("look", json!({"what": "sky"})), Turn::say("done")];
    let agent = agent(&store, tools(&world), turns).store(slow).lease(Duration::from_millis(4));
    let mut session = agent.session();
    let sent = tokio::time::timeout(Duration::from_secs(5), session.send("go")).await.expect("it never ends");
    assert_eq!(sent.unwrap().stopped, Stopped::Done);
    assert_eq!(world.seen(), ["look sky"]);
}
