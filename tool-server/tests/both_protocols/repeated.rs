//! Tests of requests that are sent twice: the second joins the answer or replays it, and runs nothing.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::{
    Router,
    body::Body,
    http::{Request, header},
};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tool_runtime::{
    Agent, Toolset,
    model::FunctionModel,
    run::{Phase, StopReason},
    store::Store,
    tool, toolset,
};
use tool_server::{AgUi, Server};
use tool_test_kit::{
    stores::{Schema, Stores},
    within,
};

use super::shared_store::send;
use crate::{
    kit::{Response, input, user},
    model::{Step, play},
};

/// Order a taxi, which comes as soon as there is a permit.
#[tool(effect = write)]
async fn order(#[state] orders: &Orders) -> &'static str {
    orders.count.fetch_add(1, Ordering::SeqCst);
    orders.done.acquire().await.expect("it is never closed").forget();
    "a taxi comes"
}

/// Book a table, which is free as soon as there is a permit.
#[tool(effect = write, approval = always)]
async fn book(#[state] orders: &Orders) -> &'static str {
    orders.count.fetch_add(1, Ordering::SeqCst);
    orders.done.acquire().await.expect("it is never closed").forget();
    "a table is free"
}

/// Find out where the person is.
#[tool(external, effect = read_only, output = String)]
struct Locate {}

pub(super) struct World {
    orders: Arc<Orders>,
}

pub(super) struct Orders {
    count: AtomicUsize,
    done: Semaphore,
}

impl World {
    pub(super) fn new() -> Self {
        Self { orders: Arc::new(Orders { count: AtomicUsize::new(0), done: Semaphore::new(0) }) }
    }

    pub(super) fn server(&self, store: Arc<dyn Store>) -> Router {
        let agent = Agent::new(FunctionModel::streaming(play)).tools(self.tools()).store(store);
        Server::new(agent).ag_ui(AgUi::new().detach(|input| input.forwarded_props != Some(json!("leaves")))).router()
    }

    pub(super) fn tools(&self) -> Toolset {
        toolset!(Arc::clone(&self.orders); order, book, Locate)
    }

    pub(super) fn orders(&self) -> usize {
        self.orders.count.load(Ordering::SeqCst)
    }

    pub(super) fn deliver(&self) {
        self.orders.done.add_permits(1);
    }

