//! Tests that a page, loaded again in any state of a call, shows the same as before and goes on.

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    body::{Body, BodyDataStream},
    http::{Request, header},
};
use futures_util::StreamExt;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tool_runtime::{
    Agent, Toolset,
    model::{Delta, FunctionModel},
    store::{MemoryStore, Store},
};
use tool_server::{AgUi, BearerToken, Server};
use tower::ServiceExt;

use crate::{
    model::{Step, play},
    tools::every_state,
};

/// The text before which the model waits for a permit.
pub(crate) const HOLD: &str = "(held)";

pub(crate) struct World {
    router: Router,
    /// Permits for tools.
    pub(crate) done: Arc<Semaphore>,
    /// Permits for the model.
    pub(crate) hold: Arc<Semaphore>,
    pub(crate) store: Arc<dyn Store>,
}

/// A response that is read piece by piece.
pub(crate) struct Stream {
    pub(crate) status: u16,
    body: BodyDataStream,
    text: String,
}

impl Stream {
    /// Reads until the response contains `part`.
    pub(crate) async fn read_until(&mut self, part: &str) -> &str {
        while !self.text.contains(part) {
            let next = tokio::time::timeout(Duration::from_secs(20), self.body.next()).await;
            let next = next.unwrap_or_else(|_| panic!("`{part}` never came: {}", self.text));
            let next = next.unwrap_or_else(|| panic!("it ended without `{part}`: {}", self.text)).unwrap();
            self.text.push_str(std::str::from_utf8(&next).unwrap());
        }
        &self.text
    }

    pub(crate) async fn next(&mut self) -> Option<String> {
        let next = self.body.next().await?.unwrap();
        Some(String::from_utf8(next.to_vec()).unwrap())
    }

    pub(crate) async fn read_all(mut self) -> String {
        while let Some(next) = self.body.next().await {
            self.text.push_str(std::str::from_utf8(&next.unwrap()).unwrap());
        }
        self.text
    }

    async fn json(self) -> Value {
        serde_json::from_str(&self.read_all().await).unwrap()
    }
}

impl World {
    pub(crate) fn new() -> Self {
        let (tools, done) = every_state();
        Self::of(tools, done, |server| server)
    }

    /// Returns a world whose server has these `tools` and the changed settings.
    pub(crate) fn of(tools: Toolset, done: Arc<Semaphore>, change: impl FnOnce(Server) -> Server) -> Self {
        let hold = Arc::new(Semaphore::new(0));
        let held = Arc::clone(&hold);
        let model = FunctionModel::streaming(move |asked| {
            let held = Arc::clone(&held);
            play(asked).then(move |delta| {
                let held = Arc::clone(&held);
                async move {
                    if matches!(&delta, Ok(Delta::Text(text)) if text == HOLD) {
                        held.acquire().await.expect("it is never closed").forget();
                    }
                    delta
                }
            })
        });
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let agent = Agent::new(model).tools(tools).store(Arc::clone(&store));
        let users = BearerToken::new(|token| Some(token.into()));
        let router = change(Server::new(agent).authenticate(users).ag_ui(AgUi::new())).router();
        Self { router, done, hold, store }
    }

    pub(crate) async fn ask(&self, by: &str, method: &str, path: &str, body: Option<&Value>) -> Stream {
        let request = Request::builder().method(method).uri(format!("http://localhost{path}"));
        let request = request.header(header::AUTHORIZATION, format!("Bearer {by}"));
        let request = match body {
            Some(body) => {
                request.header(header::CONTENT_TYPE, "application/json").body(Body::from(body.to_string())).unwrap()
            }
            None => request.body(Body::empty()).unwrap(),
        };
        let response = self.router.clone().oneshot(request).await.unwrap();
        let status = response.status().as_u16();
        Stream { status, body: response.into_body().into_data_stream(), text: String::new() }
    }

    pub(crate) async fn get(&self, path: &str) -> Stream {
        self.ask("anna", "GET", path, None).await
    }

    pub(crate) async fn post(&self, messages: &[Value]) -> Stream {
        let body = json!({ "id": "c", "messages": messages, "trigger": "submit-message", "resumable": true });
        self.ask("anna", "POST", "/api/chat", Some(&body)).await
    }

