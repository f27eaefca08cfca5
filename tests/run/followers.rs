//! Tests of a process that follows a run while another one drives it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::json;
use tool_runtime::{
    Agent, AgentError, Toolset,
    agent::{Decision, EventKind},
    model::Turn,
    run::{Phase, RunId, StopReason},
    store::{Store, StoredRun},
    tool, toolset,
};

use crate::{
    kit::{Effects, Events, agent, open_interrupts, sleep_millis, store, stores, tools, wait_until},
    store_hooks::Wrapped,
};

/// Works until it is released.
#[tool]
async fn work(#[state] effects: &Effects) -> &'static str {
    effects.record("work begins");
    while effects.count("release") == 0 {
        sleep_millis(5).await;
    }
    effects.record("work ends");
    "worked"
}

fn tools_and_work(effects: &Arc<Effects>) -> Toolset {
    tools(effects).merge(toolset!(Arc::clone(effects); work)).unwrap()
}

/// Returns the events that both processes report, with the pieces of each text and of each call's arguments joined.
fn joined_events(events: &Events) -> Vec<EventKind> {
    let mut all: Vec<EventKind> = Vec::new();
    for event in events.all() {
        match (all.last_mut(), event) {
            (_, EventKind::ModelAsked { .. }) => {}
            (Some(EventKind::Text(before)), EventKind::Text(more)) => before.push_str(&more),
            (Some(EventKind::CallArguments { id, text }), EventKind::CallArguments { id: same, text: more })
                if *id == same =>
            {
                text.push_str(&more);
            }
            (_, event) => all.push(event),
        }
    }
    all
}

/// Waits until the run is stored. Returns a session of the run as it was created.
async fn open_at_the_beginning(agent: &Agent, store: &Arc<dyn Store>, id: &RunId) -> tool_runtime::agent::Session {
    let first = loop {
        if let Ok(records) = store.read(id, 0).await {
            break records[0].clone();
        }
        sleep_millis(5).await;
    };
    agent.session_from_run(StoredRun::new(None, vec![first]).rebuild().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_follower_reports_what_the_driver_reports() {
    for store in stores().await {
        let effects = Effects::new();
        let turns = [
            Turn::say("First I work.").then_call("work", json!({})).then_call("note", json!({"text": "a note"})),
            Turn::say("Then I pay.").then_call("pay", json!({"amount": 5})),
            Turn::say("All is done."),
        ];
        let (driver, follower) = (Events::new(), Events::new());
        let here = agent(&store, tools_and_work(&effects), turns).observer(driver.clone());
        let hooked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&hooked);
        let there = here.clone().observer(follower.clone()).hook(move |_| {
            count.fetch_add(1, Ordering::SeqCst);
        });
        let mut session = here.session();
        let id = session.id().clone();
        let driven = tokio::spawn(async move { (session.send("go").await, session) });
        let mut following = open_at_the_beginning(&there, &store, &id).await;
        wait_until(|| effects.count("work begins") == 1).await;
        let followed = tokio::spawn(async move { (following.follow().await, following) });
        wait_until(|| !follower.all().is_empty()).await;
        effects.record("release");
        let (reply, mut session) = driven.await.unwrap();
        let (copy, mut following) = followed.await.unwrap();
        assert_eq!(reply.as_ref().unwrap().phase, Phase::Suspended);
        assert_eq!(copy.unwrap(), reply.unwrap());
        assert_eq!(joined_events(&follower), joined_events(&driver));
        assert_eq!(hooked.load(Ordering::SeqCst), 0);
        // The one that followed continues the run after the decision, and the one that drove follows.
        let interrupt = open_interrupts(&there, &id).await[0].id.clone();
        let owner = there.owner();
        there.decide(&id, &interrupt, Decision::Approve, owner).await.unwrap();
        let reply = following.follow().await.unwrap();
        assert_eq!(session.follow().await.unwrap(), reply);
        assert_eq!((reply.text.as_str(), &reply.phase), ("All is done.", &Phase::Finished));
        assert_eq!(effects.count("pay 5 to Ann"), 1);
        assert!(hooked.load(Ordering::SeqCst) > 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_follower_continues_the_run_of_a_driver_that_is_gone() {
    for store in stores().await {
        let effects = Effects::new();
        let turn = Turn::say("I work.").then_call("work", json!({})).then_call("look", json!({"what": "sky"}));
        let follower = Events::new();
        let here =
            agent(&store, tools_and_work(&effects), [turn, Turn::say("done")]).lease_time(Duration::from_millis(600));
        let mut session = here.session();
        let id = session.id().clone();
        let driven = tokio::spawn(async move { session.send("go").await });
        wait_until(|| effects.count("work begins") == 1).await;
        let there = here.clone().observer(follower.clone());
        let mut following = open_at_the_beginning(&there, &store, &id).await;
        let followed = tokio::spawn(async move { following.follow().await });
        wait_until(|| !follower.all().is_empty()).await;
        driven.abort();
        // Nobody knows whether the work was done, so a person is asked.
        assert_eq!(followed.await.unwrap().unwrap().phase, Phase::Suspended);
        let interrupts = open_interrupts(&there, &id).await;
        assert_eq!(interrupts.len(), 1);
        let texts = joined_events(&follower).into_iter().filter(|seen| matches!(seen, EventKind::Text(_)));
        assert_eq!(texts.collect::<Vec<_>>(), [EventKind::Text("I work.".to_owned())]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_follower_stops_the_run_of_another_process() {
    for store in stores().await {
        let effects = Effects::new();
        let here = agent(&store, tools_and_work(&effects), [Turn::call("work", json!({})), Turn::say("never")]);
        let mut session = here.session();
        let id = session.id().clone();
        let driven = tokio::spawn(async move { session.send("go").await });
        wait_until(|| effects.count("work begins") == 1).await;
        let there = here.clone().observer(Events::new());
        let mut following = there.open(&id).await.unwrap();
        let handle = following.handle();
        let followed = tokio::spawn(async move { following.follow().await });
        handle.cancel();
        assert!(matches!(driven.await.unwrap(), Err(AgentError::Cancelled)));
        assert!(matches!(followed.await.unwrap(), Err(AgentError::Cancelled)));
        let run = here.open(&id).await.unwrap();
        assert_eq!(run.run().phase(), Phase::Stopped(StopReason::Cancelled));
    }
}

#[tokio::test]
async fn a_follower_that_meets_a_run_at_rest_asks_no_model() {
    let (store, effects) = (store(), Effects::new());
    let here = agent(&store, tools_and_work(&effects), [Turn::say("done")]);
    let mut session = here.session();
    let id = session.id().clone();
    session.send("go").await.unwrap();
    let mut following = open_at_the_beginning(&here, &store, &id).await;
    assert_eq!(following.follow().await.unwrap().text, "done");
    assert_eq!(following.run().rev(), here.open(&id).await.unwrap().run().rev());
    // The store fails: the follower reports it, and can be tried again.
    let fails = Arc::new(AtomicBool::new(true));
    let failing = Arc::clone(&fails);
    let broken = Wrapped::new(&store).before_read(move |_| {
        let fails = failing.swap(false, Ordering::SeqCst);
        Box::pin(async move { if fails { Err(tool_runtime::store::StoreError::unavailable("away")) } else { Ok(()) } })
    });
    let mut again = here.clone().store(broken).open(&id).await.unwrap();
    assert!(matches!(again.follow().await, Err(AgentError::Store(_))));
    assert_eq!(again.follow().await.unwrap().phase, Phase::Finished);
}
