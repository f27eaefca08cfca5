//! Tests that conversations go on from the sealed runs that their clients keep.

use std::sync::Arc;

use serde_json::{Value, json};
use tool_runtime::run::Timestamp;
use tool_stores::{
    SqliteStore,
    sealed::{ReplayPolicy, Sealer},
};

use super::{Client, World, call, request_approval, ring};
use crate::{kit::user, model::Step};
use tool_test_kit::AllAndSome as _;
use tool_test_kit::stores::File;

#[tokio::test]
async fn a_conversation_goes_on_in_another_process() {
    let file = File::new();
    let process = || World::with(Arc::new(SqliteStore::open(file.path()).unwrap()));
    let world = process();
    let (mut client, yes) = request_approval(&world, "t").await;
    let before = client.clone();
    let elsewhere = process();
    let done = client.run(&elsewhere, yes.clone()).await;
    assert_eq!(done.event("TOOL_CALL_RESULT")["content"], "removed a");
    assert_eq!((world.removed(), elsewhere.removed()), (0, 1));
    let next = client.say(&world, &[vec![Step::Text("Next.".to_owned())]]).await;
    assert_eq!(next.event("TEXT_MESSAGE_CONTENT")["delta"], "Next.");
    assert_eq!(world.post("anna", before.body(&yes)).await.status, 409, "the other process has spent it");
    assert_eq!((world.removed(), elsewhere.removed()), (0, 1));
}

/// The server accepts a new message even if the sealed run is spent. Then the client's messages are the model's context.
#[tokio::test]
async fn a_run_that_is_gone_does_not_lock_the_conversation() {
    let world = World::new();
    let (client, yes) = request_approval(&world, "t").await;
    let mut spent = client.clone();
    assert_eq!(world.post("anna", client.body(&yes)).await.status, 200);
    let next = spent.say(&world, &[vec![Step::Text("Next.".to_owned())]]).await;
    assert_eq!(next.event("TEXT_MESSAGE_CONTENT")["delta"], "Next.");
    assert_eq!(next.event("RUN_FINISHED")["outcome"]["type"], "success");
    // The server refuses a message beside an answer, so that the client learns that the approval does not count.
    let mut late = client.clone();
    late.messages.push(user("late", "And now?"));
    assert_eq!(late.run(&world, yes).await.status, 409);
    assert_eq!(world.removed(), 1);
}

/// The server clears older sealed runs at the client, so that requests do not grow.
#[tokio::test]
async fn the_last_run_and_the_one_before_it_are_kept() {
    let world = World::new();
    let mut client = Client::new("t");
    for number in 1..=5 {
        client.say(&world, &[vec![Step::Text("Hm.".to_owned())]]).await;
        let sealed = |message: &&Value| message["encryptedValue"].as_str().is_some_and(|text| !text.is_empty());
        assert_eq!(client.messages.iter().filter(sealed).count(), number.min(2));
    }
    // The last message is edited, and the server knows the earlier ones.
    client.messages.pop();
    let edited = client.say(&world, &[vec![Step::Text("Oh.".to_owned())]]).await;
    assert_eq!(edited.event("TEXT_MESSAGE_CONTENT")["delta"], "Oh.");
    let run = Sealer::new(ring(), "desk/rests", ReplayPolicy::Allow);
    let run = run.open(&client.seal(), &"anna".into(), Timestamp(0)).await.unwrap();
    assert_eq!(run.prompts().len(), 5);
}

/// An activity cannot keep a sealed run. After a tool has reported its progress, the last message is an activity.
#[tokio::test]
async fn a_run_is_kept_in_a_message_that_can_keep_it() {
    let world = World::new();
    let (mut client, yes) = request_approval(&world, "t").await;
    client.messages.push(json!({ "id": "a", "role": "activity", "activityType": "progress", "content": {} }));
    let before = client.seal();
    let done = client.run(&world, yes).await;
    assert_eq!(done.event("TOOL_CALL_RESULT")["content"], "removed a");
    assert_ne!(client.seal(), before);
    client.say(&world, &[vec![Step::Text("Next.".to_owned())]]).await;
    let run = Sealer::new(ring(), "desk/rests", ReplayPolicy::Allow);
    let run = run.open(&client.seal(), &"anna".into(), Timestamp(0)).await.unwrap();
    assert_eq!((run.prompts().len(), run.calls().len()), (2, 1), "the run has the whole conversation");
}

/// Values that other agents have sealed in the same thread stay.
#[tokio::test]
async fn runs_sealed_by_other_agents_stay() {
    let world = World::new();
    let mut client = Client::new("t");
    let theirs = json!({ "id": "r", "role": "reasoning", "content": "Hm.", "encryptedValue": "gAAAA" });
    client.messages.push(theirs.clone());
    client.say(&world, &[vec![Step::Text("One.".to_owned())]]).await;
    client.messages.push(json!({ "id": "r2", "role": "reasoning", "content": "Hm.", "encryptedValue": "gBBBB" }));
    client.say(&world, &[vec![Step::Text("Two.".to_owned())]]).await;
    client.say(&world, &[vec![Step::Text("Three.".to_owned())]]).await;
    let run = Sealer::new(ring(), "desk/rests", ReplayPolicy::Allow);
    let run = run.open(&client.seal(), &"anna".into(), Timestamp(0)).await.unwrap();
    assert_eq!((run.prompts().len(), &client.messages[0]), (3, &theirs));
}

/// The last sealed run is too large for the client. The server clears the one before it, too, which lacks the later messages.
#[tokio::test]
async fn a_run_that_is_too_large_is_not_kept() {
    let world = World::new();
    let mut client = Client::new("t");
    client.say(&world, &[vec![Step::Text("One.".to_owned())]]).await;
    client.say(&world, &[vec![Step::Text("Two.".to_owned())]]).await;
    let large = client.say(&world, &[vec![Step::Text("x".repeat(5 << 20))]]).await;
    assert_eq!(large.event("RUN_FINISHED")["outcome"]["type"], "success");
    assert!(
        client.messages.iter().all_and_some(|message| message["encryptedValue"].as_str().is_none_or(str::is_empty))
    );
    let next = client.say(&world, &[vec![Step::Text("Next.".to_owned())]]).await;
    assert_eq!(next.event("TEXT_MESSAGE_CONTENT")["delta"], "Next.", "the client's messages are context");
}

#[tokio::test]
async fn a_response_is_regenerated_from_the_run_of_its_message() {
    let world = World::new();
    let mut client = Client::new("t");
    let script = [call("locate", "{}")];
    client.say(&world, &[vec![Step::Text("One.".to_owned())]]).await;
    client.say(&world, &script).await;
    client.messages.truncate(1);
    for _ in 0..2 {
        let again = client.run(&world, json!({})).await;
        assert_eq!(again.event("TEXT_MESSAGE_CONTENT")["delta"], "One.");
    }
}
