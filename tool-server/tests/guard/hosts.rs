//! Tests of the host names that a server accepts.

use axum::{
    Router,
    body::{Body, to_bytes},
    http::Request,
};
use tower::ServiceExt;

use crate::guard::kit::{Response, listen, send, server};

/// Requests the tools, with these headers.
async fn get_tools(router: Router, headers: &[(&str, &str)]) -> Response {
    send(listen(router).await, "GET /api/tools", headers, "").await
}

#[tokio::test]
async fn loopback_names_are_accepted_with_every_port() {
    for host in ["localhost", "LOCALHOST:1", "127.0.0.1:3000", "[::1]", "[::1]:65535"] {
        assert_eq!(get_tools(server().0.router(), &[("host", host)]).await.status, 200, "{host}");
    }
}

#[tokio::test]
async fn a_refusal_names_the_host_and_the_setting() {
    for host in ["evil.example", "localhost.evil.example:3000", "127.0.0.2", "0.0.0.0:3000", "[::]", "10.0.0.7:80"] {
        get_tools(server().0.router(), &[("host", host)]).await.assert_refused(403, "invalid_host", &[host, "`hosts`"]);
    }
}

#[tokio::test]
async fn names_of_the_application_replace_those_of_loopback() {
    let router =
        server().0.hosts(["tools.example.com", "other.example.com:8443", "::1", "https://no.example"]).router();
    for (host, status) in [
        ("tools.example.com", 200),
        ("Tools.Example.com:8443", 200),
        ("other.example.com:8443", 200),
        ("[::1]:80", 200),
        ("other.example.com", 403),
        ("other.example.com:80", 403),
        ("example.com", 403),
        ("no.example", 403),
        ("localhost", 403),
    ] {
        assert_eq!(get_tools(router.clone(), &[("host", host)]).await.status, status, "{host}");
    }
    let nobody = server().0.hosts([""; 0]).router();
    assert_eq!(get_tools(nobody, &[("host", "localhost")]).await.status, 403);
}

#[tokio::test]
async fn a_request_has_one_valid_host() {
    let twice = [("host", "localhost"), ("host", "evil.example")];
    let same = [("host", "localhost"), ("host", "localhost")];
    for headers in [&twice[..], &same[..]] {
        get_tools(server().0.router(), headers).await.assert_refused(400, "invalid_host", &["more than one"]);
    }
    for host in ["", "localhost:x", "localhost:", "evil@localhost", "localhost/evil", "localhost,evil.example", "[::1"]
    {
        let sent = format!("`{host}`");
        get_tools(server().0.router(), &[("host", host)]).await.assert_refused(400, "invalid_host", &[&sent]);
    }
    // HTTP/1.0 allows requests without a host.
    let request = Request::get("/api/tools").body(Body::empty()).unwrap();
    let response = server().0.router().oneshot(request).await.unwrap();
    assert_eq!(response.status().as_u16(), 400);
    let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
    assert!(String::from_utf8_lossy(&body).contains("names none"), "{body:?}");
}

/// HTTP/2 has the host in `:authority`, which hyper puts into the URI, as it does with the absolute form of HTTP/1.
#[tokio::test]
async fn a_host_in_the_uri_counts() {
    for (uri, host, status) in [
        ("http://localhost:3000/api/tools", None, 200),
        ("http://localhost:3000/api/tools", Some("localhost:3000"), 200),
        ("http://evil.example/api/tools", None, 403),
        ("http://evil.example/api/tools", Some("evil.example"), 403),
        ("http://evil.example/api/tools", Some("localhost"), 400),
        ("http://localhost/api/tools", Some("evil.example"), 400),
        ("http://me@localhost/api/tools", None, 400),
    ] {
        for nested in [false, true] {
            let router = server().0.router();
            let router = if nested { Router::new().nest("/nested", router) } else { router };
            let uri = if nested { uri.replace("/api", "/nested/api") } else { uri.to_owned() };
            let request = host.into_iter().fold(Request::get(&uri), |request, host| request.header("host", host));
            let response = router.oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
            assert_eq!(response.status().as_u16(), status, "{uri}, host: {host:?}");
        }
    }
    let address = listen(server().0.router()).await;
    let absolute = send(address, "GET http://evil.example/api/tools", &[("host", "localhost")], "").await;
    absolute.assert_refused(400, "invalid_host", &["more than one"]);
}

#[tokio::test]
async fn a_health_check_may_use_any_name() {
    for headers in [&[("host", "10.0.0.7:80")][..], &[("host", "evil.example")], &[]] {
        let response = get_health(headers).await;
        assert_eq!((response.status, response.body.as_str()), (200, r#"{"status":"ok"}"#), "{headers:?}");
    }
}

async fn get_health(headers: &[(&str, &str)]) -> Response {
    send(listen(server().0.router()).await, "GET /health", headers, "").await
}

/// The checks do not apply to other paths of the application.
#[tokio::test]
async fn paths_of_the_application_are_left_alone() {
    let own = || Router::new().route("/page", axum::routing::get(async || "page"));
    for router in [own().merge(server().0.router()), server().0.router().merge(own())] {
        let address = listen(router).await;
        for (path, status) in [("/page", 200), ("/nothing", 404), ("/api/tools", 403)] {
            let response = send(address, &format!("GET {path}"), &[("host", "page.example")], "").await;
            assert_eq!(response.status, status, "{path}");
        }
    }
}
