//! Tests of a call whose process died: its outcome is unknown, so every loaded page asks about it, and one decision counts.

use std::{
    future::pending,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::{Router, body::Body, http::Request};
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};
use tool_runtime::{
    Agent,
    model::FunctionModel,
    store::{MemoryStore, Store},
    tool, toolset,
};
use tool_server::{AgUi, Server};

use super::shared_store::{chat, send};
use crate::{
    kit::{Response, input, post, user},
    model::{Step, play},
};

/// Transfer money. The first call never ends.
#[tool]
async fn transfer(#[state] starts: &AtomicUsize) -> &'static str {
    if starts.fetch_add(1, Ordering::SeqCst) == 0 {
        pending::<()>().await;
    }
    "transferred"
}

/// A store, and the number of starts of the tool, which outlive the process of a server.
#[derive(Default)]
struct World {
    store: Arc<MemoryStore>,
    starts: Arc<AtomicUsize>,
}

impl World {
    fn server(&self) -> Router {
        let store: Arc<dyn Store> = self.store.clone();
        let agent = Agent::new(FunctionModel::streaming(play)).tools(toolset!(Arc::clone(&self.starts); transfer));
        Server::new(agent.store(store).lease_time(Duration::from_millis(100))).ag_ui(AgUi::new()).router()
    }

    /// Lets a server begin a response, and ends its process while the tool runs.
    fn crash(&self, path: &'static str, body: String) {
        let process = runtime();
        process.block_on(async {
            let router = self.server();
            tokio::spawn(async move { request(router, "POST", path, body).await });
            while self.starts.load(Ordering::SeqCst) == 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        });
        process.shutdown_background();
    }
}

fn runtime() -> Runtime {
    Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}

async fn request(router: Router, method: &str, path: &str, body: impl Into<Body>) -> Response {
    let request = Request::builder().method(method).uri(format!("http://localhost{path}"));
    send(router, request.header("content-type", "application/json"), body.into()).await
}

fn script() -> String {
    serde_json::to_string(&[[Step::Call("transfer".to_owned()), Step::End(0)]]).unwrap()
}

#[test]
fn a_page_of_the_ai_sdk_asks_about_a_call_whose_process_died() {
    let world = World::default();
    world.crash("/api/chat", chat("m1", &script()).to_string());
    runtime().block_on(async {
        let router = world.server();
        let get = async |path| request(router.clone(), "GET", path, Body::empty()).await;
        // No process drives the run, so the server that gets the request continues it.
        let stream = get("/api/chat/c/stream").await;
        assert_eq!(stream.event("tool-approval-request")["type"], "tool-approval-request", "{}", stream.text);
        let load = async || serde_json::from_str::<Value>(&get("/api/chat/c").await.text).unwrap();
        let loaded = load().await;
        assert_eq!(load().await, loaded, "a second page shows the same");
        let is_call = |part: &&Value| part["type"] == "tool-transfer";
        let call = loaded[1]["parts"].as_array().unwrap().iter().find(is_call).expect("the call");
        assert_eq!(call["state"], "approval-requested", "{loaded}");
        let id = call["approval"]["id"].as_str().unwrap();
        let decided =
            |decision| json!({ "id": "c", "messages": loaded, "decisions": { id: decision }, "resumable": true });
        // The person knows that the money was not transferred.
        let first =
            request(router.clone(), "POST", "/api/chat", decided(json!({ "decision": "approve" })).to_string()).await;
        assert!(first.text.contains("transferred"), "{}", first.text);
        let late =
            request(router.clone(), "POST", "/api/chat", decided(json!({ "decision": "deny" })).to_string()).await;
        assert_eq!((late.status, world.starts.load(Ordering::SeqCst)), (200, 2), "{}", late.text);
        assert!(late.text.contains("transferred"), "{}", late.text);
        let after = load().await.to_string();
        assert!(after.contains("output-available") && after.contains("transferred"), "{after}");
    });
}

#[test]
fn a_page_of_ag_ui_asks_about_a_call_whose_process_died() {
    let world = World::default();
    world.crash("/agent", input("c", &json!([user("m1", &script())]), &json!({})));
    runtime().block_on(async {
        let router = world.server();
        let connect =
            async || request(router.clone(), "POST", "/agent/connect", input("c", &json!([]), &json!({}))).await;
        let connected = connect().await;
        let outcome = connected.event("RUN_FINISHED")["outcome"].clone();
        assert_eq!(outcome["type"], "interrupt", "{}", connected.text);
        assert_eq!(connect().await.event("RUN_FINISHED")["outcome"], outcome, "a second page shows the same");
        let id = outcome["interrupts"][0]["id"].clone();
        let resume = |approved: bool| {
            let answer = json!([{ "interruptId": id, "status": "resolved", "payload": { "approved": approved } }]);
            input("c", &json!([user("m1", &script())]), &json!({ "resume": answer }))
        };
        let first = post(&router, resume(true)).await;
        assert!(first.text.contains("transferred"), "{}", first.text);
        post(&router, resume(false)).await;
        assert_eq!(world.starts.load(Ordering::SeqCst), 2);
        assert!(connect().await.text.contains("transferred"));
    });
}
