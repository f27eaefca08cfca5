//! Tests of servers whose calls wait for a secret of the caller: in both protocols, in sealed mode, and over MCP.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use axum::{Router, body::Body, http::Request};
use rmcp::model::{ElicitResult, ElicitationAction};
use serde_json::{Value, json};
use tool_runtime::{Agent, agent::Secret, model::FunctionModel, tool, toolset};
use tool_server::{AgUi, Server, mcp::McpServer};
use tool_stores::sealed::{Key, Keyring, MemoryNonces};

use super::shared_store::send;
use crate::{
    kit::{Response, input, user},
    mcp::kit::{Person, client, params, text},
    model::{Step, play},
};

/// Posts with the caller's token.
#[tool(effect = write)]
fn publish(#[arg(secret)] token: String) -> String {
    format!("posted with {} letters", token.len())
}

/// Returns an agent that has the token once `is_signed_in`.
fn agent(is_signed_in: &Arc<AtomicBool>) -> Agent {
    let is_signed_in = Arc::clone(is_signed_in);
    Agent::new(FunctionModel::streaming(play)).tools(toolset!(publish)).secrets(move |_, _| {
        let is_there = is_signed_in.load(Ordering::SeqCst);
        let missing = || Secret::missing("Sign in.", Some("https://example.com/in".to_owned()));
        async move { Ok(if is_there { Secret::new("k-123") } else { missing() }) }
    })
}

/// Returns a server with a store, and one in sealed mode.
fn servers(is_signed_in: &Arc<AtomicBool>) -> [Router; 2] {
    let server = || Server::new(agent(is_signed_in)).ag_ui(AgUi::new());
    let sealed = server().stateless(&Keyring::new("k", Key::random()), "desk", Arc::new(MemoryNonces::new()));
    [server().router(), sealed.router()]
}

async fn post(router: &Router, path: &str, body: &Value) -> Response {
    let request = Request::post(format!("http://localhost{path}")).header("content-type", "application/json");
    send(router.clone(), request, Body::from(body.to_string())).await
}

fn script() -> String {
    let call = vec![Step::Call("publish".to_owned()), Step::Arguments(0, "{}".to_owned()), Step::End(0)];
    serde_json::to_string(&[call]).unwrap()
}

#[tokio::test]
async fn the_ai_sdk_asks_for_an_approval_until_the_secret_is_there() {
    let is_signed_in = Arc::new(AtomicBool::new(false));
    for router in servers(&is_signed_in) {
        is_signed_in.store(false, Ordering::SeqCst);
        let prompt = json!({ "id": "m", "role": "user", "parts": [{ "type": "text", "text": script() }] });
        let mut asked = post(&router, "/api/chat", &json!({ "id": "c", "messages": [prompt] })).await;
        for is_there in [false, true] {
            let request = asked.event("tool-approval-request");
            assert!(asked.text.contains("Sign in.\\nhttps://example.com/in"), "{}", asked.text);
            assert!(
                asked.text.contains(r#""need":{"kind":"secret","url":"https://example.com/in"}"#),
                "{}",
                asked.text
            );
            is_signed_in.store(is_there, Ordering::SeqCst);
            let mut metadata = Value::Null;
            for event in asked.events() {
                if let Some(given) = event.get("messageMetadata") {
                    metadata = given.clone();
                }
            }
            let part = json!({
                "type": "tool-publish", "toolCallId": request["toolCallId"], "state": "approval-responded", "input": {},
                "approval": { "id": request["approvalId"], "approved": true },
            });
            let mut parts = vec![part];
            let data = asked.events().into_iter().filter(|event| {
                event["type"].as_str().is_some_and(|kind| kind.starts_with("data-")) && event["transient"] != true
            });
            parts.extend(data);
            let answer = json!({ "id": "a", "role": "assistant", "metadata": metadata, "parts": parts });
            asked = post(&router, "/api/chat", &json!({ "id": "c", "messages": [prompt, answer] })).await;
        }
        assert_eq!(asked.event("tool-output-available")["output"], "posted with 5 letters", "{}", asked.text);
        assert!(!asked.text.contains("k-123"));
    }
}

#[tokio::test]
async fn ag_ui_interrupts_until_the_secret_is_there() {
    let is_signed_in = Arc::new(AtomicBool::new(false));
    for router in servers(&is_signed_in) {
        is_signed_in.store(false, Ordering::SeqCst);
        let ask = |more: Value| input("t", &json!([user("m", &script())]), &more).parse::<Value>().unwrap();
        let mut asked = post(&router, "/agent", &ask(json!({}))).await;
        for is_there in [false, true] {
            let finished = asked.event("RUN_FINISHED");
            let open = &finished["outcome"]["interrupts"][0];
            assert_eq!(open["message"], "Sign in.\nhttps://example.com/in", "{}", asked.text);
            assert_eq!(open["metadata"]["need"], json!({ "kind": "secret", "url": "https://example.com/in" }));
            is_signed_in.store(is_there, Ordering::SeqCst);
            let entry = json!({ "interruptId": open["id"], "status": "resolved", "payload": { "approved": true } });
            let state = asked.events().into_iter().rev().find(|event| event["type"] == "STATE_SNAPSHOT");
            let mut more = json!({ "resume": [entry] });
            if let Some(state) = state {
                more["state"] = state["snapshot"].clone();
            }
            asked = post(&router, "/agent", &ask(more)).await;
        }
        assert_eq!(asked.event("TOOL_CALL_RESULT")["content"], "posted with 5 letters", "{}", asked.text);
        assert!(!asked.text.contains("k-123"));
    }
}

#[tokio::test]
async fn an_mcp_client_is_asked_or_reads_the_reason() {
    let is_signed_in = Arc::new(AtomicBool::new(false));
    for modern in [false, true] {
        // A client that cannot ask its person.
        is_signed_in.store(false, Ordering::SeqCst);
        let connected = client(&McpServer::of(agent(&is_signed_in)), Person::new(None), modern).await;
        let refused = match connected.call_tool(params("publish", json!({}))).await {
            Ok(refused) => {
                assert_eq!((modern, refused.is_error), (false, Some(true)));
                text(&refused)
            }
            Err(error) => error.to_string(),
        };
        assert!(refused.contains("it needs this first: Sign in."), "{refused}");
        is_signed_in.store(true, Ordering::SeqCst);
        let done = connected.call_tool(params("publish", json!({}))).await.unwrap();
        assert_eq!(text(&done), "posted with 5 letters");
        // A client with a form. Its person has signed in meanwhile.
        let asked = Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let source = agent(&is_signed_in).secrets(move |_, _| {
            let is_there = asked.fetch_add(1, Ordering::SeqCst) > 0;
            let missing = || Secret::missing("Sign in.", Some("https://example.com/in".to_owned()));
            async move { Ok(if is_there { Secret::new("k-123") } else { missing() }) }
        });
        let approve =
            |_: &str| ElicitResult::new(ElicitationAction::Accept).with_content(json!({ "decision": "approve" }));
        let person = Person::new(Some(approve));
        let connected = client(&McpServer::of(source), person.clone(), modern).await;
        let done = connected.call_tool(params("publish", json!({}))).await.unwrap();
        assert_eq!(text(&done), "posted with 5 letters");
        assert_eq!(person.received(), ["Sign in.\nhttps://example.com/in"]);
    }
}
