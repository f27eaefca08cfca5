//! Tests of conditions that stop the loop although the model would continue, and of the continuation after them.

use std::{sync::Arc, time::Duration};

use tool_runtime::{
    Agent,
    agent::{StopWhen, Suspend},
    model::{ScriptedModel, Turn},
    run::Phase,
    run::StopReason,
    store::{MemoryStore, Store},
};
use tool_test_kit::AllAndSome as _;

use crate::model::kit::{Runs, call, count, tools, usage};

fn agent(turns: Vec<Turn>) -> (Agent, Arc<Runs>) {
    let runs = Arc::<Runs>::default();
    (Agent::new(ScriptedModel::new(turns)).tools(tools(&runs)), runs)
}

fn condition(name: &str) -> Phase {
    Phase::Stopped(StopReason::Condition(name.to_owned()))
}

#[tokio::test]
async fn a_model_that_repeats_itself_is_stuck() {
    let wrong = |text: &str| Turn::call("add", text);
    let turns = [
        // Another call separates two identical ones.
        wrong("{}"),
        wrong("{\"n\":\"x\"}"),
        wrong("{}"),
        wrong("{}"),
        wrong("{}"),
        // Each prompt has its own turns.
        wrong("{}"),
        wrong("{}"),
        wrong("{}"),
        // A successful call may be repeated.
        Turn::call("done", "{}"),
        Turn::call("done", "{}"),
        Turn::call("done", "{}"),
        call(1),
        Turn::call("done", "{}"),
        Turn::call("done", "{}"),
        Turn::say("the end"),
    ];
    let (agent, _) = agent(turns.to_vec());
    let mut session = agent.stop_when(StopWhen::stuck(3)).session();
    let mut steps = Vec::new();
    let last = loop {
        let reply = session.send("go").await.unwrap();
        steps.push(reply.steps);
        if reply.phase != condition("the same call ended the same 3 times") {
            break reply;
        }
    };
    assert_eq!((last.phase, steps), (Phase::Finished, vec![5, 3, 3, 4]));
}

#[tokio::test]
async fn a_condition_stops_the_run_when_its_calls_have_ended() {
    let conditions = [
        (StopWhen::steps(2), "2 steps", 2),
        (StopWhen::calls(3), "3 calls", 2),
        (StopWhen::called("done"), "`done` was called", 3),
        (StopWhen::succeeded("done"), "`done` succeeded", 3),
        (StopWhen::tokens(16), "16 tokens", 2),
        (StopWhen::cost(0.2, |_, used| if used.output_tokens == 5 { 0.05 } else { 0.0 }), "a cost of 0.2", 4),
        (StopWhen::custom("odd", |run| run.calls().len() % 2 == 1), "odd", 1),
    ];
    for (stop, name, steps) in conditions {
        let turns = vec![
            call(1),
            call(2).then_call("add", "{\"n\":3}"),
            Turn::call("done", "{}").with_usage(usage(10, 5)),
            call(4),
            Turn::say("the end"),
        ];
        let (agent, runs) = agent(turns);
        let mut session = agent.stop_when(stop).session();
        let reply = session.send("go").await.unwrap();
        assert_eq!((reply.phase, reply.steps), (condition(name), steps), "{name}");
        assert_eq!(count(&runs), session.run().calls().len(), "{name}: every call has ended");
        assert!(session.run().calls().iter().all_and_some(|call| call.result().is_some()));
        let mut last = session.resume().await.unwrap();
        for _ in 0..3 {
            if last.phase == Phase::Finished {
                break;
            }
            last = session.resume().await.unwrap();
        }
        assert_eq!(last.text, "the end", "{name}: the run continues after the stop");
    }
}

#[tokio::test]
async fn conditions_are_composed() {
    let both = StopWhen::called("add").and(StopWhen::steps(2));
    assert_eq!(format!("{both:?}"), r#"StopWhen("`add` was called and 2 steps")"#);
    let (agent, _) = agent(vec![call(1), call(2), Turn::say("end")]);
    let agent = agent.stop_when(StopWhen::called("nothing")).stop_when(both.or(StopWhen::steps(9)));
    let reply = agent.run("go").await.unwrap();
    assert_eq!((reply.phase, reply.steps), (condition("`add` was called and 2 steps"), 2));
    let nothing = StopWhen::all([]);
    let (agent, _) = crate::model::stopping::agent(vec![call(1), Turn::say("end")]);
    assert_eq!(
        agent.stop_when(nothing).run("go").await.unwrap().phase,
        Phase::Finished,
        "an empty list of conditions stops nothing"
    );
}

#[tokio::test]
async fn a_condition_that_panics_stops_the_run() {
    let (agent, _) = agent(vec![call(1), Turn::say("end")]);
    let mut session = agent.stop_when(StopWhen::custom("mine", |_| panic!("oh no"))).session();
    assert_eq!(session.send("go").await.unwrap().phase, condition("the condition `mine` panicked"));
    assert_eq!(session.resume().await.unwrap().text, "end");
}

#[tokio::test]
async fn a_run_keeps_its_token_budget() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let (agent, _) = agent(vec![call(1), call(2), call(3), Turn::say("end")]);
    let agent = agent.max_tokens(30).store(Arc::clone(&store)).operator(Suspend);
    let mut session = agent.session();
    let reply = session.send("go").await.unwrap();
    let limit = "the model may use 30 tokens, and has used them".to_owned();
    assert_eq!((reply.phase.clone(), reply.steps), (Phase::Stopped(StopReason::LimitReached(limit)), 2));
    assert_eq!(reply.by_model(), [("scripted", usage(20, 10))]);
    // Another process has an agent without limits, and uses the limit in the record.
    let mut other = agent.options(|options| options.limits.tokens = None).open(session.id()).await.unwrap();
    assert_eq!(other.run().options().limits.tokens, Some(30));
    let reply = other.resume().await.unwrap();
    assert_eq!(reply.text, "end", "a resumed run has its whole budget again, as after a prompt");
    assert_eq!(reply.usage, usage(30, 15), "the usage is counted since the prompt");
    assert_eq!(reply.turn_usages.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_works_too_long_is_stopped_and_can_be_resumed() {
    let turns = vec![call(1), Turn::call("sleep", "{}").then_call("pay", "{}"), Turn::say("end")];
    let (agent, _) = agent(turns);
    let mut session = agent.max_time(Duration::from_mins(1)).session();
    let reply = session.send("go").await.unwrap();
    assert_eq!(reply.phase, Phase::Stopped(StopReason::TimedOut("the run took more than 60 s".into())));
    assert!(matches!(session.run().phase(), tool_runtime::run::Phase::Stopped(StopReason::TimedOut(_))));
    assert!(session.run().calls().iter().all_and_some(|call| call.result().is_some()), "every call has ended");
    assert_eq!(session.resume().await.unwrap().text, "end");
}

#[tokio::test(start_paused = true)]
async fn waiting_for_a_person_does_not_count_as_work() {
    let (agent, _) = agent(vec![Turn::call("pay", "{}"), Turn::say("end")]);
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let agent = agent.max_time(Duration::from_millis(150)).store(store).operator(Suspend);
    let mut session = agent.session();
    assert_eq!(session.send("go").await.unwrap().phase, Phase::Suspended);
    tokio::time::sleep(Duration::from_millis(250)).await;
    let open = session.interrupts().next().unwrap().id.clone();
    session.decide(&open, tool_runtime::run::Decision::Approve, "").await.unwrap();
    assert_eq!(session.resume().await.unwrap().phase, Phase::Finished);
}
