//! Tests of requests over a real socket: contents, retries, waits, cut streams and cancellation.

use std::time::Duration;

use futures_util::{StreamExt, future::join};
use serde_json::Value;
use tool_models::{
    Anthropic, OpenAi,
    http::{Http, HttpLimits, HttpRetry, HttpTimeouts},
    openai::{Api, MediaRules},
};
use tool_runtime::{
    message::{Media, Message, Part},
    model::{Delta, FinishReason, Model, ModelErrorKind, Request},
    test::Spans,
    toolset::ToolList,
};
use tool_test_kit::within;

use super::{
    ask,
    server::{Server, Step, end, event, head, reply},
    turn,
};

const TEXT: &str = r#"{"choices":[{"index":0,"delta":{"content":"hello"}}]}"#;
const STOP: &str = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;

fn hello() -> Vec<Step> {
    vec![head(), event(TEXT), event(STOP), event("[DONE]"), end()]
}

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn model(server: &Server, http: Http) -> OpenAi {
    OpenAi::new("m").base_url(&server.url).api_key("sk-12345678").http(http)
}

/// Returns settings that retry at once.
fn retry_at_once() -> Http {
    Http::new().retry(HttpRetry { first_wait: millis(1), ..HttpRetry::default() })
}

#[tokio::test]
async fn one_connection_serves_many_turns() {
    let server = Server::start([hello(), hello()]).await;
    let model = model(&server, Http::new().header("x-title", "test"));
    for _ in 0..2 {
        let (deltas, error) = ask(&model).await;
        assert!(error.is_none(), "{error:?}");
        assert_eq!(deltas, [Delta::Text("hello".into()), Delta::Finish(FinishReason::Stop)]);
    }
    assert_eq!(server.connections(), 1);
    let request = &server.requests()[0];
    assert!(request.head.starts_with("post /chat/completions http/1.1\r\n"), "{}", request.head);
    for line in ["authorization: bearer sk-12345678", "content-type: application/json", "x-title: test"] {
        assert!(request.head.lines().any(|sent| sent == line), "{line}: {}", request.head);
    }
    let body: Value = serde_json::from_str(&request.body).unwrap();
    assert_eq!(body["messages"][0]["content"], "hi");
}

#[tokio::test]
async fn anthropic_over_the_wire() {
    let events = [
        r#"{"type":"message_start","message":{"id":"m","usage":{"input_tokens":3}}}"#,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hello"}}"#,
        r#"{"type":"content_block_stop","index":0}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":5}}"#,
        r#"{"type":"message_stop"}"#,
    ];
    let overloaded = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    let server = Server::start([
        reply("529 ", "", overloaded),
        vec![head(), event(events[0]), event(overloaded), end()],
        [head()].into_iter().chain(events.map(event)).chain([end()]).collect(),
    ])
    .await;
    let model = Anthropic::new("m").base_url(&server.url).api_key("key").http(retry_at_once());
    let (deltas, error) = ask(&model).await;
    assert!(error.is_none(), "{error:?}");
    assert_eq!(turn(deltas).text(), "hello");
    let requests = server.requests();
    assert_eq!(requests.len(), 3);
    assert!(requests[0].head.starts_with("post /v1/messages http/1.1\r\n"), "{}", requests[0].head);
    assert!(
        requests[0].head.contains("\r\nx-api-key: key\r\n")
            && requests[0].head.contains("\r\nanthropic-version: 2023-06-01\r\n")
    );
}

/// An address in a prompt or in a result goes to the provider as it is. Nothing here connects to it.
#[tokio::test]
async fn addresses_are_not_fetched() {
    let (server, elsewhere) = (Server::start([hello(), hello()]).await, Server::start([]).await);
    let image = Part::Image(Media::url(format!("{}/a.png", elsewhere.url)));
    let rules = MediaRules { images: true, image_addresses: true, ..MediaRules::default() };
    let models: [Box<dyn Model>; 2] =
        [Box::new(model(&server, Http::new()).media_rules(rules)), Box::new(Anthropic::new("m").base_url(&server.url))];
    for model in &models {
        assert!(model.takes(&image));
        let (messages, tools) = ([Message::User { content: vec![image.clone()] }], ToolList::default());
        let _ = model.stream(Request::new(&messages, &tools)).collect::<Vec<_>>().await;
    }
    let requests = server.requests();
    assert_eq!(requests.len(), 2);
    assert!(requests.iter().all(|request| request.body.contains(&elsewhere.url)));
    assert_eq!(elsewhere.connections(), 0);
}

