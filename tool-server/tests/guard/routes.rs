//! All routes of a server, and what each of them refuses.

use std::{collections::BTreeSet, net::SocketAddr};

use axum::Router;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::guard::kit::{Answer, begin, finish, listen, send, surfaces};

/// Every route of every service: a method, and a path. Whoever adds a route adds it here, and so has it attacked below.
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
    #[cfg(feature = "mcp")]
    ("POST", "/mcp"),
];

/// The only route that needs neither a known host nor a token.
const HEALTH: (&str, &str) = ("GET", "/health");

/// Returns the routes that are not public.
fn guarded() -> impl Iterator<Item = (&'static str, &'static str)> {
    ROUTES.iter().copied().filter(|route| *route != HEALTH)
}

/// Returns the routes that change something.
fn unsafe_routes() -> impl Iterator<Item = (&'static str, &'static str)> {
    ROUTES.iter().copied().filter(|(method, _)| *method != "GET")
}

/// Starts a server with all routes, once by itself and once nested, and returns the addresses.
async fn servers(token: Option<&str>) -> [(SocketAddr, &'static str); 2] {
    let nested = Router::new().nest("/nested", surfaces(token));
    [(listen(surfaces(token)).await, ""), (listen(nested).await, "/nested")]
}

/// Returns the beginning of a request to a route.
fn line(prefix: &str, (method, path): (&str, &str)) -> String {
    format!("{method} {prefix}{}", path.replace(['{', '}'], ""))
}

/// Sends a request to a route.
pub(crate) async fn ask(
    (address, prefix): (SocketAddr, &str),
    route: (&str, &str),
    headers: &[(&str, &str)],
    body: &str,
) -> Answer {
    send(address, &line(prefix, route), headers, body).await
}

/// Returns the paths of a router, which axum shows only in what it prints for debugging.
fn paths(router: &Router) -> Vec<String> {
    let text = format!("{router:?}");
    let (routes, _) = text.split_once("fallback_router").expect("axum prints the routes before the fallback");
    routes.split('"').filter(|part| part.starts_with('/')).map(str::to_owned).collect()
}

#[tokio::test]
async fn the_table_has_every_route() {
    let router = surfaces(None);
    let mut found = BTreeSet::new();
    for path in paths(&router) {
        for method in ["GET", "POST", "PUT", "PATCH", "DELETE"] {
            let headers = [("host", "localhost"), ("content-type", "application/json")];
            let answer = ask((listen(router.clone()).await, ""), (method, &path), &headers, "").await;
            if answer.status != 405 {
                found.insert((method.to_owned(), path.clone()));
            }
        }
    }
    let table = ROUTES.iter().map(|(method, path)| ((*method).to_owned(), (*path).to_owned())).collect();
    assert_eq!(found, table, "add the route to the table, so that it is tested as the others are");
}

#[tokio::test]
async fn every_route_refuses_foreign_names() {
    for server in servers(None).await {
        for route in guarded() {
            let headers = [("host", "evil.example"), ("content-type", "application/json")];
            ask(server, route, &headers, "").await.is_refused(403, "invalid_host", &["`evil.example`", "`hosts`"]);
            ask(server, route, &headers[1..], "").await.is_refused(400, "invalid_host", &["names none"]);
            // A name of the page's own is not less foreign with the page's origin beside it.
            let headers = [&headers[..], &[("origin", "http://evil.example")]].concat();
            ask(server, route, &headers, "").await.is_refused(403, "invalid_host", &["`evil.example`"]);
        }
    }
}

#[tokio::test]
async fn every_route_refuses_foreign_origins() {
    for server in servers(None).await {
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
                let answer = ask(server, route, &headers, "").await;
                answer.is_refused(403, "invalid_origin", &[&format!("`{origin}`"), "`origins`"]);
            }
            let headers = [("host", "localhost:3000"), ("content-type", "application/json")];
            let own = ("origin", "http://localhost:3000");
            let twice = [&headers[..], &[own, ("origin", "https://evil.example")]].concat();
            ask(server, route, &twice, "").await.is_refused(403, "invalid_origin", &[]);
            // A page of the server's own is let through to the route, whatever that makes of it.
            for headers in [&headers[..], &[&headers[..], &[own]].concat()] {
                let answer = ask(server, route, headers, "").await;
                assert!(![403, 405, 415].contains(&answer.status), "{route:?}: {answer:?}");
                assert!(answer.status != 404 || answer.body.contains("no such chat"), "{route:?}: {answer:?}");
            }
        }
    }
}