    pub(super) async fn wait_for_orders(&self, count: usize) {
        let ordered = async {
            while self.orders() < count {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        within("an order", ordered).await;
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Protocol {
    AiSdk,
    AiSdk6,
    AgUi,
}

pub(super) const PROTOCOLS: [Protocol; 3] = [Protocol::AiSdk, Protocol::AiSdk6, Protocol::AgUi];

impl Protocol {
    /// Sends messages with these ids and texts to the chat `chat`. `run` is the id of the request in AG-UI.
    pub(super) async fn ask(self, router: &Router, chat: &str, messages: &[(&str, &str)], run: &str) -> Response {
        let more = json!({ "runId": run, "resumable": true });
        self.ask_with(router, chat, messages, &more).await
    }

    pub(super) async fn ask_with(
        self,
        router: &Router,
        chat: &str,
        messages: &[(&str, &str)],
        more: &Value,
    ) -> Response {
        let (path, body) = self.request(chat, messages, more);
        let request = Request::post(format!("http://localhost{path}")).header(header::CONTENT_TYPE, "application/json");
        send(router.clone(), request, Body::from(body)).await
    }

    fn request(self, chat: &str, messages: &[(&str, &str)], more: &Value) -> (&'static str, String) {
        let path = match self {
            Self::AiSdk => "/api/chat",
            Self::AiSdk6 => "/api/v6/chat",
            Self::AgUi => {
                let messages: Vec<_> = messages.iter().map(|(id, text)| user(id, text)).collect();
                return ("/agent", input(chat, &json!(messages), more));
            }
        };
        let message = |(id, text): &(&str, &str)| json!({ "id": id, "role": "user", "parts": [{ "type": "text", "text": text }] });
        let mut body = json!({ "id": chat, "messages": messages.iter().map(message).collect::<Vec<_>>() });
        body.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
        (path, body.to_string())
    }
}

/// Returns a script that orders a taxi, and then says that it is done.
fn script() -> String {
    serde_json::to_string(&[vec![Step::Text("I order.".to_owned()), Step::Call("order".to_owned()), Step::End(0)]])
        .unwrap()
}

fn say(text: &str) -> String {
    serde_json::to_string(&[[Step::Text(text.to_owned())]]).unwrap()
}

/// Checks that a response has the whole answer to [`script`].
fn assert_whole(response: &Response, text: &str) {
    assert_eq!(response.status, 200, "{text}: {}", response.text);
    for part in ["\"delta\":\"I order.\"", "\"a taxi comes\"", "\"delta\":\"done\""] {
        assert_eq!(response.text.matches(part).count(), 1, "{text}: {part}: {}", response.text);
    }
    assert!(!response.text.contains("RUN_ERROR") && !response.text.contains("\"error\""), "{text}: {}", response.text);
}

/// Waits until the first run of the chat `c` was cancelled.
pub(super) async fn wait_until_cancelled(store: &dyn Store) {
    let cancelled = async {
        let run = "1:9:anonymous:c".into();
        let load = async || store.load(&run).await.unwrap().unwrap().rebuild().unwrap().phase();
        while !matches!(load().await, Phase::Stopped(StopReason::Cancelled)) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    within("the end of the run", cancelled).await;
}

/// Returns whether the chat has a second run, because something was answered anew.
async fn has_branched(store: &dyn Store, chat: &str) -> bool {
    store.load(&format!("2:9:anonymous:{chat}").into()).await.unwrap().is_some()
}

/// Runs `check` with two servers of one store, first in memory and then in PostgreSQL, and with one server. The text names the case.
async fn with_servers(check: impl AsyncFn(&World, [&Router; 2], &dyn Store, &str)) {
    let schema = Schema::new();
    for (name, stores) in [("memory", Stores::memory()), ("PostgreSQL", schema.stores().await)] {
        for is_one in [true, false] {
            let world = World::new();
            let first = world.server(stores.nth(0));
            let second = if is_one { first.clone() } else { world.server(stores.nth(1)) };
            let text = format!("{name}, {}", if is_one { "one server" } else { "two servers" });
            check(&world, [&first, &second], &*stores.nth(0), &text).await;
        }
    }
    schema.remove().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_prompt_that_is_sent_twice_at_once_is_answered_once() {
    with_servers(async |world, [first, second], store, text| {
        for protocol in PROTOCOLS {
            for attempt in 0..4 {
                let (text, before) = (format!("{text}, {protocol:?}, attempt {attempt}"), world.orders());
                let chat = text.clone();
                // The first message of a chat, and a later one.
                for (number, messages) in
                    [&[("m1", &*script())][..], &[("m1", &*script()), ("m2", &*script())]].into_iter().enumerate()
                {
                    let run = format!("run {number}");
                    let deliver = async {
                        world.wait_for_orders(before + number + 1).await;
                        tokio::time::sleep(Duration::from_millis(20)).await;
                        world.deliver();
                    };
                    let asked = async {
                        let (one, other) =
                            (protocol.ask(first, &chat, messages, &run), protocol.ask(second, &chat, messages, &run));
                        tokio::join!(one, other, deliver)
                    };
                    let (one, other, ()) = within("the answers", asked).await;
                    assert_whole(&one, &text);
                    assert_whole(&other, &text);
                    assert_eq!(world.orders(), before + number + 1, "{text}");
                }
                assert!(!has_branched(store, &chat).await, "{text}");
            }
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_prompt_that_is_sent_again_joins_the_answer_or_replays_it() {
    with_servers(async |world, [first, second], store, text| {
        for protocol in PROTOCOLS {
            let (text, before) = (format!("{text}, {protocol:?}"), world.orders());
            let script = script();
            let messages = [("m1", &*script)];
            let again = async {
                world.wait_for_orders(before + 1).await;
                let answered = protocol.ask(second, &text, &messages, "run");
                let deliver = async {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    world.deliver();
                };
                tokio::join!(answered, deliver).0
            };
            let (one, other) =
                within("the answers", async { tokio::join!(protocol.ask(first, &text, &messages, "run"), again) })
                    .await;
            assert_whole(&one, &text);
            assert_whole(&other, &text);
            for server in [first, second] {
                assert_whole(&protocol.ask(server, &text, &messages, "run").await, &text);
            }
            assert_eq!(world.orders(), before + 1, "{text}");
            assert!(!has_branched(store, &text).await, "{text}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_restarted_server_replays_the_answer() {
    for protocol in PROTOCOLS {
        let (world, stores, script) = (World::new(), Stores::memory(), script());
        world.deliver();
        let messages = [("m1", &*script)];
        let first = protocol.ask(&world.server(stores.nth(0)), "c", &messages, "run").await;
        assert_whole(&first, "the first");
        let restarted = world.server(stores.nth(0));
        assert_whole(&protocol.ask(&restarted, "c", &messages, "run").await, "after the restart");
        assert_eq!(world.orders(), 1);
        // Another answer, and other content, are no repetitions.
        for (number, more) in
            [json!({ "trigger": "regenerate-message", "runId": "other" }), json!({ "runId": "run", "messageId": "m1" })]
                .into_iter()
                .enumerate()
        {
            let script = if number == 0 { script.clone() } else { script.replace("I order.", "I order. ") };
            world.deliver();
            let anew = protocol.ask_with(&restarted, "c", &[("m1", &*script)], &more).await;
            assert!(anew.text.contains("a taxi comes"), "{}", anew.text);
            assert_eq!(world.orders(), number + 2, "{protocol:?}: {more}");
        }
    }
}

/// A late copy of an earlier request must not take back what came later.
#[tokio::test]
async fn a_copy_of_an_earlier_request_changes_nothing() {
    for protocol in PROTOCOLS {
        let (world, stores, script) = (World::new(), Stores::memory(), script());
        let (server, next) = (world.server(stores.nth(0)), say("The next answer."));
        world.deliver();
        let messages = [("m1", &*script), ("m2", &*next)];
        protocol.ask(&server, "c", &messages[..1], "first").await;
        protocol.ask(&server, "c", &messages, "second").await;
        let late = protocol.ask(&server, "c", &messages[..1], "first").await;
        if protocol == Protocol::AgUi {
            // The client then has the thread as it is.
            let mut snapshots = late.events().into_iter().filter_map(|event| event.get("messages").cloned());
            assert_eq!(
                snapshots.next_back().unwrap().as_array().unwrap().last().unwrap()["content"],
                "The next answer."
            );
        } else {
            assert_whole(&late, "the late copy");
            assert!(late.text.contains("\"finishReason\":\"stop\""), "{}", late.text);
        }
        assert_eq!(world.orders(), 1);
        assert!(!has_branched(&*stores.nth(0), "c").await);
    }
}

/// The client's connection breaks, so its run is cancelled. The client sends the request again.
#[tokio::test]
async fn an_answer_that_was_left_goes_on_without_repeating_its_calls() {
    for protocol in PROTOCOLS {
        let (world, stores, script) = (World::new(), Stores::memory(), script());
        let server = world.server(stores.nth(0));
        let more = json!({ "runId": "run", "forwardedProps": "leaves" });
        let messages = [("m1", &*script)];
        let first = protocol.ask_with(&server, "c", &messages, &more);
        tokio::select! {
            _ = first => panic!("the order ended"),
            () = world.wait_for_orders(1) => {}
        }
        wait_until_cancelled(&*stores.nth(0)).await;
        let again = protocol.ask_with(&server, "c", &messages, &more).await;
        assert!(again.text.contains("\"I order.\"") && again.text.contains("\"done\""), "{protocol:?}: {}", again.text);
        assert_eq!(world.orders(), 1, "{protocol:?}");
        assert!(!has_branched(&*stores.nth(0), "c").await);
    }
}

/// A message was edited, and the first request, or an earlier edit, comes again.
#[tokio::test]
async fn a_copy_from_before_an_edit_takes_nothing_back() {
    for protocol in PROTOCOLS {
        let (world, stores, [first, last]) = (World::new(), Stores::memory(), [script(), say("The last answer.")]);
        let server = world.server(stores.nth(0));
        world.deliver();
        let (edit, later) = (say("The edited answer."), say("The later answer."));
        let ask = async |server: &Router, messages: &[(&str, &str)], run: &str, edits: bool| {
            let more = if edits { json!({ "messageId": "m1" }) } else { json!({}) };
            let mut more = more;
            more["runId"] = run.into();
            protocol.ask_with(server, "c", messages, &more).await
        };
        for (number, (messages, edits)) in [
            (&[("m1", &*first)][..], false),
            (&[("m1", &first), ("m2", &later)], false),
            (&[("m1", &edit)], true),
            (&[("m1", &last)], true),
        ]
        .into_iter()
        .enumerate()
        {
            let answer = ask(&server, messages, &number.to_string(), edits).await;
            assert_eq!(answer.status, 200, "{protocol:?}, {number}: {}", answer.text);
        }
        let state = || async {
            let path = if protocol == Protocol::AgUi { "/agent/connect" } else { "/api/chat/c" };
            let request = if protocol == Protocol::AgUi {
                Request::post(format!("http://localhost{path}"))
            } else {
                Request::get(format!("http://localhost{path}"))
            };
            let body = if protocol == Protocol::AgUi { input("c", &json!([]), &json!({})) } else { String::new() };
            send(server.clone(), request.header(header::CONTENT_TYPE, "application/json"), Body::from(body)).await.text
        };
        let before = state().await;
        assert!(before.contains("The last answer.") && !before.contains("a taxi comes"), "{before}");
        let restarted = world.server(stores.nth(0));
        for server in [&server, &restarted] {
            for (number, messages, edits) in [
                ("0", &[("m1", &*first)][..], false),
                ("1", &[("m1", &first), ("m2", &later)], false),
                ("2", &[("m1", &edit)], true),
            ] {
                let copy = ask(server, messages, number, edits).await;
                assert_eq!(copy.status, 409, "{protocol:?}, {number}: {}", copy.text);
                assert!(copy.text.contains("\"replaced\""), "{}", copy.text);
            }
            // The copy of the last edit gets its answer.
            let copy = ask(server, &[("m1", &last)], "3", true).await;
            assert!(copy.text.contains("The last answer."), "{}", copy.text);
        }
        assert_eq!(state().await, before, "{protocol:?}");
        assert_eq!(world.orders(), 1);
        // The person goes back to the first text.
        world.deliver();
        let back = ask(&server, &[("m1", &first)], "4", true).await;
        assert!(back.text.contains("a taxi comes"), "{protocol:?}: {}", back.text);
        assert_eq!(world.orders(), 2);
    }
}
