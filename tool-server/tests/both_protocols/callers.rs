//! Tests of servers whose callers have agents of their own: on every route, over MCP, in sealed mode and after a takeover.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::{Router, body::Body, http::Request};
use serde_json::{Value, json};
use tool_runtime::{
    Agent, Context, Failure,
    agent::Caller,
    model::FunctionModel,
    store::{MemoryStore, Store},
    tool, toolset,
};
use tool_server::{AgUi, Authenticated, BearerToken, Server, mcp::McpServer};
use tool_stores::sealed::{Key, Keyring, MemoryNonces};
use tool_test_kit::within;

use super::shared_store::send;
use crate::{
    kit::{Response, input, user},
    mcp::kit::{Person, client, params, text},
    model::{Step, play},
};

/// Looks.
#[tool(effect = read_only)]
fn look(#[context] cx: &Context) -> String {
    format!("{} {}", cx.principal().unwrap_or("nobody"), cx.claims())
}

/// Pays.
#[tool(approval = always, effect = destructive)]
fn pay(#[state] paid: &AtomicUsize) -> &'static str {
    paid.fetch_add(1, Ordering::SeqCst);
    "paid"
}

/// The application: its effects, and the callers for whom it was asked.
#[derive(Default)]
struct World {
    paid: Arc<AtomicUsize>,
    asked: Arc<Mutex<Vec<Caller>>>,
    fails: Arc<AtomicBool>,
}

impl World {
    /// Returns an agent that gives clerks `pay`, and everybody `look`.
    fn agent(&self) -> Agent {
        let (all, some) = (toolset!(Arc::clone(&self.paid); look, pay), toolset!(look));
        let (asked, fails) = (Arc::clone(&self.asked), Arc::clone(&self.fails));
        Agent::new(FunctionModel::streaming(play)).lease_time(Duration::from_millis(300)).for_each_caller(
            move |agent, caller| {
                asked.lock().unwrap().push(caller.clone());
                let tools = if caller.claims["role"] == "clerk" { all.clone() } else { some.clone() };
                let fails = fails.load(Ordering::SeqCst);
                async move { if fails { Err(Failure::new("no database")) } else { Ok(agent.tools(tools)) } }
            },
        )
    }

    fn server(&self, change: impl FnOnce(Agent) -> Agent) -> Server {
        Server::new(change(self.agent())).authenticate(users()).ag_ui(AgUi::new())
    }
}

fn clerk() -> Caller {
    Caller::new("ann").with_claims(json!({ "role": "clerk" }))
}

fn users() -> BearerToken {
    BearerToken::of([("ann", clerk()), ("ben", Caller::new("ben"))])
}

async fn ask(router: &Router, by: &str, method: &str, path: &str, body: &Value) -> Response {
    let request = Request::builder().method(method).uri(format!("http://localhost{path}"));
    let request = request.header("content-type", "application/json").header("authorization", format!("Bearer {by}"));
    let body = if body.is_null() { Body::empty() } else { Body::from(body.to_string()) };
    send(router.clone(), request, body).await
}

/// Returns a message with which the model calls the tool.
fn script(tool: &str) -> String {
    let turn = vec![Step::Call(tool.to_owned()), Step::Arguments(0, "{}".to_owned()), Step::End(0)];
    serde_json::to_string(&[turn]).unwrap()
}

fn ui(chat: &str, tool: &str) -> Value {
    json!({ "id": chat, "messages": [{ "id": "m", "role": "user", "parts": [{ "type": "text", "text": script(tool) }] }] })
}

