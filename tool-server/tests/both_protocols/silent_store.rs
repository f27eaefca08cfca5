//! A PostgreSQL that does not answer any more, although it resets no connection.

use std::time::Duration;

use axum::{
    body::{Body, to_bytes},
    http::{Method, Request, header},
};
use futures_util::future::join_all;
use serde_json::json;
use tokio::time::timeout;
use tool_runtime::{
    Agent,
    model::{ScriptedModel, Turn},
};
use tool_server::{AgUi, Server};
use tool_stores::PostgresOptions;
use tool_test_kit::{black_hole::BlackHole, stores::Schema};
use tower::ServiceExt as _;

use crate::kit::{input, user};

/// Each request gets status 503 within this time.
const END: Duration = Duration::from_secs(45);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_to_a_silent_store_end_with_503() {
    let schema = Schema::new();
    let (hole, url) = BlackHole::of_postgres(&schema.url).await;
    let options = PostgresOptions::new().schema(&schema.name).statement_timeout(Duration::from_millis(500));
    let store = options.connect(&url).await.unwrap();
    let agent = Agent::new(ScriptedModel::new([Turn::say("Hello."), Turn::say("Hello.")])).store(store);
    let router = Server::new(agent).ag_ui(AgUi::new()).router();
    let message = |id: &str| json!({ "id": id, "role": "user", "parts": [{ "type": "text", "text": "Hi." }] });
    let chat = |id: &str| json!({ "id": id, "messages": [message("m1")] }).to_string();
    let steer = json!({ "message": message("m2") }).to_string();
    let title = json!({ "title": "Mine" }).to_string();
    let requests = [
        (Method::POST, "/api/chat", chat("c1")),
        (Method::POST, "/api/v6/chat", chat("c2")),
        (Method::POST, "/agent", input("c3", &json!([user("m1", "Hi.")]), &json!({}))),
        (Method::POST, "/agent/connect", input("c4", &json!([]), &json!({}))),
        (Method::GET, "/agent/c5/stream", String::new()),
        (Method::GET, "/api/chat/c6", String::new()),
        (Method::GET, "/api/chat/c7/stream", String::new()),
        (Method::GET, "/api/chats", String::new()),
        (Method::PATCH, "/api/chat/c8", title),
        (Method::DELETE, "/api/chat/c9", String::new()),
        (Method::POST, "/api/chat/c10/stop", String::new()),
        (Method::POST, "/api/chat/c11/steer", steer),
    ];
    hole.silence();
    let ended = requests.into_iter().map(async |(method, path, body)| {
        let request = Request::builder().method(method.clone()).uri(format!("http://localhost{path}"));
        let request = request.header(header::CONTENT_TYPE, "application/json").body(Body::from(body)).unwrap();
        let ended = timeout(END, async {
            let response = router.clone().oneshot(request).await.unwrap();
            (response.status().as_u16(), to_bytes(response.into_body(), usize::MAX).await.unwrap())
        });
        let (status, body) = ended.await.unwrap_or_else(|_| panic!("{method} {path} has no end"));
        let body = String::from_utf8_lossy(&body).into_owned();
        (status == 503 && body.contains("unavailable"), format!("{method} {path}: {status} {body}"))
    });
    for (is_right, shown) in join_all(ended).await {
        assert!(is_right, "{shown}");
    }
    schema.remove().await;
}
