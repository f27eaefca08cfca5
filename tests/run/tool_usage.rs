//! Tests of tools that ask a model by themselves: their tokens count like those of the agent's own model.

use std::sync::Arc;

use serde_json::json;
use tool_runtime::{
    Agent, Context, Failure, Toolset,
    agent::StopWhen,
    message::Usage,
    model::{ScriptedModel, Turn},
    run::{Phase, StopReason},
    store::MemoryStore,
    tool, toolset,
};

use crate::kit::{Effects, OnBackend as _, agent, sleep_millis, stores, tool_results, wait_until};

fn tokens(count: u64) -> Usage {
    Usage { input_tokens: count, ..Usage::default() }
}

/// Translates a text with a model of its own.
#[tool(effect = read_only)]
async fn translate(
    /// The number of tokens that this takes.
    cost: u64,
    #[context] cx: &Context,
) -> Result<&'static str, Failure> {
    cx.add_usage("small", tokens(cost)).await?;
    Ok("translated")
}

/// Summarises with a model of its own in a step, and then takes a minute at its first start.
#[tool(resumable)]
async fn summarise(#[state] effects: &Effects, #[context] cx: &Context) -> Result<(), Failure> {
    let ask = async {
        effects.record("asked");
        cx.add_usage("small", tokens(7)).await
    };
    cx.step("ask", ask).await?;
    effects.record("after");
    if effects.count("after") == 1 {
        sleep_millis(60_000).await;
    }
    Ok(())
}

fn translation(cost: u64) -> Turn {
    Turn::call("translate", json!({ "cost": cost })).with_usage(tokens(1))
}

#[tokio::test]
async fn the_tokens_of_a_tool_are_in_the_reply_under_their_model() {
    let model = ScriptedModel::new([translation(10), translation(20), Turn::say("done")]);
    let mut session = Agent::new(model).tools(toolset!(translate)).anywhere().session();
    let reply = session.send("go").await.unwrap();
    assert_eq!(reply.usage, tokens(32));
    assert_eq!(reply.by_model(), [("scripted", tokens(2)), ("small", tokens(30))]);
}

#[tokio::test]
async fn limits_and_conditions_count_the_tokens_of_a_tool() {
    let model = || ScriptedModel::new([translation(100), Turn::say("never")]);
    let limited = Agent::new(model()).tools(toolset!(translate)).max_tokens(50).anywhere();
    let reply = limited.run("go").await.unwrap();
    assert!(matches!(reply.phase, Phase::Stopped(StopReason::LimitReached(_))), "{:?}", reply.phase);
    let price = |model: &str, used: Usage| {
        if model == "small" { f64::from(u32::try_from(used.input_tokens).unwrap()) } else { 0.0 }
    };
    let priced = Agent::new(model()).tools(toolset!(translate)).stop_when(StopWhen::cost(99.0, price)).anywhere();
    let reply = priced.run("go").await.unwrap();
    assert!(matches!(reply.phase, Phase::Stopped(StopReason::Condition(_))), "{:?}", reply.phase);
}

#[tokio::test]
async fn a_tool_inside_of_an_agent_uses_the_tokens_of_the_outer_run() {
    let model = ScriptedModel::new([translation(100), Turn::say("never")]);
    let inner = Agent::new(model).tools(toolset!(translate)).as_tool("helper", "Helps.");
    let outer = ScriptedModel::new([Turn::call("helper", json!({"task": "go"})), Turn::say("done")]);
    let agent = Agent::new(outer).tools(Toolset::new().with(inner).unwrap()).max_tokens(50).anywhere();
    let mut session = agent.session();
    let reply = session.send("go").await.unwrap();
    assert_eq!(reply.usage, tokens(101));
    assert_eq!(reply.by_model().last(), Some(&("small", tokens(100))));
    // The inner run stopped at once, because the tokens were counted while it ran.
    assert!(tool_results(&session)[0].contains("the model may use 50 tokens"), "{:?}", tool_results(&session));
    assert!(matches!(reply.phase, Phase::Stopped(StopReason::LimitReached(_))), "{:?}", reply.phase);
}

#[tokio::test]
async fn a_restart_counts_no_request_twice_that_it_does_not_repeat() {
    for store in stores().await {
        let effects = Effects::new();
        let turns = [Turn::call("summarise", json!({})), Turn::say("done")];
        let agent = agent(&store, toolset!(Arc::clone(&effects); summarise), turns);
        let mut session = agent.session();
        tokio::select! {
            sent = session.send("go") => panic!("the call returned: {sent:?}"),
            () = wait_until(|| effects.count("after") == 1) => {}
        }
        let reply = session.resume().await.unwrap();
        assert_eq!((reply.phase, effects.count("asked"), effects.count("after")), (Phase::Finished, 1, 2));
        assert_eq!((reply.usage, agent.open(session.id()).await.unwrap().run().usage()), (tokens(7), tokens(7)));
    }
}

#[tokio::test]
async fn a_conversation_adds_up_the_tokens_of_all_prompts() {
    let model = ScriptedModel::new([translation(10), Turn::say("one"), Turn::say("two").with_usage(tokens(5))]);
    let agent = Agent::new(model).tools(toolset!(translate)).store(MemoryStore::new());
    let mut session = agent.session();
    session.send("go").await.unwrap();
    assert_eq!(session.run().total_usage(), tokens(11));
    let reply = session.send("go on").await.unwrap();
    assert_eq!((reply.usage, session.run().total_usage()), (tokens(5), tokens(16)));
    let opened = agent.open(session.id()).await.unwrap();
    assert_eq!(opened.run().total_usage(), tokens(16));
}

#[tokio::test]
async fn without_a_run_the_tokens_count_for_nobody() {
    let output = toolset!(translate).call("translate", r#"{"cost": 3}"#, &Context::new("1")).await.unwrap();
    assert_eq!(output.as_json(), Some(r#""translated""#));
}