    /// Sends the model a script, and does not read the response.
    async fn say(&self, id: &str, turns: &[Vec<Step>]) -> Stream {
        let response = self.post(&[user(id, turns)]).await;
        assert_eq!(response.status, 200);
        response
    }

    /// Returns the messages of a page that is loaded now.
    async fn load(&self) -> Vec<Value> {
        let response = self.get("/api/chat/c").await;
        assert_eq!(response.status, 200);
        response.json().await.as_array().unwrap().clone()
    }

    /// Waits until the server no longer keeps an ended response. Until then, only its stream has the response, and not the
    /// loaded messages.
    async fn wait_for_expiry(&self) {
        tokio::time::sleep(Duration::from_secs(31)).await;
    }

    async fn resume(&self) -> Stream {
        self.get("/api/chat/c/stream").await
    }
}

pub(crate) fn user(id: &str, turns: &[Vec<Step>]) -> Value {
    let text = serde_json::to_string(turns).unwrap();
    json!({ "id": id, "role": "user", "parts": [{ "type": "text", "text": text }] })
}

pub(crate) fn call(name: &str, arguments: &str) -> Vec<Step> {
    vec![Step::Call(name.to_owned()), Step::Arguments(0, arguments.to_owned()), Step::End(0)]
}

/// Returns the parts of calls in the last message, which must be the assistant's.
fn calls(messages: &[Value]) -> Vec<&Value> {
    let last = messages.last().expect("a message");
    assert_eq!(last["role"], "assistant", "{messages:?}");
    last["parts"].as_array().unwrap().iter().filter(|part| part.get("toolCallId").is_some()).collect()
}

/// Returns the stream's chunk that requests an approval.
fn approval_request(stream: &str) -> Value {
    let frame = stream.split("\n\n").find(|frame| frame.contains("tool-approval-request")).expect("a request");
    serde_json::from_str(frame.strip_prefix("data: ").unwrap()).unwrap()
}

/// Returns the message with its only request answered, as the AI SDK sends it.
fn with_answer(message: &Value, approved: bool) -> Value {
    let mut message = message.clone();
    for part in message["parts"].as_array_mut().unwrap() {
        if part["state"] == "approval-requested" {
            part["state"] = json!("approval-responded");
            part["approval"]["approved"] = json!(approved);
        }
    }
    message
}

