//! Tests of teams on a server: the agent that acts in a chat goes on in it, in both protocols, on another server and in sealed mode.

use std::sync::Arc;

use axum::{Router, body::Body, http::Request};
use serde_json::{Value, json};
use tool_runtime::{
    Agent, Message,
    model::{FunctionModel, Turn},
    store::{MemoryStore, Store},
    tool, toolset,
};
use tool_server::{AgUi, Server};
use tool_stores::sealed::{Key, Keyring, MemoryNonces};

use super::shared_store::send;
use crate::kit::{Response, input, post, user};

/// Looks into the books.
#[tool(effect = read_only, meta(hidden = true))]
fn audit() -> &'static str {
    "secret"
}

/// Returns a model that does what the last prompt says: the name of a tool and its arguments, or a text.
fn model(name: &'static str) -> FunctionModel {
    FunctionModel::new(move |request| match request.messages.last() {
        Some(Message::User { content }) => match content[0].as_text().unwrap().split_once(' ') {
            Some((tool, arguments)) => Turn::call(tool, arguments),
            None => Turn::say(format!("{name} answers")),
        },
        _ => Turn::say(format!("{name} goes on")),
    })
}

fn agent() -> Agent {
    let bills = Agent::new(model("bills")).tools(toolset!(audit));
    Agent::new(model("desk")).hands_over_to("bills", "Knows bills.", bills).unwrap()
}

const HAND_OVER: &str = r#"hand_over {"to":"bills"}"#;

async fn chat(router: &Router, id: &str, text: &str, before: &[Value]) -> Response {
    let message = json!({ "id": id, "role": "user", "parts": [{ "type": "text", "text": text }] });
    let messages = [before, &[message]].concat();
    let request = Request::post("http://localhost/api/chat").header("content-type", "application/json");
    send(router.clone(), request, Body::from(json!({ "id": "c", "messages": messages }).to_string())).await
}

#[tokio::test]
async fn the_agent_that_acts_answers_the_next_message_on_another_server() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let server = || Server::new(agent().store(Arc::clone(&store))).ag_ui(AgUi::new()).router();
    let first = chat(&server(), "m1", HAND_OVER, &[]).await;
    assert_eq!(first.event("tool-input-available")["toolName"], "hand_over");
    assert!(first.text.contains("bills goes on"), "{}", first.text);
    let second = chat(&server(), "m2", "hi", &[]).await;
    assert!(second.text.contains("bills answers"), "{}", second.text);
    // The member's tools have the visibility that they declare.
    let third = chat(&server(), "m3", "audit {}", &[]).await;
    assert!(third.text.contains("bills goes on") && !third.text.contains("audit"), "{}", third.text);

    let messages = json!([user("m1", HAND_OVER)]);
    let first = post(&server(), input("t", &messages, &json!({}))).await;
    assert!(first.text.contains("bills goes on"), "{}", first.text);
    let messages = json!([user("m1", HAND_OVER), user("m2", "hi")]);
    let second = post(&server(), input("t", &messages, &json!({ "runId": "run2" }))).await;
    assert!(second.text.contains("bills answers"), "{}", second.text);
    // A page's own tool is there for the agent that acts.
    let tools = json!([{ "name": "show", "description": "Shows.", "parameters": { "type": "object" } }]);
    let messages = json!([user("m1", HAND_OVER), user("m2", "hi"), user("m3", "show {}")]);
    let third = post(&server(), input("t", &messages, &json!({ "runId": "run3", "tools": tools }))).await;
    assert_eq!(third.event("TOOL_CALL_START")["toolCallName"], "show");
    assert!(!third.text.contains("there is no tool"), "{}", third.text);
}

#[tokio::test]
async fn a_sealed_run_keeps_who_acts() {
    let keys = Keyring::new("k", Key::random());
    let nonces = Arc::new(MemoryNonces::new());
    let server = || Server::new(agent()).stateless(&keys, "desk", Arc::clone(&nonces) as _).router();
    let first = chat(&server(), "m1", HAND_OVER, &[]).await;
    assert!(first.text.contains("bills goes on"), "{}", first.text);
    let sealed =
        first.events().iter().rev().find_map(|event| event["messageMetadata"]["toolRun"].as_str().map(str::to_owned));
    let sealed = sealed.unwrap_or_else(|| panic!("no sealed run: {}", first.text));
    let before = [
        json!({ "id": "m1", "role": "user", "parts": [{ "type": "text", "text": HAND_OVER }] }),
        json!({ "id": "a1", "role": "assistant", "parts": [], "metadata": { "toolRun": sealed } }),
    ];
    let second = chat(&server(), "m2", "hi", &before).await;
    assert!(second.text.contains("bills answers"), "{}", second.text);
}
