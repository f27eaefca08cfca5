//! Tests that a client without a thread's messages can connect to the thread.

use serde_json::{Value, json};

use crate::{
    ai_sdk::reload::{HOLD, Stream, World, call},
    kit::{input, user},
    model::Step,
};

async fn run(world: &World, messages: &[Value], more: &Value) -> Stream {
    let body: Value = serde_json::from_str(&input("c", &json!(messages), more)).unwrap();
    let response = world.ask("anna", "POST", "/agent", Some(&body)).await;
    assert_eq!(response.status, 200);
    response
}

async fn connect(world: &World, by: &str) -> Stream {
    let more = json!({ "runId": "connecting", "state": { "seen": 1 } });
    let body: Value = serde_json::from_str(&input("c", &json!([]), &more)).unwrap();
    let response = world.ask(by, "POST", "/agent/connect", Some(&body)).await;
    assert_eq!(response.status, 200);
    response
}

fn prompt(id: &str, turns: &[Vec<Step>]) -> Value {
    user(id, &serde_json::to_string(turns).unwrap())
}

fn events(stream: &str) -> Vec<Value> {
    let frames = stream.split("\n\n").filter_map(|frame| frame.strip_prefix("data: "));
    frames.map(|frame| serde_json::from_str(frame).unwrap()).collect()
}

fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().unwrap()).collect()
}

const IDLE: [&str; 4] = ["RUN_STARTED", "MESSAGES_SNAPSHOT", "STATE_SNAPSHOT", "RUN_FINISHED"];

#[tokio::test]
async fn a_thread_at_rest_comes_as_a_snapshot() {
    let world = World::new();
    let turns = [
        vec![Step::Reasoning("hm".to_owned()), Step::Text("Look".to_owned()), Step::Call("work".to_owned())],
        vec![Step::Text("done".to_owned())],
    ];
    world.done.add_permits(1);
    run(&world, &[prompt("m1", &turns)], &json!({})).await.read_all().await;
    let all = events(&connect(&world, "anna").await.read_all().await);
    assert_eq!(kinds(&all), IDLE);
    assert_eq!((&all[0]["runId"], &all[3]["runId"]), (&json!("connecting"), &json!("connecting")));
    assert_eq!(all[2]["snapshot"], json!({ "seen": 1 }));
    let messages = all[1]["messages"].as_array().unwrap();
    let roles: Vec<_> = messages.iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "reasoning", "assistant", "tool", "assistant"]);
    assert_eq!((&messages[0]["id"], &messages[0]["content"]), (&json!("m1"), &prompt("m1", &turns)["content"]));
    assert_eq!((&messages[2]["content"], &messages[3]["content"]), (&json!("Look"), &json!("worked")));
    assert_eq!(messages[2]["toolCalls"][0]["id"], messages[3]["toolCallId"]);
    assert_eq!(messages[2]["toolCalls"][0]["function"], json!({ "name": "work", "arguments": "{}" }));
    // The server recognizes all loaded messages.
    let next = [&messages[..], &[prompt("m2", &[vec![Step::Text("second".to_owned())]])]].concat();
    let response = run(&world, &next, &json!({})).await.read_all().await;
    assert!(response.contains("second") && !response.contains("warnings"), "{response}");
    assert_eq!(events(&connect(&world, "anna").await.read_all().await)[1]["messages"].as_array().unwrap().len(), 7);
}

