//! Tests that a greedy caller does not take what others use: running calls, and tasks with their results.

use std::sync::Arc;

use futures_util::{StreamExt, stream::FuturesUnordered};
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::Semaphore};
use tool_runtime::{Provide, tool, toolset};
use tool_server::{
    BearerToken,
    mcp::{McpServer, server::TaskSupport},
};

#[derive(Provide)]
struct State {
    permits: Arc<Semaphore>,
}

/// Wait for a permit, and return a text.
#[tool(effect = read_only)]
async fn wait(
    /** The length of the text. */
    length: usize,
    #[state] permits: &Arc<Semaphore>,
) -> String {
    permits.acquire().await.unwrap().forget();
    "x".repeat(length)
}

/// A server without sessions, and a client.
struct World {
    url: String,
    client: reqwest::Client,
    permits: Arc<Semaphore>,
}

impl World {
    async fn new(change: impl FnOnce(McpServer) -> McpServer) -> Self {
        let permits = Arc::new(Semaphore::new(0));
        let state = State { permits: Arc::clone(&permits) };
        let users = BearerToken::of([("greedy", "greedy"), ("other", "other")]);
        let http = change(McpServer::new(toolset!(state; wait))).http().authenticate(users);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        tokio::spawn(http.serve(listener, std::future::pending()));
        Self { url, client: crate::mcp::http_client(), permits }
    }

    /// Sends a request, and returns its response.
    async fn ask(&self, by: &str, method: &str, mut params: Value, name: &str) -> Value {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "t", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": { "extensions": { "io.modelcontextprotocol/tasks": {} } },
        });
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let request = self.client.post(&self.url).bearer_auth(by).body(body.to_string());
        let request = request.header("content-type", "application/json");
        let request = request.header("accept", "application/json, text/event-stream");
        let request = request.header("mcp-protocol-version", "2026-07-28").header("mcp-method", method);
        let text = request.header("mcp-name", name).send().await.unwrap().text().await.unwrap();
        let data = text.lines().filter_map(|line| line.strip_prefix("data:")).find(|data| data.contains("\"id\""));
        serde_json::from_str(data.unwrap_or(&text)).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    async fn call(&self, by: &str, length: usize) -> Value {
        self.ask(by, "tools/call", json!({ "name": "wait", "arguments": { "length": length } }), "wait").await
    }
}

#[tokio::test]
async fn one_caller_does_not_take_the_running_calls_of_another() {
    let world = World::new(|server| server.max_calls(2)).await;
    let mut greedy: FuturesUnordered<_> = (0..3).map(|_| world.call("greedy", 1)).collect();
    // Two calls wait for permits, so this is the third.
    let refused = greedy.next().await.unwrap();
    assert!(refused["error"]["message"].as_str().unwrap().contains("at most 2 calls of one caller"), "{refused}");
    world.permits.add_permits(3);
    let done = [world.call("other", 1).await, greedy.next().await.unwrap(), greedy.next().await.unwrap()];
    for done in done {
        assert!(done["result"].to_string().contains('x'), "{done}");
    }
    world.permits.add_permits(1);
    let again = world.call("greedy", 1).await;
    assert!(again["result"].to_string().contains('x'), "{again}");
}

#[tokio::test]
async fn one_caller_does_not_take_the_tasks_of_another() {
    let world = World::new(|server| server.tasks(|_| TaskSupport::Required)).await;
    let mut begun = Vec::new();
    let refused = loop {
        let task = world.call("greedy", 1).await;
        match task["result"]["taskId"].as_str() {
            Some(id) => begun.push(id.to_owned()),
            None => break task,
        }
        assert!(begun.len() <= 1000, "no limit");
    };
    assert_eq!(begun.len(), 100);
    assert!(refused["error"]["message"].as_str().unwrap().contains("of one caller"), "{refused}");
    let other = world.call("other", 1).await;
    let id = other["result"]["taskId"].as_str().unwrap_or_else(|| panic!("{other}")).to_owned();
    world.permits.add_permits(101);
    let get = async |by: &str| world.ask(by, "tasks/get", json!({ "taskId": id }), &id).await;
    let done = loop {
        let state = get("other").await;
        if state["result"]["status"] != "working" {
            break state;
        }
    };
    assert!(done["result"]["result"].to_string().contains('x'), "{done}");
    assert!(get("greedy").await["error"].is_object(), "the task is another caller's");
}
