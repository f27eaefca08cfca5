//! Histories that are nested deeper than a reader of JSON takes: their chats go on.

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

/// Levels of nesting: below the limit of a reader, above it, and as many as end the stack of who reads them by recursion.
const LEVELS: [usize; 4] = [100, 128, 10_000, 400_000];

/// Get the position of the user from the browser.
#[tool(external, effect = read_only, output = Value)]
struct Locate {}

/// A server whose model calls the tool that the user names, and says "done" otherwise; what it heard last.
fn server() -> (Router, Arc<Mutex<String>>) {
    let received = Arc::new(Mutex::new(String::new()));
    let hears = Arc::clone(&received);
    let model = FunctionModel::streaming(move |asked: OwnedRequest| {
        let last = asked.messages.last().expect("a message");
        *hears.lock().unwrap() = serde_json::to_string(last).unwrap();
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

/// `value` with JSON of so many levels in place of each text `DEEP`.
fn nested(value: &Value, levels: usize) -> String {
    let deep = format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    value.to_string().replace("\"DEEP\"", &deep)
}

fn prompt(id: &str, text: &str) -> Value {
    json!({ "id": id, "role": "user", "parts": [{ "type": "text", "text": text }] })
}

#[tokio::test]
async fn a_chat_goes_on_whatever_its_client_has_kept() {
    let (router, _) = server();
    for levels in LEVELS {
        for state in ["input-streaming", "input-available", "output-available", "output-error"] {
            for key in ["input", "rawInput", "output"] {
                let part = json!({ "type": "tool-Locate", "toolCallId": "c1", "state": state, key: "DEEP" });
                let answer =
                    json!({ "id": "a1", "role": "assistant", "parts": [{ "type": "text", "text": "Hm." }, part] });
                goes_on(&router, &format!("{state}-{key}"), &answer, levels).await;
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
            goes_on(&router, &format!("odd-{number}"), message, levels).await;
        }
    }
}

async fn goes_on(router: &Router, chat: &str, answer: &Value, levels: usize) {
    let messages = json!([prompt("u1", "Hi"), answer, prompt("u2", "go on")]);
    let body = nested(&json!({ "id": format!("{chat}-{levels}"), "messages": messages }), levels);
    let (status, text) = post(router, "/api/chat", body).await;
    assert!(status == 200 && text.contains("done"), "{levels} {answer}: {status} {text}");
}

#[tokio::test]
async fn an_output_that_cannot_be_read_fails_its_call() {
    for levels in LEVELS {
        let (router, received) = server();
        let asked = json!({ "id": "chat", "messages": [prompt("u1", "Locate")] }).to_string();
        assert_eq!(post(&router, "/api/chat", asked).await.0, 200);
        let part = json!({ "type": "tool-Locate", "toolCallId": "c1", "state": "output-available", "output": "DEEP" });
        let answer = json!({ "id": "a1", "role": "assistant", "parts": [part] });
        let body = nested(&json!({ "id": "chat", "messages": [prompt("u1", "Locate"), answer] }), levels);
        let (status, text) = post(&router, "/api/chat", body).await;
        assert!(status == 200 && text.contains("done"), "{levels}: {status} {text}");
        assert_eq!(received.lock().unwrap().contains("127 levels"), levels > 127, "{}", received.lock().unwrap());
    }
}

#[tokio::test]
async fn a_steering_message_is_read_whatever_is_in_it() {
    let (router, _) = server();
    for levels in LEVELS {
        let body = nested(&json!({ "message": prompt("u1", "Hi"), "more": "DEEP" }), levels);
        let (status, text) = post(&router, "/api/chat/none/steer", body).await;
        assert!(status == 409 && text.contains("nothing is being answered"), "{levels}: {status} {text}");
    }
}

#[tokio::test]
async fn a_thread_goes_on_whatever_its_client_has_kept() {
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
            let body = nested(&input(&format!("{levels}-{number}"), message, &json!({})), levels);
            let (status, text) = post(&router, "/agent", body).await;
            assert!(status == 200 && text.contains("done"), "{levels} {message}: {status} {text}");
        }
        // The text of arguments is no JSON of the body.
        let arguments = format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        let function = json!({ "name": "Locate", "arguments": arguments });
        let message = json!({ "id": "a", "role": "assistant", "toolCalls": [{ "id": "c", "function": function }] });
        let (status, text) =
            post(&router, "/agent", input(&format!("{levels}"), &message, &json!({})).to_string()).await;
        assert!(status == 200 && text.contains("done"), "{levels}: {status} {text}");
        // What the run itself needs is refused by its name.
        let hi = json!({ "id": "a", "role": "user", "content": "Hi" });
        for (name, more) in
            [("state", json!({ "state": "DEEP" })), ("forwardedProps", json!({ "forwardedProps": "DEEP" }))]
        {
            let (status, text) = post(&router, "/agent", nested(&input("t", &hi, &more), levels)).await;
            assert_eq!((status == 400, text.contains(name)), (levels > 127, levels > 127), "{levels}: {status} {text}");
        }
    }
}
