//! The number of a principal's answers that are in progress at once, and the size of the store in memory.

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    body::Body,
    http::{Request, header},
    response::Response,
};
use futures_util::{StreamExt, stream};
use serde_json::json;
use tool_runtime::{
    Agent,
    message::FinishReason,
    model::{Delta, FunctionModel},
    store::{MemoryStore, Store},
};
use tool_server::{AgUi, BearerToken, Server};
use tower::ServiceExt;

/// Asks in a chat, over the AI SDK's protocol or AG-UI.
async fn ask(router: &Router, by: &str, path: &str, chat: &str) -> Response {
    let said =
        json!({ "id": "m1", "role": "user", "content": "Go on.", "parts": [{ "type": "text", "text": "Go on." }] });
    let body = json!({ "id": chat, "threadId": chat, "runId": "r", "protocolVersion": "1.0", "messages": [said] });
    let request = Request::post(format!("http://localhost{path}"))
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::AUTHORIZATION, format!("Bearer {by}"));
    router.clone().oneshot(request.body(Body::from(body.to_string())).unwrap()).await.unwrap()
}

#[tokio::test]
async fn a_principal_has_only_so_many_answers_at_once() {
    let model =
        FunctionModel::streaming(|_| stream::iter([Ok(Delta::Text("And".to_owned()))]).chain(stream::pending()));
    let router = Server::new(Agent::new(model))
        .ag_ui(AgUi::new())
        .authenticate(BearerToken::of([("anna", "anna"), ("ben", "ben")]))
        .max_answers(2)
        .router();
    let (first, second) = (ask(&router, "anna", "/api/chat", "1").await, ask(&router, "anna", "/agent", "2").await);
    assert_eq!((first.status(), second.status()), (200.try_into().unwrap(), 200.try_into().unwrap()));
    for path in ["/api/chat", "/agent"] {
        let refused = ask(&router, "anna", path, "3").await;
        assert_eq!(refused.status(), 429);
        let bytes = axum::body::to_bytes(refused.into_body(), usize::MAX).await.unwrap();
        let text = String::from_utf8_lossy(&bytes);
        assert!(text.contains("too_many_answers") && text.contains("stop one"), "{text}");
    }
    // Another principal has its own limit, and a chat that is answered already counts once.
    assert_eq!(ask(&router, "ben", "/api/chat", "3").await.status(), 200);
    assert_eq!(ask(&router, "anna", "/agent", "2").await.status(), 200);
    // When an answer has ended, there is room for another.
    drop(first);
    let asked_again = async {
        while ask(&router, "anna", "/api/chat", "3").await.status() == 429 {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), asked_again).await.expect("there is room again");
}

#[tokio::test]
async fn a_full_store_in_memory_says_so_and_has_room_again_when_runs_are_deleted() {
    let store = Arc::new(MemoryStore::new().limit(10_000));
    let agent = Agent::new(FunctionModel::streaming(|_| {
        stream::iter([Ok(Delta::Text("Hello.".to_owned())), Ok(Delta::Finish(FinishReason::Stop))])
    }));
    let agent = agent.store(Arc::clone(&store));
    let ask = async |number: usize| {
        let mut session = agent.session_named(format!("run {number}"), Vec::new());
        session.send("x".repeat(1000)).await.map(drop)
    };
    let mut number = 0;
    let full = loop {
        match ask(number).await {
            Ok(()) => number += 1,
            Err(error) => break error.to_string(),
        }
    };
    assert!((2..10).contains(&number), "{number} runs of more than 1,000 bytes");
    assert!(full.contains("the store in memory is full") && full.contains("delete runs"), "{full}");
    assert!(store.delete(&"run 0".into()).await.unwrap());
    ask(number + 1).await.unwrap();
}
