//! Tests of the headers of streams, which a proxy must neither hold back nor change.

use axum::{
    Router,
    body::Body,
    http::{HeaderMap, Request, header},
};
use serde_json::{Value, json};
use tool_runtime::{Agent, model::FunctionModel};
use tool_server::{AgUi, Server, protocol::ai_sdk::SdkVersion, respond_with_chunks};
use tower::ServiceExt;

use crate::{
    kit::{input, user},
    model::{Step, play},
    tools::working,
};

async fn ask(router: &Router, method: &str, path: &str, headers: &[(&str, &str)], body: String) -> HeaderMap {
    let request = Request::builder().method(method).uri(format!("http://localhost{path}"));
    let request = request.header(header::CONTENT_TYPE, "application/json");
    let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    let response = router.clone().oneshot(request.body(Body::from(body)).unwrap()).await.unwrap();
    assert_eq!(response.status(), 200, "{method} {path}");
    response.headers().clone()
}

fn assert_streams(headers: &HeaderMap, what: &str) {
    let expected = [
        ("content-type", "text/event-stream"),
        ("cache-control", "no-cache, no-transform"),
        ("x-accel-buffering", "no"),
    ];
    for (name, value) in expected {
        let sent: Vec<_> = headers.get_all(name).iter().collect();
        assert_eq!(sent, [value], "`{name}` of {what}");
    }
}

fn call() -> Vec<Vec<Step>> {
    vec![vec![Step::Call("work".to_owned()), Step::Arguments(0, "{}".to_owned()), Step::End(0)]]
}

fn chat(id: &str) -> String {
    let text = serde_json::to_string(&call()).unwrap();
    let prompt = json!({ "id": "m1", "role": "user", "parts": [{ "type": "text", "text": text }] });
    json!({ "id": id, "messages": [prompt], "resumable": true }).to_string()
}

#[tokio::test]
async fn every_stream_reaches_the_client_as_it_is_written() {
    let (tools, _done) = working();
    let agent = Agent::new(FunctionModel::streaming(play)).tools(tools);
    // A time beyond the range of the clock turns the comments off.
    let server = Server::new(agent).ag_ui(AgUi::new().detach(|_| true)).keep_alive(std::time::Duration::MAX);
    let chunks = axum::routing::post(async || respond_with_chunks(SdkVersion::V7, async |_| {}));
    let router = server.merge(Router::new().route("/chunks", chunks)).router();
    let run = input("c3", &json!([user("m1", &serde_json::to_string(&call()).unwrap())]), &json!({}));
    let known = |thread: &str| input(thread, &Value::Array(Vec::new()), &json!({}));
    for (method, path, body) in [
        ("POST", "/api/chat", chat("c1")),
        ("POST", "/api/v6/chat", chat("c2")),
        ("POST", "/agent", run),
        ("GET", "/api/chat/c1/stream", String::new()),
        ("GET", "/api/v6/chat/c2/stream", String::new()),
        ("HEAD", "/api/chat/c1/stream", String::new()),
        ("GET", "/agent/c3/stream", String::new()),
        ("POST", "/agent/connect", known("c3")),
        ("POST", "/agent/connect", known("unknown")),
        ("POST", "/chunks", String::new()),
    ] {
        assert_streams(&ask(&router, method, path, &[], body).await, &format!("{method} {path}"));
    }
    let other = ask(&router, "GET", "/api/tools", &[], String::new()).await;
    assert_eq!(other.get("cache-control"), None, "a proxy may compress what is no stream");
}

#[cfg(feature = "mcp")]
#[tokio::test]
async fn every_stream_of_mcp_reaches_the_client_as_it_is_written() {
    let router = tool_server::mcp::McpServer::new(working().0).http().router();
    let accept = ("accept", "application/json, text/event-stream");
    let begin = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" },
    } });
    let begun = ask(&router, "POST", "/mcp", &[accept], begin.to_string()).await;
    assert_streams(&begun, "initialize");
    let session = [accept, ("mcp-session-id", begun["mcp-session-id"].to_str().unwrap())];
    assert_streams(&ask(&router, "GET", "/mcp/", &session, String::new()).await, "the session's own stream");
    let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" }).to_string();
    assert_streams(&ask(&router, "POST", "/mcp/", &session, list).await, "a response in a session");
}
