//! Tests of a chat whose clients read different forms: two protocols, two versions of one, or two paths. Each client reads the
//! response in its own form, and none stops the response of another.

use std::time::Duration;

use axum::{
    Router,
    body::Body,
    http::{Request, header},
};
use serde_json::{Value, json};
use tool_runtime::{
    Agent,
    model::FunctionModel,
    run::{Phase, StopReason},
};
use tool_server::{AgUi, Server};
use tool_test_kit::{stores::Stores, within};

use super::{repeated::World, shared_store::send};
use crate::{
    kit::{Response, input, post_to, user},
    model::{Step, play},
};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Client {
    /// A client of the endpoint at this path, which sends this version.
    AgUi(&'static str, Option<&'static str>),
    AiSdk(&'static str),
}

const CLIENTS: [Client; 5] = [
    Client::AgUi("/agent", Some("1.0")),
    Client::AgUi("/agent", None),
    Client::AgUi("/other", None),
    Client::AiSdk("/api/chat"),
    Client::AiSdk("/api/v6/chat"),
];

impl Client {
    async fn ask(self, router: &Router, script: &str) -> Response {
        match self {
            Self::AgUi(path, version) => {
                let more = json!({ "protocolVersion": version, "runId": "first" });
                post_to(router, path, input("c", &json!([user("m1", script)]), &more)).await
            }
            Self::AiSdk(path) => {
                let message = json!({ "id": "m1", "role": "user", "parts": [{ "type": "text", "text": script }] });
                let body = json!({ "id": "c", "messages": [message], "resumable": true });
                post_to(router, path, body.to_string()).await
            }
        }
    }

    /// Loads the chat, and reads the response in progress.
    async fn load(self, router: &Router) -> Response {
        match self {
            Self::AgUi(path, version) => {
                let more = json!({ "protocolVersion": version, "runId": "second" });
                post_to(router, &format!("{path}/connect"), input("c", &json!([]), &more)).await
            }
            Self::AiSdk(path) => {
                let page = self.messages(router).await;
                let stream = get(router, &format!("{path}/c/stream")).await;
                Response { status: stream.status, text: page.text + "\n\n" + &stream.text }
            }
        }
    }

    /// Returns the chat as a page of the AI SDK loads it.
    async fn messages(self, router: &Router) -> Response {
        let path = if self == Self::AiSdk("/api/v6/chat") { "/api/v6/chat/c" } else { "/api/chat/c" };
        get(router, path).await
    }

    /// Approves the interrupt that clients know as `id`. `page` is the chat as [`Client::messages`] returned it.
    async fn approve(self, router: &Router, page: &str, id: &Value) -> Response {
        match self {
            Self::AgUi(path, version) => {
                let answer = json!({ "interruptId": id, "status": "resolved", "payload": { "approved": true } });
                let more = json!({ "protocolVersion": version, "resume": [answer], "runId": "third" });
                post_to(router, path, input("c", &json!([]), &more)).await
            }
            Self::AiSdk(path) => {
                let mut messages: Value = serde_json::from_str(page).unwrap();
                for part in messages.as_array_mut().unwrap().last_mut().unwrap()["parts"].as_array_mut().unwrap() {
                    if part["approval"]["id"] == *id {
                        part["state"] = "approval-responded".into();
                        part["approval"]["approved"] = true.into();
                    }
                }
                let body = json!({ "id": "c", "messages": messages, "resumable": true });
                post_to(router, path, body.to_string()).await
            }
        }
    }

    /// Checks that a response has the form of this client.
    fn assert_form(self, response: &Response, text: &str) {
        let is_written = |part: &str| response.text.contains(part);
        assert_eq!(response.status, 200, "{text}");
        assert!(!is_written("RUN_ERROR") && !is_written("\"type\":\"error\""), "{text}");
        match self {
            Self::AgUi(_, version) => {
                assert!(is_written("RUN_FINISHED") && !is_written("\"type\":\"finish\""), "{text}");
                // Only clients of 1.0 know this outcome.
                assert_eq!(is_written(r#""outcome":{"type":"success"}"#), version.is_some(), "{text}");
            }
            Self::AiSdk(_) => assert!(is_written("\"type\":\"finish\"") && !is_written("RUN_FINISHED"), "{text}"),
        }
    }
}

pub(super) async fn get(router: &Router, path: &str) -> Response {
    let request = Request::get(format!("http://localhost{path}")).header(header::ACCEPT, "*/*");
    send(router.clone(), request, Body::empty()).await
}

/// Returns a stream of the AI SDK without its last frame, which is no JSON.
fn without_end(response: &Response) -> Response {
    Response { status: response.status, text: response.text.replace("data: [DONE]\n\n", "") }
}

/// Returns a server with two endpoints of AG-UI.
fn server(world: &World, stores: &Stores) -> Router {
    let agent = Agent::new(FunctionModel::streaming(play)).tools(world.tools()).store(stores.nth(0));
    let at = |path: &str| AgUi::new().path(path).detach(|_| true);
    Server::new(agent).ag_ui(at("/agent")).ag_ui(at("/other")).router()
}

fn script(calls: &[&str]) -> String {
    let calls = calls.iter().map(|call| Step::Call((*call).to_owned()));
    let turn: Vec<_> = [Step::Text("I order.".to_owned())].into_iter().chain(calls).collect();
    serde_json::to_string(&[turn]).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_client_reads_the_response_in_progress_in_its_form() {
    for asker in CLIENTS {
        for reader in CLIENTS {
            let (world, stores) = (World::new(), Stores::memory());
            let router = server(&world, &stores);
            let script = script(&["order"]);
            let (asked, read, again) = within("the answers", async {
                let deliver = async {
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    world.deliver();
                };
                let load = async {
                    world.wait_for_orders(1).await;
                    tokio::join!(reader.load(&router), reader.load(&router), deliver)
                };
                let (asked, (read, again, ())) = tokio::join!(asker.ask(&router, &script), load);
                (asked, read, again)
            })
            .await;
            asker.assert_form(&asked, &format!("{asker:?} {}", asked.text));
            for read in [read, again] {
                let text = format!("{asker:?}, {reader:?}: {} {}", read.status, read.text);
                reader.assert_form(&read, &text);
                for part in ["I order.\"", "\"a taxi comes\"", "\"done\""] {
                    assert_eq!(read.text.matches(part).count(), 1, "{part}: {text}");
                }
            }
            assert_eq!(world.orders(), 1);
        }
    }
}

/// Two calls wait. The second is approved while the first runs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_decision_in_another_form_stops_nothing() {
    for first in CLIENTS {
        for second in CLIENTS {
            let (world, stores) = (World::new(), Stores::memory());
            let router = server(&world, &stores);
            let asked = Client::AgUi("/agent", Some("1.0")).ask(&router, &script(&["book", "book"])).await;
            let interrupts = &asked.event("RUN_FINISHED")["outcome"]["interrupts"];
            let (one, other) = (interrupts[0]["id"].clone(), interrupts[1]["id"].clone());
            let (page, later) = (first.messages(&router).await.text, second.messages(&router).await.text);
            let (before, after) = within("the answers", async {
                let decide_later = async {
                    world.wait_for_orders(1).await;
                    let deliver = async {
                        world.wait_for_orders(2).await;
                        world.deliver();
                        world.deliver();
                    };
                    tokio::join!(second.approve(&router, &later, &other), deliver).0
                };
                tokio::join!(first.approve(&router, &page, &one), decide_later)
            })
            .await;
            for (client, response) in [(first, before), (second, after)] {
                let text = format!("{first:?}, {second:?}: {client:?} {} {}", response.status, response.text);
                client.assert_form(&response, &text);
                assert_eq!(response.text.matches("\"a table is free\"").count(), 2, "{text}");
                assert!(response.text.contains("\"done\""), "{text}");
            }
            assert_eq!(world.orders(), 2, "{first:?}, {second:?}");
        }
    }
}

/// A client of AG-UI that comes back does not send its version. It reads the response of its path, or one of version 0.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_comes_back_without_its_version_reads_the_response() {
    for asker in CLIENTS {
        let (world, stores) = (World::new(), Stores::memory());
        let router = server(&world, &stores);
        let script = script(&["order"]);
        let come_back = async {
            world.wait_for_orders(1).await;
            let deliver = async {
                tokio::time::sleep(Duration::from_millis(50)).await;
                world.deliver();
            };
            tokio::join!(get(&router, "/agent/c/stream"), deliver).0
        };
        let (asked, read) = within("the answers", async { tokio::join!(asker.ask(&router, &script), come_back) }).await;
        let text = format!("{asker:?}: {}", read.text);
        asker.assert_form(&asked, &text);
        let version = if asker == Client::AgUi("/agent", Some("1.0")) { Some("1.0") } else { None };
        Client::AgUi("/agent", version).assert_form(&read, &text);
        assert_eq!((read.text.matches("\"done\"").count(), world.orders()), (1, 1), "{text}");
    }
}

/// A stop ends the response of each client, and the chat goes on.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_ends_the_responses_of_all_forms() {
    for asker in CLIENTS {
        let (world, stores) = (World::new(), Stores::memory());
        let router = server(&world, &stores);
        let script = script(&["order"]);
        let reader = if asker == CLIENTS[0] { CLIENTS[3] } else { CLIENTS[0] };
        let stop = async {
            world.wait_for_orders(1).await;
            let stop = async {
                tokio::time::sleep(Duration::from_millis(50)).await;
                post_to(&router, "/api/chat/c/stop", "").await
            };
            tokio::join!(reader.load(&router), stop)
        };
        let (asked, (read, stopped)) =
            within("the answers", async { tokio::join!(asker.ask(&router, &script), stop) }).await;
        assert_eq!((asked.status, read.status, stopped.status), (200, 200, 204), "{asker:?}");
        assert!(!asked.text.contains("\"done\"") && !read.text.contains("\"done\""), "{asker:?}: {}", asked.text);
        let run = stores.nth(0).load(&"1:9:anonymous:c".into()).await.unwrap().unwrap().rebuild().unwrap();
        assert_eq!(run.phase(), Phase::Stopped(StopReason::Cancelled), "{asker:?}");
        let page = Client::AiSdk("/api/chat").messages(&router).await;
        assert!(page.text.contains("I order."), "{asker:?}: {}", page.text);
    }
}

/// A page decides about a call of its own message. Another page of its form follows the run, with another message.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_decision_beside_a_response_that_follows_continues_the_page_s_message() {
    for form in [Client::AiSdk("/api/chat"), Client::AiSdk("/api/v6/chat")] {
        let (world, stores) = (World::new(), Stores::memory());
        let router = server(&world, &stores);
        let asked = without_end(&form.ask(&router, &script(&["book"])).await);
        let own = asked.event("start")["messageId"].clone();
        let id = asked.event("tool-approval-request")["approvalId"].clone();
        let mut page: Value = serde_json::from_str(&form.messages(&router).await.text).unwrap();
        page.as_array_mut().unwrap().last_mut().unwrap()["id"] = own.clone();
        let page = page.to_string();
        let other = async {
            world.wait_for_orders(1).await;
            let deliver = async {
                tokio::time::sleep(Duration::from_millis(200)).await;
                world.deliver();
            };
            let decide = async {
                tokio::time::sleep(Duration::from_millis(100)).await;
                form.approve(&router, &page, &id).await
            };
            tokio::join!(form.load(&router), decide, deliver)
        };
        let first = Client::AgUi("/agent", Some("1.0"));
        let answers = async { tokio::join!(first.approve(&router, "", &id), other) };
        let (first, (follower, decided, ())) = within("the answers", answers).await;
        let decided = without_end(&decided);
        let text = format!("{form:?}: {}", decided.text);
        assert_eq!(decided.event("start")["messageId"], own, "{text}");
        for response in [&first, &follower, &decided] {
            assert!(response.text.contains("\"a table is free\"") && response.text.contains("\"done\""), "{text}");
        }
        assert!(!decided.text.contains("\"tool-approval-request\""), "{text}");
        assert_eq!(world.orders(), 1, "{text}");
    }
}

