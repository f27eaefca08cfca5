//! Tests of a subagent's limits, taint, cancellation and failures in the outer run.

use std::sync::Arc;

use serde_json::json;
use tool_runtime::{
    Agent, Context, Toolset,
    model::{Delta, ModelError, ModelErrorKind, ScriptedModel, ScriptedTurn, Turn, Usage},
    run::{CallResult, OnTaint, Phase, StopReason},
};

use super::{call, inner_tools, outer_agent};
use crate::kit::{Effects, OnBackend as _, agent, call_results, sleep_millis, store, tool_results, tools, wait_until};

#[tokio::test]
async fn a_subagents_calls_and_tokens_count_for_the_outer_run() {
    let effects = Effects::new();
    let used = |turn: Turn, tokens| turn.with_usage(Usage { input_tokens: tokens, ..Usage::default() });
    let notes = |count: usize| {
        (0..count).fold(Turn::default(), |turn, at| turn.then_call("note", json!({"text": at.to_string()})))
    };
    let inner = [used(notes(2), 10), used(notes(4), 100), used(Turn::say("ok"), 1000)];
    let agent = outer_agent(&store(), &effects, inner).options(|options| options.limits.calls = 5).anywhere();
    let mut session = agent.session();
    let reply = session.send("go").await.unwrap();
    assert_eq!(reply.usage.input_tokens, 1110);
    assert_eq!(effects.all().len(), 4, "the call of the agent is one of the five");
}

#[tokio::test]
async fn a_subagents_failed_turns_count_for_the_outer_run() {
    let effects = Effects::new();
    let usage = Usage { input_tokens: 10, ..Usage::default() };
    let failed = vec![Ok(Delta::Usage(usage)), Err(ModelError::new(ModelErrorKind::Unavailable, "down"))];
    let inner = [ScriptedTurn::from(failed), Turn::say("ok").with_usage(usage).into()];
    let inner = Agent::new(ScriptedModel::new(inner)).model_retries(1).as_tool("helper", "Helps.");
    let tools = tools(&effects).with(inner).unwrap();
    let mut session = agent(&store(), tools, [call("helper"), Turn::say("done")]).session();
    let reply = session.send("go").await.unwrap();
    assert_eq!(reply.usage.input_tokens, 20);
    let limits = &session.run().options().limits;
    assert_eq!(session.run().remaining().retries, limits.retries - 1);
}

#[tokio::test]
async fn the_outer_runs_remaining_tokens_limit_the_inner_run() {
    let effects = Effects::new();
    let note = |tokens| {
        let turn = Turn::call("note", json!({"text": "x"}));
        turn.with_usage(Usage { input_tokens: tokens, ..Usage::default() })
    };
    let agent = outer_agent(&store(), &effects, [note(10), note(100), note(1000)]);
    let mut session = agent.options(|options| options.limits.tokens = Some(50)).anywhere().session();
    let reply = session.send("go").await.unwrap();
    assert!(matches!(reply.phase, Phase::Stopped(StopReason::LimitReached(_))), "{:?}", reply.phase);
    assert_eq!(reply.usage.input_tokens, 110, "the inner run stops when it has used the tokens");
    assert!(tool_results(&session)[0].contains("the model may use 50 tokens"), "{:?}", tool_results(&session));
}

#[tokio::test]
async fn taint_goes_both_ways() {
    let effects = Effects::new();
    let inner = Agent::new(ScriptedModel::new([Turn::call("fetch", json!({})), Turn::say("read")]));
    let tainting = inner.tools(inner_tools(&effects)).as_tool("tainting", "Reads.");
    let strict = Agent::new(ScriptedModel::new([Turn::call("note", json!({"text": "x"})), Turn::say("noted")]));
    let strict = strict.tools(tools(&effects)).options(|options| options.on_taint = OnTaint::Ask);
    let tools = Toolset::new().with(tainting).unwrap().with(strict.as_tool("strict", "Notes.")).unwrap();
    let agent = agent(&store(), tools, [call("tainting"), call("strict"), Turn::say("ok")]);
    let mut session = agent.session();
    assert_eq!(session.send("go").await.unwrap().phase, Phase::Suspended);
    assert_eq!(session.run().taint(), ["tainting"]);
    let open = session.interrupts().next().unwrap();
    assert_eq!((open.shown.tool.as_str(), &open.shown.tainted_by[..]), ("note", &["tainting".to_owned()][..]));
}

#[tokio::test]
async fn cancelling_the_outer_run_drops_the_work_inside() {
    let effects = Effects::new();
    let slow = Effects::new();
    let seen = Arc::clone(&slow);
    let wait = tool_runtime::toolset::RuntimeTool::new("wait", "Waits.").handler(move |_, _| {
        let seen = Arc::clone(&seen);
        async move {
            seen.record("begins");
            sleep_millis(60_000).await;
            Ok(json!(null))
        }
    });
    let inner = Agent::new(ScriptedModel::new([Turn::call("wait", json!({})), Turn::say("ok")]));
    let inner = inner.tools(tools(&effects).with(wait.unwrap()).unwrap()).as_tool("helper", "Helps.");
    let stop = tool_runtime::Cancellation::new();
    let agent = Agent::new(ScriptedModel::new([call("helper")])).tools(Toolset::new().with(inner).unwrap());
    let mut session = agent.context(Context::new("").with_cancellation(stop.clone())).anywhere().session();
    let (ended, ()) = tokio::join!(session.send("go"), async {
        wait_until(|| slow.count("begins") == 1).await;
        stop.cancel();
    });
    assert!(matches!(ended, Err(tool_runtime::AgentError::Cancelled)));
    assert!(matches!(call_results(&session)[..], [CallResult::Cancelled]));
}

#[tokio::test]
async fn a_failed_inner_model_is_reported_and_continues_where_it_was() {
    let effects = Effects::new();
    let answers: Vec<ScriptedTurn> = vec![
        Turn::call("note", json!({"text": "one"})).into(),
        ModelError::new(ModelErrorKind::Unavailable, "down").into(),
        Turn::say("noted").into(),
    ];
    let inner = Agent::new(ScriptedModel::new(answers)).tools(tools(&effects)).as_tool("helper", "Helps.");
    let tools = Toolset::new().with(inner.options(|options| options.retries = 1)).unwrap();
    let mut session = agent(&store(), tools, [call("helper"), Turn::say("done")]).session();
    session.send("go").await.unwrap();
    assert_eq!((tool_results(&session), effects.count("note one")), (vec!["noted".to_owned()], 1));
}
