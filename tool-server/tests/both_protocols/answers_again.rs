//! Tests of requests that are sent twice and do not begin an answer: with the result of a page's tool, or with a decision. The copy
//! gets the whole answer, as after any repetition.

use std::time::Duration;

use axum::{
    Router,
    body::Body,
    http::{Request, header},
};
use serde_json::{Value, json};
use tool_test_kit::{stores::Stores, within};

use super::{
    repeated::{PROTOCOLS, Protocol, World, wait_until_cancelled},
    shared_store::send,
};
use crate::{
    kit::{Response, input, user},
    model::Step,
};

async fn post(router: &Router, path: &str, body: &Value) -> Response {
    let request = Request::post(format!("http://localhost{path}")).header(header::CONTENT_TYPE, "application/json");
    send(router.clone(), request, Body::from(body.to_string())).await
}

/// Sends messages and more members to AG-UI's endpoint, as the request `run`.
async fn run(router: &Router, run: &str, messages: &Value, more: Value) -> Response {
    let mut more = more;
    more["runId"] = run.into();
    post(router, "/agent", &input("c", messages, &more).parse().unwrap()).await
}

/// Returns a script of turns, each with a text and a call.
fn script(turns: &[(&str, &str)]) -> String {
    let turn = |(text, call): &(&str, &str)| {
        vec![Step::Text((*text).to_owned()), Step::Call((*call).to_owned()), Step::End(0)]
    };
    serde_json::to_string(&turns.iter().map(turn).collect::<Vec<_>>()).unwrap()
}

