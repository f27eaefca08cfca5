//! Tests of runs whose client has left: calls with a decision end normally, and everything else is cancelled.

use std::sync::Arc;

use serde_json::json;
use tool_runtime::{AgentError, Toolset, agent::Decision, model::Turn, run::CallResult, tool, toolset};

use crate::kit::{Effects, agent, call_results, pay, payments, store, wait_until};

/// Takes its time.
#[tool(effect = write)]
async fn slow(#[state] effects: &Effects) -> &'static str {
    slow_work(effects).await;
    "done"
}

/// Takes its time, once it is approved.
#[tool(effect = write, approval = always)]
async fn careful(#[state] effects: &Effects) -> &'static str {
    slow_work(effects).await;
    "done"
}

async fn slow_work(effects: &Effects) {
    effects.record("begins");
    wait_until(|| effects.count("go on") > 0).await;
    effects.record("ends");
}

pub(crate) fn tools(effects: &Arc<Effects>) -> Toolset {
    toolset!(Arc::clone(effects); slow, careful, pay)
}

pub(crate) fn is_cancelled(ended: &Result<impl Sized, AgentError>) -> bool {
    matches!(ended, Err(AgentError::Cancelled))
}

#[tokio::test]
async fn calls_without_a_decision_are_dropped_at_once() {
    let effects = Effects::new();
    let agent = agent(&store(), tools(&effects), [Turn::call("slow", json!({})), Turn::say("never")]);
    let mut session = agent.session();
    let handle = session.handle();
    let (ended, ()) = tokio::join!(session.send("go"), async {
        wait_until(|| effects.count("begins") == 1).await;
        handle.client_left();
    });
    assert!(is_cancelled(&ended));
    assert_eq!(call_results(&session), [CallResult::Cancelled]);
    assert_eq!(effects.count("ends"), 0);
}

#[tokio::test]
async fn a_client_that_returns_in_time_receives_the_answer() {
    let effects = Effects::new();
    let agent = agent(&store(), tools(&effects), [Turn::call("careful", json!({})), Turn::say("said")]);
    let mut session = agent.session();
    session.send("go").await.unwrap();
    let open = session.interrupts().next().unwrap().id.clone();
    session.decide(&open, Decision::Approve, "").await.unwrap();
    let handle = session.handle();
    let (ended, ()) = tokio::join!(session.resume(), async {
        wait_until(|| effects.count("begins") == 1).await;
        handle.client_left();
        tokio::task::yield_now().await;
        handle.client_returned();
        effects.record("go on");
    });
    assert_eq!(ended.unwrap().text, "said");
}

#[tokio::test]
async fn a_suspended_run_keeps_waiting() {
    let effects = Effects::new();
    let agent = agent(&store(), tools(&effects), [payments(&[5]), Turn::say("done")]);
    let mut session = agent.session();
    session.handle().client_left();
    assert!(is_cancelled(&session.send("go").await), "no model is asked without a client");
    session.handle().client_returned();
    session.resume().await.unwrap();
    session.handle().client_left();
    session.resume().await.unwrap();
    assert_eq!(session.interrupts().count(), 1, "the undecided call still waits");
}
