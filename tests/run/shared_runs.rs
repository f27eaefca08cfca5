//! Tests of several processes that drive one run at once, on every store and engine.

use std::sync::Arc;

use serde_json::json;
use tool_runtime::{
    Agent, AgentError, Part,
    agent::Decision,
    model::{FunctionModel, Turn},
    run::{Phase, RunId},
    store::{MemoryStore, Store, StoreError},
    tool, toolset,
};

use crate::kit::{
    Effects, OnBackend as _, SilentObserver, agent, open_interrupts, payments, sleep_millis, start_waiting, stores,
    tools, wait_until,
};

/// Works until it is released.
#[tool]
async fn held(#[state] effects: &Effects) {
    effects.record("held begins");
    wait_until(|| effects.count("release") == 1).await;
    effects.record("held ends");
}

#[tokio::test(flavor = "multi_thread")]
async fn s13_workers_that_resume_one_run_give_one_effect() {
    for store in stores().await {
        for _ in 0..20 {
            let effects = Effects::new();
            let (agent, id, interrupts) = start_waiting(&store, tools(&effects), payments(&[5])).await;
            // Each worker reports its own events. Merged, they have no defined order, so no observer checks them.
            let agent = agent.observer(SilentObserver).on(&store);
            agent.decide(&id, &interrupts[0].id, Decision::Approve, "").await.unwrap();
            let worker = || {
                let (agent, id) = (agent.clone(), id.clone());
                tokio::spawn(async move { agent.open(&id).await?.resume().await })
            };
            let workers = [worker(), worker(), worker(), worker()];
            for worker in workers {
                match worker.await.unwrap() {
                    Ok(_) | Err(AgentError::Store(StoreError::Leased { .. })) => {}
                    other => panic!("{other:?}"),
                }
            }
            assert_eq!(effects.all(), ["pay 5 to Ann"]);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decision_from_outside_is_picked_up_while_another_call_runs() {
    for store in stores().await {
        let effects = Effects::new();
        let turn = Turn::call("held", json!({})).then_call("pay", json!({"amount": 5}));
        let all = tools(&effects).merge(toolset!(Arc::clone(&effects); held)).unwrap();
        let agent = agent(&store, all, [turn, Turn::say("done")]);
        let mut session = agent.session();
        let id = session.id().clone();
        let run = tokio::spawn(async move { session.send("go").await });
        wait_until(|| effects.count("held begins") == 1).await;
        let interrupt = loop {
            if let [interrupt] = &open_interrupts(&agent, &id).await[..] {
                break interrupt.id.clone();
            }
            sleep_millis(10).await;
        };
        agent.decide(&id, &interrupt, Decision::Approve, "").await.unwrap();
        wait_until(|| effects.count("pay 5 to Ann") == 1).await;
        assert_eq!(effects.count("held ends"), 0, "`pay` waited for `held`");
        effects.record("release");
        assert_eq!(run.await.unwrap().unwrap().phase, Phase::Finished);
    }
}

/// Of several copies of a request, the run accepts one, whoever gets the right to drive it.
#[tokio::test(flavor = "multi_thread")]
async fn a_prompt_with_a_key_is_accepted_once() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    for number in 0..20 {
        let model = FunctionModel::new(|_| Turn::say("Hello."));
        let agent = Agent::new(model).observer(SilentObserver).store(Arc::clone(&store));
        let id = RunId::from(format!("run {number}"));
        let copy = || {
            let mut session = agent.session_with_id(id.clone(), Vec::new());
            tokio::spawn(async move {
                session.send_once(None, vec![Part::text("Hi.")], "key").await.map(|reply| reply.text)
            })
        };
        for copy in [copy(), copy(), copy()] {
            match copy.await.unwrap() {
                Ok(text) => assert_eq!(text, "Hello."),
                Err(AgentError::Store(StoreError::Leased { .. })) => {}
                other => panic!("{other:?}"),
            }
        }
        let mut session = agent.open(&id).await.unwrap();
        // Neither does a copy that comes later change anything.
        assert_eq!(session.send_once(None, vec![Part::text("Hi.")], "key").await.unwrap().text, "Hello.");
        assert_eq!((session.run().prompts().len(), session.run().messages().len()), (1, 2));
        session.send_once(None, vec![Part::text("Hi.")], "other key").await.unwrap();
        assert_eq!(session.run().prompts().len(), 2);
    }
}
