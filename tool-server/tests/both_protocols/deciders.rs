//! Tests of calls that others than the run's owner decide about: the owner's page says whom a call waits for, the deciders find it, and
//! nobody else does.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use axum::{Router, body::Body, http::Request, routing::get};
use serde_json::{Value, json};
use tool_runtime::{
    Agent,
    model::FunctionModel,
    store::{MemoryStore, Store, WaitingFilter},
    tool, toolset,
};
use tool_server::{AgUi, Authenticated, BearerToken, Server, protocol::approval_id};
use tool_stores::sealed::{Key, Keyring, MemoryNonces};
use tool_test_kit::within;

use super::shared_store::send;
use crate::{
    kit::{Response, input},
    lost_connections::slow::SlowStore,
    model::{Step, play},
};

/// Pay.
#[tool(effect = destructive, approval = always, challenge = "Pay {amount} euros?")]
fn pay(
    /** In euros. */
    #[arg(range(1..=500))]
    amount: u32,
    #[state] paid: &AtomicUsize,
) -> String {
    paid.fetch_add(1, Ordering::SeqCst);
    format!("{amount} were paid")
}

struct World {
    agent: Agent,
    router: Router,
    paid: Arc<AtomicUsize>,
}

impl World {
    fn new() -> Self {
        Self::on(Arc::new(MemoryStore::new()), "desk", |server| server)
    }

    /// Creates the application `name`, in which the boss and the chief decide about more than 100 euros.
    fn on(store: Arc<dyn Store>, name: &str, change: impl FnOnce(Server) -> Server) -> Self {
        let paid = Arc::new(AtomicUsize::new(0));
        let agent = Agent::new(FunctionModel::streaming(play))
            .name(name)
            .tools(toolset!(Arc::clone(&paid); pay))
            .deciders(|_, arguments| match arguments["amount"].as_u64() {
                Some(amount) if amount > 100 => vec!["boss".into(), "chief".into()],
                _ => vec![],
            })
            .store(store);
        let users = BearerToken::new(|token| Some(token.into()));
        let router = change(Server::new(agent.clone()).authenticate(users).ag_ui(AgUi::new())).router();
        Self { agent, router, paid }
    }

    async fn ask(&self, by: &str, method: &str, path: &str, body: &Value) -> Response {
        let request = Request::builder().method(method).uri(format!("http://localhost{path}"));
        let request =
            request.header("content-type", "application/json").header("authorization", format!("Bearer {by}"));
        let body = if body.is_null() { Body::empty() } else { Body::from(body.to_string()) };
        send(self.router.clone(), request, body).await
    }

    async fn get(&self, by: &str, path: &str) -> Value {
        let response = self.ask(by, "GET", path, &Value::Null).await;
        assert_eq!(response.status, 200, "{}", response.text);
        serde_json::from_str(&response.text).unwrap()
    }

    async fn waiting(&self, by: &str) -> Vec<Value> {
        self.get(by, "/api/waiting").await.as_array().unwrap().clone()
    }

    /// Sends anna's message, with which the model calls `pay`.
    async fn begin(&self, chat: &str, amount: u32) -> Response {
        let body = json!({ "id": chat, "messages": [prompt("m1", amount)] });
        self.ask("anna", "POST", "/api/chat", &body).await
    }

    async fn load(&self, chat: &str) -> Vec<Value> {
        self.get("anna", &format!("/api/chat/{chat}")).await.as_array().unwrap().clone()
    }

    async fn decide(&self, by: &str, listed: &Value, decision: &str) -> Response {
        let body = json!({ "run": listed["run"], "id": listed["id"], "decision": decision });
        self.ask(by, "POST", "/api/waiting", &body).await
    }

    async fn wait_until_paid(&self, count: usize) {
        let paid = async {
            while self.paid.load(Ordering::SeqCst) < count {
                tokio::task::yield_now().await;
            }
        };
        within("the payment", paid).await;
    }
}

