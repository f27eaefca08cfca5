//! Tests of prompts to a busy run, of turns that a denial stops, and of restarts.

use std::sync::Arc;

use serde_json::json;
use tool_runtime::{
    Agent, Context,
    agent::{Decision, Session},
    model::{ScriptedModel, Turn},
    run::{CallResult, OnDeny, OnPrompt, Phase, Refusal, StopReason, SupersededBy},
    tool, toolset,
};

use crate::kit::{
    Effects, Events, OnBackend as _, Person, agent, call_results, payments, refusal, resume, send_and_resume, store,
    stores, tool_results, tools,
};

async fn start_suspended(on_prompt: OnPrompt) -> (Session, Arc<Effects>) {
    let effects = Effects::new();
    let agent = agent(&store(), tools(&effects), [payments(&[5]), Turn::say("first"), Turn::say("second")])
        .options(|options| options.on_prompt = on_prompt)
        .anywhere();
    let mut session = agent.session();
    session.send("go").await.unwrap();
    (session, effects)
}

#[tokio::test]
async fn a_prompt_into_a_run_that_waits_is_refused_and_changes_nothing() {
    let (mut session, effects) = start_suspended(OnPrompt::Refuse).await;
    let interrupt = session.interrupts().next().unwrap().id.clone();
    assert_eq!(refusal(session.send("hello?").await), Refusal::Busy);
    assert_eq!(session.interrupts().count(), 1);
    // An approved call also waits. It runs once, when the run continues.
    session.decide(&interrupt, Decision::Approve, "").await.unwrap();
    assert_eq!(refusal(session.send("hello?").await), Refusal::Busy);
    assert_eq!(effects.all(), [""; 0]);
    assert_eq!(session.resume().await.unwrap().phase, Phase::Finished);
    assert_eq!(effects.all(), ["pay 5 to Ann"]);
    assert_eq!(session.send("and?").await.unwrap().text, "second");
}

#[tokio::test]
async fn a_prompt_into_a_run_that_waits_can_be_queued() {
    let (mut session, effects) = start_suspended(OnPrompt::Queue).await;
    assert_eq!(session.send("and then?").await.unwrap().phase, Phase::Suspended);
    assert_eq!((session.run().queue().len(), session.interrupts().count()), (1, 1));
    let interrupt = session.interrupts().next().unwrap().id.clone();
    session.decide(&interrupt, Decision::Approve, "").await.unwrap();
    assert_eq!(session.resume().await.unwrap().text, "second");
    assert_eq!((session.run().queue().len(), effects.all().len()), (0, 1));
}

#[tokio::test]
async fn a_prompt_can_supersede_waiting_calls() {
    let (mut session, effects) = start_suspended(OnPrompt::Supersede).await;
    let interrupt = session.interrupts().next().unwrap().id.clone();
    assert_eq!(session.send("never mind").await.unwrap().text, "first");
    assert_eq!(call_results(&session), [CallResult::Superseded { by: SupersededBy::Prompt }]);
    let late = session.decide(&interrupt, Decision::Approve, "").await;
    assert!(matches!(refusal(late), Refusal::Closed { .. }));
    session.resume().await.unwrap();
    assert_eq!(effects.all(), [""; 0]);
    // The model has an answer to every call.
    assert_eq!(tool_results(&session), ["a new message of the user came first; it did not run"]);
}

#[tokio::test]
async fn a_denial_can_stop_the_turn() {
    for store in stores().await {
        let effects = Effects::new();
        let agent = agent(&store, tools(&effects), [payments(&[5, 6]), Turn::say("ok")])
            .options(|options| options.on_deny = OnDeny::StopTurn)
            .on(&store);
        let mut session = agent.session();
        session.send("go").await.unwrap();
        let interrupts: Vec<_> = session.interrupts().map(|open| open.id.clone()).collect();
        session.decide(&interrupts[1], Decision::deny("no"), "").await.unwrap();
        assert_eq!(session.resume().await.unwrap().phase, Phase::Stopped(StopReason::Denied));
        let ends = call_results(&session);
        assert_eq!(ends[0], CallResult::Superseded { by: SupersededBy::Denial });
        assert!(session.decide(&interrupts[0], Decision::Approve, "").await.is_err());
        assert_eq!(effects.all(), [""; 0]);
        assert_eq!(session.send("go on").await.unwrap().text, "ok");
    }
}

/// Returns the number of earlier messages.
#[tool(effect = read_only, approval = always)]
fn recall(#[context] cx: &Context) -> usize {
    cx.messages().len()
}

#[tokio::test]
async fn a_call_sees_the_same_conversation_before_and_after_a_restart() {
    let turns = || [Turn::call("recall", json!({})), Turn::say("ok")];
    let person = Person::deciding([Decision::Approve]);
    let there = Agent::new(ScriptedModel::new(turns()))
        .tools(toolset!(recall))
        .observer(Events::new())
        .operator(person)
        .instructions("Be nice.")
        .anywhere();
    let mut at_once = there.session();
    send_and_resume(&mut at_once, "go").await;

    let agent = agent(&store(), toolset!(recall), turns()).instructions("Be nice.").anywhere();
    let mut session = agent.session();
    session.send("go").await.unwrap();
    let interrupt = session.interrupts().next().unwrap().id.clone();
    agent.decide(session.id(), &interrupt, Decision::Approve, "").await.unwrap();
    assert_eq!(tool_results(&resume(&agent, session.id()).await), tool_results(&at_once));
    assert_eq!(tool_results(&at_once), ["2"]);
}
