//! Tests that each route of a server refuses hostile requests.

use std::{collections::BTreeSet, net::SocketAddr};

use axum::Router;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::guard::kit::{Response, begin, finish, listen, send, surfaces};

/// Every route of every service: a method, and a path. The tests below attack each of them.
pub(crate) const ROUTES: &[(&str, &str)] = &[
    ("DELETE", "/api/chat/{id}"),
    #[cfg(feature = "mcp")]
    ("DELETE", "/mcp"),
    ("GET", "/agent/{thread}/stream"),
    ("GET", "/api/chat/{id}"),
    ("GET", "/api/chat/{id}/stream"),
    ("GET", "/api/chats"),
    ("GET", "/api/tools"),
    ("GET", "/api/tools.ts"),
    ("GET", "/api/v6/chat/{id}"),
    ("GET", "/api/v6/chat/{id}/stream"),
    ("GET", "/api/waiting"),
    ("GET", "/health"),
    #[cfg(feature = "mcp")]
    ("GET", "/mcp"),
    ("PATCH", "/api/chat/{id}"),
    ("POST", "/agent"),
    ("POST", "/agent/connect"),
    ("POST", "/api/chat"),
    ("POST", "/api/chat/{id}/steer"),
    ("POST", "/api/chat/{id}/stop"),
    ("POST", "/api/v6/chat"),
    ("POST", "/api/waiting"),
    #[cfg(feature = "mcp")]
    ("POST", "/mcp"),
];

/// The only route that needs neither a known host nor a token.
const HEALTH: (&str, &str) = ("GET", "/health");

/// Returns the routes that need a known host, and a token if there is one.
fn guarded_routes() -> impl Iterator<Item = (&'static str, &'static str)> {
    ROUTES.iter().copied().filter(|route| *route != HEALTH)
}

/// Returns the routes that change something.
fn unsafe_routes() -> impl Iterator<Item = (&'static str, &'static str)> {
    ROUTES.iter().copied().filter(|(method, _)| *method != "GET")
}

/// A server: its address, and the texts before and after the path of each route.
pub(crate) type Place = (SocketAddr, &'static str, &'static str);

/// Starts two servers with all routes, one of them nested. Paths may end with a slash.
async fn start_servers(token: Option<&str>) -> [Place; 4] {
    let nested = listen(Router::new().nest("/nested", surfaces(token))).await;
    let own = listen(surfaces(token)).await;
    [(own, "", ""), (own, "", "/"), (nested, "/nested", ""), (nested, "/nested", "/")]
}

/// Returns the method and path of a request to a route.
fn request_line((_, before, after): Place, (method, path): (&str, &str)) -> String {
    format!("{method} {before}{}{after}", path.replace(['{', '}'], ""))
}

/// Sends a request to a route.
pub(crate) async fn ask(
    place: Place,
    route: (&str, &str),
    headers: &[(&str, &str)],
    body: impl AsRef<[u8]>,
) -> Response {
    send(place.0, &request_line(place, route), headers, body).await
}

/// Returns the paths of a router. axum shows them only in its `Debug` output.
fn paths(router: &Router) -> Vec<String> {
    let text = format!("{router:?}");
    let (routes, _) = text.split_once("fallback_router").expect("axum prints the routes before the fallback");
    routes.split('"').filter(|part| part.starts_with('/')).map(str::to_owned).collect()
}

#[tokio::test]
async fn the_table_has_every_route() {
    let router = surfaces(None);
    let mut found = BTreeSet::new();
    let paths: BTreeSet<_> = paths(&router).into_iter().collect();
    for path in &paths {
        let other = path.strip_suffix('/').map_or_else(|| format!("{path}/"), str::to_owned);
        assert!(paths.contains(&other), "`{path}` and `{other}` are the same route");
    }
    for path in paths.into_iter().filter(|path| !path.ends_with('/')) {
        for method in ["GET", "POST", "PUT", "PATCH", "DELETE"] {
            let headers = [("host", "localhost"), ("content-type", "application/json")];
            let response = ask((listen(router.clone()).await, "", ""), (method, &path), &headers, "").await;
            if response.status != 405 {
                found.insert((method.to_owned(), path.clone()));
            }
        }
    }
    let table = ROUTES.iter().map(|(method, path)| ((*method).to_owned(), (*path).to_owned())).collect();
    assert_eq!(found, table, "add the route to the table, so that it is tested as the others are");
}

