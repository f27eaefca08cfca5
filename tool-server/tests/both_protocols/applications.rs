//! Tests of servers of different applications with one store: none shows, continues or ends a chat of another.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::{Router, body::Body, http::Request};
use serde_json::{Value, json};
use tool_runtime::{
    Agent,
    model::FunctionModel,
    run::{Phase, Principal},
    store::Store,
    tool, toolset,
};
use tool_server::{AgUi, Server};
use tool_stores::sealed::{Key, Keyring, MemoryNonces};
use tool_test_kit::{
    stores::{File, Schema, Stores},
    within,
};

use super::shared_store::{chat, send};
use crate::{
    kit::{Response, input},
    model::{Step, play},
};

/// Books.
#[tool(approval = always, effect = destructive)]
fn book(#[state] booked: &AtomicUsize) -> &'static str {
    booked.fetch_add(1, Ordering::SeqCst);
    "booked"
}

/// Pays.
#[tool(approval = always, effect = destructive)]
fn pay(#[state] paid: &AtomicUsize) -> &'static str {
    paid.fetch_add(1, Ordering::SeqCst);
    "paid"
}

const LEASE: Duration = Duration::from_millis(300);

/// An application: its agent, and a server.
struct Application {
    agent: Agent,
    router: Router,
    effects: Arc<AtomicUsize>,
}

impl Application {
    fn new(name: &str, store: Arc<dyn Store>) -> Self {
        let effects = Arc::new(AtomicUsize::new(0));
        let tools = match name {
            "billing" => toolset!(Arc::clone(&effects); pay),
            _ => toolset!(Arc::clone(&effects); book),
        };
        let agent = Agent::new(FunctionModel::streaming(play)).tools(tools).name(name).store(store).lease_time(LEASE);
        let router = Server::new(agent.clone()).ag_ui(AgUi::new()).router();
        Self { agent, router, effects }
    }

    async fn ask(&self, method: &str, path: &str, body: &Value) -> Response {
        let request = Request::builder().method(method).uri(format!("http://localhost{path}"));
        let request = request.header("content-type", "application/json");
        let body = if body.is_null() { Body::empty() } else { Body::from(body.to_string()) };
        send(self.router.clone(), request, body).await
    }

    async fn list(&self) -> Vec<String> {
        let listed: Vec<Value> = serde_json::from_str(&self.ask("GET", "/api/chats", &Value::Null).await.text).unwrap();
        listed.iter().map(|chat| chat["id"].as_str().unwrap().to_owned()).collect()
    }

    /// Begins a response that ends with a request for an approval. Returns the id of the request.
    async fn begin(&self, call: &str) -> String {
        let turn = vec![Step::Text("I act.".to_owned()), Step::Call(call.to_owned()), Step::End(0)];
        let script = serde_json::to_string(&[turn]).unwrap();
        let response = self.ask("POST", "/api/chat", &chat("m1", &script)).await;
        response.event("tool-approval-request")["approvalId"].as_str().unwrap().to_owned()
    }

    /// Sends the approval `id` with the messages that the server has of the chat, as a page does.
    async fn approve(&self, id: &str) -> Response {
        let loaded = self.ask("GET", "/api/chat/c", &Value::Null).await;
        let loaded = serde_json::from_str(&loaded.text).ok().filter(Value::is_array).unwrap_or_else(|| json!([]));
        let decisions = json!({ id: { "decision": "approve" } });
        let body = json!({ "id": "c", "messages": loaded, "decisions": decisions, "resumable": true });
        self.ask("POST", "/api/chat", &body).await
    }
}

/// Runs `check` with handles of one store, for each kind of store.
async fn with_each_store(check: impl AsyncFn(Stores)) {
    check(Stores::memory()).await;
    check(File::new().stores()).await;
    let schema = Schema::new();
    check(schema.stores().await).await;
    schema.remove().await;
}

#[tokio::test]
async fn a_chat_of_another_application_is_like_a_missing_one() {
    with_each_store(async |stores| {
        let travel = Application::new("travel", stores.nth(0));
        let approval = travel.begin("book").await;
        // One server has a name, and the other one has none.
        for name in ["billing", ""] {
            let other = Application::new(name, stores.nth(1));
            assert!(other.list().await.is_empty());
            for id in ["c", "unknown"] {
                let empty = serde_json::from_str(&input(id, &json!([]), &json!({}))).unwrap();
                let parts = json!([{ "type": "text", "text": "And?" }]);
                let steered = json!({ "message": { "id": "m7", "role": "user", "parts": parts } });
                let requests = [
                    ("GET", format!("/api/chat/{id}"), Value::Null, 404),
                    ("GET", format!("/api/v6/chat/{id}"), Value::Null, 404),
                    ("GET", format!("/api/chat/{id}/stream"), Value::Null, 204),
                    ("POST", format!("/api/chat/{id}/stop"), json!({}), 204),
                    ("POST", format!("/api/chat/{id}/steer"), steered, 409),
                    ("PATCH", format!("/api/chat/{id}"), json!({ "title": "Mine" }), 404),
                    ("DELETE", format!("/api/chat/{id}"), Value::Null, 404),
                    ("GET", format!("/agent/{id}/stream"), Value::Null, 204),
                    ("POST", "/agent/connect".to_owned(), empty, 200),
                ];
                for (method, path, body, status) in requests {
                    let response = other.ask(method, &path, &body).await;
                    assert_eq!(response.status, status, "{name} {method} {path}: {}", response.text);
                    assert!(!response.text.contains("I act"), "{name} {method} {path}: {}", response.text);
                }
            }
            // An approval of the other application's call approves nothing here.
            let response = other.approve(&approval).await;
            assert!(response.status >= 400 && !response.text.contains("booked"), "{}", response.text);
            // A message begins a chat of this application, although the ids are equal.
            let response = other.ask("POST", "/api/chat", &chat("m2", "Hello.")).await;
            assert!(response.text.contains("done"), "{}", response.text);
            assert_eq!(other.list().await, ["c"]);
            assert!(!other.ask("GET", "/api/chat/c", &Value::Null).await.text.contains("I act"));
            assert_eq!(other.ask("DELETE", "/api/chat/c", &Value::Null).await.status, 204);
        }
        assert_eq!(travel.list().await, ["c"]);
        assert!(travel.approve(&approval).await.text.contains("booked"));
        assert_eq!(travel.effects.load(Ordering::SeqCst), 1);
    })
    .await;
}

