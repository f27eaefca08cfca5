//! Tests of stops and conditions of an outer run, which also hold for the runs inside of its calls.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::stream::BoxStream;
use serde_json::json;
use tool_runtime::{
    Agent, Toolset,
    agent::{Reply, Session, StopWhen},
    model::{Delta, FunctionModel, Model, ModelError, Request, ScriptedModel, Turn, Usage},
    run::{Phase, StopReason},
    store::{MemoryStore, Store},
};

use super::call;
use crate::kit::{Effects, OnBackend as _, agent, sleep_millis, stores, tool_results, tools, wait_until};

/// A model with a name.
struct Named<M>(&'static str, M);

impl<M: Model> Model for Named<M> {
    fn name(&self) -> &str {
        self.0
    }

    fn stream<'a>(&'a self, request: Request<'a>) -> BoxStream<'a, Result<Delta, ModelError>> {
        self.1.stream(request)
    }
}

fn used(turn: Turn, tokens: u64) -> Turn {
    turn.with_usage(Usage { input_tokens: tokens, ..Usage::default() })
}

fn note() -> Turn {
    Turn::call("note", json!({"text": "x"}))
}

/// Returns an agent of the model `name` that makes a note in each turn, for ever, and uses 100 tokens for it.
fn endless(name: &'static str, effects: &Arc<Effects>) -> Agent {
    Agent::new(Named(name, FunctionModel::new(|_| used(note(), 100)))).tools(tools(effects)).max_steps(500)
}

/// Runs an agent of the model `outer`, with the agent `inner` as its tool, until `condition` holds.
async fn run_until(inner: Agent, condition: StopWhen) -> (Session, Reply) {
    let tools = Toolset::new().with(inner.as_tool("helper", "Helps.")).unwrap();
    let model = Named("outer", ScriptedModel::new([used(call("helper"), 1), used(Turn::say("done"), 1)]));
    let mut session = Agent::new(model).tools(tools).stop_when(condition).anywhere().session();
    let reply = session.send("go").await.unwrap();
    (session, reply)
}

fn never() -> StopWhen {
    StopWhen::custom("never", |_| false)
}

fn condition(name: &str) -> Phase {
    Phase::Stopped(StopReason::Condition(name.to_owned()))
}

#[tokio::test]
async fn the_usage_of_inner_runs_has_their_models_names() {
    let effects = Effects::new();
    let deepest = Agent::new(Named("deepest", ScriptedModel::new([used(Turn::say("ok"), 1000)])));
    let turns = [used(note(), 10), used(call("deepest"), 20), used(Turn::say("ok"), 30)];
    let tools = tools(&effects).with(deepest.as_tool("deepest", "Digs.")).unwrap();
    let inner = Agent::new(Named("inner", ScriptedModel::new(turns))).tools(tools);
    let (session, reply) = run_until(inner, never()).await;
    let by_model: Vec<_> = reply.by_model().into_iter().map(|(name, usage)| (name, usage.input_tokens)).collect();
    assert_eq!(by_model, [("outer", 2), ("inner", 60), ("deepest", 1000)]);
    assert_eq!(reply.usage.input_tokens, 1062);
    assert_eq!(session.run().turn_usages().len(), 6, "one for each turn, with the model of each");
}

#[tokio::test]
async fn a_cost_is_that_of_the_inner_models_and_ends_inner_runs() {
    let price = |model: &str, usage: Usage| match model {
        "inner" => f64::from(u32::try_from(usage.input_tokens).unwrap()),
        _ => 0.0,
    };
    let conditions = [
        (StopWhen::cost(250.0, price), "a cost of 250"),
        (StopWhen::tokens(250), "250 tokens"),
        (StopWhen::steps(9).or(StopWhen::tokens(250)), "250 tokens"),
        (StopWhen::steps(1).and(StopWhen::tokens(250)), "1 steps and 250 tokens"),
        (StopWhen::custom("mine", |run| run.usage().input_tokens >= 250), "mine"),
    ];
    for (stops, name) in conditions {
        let effects = Effects::new();
        let (session, reply) = run_until(endless("inner", &effects), stops).await;
        assert_eq!((effects.all().len(), reply.phase), (3, condition(name)), "{name}");
        assert_eq!(tool_results(&session), [format!("the agent was stopped: {name}")]);
    }
}

#[tokio::test]
async fn a_condition_that_held_before_lets_the_calls_of_the_step_end() {
    let effects = Effects::new();
    let inner = Agent::new(ScriptedModel::new([used(note(), 10), used(note(), 10), Turn::say("ok")]));
    let (session, reply) = run_until(inner.tools(tools(&effects)), StopWhen::steps(1)).await;
    assert_eq!((reply.phase, tool_results(&session)), (condition("1 steps"), vec!["ok".to_owned()]));

    let effects = Effects::new();
    let stops = StopWhen::steps(1).or(StopWhen::tokens(250));
    run_until(endless("inner", &effects), stops).await;
    assert_eq!(effects.all().len(), 3, "but the tokens are limited in this step, too");
}

#[tokio::test]
async fn a_turn_whose_calls_all_fail_is_the_last_one() {
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    let wrong = FunctionModel::new(move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
        used(Turn::call("no_such_tool", json!({})), 100)
    });
    run_until(Agent::new(wrong).max_steps(500), StopWhen::tokens(250)).await;
    assert_eq!(asked.load(Ordering::SeqCst), 3);
}

