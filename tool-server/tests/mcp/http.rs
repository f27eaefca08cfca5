//! Tests of MCP over HTTP: accepted hosts and origins, authentication, and the owner of a session.

use std::time::Duration;

use http::{HeaderMap, HeaderValue, header};
use serde_json::json;
use tokio::{net::TcpListener, time::timeout};
use tool_runtime::{Context, tool, toolset};
use tool_server::{
    Authenticate, BearerToken,
    mcp::{McpServer, RemoteServer},
};
use tool_test_kit::black_hole::BlackHole;

/// Return the caller's name.
#[tool(effect = read_only)]
fn who_am_i(#[context] cx: &Context) -> String {
    cx.principal().unwrap_or("nobody").to_owned()
}

/// Add two numbers.
#[tool(effect = read_only)]
fn add(
    /** The first. */
    a: i64,
    /** The second. */
    b: i64,
) -> i64 {
    a + b
}

fn users() -> impl Authenticate {
    BearerToken::new(|token| matches!(token, "anna" | "ben").then(|| token.into()))
}

/// Starts a server, and returns its address. If `authenticates`, callers need a token.
async fn start(authenticates: bool) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let http = McpServer::new(toolset!(who_am_i, add)).http();
    let http = if authenticates {
        http.authenticate(users()).www_authenticate(HeaderValue::from_static("Bearer realm=\"tools\""))
    } else {
        http
    };
    tokio::spawn(http.serve(listener, std::future::pending()));
    format!("http://{address}/mcp")
}

fn initialize(address: &str) -> reqwest::RequestBuilder {
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" },
    } });
    post(address, &body)
}

fn post(address: &str, body: &serde_json::Value) -> reqwest::RequestBuilder {
    let client = crate::mcp::http_client();
    let headers = [("content-type", "application/json"), ("accept", "application/json, text/event-stream")];
    headers
        .into_iter()
        .fold(client.post(address).body(body.to_string()), |request, (name, value)| request.header(name, value))
}

#[tokio::test]
async fn the_project_s_client_calls_over_http() {
    let remote = RemoteServer::http("far", start(false).await).allow(["add", "who_am_i"]).connect().await.unwrap();
    let tools = remote.toolset();
    let cx = Context::new("1");
    assert_eq!(tools.call("far_add", r#"{"a":1,"b":2}"#, &cx).await.unwrap().as_json(), Some("3"));
    assert_eq!(tools.call("far_who_am_i", "{}", &cx).await.unwrap().text(), "nobody");
}

/// Checks that a request is refused like one to [`tool_server::Server`].
async fn assert_refused(request: reqwest::RequestBuilder, code: &str, parts: &[&str]) {
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), 403, "{code}");
    let text = response.text().await.unwrap();
    let error = serde_json::from_str::<serde_json::Value>(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert_eq!(error["error"]["code"], code);
    let message = error["error"]["message"].as_str().unwrap();
    assert!(parts.iter().all(|part| message.contains(part)), "{parts:?} is not in: {message}");
}

#[tokio::test]
async fn foreign_pages_and_names_are_refused() {
    for authenticates in [false, true] {
        let address = start(authenticates).await;
        // The server refuses these requests before it authenticates callers.
        for origin in ["http://evil.example", "null"] {
            assert_refused(initialize(&address).header("origin", origin), "invalid_origin", &[origin, "`origins`"])
                .await;
        }
        assert_refused(
            initialize(&address).header("host", "evil.example"),
            "invalid_host",
            &["`evil.example`", "`hosts`"],
        )
        .await;
    }
    let address = start(false).await;
    assert_eq!(initialize(&address).send().await.unwrap().status(), 200);
    let own = address.strip_suffix("/mcp").unwrap();
    assert_eq!(initialize(&address).header("origin", own).send().await.unwrap().status(), 200);
    let form = HeaderMap::from_iter([(header::CONTENT_TYPE, HeaderValue::from_static("text/plain"))]);
    assert_eq!(initialize(&address).headers(form).send().await.unwrap().status(), 415);
}

#[tokio::test]
async fn hosts_and_origins_replace_loopback() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/mcp", listener.local_addr().unwrap());
    let http = McpServer::new(toolset!(add)).http().hosts(["tools.example"]).origins(["https://app.example"]).unwrap();
    tokio::spawn(http.serve(listener, std::future::pending()));
    let named = || initialize(&address).header("host", "tools.example");
    for origin in ["https://app.example", "https://tools.example"] {
        assert_eq!(named().header("origin", origin).send().await.unwrap().status(), 200, "{origin}");
    }
    for origin in ["http://localhost:3000", "https://app.example:8443", "http://app.example"] {
        assert_refused(named().header("origin", origin), "invalid_origin", &[origin]).await;
    }
    assert_refused(initialize(&address), "invalid_host", &["127.0.0.1"]).await;
    // An empty list allows no host. To rmcp, it would allow every host.
    let nobody = McpServer::new(toolset!(add)).http().hosts([""; 0]);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/mcp", listener.local_addr().unwrap());
    tokio::spawn(nobody.serve(listener, std::future::pending()));
    assert_refused(initialize(&address), "invalid_host", &["127.0.0.1"]).await;
}

#[tokio::test]
async fn requests_have_the_principal_of_their_token() {
    let address = start(true).await;
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
async fn a_session_is_its_principal_s_own() {
    let address = start(true).await;
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

/// A server that is silent, although nobody resets its connections.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_and_connections_to_a_silent_server_have_an_end() {
    let end = Duration::from_secs(30);
    let address = start(false).await;
    let (hole, url) = BlackHole::of_http(address.trim_end_matches("/mcp")).await;
    let remote = RemoteServer::http("far", format!("{url}/mcp")).allow(["add"]).limits(|limits| {
        (limits.connect, limits.call) = (Duration::from_secs(2), Duration::from_secs(1));
    });
    let far = remote.clone().connect().await.unwrap();
    let (tools, cx) = (far.toolset(), Context::new("1"));
    let add = || timeout(end, tools.call("far_add", r#"{"a":1,"b":2}"#, &cx));
    assert_eq!(add().await.unwrap().unwrap().as_json(), Some("3"));
    hole.silence();
    let failed = add().await.expect("the call ends");
    assert!(failed.is_err(), "{failed:?}");
    assert!(timeout(end, remote.connect()).await.expect("the connection ends").is_err());
    // Another server takes over. Nobody resets the silent connections.
    hole.fail_over();
    let recovered = async {
        while !matches!(add().await, Ok(Ok(_))) {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    timeout(end, recovered).await.expect("calls work again");
}
