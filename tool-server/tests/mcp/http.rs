//! Over HTTP: who may connect, and whose everything is.

use http::HeaderValue;
use serde_json::json;
use tokio::net::TcpListener;
use tool_runtime::{Context, tool, toolset};
use tool_server::{
    Authenticate, BearerToken,
    mcp::{McpServer, RemoteServer},
};

/// Says who calls.
#[tool(effect = read_only)]
fn who_am_i(#[context] cx: &Context) -> String {
    cx.principal().unwrap_or("nobody").to_owned()
}

/// Adds.
#[tool(effect = read_only)]
fn add(
    /** The first. */
    a: i64,
    /** The second. */
    b: i64,
) -> i64 {
    a + b
}

fn who() -> impl Authenticate {
    BearerToken::new(|token| matches!(token, "anna" | "ben").then(|| token.into()))
}

/// A server at an address.
async fn served(authorized: bool) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let http = McpServer::new(toolset!(who_am_i, add)).http();
    let http = if authorized {
        http.authenticate(who()).challenge(HeaderValue::from_static("Bearer realm=\"tools\""))
    } else {
        http
    };
    tokio::spawn(http.serve(listener));
    format!("http://{address}/mcp")
}

fn initialize(address: &str) -> reqwest::RequestBuilder {
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" },
    } });
    post(address, &body)
}

fn post(address: &str, body: &serde_json::Value) -> reqwest::RequestBuilder {
    let client =
        reqwest::Client::builder().tls_backend_preconfigured(tool_runtime::tls::config().unwrap()).build().unwrap();
    let headers = [("content-type", "application/json"), ("accept", "application/json, text/event-stream")];
    headers
        .into_iter()
        .fold(client.post(address).body(body.to_string()), |request, (name, value)| request.header(name, value))
}

#[tokio::test]
async fn our_own_client_calls_over_http() {
    let remote = RemoteServer::http("far", served(false).await).allow(["add", "who_am_i"]).connect().await.unwrap();
    let tools = remote.toolset();
    let cx = Context::new("1");
    assert_eq!(tools.call("far_add", r#"{"a":1,"b":2}"#, &cx).await.unwrap().as_json(), Some("3"));
    assert_eq!(tools.call("far_who_am_i", "{}", &cx).await.unwrap().text(), "nobody");
}

#[tokio::test]
async fn foreign_pages_and_names_are_refused() {
    let address = served(false).await;
    assert_eq!(initialize(&address).send().await.unwrap().status(), 200);
    for (header, value) in [("origin", "http://evil.example"), ("origin", "null"), ("host", "evil.example")] {
        let status = initialize(&address).header(header, value).send().await.unwrap().status();
        assert_eq!(status, 403, "{header}: {value}");
    }
    assert_eq!(initialize(&address).header("origin", "http://localhost:3000").send().await.unwrap().status(), 200);
}

#[tokio::test]
async fn requests_are_made_on_behalf_of_whom_the_application_says() {
    let address = served(true).await;
    let refused = initialize(&address).send().await.unwrap();
    assert_eq!(
        (refused.status().as_u16(), refused.headers()["www-authenticate"].to_str().unwrap()),
        (401, "Bearer realm=\"tools\"")
    );
    for name in ["anna", "ben"] {
        let remote = RemoteServer::http("far", &*address).header("authorization", &format!("Bearer {name}")).unwrap();
        let tools = remote.connect().await.unwrap().toolset();
        assert_eq!(tools.call("far_who_am_i", "{}", &Context::new("1")).await.unwrap().text(), name);
    }
}

#[tokio::test]
async fn a_session_is_good_for_who_began_it() {
    let address = served(true).await;
    let begun = initialize(&address).header("authorization", "Bearer anna").send().await.unwrap();
    let session = begun.headers()["mcp-session-id"].to_str().unwrap().to_owned();
    let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" });
    let status = |name: &'static str| {
        let request = post(&address, &list).header("authorization", format!("Bearer {name}"));
        let request = request.header("mcp-session-id", &session).header("mcp-protocol-version", "2025-06-18");
        async move { request.send().await.unwrap().status().as_u16() }
    };
    assert_eq!((status("anna").await, status("ben").await), (200, 404));
}

#[tokio::test]
async fn without_a_guard_only_loopback_is_served() {
    let listener = TcpListener::bind("0.0.0.0:0").await.unwrap();
    let error = McpServer::new(toolset!(add)).http().serve(listener).await.unwrap_err().to_string();
    assert!(error.contains("not loopback"), "{error}");
}