#[tokio::test]
async fn a_loaded_interrupt_can_be_answered() {
    let world = World::new();
    let live = run(&world, &[prompt("m1", &[call("asks", r#"{"what":"it"}"#)])], &json!({})).await.read_all().await;
    let all = events(&connect(&world, "anna").await.read_all().await);
    assert_eq!(kinds(&all), IDLE);
    assert_eq!(all[3]["outcome"], events(&live).last().unwrap()["outcome"]);
    assert_eq!(all[1]["messages"][1]["toolCalls"][0]["function"]["arguments"], r#"{"what":"it"}"#);
    let id = &all[3]["outcome"]["interrupts"][0]["id"];
    let resume = json!([{ "interruptId": id, "status": "resolved", "payload": { "approved": true } }]);
    let messages = all[1]["messages"].as_array().unwrap();
    let response = run(&world, messages, &json!({ "resume": resume })).await.read_all().await;
    assert!(response.contains("removed it"), "{response}");
    let all = events(&connect(&world, "anna").await.read_all().await);
    assert_eq!(all[1]["messages"][2]["content"], "removed it");
    let decided =
        json!({ "toolCallId": all[1]["messages"][1]["toolCalls"][0]["id"], "decision": "approve", "by": "anna" });
    assert_eq!((&all[2]["name"], &all[2]["value"]), (&json!("tool_decision"), &decided));
    assert_eq!(all[4]["outcome"]["type"], "success");
}

/// An event of a result has no field for a failure, but a message has.
#[tokio::test]
async fn a_failed_call_is_still_one() {
    let world = World::new();
    world.done.add_permits(1);
    run(&world, &[prompt("m1", &[call("fails", "{}"), call("work", "{}")])], &json!({})).await.read_all().await;
    let all = events(&connect(&world, "anna").await.read_all().await);
    let results: Vec<_> =
        all[1]["messages"].as_array().unwrap().iter().filter(|message| message["role"] == "tool").collect();
    assert_eq!(results.len(), 2, "{results:?}");
    assert!(results[0]["error"].as_str().unwrap().contains("it does not work"), "{results:?}");
    assert_eq!((&results[1]["content"], results[1].get("error")), (&json!("worked"), None));
}

#[tokio::test]
async fn a_call_of_the_client_is_still_pending() {
    let world = World::new();
    run(&world, &[prompt("m1", &[call("locate", "{}")])], &json!({})).await.read_all().await;
    let all = events(&connect(&world, "anna").await.read_all().await);
    let call = &all[1]["messages"][1]["toolCalls"][0]["id"];
    assert_eq!(all[3]["outcome"]["pendingToolCallIds"], json!([call]));
    let mut messages = all[1]["messages"].as_array().unwrap().clone();
    messages.push(json!({ "id": "r1", "role": "tool", "toolCallId": call, "content": "\"here\"" }));
    run(&world, &messages, &json!({})).await.read_all().await;
    let all = events(&connect(&world, "anna").await.read_all().await);
    let messages = all[1]["messages"].as_array().unwrap();
    assert_eq!(
        (&messages[2]["role"], &messages[2]["toolCallId"]),
        (&json!("tool"), &messages[1]["toolCalls"][0]["id"])
    );
    assert!(messages[2]["content"].as_str().unwrap().contains("here"), "{messages:?}");
}

#[tokio::test]
async fn a_response_in_progress_follows_the_earlier_messages() {
    let world = World::new();
    run(&world, &[prompt("m1", &[vec![Step::Text("first".to_owned())]])], &json!({})).await.read_all().await;
    let messages = events(&connect(&world, "anna").await.read_all().await)[1]["messages"].as_array().unwrap().clone();
    let turn = vec![Step::Text("Once".to_owned()), Step::Text(HOLD.to_owned())];
    let next = [&messages[..], &[prompt("m2", &[turn])]].concat();
    let mut first = run(&world, &next, &json!({ "runId": "first", "state": { "n": 1 } })).await;
    first.read_until("Once").await;
    let mut other = connect(&world, "anna").await;
    other.read_until("Once").await;
    world.hold.add_permits(1);
    let (first, other) = (events(&first.read_all().await), events(&other.read_all().await));
    assert_eq!(kinds(&other)[..3], IDLE[..3]);
    assert_eq!(other[1]["messages"], json!(next), "the snapshot has the prompt, and nothing of the response to it");
    assert_eq!(other[2]["snapshot"], json!({ "n": 1 }), "the snapshot has the state at the beginning of the response");
    assert_eq!(kinds(&other)[3..], kinds(&first)[1..]);
    assert_eq!(other.last().unwrap()["runId"], "connecting");
}

#[tokio::test]
async fn an_approved_call_that_runs_ends_once() {
    let world = World::new();
    let live = run(&world, &[prompt("m1", &[call("carefully", "{}")])], &json!({})).await.read_all().await;
    let id = events(&live).last().unwrap()["outcome"]["interrupts"][0]["id"].clone();
    let messages = events(&connect(&world, "anna").await.read_all().await)[1]["messages"].clone();
    let resume = json!([{ "interruptId": id, "status": "resolved", "payload": { "approved": true } }]);
    let mut first = run(&world, messages.as_array().unwrap(), &json!({ "resume": resume })).await;
    first.read_until("RUN_STARTED").await;
    let mut other = connect(&world, "anna").await;
    other.read_until("STATE_SNAPSHOT").await;
    world.done.add_permits(1);
    let other = events(&other.read_all().await);
    assert_eq!(other[1]["messages"], messages);
    let results: Vec<_> = other.iter().filter(|event| event["type"] == "TOOL_CALL_RESULT").collect();
    assert_eq!(results.len(), 1);
    assert_eq!(results[0]["toolCallId"], messages[1]["toolCalls"][0]["id"]);
    let decided: Vec<_> = other.iter().filter(|event| event["name"] == "tool_decision").collect();
    assert_eq!(decided.len(), 1, "the other tab sees the decision");
    assert_eq!((&decided[0]["value"]["by"], &decided[0]["value"]["decision"]), (&json!("anna"), &json!("approve")));
    first.read_all().await;
}

#[tokio::test]
async fn an_unknown_thread_changes_nothing_at_the_client() {
    let world = World::new();
    run(&world, &[prompt("m1", &[vec![]])], &json!({})).await.read_all().await;
    let all = events(&connect(&world, "bert").await.read_all().await);
    assert_eq!(kinds(&all), ["RUN_STARTED", "RUN_FINISHED"]);
}
