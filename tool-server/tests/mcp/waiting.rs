//! Tests of calls that wait for another person than the client's. They run when that person has approved them.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use axum::{
    body::{Body, to_bytes},
    http::Request,
};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tool_runtime::{
    Agent, Context,
    run::{Decision, InterruptId, RunId},
    store::{MemoryStore, WaitingFilter},
    tool, toolset,
};
use tool_server::{
    BearerToken, Server,
    mcp::{McpServer, RemoteServer, server::McpClient},
};
use tower::ServiceExt;

use crate::mcp::kit::{Person, client, params, text, wait_until};

/// The work of a test's tool.
#[derive(Default)]
struct Payments {
    count: AtomicUsize,
    with_client: AtomicUsize,
}

/// Pay.
#[tool(effect = destructive, approval = always)]
fn pay(
    /** The amount. */
    amount: u32,
    #[context] cx: &Context,
) -> String {
    let payments = cx.get::<Arc<Payments>>().expect("the payments of the test");
    payments.count.fetch_add(1, Ordering::SeqCst);
    payments.with_client.fetch_add(usize::from(cx.get::<McpClient>().is_some()), Ordering::SeqCst);
    format!("{amount} paid for {}", cx.principal().unwrap_or("nobody"))
}

struct World {
    agent: Agent,
    payments: Arc<Payments>,
}

impl World {
    /// Creates an agent whose calls the boss approves.
    fn new() -> Self {
        let payments = Arc::new(Payments::default());
        let of_tool = Arc::clone(&payments);
        let agent = Agent::tools_only(toolset!(pay))
            .name("desk")
            .principal("ann")
            .edit_context(move |cx| cx.with(Arc::clone(&of_tool)))
            .deciders(|_, _| vec!["boss".into()])
            .lease_time(Duration::from_millis(300))
            .store(MemoryStore::new());
        Self { agent, payments }
    }

    fn paid(&self) -> usize {
        self.payments.count.load(Ordering::SeqCst)
    }

    /// Returns the runs and interrupts that the boss may decide.
    async fn waiting(&self) -> Vec<(RunId, InterruptId)> {
        let waiting = self.agent.waiting(&WaitingFilter::new().for_principal("boss")).await.unwrap();
        waiting.into_iter().map(|item| (item.run, item.interrupt.id)).collect()
    }

    async fn decide(&self, decision: Decision) -> RunId {
        let [(run, interrupt)] = &self.waiting().await[..] else { panic!("one call waits") };
        self.agent.decide(run, interrupt, decision, "boss").await.unwrap();
        run.clone()
    }

    async fn result(&self, run: &RunId) -> Option<String> {
        let session = self.agent.open(run).await.unwrap();
        let call = &session.run().calls()[0];
        Some(call.result()?.output().map_or_else(|| "no output".to_owned(), tool_runtime::Output::text))
    }
}

#[tokio::test]
async fn an_approval_of_another_person_runs_the_call() {
    for modern in [false, true] {
        let world = World::new();
        let server = McpServer::of(world.agent.clone());
        let person = Person::new(Some(|_| unreachable!("the client's person may not decide")));
        let client = client(&server, person, modern).await;
        let waits = client.call_tool(params("pay", json!({ "amount": 5 }))).await.unwrap();
        assert!(text(&waits).contains("goes on when they decide"), "{waits:?}");
        let run = world.decide(Decision::Approve).await;
        wait_until("the call ran", || world.paid() == 1).await;
        while world.result(&run).await.is_none() {
            tokio::task::yield_now().await;
        }
        assert_eq!(world.result(&run).await.as_deref(), Some("5 paid for ann"));
        assert_eq!(world.payments.with_client.load(Ordering::SeqCst), 0, "the client does not wait any more");
        // A denial ends the call, too.
        client.call_tool(params("pay", json!({ "amount": 6 }))).await.unwrap();
        let run = world.decide(Decision::deny("no")).await;
        assert_eq!(world.result(&run).await.as_deref(), Some("no output"));
        assert_eq!(world.paid(), 1);
    }
}

/// The person finds the call among all that waits for them, and decides it there.
#[tokio::test]
async fn a_call_is_in_the_list_of_what_waits() {
    let world = World::new();
    let server = McpServer::of(world.agent.clone());
    let client = client(&server, Person::new(None), false).await;
    client.call_tool(params("pay", json!({ "amount": 5 }))).await.unwrap();
    let users = BearerToken::new(|token| Some(token.into()));
    let router = Server::new(world.agent.clone()).authenticate(users).router();
    let ask = async |method: &str, body: Body| {
        let request = Request::builder().method(method).uri("http://localhost/api/waiting");
        let request = request.header("authorization", "Bearer boss").header("content-type", "application/json");
        let response = router.clone().oneshot(request.body(body).unwrap()).await.unwrap();
        let status = response.status().as_u16();
        (status, to_bytes(response.into_body(), usize::MAX).await.unwrap())
    };
    let (_, listed) = ask("GET", Body::empty()).await;
    let listed: Vec<Value> = serde_json::from_slice(&listed).unwrap();
    let [item] = &listed[..] else { panic!("{listed:?}") };
    assert_eq!((&item["owner"], &item["tool"], item.get("chat")), (&json!("ann"), &json!("pay"), None));
    let decision = json!({ "run": item["run"], "id": item["id"], "decision": "approve" });
    assert_eq!(ask("POST", decision.to_string().into()).await.0, 204);
    wait_until("the call ran", || world.paid() == 1).await;
}

/// The process that took the call is gone, and another serves the tools.
#[tokio::test]
async fn another_process_runs_the_call() {
    let world = World::new();
    let first = client(&McpServer::of(world.agent.clone()), Person::new(None), false).await;
    first.call_tool(params("pay", json!({ "amount": 5 }))).await.unwrap();
    first.cancel().await.unwrap();
    world.decide(Decision::Approve).await;
    assert_eq!(world.paid(), 0);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let serving = McpServer::of(world.agent.clone()).http().grace(Duration::from_secs(2));
    let serving = tokio::spawn(serving.serve(listener, async { drop(stopped.await) }));
    wait_until("the call ran", || world.paid() == 1).await;
    stop.send(()).unwrap();
    serving.await.unwrap().unwrap();
}

/// An application that serves the routes itself needs no sweep, either.
#[tokio::test]
async fn routes_run_the_call_after_their_first_request() {
    let world = World::new();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let routes = McpServer::of(world.agent.clone()).http().router();
    tokio::spawn(async move { axum::serve(listener, routes).await });
    let tools = RemoteServer::http("far", url).allow(["pay"]).connect().await.unwrap().toolset();
    let waits = tools.call("far_pay", r#"{"amount":5}"#, &Context::new("1")).await.unwrap_err().to_string();
    assert!(waits.contains("goes on when they decide"), "{waits}");
    world.decide(Decision::Approve).await;
    wait_until("the call ran", || world.paid() == 1).await;
}

/// A run that is no call of a client may need the application's model, or belong to a server of chats.
#[tokio::test]
async fn other_runs_in_the_store_are_left_alone() {
    let world = World::new();
    let mut session = world.agent.session();
    session.call("pay", r#"{"amount":7}"#).await.unwrap();
    drop(session);
    let of_application = world.decide(Decision::Approve).await;
    let client = client(&McpServer::of(world.agent.clone()), Person::new(None), false).await;
    client.call_tool(params("pay", json!({ "amount": 5 }))).await.unwrap();
    world.decide(Decision::Approve).await;
    wait_until("the client's call ran", || world.paid() == 1).await;
    assert_eq!(world.result(&of_application).await, None);
}
