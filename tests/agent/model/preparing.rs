//! Tests of requests to a model: their tools, the order of the tools and the tool choice, prepared for each step.

use std::sync::{Arc, Mutex};

use serde_json::json;
use tool_runtime::{
    Agent, AgentError, Failure, Message,
    agent::Suspend,
    model::{FunctionModel, ModelSettings, ScriptedModel, ToolChoice, Turn},
    run::CallResult,
    run::Phase,
    store::{MemoryStore, Store},
};

use crate::model::kit::{Listener, Piece, Runs, call, count, pieces_of, streaming, tools, usage};

#[tokio::test]
async fn only_active_tools_are_sent_in_the_given_order() {
    let model = Arc::new(ScriptedModel::new([Turn::call("pay", "{}").then_call("done", "{}"), Turn::say("ok")]));
    let runs = Arc::<Runs>::default();
    let agent = Agent::new(Arc::clone(&model)).tools(tools(&runs));
    let agent = agent.active_tools(["add", "done", "sleep"]).tool_order(["sleep", "pay", "done"]);
    let mut session = agent.session();
    session.send("go").await.unwrap();
    assert_eq!(model.requests()[0].tools, ["sleep", "done", "add"]);
    let ended: Vec<_> = session.run().calls().iter().map(|call| call.result().unwrap().is_success()).collect();
    assert_eq!((ended, count(&runs)), (vec![false, true], 1));
    assert_eq!(session.run().calls()[0].result(), Some(&CallResult::NotAvailable { suggestion: None }));
}

#[tokio::test]
async fn the_preparation_receives_the_state_of_the_run() {
    let model = Arc::new(ScriptedModel::new([call(1), call(2), Turn::say("ok")]));
    let other = Arc::new(ScriptedModel::new([call(5)]));
    let runs = Arc::<Runs>::default();
    let known = Arc::<Mutex<Vec<String>>>::default();
    let (notes, small) = (Arc::clone(&known), Arc::clone(&other));
    let agent = Agent::new(Arc::clone(&model)).tools(tools(&runs)).instructions("Be kind.").prepare_step(move |step| {
        let prompts: usize = step.new_prompts().count();
        let turns = step.turn_usages().len();
        let line =
            format!("{} {prompts} {turns} {} {}", step.number(), step.usage().input_tokens, step.messages().len());
        notes.lock().unwrap().push(line);
        match step.number() {
            1 => {
                step.set_tool_choice(ToolChoice::Required).set_tools(["add"]);
                step.model_settings_mut().temperature = Some(0.0);
            }
            2 => {
                step.set_model(Arc::clone(&small) as _);
            }
            3 => {
                step.set_instructions("Be brief.").set_tool_order(["pay"]);
            }
            _ => {
                step.set_messages(vec![Message::user("only this")], "a test");
            }
        }
    });
    assert_eq!(agent.run("go").await.unwrap().text, "ok");
    let asked = model.requests();
    assert_eq!((&asked[0].tools, &asked[0].tool_choice), (&vec!["add".to_owned()], &ToolChoice::Required));
    assert_eq!(asked[0].settings, ModelSettings { temperature: Some(0.0), ..ModelSettings::default() });
    assert_eq!(other.requests()[0].tools.len(), 4, "a step's changes do not affect the next step");
    assert_eq!(asked[1].messages[0], Message::system("Be brief."));
    assert_eq!(asked[1].tools[0], "pay");
    assert_eq!(asked[2].messages, [Message::system("Be kind."), Message::user("only this")]);
    assert_eq!(*known.lock().unwrap(), ["1 1 0 0 1", "2 0 1 10 3", "3 0 2 20 5", "4 0 3 30 7"]);
}

#[tokio::test]
async fn a_failed_preparation_stops_the_run() {
    for (panics, expected) in [(true, "the preparation of the step panicked"), (false, "no plan: \"the disk is full\"")]
    {
        let model = Arc::new(ScriptedModel::new([call(1), Turn::say("ok")]));
        let runs = Arc::<Runs>::default();
        let listener = Arc::<Listener>::default();
        let agent = Agent::new(Arc::clone(&model)).tools(tools(&runs)).observer(Arc::clone(&listener));
        let fallback = ScriptedModel::new([Turn::say("not asked")]);
        let agent = agent.fallback(fallback).model_retries(3).prepare_step_async(move |step| async move {
            match step.number() {
                2 if panics => panic!("oh no"),
                2 => Err(Failure::new("no plan").source("the disk is full")),
                _ => Ok(step),
            }
        });
        let mut session = agent.session();
        let Err(AgentError::Model(error)) = session.send("go").await else { panic!("the preparation failed") };
        assert_eq!(error.to_string(), format!("the step could not be prepared: {expected}"));
        assert_eq!(model.requests().len(), 1, "a step that is not prepared sends no request");
        let lines = listener.lines();
        assert_eq!(lines.last().unwrap(), &format!("failed: the step could not be prepared: {expected}"));
        // The session can continue, and counts steps from zero.
        assert_eq!(session.resume().await.unwrap().text, "ok");
    }
}