#[tokio::test]
async fn every_route_refuses_foreign_names() {
    for server in start_servers(None).await {
        for route in guarded_routes() {
            let headers = [("host", "evil.example"), ("content-type", "application/json")];
            ask(server, route, &headers, "").await.assert_refused(403, "invalid_host", &["`evil.example`", "`hosts`"]);
            ask(server, route, &headers[1..], "").await.assert_refused(400, "invalid_host", &["names none"]);
            // The page's own origin does not make the page's name known.
            let headers = [&headers[..], &[("origin", "http://evil.example")]].concat();
            ask(server, route, &headers, "").await.assert_refused(403, "invalid_host", &["`evil.example`"]);
        }
    }
}

#[tokio::test]
async fn every_route_refuses_foreign_origins() {
    for server in start_servers(None).await {
        for &route in ROUTES {
            for origin in [
                "https://evil.example",
                "http://localhost",
                "http://localhost:3001",
                "http://127.0.0.1:3000",
                "http://localhost:3000.evil.example",
                "null",
                "localhost:3000",
                "http://localhost:3000 https://evil.example",
                "",
            ] {
                let headers = [("host", "localhost:3000"), ("content-type", "application/json"), ("origin", origin)];
                let response = ask(server, route, &headers, "").await;
                response.assert_refused(403, "invalid_origin", &[&format!("`{origin}`"), "`origins`"]);
            }
            let headers = [("host", "localhost:3000"), ("content-type", "application/json")];
            let own = ("origin", "http://localhost:3000");
            let twice = [&headers[..], &[own, ("origin", "https://evil.example")]].concat();
            ask(server, route, &twice, "").await.assert_refused(403, "invalid_origin", &[]);
            // A request of the server's own page, or of no page, reaches the route.
            for headers in [&headers[..], &[&headers[..], &[own]].concat()] {
                let response = ask(server, route, headers, "").await;
                assert!(![403, 405, 415].contains(&response.status), "{route:?}: {response:?}");
                assert!(response.status != 404 || response.body.contains("no such chat"), "{route:?}: {response:?}");
            }
        }
    }
}

#[tokio::test]
async fn every_route_that_changes_something_refuses_forms() {
    for server in start_servers(None).await {
        for route in unsafe_routes() {
            for kind in [
                "text/plain",
                "application/x-www-form-urlencoded",
                "multipart/form-data; boundary=x",
                "text/plain; application/json",
                "application/jsonp",
                "application/json, text/plain",
                "",
            ] {
                for body in ["", "{}"] {
                    let headers = [("host", "localhost"), ("content-type", kind)];
                    let response = ask(server, route, &headers, body).await;
                    let parts = [&format!("`{kind}`"), "`Content-Type: application/json`"];
                    response.assert_refused(415, "unsupported_media_type", &parts);
                }
            }
            // Browsers send a `Blob` without a type as a body without a type.
            ask(server, route, &[("host", "localhost")], "{}").await.assert_refused(415, "unsupported_media_type", &[]);
            let chunked = [("host", "localhost"), ("transfer-encoding", "chunked")];
            let response = ask(server, route, &chunked, "{}").await;
            response.assert_refused(415, "unsupported_media_type", &[]);
            for kind in ["application/json", "Application/JSON; charset=utf-8", "application/json;charset=\"utf-8\""] {
                let response = ask(server, route, &[("host", "localhost"), ("content-type", kind)], "").await;
                assert_ne!(response.status, 415, "{route:?}: {response:?}");
            }
        }
    }
}