fn script(amount: u32) -> String {
    let arguments = json!({ "amount": amount }).to_string();
    let turn = vec![Step::Call("pay".to_owned()), Step::Arguments(0, arguments), Step::End(0)];
    serde_json::to_string(&[turn]).unwrap()
}

fn prompt(id: &str, amount: u32) -> Value {
    json!({ "id": id, "role": "user", "parts": [{ "type": "text", "text": script(amount) }] })
}

/// The text that the owner reads.
const WHO: &str = "boss or chief has to decide";

fn call_part(messages: &[Value]) -> &Value {
    let parts = messages.iter().flat_map(|message| message["parts"].as_array().unwrap());
    parts.clone().find(|part| part["type"] == "tool-pay").expect("the call")
}

#[tokio::test]
async fn a_page_of_the_ai_sdk_says_whom_a_call_waits_for() {
    for path in ["/api/chat", "/api/v6/chat"] {
        let world = World::new();
        let body = json!({ "id": "c", "messages": [prompt("m1", 400)] });
        let live = world.ask("anna", "POST", path, &body).await;
        let request = live.event("tool-approval-request");
        let waiting = live.event("data-waiting");
        assert_eq!((&waiting["id"], &waiting["data"]["approvalId"]), (&request["approvalId"], &request["approvalId"]));
        assert_eq!(waiting["data"]["deciders"], json!(["boss", "chief"]));
        assert_eq!(waiting["data"]["toolCallId"], request["toolCallId"]);
        assert!(waiting["data"]["since"].as_u64().is_some_and(|since| since > 0), "{waiting}");
        let loaded = world.get("anna", &format!("{path}/c")).await;
        let parts = loaded[1]["parts"].as_array().unwrap();
        let kept = parts.iter().find(|part| part["type"] == "data-waiting").expect("the part");
        assert_eq!(kept["data"], waiting["data"]);
        if path == "/api/chat" {
            assert_eq!(request["reason"], format!("{WHO}\nPay 400 euros?"));
        }
        // The owner decides about small amounts, and is asked as ever.
        let small = world.begin("small", 4).await;
        assert!(!small.text.contains("data-waiting"), "{}", small.text);
        assert_eq!(small.event("tool-approval-request")["reason"], "Pay 4 euros?");
    }
}

/// Sends anna's approval of the call in her page, and returns the answer.
async fn approve_on_the_page(world: &World) -> Response {
    let mut messages = world.load("c").await;
    let parts = messages[1]["parts"].as_array_mut().unwrap();
    let part = parts.iter_mut().find(|part| part["type"] == "tool-pay").unwrap();
    part["state"] = json!("approval-responded");
    part["approval"]["approved"] = json!(true);
    world.ask("anna", "POST", "/api/chat", &json!({ "id": "c", "messages": messages })).await
}

#[tokio::test]
async fn the_owners_decision_is_answered_and_the_call_stays_open() {
    let world = World::new();
    let asked = world.begin("c", 400).await.event("tool-approval-request");
    let answer = approve_on_the_page(&world).await;
    let again = answer.event("tool-approval-request");
    assert_eq!(again["approvalId"], asked["approvalId"]);
    assert_eq!(again["reason"], format!("your answer does not count\n{WHO}\nPay 400 euros?"));
    assert_eq!(answer.event("data-waiting")["data"]["refusal"], "your answer does not count");
    assert_eq!(answer.event("finish")["finishReason"], "tool-calls");
    assert_eq!(call_part(&world.load("c").await)["state"], "approval-requested");
    assert_eq!((world.paid.load(Ordering::SeqCst), world.waiting("boss").await.len()), (0, 1));
    // The boss approves, and the owner's page has the result.
    let listed = world.waiting("chief").await.remove(0);
    assert_eq!(world.decide("chief", &listed, "approve").await.status, 204);
    world.wait_until_paid(1).await;
}

