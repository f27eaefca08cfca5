//! Tests of sessions over HTTP: their number, owners and end. Tests of requests that share an id, over HTTP and stdio.

use std::{sync::Arc, time::Duration};

use reqwest::Response;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines},
    net::TcpListener,
    sync::Semaphore,
};
use tool_runtime::{Provide, tool, toolset};
use tool_server::{
    BearerToken,
    mcp::{McpHttp, McpServer},
};

#[derive(Provide)]
struct State {
    permits: Arc<Semaphore>,
}

/// Wait for a permit.
#[tool(effect = read_only)]
async fn wait(
    /** The text that it returns. */
    word: String,
    #[state] permits: &Arc<Semaphore>,
) -> String {
    permits.acquire().await.unwrap().forget();
    word
}

struct World {
    url: String,
    client: reqwest::Client,
    /// Permits for the tool `wait`.
    permits: Arc<Semaphore>,
}

impl World {
    async fn new(change: impl FnOnce(McpHttp) -> McpHttp) -> Self {
        let permits = Arc::new(Semaphore::new(0));
        let state = State { permits: Arc::clone(&permits) };
        let http = change(McpServer::new(toolset!(state; wait)).http());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        tokio::spawn(http.serve(listener, std::future::pending()));
        Self { url, client: crate::mcp::http_client(), permits }
    }

    async fn post(&self, by: &str, session: Option<&str>, body: &Value) -> Response {
        let request = self.client.post(&self.url).bearer_auth(by).body(body.to_string());
        let request = request.header("content-type", "application/json");
        let request = request.header("accept", "application/json, text/event-stream");
        session.into_iter().fold(request, |request, id| request.header("mcp-session-id", id)).send().await.unwrap()
    }

    /// Begins a session, and returns its id.
    async fn begin(&self, by: &str) -> String {
        let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } } });
        let begun = self.post(by, None, &hello).await;
        let id = begun.headers()["mcp-session-id"].to_str().unwrap().to_owned();
        begun.text().await.unwrap();
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        assert_eq!(self.post(by, Some(&id), &ready).await.status(), 202);
        id
    }

    /// Lists the tools in a session, and returns the status.
    async fn list(&self, by: &str, session: &str) -> u16 {
        let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" });
        self.post(by, Some(session), &list).await.status().as_u16()
    }

    async fn call(&self, session: &str, id: u64, word: &str) -> Response {
        let params = json!({ "name": "wait", "arguments": { "word": word } });
        let call = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
        self.post("anna", Some(session), &call).await
    }
}

/// The client writes lines, as over stdio, and does not wait for responses.
#[tokio::test]
async fn lines_with_one_id_get_a_response_each() {
    let permits = Arc::new(Semaphore::new(0));
    let state = State { permits: Arc::clone(&permits) };
    let (near, far) = tokio::io::duplex(1 << 16);
    let server = McpServer::new(toolset!(state; wait));
    tokio::spawn(async move {
        let (read, write) = tokio::io::split(far);
        server.serve_streams(read, write).await
    });
    let (read, mut write) = tokio::io::split(near);
    let mut lines = BufReader::new(read).lines();
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } } });
    let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let call = |id: u64, word: &str| {
        let params = json!({ "name": "wait", "arguments": { "word": word } });
        json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
    };
    let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 9 } });
    let next = async |lines: &mut Lines<_>| {
        let line = tokio::time::timeout(Duration::from_secs(20), lines.next_line()).await.expect("a response");
        serde_json::from_str::<Value>(&line.unwrap().unwrap()).unwrap()
    };
    let sent = [hello, ready, call(7, "first"), call(7, "second"), call(9, "cancelled"), cancel];
    let text: String = sent.iter().map(|message| format!("{message}\n")).collect();
    write.write_all(text.as_bytes()).await.unwrap();
    assert_eq!(next(&mut lines).await["id"], 1);
    let refused = next(&mut lines).await;
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!(7), &json!(-32600)), "{refused}");
    permits.add_permits(1);
    let response = next(&mut lines).await;
    assert!(response["id"] == 7 && response["result"].to_string().contains("first"), "{response}");
    // An id is free again after its response, and after a cancelled call has ended.
    permits.add_permits(2);
    for id in [7, 9] {
        loop {
            write.write_all(format!("{}\n", call(id, "again")).as_bytes()).await.unwrap();
            let response = next(&mut lines).await;
            if response["error"].is_null() {
                assert!(response["id"] == id && response["result"].to_string().contains("again"), "{response}");
                break;
            }
        }
    }
}

