//! A long request holds up no other, even where one thread serves all.

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{Request, header},
};
use futures_util::stream;
use tool_runtime::{
    Agent,
    model::{Asked, Delta, FinishReason, FunctionModel},
};
use tool_server::{AgUi, Server};
use tower::ServiceExt;

/// How many other requests are served at least while one of 4 MB is. It would let in one, or a few, on their own thread.
const OTHERS: usize = 100;

fn server() -> Router {
    let model = FunctionModel::streaming(|_: Asked| {
        stream::iter([Delta::Text("Hm.".to_owned()), Delta::Finish(FinishReason::Stop)].map(Ok))
    });
    Server::new(Agent::new(model)).ag_ui(AgUi::new()).router()
}

async fn status(router: &Router, request: Request<Body>) -> u16 {
    let response = router.clone().oneshot(request).await.unwrap();
    let status = response.status().as_u16();
    to_bytes(response.into_body(), usize::MAX).await.unwrap();
    status
}

#[tokio::test(flavor = "current_thread")]
async fn health_is_answered_while_a_long_request_is_read() {
    let message = r#"{"id":"","role":"user","content":"x"},"#.repeat(100_000);
    let part = r#"{"type":"text","text":"x"},"#.repeat(140_000);
    let last = r#"{"id":"u","role":"user","content":"Hi","parts":[{"type":"text","text":"Hi"}]}"#;
    for (path, body, expected) in [
        ("/agent", format!(r#"{{"threadId":"t","runId":"r","messages":[{message}{last}]}}"#), 200),
        ("/api/chat", format!(r#"{{"id":"t","messages":[{message}{last}]}}"#), 200),
        ("/api/chat/t/steer", format!(r#"{{"message":{{"role":"user","parts":[{part}{{}}]}}}}"#), 409),
    ] {
        let router = server();
        let request = Request::post(path)
            .header(header::HOST, "localhost")
            .header(header::CONTENT_TYPE, "application/json")
            .body(body.into())
            .unwrap();
        let long = tokio::spawn({
            let router = router.clone();
            async move { status(&router, request).await }
        });
        let mut others = 0;
        while !long.is_finished() {
            assert_eq!(status(&router, Request::get("/health").body(Body::empty()).unwrap()).await, 200);
            others += 1;
            tokio::task::yield_now().await;
        }
        assert_eq!(long.await.unwrap(), expected, "{path}");
        assert!(others >= OTHERS, "{others} others were served beside {path}");
        println!("{path} {others}");
    }
}
