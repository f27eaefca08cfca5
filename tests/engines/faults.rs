//! Tests of faults that an engine's runs must survive. Each engine includes this file beside a module `engine`: the server, and
//! processes that drive runs.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde_json::json;
use tokio::sync::Notify;
use tool_runtime::{
    Agent, AgentError, Effect, Part, Toolset,
    agent::{Decision, Suspend},
    model::{FunctionModel, Turn},
    run::{CallResult, InterruptId, InterruptKind, Phase, RunId, SupersededBy, Timestamp},
    store::{Append, MemoryStore, Store as _, StoreError},
    test::TestClock,
    tool, toolset,
    toolset::RuntimeTool,
};

use super::engine::{self, Service, kill_server, start_server};
use crate::ALONE;

/// The recorded effects of tools, and the signals of a call under way.
#[derive(Debug, Default)]
struct World {
    effects: Mutex<Vec<String>>,
    has_begun: Notify,
    may_end: Notify,
}

impl World {
    fn new() -> Arc<Self> {
        Arc::default()
    }

    fn record(&self, what: impl Into<String>) {
        self.effects.lock().unwrap().push(what.into());
    }

    fn effects(&self) -> Vec<String> {
        self.effects.lock().unwrap().clone()
    }
}

/// Pays. A call must not be repeated.
#[tool(approval = always, effect = destructive)]
async fn pay(
    /// The amount.
    amount: u32,
    #[state] world: &World,
) -> String {
    world.record(format!("pay {amount}"));
    format!("paid {amount}")
}

/// Sends a letter, and waits for the answer. A call must not be repeated.
#[tool]
async fn write(
    /// The number of pages.
    amount: u32,
    #[state] world: &World,
) -> String {
    world.record(format!("write {amount}"));
    world.has_begun.notify_one();
    world.may_end.notified().await;
    "an answer".to_owned()
}

fn tools(world: &Arc<World>) -> Toolset {
    toolset!(Arc::clone(world); pay, write)
}

/// Returns an agent of these tools, whose model calls the one that the prompt names, and then says "done".
fn agent(tools: Toolset) -> Agent {
    let model = FunctionModel::new(|request| match request.messages {
        [tool_runtime::Message::User { content }] => Turn::call(content[0].as_text().unwrap(), json!({ "amount": 5 })),
        _ => Turn::say("done"),
    });
    Agent::new(model).tools(tools).operator(Suspend)
}

/// Starts a run that waits for the approval of a payment.
async fn start_waiting(agent: &Agent) -> (RunId, InterruptId) {
    let mut session = agent.session();
    assert_eq!(session.send("pay").await.unwrap().phase, Phase::Suspended);
    (session.id().clone(), session.interrupts().next().unwrap().id.clone())
}

/// Resumes a run to its end. Returns the results of its calls.
async fn finish(agent: &Agent, id: &RunId) -> Vec<CallResult> {
    let mut session = agent.open(id).await.unwrap();
    assert_eq!(session.resume().await.unwrap().phase, Phase::Finished);
    session.run().calls().iter().map(|call| call.result().unwrap().clone()).collect()
}

/// Returns the error, or `ok`.
fn outcome<T>(result: Result<T, AgentError>) -> String {
    result.map_or_else(|error| error.to_string(), |_| "ok".to_owned())
}