/// The right value is a refusal that names the cause: a parser would report the first byte as a mistake in the JSON.
#[tokio::test]
async fn every_route_says_what_it_cannot_read_of_a_body() {
    let utf_16 = |order: fn(u16) -> [u8; 2]| "\u{feff}{\"id\":1}".encode_utf16().flat_map(order).collect::<Vec<_>>();
    let (little, big) = (utf_16(u16::to_le_bytes), utf_16(u16::to_be_bytes));
    let bodies: &[(&[u8], &[&str])] = &[
        (b"\xef\xbb\xbf{}", &["byte order mark"]),
        (b"\xef\xbb\xbf", &["byte order mark"]),
        (&little, &["byte order mark", "UTF-8"]),
        (&big, &["byte order mark", "UTF-8"]),
        (&little[2..], &["UTF-16", "UTF-8"]),
        (&big[2..], &["UTF-16", "UTF-8"]),
        (b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff", &["UTF-8", "compression"]),
        (b"\x78\x9c\xab\xae\x05\x00", &["UTF-8", "compression"]),
        (b"{\"id\":\"caf\xe9\"}", &["UTF-8"]),
    ];
    let json = [("host", "localhost"), ("content-type", "application/json")];
    for server in start_servers(None).await {
        for route in unsafe_routes() {
            for (body, parts) in bodies {
                ask(server, route, &json, body).await.assert_refused(400, "bad_request", parts);
            }
            for coding in ["gzip", "x-gzip", "br", "deflate", "zstd", "compress", "identity, gzip", "dcb"] {
                let headers = [&json[..], &[("content-encoding", coding)]].concat();
                let response = ask(server, route, &headers, "{}").await;
                response.assert_refused(
                    415,
                    "unsupported_media_type",
                    &[&format!("`{coding}`"), "without compression"],
                );
                assert!(response.has("accept-encoding", "identity"), "{route:?}: {response:?}");
            }
            for charset in ["latin1", "\"ISO-8859-1\"", "utf-16", "UTF-16LE", "windows-1252"] {
                let kind = format!("application/json; Charset={charset}");
                let response = ask(server, route, &[("host", "localhost"), ("content-type", &kind)], "{}").await;
                let name = charset.trim_matches('"');
                response.assert_refused(415, "unsupported_media_type", &[&format!("`{name}`"), "UTF-8"]);
                assert!(!response.head.contains("accept-encoding"), "{route:?}: {response:?}");
            }
            for same in
                [("content-encoding", "identity"), ("content-encoding", "Identity"), ("accept-encoding", "gzip")]
            {
                let response = ask(server, route, &[&json[..], &[same]].concat(), "").await;
                assert_ne!(response.status, 415, "{route:?}: {response:?}");
            }
        }
    }
}

#[tokio::test]
async fn every_route_refuses_callers_without_the_right_token() {
    for server in start_servers(Some("s3cret")).await {
        let json = [("host", "localhost"), ("content-type", "application/json")];
        for route in guarded_routes() {
            for authorization in
                [None, Some("Bearer s3cre"), Some("Bearer s3cret2"), Some("Bearer "), Some("Basic s3cret")]
            {
                let sent = authorization.map(|value| ("authorization", value));
                let headers: Vec<_> = json.into_iter().chain(sent).collect();
                // The server does not even read the body.
                let response = ask(server, route, &headers, &"x".repeat(2000)).await;
                response.assert_refused(401, "unauthenticated", &[]);
                assert!(response.has("www-authenticate", "bearer"), "{route:?}: {response:?}");
            }
            let known = [&json[..], &[("authorization", "bearer s3cret")]].concat();
            assert_ne!(ask(server, route, &known, "").await.status, 401, "{route:?}");
        }
        assert_eq!(ask(server, HEALTH, &json, "").await.status, 200);
    }
}

#[tokio::test]
async fn every_route_refuses_large_bodies() {
    for server in start_servers(None).await {
        for route in unsafe_routes() {
            let json = [("host", "localhost"), ("content-type", "application/json")];
            for headers in [&json[..], &[&json[..], &[("transfer-encoding", "chunked")]].concat()] {
                let response = ask(server, route, headers, &"x".repeat(1001)).await;
                response.assert_refused(413, "too_large", &["1000 bytes"]);
            }
            assert_ne!(ask(server, route, &json, &"x".repeat(1000)).await.status, 413, "{route:?}");
        }
    }
}

/// The response with which a server begins to read the body of a request that expects it.
const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// While the clock is paused, it advances to the time limit, because the server waits for nothing else. Before the pause, the
/// server must have begun to read the body.
#[tokio::test]
async fn every_route_times_out_on_half_a_body() {
    for place in start_servers(None).await {
        for route in unsafe_routes() {
            let headers = [
                ("host", "localhost"),
                ("content-type", "application/json"),
                ("content-length", "100"),
                ("expect", "100-continue"),
            ];
            let mut stream = begin(place.0, &request_line(place, route), &headers, "{").await;
            let mut begun = [0; CONTINUE.len()];
            stream.read_exact(&mut begun).await.unwrap();
            assert_eq!(begun, CONTINUE, "{route:?}");
            tokio::time::pause();
            finish(stream).await.assert_refused(408, "timeout", &["30 s", "send it again"]);
            tokio::time::resume();
        }
    }
}

#[tokio::test]
async fn half_a_head_times_out() {
    let address = listen(surfaces(None)).await;
    for half in ["", "G", "POST /api/chat HTTP/1.1\r\nhost: localhost\r\nx-more: "] {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(half.as_bytes()).await.unwrap();
        // The clock advances as above. The sent bytes arrive before the server begins to wait.
        tokio::time::pause();
        let mut response = String::new();
        // This ends because the server closes the connection.
        stream.read_to_string(&mut response).await.unwrap();
        assert!(response.is_empty() || response.starts_with("HTTP/1.1 408 "), "{response}");
        tokio::time::resume();
    }
}
