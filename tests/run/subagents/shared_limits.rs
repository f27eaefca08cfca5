//! Tests of the limits that inner runs share: side by side, at every depth, and in another process.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use serde_json::json;
use tool_runtime::{
    Agent, Toolset,
    agent::{Session, Suspend},
    model::{Delta, FunctionModel, ModelError, ModelErrorKind, ScriptedModel, ScriptedTurn, Turn, Usage},
    run::{Phase, RunOptions, StopReason},
    store::Store,
};

use super::call;
use crate::kit::{Effects, OnBackend as _, agent, open_interrupts, payments, store, stores, tool_results, tools};

/// Returns a turn with this number of notes, which uses ten tokens.
fn notes(count: usize) -> Turn {
    let turn = (0..count).fold(Turn::default(), |turn, _| turn.then_call("note", json!({"text": "x"})));
    turn.with_usage(Usage { input_tokens: 10, ..Usage::default() })
}

/// Returns an agent that goes on for ever, with this number of notes in each turn.
fn endless(effects: &Arc<Effects>, count: usize) -> Agent {
    Agent::new(FunctionModel::new(move |_| notes(count))).tools(tools(effects)).max_steps(500)
}

/// Returns a turn that calls the agent `helper` this number of times.
fn calls_of_helper(count: usize) -> Turn {
    (0..count).fold(Turn::default(), |turn, _| turn.then_call("helper", json!({"task": "go"})))
}

/// Runs an agent that calls `inner` as often as given in one turn, within the given limits.
async fn run_outer(inner: Agent, count: usize, change: impl FnOnce(&mut RunOptions)) -> (Session, Phase) {
    let tools = Toolset::new().with(inner.as_tool("helper", "Helps.")).unwrap();
    let turns = [calls_of_helper(count), Turn::say("done")];
    let mut session = Agent::new(ScriptedModel::new(turns)).tools(tools).options(change).anywhere().session();
    let phase = session.send("go").await.unwrap().phase;
    (session, phase)
}

#[tokio::test]
async fn inner_runs_side_by_side_share_the_calls() {
    for in_a_turn in [1, 3] {
        let effects = Effects::new();
        let inner = endless(&effects, in_a_turn).max_steps(20);
        let (session, _) = run_outer(inner, 4, |options| options.limits.calls = 16).await;
        assert_eq!(effects.all().len(), 12, "the other four calls are those of the agents");
        assert_eq!(session.run().remaining().calls, 0);
    }
}

#[tokio::test]
async fn inner_runs_side_by_side_share_the_tokens() {
    let effects = Effects::new();
    let limit = |options: &mut RunOptions| options.limits.tokens = Some(100);
    let (session, phase) = run_outer(endless(&effects, 1), 4, limit).await;
    let used = session.run().usage().input_tokens;
    assert!((100..=140).contains(&used), "only the turns under way exceed the limit: {used}");
    assert!(matches!(phase, Phase::Stopped(StopReason::LimitReached(_))), "{phase:?}");
    for result in tool_results(&session) {
        assert_eq!(result, "the agent was stopped: the model may use 100 tokens, and has used them");
    }
}

#[tokio::test]
async fn an_inner_run_does_not_begin_if_another_has_used_the_tokens() {
    let effects = Effects::new();
    let limits = |options: &mut RunOptions| (options.limits.tokens, options.limits.parallel_calls) = (Some(100), 1);
    let (session, _) = run_outer(endless(&effects, 1), 3, limits).await;
    assert_eq!(session.run().usage().input_tokens, 100);
    let results = tool_results(&session);
    assert!(results[1].starts_with("the agent did not begin: the model may use 100 tokens"), "{results:?}");
}

#[tokio::test]
async fn inner_runs_side_by_side_share_the_retries() {
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    let model = FunctionModel::new(move |_| -> ScriptedTurn {
        counted.fetch_add(1, Ordering::SeqCst);
        vec![Err::<Delta, _>(ModelError::new(ModelErrorKind::Unavailable, "down"))].into()
    });
    let (session, _) = run_outer(Agent::new(model).model_retries(9), 4, |options| options.limits.retries = 5).await;
    assert_eq!(asked.load(Ordering::SeqCst), 4 + 5);
    assert_eq!(session.run().remaining().retries, 0);
}

#[tokio::test]
async fn the_runs_at_every_depth_share_the_limits() {
    let effects = Effects::new();
    let deepest = endless(&effects, 2).max_steps(20).as_tool("helper", "Helps.");
    let turns = FunctionModel::new(|request| match request.messages.len() {
        1 => calls_of_helper(2),
        _ => Turn::say("done"),
    });
    let middle = Agent::new(turns).tools(Toolset::new().with(deepest).unwrap());
    let (session, _) = run_outer(middle, 2, |options| options.limits.calls = 15).await;
    assert_eq!(effects.all().len(), 15 - 2 - 4);
    assert_eq!(session.run().remaining().calls, 0);

    let effects = Effects::new();
    let deepest = endless(&effects, 1).as_tool("helper", "Helps.");
    let middle = Agent::new(ScriptedModel::new([calls_of_helper(3), Turn::say("done")]));
    let middle = middle.tools(Toolset::new().with(deepest).unwrap()).max_tokens(100);
    let (session, phase) = run_outer(middle, 1, |options| options.limits.tokens = Some(1000)).await;
    let used = session.run().usage().input_tokens;
    assert!((100..=130).contains(&used), "the limit of the agent in the middle holds for those below it: {used}");
    assert_eq!(phase, Phase::Finished);
}