/// Returns the request with the output of the page's tool `Locate`, after the response `asked`.
fn with_output(protocol: Protocol, script: &str, asked: &Response) -> (&'static str, Value) {
    if protocol == Protocol::AgUi {
        let start = asked.event("TOOL_CALL_START");
        let id = &start["toolCallId"];
        let call = json!({ "id": id, "type": "function", "function": { "name": "Locate", "arguments": "{}" } });
        let messages = json!([
            user("m1", script),
            { "id": start["parentMessageId"], "role": "assistant", "content": "Where are you?", "toolCalls": [call] },
            { "id": "t1", "role": "tool", "toolCallId": id, "content": "Oslo" },
        ]);
        return ("/agent", input("c", &messages, &json!({ "runId": "second" })).parse().unwrap());
    }
    let id = &asked.event("tool-input-available")["toolCallId"];
    let call =
        json!({ "type": "tool-Locate", "toolCallId": id, "state": "output-available", "input": {}, "output": "Oslo" });
    let messages = json!([
        { "id": "m1", "role": "user", "parts": [{ "type": "text", "text": script }] },
        { "id": "a1", "role": "assistant", "parts": [{ "type": "text", "text": "Where are you?" }, call] },
    ]);
    let path = if protocol == Protocol::AiSdk { "/api/chat" } else { "/api/v6/chat" };
    (path, json!({ "id": "c", "messages": messages, "resumable": true }))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_output_of_the_page_that_is_sent_again_joins_the_answer_or_replays_it() {
    for protocol in PROTOCOLS {
        for is_one in [true, false] {
            let (world, stores) = (World::new(), Stores::memory());
            let first = world.server(stores.nth(0));
            let second = if is_one { first.clone() } else { world.server(stores.nth(1)) };
            let script = script(&[("Where are you?", "Locate"), ("In Oslo.", "order")]);
            let asked = protocol.ask(&first, "c", &[("m1", &script)], "first").await;
            let (path, body) = with_output(protocol, &script, &asked);
            let again = async {
                world.wait_for_orders(1).await;
                let deliver = async {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    world.deliver();
                };
                tokio::join!(post(&second, path, &body), deliver).0
            };
            let answered = async { tokio::join!(post(&first, path, &body), again) };
            let (one, other) = within("the answers", answered).await;
            let restarted = world.server(stores.nth(0));
            let third = post(&restarted, path, &body).await;
            for response in [one, other, third] {
                let text = format!("{protocol:?}, {is_one}: {} {}", response.status, response.text);
                assert_eq!(response.status, 200, "{text}");
                for part in ["\"In Oslo.\"", "\"a taxi comes\"", "\"done\""] {
                    assert_eq!(response.text.matches(part).count(), 1, "{part}: {text}");
                }
                assert!(!response.text.contains("RUN_ERROR") && !response.text.contains("\"error\""), "{text}");
            }
            assert_eq!(world.orders(), 1, "{protocol:?}");
        }
    }
}

/// Returns the answer to the interrupt of `response`, and one to an interrupt that does not exist.
fn approve(response: &Response) -> Value {
    let id = response.event("RUN_FINISHED")["outcome"]["interrupts"][0]["id"].clone();
    let entry = |id: &Value| json!({ "interruptId": id, "status": "resolved", "payload": { "approved": true } });
    json!({ "resume": [entry(&id), entry(&json!("unknown"))] })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_beside_the_response_to_a_decision_has_the_text_before_it() {
    let (world, stores) = (World::new(), Stores::memory());
    let router = world.server(stores.nth(0));
    let messages = json!([user("m1", &script(&[("Shall I book?", "book")]))]);
    let asked = run(&router, "first", &messages, json!({})).await;
    let decided = run(&router, "second", &messages, approve(&asked));
    let copy = async {
        world.wait_for_orders(1).await;
        let deliver = async {
            tokio::time::sleep(Duration::from_millis(50)).await;
            world.deliver();
        };
        tokio::join!(run(&router, "first", &messages, json!({})), deliver).0
    };
    let (decided, copy) = within("the answers", async { tokio::join!(decided, copy) }).await;
    assert!(decided.text.contains("warnings"), "{}", decided.text);
    assert!(!copy.text.contains("warnings"), "{}", copy.text);
    let snapshot = copy.events().into_iter().rfind(|event| event["type"] == "MESSAGES_SNAPSHOT").unwrap();
    assert!(snapshot.to_string().contains("\"Shall I book?\""), "{}", copy.text);
    assert!(copy.text.contains("\"a table is free\"") && copy.text.contains("\"delta\":\"done\""), "{}", copy.text);
    assert!(copy.events().iter().all(|event| event["runId"].is_null() || event["runId"] == "first"), "{}", copy.text);
    assert_eq!(world.orders(), 1);
}

/// The client's connection breaks, so its run is cancelled. Two copies of the request continue the answer, and both have all of it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn copies_of_a_request_whose_answer_was_left_have_all_of_it() {
    for protocol in PROTOCOLS {
        let (world, stores) = (World::new(), Stores::memory());
        let router = world.server(stores.nth(0));
        let script = script(&[("I order.", "order"), ("I order another.", "order")]);
        let (messages, more) = ([("m1", &*script)], json!({ "runId": "first", "forwardedProps": "leaves" }));
        tokio::select! {
            _ = protocol.ask_with(&router, "c", &messages, &more) => panic!("the order ended"),
            () = world.wait_for_orders(1) => {}
        }
        wait_until_cancelled(&*stores.nth(0)).await;
        let copy = async |orders: usize| {
            world.wait_for_orders(orders).await;
            protocol.ask_with(&router, "c", &messages, &more).await
        };
        let deliver = async {
            world.wait_for_orders(2).await;
            tokio::time::sleep(Duration::from_millis(100)).await;
            world.deliver();
        };
        let copies = async { tokio::join!(copy(1), copy(2), deliver) };
        let (one, other, ()) = within("the answers", copies).await;
        for copy in [one, other] {
            for part in ["\"I order.\"", "\"I order another.\"", "\"a taxi comes\"", "\"done\""] {
                assert!(copy.text.contains(part), "{protocol:?}: {part}: {}", copy.text);
            }
        }
        assert_eq!(world.orders(), 2, "{protocol:?}");
    }
}

/// The client has nothing of the answer, which was left or waits for a decision, and sends its messages in a new run.
#[tokio::test]
async fn a_new_run_of_the_same_messages_begins_with_the_answer_so_far() {
    for ends_with in ["order", "book"] {
        let (world, stores) = (World::new(), Stores::memory());
        let router = world.server(stores.nth(0));
        let messages = json!([user("m1", &script(&[("I order.", "order"), ("The second.", ends_with)]))]);
        let first = run(&router, "first", &messages, json!({ "forwardedProps": "leaves" }));
        if ends_with == "book" {
            world.deliver();
            first.await;
        } else {
            tokio::select! {
                _ = first => panic!("the order ended"),
                () = world.wait_for_orders(1) => {}
            }
            wait_until_cancelled(&*stores.nth(0)).await;
            world.deliver();
        }
        let again = run(&router, "second", &messages, json!({})).await;
        let text = format!("{ends_with}: {}", again.text);
        for part in ["\"I order.\"", "\"The second.\""] {
            assert_eq!(again.text.matches(part).count(), 1, "{part}: {text}");
        }
        assert!(again.events().iter().all(|event| event["runId"].is_null() || event["runId"] == "second"), "{text}");
        let outcome = &again.event("RUN_FINISHED")["outcome"]["type"];
        if ends_with == "order" {
            assert!(again.text.contains("\"done\"") && outcome == "success", "{text}");
            continue;
        }
        assert_eq!(outcome, "interrupt", "{text}");
        let changed = run(&router, "third", &json!([user("m1", "Something else.")]), json!({})).await;
        let warning = "the new message was left out, because an interrupt is still open";
        assert!(changed.text.contains(warning), "{}", changed.text);
    }
}

/// A request of AG-UI may have both an answer to an interrupt and a message.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_beside_an_answer_that_is_sent_again_is_answered_once() {
    let (world, stores) = (World::new(), Stores::memory());
    let router = world.server(stores.nth(0));
    let first = script(&[("Shall I book?", "book")]);
    let asked = run(&router, "first", &json!([user("m1", &first)]), json!({})).await;
    let messages = json!([user("m1", &first), user("m2", &script(&[("A taxi, too.", "order")]))]);
    let decision = approve(&asked);
    let request = || run(&router, "second", &messages, decision.clone());
    let copy = async |orders: usize| {
        world.wait_for_orders(orders).await;
        // Before the message is in the log, and after it.
        let answer = tokio::join!(request(), async {
            tokio::time::sleep(Duration::from_millis(50)).await;
            world.deliver();
        });
        answer.0
    };
    let copies = async { tokio::join!(request(), copy(1), copy(2)) };
    let (one, other, third) = within("the answers", copies).await;
    let late = request().await;
    for response in [one, other, third, late] {
        for part in ["\"A taxi, too.\"", "\"a taxi comes\"", "\"done\""] {
            assert!(response.text.contains(part), "{part}: {}", response.text);
        }
    }
    assert_eq!(world.orders(), 2);
}

