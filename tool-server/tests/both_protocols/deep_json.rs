//! Tests that chats go on if their histories are nested deeper than the JSON parser accepts.

use std::sync::{Arc, Mutex};

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{Request, header},
};
use futures_util::stream;
use serde_json::{Value, json};
use tool_runtime::{
    Agent, Message, Part,
    model::{Delta, FinishReason, FunctionModel, OwnedRequest},
    tool, toolset,
};
use tool_server::{AgUi, Server};
use tower::ServiceExt;

/// Levels of nesting: below the parser's limit, above it, and enough to overflow the stack of a recursive parser.
const LEVELS: [usize; 4] = [100, 128, 10_000, 400_000];

/// Get the position of the user from the browser.
#[tool(external, effect = read_only, output = Value)]
struct Locate {}

/// Returns a server, and the last message that its model received. The model calls `Locate` if the prompt names it, and writes
/// "done" otherwise.
fn server() -> (Router, Arc<Mutex<String>>) {
    let received = Arc::new(Mutex::new(String::new()));
    let slot = Arc::clone(&received);
    let model = FunctionModel::streaming(move |request: OwnedRequest| {
        let last = request.messages.last().expect("a message");
        *slot.lock().unwrap() = serde_json::to_string(last).unwrap();
        let called = match last {
            Message::User { content } => content.last().and_then(Part::as_text).filter(|text| *text == "Locate"),
            _ => None,
        };
        let deltas = match called {
            Some(name) => vec![
                Delta::CallStart { index: 0, id: "c1".to_owned(), name: name.to_owned() },
                Delta::CallEnd { index: 0 },
                Delta::Finish(FinishReason::ToolCalls),
            ],
            None => vec![Delta::Text("done".to_owned()), Delta::Finish(FinishReason::Stop)],
        };
        stream::iter(deltas.into_iter().map(Ok))
    });
    let agent = Agent::new(model).tools(toolset!(Locate));
    (Server::new(agent).ag_ui(AgUi::new()).router(), received)
}

async fn post(router: &Router, path: &str, body: String) -> (u16, String) {
    let request =
        Request::post(path).header(header::HOST, "localhost").header(header::CONTENT_TYPE, "application/json");
    let response = router.clone().oneshot(request.body(Body::from(body)).unwrap()).await.unwrap();
    let status = response.status().as_u16();
    let bytes = to_bytes(response.into_body(), usize::MAX).await.unwrap();
    (status, String::from_utf8(bytes.to_vec()).unwrap())
}

/// Returns `value` as JSON, with an array of so many levels in place of each text `DEEP`.
fn nest(value: &Value, levels: usize) -> String {
    let deep = format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    value.to_string().replace("\"DEEP\"", &deep)
}

fn prompt(id: &str, text: &str) -> Value {
    json!({ "id": id, "role": "user", "parts": [{ "type": "text", "text": text }] })
}

#[tokio::test]
async fn a_chat_with_deep_messages_goes_on() {
    let (router, _) = server();
    for levels in LEVELS {
        for state in ["input-streaming", "input-available", "output-available", "output-error"] {
            for key in ["input", "rawInput", "output"] {
                let part = json!({ "type": "tool-Locate", "toolCallId": "c1", "state": state, key: "DEEP" });
                let message =
                    json!({ "id": "a1", "role": "assistant", "parts": [{ "type": "text", "text": "Hm." }, part] });
                check_chat(&router, &format!("{state}-{key}"), &message, levels).await;
            }
        }
        let odd = [
            json!({ "id": "a1", "role": "assistant", "parts": [], "metadata": "DEEP" }),
            json!({ "id": "a1", "role": "assistant", "parts": ["DEEP"] }),
            json!({ "id": "a1", "role": "assistant", "parts": [{ "type": "DEEP" }] }),
            json!({ "id": "a1", "role": "assistant", "parts": "DEEP" }),
            json!({ "id": "a1", "role": "DEEP" }),
            json!("DEEP"),
        ];
        for (number, message) in odd.iter().enumerate() {
            check_chat(&router, &format!("odd-{number}"), message, levels).await;
        }
    }
}