#[tokio::test(start_paused = true)]
async fn arguments_that_arrive_are_left_to_the_stream() {
    let world = World::new();
    let mut turn = call("asks", r#"{"what":"#);
    turn.insert(2, Step::Text(HOLD.to_owned()));
    turn.insert(3, Step::Arguments(0, r#""it"}"#.to_owned()));
    let mut first = world.say("m1", &[turn.clone()]).await;
    first.read_until("tool-input-delta").await;
    let loaded = world.load().await;
    assert_eq!(loaded, [user("m1", &[turn])], "the messages leave out the response in progress");
    let mut again = world.resume().await;
    let text = again.read_until("tool-input-delta").await;
    assert!(text.contains(r#""inputTextDelta":"{\"what\":"#), "{text}");
    world.hold.add_permits(1);
    assert_eq!(first.read_all().await, again.read_all().await, "both readers get the same stream");
    world.wait_for_expiry().await;
    let loaded = world.load().await;
    assert_eq!(calls(&loaded)[0]["state"], "approval-requested");
    assert_eq!(calls(&loaded)[0]["input"], json!({ "what": "it" }));
}

#[tokio::test(start_paused = true)]
async fn text_that_arrives_goes_on() {
    let world = World::new();
    let turn = vec![Step::Text("Once".to_owned()), Step::Text(HOLD.to_owned()), Step::Text(" upon".to_owned())];
    let mut first = world.say("m1", &[turn]).await;
    first.read_until("Once").await;
    assert_eq!(world.load().await.len(), 1);
    let again = world.resume().await;
    world.hold.add_permits(1);
    assert_eq!(first.read_all().await, again.read_all().await);
    world.wait_for_expiry().await;
    let loaded = world.load().await;
    let parts = &loaded[1]["parts"];
    assert_eq!(parts[0], json!({ "type": "step-start" }));
    assert_eq!(parts[1], json!({ "type": "text", "text": "Once(held) upon", "state": "done" }));
}

#[tokio::test]
async fn a_response_that_ends_between_two_requests_is_still_read() {
    let world = World::new();
    let first = world.say("m1", &[vec![Step::Text(HOLD.to_owned())]]).await;
    assert_eq!(world.load().await.len(), 1);
    world.hold.add_permits(1);
    let whole = first.read_all().await;
    // The page has loaded the chat without the response, so it must get it from the stream. Other tabs that read the stream or
    // load the chat change nothing.
    for _ in 0..3 {
        assert_eq!(world.resume().await.read_all().await, whole);
        assert_eq!(world.load().await.len(), 1);
    }
    assert_eq!(world.resume().await.read_all().await, whole);
}

#[tokio::test(start_paused = true)]
async fn an_ended_response_is_kept_for_a_while_only() {
    let world = World::new();
    let first = world.say("m1", &[vec![Step::Text(HOLD.to_owned())]]).await;
    assert_eq!(world.load().await.len(), 1);
    world.hold.add_permits(1);
    first.read_all().await;
    assert_eq!(world.resume().await.status, 200);
    world.wait_for_expiry().await;
    assert_eq!(world.resume().await.status, 204);
    assert_eq!(world.load().await.len(), 2);
}

#[tokio::test]
async fn a_kept_response_is_not_an_active_one() {
    let (tools, done) = every_state();
    let world = World::of(tools, done, |server| server.max_responses(1));
    let ask = async |chat: &str| {
        let body = json!({ "id": chat, "messages": [user("m1", &[vec![Step::Text(HOLD.to_owned())]])] });
        world.ask("anna", "POST", "/api/chat", Some(&body)).await
    };
    let load = async |chat: &str| world.get(&format!("/api/chat/{chat}")).await.json().await.as_array().unwrap().len();
    for (chat, kept) in [("a", true), ("b", false)] {
        let response = ask(chat).await;
        assert_eq!(response.status, 200, "{chat}");
        assert_eq!((load(chat).await, ask("c").await.status), (1, 429));
        world.hold.add_permits(1);
        response.read_all().await;
        // The server keeps the first response. It has no place for a second, so the second comes with the messages.
        assert_eq!(load(chat).await, if kept { 1 } else { 2 });
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_runs_goes_on() {
    let world = World::new();
    let mut first = world.say("m1", &[call("work", "{}")]).await;
    first.read_until("tool-input-available").await;
    assert_eq!(world.load().await.len(), 1);
    let mut again = world.resume().await;
    again.read_until("tool-input-available").await;
    world.done.add_permits(1);
    assert_eq!(first.read_all().await, again.read_all().await);
    world.wait_for_expiry().await;
    let loaded = world.load().await;
    assert_eq!(calls(&loaded)[0]["state"], "output-available");
    assert_eq!(calls(&loaded)[0]["output"], "worked");
}

#[tokio::test]
async fn external_calls_stay_open_after_a_reload() {
    let world = World::new();
    world.say("m1", &[call("locate", "{}")]).await.read_all().await;
    let mut loaded = world.load().await;
    assert_eq!(calls(&loaded)[0]["state"], "input-available");
    assert_eq!(world.resume().await.status, 204);
    let part = loaded[1]["parts"].as_array_mut().unwrap().last_mut().unwrap();
    part["state"] = json!("output-available");
    part["output"] = json!({ "lat": 1.50 });
    let response = world.post(&loaded).await.read_all().await;
    assert!(response.contains("done"), "{response}");
    let loaded = world.load().await;
    assert_eq!(calls(&loaded)[0]["output"], json!({ "lat": 1.5 }));
}

#[tokio::test]
async fn a_request_can_be_answered_after_it_was_loaded() {
    for approved in [true, false] {
        let world = World::new();
        let live = world.say("m1", &[call("asks", r#"{"what":"it"}"#)]).await.read_all().await;
        let loaded = world.load().await;
        let part = calls(&loaded)[0];
        let live = approval_request(&live);
        assert_eq!((&part["toolCallId"], &part["approval"]["id"]), (&live["toolCallId"], &live["approvalId"]));
        assert_eq!(part["approval"]["descriptor"], live["approvalDescriptor"]);
        assert_eq!((&part["state"], &part["input"]), (&json!("approval-requested"), &json!({ "what": "it" })));
        let response = world.post(&[loaded[0].clone(), with_answer(&loaded[1], approved)]).await.read_all().await;
        // The response continues the loaded message.
        assert!(response.contains(&format!(r#""messageId":{}"#, loaded[1]["id"])), "{response}");
        let loaded = world.load().await;
        let part = calls(&loaded)[0];
        assert_eq!(part["state"], if approved { "output-available" } else { "output-denied" });
        assert_eq!(part["approval"]["approved"], approved);
        assert_eq!(part["callProviderMetadata"]["tool"]["decidedBy"], "anna");
    }
}

#[tokio::test(start_paused = true)]
async fn an_approved_call_that_runs_shows_its_approval_to_every_reader() {
    let world = World::new();
    world.say("m1", &[call("carefully", "{}")]).await.read_all().await;
    let loaded = world.load().await;
    let mut first = world.post(&[loaded[0].clone(), with_answer(&loaded[1], true)]).await;
    first.read_until("start").await;
    // The stream has the whole message, so the loaded chat does not contain it.
    let tab = world.load().await;
    assert_eq!(tab.len(), 1);
    let mut other = world.resume().await;
    let text = other.read_until("tool-approval-response").await.to_owned();
    assert!(text.contains(r#""approved":true"#) && text.contains(r#""decidedBy":"anna""#), "{text}");
    // The other tab decides, too; only the first decision counts.
    let twice = world.post(&[loaded[0].clone(), with_answer(&loaded[1], false)]).await;
    assert_eq!(twice.status, 200);
    world.done.add_permits(1);
    let text = other.read_all().await;
    assert!(text.contains("worked carefully") && first.read_all().await.contains("worked carefully"), "{text}");
    world.wait_for_expiry().await;
    let loaded = world.load().await;
    assert_eq!(calls(&loaded)[0]["output"], "worked carefully");
}

#[tokio::test]
async fn calls_that_failed_or_were_refused_show_why() {
    let world = World::new();
    let turns = [call("fails", "{}"), call("asks", r#"{"what":7}"#), call("nothing", "{}")];
    world.say("m1", &turns).await.read_all().await;
    let loaded = world.load().await;
    let calls = calls(&loaded);
    assert_eq!(calls.len(), 3);
    assert!(calls.iter().all(|part| part["state"] == "output-error"), "{calls:?}");
    assert!(calls[0]["errorText"].as_str().unwrap().contains("it does not work"));
    assert_eq!(calls[1]["input"], json!({ "what": 7 }));
    assert!(calls[1]["resultProviderMetadata"]["tool"]["feedback"].is_object(), "{}", calls[1]);
    assert!(calls[2]["errorText"].as_str().unwrap().contains("nothing"), "{}", calls[2]);
}

#[tokio::test]
async fn a_loaded_question_can_be_answered() {
    let world = World::new();
    let live = world.say("m1", &[call("asks_within", "{}")]).await.read_all().await;
    let loaded = world.load().await;
    assert_eq!(calls(&loaded)[0]["state"], "input-available");
    let parts = loaded[1]["parts"].as_array().unwrap();
    let question = parts.iter().find(|part| part["type"] == "data-question").expect("the question");
    assert!(live.contains(&format!(r#""id":{}"#, question["id"])), "{live}");
    assert_eq!(question["data"]["question"]["text"], "What is your name?");
    let id = question["id"].as_str().unwrap();
    let body = json!({
        "id": "c", "messages": loaded, "decisions": { id: { "decision": "answer", "value": "Anna" } },
    });
    let response = world.ask("anna", "POST", "/api/chat", Some(&body)).await.read_all().await;
    assert!(response.contains("tool-approval-request"), "{response}");
    let loaded = world.load().await;
    assert_eq!(calls(&loaded)[0]["approval"]["requestReason"], "Really?");
    assert_eq!(calls(&loaded)[0]["state"], "approval-requested");
}

#[tokio::test]
async fn an_external_call_is_approved_after_it_was_loaded() {
    let world = World::new();
    world.say("m1", &[call("share", r#"{"window":"left"}"#)]).await.read_all().await;
    let loaded = world.load().await;
    let part = calls(&loaded)[0];
    assert_eq!((&part["state"], &part["input"]), (&json!("approval-requested"), &json!({ "window": "left" })));
    world.post(&[loaded[0].clone(), with_answer(&loaded[1], true)]).await.read_all().await;
    let loaded = world.load().await;
    let part = calls(&loaded)[0];
    assert_eq!((&part["state"], &part["input"]), (&json!("input-available"), &json!({ "window": "left" })));
    assert_eq!(part["callProviderMetadata"]["tool"]["decidedBy"], "anna");
}

#[tokio::test]
async fn earlier_responses_and_branches_stay() {
    let world = World::new();
    world.say("m1", &[call("asks", r#"{"what":7}"#)]).await.read_all().await;
    world.say("m2", &[call("locate", "{}")]).await.read_all().await;
    let loaded = world.load().await;
    let roles: Vec<_> = loaded.iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["user", "assistant", "user", "assistant"]);
    let mut ids: Vec<_> = loaded.iter().map(|message| message["id"].as_str().unwrap()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 4);
    // The client edits the second message. The new run has the first response's calls only as text of its conversation.
    let edited = user("m2", &[vec![Step::Text("other".to_owned())]]);
    let body = json!({ "id": "c", "messages": [loaded[0], loaded[1], edited], "messageId": "m2" });
    world.ask("anna", "POST", "/api/chat", Some(&body)).await.read_all().await;
    let after = world.load().await;
    assert_eq!(after.len(), 4);
    let part = after[1]["parts"].as_array().unwrap().iter().find(|part| part.get("toolCallId").is_some()).unwrap();
    assert_eq!((&part["state"], &part["input"]), (&json!("output-error"), &json!({ "what": 7 })));
    assert_eq!(after[3]["parts"][1]["text"], "other");
}

#[tokio::test]
async fn a_steering_message_is_part_of_the_response() {
    let world = World::new();
    let mut first = world.say("m1", &[call("work", "{}")]).await;
    first.read_until("tool-input-available").await;
    let steering = json!({ "message": { "id": "s1", "role": "user", "parts": [{ "type": "text", "text": "[]" }] } });
    while world.ask("anna", "POST", "/api/chat/c/steer", Some(&steering)).await.status != 202 {
        tokio::task::yield_now().await;
    }
    world.done.add_permits(1);
    first.read_all().await;
    let loaded = world.load().await;
    assert_eq!(loaded.len(), 2);
    let parts = loaded[1]["parts"].as_array().unwrap();
    assert!(parts.iter().any(|part| part["type"] == "steering-message" && part["id"] == "s1"), "{parts:?}");
    // Clients of version 6 do not know the part.
    let old = world.get("/api/v6/chat/c").await.json().await;
    assert!(!old.to_string().contains("steering-message") && old.to_string().contains("worked"), "{old}");
}

#[tokio::test]
async fn a_request_that_a_message_superseded_has_no_approval() {
    let world = World::new();
    world.say("m1", &[call("asks", r#"{"what":"it"}"#)]).await.read_all().await;
    world.say("m2", &[vec![]]).await.read_all().await;
    let loaded = world.load().await;
    let part = loaded[1]["parts"].as_array().unwrap().iter().find(|part| part.get("toolCallId").is_some()).unwrap();
    assert_eq!((&part["state"], part.get("approval")), (&json!("output-error"), None));
    assert!(part["errorText"].as_str().unwrap().contains("a new message"), "{part}");
}

#[tokio::test]
async fn other_principals_cannot_load_the_chat() {
    let world = World::new();
    world.say("m1", &[vec![]]).await.read_all().await;
    for path in ["/api/chat/c", "/api/v6/chat/c", "/api/chat/d"] {
        let response = world.ask("bert", "GET", path, None).await;
        assert_eq!(response.status, 404);
        assert!(response.read_all().await.contains("no such chat"));
    }
}
