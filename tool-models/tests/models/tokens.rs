//! Tests of bearer tokens over a real socket: expiry, refusals, failures of the source, and secrecy.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, SystemTime},
};

use futures_util::future::join_all;
use serde_json::Value;
use tool_models::{
    Anthropic, OpenAi,
    http::{BearerToken, Http, HttpRetry, HttpTimeouts},
};
use tool_runtime::model::{Model, ModelError, ModelErrorKind};
use tool_test_kit::within;

use super::{
    ask,
    server::{ReceivedRequest, Server, Step, end, event, head, reply},
    turn,
};

const TEXT: &str = r#"{"choices":[{"index":0,"delta":{"content":"hello"}}]}"#;
const STOP: &str = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;

fn hello() -> Vec<Step> {
    vec![head(), event(TEXT), event(STOP), event("[DONE]"), end()]
}

/// Returns a refusal that repeats the token.
fn refused(request: &ReceivedRequest) -> Vec<Step> {
    reply("401 Unauthorized", "", &format!("no {}", token_of(request)))
}

fn token_of(request: &ReceivedRequest) -> String {
    let line = request.head.lines().find_map(|line| line.strip_prefix("authorization: bearer "));
    line.expect("the request has a bearer token").to_owned()
}

fn tokens_of(server: &Server) -> Vec<String> {
    server.requests().iter().map(token_of).collect()
}

/// Returns a client whose source gives `token-0001`, `token-0002`, …, each with the remaining time that `lifetime` returns for its
/// number, and the number of its calls.
fn counting(lifetime: fn(usize) -> Duration) -> (Http, Arc<AtomicUsize>) {
    let calls = Arc::new(AtomicUsize::new(0));
    let shared = calls.clone();
    let http =
        Http::new().retry(HttpRetry::never()).bearer_auth(move || {
            let number = shared.fetch_add(1, Ordering::Relaxed) + 1;
            async move {
                Ok(BearerToken::new(format!("token-{number:04}")).expires_at(SystemTime::now() + lifetime(number)))
            }
        });
    (http, calls)
}

fn hour(_: usize) -> Duration {
    Duration::from_hours(1)
}

fn model(server: &Server, http: &Http) -> OpenAi {
    OpenAi::new("m").base_url(&server.url).api_key("sk-12345678").http(http.clone())
}

/// Returns the text of the response.
async fn text_of(model: &impl Model) -> String {
    let (deltas, error) = ask(model).await;
    assert!(error.is_none(), "{error:?}");
    turn(deltas).text()
}

async fn error_of(model: &impl Model) -> ModelError {
    ask(model).await.1.expect("the request fails")
}

#[tokio::test]
async fn a_token_replaces_the_key_and_is_shared() {
    let server = Server::start([hello(), hello(), reply("400 Bad Request", "", "no token-0001")]).await;
    let (http, calls) = counting(hour);
    let http = http.header("x-title", "test");
    assert_eq!(text_of(&model(&server, &http)).await, "hello");
    assert_eq!(text_of(&model(&server, &http)).await, "hello");
    let anthropic = Anthropic::new("m").base_url(&server.url).api_key("sk-12345678").http(http);
    let error = error_of(&anthropic).await;
    assert_eq!(error.to_string(), "the provider responded with 400 Bad Request: no [redacted]");
    assert_eq!(tokens_of(&server), ["token-0001"; 3]);
    assert_eq!(calls.load(Ordering::Relaxed), 1);
    for request in server.requests() {
        assert!(!request.head.contains("sk-12345678") && request.head.contains("x-title: test"), "{}", request.head);
    }
    let shown = format!("{anthropic:?} {error:?}");
    assert!(!shown.contains("token-0001") && !shown.contains("sk-"), "{shown}");
}

