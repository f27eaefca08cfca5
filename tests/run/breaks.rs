//! Prompts to a busy run, stopped turns, and programs that end in the middle.

use std::{sync::Arc, time::Duration};

use serde_json::json;
use tool_runtime::{
    Agent, Context,
    agent::{Decision, Session},
    model::{ScriptedModel, Turn},
    run::{CallResult, InterruptedBy, OnDeny, OnPrompt, Phase, Refusal, StopReason, SupersededBy},
    store::Store,
    tool, toolset,
};

use crate::kit::{
    Events, Person, World, agent, ends, memory, millis, open, pays, refusal, resumed, stores, told, tools, until,
};

/// Takes its time, the first time.
#[tool]
async fn once(#[state] world: &World) -> &'static str {
    world.did("once");
    hesitate(world.count("once")).await;
    "done"
}

/// The same, and may be run again.
#[tool(idempotent)]
async fn again(#[state] world: &World) -> &'static str {
    world.did("again");
    hesitate(world.count("again")).await;
    "done"
}

async fn hesitate(count: usize) {
    if count == 1 {
        millis(60_000).await;
    }
}

async fn suspended(on_prompt: OnPrompt) -> (Session, Arc<World>) {
    let world = World::new();
    let agent = agent(&memory(), tools(&world), [pays(&[5]), Turn::say("first"), Turn::say("second")])
        .options(|options| options.on_prompt = on_prompt);
    let mut session = agent.session();
    session.send("go").await.unwrap();
    (session, world)
}

#[tokio::test]
async fn a_prompt_into_a_run_that_waits_is_refused_and_changes_nothing() {
    let (mut session, world) = suspended(OnPrompt::Refuse).await;
    let waits = session.interrupts().next().unwrap().id.clone();
    assert_eq!(refusal(session.send("hello?").await), Refusal::Busy);
    assert_eq!(session.interrupts().count(), 1);
    // An approved call also waits. It runs once, when the run continues.
    session.decide(&waits, Decision::Approve, "").await.unwrap();
    assert_eq!(refusal(session.send("hello?").await), Refusal::Busy);
    assert_eq!(world.seen(), [""; 0]);
    assert_eq!(session.resume().await.unwrap().phase, Phase::Finished);
    assert_eq!(world.seen(), ["pay 5 to Ann"]);
    assert_eq!(session.send("and?").await.unwrap().text, "second");
}

#[tokio::test]
async fn a_prompt_into_a_run_that_waits_can_wait_itself() {
    let (mut session, world) = suspended(OnPrompt::Block).await;
    assert_eq!(session.send("and then?").await.unwrap().phase, Phase::Suspended);
    assert_eq!((session.run().queue().len(), session.interrupts().count()), (1, 1));
    let waits = session.interrupts().next().unwrap().id.clone();
    session.decide(&waits, Decision::Approve, "").await.unwrap();
    assert_eq!(session.resume().await.unwrap().text, "second");
    assert_eq!((session.run().queue().len(), world.seen().len()), (0, 1));
}

#[tokio::test]
async fn a_prompt_can_supersede_waiting_calls() {
    let (mut session, world) = suspended(OnPrompt::Supersede).await;
    let waits = session.interrupts().next().unwrap().id.clone();
    assert_eq!(session.send("never mind").await.unwrap().text, "first");
    assert_eq!(ends(&session), [CallResult::Superseded { by: SupersededBy::Prompt }]);
    let late = session.decide(&waits, Decision::Approve, "").await;
    assert!(matches!(refusal(late), Refusal::Closed { .. }));
    session.resume().await.unwrap();
    assert_eq!(world.seen(), [""; 0]);
    // The model has an answer to every call.
    assert_eq!(told(&session), ["a new message of the user came first; it did not run"]);
}

