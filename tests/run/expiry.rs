//! Tests of interrupts that a sweep expires. `paused_clock.rs` tests the driver's timer.

use std::{sync::Arc, time::Duration};

use serde_json::json;
use tool_runtime::{
    agent::Decision,
    model::Turn,
    run::{AbortCause, CallResult, Phase, Refusal},
    test::TestClock,
    tool, toolset,
};

use crate::kit::{Effects, agent, call_results, open_interrupts, payments, refusal, resume, stores, tools, wait_until};

const DAY: Duration = Duration::from_hours(24);

#[tokio::test]
async fn a_sweep_expires_interrupts_of_other_runs() {
    for store in stores().await {
        let effects = Effects::new();
        let clock = TestClock::new();
        let agent = agent(&store, tools(&effects), [payments(&[5]), Turn::say("a pity")])
            .clock(&clock)
            .options(|options| options.approval_expiry = Some(DAY));
        let mut session = agent.session();
        assert_eq!(session.send("go").await.unwrap().phase, Phase::Suspended);
        let (id, interrupt) = (session.id().clone(), session.interrupts().next().unwrap().id.clone());
        assert_eq!(agent.sweep().await.unwrap(), 0, "the interrupt has not expired yet");
        clock.advance(DAY);
        // The interrupt has expired, so the run refuses the decision even before the sweep.
        let late = agent.decide(&id, &interrupt, Decision::Approve, "").await;
        assert!(matches!(refusal(late), Refusal::Closed { .. }));
        assert_eq!(agent.sweep().await.unwrap(), 1);
        assert_eq!(agent.sweep().await.unwrap(), 0);
        let session = agent.open(&id).await.unwrap();
        assert_eq!(call_results(&session), [CallResult::Expired]);
        assert_eq!(open_interrupts(&agent, &id).await, []);
        assert_eq!(session.run().last_text(), "a pity");
        assert_eq!(effects.all(), [""; 0]);
    }
}

/// A tool that a frontend executes.
#[tool(external, output = bool)]
struct Tab {}

#[tokio::test]
async fn external_calls_have_an_expiry_of_their_own() {
    for store in stores().await {
        let turns = [Turn::call("Tab", json!({})), Turn::say("ok")];
        let clock = TestClock::new();
        let agent =
            agent(&store, toolset!(Tab), turns).clock(&clock).options(|options| options.external_expiry = Some(DAY));
        let mut session = agent.session();
        session.send("go").await.unwrap();
        clock.advance(DAY);
        assert_eq!(agent.sweep().await.unwrap(), 1);
        assert_eq!(call_results(&agent.open(session.id()).await.unwrap()), [CallResult::Expired]);
    }
}

/// Never ends.
#[tool]
async fn hang(#[state] effects: &Effects) {
    effects.record("begins");
    std::future::pending::<()>().await;
}

#[tokio::test]
async fn an_expired_approval_of_a_lost_call_names_its_cause() {
    for store in stores().await {
        let (effects, clock) = (Effects::new(), TestClock::new());
        let turns = [Turn::call("hang", json!({})), Turn::say("ok")];
        let agent = agent(&store, toolset!(Arc::clone(&effects); hang), turns)
            .clock(&clock)
            .options(|options| options.grant_expiry = Some(DAY));
        let mut session = agent.session();
        tokio::select! {
            ended = session.send("go") => panic!("{ended:?}"),
            () = wait_until(|| effects.count("begins") == 1) => {}
        }
        assert_eq!(session.resume().await.unwrap().phase, Phase::Suspended, "the call is lost");
        let (id, open) = (session.id().clone(), session.interrupts().next().unwrap().id.clone());
        agent.decide(&id, &open, Decision::Approve, "").await.unwrap();
        clock.advance(DAY);
        let session = resume(&agent, &id).await;
        assert_eq!(call_results(&session), [CallResult::Aborted { by: AbortCause::NotAllowed }]);
        assert_eq!(effects.count("begins"), 1);
    }
}
