//! Tests that every route hides the same parts of a tool's calls.

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tool_runtime::{ToolSpec, Toolset, toolset};
use tool_server::protocol::Visibility;

use crate::{
    ai_sdk::reload::{World, call, user},
    kit::input,
    model::Step,
    tools::tools,
};

/// Return text that no client may see, with any setting.
#[tool_runtime::tool(effect = read_only, meta(hidden = true))]
fn always_hidden() -> &'static str {
    "always hidden"
}

fn world(visibility: Visibility) -> World {
    let select = move |spec: &ToolSpec| match spec.name.as_str() {
        "secret" | "grows" | "fails" | "asks" => visibility,
        _ => Visibility::Shown,
    };
    let tools: Toolset = tools().merge(toolset!(always_hidden)).unwrap();
    World::of(tools, Arc::new(Semaphore::new(0)), |server| server.visibility(select))
}

/// Sends the script as a chat and as a thread, and returns all that clients can read of both.
async fn run_everywhere(world: &World, turns: &[Vec<Step>]) -> Vec<(String, String)> {
    let mut all = Vec::new();
    let prompts = json!([{ "id": "m1", "role": "user", "content": serde_json::to_string(turns).unwrap() }]);
    for (path, body) in [
        ("/api/chat", json!({ "id": "ui7", "messages": [user("m1", turns)] })),
        ("/api/v6/chat", json!({ "id": "ui6", "messages": [user("m1", turns)] })),
        ("/agent", serde_json::from_str(&input("thread", &prompts, &json!({}))).unwrap()),
    ] {
        let response = world.ask("anna", "POST", path, Some(&body)).await;
        assert_eq!(response.status, 200);
        all.push((format!("POST {path}"), response.read_all().await));
    }
    // A client can load a chat as a thread, and a thread as a chat.
    for chat in ["ui7", "ui6", "thread"] {
        for path in [format!("/api/chat/{chat}"), format!("/api/v6/chat/{chat}")] {
            all.push((format!("GET {path}"), world.get(&path).await.read_all().await));
        }
        let body: Value = serde_json::from_str(&input(chat, &json!([]), &json!({}))).unwrap();
        let response = world.ask("anna", "POST", "/agent/connect", Some(&body)).await;
        all.push((format!("POST /agent/connect {chat}"), response.read_all().await));
    }
    all
}

#[tokio::test]
async fn results_and_calls_are_hidden_on_every_route() {
    let turn = ["secret", "grows", "fails", "always_hidden"].map(|name| call(name, "{}")).to_vec();
    for visibility in [Visibility::Shown, Visibility::WithoutResult, Visibility::Hidden] {
        let world = world(visibility);
        for (route, text) in run_everywhere(&world, &turn).await {
            for result in ["Main Street", "bbbb", "it does not work"] {
                let is_seen = text.contains(result);
                assert!(!is_seen || visibility == Visibility::Shown, "{result} at {route}: {text}");
                // The log has no preliminary outputs.
                let is_in_log = result != "bbbb" || ["POST /api/chat", "POST /agent"].contains(&route.as_str());
                assert!(is_seen || visibility != Visibility::Shown || !is_in_log, "{result} at {route}: {text}");
            }
            // The script names the tools, too, but in quotes that are escaped.
            for name in ["secret", "grows", "fails"] {
                let is_seen = text.contains(&format!(r#""{name}""#)) || text.contains(&format!("tool-{name}"));
                assert_eq!(is_seen, visibility != Visibility::Hidden, "{name} at {route}: {text}");
            }
            assert!(!text.contains("always hidden") && !text.contains(r#""always_hidden""#), "{route}: {text}");
            assert!(!text.contains("tool-always_hidden"), "{route}: {text}");
        }
        for path in ["/api/tools", "/api/tools.ts"] {
            let text = world.get(path).await.read_all().await;
            assert_eq!(text.contains("secret"), visibility != Visibility::Hidden, "{path}");
            assert!(text.contains("locate") && !text.contains("always_hidden"), "{path}");
        }
    }
}

#[tokio::test]
async fn a_hidden_call_that_a_person_decides_is_seen_without_its_result() {
    let world = world(Visibility::Hidden);
    let asked = run_everywhere(&world, &[call("asks", r#"{"what":"it"}"#)]).await;
    for (route, text) in &asked {
        let is_asked = ["approval-request", "interruptId", r#""interrupts":[{"#].iter().any(|part| text.contains(part));
        assert!(is_asked, "{route}: {text}");
    }
    let loaded = world.get("/api/chat/ui7").await.read_all().await;
    let mut messages: Vec<Value> = serde_json::from_str(&loaded).unwrap();
    let part = messages[1]["parts"].as_array_mut().unwrap().last_mut().unwrap();
    assert_eq!((&part["state"], &part["input"]), (&json!("approval-requested"), &json!({ "what": "it" })));
    part["state"] = json!("approval-responded");
    part["approval"]["approved"] = json!(true);
    let body = json!({ "id": "ui7", "messages": messages });
    let live = world.ask("anna", "POST", "/api/chat", Some(&body)).await.read_all().await;
    let loaded = world.get("/api/chat/ui7").await.read_all().await;
    assert!(!live.contains("removed it") && !loaded.contains("removed it"), "{live} {loaded}");
    let messages: Vec<Value> = serde_json::from_str(&loaded).unwrap();
    let parts = messages[1]["parts"].as_array().unwrap();
    let part = parts.iter().find(|part| part["type"] == "tool-asks").expect("the call");
    assert_eq!((&part["state"], &part["output"]), (&json!("output-available"), &json!("")));
}