/// The history of a page keeps an answer that did not count, and sends it with every message.
#[tokio::test]
async fn a_message_after_a_decision_that_does_not_count_is_answered() {
    let world = World::new();
    world.begin("c", 400).await;
    let mut messages = world.load("c").await;
    let parts = messages[1]["parts"].as_array_mut().unwrap();
    let part = parts.iter_mut().find(|part| part["type"] == "tool-pay").unwrap();
    part["state"] = json!("approval-responded");
    part["approval"]["approved"] = json!(true);
    messages.push(json!({ "id": "m2", "role": "user", "parts": [{ "type": "text", "text": "Never mind." }] }));
    let answer = world.ask("anna", "POST", "/api/chat", &json!({ "id": "c", "messages": messages })).await;
    assert!(answer.status == 200 && answer.text.contains("done"), "{}", answer.text);
    assert_eq!((world.paid.load(Ordering::SeqCst), world.waiting("boss").await.len()), (0, 0));
}

fn ag_ui(messages: &Value, more: &Value) -> Value {
    serde_json::from_str(&input("c", messages, more)).unwrap()
}

#[tokio::test]
async fn a_client_of_ag_ui_learns_whom_a_call_waits_for() {
    let world = World::new();
    let messages = json!([{ "id": "m1", "role": "user", "content": script(400) }]);
    let live = world.ask("anna", "POST", "/agent", &ag_ui(&messages, &json!({}))).await;
    let loaded = world.ask("anna", "POST", "/agent/connect", &ag_ui(&json!([]), &json!({}))).await;
    let interrupt = |response: &Response| response.event("RUN_FINISHED")["outcome"]["interrupts"][0].clone();
    let open = interrupt(&live);
    assert_eq!(open, interrupt(&loaded));
    assert_eq!((&open["message"], &open["metadata"]["deciders"]), (&json!(WHO), &json!(["boss", "chief"])));
    // Nothing that the owner could answer.
    assert!(open.get("responseSchema").is_none() && open["metadata"].get("arguments").is_none(), "{open}");

    let resume = json!([{ "interruptId": open["id"], "status": "resolved", "payload": { "approved": true } }]);
    let messages = loaded.event("MESSAGES_SNAPSHOT")["messages"].clone();
    let answer = world.ask("anna", "POST", "/agent", &ag_ui(&messages, &json!({ "resume": resume }))).await;
    let again = interrupt(&answer);
    assert_eq!((&again["id"], &again["metadata"]["refusal"]), (&open["id"], &json!("your answer does not count")));
    assert_eq!(again["message"], format!("your answer does not count\n{WHO}"));
    assert_eq!((world.paid.load(Ordering::SeqCst), world.waiting("boss").await.len()), (0, 1));
}

#[tokio::test]
async fn a_person_finds_what_waits_for_them_and_nothing_else() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let world = World::on(Arc::clone(&store), "desk", |server| server);
    let other = World::on(store, "billing", |server| server);
    for (chat, amount) in [("small", 4), ("one", 300), ("two", 400)] {
        world.begin(chat, amount).await;
    }
    other.begin("theirs", 500).await;
    let listed = world.waiting("boss").await;
    let chats: Vec<_> = listed.iter().map(|item| item["chat"].as_str().unwrap()).collect();
    assert_eq!(chats, ["one", "two"]);
    let first = &listed[0];
    let expected = [
        ("owner", json!("anna")),
        ("kind", json!("approval")),
        ("tool", json!("pay")),
        ("effect", json!("destructive")),
        ("question", json!("Pay 300 euros?")),
        ("arguments", json!({ "amount": 300 })),
        ("lines", json!([["amount", "300"]])),
        ("deciders", json!(["boss", "chief"])),
    ];
    for (name, value) in expected {
        assert_eq!(first[name], value, "{name}");
    }
    assert!(first["since"].as_u64().is_some_and(|since| since > 0), "{first}");
    // The owner sees what waits for her, and a stranger sees nothing.
    let own = world.waiting("anna").await;
    assert_eq!((own.len(), &own[0]["chat"]), (1, &json!("small")));
    assert!(world.waiting("eve").await.is_empty());
    let page = world.get("boss", "/api/waiting?offset=1&limit=1").await;
    assert_eq!((page.as_array().unwrap().len(), &page[0]["chat"]), (1, &json!("two")));
    assert_eq!(world.ask("boss", "GET", "/api/waiting?limit=x", &Value::Null).await.status, 400);

    // Nobody else may decide, and nobody learns whether the call waits.
    let unknown = json!({ "run": first["run"], "id": "c.1-0000000000000000" });
    let refusals = [
        world.decide("anna", first, "approve").await,
        world.decide("eve", first, "approve").await,
        world.decide("boss", &unknown, "approve").await,
        other.decide("boss", first, "approve").await,
    ];
    for refused in &refusals {
        assert_eq!((refused.status, &refused.text), (404, &refusals[0].text));
    }
    assert_eq!(world.waiting("boss").await, listed);
}