#[tokio::test]
async fn a_token_that_expires_is_renewed_before_the_next_request() {
    // The first token expires while the response streams.
    let slow = vec![head(), event(TEXT), Step::Wait(Duration::from_millis(300)), event(STOP), event("[DONE]"), end()];
    let server = Server::start([slow, hello(), hello()]).await;
    let (http, calls) = counting(|number| if number == 1 { Duration::from_millis(200) } else { hour(number) });
    for _ in 0..3 {
        assert_eq!(text_of(&model(&server, &http)).await, "hello");
    }
    assert_eq!(tokens_of(&server), ["token-0001", "token-0002", "token-0002"]);
    assert_eq!(calls.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn a_refused_token_is_renewed_once() {
    let server =
        Server::start_with(|request| if token_of(request) == "token-0002" { hello() } else { refused(request) }).await;
    let (http, calls) = counting(hour);
    assert_eq!(text_of(&model(&server, &http)).await, "hello");
    assert_eq!(text_of(&model(&server, &http)).await, "hello");
    assert_eq!(tokens_of(&server), ["token-0001", "token-0002", "token-0002"]);
    assert_eq!(calls.load(Ordering::Relaxed), 2);

    let server = Server::start_with(refused).await;
    let (http, _) = counting(hour);
    let error = error_of(&model(&server, &http)).await;
    assert_eq!(error.kind(), ModelErrorKind::Unauthorized);
    let message = "the provider responded with 401 Unauthorized: no [redacted] (check the API key or the token)";
    assert_eq!(error.to_string(), message);
    assert_eq!(tokens_of(&server), ["token-0001", "token-0002"], "a request is refused at most twice");
}

#[tokio::test]
async fn the_same_token_is_not_sent_again() {
    let server = Server::start_with(refused).await;
    let same = Http::new().bearer_auth(|| async { Ok(BearerToken::new("token-0001")) });
    assert_eq!(error_of(&model(&server, &same)).await.kind(), ModelErrorKind::Unauthorized);
    assert_eq!(server.requests().len(), 1);

    let server = Server::start([reply("403 Forbidden", "", "not for you")]).await;
    let (http, calls) = counting(hour);
    assert_eq!(error_of(&model(&server, &http)).await.kind(), ModelErrorKind::Unauthorized);
    assert_eq!(calls.load(Ordering::Relaxed), 1, "another token has no more rights");
}

#[tokio::test]
async fn many_refused_requests_share_one_renewal() {
    let server =
        Server::start_with(|request| if token_of(request) == "token-0001" { refused(request) } else { hello() }).await;
    let (http, calls) = counting(hour);
    let models: Vec<_> = (0..8).map(|_| model(&server, &http)).collect();
    let texts = within("eight requests", join_all(models.iter().map(text_of))).await;
    assert_eq!(texts, ["hello"; 8]);
    assert_eq!(calls.load(Ordering::Relaxed), 2);
    assert_eq!(tokens_of(&server).iter().filter(|token| *token == "token-0002").count(), 8);
}

#[tokio::test]
async fn a_source_that_fails() {
    let server = Server::start([]).await;
    let calls = Arc::new(AtomicUsize::new(0));
    let shared = calls.clone();
    let http = Http::new().bearer_auth(move || {
        shared.fetch_add(1, Ordering::Relaxed);
        async { Err(io::Error::other("secret-1234").into()) }
    });
    let error = error_of(&model(&server, &http)).await;
    assert_eq!(error.kind(), ModelErrorKind::Unauthorized);
    assert_eq!(error.to_string(), "the source of the bearer token failed (see the cause of this error)");
    assert_eq!(std::error::Error::source(&error).unwrap().to_string(), "secret-1234");
    assert_eq!(calls.load(Ordering::Relaxed), 1, "only a source that says so is asked again");

    let hanging = Http::new()
        .retry(HttpRetry::never())
        .timeouts(HttpTimeouts { first_byte: Duration::from_millis(50), ..HttpTimeouts::default() })
        .bearer_auth(std::future::pending);
    let error = error_of(&model(&server, &hanging)).await;
    assert_eq!(error.kind(), ModelErrorKind::Unavailable);
    assert_eq!(error.to_string(), "the source of the bearer token gave none within 50ms");
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn a_source_that_is_unavailable_is_asked_again() {
    let server = Server::start([hello()]).await;
    let calls = AtomicUsize::new(0);
    let retry = HttpRetry { first_wait: Duration::from_millis(1), ..HttpRetry::default() };
    let http = Http::new().retry(retry).bearer_auth(move || {
        let number = calls.fetch_add(1, Ordering::Relaxed) + 1;
        async move {
            match number {
                1 | 2 => Err(ModelError::new(ModelErrorKind::Unavailable, "no network").into()),
                _ => Ok(BearerToken::new("token-0001")),
            }
        }
    });
    assert_eq!(text_of(&model(&server, &http)).await, "hello");
    let always = Http::new()
        .retry(HttpRetry::never())
        .bearer_auth(|| async { Err(ModelError::new(ModelErrorKind::Configuration, "no account").into()) });
    let error = error_of(&model(&server, &always)).await;
    assert_eq!((error.kind(), error.to_string().as_str()), (ModelErrorKind::Configuration, "no account"));
}

#[tokio::test]
async fn a_token_serves_until_its_end_while_the_source_fails() {
    let server = Server::start([hello(), hello()]).await;
    let calls = Arc::new(AtomicUsize::new(0));
    let shared = calls.clone();
    let lifetime = Duration::from_millis(800);
    let http = Http::new().retry(HttpRetry::never()).bearer_auth(move || {
        let number = shared.fetch_add(1, Ordering::Relaxed) + 1;
        async move {
            match number {
                1 => Ok(BearerToken::new("token-0001").expires_at(SystemTime::now() + lifetime)),
                _ => Err("out of order".into()),
            }
        }
    });
    assert_eq!(text_of(&model(&server, &http)).await, "hello");
    tokio::time::sleep(lifetime / 2).await;
    assert_eq!(text_of(&model(&server, &http)).await, "hello");
    assert_eq!(calls.load(Ordering::Relaxed), 2);
    tokio::time::sleep(lifetime / 2).await;
    assert_eq!(error_of(&model(&server, &http)).await.kind(), ModelErrorKind::Unauthorized);
    assert_eq!(server.requests().len(), 2);
}

#[tokio::test]
async fn anthropic_on_vertex() {
    let events = [
        r#"{"type":"message_start","message":{"id":"m"}}"#,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"hello"}}"#,
        r#"{"type":"content_block_stop","index":0}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"}}"#,
        r#"{"type":"message_stop"}"#,
    ];
    let answer = || [head()].into_iter().chain(events.map(event)).chain([end()]).collect::<Vec<_>>();
    let server = Server::start([answer()]).await;
    let (http, _) = counting(hour);
    let model = Anthropic::new("claude-opus-5-5").vertex("my-project", "global").base_url(&server.url).http(http);
    assert_eq!(model.provider(), Some("gcp.vertex_ai"));
    assert_eq!(text_of(&model).await, "hello");
    let request = &server.requests()[0];
    let path = "/v1/projects/my-project/locations/global/publishers/anthropic/models/claude-opus-5-5:streamrawpredict";
    assert!(request.head.starts_with(&format!("post {path} http/1.1\r\n")), "{}", request.head);
    assert_eq!(token_of(request), "token-0001");
    assert!(!request.head.contains("anthropic-version") && !request.head.contains("x-api-key"), "{}", request.head);
    let body: Value = serde_json::from_str(&request.body).unwrap();
    assert_eq!(body["anthropic_version"], "vertex-2023-10-16");
    assert_eq!(body["stream"], true);
    assert!(body.get("model").is_none(), "{body:#}");
}
