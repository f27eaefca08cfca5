//! Tests that a long request delays no other, even if one thread serves all.

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{Request, header},
};
use futures_util::{StreamExt, stream};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tool_runtime::{
    Agent,
    model::{Delta, FinishReason, FunctionModel, OwnedRequest},
};
use tool_server::{AgUi, Server};
use tower::ServiceExt;

/// The number of other requests that the server must serve while it reads a request of 4 MB, or a long log.
const OTHERS: usize = 100;

/// The number of attempts to reach [`OTHERS`]. A pause of this process leaves less time for others.
const ATTEMPTS: usize = 5;

fn server() -> Router {
    let model = FunctionModel::streaming(|_: OwnedRequest| {
        stream::iter([Delta::Text("Hm.".to_owned()), Delta::Finish(FinishReason::Stop)].map(Ok))
    });
    Server::new(Agent::new(model)).ag_ui(AgUi::new()).router()
}

async fn send(router: &Router, request: Request<Body>) -> u16 {
    let response = router.clone().oneshot(request).await.unwrap();
    let status = response.status().as_u16();
    to_bytes(response.into_body(), usize::MAX).await.unwrap();
    status
}

#[tokio::test(flavor = "current_thread")]
async fn health_is_served_while_a_long_request_is_read() {
    let message = r#"{"id":"","role":"user","content":"x"},"#.repeat(100_000);
    let part = r#"{"type":"text","text":"x"},"#.repeat(140_000);
    let last = r#"{"id":"u","role":"user","content":"Hi","parts":[{"type":"text","text":"Hi"}]}"#;
    for (path, body, expected) in [
        ("/agent", format!(r#"{{"threadId":"t","runId":"r","messages":[{message}{last}]}}"#), 200),
        ("/api/chat", format!(r#"{{"id":"t","messages":[{message}{last}]}}"#), 200),
        ("/api/chat/t/steer", format!(r#"{{"message":{{"role":"user","parts":[{part}{{}}]}}}}"#), 409),
    ] {
        let others = attempt_until_enough(async || {
            let router = server();
            let request = Request::post(path)
                .header(header::HOST, "localhost")
                .header(header::CONTENT_TYPE, "application/json")
                .body(Body::from(body.clone()))
                .unwrap();
            let long = tokio::spawn({
                let router = router.clone();
                async move { send(&router, request).await }
            });
            let (status, others) = send_beside(&router, long).await;
            assert_eq!(status, expected, "{path}");
            others
        })
        .await;
        assert!(others >= OTHERS, "{others} others were served beside {path}");
        println!("{path} {others}");
    }
}

/// Makes attempts until one has served enough other requests. Returns the largest number of any attempt.
async fn attempt_until_enough(attempt: impl AsyncFn() -> usize) -> usize {
    let mut most = 0;
    for _ in 0..ATTEMPTS {
        most = most.max(attempt().await);
        if most >= OTHERS {
            break;
        }
    }
    most
}

/// Sends other requests until `long` has ended. Returns its result, and the number of other requests.
async fn send_beside<T>(router: &Router, long: JoinHandle<T>) -> (T, usize) {
    let mut others = 0;
    while !long.is_finished() {
        assert_eq!(send(router, Request::get("/health").body(Body::empty()).unwrap()).await, 200);
        others += 1;
        tokio::task::yield_now().await;
    }
    (long.await.unwrap(), others)
}

/// A client connects to a thread with a long response before the one in progress.
#[tokio::test(flavor = "current_thread")]
async fn health_is_served_while_a_long_log_is_read() {
    let model = FunctionModel::streaming(|request: OwnedRequest| {
        let is_first = request.messages.len() == 1;
        let text = if is_first { "word ".repeat(600_000) } else { "And".to_owned() };
        let end = is_first.then_some(Delta::Finish(FinishReason::Stop));
        stream::iter([Some(Delta::Text(text)), end].into_iter().flatten().map(Ok))
            .chain(stream::pending().take(usize::from(!is_first)))
    });
    let server = Server::new(Agent::new(model)).max_replay_bytes(64 << 20);
    let router = server.ag_ui(AgUi::new().detach(|_| true)).router();
    let ask = async |path: &str, messages: &[Value]| {
        let body = json!({ "threadId": "t", "runId": "r", "messages": messages }).to_string();
        let request = Request::post(path).header(header::HOST, "localhost");
        let request = request.header(header::CONTENT_TYPE, "application/json").body(Body::from(body)).unwrap();
        router.clone().oneshot(request).await.unwrap()
    };
    let prompt = |id: &str| json!({ "id": id, "role": "user", "content": "Go on." });
    to_bytes(ask("/agent", &[prompt("m1")]).await.into_body(), usize::MAX).await.unwrap();
    let mut response = ask("/agent", &[prompt("m1"), prompt("m2")]).await.into_body().into_data_stream();
    let mut begun = String::new();
    while !begun.contains("And") {
        begun.push_str(std::str::from_utf8(&response.next().await.unwrap().unwrap()).unwrap());
    }
    let others = attempt_until_enough(async || {
        let connecting = Request::post("/agent/connect").header(header::HOST, "localhost");
        let connecting = connecting.header(header::CONTENT_TYPE, "application/json");
        let connecting = connecting.body(Body::from(r#"{"threadId":"t","runId":"r","messages":[]}"#)).unwrap();
        let long = tokio::spawn(router.clone().oneshot(connecting));
        let (connected, others) = send_beside(&router, long).await;
        let (mut body, mut read) = (connected.unwrap().into_body().into_data_stream(), 0);
        while read < 3_000_000 {
            read += body.next().await.expect("the whole log").unwrap().len();
        }
        others
    })
    .await;
    assert!(others >= OTHERS, "{others} others were served beside the connection");
}
