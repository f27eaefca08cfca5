//! Tests that a run that was cancelled shows what it had, and nothing empty behind it.

use serde_json::{Value, json};

use crate::{
    ai_sdk::reload::{HOLD, World, call, user},
    kit,
    model::Step,
};

/// The steps of a turn after which a run is cancelled, and the text in the stream for which the test waits before that.
fn cases() -> Vec<(&'static str, Vec<Vec<Step>>, &'static str, &'static str)> {
    let held = vec![Step::Text(HOLD.to_owned())];
    let mut arguments = call("asks", r#"{"what":"#);
    arguments.truncate(2);
    arguments.extend(held.clone());
    let before = [vec![Step::Reasoning("Hm.".to_owned()), Step::Text("Look.".to_owned())], call("work", "{}")].concat();
    vec![
        ("in a call", vec![call("work", "{}")], "tool-input-available", "TOOL_CALL_END"),
        ("in a call after a text", vec![before], "tool-input-available", "TOOL_CALL_END"),
        ("in arguments", vec![arguments], "tool-input-start", "TOOL_CALL_START"),
        ("before the first word", vec![held.clone()], "start", "RUN_STARTED"),
        (
            "between a result and the next word",
            vec![call("fails", "{}"), held],
            "tool-output-error",
            "TOOL_CALL_RESULT",
        ),
    ]
}

/// Checks the frames of the AI SDK: each text has a word, except that of an empty step at the end, which is no part of the stored chat.
fn assert_texts(stream: &str, case: &str) {
    let frames = stream.split("\n\n").filter_map(|frame| frame.strip_prefix("data: "));
    let chunks: Vec<Value> = frames.filter_map(|frame| serde_json::from_str(frame).ok()).collect();
    let end = ["start-step", "text-start", "text-end", "finish-step", "abort"];
    let is_left = chunks.len() > end.len()
        && chunks[chunks.len() - end.len()..].iter().zip(end).all(|(chunk, kind)| chunk["type"] == kind);
    let shown = if is_left { &chunks[..chunks.len() - end.len()] } else { &chunks[..] };
    for start in shown.iter().filter(|chunk| chunk["type"] == "text-start" || chunk["type"] == "reasoning-start") {
        let has_word =
            |chunk: &Value| chunk["id"] == start["id"] && chunk["delta"].as_str().is_some_and(|it| !it.is_empty());
        assert!(chunks.iter().any(has_word), "{case}: {stream}");
    }
    assert_eq!(chunks.last().unwrap()["type"], "abort", "{case}: {stream}");
}

/// Checks loaded messages of the AI SDK: each part shows something.
fn assert_parts(messages: &Value, case: &str) {
    for message in messages.as_array().unwrap() {
        let parts = message["parts"].as_array().unwrap();
        assert!(!parts.is_empty(), "{case}: {messages}");
        assert!(parts.iter().all(|part| part["text"] != ""), "{case}: {messages}");
        assert!(parts.last().unwrap()["type"] != "step-start", "{case}: {messages}");
    }
}

async fn load(world: &World, chat: &str) -> Value {
    serde_json::from_str(&world.get(&format!("/api/chat/{chat}")).await.read_all().await).unwrap()
}

#[tokio::test]
async fn a_cancelled_run_shows_no_empty_part() {
    for (case, turns, until, _) in cases() {
        let world = World::new();
        let mut response = world.post(&[user("m1", &turns)]).await;
        response.read_until(until).await;
        if case.starts_with("between") {
            // The model is asked again.
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        assert_eq!(world.ask("anna", "POST", "/api/chat/c/stop", None).await.status, 204);
        assert_texts(&response.read_all().await, case);
        let loaded = load(&world, "c").await;
        assert_parts(&loaded, case);
        let sees_call = loaded.to_string().contains("toolCallId");
        assert_eq!(sees_call, !matches!(case, "before the first word" | "in arguments"), "{case}: {loaded}");
        // The next message does not change what the page shows of the cancelled run.
        let next = world.post(&[user("m1", &turns), user("m2", &[vec![Step::Text("Well.".to_owned())]])]).await;
        assert!(next.read_all().await.contains("Well."), "{case}");
        assert_parts(&load(&world, "c").await, case);
    }
}

/// A message of the person ends a call that waits.
#[tokio::test]
async fn a_call_that_a_message_ended_shows_no_empty_part() {
    let world = World::new();
    world.post(&[user("m1", &[call("asks", r#"{"what":"it"}"#)])]).await.read_all().await;
    world.post(&[user("m2", &[vec![Step::Text("Well.".to_owned())]])]).await.read_all().await;
    let loaded = load(&world, "c").await;
    assert_parts(&loaded, "superseded");
    assert!(loaded.to_string().contains("output-error"), "{loaded}");
}

/// Checks events and messages of AG-UI: each text has a word, and each message has a text or calls.
fn assert_messages(stream: &str, case: &str) {
    let events = kit::Response { status: 200, text: stream.to_owned() }.events();
    for start in events.iter().filter(|event| event["type"] == "TEXT_MESSAGE_START") {
        let has_word =
            |event: &Value| event["type"] == "TEXT_MESSAGE_CONTENT" && event["messageId"] == start["messageId"];
        assert!(events.iter().any(has_word), "{case}: {stream}");
    }
    for message in events.iter().filter_map(|event| event["messages"].as_array()).flatten() {
        let is_shown =
            message["content"].as_str().is_some_and(|text| !text.is_empty()) || message["toolCalls"].is_array();
        assert!(is_shown, "{case}: {message}");
    }
}

#[tokio::test]
async fn a_cancelled_run_shows_no_empty_message() {
    for (case, turns, _, until) in cases() {
        let world = World::new();
        let text = serde_json::to_string(&turns).unwrap();
        let prompt = json!([kit::user("m1", &text)]);
        let body: Value = serde_json::from_str(&kit::input("c", &prompt, &json!({}))).unwrap();
        let mut response = world.ask("anna", "POST", "/agent", Some(&body)).await;
        response.read_until(until).await;
        if case.starts_with("between") {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        assert_eq!(world.ask("anna", "POST", "/api/chat/c/stop", None).await.status, 204);
        let stream = response.read_all().await;
        assert!(stream.contains(r#""outcome":{"type":"cancelled"}"#), "{case}: {stream}");
        assert_messages(&stream, case);
        let connected = world.ask("anna", "POST", "/agent/connect", Some(&body)).await.read_all().await;
        assert!(connected.contains("MESSAGES_SNAPSHOT"), "{connected}");
        assert_messages(&connected, case);
        // The same chat over the other protocol.
        assert_parts(&load(&world, "c").await, case);
    }
}

/// The text that was written is there after a reload, in both protocols, and so is that of a model that failed.
#[tokio::test]
async fn the_text_of_a_response_that_ended_early_is_there_after_a_reload() {
    let half = Step::Text("Half of it.".to_owned());
    for (case, last) in [("a stop", Step::Text(HOLD.to_owned())), ("a failure", Step::Fail)] {
        let is_stopped = case == "a stop";
        for is_ag_ui in [false, true] {
            let (world, turns) = (World::new(), [vec![half.clone(), last.clone()]]);
            let text = serde_json::to_string(&turns).unwrap();
            let body: Value =
                serde_json::from_str(&kit::input("c", &json!([kit::user("m1", &text)]), &json!({}))).unwrap();
            let mut response = if is_ag_ui {
                world.ask("anna", "POST", "/agent", Some(&body)).await
            } else {
                world.post(&[user("m1", &turns)]).await
            };
            response.read_until("\"Half of it.\"").await;
            if is_stopped {
                assert_eq!(world.ask("anna", "POST", "/api/chat/c/stop", None).await.status, 204);
            }
            response.read_all().await;
            let loaded = load(&world, "c").await;
            let parts = json!([{ "type": "step-start" }, { "type": "text", "text": "Half of it.", "state": "done" }]);
            assert_eq!(loaded[1]["parts"], parts, "{case}: {loaded}");
            let connected = world.ask("anna", "POST", "/agent/connect", Some(&body)).await.read_all().await;
            let connected = kit::Response { status: 200, text: connected }.event("MESSAGES_SNAPSHOT");
            assert_eq!(connected["messages"][1]["content"], "Half of it.", "{case}: {connected}");
            // The next answer comes behind it.
            let next = [vec![Step::Text("Well.".to_owned())]];
            world.post(&[user("m1", &turns), user("m2", &next)]).await.read_all().await;
            let loaded = load(&world, "c").await;
            assert_eq!(loaded[1]["parts"], parts, "{case}: {loaded}");
            assert_eq!(loaded[3]["parts"][1]["text"], "Well.", "{case}: {loaded}");
        }
    }
}