async fn tools_of(router: &Router, by: &str) -> Vec<String> {
    let listed: Vec<Value> =
        serde_json::from_str(&ask(router, by, "GET", "/api/tools", &Value::Null).await.text).unwrap();
    listed.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn each_caller_sees_and_uses_its_own_tools() {
    let sealed =
        |server: Server| server.stateless(&Keyring::new("k", Key::random()), "desk", Arc::new(MemoryNonces::new()));
    let world = World::default();
    for router in [world.server(|agent| agent).router(), sealed(world.server(|agent| agent)).router()] {
        assert_eq!(tools_of(&router, "ann").await, ["look", "pay"]);
        assert_eq!(tools_of(&router, "ben").await, ["look"]);
        let types = ask(&router, "ben", "GET", "/api/tools.ts", &Value::Null).await.text;
        assert!(types.contains("look") && !types.contains("pay"), "{types}");
        for (by, seen) in [("ann", r#"ann {"role":"clerk"}"#), ("ben", "ben null")] {
            let live = ask(&router, by, "POST", "/api/chat", &ui("c", "look")).await;
            assert_eq!(live.event("tool-output-available")["output"], seen);
            let body: Value =
                serde_json::from_str(&input("t", &json!([user("m", &script("look"))]), &json!({}))).unwrap();
            let live = ask(&router, by, "POST", "/agent", &body).await;
            assert_eq!(live.event("TOOL_CALL_RESULT")["content"], seen);
        }
        let live = ask(&router, "ann", "POST", "/api/chat", &ui("d", "pay")).await;
        live.event("tool-approval-request");
        let live = ask(&router, "ben", "POST", "/api/chat", &ui("d", "pay")).await;
        assert!(live.event("tool-input-error")["errorText"].as_str().unwrap().contains("pay"), "{}", live.text);
        let body: Value = serde_json::from_str(&input("u", &json!([user("m", &script("pay"))]), &json!({}))).unwrap();
        let live = ask(&router, "ben", "POST", "/agent", &body).await;
        assert!(live.event("TOOL_CALL_RESULT")["content"].as_str().unwrap().contains("pay"), "{}", live.text);
    }
    assert_eq!(world.paid.load(Ordering::SeqCst), 0);
}

/// The server that continues a run has no request of its owner, so it asks with the claims in the log.
#[tokio::test]
async fn another_server_takes_over_with_the_claims_of_the_run() {
    let world = World::default();
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let here = world.server(|agent| agent.store(Arc::clone(&store))).router();
    ask(&here, "ann", "POST", "/api/chat", &ui("c", "pay")).await.event("tool-approval-request");
    // Somebody approves the call where no server is asked to go on.
    let (run, open) = {
        let filter = tool_runtime::store::WaitingFilter::new();
        let item = store.waiting(&filter).await.unwrap().remove(0);
        (item.run, item.interrupt.id)
    };
    let other = World { paid: Arc::clone(&world.paid), ..World::default() };
    let agent = other.agent().store(Arc::clone(&store));
    agent.decide(&run, &open, tool_runtime::run::Decision::Approve, "ann").await.unwrap();
    let server = other.server(|agent| agent.store(Arc::clone(&store)));
    let (handle, worker) = (server.shutdown_handle(), tokio::spawn(server.take_over()));
    let paid = async {
        while world.paid.load(Ordering::SeqCst) == 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    within("the payment", paid).await;
    handle.suspend(Duration::from_secs(1)).await;
    worker.await.unwrap();
    let asked = other.asked.lock().unwrap();
    assert!(!asked.is_empty() && asked.iter().all(|caller| *caller == clerk()), "{asked:?}");
}

#[tokio::test]
async fn a_caller_without_an_agent_gets_503_and_can_still_stop() {
    let world = World::default();
    let router = world.server(|agent| agent).router();
    ask(&router, "ann", "POST", "/api/chat", &ui("c", "pay")).await.event("tool-approval-request");
    world.fails.store(true, Ordering::SeqCst);
    let body: Value = serde_json::from_str(&input("t", &json!([user("m", "Hi")]), &json!({}))).unwrap();
    let routes = [
        ("POST", "/api/chat", ui("c", "look")),
        ("POST", "/agent", body),
        ("GET", "/api/tools", Value::Null),
        ("GET", "/api/chat/c", Value::Null),
        ("GET", "/api/chat/c/stream", Value::Null),
    ];
    for (method, path, body) in routes {
        let refused = ask(&router, "ann", method, path, &body).await;
        assert_eq!(refused.status, 503, "{path}: {}", refused.text);
        assert!(!refused.text.contains("database"), "{}", refused.text);
    }
    for (method, path) in [("POST", "/api/chat/c/stop"), ("GET", "/api/chats"), ("DELETE", "/api/chat/c")] {
        let done = ask(&router, "ann", method, path, &Value::Null).await;
        assert!(done.status < 300, "{path}: {} {}", done.status, done.text);
    }
    assert_eq!(world.paid.load(Ordering::SeqCst), 0);
}

/// Another person decides with the tools of the owner, whatever that person has.
#[tokio::test]
async fn a_decider_needs_no_tools() {
    let world = World::default();
    let router = world.server(|agent| agent.deciders(|_, _| vec!["ben".into()])).router();
    ask(&router, "ann", "POST", "/api/chat", &ui("c", "pay")).await.event("tool-approval-request");
    let listed: Vec<Value> =
        serde_json::from_str(&ask(&router, "ben", "GET", "/api/waiting", &Value::Null).await.text).unwrap();
    let body = json!({ "run": listed[0]["run"], "id": listed[0]["id"], "decision": "approve" });
    let decided = ask(&router, "ben", "POST", "/api/waiting", &body).await;
    assert_eq!(decided.status, 204, "{}", decided.text);
    let paid = async {
        while world.paid.load(Ordering::SeqCst) == 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    within("the payment", paid).await;
}

#[tokio::test]
async fn routes_of_the_application_know_the_claims() {
    async fn me(Authenticated(caller): Authenticated) -> String {
        format!("{} {}", caller.principal, caller.claims["role"])
    }
    let routes = Router::new().route("/api/me", axum::routing::get(me));
    let router = World::default().server(|agent| agent).merge_guarded(routes).router();
    assert_eq!(ask(&router, "ann", "GET", "/api/me", &Value::Null).await.text, r#"ann "clerk""#);
}

/// Over streams, the caller is that of the server's agent.
#[tokio::test]
async fn an_mcp_server_offers_each_caller_its_tools() {
    let world = World::default();
    for (caller, names) in [(clerk(), &["look", "pay"][..]), (Caller::new("ben"), &["look"])] {
        let claims = caller.claims.clone();
        let agent = world.agent().principal(caller.principal.to_string()).edit_context(|cx| cx.with_claims(claims));
        let client = client(&McpServer::of(agent), Person::new(None), false).await;
        let listed = client.list_all_tools().await.unwrap();
        assert_eq!(listed.iter().map(|tool| tool.name.as_ref()).collect::<Vec<_>>(), names);
        let seen = client.call_tool(params("look", json!({}))).await.unwrap();
        assert_eq!(text(&seen), format!("{} {}", caller.principal, caller.claims));
        if names.len() == 1 {
            client.call_tool(params("pay", json!({}))).await.unwrap_err();
        }
    }
    world.fails.store(true, Ordering::SeqCst);
    let client = client(&McpServer::of(world.agent()), Person::new(None), false).await;
    let failed = client.list_all_tools().await.unwrap_err().to_string();
    assert!(failed.contains("try again later") && !failed.contains("database"), "{failed}");
}

#[tokio::test]
async fn an_mcp_server_over_http_asks_for_the_authenticated_caller() {
    let world = World::default();
    let http = McpServer::of(world.agent()).http().authenticate(users());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    tokio::spawn(http.serve(listener, std::future::pending()));
    for (by, names) in [("ann", &["look", "pay"][..]), ("ben", &["look"])] {
        let server = tool_server::mcp::RemoteServer::http("desk", &url).prefix("");
        let server = server.header("authorization", &format!("Bearer {by}")).unwrap();
        let remote = server.connect().await.unwrap();
        let tools = remote.toolset();
        assert_eq!(tools.iter().map(|tool| tool.name()).collect::<Vec<_>>(), names);
    }
    assert!(world.asked.lock().unwrap().iter().all(|caller| *caller == clerk() || *caller == Caller::new("ben")));
}
