//! Tests of pages of other origins, which the application allows or not.

use std::net::SocketAddr;

use tool_server::{CorsLayer, Server};

use crate::guard::{
    kit::{Response, chat, listen, send, server, surfaces_for},
    routes::{ROUTES, ask},
};

const APP: &str = "https://app.example";

/// Starts a server with the changed settings.
async fn start(change: impl FnOnce(Server) -> Server) -> SocketAddr {
    listen(change(server().0).router()).await
}

/// Sends the request that a browser sends before a page of another origin sends JSON.
async fn preflight(address: SocketAddr, path: &str, host: &str, origin: &str) -> Response {
    let headers = [
        ("host", host),
        ("origin", origin),
        ("access-control-request-method", "POST"),
        ("access-control-request-headers", "authorization,content-type"),
    ];
    send(address, &format!("OPTIONS {path}"), &headers, "").await
}

#[tokio::test]
async fn pages_of_allowed_origins_use_every_route() {
    let address = listen(surfaces_for(&[APP, "http://localhost:*"], None)).await;
    for (origin, after) in [(APP, ""), (APP, "/"), ("http://localhost:5173", "")] {
        for &route in ROUTES {
            let path = format!("{}{after}", route.1.replace(['{', '}'], ""));
            let asked = preflight(address, &path, "localhost:3000", origin).await;
            assert_eq!(asked.status, 200, "{asked:?}");
            assert!(asked.has("access-control-allow-origin", origin), "{asked:?}");
            assert!(asked.has("access-control-allow-methods", "get,post,patch,delete"), "{asked:?}");
            let headers = [("host", "localhost:3000"), ("content-type", "application/json"), ("origin", origin)];
            let response = ask((address, "", after), route, &headers, "").await;
            assert!(![403, 415].contains(&response.status), "{route:?}: {response:?}");
            assert!(response.has("access-control-allow-origin", origin), "{response:?}");
            assert!(response.has("access-control-expose-headers", "mcp-session-id"), "{response:?}");
            assert!(!response.head.contains("access-control-allow-credentials"), "{response:?}");
        }
    }
    // The page can read the reason of a refusal.
    let headers = [("host", "localhost"), ("content-type", "text/plain"), ("origin", APP)];
    let response = send(address, "POST /api/chat", &headers, &chat().to_string()).await;
    response.assert_refused(415, "unsupported_media_type", &[]);
    assert!(response.has("access-control-allow-origin", APP), "{response:?}");
}

/// Browsers, the AI SDK, tracing and applications add headers. The origins decide who may send requests, not a list of headers.
#[tokio::test]
async fn pages_of_allowed_origins_send_every_header() {
    let address = listen(surfaces_for(&[APP], None)).await;
    let many: Vec<_> = (0..200).map(|number| format!("x-header-{number}")).collect();
    for asked in [
        "authorization,content-type,last-event-id,mcp-method,mcp-name,mcp-protocol-version,mcp-session-id",
        "content-type,user-agent",
        "baggage,content-type,sentry-trace,traceparent,tracestate",
        "x-requested-with, X-My-App",
        &many.join(","),
    ] {
        for &(method, path) in ROUTES {
            let headers = [
                ("host", "localhost"),
                ("origin", APP),
                ("access-control-request-method", method),
                ("access-control-request-headers", asked),
            ];
            let line = format!("OPTIONS {}", path.replace(['{', '}'], ""));
            let response = send(address, &line, &headers, "").await;
            assert_eq!(response.status, 200, "{response:?}");
            assert!(response.has("access-control-allow-headers", &asked.to_ascii_lowercase()), "{response:?}");
            let vary = response.head.lines().find(|line| line.starts_with("vary: ")).unwrap_or_default();
            assert!(vary.contains("origin") && vary.contains("access-control-request-headers"), "{response:?}");
            // A page of another origin gets nothing, whatever it asks for.
            let headers = [&headers[..1], &[("origin", "https://evil.example")], &headers[2..]].concat();
            let response = send(address, &line, &headers, "").await;
            response.assert_refused(403, "invalid_origin", &[]);
            assert!(!response.head.contains("access-control-allow"), "{response:?}");
        }
    }
}

#[tokio::test]
async fn pages_of_other_origins_get_no_cors_headers() {
    let address = start(|server| server.origins([APP]).unwrap()).await;
    for origin in ["https://evil.example", "http://app.example", "https://app.example:8443", "null"] {
        let asked = preflight(address, "/api/chat", "localhost", origin).await;
        asked.assert_refused(403, "invalid_origin", &[origin]);
        assert!(!asked.head.contains("access-control-allow"), "{asked:?}");
    }
    // An allowed origin does not allow a foreign host.
    preflight(address, "/api/chat", "evil.example", APP).await.assert_refused(403, "invalid_host", &[]);
}

/// The application's layer changes the headers for browsers. Only `origins` decides which pages are allowed.
#[tokio::test]
async fn a_layer_allows_no_origin_by_itself() {
    let only_layer = start(|server| server.cors(CorsLayer::permissive())).await;
    preflight(only_layer, "/api/chat", "localhost", APP).await.assert_refused(403, "invalid_origin", &["`origins`"]);
    let first = start(|server| server.cors(CorsLayer::permissive()).origins([APP]).unwrap()).await;
    let last = start(|server| server.origins([APP]).unwrap().cors(CorsLayer::permissive())).await;
    for address in [first, last] {
        let asked = preflight(address, "/api/chat", "localhost", APP).await;
        assert!(asked.status == 200 && asked.has("access-control-allow-origin", "*"), "{asked:?}");
        preflight(address, "/api/chat", "localhost", "null").await.assert_refused(403, "invalid_origin", &[]);
    }
}

#[tokio::test]
async fn a_page_behind_tls_is_the_servers_own() {
    let address = start(|server| server.hosts(["agent.example"])).await;
    for (host, origin, status) in [
        ("agent.example", "https://agent.example", 200),
        ("agent.example:443", "https://agent.example", 200),
        ("agent.example", "https://www.agent.example", 403),
        ("agent.example", "https://agent.example:8443", 403),
    ] {
        let response = send(address, "GET /api/tools", &[("host", host), ("origin", origin)], "").await;
        assert_eq!(response.status, status, "{host}, {origin}");
    }
}

#[test]
fn an_invalid_origin_is_an_error() {
    for text in ["app.example", "https://app.example/", "*", "null"] {
        let error = server().0.origins([APP, text]).unwrap_err().to_string();
        assert!(error.starts_with(&format!("invalid origin `{text}`: ")), "{error}");
    }
}