#[tokio::test]
async fn a_decision_of_another_person_runs_the_call_without_the_owner() {
    let world = World::new();
    world.begin("c", 400).await;
    let listed = world.waiting("boss").await.remove(0);
    let edit = |amount: u32| json!({ "run": listed["run"], "id": listed["id"], "decision": "edit", "arguments": { "amount": amount } });
    let refused = world.ask("boss", "POST", "/api/waiting", &edit(900)).await;
    assert!(refused.status == 422 && refused.text.contains("500"), "{}", refused.text);
    let nonsense = world.ask("boss", "POST", "/api/waiting", &json!({ "run": "r", "decision": "approve" })).await;
    assert!(nonsense.status == 400 && nonsense.text.contains("invalid decision"), "{}", nonsense.text);
    let edited = world.ask("boss", "POST", "/api/waiting", &edit(200)).await;
    assert_eq!(edited.status, 204, "{}", edited.text);
    world.wait_until_paid(1).await;
    // The answer went on, too, and the page has it after a reload.
    let ends = async {
        loop {
            let loaded = world.load("c").await;
            if loaded[1]["parts"].to_string().contains("done") {
                return loaded;
            }
            tokio::task::yield_now().await;
        }
    };
    let loaded = within("the answer", ends).await;
    let part = call_part(&loaded);
    assert_eq!((&part["state"], &part["output"]), (&json!("output-available"), &json!("200 were paid")));
    assert!(part.to_string().contains(r#""decidedBy":"boss""#), "{part}");
    assert_eq!(world.decide("boss", &listed, "approve").await.status, 404);
    assert_eq!(world.paid.load(Ordering::SeqCst), 1);
}

/// The slower one reads the answer of a caller for whom nothing waits.
#[tokio::test]
async fn of_two_decisions_at_once_one_finds_that_nothing_waits() {
    let world = World::on(Arc::new(SlowStore::default()), "desk", |server| server);
    world.begin("c", 400).await;
    let listed = world.waiting("boss").await.remove(0);
    let boss = world.decide("boss", &listed, "approve");
    let (one, two) = tokio::join!(boss, world.decide("chief", &listed, "approve"));
    let lost = if one.status == 204 { two } else { one };
    let late = world.decide("chief", &listed, "approve").await;
    assert_eq!((lost.status, &lost.text), (404, &late.text));
    world.wait_until_paid(1).await;
    assert_eq!(world.paid.load(Ordering::SeqCst), 1);
}

/// A program that reads the list with [`Agent::waiting`] names a call as the routes do.
#[tokio::test]
async fn programs_and_routes_name_a_call_alike() {
    let world = World::new();
    world.begin("c", 400).await;
    let listed = world.waiting("boss").await.remove(0);
    let filter = WaitingFilter::new().for_principal("boss");
    let item = world.agent.waiting(&filter).await.unwrap().remove(0);
    assert_eq!(listed["id"], approval_id(&item.run, &item.interrupt));
    assert!(listed["id"].as_str().unwrap().starts_with(&format!("{}-", item.interrupt.id)));
}

/// The server that took the owner's message is gone, or is another one.
#[tokio::test]
async fn any_server_of_the_store_has_the_list() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let first = World::on(Arc::clone(&store), "desk", |server| server);
    first.begin("c", 400).await;
    drop(first);
    let second = World::on(store, "desk", |server| server);
    let listed = second.waiting("boss").await.remove(0);
    assert_eq!(second.decide("boss", &listed, "approve").await.status, 204);
    second.wait_until_paid(1).await;
}

/// A run that is no chat is listed, and its application continues it.
#[tokio::test]
async fn runs_that_are_no_chats_are_listed_too() {
    let world = World::new();
    let agent = world.agent.clone().principal("anna").operator(tool_runtime::agent::Suspend);
    agent.session_with_id("job", Vec::new()).send(script(300)).await.unwrap();
    let listed = world.waiting("boss").await.remove(0);
    assert_eq!((&listed["run"], &listed["owner"], listed.get("chat")), (&json!("job"), &json!("anna"), None));
    assert_eq!(world.decide("boss", &listed, "approve").await.status, 204);
    assert_eq!(world.agent.sweep().await.unwrap(), 1);
    assert_eq!(world.paid.load(Ordering::SeqCst), 1);
}

/// Without a store, only the owner has the run.
#[tokio::test]
async fn a_server_without_a_store_has_no_list() {
    let keys = Keyring::new("test", Key::from_bytes([7; 32]));
    let world = World::on(Arc::new(MemoryStore::new()), "desk", |server| {
        server.stateless(&keys, "desk", Arc::new(MemoryNonces::new()))
    });
    let live = world.begin("c", 400).await;
    assert_eq!(live.event("data-waiting")["data"]["deciders"], json!(["boss", "chief"]));
    let listed = world.ask("boss", "GET", "/api/waiting", &Value::Null).await;
    assert!(listed.status == 404 && listed.text.contains("keeps no chats"), "{}", listed.text);
}

async fn who(Authenticated(caller): Authenticated) -> String {
    caller.principal.to_string()
}

#[tokio::test]
async fn routes_of_ones_own_know_their_caller() {
    let routes = || Router::new().route("/own/who", get(who));
    let world = World::on(Arc::new(MemoryStore::new()), "desk", |server| {
        server.merge_guarded(routes()).merge(Router::new().route("/open/who", get(who)))
    });
    let known = world.ask("anna", "GET", "/own/who", &Value::Null).await;
    assert_eq!((known.status, known.text.as_str()), (200, "anna"));
    // Nobody has authenticated the caller of this route, so it is nobody.
    assert_eq!(world.ask("anna", "GET", "/open/who", &Value::Null).await.status, 500);
    for (host, status) in [("localhost", 401), ("evil.example", 403)] {
        let request = Request::get(format!("http://{host}/own/who"));
        assert_eq!(send(world.router.clone(), request, Body::empty()).await.status, status, "{host}");
    }
    let anonymous = Server::new(world.agent.clone()).merge_guarded(routes()).router();
    let answer = send(anonymous, Request::get("http://localhost/own/who"), Body::empty()).await;
    assert_eq!((answer.status, answer.text.as_str()), (200, "anonymous"));
}

/// Arguments that another person decides about cannot come with an edit, and arguments without `edit` approve nothing.
#[tokio::test]
async fn an_edit_does_not_lead_past_the_deciders() {
    let world = World::new();
    world.begin("c", 50).await;
    let listed = world.waiting("anna").await.remove(0);
    let body = |decision: &str| json!({ "run": listed["run"], "id": listed["id"], "decision": decision, "arguments": { "amount": 400 } });
    let refused = world.ask("anna", "POST", "/api/waiting", &body("edit")).await;
    assert_eq!(refused.status, 409, "{}", refused.text);
    assert!(refused.text.contains("boss or chief has to decide"), "{}", refused.text);
    let unclear = world.ask("anna", "POST", "/api/waiting", &body("approve")).await;
    assert_eq!(unclear.status, 400, "{}", unclear.text);
    assert!(unclear.text.contains("takes no `arguments`"), "{}", unclear.text);
    assert_eq!((world.waiting("anna").await.len(), world.paid.load(Ordering::SeqCst)), (1, 0));
}