/// A page loads the chat during an answer in another form, or of another server, and asks for its stream only after the end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_reads_an_answer_that_was_left_out_even_after_its_end() {
    for page in ["/api/chat", "/api/v6/chat"] {
        for is_one in [true, false] {
            let (world, stores) = (World::new(), Stores::memory());
            let first = server(&world, &stores);
            let (router, asker) =
                if is_one { (first.clone(), CLIENTS[0]) } else { (world.server(stores.nth(1)), Client::AiSdk(page)) };
            let script = script(&["order"]);
            let load = async {
                world.wait_for_orders(1).await;
                let loaded = Client::AiSdk(page).messages(&router).await;
                world.deliver();
                loaded
            };
            let (_, loaded) = within("the answer", async { tokio::join!(asker.ask(&first, &script), load) }).await;
            let stream = async || get(&router, &format!("{page}/c/stream")).await;
            let count = |response: &Response, part: &str| response.text.matches(part).count();
            // An effect of React in strict mode asks twice.
            for read in [stream().await, stream().await] {
                let text = format!("{page}, {is_one}: {} {} {}", loaded.text, read.status, read.text);
                for part in ["I order.\"", "\"a taxi comes\"", "\"done\""] {
                    assert_eq!((count(&loaded, part), count(&read, part)), (0, 1), "{part}: {text}");
                }
            }
            let whole = Client::AiSdk(page).messages(&router).await;
            assert_eq!(count(&whole, "\"text\":\"done\""), 1, "a page that only polls: {}", whole.text);
            assert_eq!(stream().await.status, 204, "{page}, {is_one}: it has the answer");
            assert_eq!(world.orders(), 1);
        }
    }
}
