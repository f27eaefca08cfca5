//! Tests of tools that record steps, in programs that end in the middle of a call.

use std::sync::Arc;

use serde_json::json;
use tool_run::run::{LogEntry, record};
use tool_runtime::{
    Agent, Context, Failure,
    agent::{Decision, Session},
    model::Turn,
    run::Phase,
    store::Store,
    tool, toolset,
};

use crate::kit::{Effects, Events, Person, agent, sleep_millis, stores, wait_until};

/// Books a seat, then pays for it.
#[tool(resumable)]
async fn book(
    /** The step, or the moment after a step, at which the first attempt takes a minute. */
    slow: String,
    #[state] effects: &Effects,
    #[context] cx: &Context,
) -> Result<(), Failure> {
    for name in ["seat", "pay"] {
        let work = async {
            effects.record(name);
            hesitate(slow == name && effects.count(name) == 1).await;
            Ok::<_, Failure>(())
        };
        cx.step(name, work).await?;
        effects.record(format!("after {name}"));
        hesitate(slow == format!("after {name}") && effects.count(&slow) == 1).await;
    }
    Ok(())
}

/// Goes on after a failed step.
#[tool(resumable)]
async fn fails(#[state] effects: &Effects, #[context] cx: &Context) -> Result<(), Failure> {
    let work = async {
        effects.record("fail");
        Err::<(), _>(Failure::new("no"))
    };
    let _ = cx.step("fail", work).await;
    effects.record("on");
    hesitate(effects.count("on") == 1).await;
    Ok(())
}

async fn hesitate(is_slow: bool) {
    if is_slow {
        sleep_millis(60_000).await;
    }
}

fn booking_agent(store: &Arc<dyn Store>, effects: &Arc<Effects>, turn: Turn) -> Agent {
    agent(store, toolset!(Arc::clone(effects); book, fails), [turn, Turn::say("booked")])
}

/// Sends a prompt, and drops the future when `at` was recorded.
async fn break_off_at(agent: &Agent, effects: &Effects, at: &str) -> Session {
    let mut session = agent.session();
    tokio::select! {
        sent = session.send("go") => panic!("the call returned: {sent:?}"),
        () = wait_until(|| effects.count(at) == 1) => {}
    }
    session
}

#[tokio::test]
async fn a_call_stopped_between_steps_continues_after_them() {
    for store in stores().await {
        for slow in ["after seat", "after pay"] {
            let (effects, person) = (Effects::new(), Person::deciding([]));
            let agent = booking_agent(&store, &effects, Turn::call("book", json!({ "slow": slow })))
                .observer(Events::new())
                .operator(person.clone());
            let mut session = break_off_at(&agent, &effects, slow).await;
            assert_eq!(session.resume().await.unwrap().phase, Phase::Finished);
            assert_eq!((effects.count("seat"), effects.count("pay")), (1, 1), "{slow}");
            assert_eq!(person.reconciled().len(), 0);
            assert_eq!(session.run().calls()[0].attempts, 2);
        }
    }
}

#[tokio::test]
async fn a_person_is_asked_about_a_call_that_stopped_in_a_step() {
    for store in stores().await {
        for (slow, decision, seats, pays) in [
            ("seat", Decision::Approve, 2, 1),
            ("pay", Decision::Approve, 1, 2),
            ("pay", Decision::Respond { output: json!(null) }, 1, 1),
            ("seat", Decision::Deny { reason: None }, 1, 0),
        ] {
            let (effects, person) = (Effects::new(), Person::deciding([decision]));
            let agent = booking_agent(&store, &effects, Turn::call("book", json!({ "slow": slow })))
                .observer(Events::new())
                .operator(person.clone());
            let mut session = break_off_at(&agent, &effects, slow).await;
            assert_eq!(session.resume().await.unwrap().phase, Phase::Finished);
            assert_eq!((effects.count("seat"), effects.count("pay")), (seats, pays), "{slow}");
            assert_eq!(person.reconciled().len(), 1);
            assert!(session.run().calls()[0].started_steps().len() <= 1);
        }
    }
}

#[tokio::test]
async fn a_failed_step_may_have_had_effects() {
    for store in stores().await {
        let (effects, person) = (Effects::new(), Person::deciding([Decision::Approve]));
        let agent = booking_agent(&store, &effects, Turn::call("fails", json!({})))
            .observer(Events::new())
            .operator(person.clone());
        let mut session = break_off_at(&agent, &effects, "on").await;
        session.resume().await.unwrap();
        assert_eq!((effects.count("fail"), person.reconciled().len()), (2, 1));
    }
}

#[tokio::test]
async fn the_log_records_the_beginning_of_steps_of_resumable_tools_only() {
    for store in stores().await {
        let effects = Effects::new();
        let agent = booking_agent(&store, &effects, Turn::call("book", json!({ "slow": "" })));
        let mut session = agent.session();
        session.send("go").await.unwrap();
        let mut log: Vec<LogEntry> = Vec::new();
        for record in store.read(session.id(), 0).await.unwrap() {
            log.extend(record::decode(&record.text).unwrap());
        }
        let steps = log.iter().filter_map(|event| match event {
            LogEntry::DurableStepStarted { name, .. } => Some(format!("begin {name}")),
            LogEntry::DurableStepEnded { name, .. } => Some(format!("end {name}")),
            _ => None,
        });
        assert_eq!(steps.collect::<Vec<_>>(), ["begin seat", "end seat", "begin pay", "end pay"]);
        assert_eq!(session.run().calls()[0].started_steps(), [""; 0]);
    }
}
