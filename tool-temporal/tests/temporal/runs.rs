//! Tests of runs that a service drives on Temporal, even while no session follows them.

use std::{sync::Arc, time::Duration};

use serde_json::json;
use temporalio_client::{Client, ClientOptions, Connection, ConnectionOptions, WorkflowFetchHistoryOptions};
use temporalio_common::protos::temporal::api::enums::v1::EventType;
use tokio::sync::Barrier;
use tool_runtime::{
    Agent, AgentError, Context, Toolset,
    agent::{Decision, Session, Suspend},
    model::{ScriptedModel, ScriptedTurn, Turn},
    run::{Phase, Principal, RunId},
    store::{Store as _, StoreError, WaitingFilter},
    tool, toolset,
};
use tool_temporal::TemporalStore;

use crate::{
    backends,
    kit::{Effects, payments, tool_results, tools},
    service::{address, runs},
};

/// Returns a session of a new run that an agent of these tools and turns drives. The session's own model says only "never".
fn session<A: Into<ScriptedTurn>>(tools: Toolset, turns: impl IntoIterator<Item = A>) -> Session {
    let session = front(tools.clone()).session();
    backends::serve(session.id(), Agent::new(ScriptedModel::new(turns)).tools(tools).operator(Suspend));
    session
}

/// Returns the agent of a process that drives no runs.
fn front(tools: Toolset) -> Agent {
    Agent::new(ScriptedModel::new([Turn::say("never")])).tools(tools).operator(Suspend).store(runs())
}

#[tokio::test]
async fn an_approval_from_another_process_lets_a_call_run_once() {
    let effects = Effects::new();
    let mut session = session(tools(&effects), [payments(&[5]), Turn::say("done")]);
    let reply = session.send("pay").await.unwrap();
    assert_eq!((reply.phase, effects.all()), (Phase::Suspended, Vec::<String>::new()));
    let open = session.interrupts().next().unwrap().clone();
    // The same decision twice, from two processes, counts once.
    for _ in 0..2 {
        let other = front(tools(&effects));
        other.decide(session.id(), &open.id, Decision::Approve, Principal::anonymous()).await.unwrap();
    }
    let late = session.agent().decide(session.id(), &open.id, Decision::deny("late"), Principal::anonymous()).await;
    assert!(matches!(late, Err(AgentError::Refused(_))), "{late:?}");
    assert_eq!(session.resume().await.unwrap().text, "done");
    assert_eq!(effects.all(), ["pay 5 to Ann"]);
}

/// Returns the principal of the call.
#[tool(effect = read_only)]
fn whoami(#[context] cx: &Context) -> String {
    cx.principal().unwrap_or("nobody").to_owned()
}

#[tokio::test]
async fn a_call_sees_the_owner_of_its_run() {
    let of_nobody = session(toolset!(whoami), [Turn::call("whoami", "{}"), Turn::say("done")]);
    let anna = of_nobody.agent().clone().principal("anna");
    let mut session = anna.session_with_id(of_nobody.id().clone(), Vec::new());
    session.send("go").await.unwrap();
    assert_eq!(tool_results(&session), ["anna"]);
}

#[tokio::test]
async fn open_interrupts_are_listed_and_deleted_runs_are_gone() {
    let mut session = session(tools(&Effects::new()), [payments(&[5])]);
    session.send("pay").await.unwrap();
    let (store, id) = (runs(), session.id().clone());
    let of_run = store.waiting(&WaitingFilter::new().in_run(id.clone())).await.unwrap();
    assert_eq!(of_run.len(), 1);
    // The server's list may be a moment behind.
    let mut listed = Vec::new();
    for _ in 0..200 {
        let mut all = WaitingFilter::new().for_principal(Principal::anonymous());
        all.limit = usize::MAX;
        listed = store.waiting(&all).await.unwrap();
        listed.retain(|item| item.run == id);
        if !listed.is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(listed, of_run);
    assert!(store.delete(&id).await.unwrap() && !store.delete(&id).await.unwrap());
    assert!(store.load(&id).await.unwrap().is_none());
    assert!(matches!(session.agent().open(&id).await, Err(AgentError::Store(StoreError::NotFound))));
    assert!(store.load(&RunId::from("unknown")).await.unwrap().is_none());
}

/// Waits for seven others.
#[tool]
async fn meet(#[state] all: &Barrier) -> i64 {
    all.wait().await;
    1
}

#[tokio::test]
async fn calls_of_a_turn_overlap() {
    let turn = (0..8).fold(Turn::default(), |turn, _| turn.then_call("meet", json!({})));
    // Each call ends only when all eight run.
    let mut session = session(toolset!(Arc::new(Barrier::new(8)); meet), [turn, Turn::say("met")]);
    assert_eq!(session.send("go").await.unwrap().text, "met");
}

#[tokio::test]
async fn the_history_of_the_server_is_the_log() {
    let turns = [Turn::call("look", json!({"what": "sky"})).then_call("pay", json!({"amount": 5})), Turn::say("done")];
    let mut session = session(tools(&Effects::new()), turns);
    session.send("go").await.unwrap();
    let open = session.interrupts().next().unwrap().id.clone();
    session.decide(&open, Decision::Approve, "").await.unwrap();
    assert_eq!(session.resume().await.unwrap().phase, Phase::Finished);
    let connection =
        Connection::connect(ConnectionOptions::new(address().parse::<url::Url>().unwrap()).build()).await.unwrap();
    let client = Client::new(connection, ClientOptions::new("default").build()).unwrap();
    let id = format!("tool-run/{}", session.id());
    let workflow = client.get_workflow_handle::<temporalio_client::UntypedWorkflow>(id);
    let events = workflow.fetch_history(WorkflowFetchHistoryOptions::default()).into_events().await.unwrap();
    let count = |kind| events.iter().filter(|event| event.event_type() == kind).count();
    // The prompt, the turn, the approval, the starts and the ends are updates, and nothing else keeps them.
    assert!(count(EventType::WorkflowExecutionUpdateCompleted) >= 6, "{events:#?}");
    assert_eq!(count(EventType::ActivityTaskScheduled), 2);
    let text = events.iter().map(|event| format!("{event:?}")).collect::<String>();
    assert!(text.contains("WorkflowExecutionUpdateAccepted"));
}

#[tokio::test]
async fn without_a_server_the_error_names_the_address() {
    let error = TemporalStore::connect("http://127.0.0.1:9", "queue").await.unwrap_err().to_string();
    assert!(error.starts_with("the store is unavailable: cannot connect to http://127.0.0.1:9: "), "{error}");
    let error = TemporalStore::connect("nowhere", "queue").await.unwrap_err().to_string();
    assert!(error.contains("invalid address `nowhere` of the Temporal server"), "{error}");
}