#[tokio::test]
async fn every_route_that_changes_something_refuses_forms() {
    for server in servers(None).await {
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
                    let answer = ask(server, route, &headers, body).await;
                    let parts = [&format!("`{kind}`"), "`Content-Type: application/json`"];
                    answer.is_refused(415, "unsupported_media_type", &parts);
                }
            }
            // A body of an unknown type, which browsers send for a `Blob` without one.
            ask(server, route, &[("host", "localhost")], "{}").await.is_refused(415, "unsupported_media_type", &[]);
            let chunked = [("host", "localhost"), ("transfer-encoding", "chunked")];
            let answer = ask(server, route, &chunked, "{}").await;
            answer.is_refused(415, "unsupported_media_type", &[]);
            for kind in ["application/json", "Application/JSON; charset=utf-8", "application/json;charset=\"utf-8\""] {
                let answer = ask(server, route, &[("host", "localhost"), ("content-type", kind)], "").await;
                assert_ne!(answer.status, 415, "{route:?}: {answer:?}");
            }
        }
    }
}

#[tokio::test]
async fn every_route_refuses_callers_without_the_right_token() {
    for server in servers(Some("s3cret")).await {
        let json = [("host", "localhost"), ("content-type", "application/json")];
        for route in guarded() {
            for authorization in
                [None, Some("Bearer s3cre"), Some("Bearer s3cret2"), Some("Bearer "), Some("Basic s3cret")]
            {
                let sent = authorization.map(|value| ("authorization", value));
                let headers: Vec<_> = json.into_iter().chain(sent).collect();
                // What the caller sends is not even read.
                let answer = ask(server, route, &headers, &"x".repeat(2000)).await;
                answer.is_refused(401, "unauthenticated", &[]);
                assert!(answer.has("www-authenticate", "bearer"), "{route:?}: {answer:?}");
            }
            let known = [&json[..], &[("authorization", "bearer s3cret")]].concat();
            assert_ne!(ask(server, route, &known, "").await.status, 401, "{route:?}");
        }
        assert_eq!(ask(server, HEALTH, &json, "").await.status, 200);
    }
}

#[tokio::test]
async fn every_route_refuses_large_bodies() {
    for server in servers(None).await {
        for route in unsafe_routes() {
            let json = [("host", "localhost"), ("content-type", "application/json")];
            for headers in [&json[..], &[&json[..], &[("transfer-encoding", "chunked")]].concat()] {
                let answer = ask(server, route, headers, &"x".repeat(1001)).await;
                answer.is_refused(413, "too_large", &["1000 bytes"]);
            }
            assert_ne!(ask(server, route, &json, &"x".repeat(1000)).await.status, 413, "{route:?}");
        }
    }
}

/// The response with which a server begins to read the body of a request that expects it.
const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// While the clock is paused, it moves to the end of the time limit, because the server waits for nothing else. Before, the
/// server must have begun to read the body.
#[tokio::test]
async fn every_route_gives_up_on_half_a_body() {
    for (address, prefix) in servers(None).await {
        for route in unsafe_routes() {
            let headers = [
                ("host", "localhost"),
                ("content-type", "application/json"),
                ("content-length", "100"),
                ("expect", "100-continue"),
            ];
            let mut stream = begin(address, &line(prefix, route), &headers, "{").await;
            let mut begun = [0; CONTINUE.len()];
            stream.read_exact(&mut begun).await.unwrap();
            assert_eq!(begun, CONTINUE, "{route:?}");
            tokio::time::pause();
            finish(stream).await.is_refused(408, "timeout", &["30 s", "send it again"]);
            tokio::time::resume();
        }
    }
}

#[tokio::test]
async fn half_a_head_is_given_up_on() {
    let address = listen(surfaces(None)).await;
    for half in ["", "G", "POST /api/chat HTTP/1.1\r\nhost: localhost\r\nx-more: "] {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(half.as_bytes()).await.unwrap();
        // As above. What was sent is there before the server begins to wait.
        tokio::time::pause();
        let mut answer = String::new();
        // The server ends the connection, so this does.
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 408 "), "{answer}");
        tokio::time::resume();
    }
}