/// A worker of a server takes up an approved call only if it belongs to the server's application.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_takes_over_only_chats_of_its_application() {
    with_each_store(async |stores| {
        let travel = Application::new("travel", stores.nth(0));
        travel.begin("book").await;
        let run = travel.agent.run_store().unwrap().list(&Principal::from("anonymous"), 0..2).await.unwrap();
        let run = run.first().expect("the chat has a run").run.clone();
        let open = travel.agent.open(&run).await.unwrap().interrupts().next().unwrap().id.clone();
        // The server ends after this decision, so its call is left to a worker.
        let decided = travel.agent.decide(&run, &open, tool_runtime::run::Decision::Approve, "anonymous").await;
        let before = decided.unwrap().rev();

        let others = ["billing", ""].map(|name| Application::new(name, stores.nth(1)));
        let servers = others.map(|other| Server::new(other.agent));
        let handles = servers.iter().map(Server::shutdown_handle).collect::<Vec<_>>();
        let workers = servers.map(|server| tokio::spawn(server.take_over()));
        // A worker looks at the store six times in a lease, and takes up what it finds twice.
        tokio::time::sleep(2 * LEASE).await;
        assert_eq!(travel.agent.open(&run).await.unwrap().run().rev(), before);

        let again = Application::new("trips", stores.nth(1));
        let server = Server::new(again.agent.clone().earlier_names(["travel"]));
        let handle = server.shutdown_handle();
        let worker = tokio::spawn(server.take_over());
        let finishes = async {
            while travel.agent.open(&run).await.unwrap().run().phase() != Phase::Finished {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        within("the worker of the renamed application", finishes).await;
        assert_eq!(again.effects.load(Ordering::SeqCst), 1);
        for handle in handles.iter().chain([&handle]) {
            handle.suspend(Duration::from_mins(1)).await;
        }
        for worker in workers.into_iter().chain([worker]) {
            worker.await.unwrap();
        }
    })
    .await;
}

#[tokio::test]
async fn a_renamed_application_keeps_its_chats() {
    with_each_store(async |stores| {
        for before in ["", "travel"] {
            let old = Application::new(before, stores.nth(0));
            let approval = old.begin("book").await;
            let mut new = Application::new("trips", stores.nth(1));
            assert!(new.list().await.is_empty());
            new.agent = new.agent.earlier_names(["", "travel"]);
            new.router = Server::new(new.agent.clone()).ag_ui(AgUi::new()).router();
            assert_eq!(new.list().await, ["c"]);
            assert!(new.approve(&approval).await.text.contains("booked"));
            assert!(new.ask("POST", "/api/chat", &chat("m2", "More.")).await.text.contains("done"));
            // Both sides see one chat.
            assert!(old.ask("GET", "/api/chat/c", &Value::Null).await.text.contains("More."));
            assert_eq!(new.ask("DELETE", "/api/chat/c", &Value::Null).await.status, 204);
            assert!(old.list().await.is_empty() && new.list().await.is_empty());
        }
    })
    .await;
}

/// Two applications that share keys and audience by mistake.
#[tokio::test]
async fn a_sealed_run_of_another_application_is_not_continued() {
    let (keys, nonces) = (Keyring::new("test", Key::from_bytes([7; 32])), Arc::new(MemoryNonces::new()));
    let stateless = |name: &str, earlier: &[&str]| {
        let mut application = Application::new(name, Stores::memory().one);
        let agent = application.agent.clone().earlier_names(earlier.iter().copied());
        application.router = Server::new(agent).stateless(&keys, "desk", Arc::clone(&nonces) as _).router();
        application
    };
    let travel = stateless("travel", &[]);
    let turn = vec![Step::Call("book".to_owned()), Step::End(0)];
    let prompt = chat("m1", &serde_json::to_string(&[turn]).unwrap());
    let response = travel.ask("POST", "/api/chat", &prompt).await;
    let id = response.event("tool-approval-request")["approvalId"].as_str().unwrap().to_owned();
    let sealed =
        response.events().iter().find_map(|event| event["messageMetadata"]["toolRun"].as_str().map(str::to_owned));
    let mut messages = prompt["messages"].as_array().unwrap().clone();
    messages.push(json!({ "id": "a1", "role": "assistant", "parts": [], "metadata": { "toolRun": sealed.unwrap() } }));
    let approval = json!({ "id": "c", "messages": messages, "decisions": { id: { "decision": "approve" } } });

    for name in ["billing", ""] {
        let refused = stateless(name, &[]).ask("POST", "/api/chat", &approval).await;
        assert_eq!(refused.status, 409, "{}", refused.text);
        assert!(refused.text.contains("sealed for another application"), "{}", refused.text);
    }
    // The text is not spent.
    let renamed = stateless("trips", &["travel"]);
    let response = renamed.ask("POST", "/api/chat", &approval).await;
    assert!(response.text.contains("booked"), "{}", response.text);
    assert_eq!(renamed.effects.load(Ordering::SeqCst), 1);
}