/// A page that comes back to a thread at rest reads nothing, however long the thread is.
#[tokio::test]
async fn a_thread_at_rest_has_no_stream() {
    let (world, stores) = (World::new(), Stores::memory());
    let router = world.server(stores.nth(0));
    world.deliver();
    let messages = json!([user("m1", &script(&[("I order.", "order")]))]);
    assert_eq!(run(&router, "first", &messages, json!({})).await.status, 200);
    let request = Request::get("http://localhost/agent/c/stream");
    assert_eq!(send(router, request, Body::empty()).await.status, 204);
}

/// The address may be anything in the JSON of a client. A page cannot show a file with an empty one.
#[tokio::test]
async fn a_file_whose_address_is_no_text_has_an_address_after_a_reload() {
    let (world, stores) = (World::new(), Stores::memory());
    let router = world.server(stores.nth(0));
    let parts = json!([
        { "type": "file", "mediaType": "image/png", "url": 5 },
        { "type": "text", "text": serde_json::to_string(&[[Step::Text("Hello.".to_owned())]]).unwrap() },
    ]);
    let message = json!({ "id": "m1", "role": "user", "parts": parts });
    let answer = post(&router, "/api/chat", &json!({ "id": "c", "messages": [message] })).await;
    assert!(answer.text.contains("Hello."), "{}", answer.text);
    let history = send(router, Request::get("http://localhost/api/chat/c"), Body::empty()).await;
    assert!(history.text.contains("\"url\":\"about:blank\""), "{}", history.text);
}