#[tokio::test]
async fn temporary_failures_are_retried() {
    let server =
        Server::start([reply("503 Service Unavailable", "", "busy"), vec![head(), Step::Close], hello()]).await;
    let (deltas, error) = ask(&model(&server, retry_at_once())).await;
    assert!(error.is_none(), "{error:?}");
    assert_eq!(turn(deltas).text(), "hello");
    assert_eq!(server.requests().len(), 3);
}

#[tokio::test]
async fn retries_are_limited() {
    let busy = || reply("500 Internal Server Error", "", r#"{"error":{"message":"boom"}}"#);
    let server = Server::start([busy(), busy(), busy()]).await;
    let (_, error) = ask(&model(&server, retry_at_once())).await;
    let error = error.unwrap();
    assert_eq!(error.kind(), ModelErrorKind::Unavailable);
    assert_eq!(error.to_string(), "the provider responded with 500 Internal Server Error: boom");
    assert_eq!(server.requests().len(), 3);
}

#[tokio::test]
async fn permanent_failures_are_not_retried() {
    for (status, body, kind) in [
        ("400 Bad Request", r#"{"error":{"message":"no sk-12345678"}}"#, ModelErrorKind::Refused),
        ("401 Unauthorized", "", ModelErrorKind::Unauthorized),
        ("307 Temporary Redirect", "", ModelErrorKind::Configuration),
        (
            "429 Too Many Requests",
            r#"{"error":{"message":"pay","code":"insufficient_quota"}}"#,
            ModelErrorKind::Refused,
        ),
    ] {
        let server = Server::start([reply(status, "location: http://127.0.0.1:1/\r\n", body)]).await;
        let (_, error) = ask(&model(&server, retry_at_once())).await;
        let error = error.unwrap();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(!error.to_string().contains("sk-"), "{error}");
        assert_eq!(server.requests().len(), 1);
    }
}

/// A gateway, or the server behind a wrong address, responds with a page.
#[tokio::test]
async fn a_web_page_is_no_response_of_a_model() {
    let server = Server::start([reply("200 OK", "content-type: Text/HTML; charset=utf-8\r\n", "<html>")]).await;
    let (_, error) = ask(&model(&server, retry_at_once())).await;
    let error = error.unwrap();
    assert_eq!(error.kind(), ModelErrorKind::Protocol);
    assert_eq!(error.to_string(), "the server responded with a web page: check the base URL of the model");
}

#[tokio::test]
async fn a_base_url_may_have_a_query() {
    let server = Server::start([hello()]).await;
    let azure = OpenAi::new("m").base_url(format!("{}/openai/deployments/d/?api-version=1", server.url));
    assert!(ask(&azure).await.1.is_none());
    let head = &server.requests()[0].head;
    assert!(head.starts_with("post /openai/deployments/d/chat/completions?api-version=1 "), "{head}");
}

#[tokio::test]
async fn a_retry_waits_as_long_as_the_provider_requests() {
    let server = Server::start([reply("429 Too Many Requests", "retry-after-ms: 300\r\n", ""), hello()]).await;
    let (_, error) = ask(&model(&server, retry_at_once())).await;
    assert!(error.is_none(), "{error:?}");
    let requests = server.requests();
    assert!(requests[1].at - requests[0].at >= millis(300));

    let server = Server::start([reply("429 Too Many Requests", "retry-after: 3600\r\n", "")]).await;
    // The client does not wait longer than the cap.
    let (_, error) = within("a provider that requests a wait of an hour", ask(&model(&server, retry_at_once()))).await;
    let error = error.unwrap();
    assert_eq!((error.kind(), error.retry_after()), (ModelErrorKind::RateLimited, Some(Duration::from_hours(1))));
}

#[tokio::test]
async fn a_request_is_not_retried_after_its_first_delta() {
    for cut in [vec![head(), event(TEXT), Step::Close], vec![head(), event(TEXT), end()]] {
        let server = Server::start([cut]).await;
        let (deltas, error) = ask(&model(&server, retry_at_once())).await;
        assert_eq!(deltas, [Delta::Text("hello".into())]);
        assert_eq!(error.unwrap().kind(), ModelErrorKind::Unavailable);
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test]
async fn silence_ends_the_turn() {
    for begun in [
        vec![Step::AwaitDisconnect],
        vec![head(), Step::AwaitDisconnect],
        vec![head(), event(TEXT), Step::AwaitDisconnect],
    ] {
        let spoke = begun.len() == 3;
        // The text must arrive on a slow machine, too.
        let first = if spoke { Duration::from_secs(10) } else { millis(150) };
        let timeouts = HttpTimeouts { first_byte: first, idle: millis(150), ..HttpTimeouts::default() };
        let server = Server::start([begun]).await;
        let (deltas, error) = ask(&model(&server, Http::new().retry(HttpRetry::never()).timeouts(timeouts))).await;
        assert_eq!(deltas.len(), usize::from(spoke));
        assert_eq!(error.unwrap().to_string(), "the provider sent nothing for 150ms");
    }
}

#[tokio::test]
async fn limits_beyond_the_range_of_the_clock_are_no_limits() {
    let server = Server::start([hello()]).await;
    let most = Duration::MAX;
    let http = Http::new()
        .timeouts(HttpTimeouts { connect: most, first_byte: most, idle: most })
        .retry(HttpRetry { max_wait: most, ..HttpRetry::default() });
    let (deltas, error) = ask(&model(&server, http)).await;
    assert!(error.is_none(), "{error:?}");
    assert_eq!(turn(deltas).text(), "hello");
}

#[tokio::test]
async fn a_keep_alive_is_not_silence() {
    let ping = || Step::Send("3\r\n:\n\n\r\n".to_owned());
    let mut steps = vec![head()];
    for _ in 0..7 {
        steps.extend([Step::Wait(millis(500)), ping()]);
    }
    steps.extend([event(TEXT), event(STOP), event("[DONE]"), end()]);
    let server = Server::start([steps]).await;
    // All pings together take longer.
    let limit = Duration::from_secs(3);
    let timeouts = HttpTimeouts { first_byte: limit, idle: limit, ..HttpTimeouts::default() };
    let (_, error) = ask(&model(&server, Http::new().retry(HttpRetry::never()).timeouts(timeouts))).await;
    assert!(error.is_none(), "{error:?}");
}

#[tokio::test]
async fn dropping_the_stream_ends_the_request() {
    let server = Server::start([vec![head(), event(TEXT), Step::AwaitDisconnect]]).await;
    let model = model(&server, Http::new());
    let (messages, tools) = ([Message::user("hi")], ToolList::default());
    let mut stream = model.stream(Request::new(&messages, &tools));
    assert!(matches!(stream.next().await, Some(Ok(Delta::Text(_)))));
    assert_eq!(server.disconnects(), 0);
    drop(stream);
    for _ in 0..100 {
        if server.disconnects() == 1 {
            return;
        }
        tokio::time::sleep(millis(20)).await;
    }
    panic!("the connection is still open");
}

#[tokio::test]
async fn nothing_is_sent_before_the_first_poll() {
    let server = Server::start([]).await;
    let model = model(&server, Http::new());
    let (messages, tools) = ([Message::user("hi")], ToolList::default());
    drop(model.stream(Request::new(&messages, &tools)));
    tokio::time::sleep(millis(50)).await;
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn limits_are_shared_by_clones() {
    let slow = || vec![head(), event(TEXT), Step::Wait(millis(300)), event(STOP), event("[DONE]"), end()];
    let server = Server::start([slow(), slow()]).await;
    let http = Http::new().limits(HttpLimits { max_in_flight: 1, ..HttpLimits::default() });
    let (one, two) = (model(&server, http.clone()), model(&server, http));
    let ((_, first), (_, second)) = join(ask(&one), ask(&two)).await;
    assert!(first.is_none() && second.is_none(), "{first:?} {second:?}");
    let requests = server.requests();
    assert!(requests[1].at - requests[0].at >= millis(300));
}

#[tokio::test]
async fn an_endless_event_is_not_collected() {
    let long = format!("data: {}", "x".repeat(2000));
    let server =
        Server::start([vec![head(), Step::Send(format!("{:x}\r\n{long}\r\n", long.len())), Step::AwaitDisconnect]])
            .await;
    let (_, error) = ask(&model(&server, Http::new().max_event_bytes(1000))).await;
    assert_eq!(error.unwrap().kind(), ModelErrorKind::Protocol);
}

#[tokio::test]
async fn a_response_may_be_one_json_value() {
    let body = r#"{"choices":[{"index":0,"message":{"role":"assistant","content":"hello"},"finish_reason":"stop"}]}"#;
    let server = Server::start([reply("200 OK", "content-type: application/json\r\n", body)]).await;
    let (deltas, error) = ask(&model(&server, Http::new())).await;
    assert!(error.is_none(), "{error:?}");
    assert_eq!(turn(deltas).text(), "hello");
}

#[tokio::test]
async fn addresses_that_do_not_respond() {
    let unreachable = OpenAi::new("m").base_url("http://127.0.0.1:1/v1").http(Http::new().retry(HttpRetry::never()));
    let (_, error) = ask(&unreachable).await;
    let error = error.unwrap();
    assert_eq!(error.to_string(), "127.0.0.1:1 cannot be reached (check the base URL, and that the server runs)");
    assert!(error.is_transient());
    let (_, error) = ask(&OpenAi::new("m").base_url("not a url")).await;
    assert_eq!(error.unwrap().kind(), ModelErrorKind::Configuration);
    let (_, error) = ask(&OpenAi::new("m").api_key("two\nlines")).await;
    assert_eq!(error.unwrap().kind(), ModelErrorKind::Configuration);
}

const REASONED: [&str; 2] = [
    r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"rs","encrypted_content":"seal"}}"#,
    r#"{"type":"response.output_item.done","output_index":1,"item":{"type":"message","content":[{"type":"output_text","text":"hello"}]}}"#,
];
const COMPLETED: &str = r#"{"type":"response.completed","response":{"status":"completed"}}"#;

fn reasoned() -> Vec<Step> {
    vec![head(), event(REASONED[0]), event(REASONED[1]), event(COMPLETED), end()]
}

/// The provider refuses the reasoning of another organization: as an error response, and as an event before anything else.
#[tokio::test]
async fn a_request_is_sent_once_more_without_reasoning_that_the_provider_cannot_read() {
    let spans = Spans::new();
    let _guard = tracing::subscriber::set_default(spans.clone());
    let warnings = || {
        let is_ours =
            |event: &&Vec<(String, String)>| event.iter().any(|(_, value)| value.contains("sent again without it"));
        spans.outside().iter().filter(is_ours).count()
    };
    let refusal = r#"{"error":{"message":"no","type":"invalid_request_error","code":"invalid_encrypted_content"}}"#;
    let as_event = r#"{"type":"error","code":"invalid_encrypted_content","message":"no"}"#;
    // The name of a deployment does not say whether its model reasons.
    let of_model =
        r#"{"error":{"message":"Reasoning input items can only be provided to a reasoning or computer use model."}}"#;
    let mut seen = 0;
    for refused in [
        reply("400 Bad Request", "", refusal),
        vec![head(), event(as_event), end()],
        reply("400 Bad Request", "", of_model),
    ] {
        let server = Server::start([reasoned(), refused, reasoned(), reply("400 Bad Request", "", refusal)]).await;
        let model = model(&server, retry_at_once()).api(Api::Responses);
        let (deltas, _) = ask(&model).await;
        let content = turn(deltas).content;
        assert_eq!(content.len(), 2, "{content:?}");
        let messages = [Message::user("hi"), Message::Assistant { content }, Message::user("on")];
        let tools = ToolList::default();
        let deltas: Vec<_> = model.stream(Request::new(&messages, &tools)).collect().await;
        assert_eq!(turn(deltas.into_iter().map(Result::unwrap)).text(), "hello");
        let requests = server.requests();
        assert!(requests[0].head.starts_with("post /responses http/1.1\r\n"), "{}", requests[0].head);
        let has_reasoning: Vec<bool> = requests.iter().map(|request| request.body.contains("seal")).collect();
        assert_eq!(has_reasoning, [false, true, false]);
        seen += 1;
        assert_eq!(warnings(), seen);
        // Without reasoning in the request, there is nothing to leave out.
        let (_, error) = ask(&model).await;
        assert_eq!(error.unwrap().kind(), ModelErrorKind::Refused);
        assert_eq!(server.requests().len(), 4);
        assert_eq!(warnings(), seen);
    }
}

#[tokio::test]
async fn a_setting_of_the_other_api_sends_nothing() {
    let server = Server::start([]).await;
    let (deltas, error) = ask(&model(&server, Http::new()).api(Api::Responses).send_reasoning(true)).await;
    assert_eq!((deltas.len(), error.unwrap().kind()), (0, ModelErrorKind::Configuration));
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn a_whole_response_as_json() {
    let body = format!(
        r#"{{"object":"response","status":"completed","output":[{}]}}"#,
        r#"{"type":"message","content":[{"type":"output_text","text":"hello"}]}"#
    );
    let server = Server::start([reply("200 OK", "content-type: application/json\r\n", &body)]).await;
    let (deltas, error) = ask(&model(&server, Http::new()).api(Api::Responses)).await;
    assert!(error.is_none(), "{error:?}");
    assert_eq!(turn(deltas).text(), "hello");
}