/// Reads the response to its end.
async fn read_all(response: Response) -> String {
    tokio::time::timeout(Duration::from_secs(20), response.text()).await.expect("it ends").unwrap()
}

#[tokio::test]
async fn the_least_recently_used_session_of_the_principal_ends() {
    let tokens = BearerToken::of([("anna", "anna"), ("ben", "ben")]);
    let world = World::new(|http| http.max_sessions(2).authenticate(tokens)).await;
    let bens = world.begin("ben").await;
    let (first, second) = (world.begin("anna").await, world.begin("anna").await);
    let listening = world.client.get(&world.url).bearer_auth("anna").header("accept", "text/event-stream");
    let listening = listening.header("mcp-session-id", &second).send().await.unwrap();
    assert_eq!(listening.status(), 200);
    // This makes the second session the least recently used.
    assert_eq!(world.list("anna", &first).await, 200);
    let third = world.begin("anna").await;
    read_all(listening).await;
    for (by, session, status) in [
        ("anna", &first, 200),
        ("anna", &second, 404),
        ("anna", &third, 200),
        ("ben", &bens, 200),
        ("ben", &first, 404),
    ] {
        assert_eq!(world.list(by, session).await, status, "{by}");
    }
    // A session that its client has ended no longer counts.
    let ended = world.client.delete(&world.url).bearer_auth("anna").header("mcp-session-id", &first);
    assert_eq!(ended.send().await.unwrap().status(), 204);
    world.begin("anna").await;
    assert_eq!((world.list("anna", &first).await, world.list("anna", &third).await), (404, 200));
}

#[tokio::test]
async fn without_authentication_all_sessions_are_of_one_principal() {
    let world = World::new(|http| http.max_sessions(1)).await;
    let first = world.begin("anna").await;
    let second = world.begin("ben").await;
    assert_eq!((world.list("anna", &first).await, world.list("anna", &second).await), (404, 200));
}

#[tokio::test]
async fn requests_that_share_an_id_in_flight_are_refused() {
    let world = World::new(|http| http).await;
    let (session, other) = (world.begin("anna").await, world.begin("anna").await);
    let first = world.call(&session, 7, "first").await;
    let refused = read_all(world.call(&session, 7, "second").await).await;
    assert!(refused.contains("-32600") && refused.contains("the id `7` is in flight"), "{refused}");
    // Another session can use the id.
    let elsewhere = world.call(&other, 7, "elsewhere").await;
    world.permits.add_permits(2);
    for (response, word) in [(first, "first"), (elsewhere, "elsewhere")] {
        let text = read_all(response).await;
        assert!(text.contains(word), "{text}");
    }
    // A request whose client has disconnected is still in flight.
    drop(world.call(&session, 7, "left").await);
    let refused = read_all(world.call(&session, 7, "again").await).await;
    assert!(refused.contains("is in flight"), "{refused}");
    world.permits.add_permits(2);
    loop {
        let text = read_all(world.call(&session, 7, "last").await).await;
        if !text.contains("is in flight") {
            assert!(text.contains("last"), "{text}");
            return;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn open_streams_end_at_shutdown() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let http = McpServer::new(tool_runtime::Toolset::new()).http().grace(Duration::from_millis(10));
    let serving = tokio::spawn(http.serve(listener, async move { stopped.await.unwrap_or_default() }));
    let world = World { url, client: crate::mcp::http_client(), permits: Arc::new(Semaphore::new(0)) };
    let session = world.begin("anna").await;
    let listening = world.client.get(&world.url).header("accept", "text/event-stream");
    let listening = listening.header("mcp-session-id", &session).send().await.unwrap();
    stop.send(()).unwrap();
    // The stream ends, or breaks off if the grace period ends first.
    let _ = tokio::time::timeout(Duration::from_secs(20), listening.text()).await.expect("it ends");
    tokio::time::timeout(Duration::from_secs(20), serving).await.expect("it ends").unwrap().unwrap();
}