/// Returns an agent whose steps take a moment, and the number of its steps.
fn slow(name: &'static str) -> (Agent, Arc<AtomicUsize>) {
    let steps = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&steps);
    let wait = tool_runtime::toolset::RuntimeTool::new("wait", "Waits.").handler(|_, _| async {
        sleep_millis(50).await;
        Ok(json!(null))
    });
    let model = FunctionModel::new(move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
        Turn::call("wait", json!({}))
    });
    (Agent::new(Named(name, model)).tools(Toolset::new().with(wait.unwrap()).unwrap()).max_steps(500), steps)
}

const STOPPED: &str = "the agent was stopped: a stop of the whole run was requested";

#[tokio::test]
async fn a_stop_ends_inner_runs_at_every_depth_after_their_step() {
    for depth in 1..4 {
        let (mut inner, steps) = slow("inner");
        for _ in 1..depth {
            let tool = inner.as_tool("helper", "Helps.");
            inner = Agent::new(ScriptedModel::new([call("helper"), Turn::say("done")]))
                .tools(Toolset::new().with(tool).unwrap());
        }
        let tools = Toolset::new().with(inner.as_tool("helper", "Helps.")).unwrap();
        let turns = [call("helper"), Turn::say("done")];
        let mut session = Agent::new(ScriptedModel::new(turns)).tools(tools).anywhere().session();
        let handle = session.handle();
        let (reply, taken) = tokio::join!(session.send("go"), async {
            wait_until(|| steps.load(Ordering::SeqCst) >= 3).await;
            handle.stop();
            steps.load(Ordering::SeqCst)
        });
        let more = steps.load(Ordering::SeqCst) - taken;
        let ended = (reply.unwrap().phase, tool_results(&session));
        let stopped = (Phase::Stopped(StopReason::Requested), vec![STOPPED.to_owned()]);
        assert_eq!(ended, stopped, "at depth {depth}, with {more} steps after the stop");
        // On an engine, the driver first has to read the entry of the stop. Without a stop, there are 500 steps.
        assert!(more <= 100, "{more} steps came after the stop");
    }
}

#[tokio::test]
async fn a_stop_from_another_process_ends_inner_runs() {
    for store in stores().await {
        let (inner, steps) = slow("inner");
        let tools = Toolset::new().with(inner.as_tool("helper", "Helps.")).unwrap();
        let agent = agent(&store, tools, [call("helper"), Turn::say("done")]);
        let mut session = agent.session();
        let id = session.id().clone();
        let (reply, _) = tokio::join!(session.send("go"), async {
            wait_until(|| steps.load(Ordering::SeqCst) >= 2).await;
            agent.stop(&id, "").await.unwrap()
        });
        assert_eq!(reply.unwrap().phase, Phase::Stopped(StopReason::Requested));
        assert!(steps.load(Ordering::SeqCst) < 200, "the driver reads the store within about a second");
        assert_eq!(tool_results(&session), [STOPPED]);
    }
}

#[tokio::test]
async fn a_stop_holds_after_a_takeover() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let outer = |store: &Arc<dyn Store>, inner: Agent| {
        let tools = Toolset::new().with(inner.as_tool("helper", "Helps.")).unwrap();
        let agent = Agent::new(ScriptedModel::new([call("helper"), Turn::say("done")])).tools(tools);
        agent.lease_time(Duration::from_millis(200)).store(Arc::clone(store))
    };
    let (inner, steps) = slow("inner");
    let first = outer(&store, inner);
    let mut session = first.session();
    let id = session.id().clone();
    tokio::select! {
        _ = session.send("go") => panic!("the agent goes on for ever"),
        () = wait_until(|| steps.load(Ordering::SeqCst) >= 2) => {}
    }
    drop((session, first));
    sleep_millis(300).await;
    let (inner, steps) = slow("inner");
    let second = outer(&store, inner);
    second.stop(&id, "").await.unwrap();
    let mut session = second.open(&id).await.unwrap();
    assert_eq!(session.resume().await.unwrap().phase, Phase::Stopped(StopReason::Requested));
    assert!(steps.load(Ordering::SeqCst) <= 1, "{steps:?}");
    assert_eq!(tool_results(&session), [STOPPED]);
}

#[tokio::test]
async fn an_inner_run_does_not_begin_after_a_stop() {
    let (inner, steps) = slow("inner");
    let tools = Toolset::new().with(inner.as_tool("helper", "Helps.")).unwrap();
    let mut session = Agent::new(ScriptedModel::new([call("helper"), Turn::say("done")])).tools(tools).session();
    session.handle().stop();
    assert_eq!(session.send("go").await.unwrap().phase, Phase::Stopped(StopReason::Requested));
    assert_eq!(steps.load(Ordering::SeqCst), 0);
    assert_eq!(tool_results(&session), ["the agent did not begin: a stop of the whole run was requested"]);
}