async fn check_chat(router: &Router, chat: &str, message: &Value, levels: usize) {
    let messages = json!([prompt("u1", "Hi"), message, prompt("u2", "go on")]);
    let body = nest(&json!({ "id": format!("{chat}-{levels}"), "messages": messages }), levels);
    let (status, text) = post(router, "/api/chat", body).await;
    assert!(status == 200 && text.contains("done"), "{levels} {message}: {status} {text}");
}

#[tokio::test]
async fn an_output_that_cannot_be_read_fails_its_call() {
    for levels in LEVELS {
        let (router, received) = server();
        let asked = json!({ "id": "chat", "messages": [prompt("u1", "Locate")] }).to_string();
        assert_eq!(post(&router, "/api/chat", asked).await.0, 200);
        let part = json!({ "type": "tool-Locate", "toolCallId": "c1", "state": "output-available", "output": "DEEP" });
        let message = json!({ "id": "a1", "role": "assistant", "parts": [part] });
        let body = nest(&json!({ "id": "chat", "messages": [prompt("u1", "Locate"), message] }), levels);
        let (status, text) = post(&router, "/api/chat", body).await;
        assert!(status == 200 && text.contains("done"), "{levels}: {status} {text}");
        assert_eq!(received.lock().unwrap().contains("127 levels"), levels > 127, "{}", received.lock().unwrap());
    }
}

#[tokio::test]
async fn a_steering_request_with_deep_json_is_read() {
    let (router, _) = server();
    for levels in LEVELS {
        let body = nest(&json!({ "message": prompt("u1", "Hi"), "more": "DEEP" }), levels);
        let (status, text) = post(&router, "/api/chat/none/steer", body).await;
        assert!(status == 409 && text.contains("nothing is being answered"), "{levels}: {status} {text}");
    }
}

#[tokio::test]
async fn a_thread_with_deep_messages_goes_on() {
    let (router, _) = server();
    let input = |thread: &str, message: &Value, more: &Value| {
        let messages = json!([message, { "id": "u2", "role": "user", "content": "go on" }]);
        let mut input = json!({ "threadId": thread, "runId": "r", "messages": messages });
        input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        input
    };
    let function = json!({ "name": "Locate", "arguments": "{}" });
    let kept = [
        json!({ "id": "a", "role": "assistant", "content": "Hm.", "metadata": { "a": "DEEP" } }),
        json!({ "id": "a", "role": "assistant", "content": [{ "text": "Hm.", "metadata": "DEEP" }] }),
        json!({ "id": "a", "role": "assistant", "toolCalls": [{ "id": "c", "function": function, "metadata": { "a": "DEEP" } }] }),
        json!({ "id": "a", "role": "activity", "activityType": "tool_progress", "content": { "preliminary": "DEEP" } }),
        json!({ "id": "a", "role": "user", "content": [{ "type": "text", "text": "Hi", "metadata": "DEEP" }] }),
        json!({ "id": "a", "role": "someone", "content": "DEEP" }),
    ];
    for levels in LEVELS {
        for (number, message) in kept.iter().enumerate() {
            let body = nest(&input(&format!("{levels}-{number}"), message, &json!({})), levels);
            let (status, text) = post(&router, "/agent", body).await;
            assert!(status == 200 && text.contains("done"), "{levels} {message}: {status} {text}");
        }
        // The arguments are text in the body, not JSON.
        let arguments = format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        let function = json!({ "name": "Locate", "arguments": arguments });
        let message = json!({ "id": "a", "role": "assistant", "toolCalls": [{ "id": "c", "function": function }] });
        let (status, text) =
            post(&router, "/agent", input(&format!("{levels}"), &message, &json!({})).to_string()).await;
        assert!(status == 200 && text.contains("done"), "{levels}: {status} {text}");
        // A deep member that the run needs is refused, and the error names it.
        let hi = json!({ "id": "a", "role": "user", "content": "Hi" });
        for (name, more) in
            [("state", json!({ "state": "DEEP" })), ("forwardedProps", json!({ "forwardedProps": "DEEP" }))]
        {
            let (status, text) = post(&router, "/agent", nest(&input("t", &hi, &more), levels)).await;
            assert_eq!((status == 400, text.contains(name)), (levels > 127, levels > 127), "{levels}: {status} {text}");
        }
    }
}
