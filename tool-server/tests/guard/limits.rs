//! Tests of the limit of a principal's active responses, and of the limits of the store in memory.

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

/// Sends a message in a chat, over the AI SDK's protocol or AG-UI.
async fn ask(router: &Router, by: &str, path: &str, chat: &str) -> Response {
    let prompt =
        json!({ "id": "m1", "role": "user", "content": "Go on.", "parts": [{ "type": "text", "text": "Go on." }] });
    let body = json!({ "id": chat, "threadId": chat, "runId": "r", "protocolVersion": "1.0", "messages": [prompt] });
    let request = Request::post(format!("http://localhost{path}"))
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::AUTHORIZATION, format!("Bearer {by}"));
    router.clone().oneshot(request.body(Body::from(body.to_string())).unwrap()).await.unwrap()
}

#[tokio::test]
async fn a_principal_s_active_responses_are_limited() {
    let model =
        FunctionModel::streaming(|_| stream::iter([Ok(Delta::Text("And".to_owned()))]).chain(stream::pending()));
    let router = Server::new(Agent::new(model))
        .ag_ui(AgUi::new())
        .authenticate(BearerToken::of([("anna", "anna"), ("ben", "ben")]))
        .max_responses(2)
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
    // Another principal has its own limit, and a chat with an active response counts once.
    assert_eq!(ask(&router, "ben", "/api/chat", "3").await.status(), 200);
    assert_eq!(ask(&router, "anna", "/agent", "2").await.status(), 200);
    // The end of a response makes room for another.
    drop(first);
    let asked_again = async {
        while ask(&router, "anna", "/api/chat", "3").await.status() == 429 {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), asked_again).await.expect("there is room again");
}

#[tokio::test]
async fn a_principal_with_too_many_chats_gets_an_error_and_others_have_room() {
    let model = FunctionModel::streaming(|_| {
        stream::iter([Ok(Delta::Text("Hello.".to_owned())), Ok(Delta::Finish(FinishReason::Stop))])
    });
    let store = MemoryStore::new().max_bytes(1_000_000).max_owner_bytes(10_000);
    let users = BearerToken::of([("anna", "anna"), ("ben", "ben")]);
    let server = Server::new(Agent::new(model).store(store)).ag_ui(AgUi::new()).authenticate(users);
    let router = server.router();
    let read = async |response: Response| {
        let bytes = axum::body::to_bytes(response.into_body(), usize::MAX).await.unwrap();
        String::from_utf8(bytes.to_vec()).unwrap()
    };
    let mut number = 0;
    let full = loop {
        let text = read(ask(&router, "anna", "/api/chat", &number.to_string()).await).await;
        if text.contains("\"error\"") {
            break text;
        }
        number += 1;
    };
    assert!((2..20).contains(&number), "{number} chats");
    assert!(full.contains("your chats take up all the room that you have; delete one of them"), "{full}");
    let text = read(ask(&router, "anna", "/agent", "other").await).await;
    assert!(text.contains(r#""code":"chats_full""#) && text.contains("delete one of them"), "{text}");
    let title = |name: &str| {
        let request = Request::patch("http://localhost/api/chat/0").header(header::CONTENT_TYPE, "application/json");
        let body = json!({ "title": name.repeat(190) }).to_string();
        request.header(header::AUTHORIZATION, "Bearer anna").body(Body::from(body)).unwrap()
    };
    let refused = loop {
        let named = router.clone().oneshot(title("x")).await.unwrap();
        if named.status() != 204 {
            break named;
        }
    };
    assert_eq!(refused.status(), 507);
    let text = read(refused).await;
    assert!(text.contains(r#""code":"chats_full""#) && text.contains("delete one of them"), "{text}");
    // Ben has room. Anna has room again after she has deleted a chat.
    let text = read(ask(&router, "ben", "/api/chat", "0").await).await;
    assert!(text.contains("Hello."), "{text}");
    let delete = Request::delete("http://localhost/api/chat/1").header(header::AUTHORIZATION, "Bearer anna");
    assert_eq!(router.clone().oneshot(delete.body(Body::empty()).unwrap()).await.unwrap().status(), 204);
    let text = read(ask(&router, "anna", "/api/chat", "new").await).await;
    assert!(text.contains("Hello."), "{text}");
}

#[tokio::test]
async fn a_full_store_in_memory_has_room_again_after_runs_are_deleted() {
    let store = Arc::new(MemoryStore::new().max_bytes(20_000));
    let agent = Agent::new(FunctionModel::streaming(|_| {
        stream::iter([Ok(Delta::Text("Hello.".to_owned())), Ok(Delta::Finish(FinishReason::Stop))])
    }));
    let agent = agent.store(Arc::clone(&store));
    let ask = async |number: usize| {
        let mut session = agent.session_with_id(format!("run {number}"), Vec::new());
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
    assert!(full.contains("the store is full") && full.contains("delete runs"), "{full}");
    assert!(store.delete(&"run 0".into()).await.unwrap());
    ask(number + 1).await.unwrap();
}
