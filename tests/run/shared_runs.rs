//! Tests of several processes that drive one run at once, on every store and engine.

use std::sync::Arc;

use serde_json::json;
use tool_runtime::{AgentError, agent::Decision, model::Turn, run::Phase, store::StoreError, tool, toolset};

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