#[track_caller]
fn assert_unavailable<T: std::fmt::Debug>(result: &Result<T, AgentError>) {
    assert!(matches!(result, Err(AgentError::Store(StoreError::Unavailable(_)))), "{result:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_stops_during_a_call_causes_no_second_effect() {
    let _alone = ALONE.lock().await;
    let world = World::new();
    let _service = Service::start(agent(tools(&world)));
    let mut session = agent(tools(&world)).store(engine::connect().await).session();
    let sent = tokio::spawn(async move { (session.send("write").await, session) });
    world.has_begun.notified().await;
    kill_server();
    let (sent, mut session) = sent.await.unwrap();
    assert_unavailable(&sent);
    start_server();
    // If the call is still under way, it ends now.
    world.may_end.notify_one();
    let mut reply = session.resume().await.unwrap();
    if reply.phase == Phase::Suspended {
        let open = session.interrupts().next().unwrap().clone();
        assert_eq!(open.kind, InterruptKind::Reconcile);
        session.decide(&open.id, Decision::Respond { output: json!("an answer") }, "").await.unwrap();
        reply = session.resume().await.unwrap();
    }
    assert_eq!((reply.phase, reply.text.as_str()), (Phase::Finished, "done"));
    assert_eq!(world.effects(), ["write 5"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_stops_while_a_call_waits_receives_the_decision_later() {
    let _alone = ALONE.lock().await;
    let world = World::new();
    let _service = Service::start(agent(tools(&world)));
    let front = agent(tools(&world)).store(engine::connect().await);
    let (id, open) = start_waiting(&front).await;
    kill_server();
    assert_unavailable(&front.decide(&id, &open, Decision::Approve, "").await);
    assert_unavailable(&front.open(&id).await);
    assert_unavailable(&front.session().send("pay").await);
    start_server();
    assert!(world.effects().is_empty());
    for _ in 0..2 {
        front.decide(&id, &open, Decision::Approve, "").await.unwrap();
    }
    assert!(finish(&front, &id).await[0].is_success());
    assert_eq!(world.effects(), ["pay 5"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn entries_of_another_version_are_errors_that_name_their_place() {
    let _alone = ALONE.lock().await;
    let world = World::new();
    let _service = Service::start(agent(tools(&world)));
    let store = engine::connect().await;
    let front = agent(tools(&world)).store(store.clone());
    for (text, part) in [
        (r#"{"v":1,"data":[{"entry":"teleported"}]}"#, "unknown variant `teleported`"),
        (r#"{"v":2,"data":[]}"#, "written in version 2 of the stored form, and this program reads 1 to 1; update it"),
        (r#"{"v":1,"data":[{"#, "EOF"),
        ("\u{1b}", "expected value"),
    ] {
        let (id, open) = start_waiting(&front).await;
        let mut session = front.open(&id).await.unwrap();
        let rev = session.run().rev();
        let mut append = Append::new(rev, &[], session.run(), None);
        (append.count, append.text) = (1, text.to_owned());
        // The server lets the run go on, where the driver finds the entry.
        append.head.is_active = true;
        store.append(&id, append).await.unwrap();
        let decided = front.decide(&id, &open, Decision::Approve, "").await;
        for error in [session.resume().await.map(drop), front.open(&id).await.map(drop), decided.map(drop)] {
            assert!(matches!(&error, Err(AgentError::Store(StoreError::Record(_)))), "{text}: {error:?}");
            let error = outcome(error);
            assert!(error.contains(part), "{error}");
            assert!(text.starts_with(r#"{"v":2"#) || error.contains(&format!("after {rev} entries")), "{error}");
        }
        assert!(store.delete(&id).await.unwrap());
    }
    assert!(world.effects().is_empty());
    // The service goes on with other runs.
    let (id, open) = start_waiting(&front).await;
    front.decide(&id, &open, Decision::Approve, "").await.unwrap();
    assert!(finish(&front, &id).await[0].is_success());
}

/// Sends signals to a run that has ended. Returns the outcomes.
async fn send_late_signals(agent: Agent) -> Vec<String> {
    let (id, open) = start_waiting(&agent).await;
    agent.decide(&id, &open, Decision::Approve, "").await.unwrap();
    assert!(finish(&agent, &id).await[0].is_success());
    let rev = agent.open(&id).await.unwrap().run().rev();
    let unknown = "call_9.1".parse().unwrap();
    let outcomes = vec![
        outcome(agent.decide(&id, &open, Decision::Approve, "").await),
        outcome(agent.decide(&id, &open, Decision::deny("late"), "").await),
        outcome(agent.decide(&id, &open, Decision::Approve, "mallory").await),
        outcome(agent.decide(&id, &unknown, Decision::Approve, "").await),
        outcome(agent.steer(&id, vec![Part::text("wait")], "").await),
        outcome(agent.cancel(&id, "").await),
        outcome(agent.stop(&id, "").await),
        outcome(agent.decide(&"nowhere".into(), &open, Decision::Approve, "").await),
    ];
    let session = agent.open(&id).await.unwrap();
    assert_eq!((session.run().phase(), session.run().rev()), (Phase::Finished, rev));
    outcomes
}

#[tokio::test(flavor = "multi_thread")]
async fn signals_for_an_ended_run_have_the_outcomes_of_a_store() {
    let _alone = ALONE.lock().await;
    let world = World::new();
    let _service = Service::start(agent(tools(&world)));
    let store = send_late_signals(agent(tools(&World::new())).store(MemoryStore::new())).await;
    let engine = send_late_signals(agent(tools(&world)).store(engine::connect().await)).await;
    assert_eq!(engine, store);
    assert_eq!(engine.iter().filter(|outcome| *outcome != "ok").count(), 5, "{engine:#?}");
    assert_eq!(world.effects(), ["pay 5"]);
}

/// Lets two processes decide, whose clocks are half an hour behind and ahead of this machine's. They decide about an approval
/// without expiry, and about one that expires in ten minutes. Returns all outcomes.
async fn decide_on_two_clocks(agent: &Agent) -> Vec<String> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let half = Duration::from_mins(30);
    let [behind, ahead] = [now.saturating_sub(half), now + half].map(|time| {
        let time = Timestamp(u64::try_from(time.as_millis()).unwrap());
        agent.clone().clock(&TestClock::at(time))
    });
    let mut outcomes = Vec::new();
    let (id, open) = start_waiting(agent).await;
    let decide = |by: &Agent, decision| {
        let (by, id, open) = (by.clone(), id.clone(), open.clone());
        async move { outcome(by.decide(&id, &open, decision, "").await) }
    };
    let (one, other) = tokio::join!(decide(&behind, Decision::Approve), decide(&ahead, Decision::Approve));
    outcomes.extend([one, other]);
    assert!(finish(agent, &id).await[0].is_success());
    for by in [&behind, &ahead] {
        outcomes.extend([decide(by, Decision::Approve).await, decide(by, Decision::deny("late")).await]);
    }
    let expires = agent.clone().options(|options| options.approval_expiry = Some(Duration::from_mins(10)));
    let (id, open) = start_waiting(&expires).await;
    for by in [&ahead, &behind] {
        outcomes.push(outcome(by.decide(&id, &open, Decision::Approve, "").await));
    }
    outcomes
}

#[tokio::test(flavor = "multi_thread")]
async fn two_processes_whose_clocks_are_an_hour_apart_decide_once() {
    let _alone = ALONE.lock().await;
    let world = World::new();
    let _service = Service::start(agent(tools(&world)));
    let store = decide_on_two_clocks(&agent(tools(&World::new())).store(MemoryStore::new())).await;
    let engine = decide_on_two_clocks(&agent(tools(&world)).store(engine::connect().await)).await;
    assert_eq!(engine, store);
    assert_eq!(engine[..2], ["ok", "ok"]);
    assert_eq!(world.effects()[0], "pay 5");
}

/// Returns the agent of a build, with its version of the payment tool.
fn build_agent(world: &Arc<World>, version: &'static str) -> Agent {
    let world = Arc::clone(world);
    let limit = if version == "1" { 100 } else { 50 };
    let amount = json!({ "type": "integer", "maximum": limit });
    let tool = RuntimeTool::new("pay", "Pays.")
        .input(json!({ "type": "object", "properties": { "amount": amount }, "required": ["amount"] }))
        .require_approval()
        .effect(Effect::Destructive)
        .handler(move |arguments, _| {
            world.record(format!("{version} pays {}", arguments["amount"]));
            async { Ok(json!("paid")) }
        });
    agent(Toolset::new().with(tool.unwrap()).unwrap())
}

/// Replaces the build that drives, between the question and a decision by a process of the build `decides`. Returns the outcome,
/// the results of the calls, and the effects.
async fn replace_build(
    on_engine: bool,
    next: &'static str,
    decides: &'static str,
) -> (String, Vec<CallResult>, Vec<String>) {
    let world = World::new();
    let memory = Arc::new(MemoryStore::new());
    let of = async |version| {
        let agent = build_agent(&world, version);
        if on_engine { agent.store(engine::connect().await) } else { agent.store(Arc::clone(&memory)) }
    };
    let first = on_engine.then(|| Service::start(build_agent(&world, "1")));
    let (id, open) = start_waiting(&of("1").await).await;
    drop(first);
    let _second = on_engine.then(|| Service::start(build_agent(&world, next)));
    let decided = of(decides).await.decide(&id, &open, Decision::Approve, "").await;
    let results = finish(&of(next).await, &id).await;
    (outcome(decided), results, world.effects())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_build_takes_runs_over_and_a_changed_tool_is_superseded() {
    let _alone = ALONE.lock().await;
    assert_eq!(replace_build(true, "1", "1").await.2, ["1 pays 5"]);
    let changed = replace_build(true, "2", "1").await;
    assert_eq!(changed.1, [CallResult::Superseded { by: SupersededBy::ToolChanged }]);
    for (next, decides) in [("1", "1"), ("2", "1")] {
        assert_eq!(
            replace_build(true, next, decides).await,
            replace_build(false, next, decides).await,
            "{next} {decides}"
        );
    }
}
