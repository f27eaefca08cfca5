//! Tests of budgets, which several agents and runs share.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::SeqCst},
};

use tool_runtime::{
    Agent, Context, Toolset,
    agent::{Budget, Compaction},
    model::{FunctionModel, ScriptedModel, Turn, Usage},
    run::{Phase, StopReason},
    tool, toolset,
};

fn used(tokens: u64) -> Usage {
    Usage { input_tokens: tokens, ..Usage::default() }
}

/// Returns an agent that says something in each turn, which uses 10 tokens, and the number of requests to it.
fn talker() -> (Agent, Arc<AtomicUsize>) {
    let requests = Arc::<AtomicUsize>::default();
    let counted = Arc::clone(&requests);
    let model = FunctionModel::new(move |_| {
        counted.fetch_add(1, SeqCst);
        Turn::say("Hello.").with_usage(used(10))
    });
    (Agent::new(model), requests)
}

fn limit_of(phase: Phase) -> String {
    match phase {
        Phase::Stopped(StopReason::LimitReached(limit)) => limit,
        other => panic!("no limit stopped the run: {other:?}"),
    }
}

#[tokio::test]
async fn agents_and_runs_share_a_budget() {
    let budget = Budget::new("trial").tokens(25);
    let ((one, asked_one), (other, asked_other)) = (talker(), talker());
    let (one, other) = (one.budget(&budget).budget(&budget), other.budget(&budget));
    let mut session = one.session();
    session.send("a").await.unwrap();
    other.run("b").await.unwrap();
    session.send("c").await.unwrap();
    assert_eq!((budget.usage().input_tokens, budget.requests_made()), (30, 3));
    let refused = [session.send("d").await.unwrap(), other.run("e").await.unwrap()];
    for reply in refused {
        assert_eq!(limit_of(reply.phase), "the budget `trial` allows 25 tokens, and they are used");
    }
    assert_eq!((asked_one.load(SeqCst), asked_other.load(SeqCst)), (2, 1));
    // Without it, the run goes on.
    session.change_agent(|_| talker().0);
    assert_eq!(session.send("f").await.unwrap().phase, Phase::Finished);
}

/// A limit of requests holds for any number of runs at once.
#[tokio::test(flavor = "multi_thread")]
async fn a_limit_of_requests_is_exact() {
    let budget = Budget::new("trial").requests(7);
    let (agent, asked) = talker();
    let agent = agent.budget(&budget);
    let runs: Vec<_> =
        (0..40).map(|_| agent.clone()).map(|agent| tokio::spawn(async move { agent.run("x").await })).collect();
    let mut finished = 0;
    for run in runs {
        finished += usize::from(run.await.unwrap().unwrap().phase == Phase::Finished);
    }
    assert_eq!((finished, asked.load(SeqCst), budget.requests_made()), (7, 7, 7));
}

#[tokio::test]
async fn a_cost_is_counted_for_each_model() {
    let tokens = |usage: Usage| f64::from(u32::try_from(usage.input_tokens).unwrap());
    let price = move |model: &str, usage| if model == "scripted" { tokens(usage) } else { 100.0 };
    let budget = Budget::new("trial").cost(15.0, price);
    let turn = || Turn::say("x").with_usage(used(8));
    let agent = Agent::new(ScriptedModel::new([turn(), turn(), turn()])).budget(&budget);
    for _ in 0..2 {
        agent.run("x").await.unwrap();
    }
    assert_eq!(budget.spent(), 16.0);
    let limit = limit_of(agent.run("x").await.unwrap().phase);
    assert_eq!(limit, "the budget `trial` allows costs of 15, and 16 are spent");
    // A price that fails spends the budget.
    for price in [(|_, _| panic!("a test")) as fn(&str, Usage) -> f64, |_, _| f64::NAN] {
        let budget = Budget::new("broken").cost(15.0, price);
        let agent = Agent::new(ScriptedModel::new([turn(), turn()])).budget(&budget);
        agent.run("x").await.unwrap();
        limit_of(agent.run("x").await.unwrap().phase);
    }
}

/// Looks something up, by a model of its own.
#[tool(effect = read_only)]
async fn look(#[context] cx: &Context) -> u8 {
    cx.add_usage("own", used(100)).await.unwrap();
    7
}

/// Inner agents, tools that ask a model, and summaries count once, wherever the budget is set.
#[tokio::test]
async fn everything_below_a_run_counts_once() {
    for inner_has_it in [false, true] {
        let budget = Budget::new("trial");
        let inner = Agent::new(ScriptedModel::new([Turn::say("Oslo.").with_usage(used(1000))]));
        let inner = if inner_has_it { inner.budget(&budget) } else { inner };
        let tools = toolset!(look).with(inner.as_tool("expert", "Asks an expert.")).unwrap();
        let summarizer = ScriptedModel::new([Turn::say("They talked.").with_usage(used(10_000))]);
        let model = ScriptedModel::new([
            Turn::call("expert", r#"{"task":"x"}"#).then_call("look", "{}").with_usage(used(1)),
            Turn::say("Done.").with_usage(used(1)),
        ]);
        let agent = Agent::new(model).tools(tools).budget(&budget);
        let mut session = agent.compact(Compaction::by(summarizer).above_bytes(0).keep_turns(1)).session();
        session.add_message(tool_runtime::message::Message::user("a"), "x").await.unwrap();
        session.add_message(tool_runtime::message::Message::assistant("b"), "x").await.unwrap();
        session.add_message(tool_runtime::message::Message::assistant("c"), "x").await.unwrap();
        session.send("x").await.unwrap();
        assert_eq!(budget.usage().input_tokens, 11_102, "{inner_has_it}");
        // Three turns, a summary, and one that failed.
        assert_eq!(budget.requests_made(), 5);
    }
}

/// A budget that is spent in the middle of parallel calls lets them end, and asks nobody any more.
#[tokio::test]
async fn a_budget_spent_in_the_middle_ends_clearly() {
    let budget = Budget::new("trial").tokens(500);
    let inner = Agent::new(FunctionModel::new(|_| Turn::say("Oslo.").with_usage(used(300))));
    let tools = Toolset::new().with(inner.as_tool("expert", "Asks an expert.")).unwrap();
    let four = (0..4).fold(Turn::default(), |turn, _| turn.then_call("expert", r#"{"task":"x"}"#));
    let agent = Agent::new(ScriptedModel::new([four, Turn::say("never")])).tools(tools).budget(&budget);
    let mut session = agent.max_parallel_calls(1).session();
    let limit = limit_of(session.send("x").await.unwrap().phase);
    assert_eq!(limit, "the budget `trial` allows 500 tokens, and they are used");
    let ended: Vec<bool> = session.run().calls().iter().map(|call| call.result().unwrap().is_success()).collect();
    assert_eq!(ended, [true, true, false, false]);
    let text = session.run().calls()[3].result().unwrap().for_people("expert", session.run().calls()[3].extent());
    assert!(text.contains("the agent did not begin: the budget `trial`"), "{text}");
}
