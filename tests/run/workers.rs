//! S13, and the other guarantees for several processes with one run.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::json;
use tool_run::run::Stage;
use tool_runtime::{
    Agent, AgentError,
    agent::{Decision, Suspend},
    model::{ScriptedModel, Turn},
    run::{CallResult, OnDeny, Phase},
    store::{Store, StoreError},
    tool, toolset,
};
use tool_test_kit::AllAndSome as _;

use crate::{
    kit::{Events, Person, World, agent, ends, memory, millis, open, pays, resumed, stores, tools, until, waiting},
    wrapped::Wrapped,
};

/// Takes its time.
#[tool]
pub(crate) async fn slow(
    /// How many milliseconds.
    time: u64,
    #[state] world: &World,
) {
    world.did("slow begins");
    millis(time).await;
    world.did("slow ends");
}

#[tokio::test(flavor = "multi_thread")]
async fn s13_two_workers_that_resume_one_run_give_one_effect() {
    for store in stores().await {
        for _ in 0..20 {
            let world = World::new();
            let (agent, id, waits) = waiting(&store, tools(&world), pays(&[5])).await;
            // The workers' events together have no order.
            let agent = agent.operator(Suspend);
            agent.decide(&id, &waits[0].id, Decision::Approve, "").await.unwrap();
            let worker = || {
                let (agent, id) = (agent.clone(), id.clone());
                tokio::spawn(async move { agent.open(&id).await?.resume().await })
            };
            let workers = [worker(), worker(), worker(), worker()];
            for worker in workers {
                match worker.await.unwrap() {
                    Ok(_) | Err(AgentError::Store(StoreError::Leased { .. })) => {}
                    other => panic!("{other:?}"),
                }
            }
            assert_eq!(world.seen(), ["pay 5 to Ann"]);
        }
    }
}