#[tokio::test]
async fn a_denial_can_stop_the_turn() {
    for store in stores().await {
        let world = World::new();
        let agent = agent(&store, tools(&world), [pays(&[5, 6]), Turn::say("ok")])
            .options(|options| options.on_deny = OnDeny::StopTurn);
        let mut session = agent.session();
        session.send("go").await.unwrap();
        let waits: Vec<_> = session.interrupts().map(|open| open.id.clone()).collect();
        session.decide(&waits[1], Decision::deny("no"), "").await.unwrap();
        assert_eq!(session.resume().await.unwrap().phase, Phase::Stopped(StopReason::Denied));
        let ends = ends(&session);
        assert_eq!(ends[0], CallResult::Superseded { by: SupersededBy::Denial });
        assert!(session.decide(&waits[0], Decision::Approve, "").await.is_err());
        assert_eq!(world.seen(), [""; 0]);
        assert_eq!(session.send("go on").await.unwrap().text, "ok");
    }
}

fn breaking(store: &Arc<dyn Store>, world: &Arc<World>) -> Agent {
    let turn = Turn::call("once", json!({})).then_call("again", json!({})).then_call("pay", json!({"amount": 5}));
    let all = tools(world).merge(toolset!(Arc::clone(world); once, again)).unwrap();
    agent(store, all, [turn, Turn::say("ok")])
}

/// Sends a prompt, and drops the future in the middle of the calls.
async fn break_off(session: &mut Session, world: &World) {
    tokio::select! {
        sent = session.send("go") => panic!("it did not hesitate: {sent:?}"),
        () = until(|| world.count("once") == 1 && world.count("again") == 1) => {}
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
            let world = World::new();
            let person = Person::deciding([]);
            let agent = breaking(&store, &world).observer(Events::new()).operator(person.clone());
            let mut session = agent.session();
            break_off(&mut session, &world).await;
            assert_eq!((world.count("once"), world.count("again")), (1, 1));
            // The same session continues at once. It need not wait for the end of its own lease.
            let _ = person.clone().then([decision.clone(), Decision::Approve]);
            let resumed = tokio::time::timeout(Duration::from_secs(5), session.resume()).await;
            let reply = resumed.expect("it hangs").unwrap();
            assert_eq!(reply.phase, Phase::Finished, "{decision:?}");
            assert_eq!((world.count("once"), world.count("again")), (runs, 2), "{decision:?}");
            assert!(told(&session)[0].ends_with(says), "{:?}", told(&session));
            let asked = person.reconciled();
            assert_eq!((asked.len(), asked[0].spec.name.as_str()), (1, "once"));
            assert_eq!(world.count("pay 5 to Ann"), 1);
        }
    }
}

#[tokio::test]
async fn a_lost_call_waits_without_an_operator() {
    for store in stores().await {
        let world = World::new();
        let agent = breaking(&store, &world).lease(Duration::from_millis(30));
        let mut session = agent.session();
        let id = session.id().clone();
        break_off(&mut session, &world).await;
        drop(session);
        millis(40).await;
        // Another process finds the run.
        assert_eq!(agent.sweep().await.unwrap(), 1);
        assert_eq!((world.count("once"), world.count("again")), (1, 2));
        let waits = open(&agent, &id).await;
        let tools: Vec<&str> = waits.iter().map(|open| open.shown.tool.as_str()).collect();
        assert_eq!(tools.len(), 2, "{tools:?}");
        assert!(matches!(
            refusal(agent.decide(&id, &waits[0].id, Decision::Approve, "mallory").await),
            Refusal::Forbidden
        ));
        for waits in &waits {
            agent.decide(&id, &waits.id, Decision::deny("leave it"), "").await.unwrap();
        }
        let session = resumed(&agent, &id).await;
        assert_eq!(ends(&session)[0], CallResult::Interrupted { by: InterruptedBy::LostProcess });
        assert!(matches!(ends(&session)[2], CallResult::Denied { .. }));
        assert_eq!((world.count("once"), world.count("again"), world.count("pay 5 to Ann")), (1, 2, 0));
    }
}

/// Tells what was said before.
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
        .instructions("Be nice.");
    let mut at_once = there.session();
    at_once.send("go").await.unwrap();

    let agent = agent(&memory(), toolset!(recall), turns()).instructions("Be nice.");
    let mut session = agent.session();
    session.send("go").await.unwrap();
    let waits = session.interrupts().next().unwrap().id.clone();
    agent.decide(session.id(), &waits, Decision::Approve, "").await.unwrap();
    assert_eq!(told(&resumed(&agent, session.id()).await), told(&at_once));
    assert_eq!(told(&at_once), ["2"]);
}
