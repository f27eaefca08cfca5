//! Tests that stop or cancel a run from another task or process.

use std::sync::Arc;

use serde_json::json;
use tool_runtime::{
    Agent, AgentError,
    agent::{Decision, Session},
    model::{ScriptedModel, Turn},
    run::{CallResult, OnPrompt, Phase, Refusal, RunId, StopReason},
    tool, toolset,
};
use tool_test_kit::within;

use crate::kit::{
    Effects, OnBackend as _, agent, call_results, payments, refusal, resume, sleep_millis, store, stores, tool_results,
    tools, wait_until,
};

/// A guard that records its drop.
struct Dropped<'a>(&'a Effects);

impl Drop for Dropped<'_> {
    fn drop(&mut self) {
        self.0.record("dropped");
    }
}

/// Works until it may go on.
#[tool]
async fn slow(#[state] effects: &Effects) -> &'static str {
    let _dropped = Dropped(effects);
    effects.record("begins");
    wait_until(|| effects.count("go on") == 1).await;
    effects.record("ends");
    "done"
}

fn slow_agent(effects: &Arc<Effects>) -> Agent {
    let turns = [Turn::call("slow", json!({})).then_call("slow", json!({})), Turn::say("said")];
    Agent::new(ScriptedModel::new(turns)).tools(toolset!(Arc::clone(effects); slow))
}

/// Waits until the request to stop is stored. A driver without a store reads it before the ends of calls.
async fn wait_for_stored_stop(agent: &Agent, id: &RunId) {
    let is_kept = async || agent.open(id).await.is_ok_and(|open| open.run().freeze().contains("\"stopping\":true"));
    let waiting = async {
        while agent.is_stored() && !is_kept().await {
            sleep_millis(10).await;
        }
    };
    within("a request to stop", waiting).await;
}

#[tokio::test]
async fn a_handle_stops_after_the_step_or_drops_the_work() {
    for cancels in [false, true] {
        let effects = Effects::new();
        let mut session = slow_agent(&effects).anywhere().session();
        let (agent, id, handle) = (session.agent().clone(), session.id().clone(), session.handle());
        let (ended, ()) = tokio::join!(session.send("go"), async {
            wait_until(|| effects.count("begins") == 2).await;
            handle.stop();
            if cancels {
                handle.cancel();
            } else {
                wait_for_stored_stop(&agent, &id).await;
                effects.record("go on");
            }
        });
        if cancels {
            assert!(matches!(ended, Err(AgentError::Cancelled)));
            assert_eq!(call_results(&session), [CallResult::Cancelled, CallResult::Cancelled]);
            wait_until(|| effects.count("dropped") == 2).await;
            assert_eq!(effects.count("ends"), 0, "the run drops the work of a cancelled call");
        } else {
            assert_eq!(ended.unwrap().phase, Phase::Stopped(StopReason::Requested));
            assert_eq!((effects.count("ends"), tool_results(&session)), (2, vec!["done".to_owned(); 2]));
        }
        assert_eq!(session.resume().await.unwrap().text, "said", "the run continues");
    }
}

#[tokio::test]
async fn a_request_before_the_run_applies_to_that_run_only() {
    let effects = Effects::new();
    let mut session = slow_agent(&effects).anywhere().session();
    let (agent, id) = (session.agent().clone(), session.id().clone());
    session.handle().stop();
    let (ended, ()) = tokio::join!(session.send("go"), async {
        wait_for_stored_stop(&agent, &id).await;
        effects.record("go on");
    });
    assert_eq!(ended.unwrap().phase, Phase::Stopped(StopReason::Requested));
    assert_eq!(session.resume().await.unwrap().phase, Phase::Finished);
}

#[tokio::test]
async fn a_run_in_its_last_turn_finishes_instead_of_stopping() {
    let mut session = Agent::new(ScriptedModel::new([Turn::say("bye")])).anywhere().session();
    session.handle().stop();
    assert_eq!(session.send("go").await.unwrap().phase, Phase::Finished);
}

#[tokio::test]
async fn another_process_stops_or_cancels_a_run() {
    for store in stores().await {
        for cancels in [false, true] {
            let effects = Effects::new();
            let first = slow_agent(&effects).on(&store);
            let mut session: Session = first.session();
            let id = session.id().clone();
            let other = slow_agent(&effects).on(&store);
            let (ended, ()) = tokio::join!(session.send("go"), async {
                wait_until(|| effects.count("begins") == 2).await;
                assert_eq!(refusal(other.cancel(&id, "eve").await), Refusal::Forbidden);
                assert_eq!(refusal(other.stop(&id, "eve").await), Refusal::Forbidden);
                let run = if cancels { other.cancel(&id, "").await } else { other.stop(&id, "").await };
                assert_eq!(run.unwrap().id(), &id);
                if !cancels {
                    effects.record("go on");
                }
            });
            match ended {
                Err(AgentError::Cancelled) => assert!(cancels),
                Ok(reply) => {
                    assert!(!cancels && reply.phase == Phase::Stopped(StopReason::Requested), "{:?}", reply.phase);
                }
                other => panic!("{other:?}"),
            }
            let ended = call_results(&session);
            assert_eq!(ended.iter().filter(|end| **end == CallResult::Cancelled).count(), if cancels { 2 } else { 0 });
            assert_eq!(call_results(&other.open(&id).await.unwrap()), ended);
        }
    }
}

#[tokio::test]
async fn interrupts_are_decided_before_a_stop_and_waiting_prompts_are_dropped() {
    let effects = Effects::new();
    let agent = agent(&store(), tools(&effects), [payments(&[5]), Turn::say("never")])
        .options(|options| options.on_prompt = OnPrompt::Queue)
        .anywhere();
    let mut session = agent.session();
    session.send("go").await.unwrap();
    session.send("and then?").await.unwrap();
    let id = session.id().clone();
    agent.stop(&id, "").await.unwrap();
    agent.stop(&id, "").await.expect("a second request is accepted");
    let interrupt = session.interrupts().next().unwrap().id.clone();
    agent.decide(&id, &interrupt, Decision::Approve, "").await.unwrap();
    let session = resume(&agent, &id).await;
    assert_eq!(effects.all(), ["pay 5 to Ann"]);
    assert_eq!(session.run().phase(), tool_runtime::run::Phase::Stopped(tool_runtime::run::StopReason::Requested));
    assert!(session.run().queue().is_empty());
    agent.cancel(&id, "").await.expect("a run at rest can be cancelled");
}
