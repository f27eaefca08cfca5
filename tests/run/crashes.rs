//! Tests of processes that end in the middle of a run. `tests/engines/kills.rs` kills those of an engine.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use serde_json::json;
use tool_runtime::{
    Agent, Toolset,
    agent::{Decision, Session},
    model::{ScriptedModel, Turn},
    run::{AbortCause, CallResult, Phase, Refusal},
    store::Store,
    tool, toolset,
};
use tool_test_kit::within;

use crate::{
    kit::{
        Effects, Events, Person, agent, call_results, open_interrupts, refusal, resume, sleep_millis, store, stores,
        tool_results, tools, wait_until,
    },
    suite::subagents::{call, inner_tools},
};

/// Takes a minute the first time.
#[tool]
async fn once(#[state] effects: &Effects) -> &'static str {
    effects.record("once");
    hesitate(effects.count("once")).await;
    "done"
}

/// Takes a minute the first time, and may run again.
#[tool(idempotent)]
async fn again(#[state] effects: &Effects) -> &'static str {
    effects.record("again");
    hesitate(effects.count("again")).await;
    "done"
}

async fn hesitate(count: usize) {
    if count == 1 {
        sleep_millis(60_000).await;
    }
}

fn agent_with_slow_calls(store: &Arc<dyn Store>, effects: &Arc<Effects>) -> Agent {
    let turn = Turn::call("once", json!({})).then_call("again", json!({})).then_call("pay", json!({"amount": 5}));
    let all = tools(effects).merge(toolset!(Arc::clone(effects); once, again)).unwrap();
    agent(store, all, [turn, Turn::say("ok")])
}

/// Sends a prompt, and drops the future in the middle of the calls.
async fn break_off(session: &mut Session, effects: &Effects) {
    tokio::select! {
        sent = session.send("go") => panic!("the calls returned: {sent:?}"),
        () = wait_until(|| effects.count("once") == 1 && effects.count("again") == 1) => {}
    }
}

#[tokio::test]
async fn after_a_crash_repeatable_calls_restart_and_a_person_decides_the_rest() {
    for store in stores().await {
        // The person's decision about the lost call, and the number of its runs afterwards.
        let decisions = [
            (Decision::Approve, 2, "done"),
            (Decision::Respond { output: json!("it was done") }, 1, "it was done"),
            (Decision::Fail { error: "it was not done".into() }, 1, "it was not done"),
            (Decision::Deny { reason: None }, 1, "its outcome is unknown; it may have had effects"),
        ];
        for (decision, runs, says) in decisions {
            let effects = Effects::new();
            let person = Person::deciding([]);
            let agent = agent_with_slow_calls(&store, &effects).observer(Events::new()).operator(person.clone());
            let mut session = agent.lease_time(Duration::from_hours(1)).session();
            break_off(&mut session, &effects).await;
            assert_eq!((effects.count("once"), effects.count("again")), (1, 1));
            // The same session continues at once. It need not wait for the end of its own lease.
            let _ = person.clone().then([decision.clone(), Decision::Approve]);
            let reply = within("the same session", Box::pin(session.resume())).await.unwrap();
            assert_eq!(reply.phase, Phase::Finished, "{decision:?}");
            assert_eq!((effects.count("once"), effects.count("again")), (runs, 2), "{decision:?}");
            assert!(tool_results(&session)[0].ends_with(says), "{:?}", tool_results(&session));
            let asked = person.reconciled();
            assert_eq!((asked.len(), asked[0].spec.name.as_str()), (1, "once"));
            assert_eq!(effects.count("pay 5 to Ann"), 1);
        }
    }
}

#[tokio::test]
async fn a_lost_call_waits_without_an_operator() {
    for store in stores().await {
        let effects = Effects::new();
        let agent = agent_with_slow_calls(&store, &effects).lease_time(Duration::from_millis(30));
        let mut session = agent.session();
        let id = session.id().clone();
        break_off(&mut session, &effects).await;
        drop(session);
        sleep_millis(40).await;
        // Another process finds the run.
        assert_eq!(agent.sweep().await.unwrap(), 1);
        assert_eq!((effects.count("once"), effects.count("again")), (1, 2));
        let interrupts = open_interrupts(&agent, &id).await;
        let tools: Vec<&str> = interrupts.iter().map(|open| open.shown.tool.as_str()).collect();
        assert_eq!(tools.len(), 2, "{tools:?}");
        assert!(matches!(
            refusal(agent.decide(&id, &interrupts[0].id, Decision::Approve, "mallory").await),
            Refusal::Forbidden
        ));
        for interrupt in &interrupts {
            agent.decide(&id, &interrupt.id, Decision::deny("leave it"), "").await.unwrap();
        }
        let session = resume(&agent, &id).await;
        assert_eq!(call_results(&session)[0], CallResult::Aborted { by: AbortCause::LostProcess });
        assert!(matches!(call_results(&session)[2], CallResult::Denied { .. }));
        assert_eq!((effects.count("once"), effects.count("again"), effects.count("pay 5 to Ann")), (1, 2, 0));
    }
}

#[tokio::test]
async fn a_dead_process_is_taken_over_without_a_question() {
    let (store, effects) = (store(), Effects::new());
    let inner = |model: ScriptedModel| Agent::new(model).tools(inner_tools(&effects)).as_tool("helper", "Helps.");
    let note = || Turn::call("note", json!({"text": "one"}));
    {
        let tools = inner(ScriptedModel::new([note()]));
        // The inner model answers once. The run is left at its next request.
        let is_stuck = Arc::new(AtomicBool::new(false));
        let tools = Toolset::new().with(tools).unwrap().layer(Stuck(Arc::clone(&is_stuck)));
        let agent = agent(&store, tools, [call("helper")]).lease_time(Duration::from_millis(1));
        let mut session = agent.session();
        let id = session.id().clone();
        tokio::select! {
            sent = session.send("go") => panic!("the call returned: {sent:?}"),
            () = wait_until(|| is_stuck.load(Ordering::SeqCst)) => {}
        }
        drop(session);
        sleep_millis(5).await;
        assert_eq!(effects.count("note one"), 1);
        let tools = Toolset::new().with(inner(ScriptedModel::new([Turn::say("noted")]))).unwrap();
        let again = crate::kit::agent(&store, tools, [Turn::say("done")]);
        let mut session = again.open(&id).await.unwrap();
        assert_eq!(session.resume().await.unwrap().phase, Phase::Finished);
        assert_eq!(tool_results(&session), ["noted"]);
        assert_eq!(effects.count("note one"), 1, "the inner run continues where it stopped");
    }
}

/// A layer that never returns from a failed call, like a process that dies then. It sets the flag.
struct Stuck(Arc<AtomicBool>);

impl tool_runtime::toolset::Layer for Stuck {
    fn call<'a>(
        &'a self,
        _: tool_runtime::toolset::Invocation<'a>,
        mut next: tool_runtime::toolset::Next<'a>,
    ) -> tool_runtime::CallFuture<'a> {
        Box::pin(async move {
            let _ = next.run().await;
            self.0.store(true, Ordering::SeqCst);
            std::future::pending().await
        })
    }
}