#[tokio::test]
async fn calls_of_forbidden_tools_are_not_available() {
    let runs = Arc::<Runs>::default();
    let listener = Arc::<Listener>::default();
    let agent = Agent::new(ScriptedModel::new([call(1), Turn::say("sorry")])).tools(tools(&runs));
    let reply = agent.tool_choice(ToolChoice::None).observer(Arc::clone(&listener)).run("go").await.unwrap();
    assert_eq!((reply.text.as_str(), reply.steps, count(&runs)), ("sorry", 2, 0));
    assert!(listener.lines().contains(&"add: there is no tool called `add`".to_owned()), "{:?}", listener.lines());
}

#[tokio::test]
async fn an_ignored_tool_choice_is_reported() {
    let one = ToolChoice::Tool("done".into());
    for (choice, turn, ignored) in [
        (ToolChoice::Required, Turn::say("no"), true),
        (ToolChoice::Required, call(1), false),
        (one.clone(), call(1), true),
        (one.clone(), Turn::call("done", "{}"), false),
    ] {
        let runs = Arc::<Runs>::default();
        let listener = Arc::<Listener>::default();
        let has_call = turn.calls().next().map(|call| call.name.clone());
        let agent = Agent::new(ScriptedModel::new([turn, Turn::say("end")])).tools(tools(&runs));
        let agent = agent.observer(Arc::clone(&listener)).prepare_step(move |step| {
            if step.number() == 1 {
                step.set_tool_choice(choice.clone());
            }
        });
        assert_eq!(agent.run("go").await.unwrap().phase, Phase::Finished);
        let lines = listener.lines();
        assert_eq!(lines.iter().any(|line| line.starts_with("ignored")), ignored, "{lines:?}");
        let ran_any = count(&runs) == 1;
        assert_eq!(ran_any, has_call.is_some() && !ignored, "a tool other than the chosen one does not run");
    }
}

/// Guarantee S12 across processes: another process refuses a call of a tool that its step did not offer.
#[tokio::test]
async fn a_late_call_of_a_tool_that_was_not_offered_does_not_run() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let runs = Arc::<Runs>::default();
    let turns = || ScriptedModel::new([call(1).then_call("done", "{}").then_call("pay", "{}"), Turn::say("end")]);
    let agent = Agent::new(turns()).tools(tools(&runs)).store(Arc::clone(&store)).operator(Suspend);
    let mut session = agent.clone().active_tools(["done", "pay"]).session();
    assert_eq!(session.send("go").await.unwrap().phase, Phase::Suspended);
    let id = session.id().clone();
    drop(session);
    let mut other = agent.open(&id).await.unwrap();
    assert_eq!(other.run().calls()[0].result(), Some(&CallResult::NotAvailable { suggestion: None }));
    let open = other.interrupts().next().unwrap().id.clone();
    other.decide(&open, tool_runtime::run::Decision::Approve, "").await.unwrap();
    other.resume().await.unwrap();
    assert_eq!(count(&runs), 2, "`done` and `pay` ran");
}

/// An eager tool could start before its turn has ended.
#[tokio::test]
async fn an_eager_tool_that_is_not_offered_does_not_start() {
    let runs = Arc::<Runs>::default();
    let model = streaming(|n| match n {
        1 => {
            let mut pieces = pieces_of(call(1));
            let end = pieces.len() - 2;
            pieces.insert(end, Piece::Pause(std::time::Duration::from_millis(30)));
            pieces
        }
        _ => pieces_of(Turn::say("end")),
    });
    Agent::new(model).tools(tools(&runs)).active_tools(["done"]).run("go").await.unwrap();
    assert_eq!(count(&runs), 0);
}

#[tokio::test]
async fn each_of_a_hundred_steps_has_its_own_preparation() {
    let model = FunctionModel::new(|request| {
        let turns = request.messages.iter().filter(|message| matches!(message, Message::Assistant { .. })).count();
        if turns < 100 { Turn::call("add", json!({ "n": turns })).with_usage(usage(1, 1)) } else { Turn::say("end") }
    });
    let runs = Arc::<Runs>::default();
    let agent = Agent::new(model).tools(tools(&runs)).max_steps(200).prepare_step(|step| {
        step.set_tools([if step.number() % 2 == 0 { "add" } else { "done" }]);
    });
    let reply = agent.run("go").await.unwrap();
    assert_eq!((reply.steps, count(&runs)), (101, 50));
}