#[tokio::test]
async fn s13_a_worker_without_a_lease_appends_and_starts_nothing() {
    for store in stores().await {
        let world = World::new();
        let (agent, id, waits) = waiting(&store, tools(&world), pays(&[5])).await;
        agent.decide(&id, &waits[0].id, Decision::Approve, "").await.unwrap();
        // The older worker stalls just before it logs the start. Meanwhile its lease ends, and another worker continues.
        let (newer, first) = (agent.clone(), AtomicBool::new(true));
        let (run, done) = (id.clone(), Arc::clone(&world));
        let stalled = Wrapped::new(&store).before_append(move |append| {
            let is_start = append.text.contains("\"started\"") && first.swap(false, Ordering::SeqCst);
            let (newer, run, done) = (newer.clone(), run.clone(), Arc::clone(&done));
            Box::pin(async move {
                if is_start {
                    millis(60).await;
                    resumed(&newer, &run).await;
                    assert_eq!(done.seen(), ["pay 5 to Ann"]);
                }
                Ok(())
            })
        });
        let older = agent.clone().store(stalled).lease(Duration::from_millis(30));
        let mut session = older.open(&id).await.unwrap();
        match session.resume().await {
            Err(AgentError::Store(StoreError::Fenced | StoreError::Leased { .. })) => {}
            other => panic!("{other:?}"),
        }
        assert_eq!(world.seen(), ["pay 5 to Ann"]);
        // The older session is usable again: it has the other worker's entries.
        session.resume().await.unwrap();
        assert_eq!((world.seen().len(), ends(&session).len()), (1, 1));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_decision_from_outside_is_picked_up_while_another_call_runs() {
    for store in stores().await {
        let world = World::new();
        let turn = Turn::call("slow", json!({"time": 1500})).then_call("pay", json!({"amount": 5}));
        let all = tools(&world).merge(toolset!(Arc::clone(&world); slow)).unwrap();
        let agent = agent(&store, all, [turn, Turn::say("done")]);
        let mut session = agent.session();
        let id = session.id().clone();
        let run = tokio::spawn(async move { session.send("go").await });
        until(|| world.count("slow begins") == 1).await;
        let waits = loop {
            if let [waits] = &open(&agent, &id).await[..] {
                break waits.id.clone();
            }
            millis(10).await;
        };
        agent.decide(&id, &waits, Decision::Approve, "").await.unwrap();
        until(|| world.count("pay 5 to Ann") == 1).await;
        assert_eq!(world.count("slow ends"), 0, "it did not wait for the slow one, nor for a restart");
        assert_eq!(run.await.unwrap().unwrap().phase, Phase::Finished);
    }
}

#[tokio::test]
async fn the_first_of_two_simultaneous_decisions_wins() {
    for on_deny in [OnDeny::Continue, OnDeny::StopTurn] {
        for store in stores().await {
            let world = World::new();
            let (agent, id, waits) = waiting(&store, tools(&world), pays(&[5, 6])).await;
            // Another principal approves just before the person's denial is logged.
            let (other, first) = (agent.clone(), AtomicBool::new(true));
            let (run, interrupt) = (id.clone(), waits[0].id.clone());
            let racing = Wrapped::new(&store).before_append(move |append| {
                let is_denial = append.text.contains("\"deny\"") && first.swap(false, Ordering::SeqCst);
                let (other, run, interrupt) = (other.clone(), run.clone(), interrupt.clone());
                Box::pin(async move {
                    if is_denial {
                        other.decide(&run, &interrupt, Decision::Approve, "").await.unwrap();
                    }
                    Ok(())
                })
            });
            let person = Person::deciding([Decision::deny("no"), Decision::Approve]);
            let there = agent.clone().store(racing).observer(Events::new()).operator(person);
            let mut session = there.open(&id).await.unwrap();
            session.resume().await.unwrap();
            assert_eq!(world.seen(), ["pay 5 to Ann", "pay 6 to Ann"], "{on_deny:?}");
            assert!(ends(&session).iter().all_and_some(CallResult::is_success));
        }
    }
}

#[tokio::test]
async fn a_run_that_others_end_at_the_last_moment_does_not_hang() {
    let (store, world) = (memory(), World::new());
    let (agent, id, waits) = waiting(&store, tools(&world), pays(&[5])).await;
    let agent = agent.options(|_| ());
    let count = Arc::new(AtomicUsize::new(0));
    let (other, run, interrupt) = (agent.clone(), id.clone(), waits[0].id.clone());
    let reads = Arc::clone(&count);
    // The second read is the last one before the driver stops waiting.
    let late = Wrapped::new(&store).before_read(move |_| {
        let is_last = reads.fetch_add(1, Ordering::SeqCst) == 1;
        let (other, run, interrupt) = (other.clone(), run.clone(), interrupt.clone());
        Box::pin(async move {
            if is_last {
                other.decide(&run, &interrupt, Decision::deny("no"), "").await.unwrap();
            }
            Ok(())
        })
    });
    let mut session = agent.clone().store(late).open(&id).await.unwrap();
    let reply = tokio::time::timeout(Duration::from_secs(5), session.resume()).await.expect("it hangs").unwrap();
    assert_eq!(reply.phase, Phase::Finished);
    assert!(count.load(Ordering::SeqCst) >= 2);
}

#[tokio::test]
async fn a_failing_store_starts_nothing_and_the_session_continues_later() {
    for is_appended in [false, true] {
        let (store, world) = (memory(), World::new());
        let (agent, id, waits) = waiting(&store, tools(&world), pays(&[5])).await;
        agent.decide(&id, &waits[0].id, Decision::Approve, "").await.unwrap();
        let first = AtomicBool::new(true);
        let (inner, run) = (Arc::clone(&store), id.clone());
        // The connection breaks before or after the start is stored.
        let broken = Wrapped::new(&store).before_append(move |append| {
            let breaks = append.text.contains("\"started\"") && first.swap(false, Ordering::SeqCst);
            let (inner, run) = (Arc::clone(&inner), run.clone());
            Box::pin(async move {
                if breaks && is_appended {
                    inner.append(&run, append).await?;
                }
                if breaks { Err(StoreError::unavailable("the connection broke")) } else { Ok(()) }
            })
        });
        let mut session = agent.clone().store(broken).open(&id).await.unwrap();
        assert!(matches!(session.resume().await, Err(AgentError::Store(StoreError::Unavailable(_)))));
        assert_eq!(world.seen(), [""; 0]);
        let reply = session.resume().await.unwrap();
        // Only the log counts: if it has the start, a person must give the outcome.
        let expected = if is_appended { Phase::Suspended } else { Phase::Finished };
        assert_eq!(reply.phase, expected);
        assert_eq!(world.seen().len(), usize::from(!is_appended));
    }
}

#[tokio::test]
async fn a_sweep_takes_up_abandoned_runs_and_survives_unreadable_ones() {
    let (store, world) = (memory(), World::new());
    let mut left = Vec::new();
    for _ in 0..3 {
        let (agent, id, waits) = waiting(&store, tools(&world), pays(&[5])).await;
        agent.decide(&id, &waits[0].id, Decision::Approve, "").await.unwrap();
        left.push(id);
    }
    let bad = Mutex::new(Some(left[1].to_string()));
    let tampered = Wrapped::new(&store).tampered(move |text| match &*bad.lock().unwrap() {
        Some(id) if text.contains(id.as_str()) => text.replace("\"v\":1", "\"v\":9"),
        _ => text,
    });
    let says = || ScriptedModel::new([Turn::say("done"), Turn::say("done"), Turn::say("done")]);
    let sweeper = Agent::new(says()).tools(tools(&world)).operator(Suspend).store(tampered.shared());
    assert!(sweeper.sweep().await.is_err(), "it tells of the one that is wrong");
    assert_eq!(world.seen().len(), 2, "and has taken up the others");
    let sweeper = Agent::new(says()).tools(tools(&world)).operator(Suspend).store(Arc::clone(&store));
    assert_eq!(sweeper.sweep().await.unwrap(), 1);
    assert_eq!(sweeper.sweep().await.unwrap(), 0);
    assert_eq!(world.seen().len(), 3);
    let session = sweeper.open(&left[1]).await.unwrap();
    assert_eq!(session.run().calls()[0].stage(), Stage::Done);
}
