//! Tests that a principal with many requests, or with many large ones, keeps nobody else from the server.

use std::time::Duration;

use axum::{
    Router,
    body::{Body, Bytes, to_bytes},
    http::{Request, header},
    response::Response,
};
use futures_util::{StreamExt as _, stream};
use tool_runtime::{
    Agent,
    model::{ScriptedModel, Turn},
};
use tool_server::{AgUi, BearerToken, Server};
use tower::ServiceExt as _;

fn server() -> Server {
    let users = BearerToken::of([("anna", "anna"), ("ben", "ben")]);
    Server::new(Agent::new(ScriptedModel::new([Turn::say("Hello.")]))).ag_ui(AgUi::new()).authenticate(users)
}

async fn post(router: &Router, by: &str, path: &str, body: Body) -> Response {
    let request = Request::post(format!("http://localhost{path}")).header(header::CONTENT_TYPE, "application/json");
    router
        .clone()
        .oneshot(request.header(header::AUTHORIZATION, format!("Bearer {by}")).body(body).unwrap())
        .await
        .unwrap()
}

/// Connects to a thread that does not exist. Nobody reads the response yet.
async fn connect(router: &Router, by: &str) -> Response {
    post(router, by, "/agent/connect", Body::from(r#"{"threadId":"t","runId":"r","messages":[]}"#)).await
}

#[tokio::test]
async fn the_requests_of_a_principal_leave_room_for_those_of_others() {
    let router = server().max_requests(3).router();
    let mut unread = Vec::new();
    for _ in 0..3 {
        let response = connect(&router, "anna").await;
        assert_eq!(response.status(), 200);
        unread.push(response);
    }
    for path in ["/agent/connect", "/api/chat"] {
        let refused = post(&router, "anna", path, Body::from("{}")).await;
        assert_eq!(refused.status(), 429);
        let text = to_bytes(refused.into_body(), usize::MAX).await.unwrap();
        assert!(String::from_utf8_lossy(&text).contains("too_many_requests"), "{text:?}");
    }
    assert_eq!(connect(&router, "ben").await.status(), 200);
    // A response that was read, or given up, makes room.
    to_bytes(unread.pop().unwrap().into_body(), usize::MAX).await.unwrap();
    assert_eq!(connect(&router, "anna").await.status(), 200);
    drop(unread);
    for _ in 0..10 {
        assert_eq!(connect(&router, "anna").await.status(), 200);
    }
}

#[tokio::test(start_paused = true)]
async fn the_large_bodies_of_a_principal_leave_places_for_others() {
    let router = server().router();
    let large = || Bytes::from(vec![b' '; 100_000]);
    // These never arrive as a whole.
    let unending = || Body::from_stream(stream::iter([Ok::<_, std::io::Error>(large())]).chain(stream::pending()));
    let greedy: Vec<_> = (0..40)
        .map(|_| {
            let (router, body) = (router.clone(), unending());
            tokio::spawn(async move { post(&router, "anna", "/agent", body).await.status().as_u16() })
        })
        .collect();
    tokio::time::sleep(Duration::from_secs(5)).await;
    // Those of others are read, and so are the principal's small ones.
    assert_eq!(post(&router, "ben", "/agent", Body::from(large())).await.status(), 400);
    assert_eq!(post(&router, "anna", "/agent", Body::from("{}")).await.status(), 400);
    let mut statuses = Vec::new();
    for request in greedy {
        statuses.push(request.await.unwrap());
    }
    statuses.sort_unstable();
    assert_eq!(statuses, [vec![408; 32], vec![503; 8]].concat(), "32 had a place, and the others waited for one");
    assert_eq!(post(&router, "anna", "/agent", Body::from(large())).await.status(), 400);
}
