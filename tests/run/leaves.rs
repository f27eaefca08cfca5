//! Runs without a client: calls with a decision end normally, and everything else is cancelled.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use serde_json::json;
use tool_runtime::{
    AgentError, Toolset,
    agent::Decision,
    model::Turn,
    run::{CallResult, Phase, RunId, StopReason},
    store::Store,
    tool, toolset,
};

use crate::{
    kit::{World, agent, ends, memory, pay, pays, stores, until},
    wrapped::Wrapped,
};

/// Takes its time.
#[tool(effect = write)]
async fn slow(#[state] world: &World) -> &'static str {
    slow_work(world).await;
    "done"
}

/// Takes its time, once it is approved.
#[tool(effect = write, approval = always)]
async fn careful(#[state] world: &World) -> &'static str {
    slow_work(world).await;
    "done"
}

async fn slow_work(world: &World) {
    world.did("begins");
    until(|| world.count("go on") > 0).await;
    world.did("ends");
}

fn tools(world: &Arc<World>) -> Toolset {
    toolset!(Arc::clone(world); slow, careful, pay)
}

fn is_called_off(ended: &Result<impl Sized, AgentError>) -> bool {
    matches!(ended, Err(AgentError::Cancelled))
}

#[tokio::test]
async fn calls_without_a_decision_are_dropped_at_once() {
    let world = World::new();
    let agent = agent(&memory(), tools(&world), [Turn::call("slow", json!({})), Turn::say("never")]);
    let mut session = agent.session();
    let handle = session.handle();
    let (ended, ()) = tokio::join!(session.send("go"), async {
        until(|| world.count("begins") == 1).await;
        handle.leave();
    });
    assert!(is_called_off(&ended));
    assert_eq!(ends(&session), [CallResult::Cancelled]);
    assert_eq!(world.count("ends"), 0);
}

#[tokio::test]
async fn approved_calls_run_without_another_turn() {
    for store in stores().await {
        let world = World::new();
        world.did("go on");
        let agent = agent(&store, tools(&world), [Turn::call("careful", json!({})), Turn::say("never")]);
        let mut session = agent.session();
        session.send("go").await.unwrap();
        let open = session.interrupts().next().unwrap().id.clone();
        agent.decide(session.id(), &open, Decision::Approve, "").await.unwrap();
        // Before the first start.
        session.handle().leave();
        assert!(is_called_off(&session.resume().await));
        assert_eq!(world.count("ends"), 1);
        assert!(ends(&session)[0].is_success());
        assert_eq!(session.run().phase(), Phase::Stopped(StopReason::Cancelled));
        assert_eq!(agent.open(session.id()).await.unwrap().messages(), session.messages(), "the result is kept");
    }
}

#[tokio::test]
async fn a_client_that_returns_in_time_has_the_answer() {
    let world = World::new();
    let agent = agent(&memory(), tools(&world), [Turn::call("careful", json!({})), Turn::say("said")]);
    let mut session = agent.session();
    session.send("go").await.unwrap();
    let open = session.interrupts().next().unwrap().id.clone();
    session.decide(&open, Decision::Approve, "").await.unwrap();
    let handle = session.handle();
    let (ended, ()) = tokio::join!(session.resume(), async {
        until(|| world.count("begins") == 1).await;
        handle.leave();
        tokio::task::yield_now().await;
        handle.stay();
        world.did("go on");
    });
    assert_eq!(ended.unwrap().text, "said");
}

#[tokio::test]
async fn a_suspended_run_keeps_waiting() {
    let world = World::new();
    let agent = agent(&memory(), tools(&world), [pays(&[5]), Turn::say("done")]);
    let mut session = agent.session();
    session.handle().leave();
    assert!(is_called_off(&session.send("go").await), "the model is not asked for nobody");
    session.handle().stay();
    session.resume().await.unwrap();
    session.handle().leave();
    session.resume().await.unwrap();
    assert_eq!(session.interrupts().count(), 1, "nobody has decided, and nothing is called off");
}

/// Another process approves a call while the run is cancelled.
#[tokio::test]
async fn a_decision_that_comes_first_runs() {
    for store in stores().await {
        let world = World::new();
        let turns = || [Turn::call("slow", json!({})).then_call("pay", json!({ "amount": 5 })), Turn::say("never")];
        let other = agent(&store, tools(&world), turns());
        let raced = Arc::new(AtomicBool::new(false));
        let (decider, once) = (other.clone(), Arc::clone(&raced));
        let id = RunId::from("raced");
        let racing: Arc<dyn Store> = Wrapped::new(&store)
            .before_append(move |append| {
                let (decider, once, id) = (decider.clone(), Arc::clone(&once), id.clone());
                Box::pin(async move {
                    if append.text.contains("\"stopped\"") && !once.swap(true, Ordering::SeqCst) {
                        let open = decider.open(&id).await.unwrap().interrupts().next().unwrap().id.clone();
                        decider.decide(&id, &open, Decision::Approve, "").await.unwrap();
                    }
                    Ok(())
                })
            })
            .shared();
        let driven = agent(&racing, tools(&world), turns());
        let mut session = driven.session_named("raced", Vec::new());
        let handle = session.handle();
        let (ended, ()) = tokio::join!(session.send("go"), async {
            until(|| world.count("begins") == 1).await;
            handle.leave();
        });
        assert!(is_called_off(&ended) && raced.load(Ordering::SeqCst));
        assert_eq!(world.count("pay 5 to Ann"), 1);
        assert!(ends(&session)[1].is_success(), "{:?}", ends(&session));
    }
}