#[tokio::test]
async fn an_inner_runs_own_limit_holds_for_it_alone() {
    let effects = Effects::new();
    let inner = endless(&effects, 1).max_steps(20).options(|options| options.limits.calls = 5);
    run_outer(inner, 3, |_| ()).await;
    assert_eq!(effects.all().len(), 15);
}

#[tokio::test]
async fn another_process_goes_on_with_what_the_log_leaves() {
    for store in stores().await {
        let effects = Effects::new();
        let outer = |store: &Arc<dyn Store>, inner: Vec<Turn>, turns: Vec<Turn>| {
            let inner = Agent::new(ScriptedModel::new(inner)).tools(tools(&effects)).as_tool("helper", "Helps.");
            let agent = agent(store, Toolset::new().with(inner).unwrap(), turns);
            agent.options(|options| options.limits.calls = 7).on(store)
        };
        let first = outer(&store, vec![notes(3), payments(&[5])], vec![call("helper")]);
        let mut session = first.session();
        assert_eq!(session.send("go").await.unwrap().phase, Phase::Suspended);
        let id = session.id().clone();
        drop((session, first));

        let second = outer(&store, vec![notes(4), Turn::say("ok")], vec![Turn::say("done")]);
        let open = open_interrupts(&second, &id).await.remove(0).id;
        second.decide(&id, &open, tool_runtime::run::Decision::Approve, "").await.unwrap();
        let mut session = second.open(&id).await.unwrap();
        assert_eq!(session.resume().await.unwrap().phase, Phase::Finished);
        assert_eq!(effects.count("note x"), 5, "seven calls are the agent's, a payment and five notes");
    }
}

#[tokio::test]
async fn an_inner_run_of_many_calls_needs_no_other_limit() {
    let effects = Effects::new();
    let turns = (0..600).map(|_| notes(1)).chain([Turn::say("all done")]);
    let inner = Agent::new(ScriptedModel::new(turns)).tools(tools(&effects)).max_steps(1000);
    let (session, phase) = run_outer(inner, 1, |_| ()).await;
    assert_eq!((phase, effects.all().len()), (Phase::Finished, 600));
    assert_eq!(tool_results(&session), ["all done"]);
}

#[tokio::test]
async fn a_limit_of_recorded_steps_names_itself() {
    let effects = Effects::new();
    let (session, phase) = run_outer(endless(&effects, 1), 1, |options| options.limits.recorded_steps = 20).await;
    assert_eq!(phase, Phase::Finished);
    let result = tool_results(&session).remove(0);
    for part in ["at most 20 steps", "`Limits::recorded_steps`"] {
        assert!(result.contains(part), "{result}");
    }
}

#[tokio::test]
async fn the_end_of_an_inner_run_names_the_limit() {
    let effects = Effects::new();
    let ends: [(Agent, &str); 4] = [
        (endless(&effects, 1).max_steps(3), "the agent has used all its steps; the limit is 3 (`max_steps`)"),
        (endless(&effects, 1).max_tokens(20), "the agent was stopped: the model may use 20 tokens, and has used them"),
        (
            endless(&effects, 1).options(|options| options.limits.message_bytes = 200),
            "the agent was stopped: the conversation has more than 200 bytes",
        ),
        (endless(&effects, 1).stop_when(tool_runtime::agent::StopWhen::calls(2)), "the agent was stopped: 2 calls"),
    ];
    for (inner, expected) in ends {
        let (session, _) = run_outer(inner, 1, |_| ()).await;
        assert_eq!(tool_results(&session), [expected]);
    }
}

#[tokio::test]
async fn a_limit_of_an_outer_run_does_not_change_the_options_in_the_inner_log() {
    let effects = Effects::new();
    let inner = Agent::new(ScriptedModel::new([payments(&[5])])).tools(tools(&effects)).as_tool("helper", "Helps.");
    let agent = Agent::new(ScriptedModel::new([call("helper")])).tools(Toolset::new().with(inner).unwrap());
    let agent = agent.operator(Suspend).options(|options| options.limits.calls = 9).on(&store());
    let mut session = agent.session();
    assert_eq!(session.send("go").await.unwrap().phase, Phase::Suspended);
    let created = &session.run().calls()[0].steps()[0].value;
    assert!(created.to_string().contains("\"calls\":4096"), "{created}");
}
