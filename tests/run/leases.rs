//! The lease of a run: lost by a worker that stalls, and kept by one that does not.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use serde_json::json;
use tool_runtime::{
    Agent, AgentError,
    agent::Suspend,
    model::Turn,
    run::{Phase, Time},
    store::{Store, StoreError},
    test::Clock,
    tool, toolset,
};

use crate::{
    kit::{Effects, Events, agent, millis, open, store, stores, tools, until},
    store_hooks::Wrapped,
    suite::together::slow,
};

/// Waits, and may run again.
#[tool(effect = read_only)]
async fn watch(
    /// The time in milliseconds.
    time: u64,
    #[state] effects: &Effects,
) {
    effects.record("slow begins");
    millis(time).await;
    effects.record("slow ends");
}

#[tokio::test(flavor = "multi_thread")]
async fn s13_a_stalled_worker_does_not_continue_a_run_that_another_took_over() {
    for name in ["slow", "watch"] {
        let (store, effects) = (store(), Effects::new());
        let all = toolset!(Arc::clone(&effects); slow, watch);
        let agent = agent(&store, all, [Turn::call(name, json!({"time": 250}))]).lease_time(Duration::from_millis(40));
        let asleep = Arc::new(AtomicBool::new(false));
        let is_asleep = Arc::clone(&asleep);
        let sleepy = Wrapped::new(&store).before_read(move |_| {
            let sleeps = is_asleep.swap(false, Ordering::SeqCst);
            Box::pin(async move {
                if sleeps {
                    millis(200).await;
                }
                Ok(())
            })
        });
        let mut session = agent.clone().store(sleepy).session();
        let id = session.id().clone();
        let first = tokio::spawn(async move { session.send("go").await });
        until(|| effects.count("slow begins") == 1).await;
        asleep.store(true, Ordering::SeqCst);
        until(|| !asleep.load(Ordering::SeqCst)).await;
        millis(80).await;
        // Another worker takes the run over, finds the call lost, and also breaks off.
        let mut newer = agent.open(&id).await.unwrap();
        let taken = tokio::time::timeout(Duration::from_millis(60), newer.resume()).await;
        let ended = tokio::time::timeout(Duration::from_secs(5), first).await.expect("it hangs").unwrap();
        if name == "slow" {
            assert_eq!(taken.unwrap().unwrap().phase, Phase::Suspended, "a person is asked what came of it");
            assert_eq!(open(&agent, &id).await.len(), 1);
        } else {
            assert!(taken.is_err(), "it runs again, and that breaks off");
            let is_fenced = matches!(ended, Err(AgentError::Store(StoreError::Fenced | StoreError::Leased { .. })));
            assert!(is_fenced, "{ended:?}");
        }
        assert!(agent.open(&id).await.unwrap().run().calls()[0].result().is_none());
    }
}

#[tokio::test]
async fn a_lease_is_prolonged_while_a_model_never_pauses() {
    let store = store();
    let model = tool_runtime::model::FunctionModel::streaming(|_| {
        futures_util::stream::unfold(0u32, |count| async move {
            if count == 300 {
                return None;
            }
            millis(1).await;
            let delta = match count {
                299 => tool_runtime::model::Delta::Finish(tool_runtime::model::FinishReason::Stop),
                _ => tool_runtime::model::Delta::Text("x".into()),
            };
            Some((Ok(delta), count + 1))
        })
    });
    let agent = Agent::new(model)
        .store(Arc::clone(&store))
        .lease_time(Duration::from_millis(100))
        .observer(Events::new())
        .operator(Suspend);
    let mut session = agent.session();
    let id = session.id().clone();
    let run = tokio::spawn(async move { session.send("go").await });
    for _ in 0..15 {
        millis(15).await;
        let taken = store.lease(&id, "thief", now(), Duration::from_secs(1)).await;
        assert!(matches!(taken, Err(StoreError::Leased { .. })) || run.is_finished(), "{taken:?}");
    }
    run.await.unwrap().unwrap();
}

fn now() -> tool_runtime::run::Time {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    tool_runtime::run::Time(u64::try_from(since.as_millis()).unwrap())
}

#[tokio::test]
async fn a_store_that_is_slower_than_the_lease_does_not_stop_the_run() {
    let (store, effects) = (store(), Effects::new());
    let late = Wrapped::new(&store).before_read(|_| {
        Box::pin(async {
            millis(5).await;
            Ok(())
        })
    });
    let turns = [Turn::call("look", json!({"what": "sky"})), Turn::say("done")];
    let agent = agent(&store, tools(&effects), turns).store(late).lease_time(Duration::from_millis(4));
    let mut session = agent.session();
    let sent = tokio::time::timeout(Duration::from_secs(5), session.send("go")).await.expect("it never ends");
    assert_eq!(sent.unwrap().phase, Phase::Finished);
    assert_eq!(effects.all(), ["look sky"]);
}

/// A worker whose clock is an hour ahead takes over no run that is driven. One whose clock is an hour behind takes over a run as
/// soon as its lease has ended.
#[tokio::test(flavor = "multi_thread")]
async fn s13_clocks_an_hour_apart_change_nothing_in_postgresql() {
    let store = stores().await.pop().expect("PostgreSQL is the last one");
    let clock = |ahead: u64| Clock::at(Time(1_767_225_600_000 + ahead * 3_600_000));
    for (here, there) in [(0, 1), (1, 0)] {
        let effects = Effects::new();
        let turns = [Turn::call("slow", json!({"time": 60_000})), Turn::say("done")];
        let agent = agent(&store, toolset!(Arc::clone(&effects); slow), turns).lease_time(Duration::from_secs(1));
        let driver = agent.clone().clock(&clock(here));
        let other = agent.clone().clock(&clock(there)).observer(Events::new());
        let mut session = driver.session();
        let id = session.id().clone();
        let driven = tokio::spawn(async move { session.send("go").await });
        until(|| effects.count("slow begins") == 1).await;
        // Longer than a lease, which the driver renews.
        for _ in 0..8 {
            millis(200).await;
            assert_eq!(other.sweep().await.unwrap(), 0);
            let taken = other.open(&id).await.unwrap().resume().await;
            assert!(matches!(taken, Err(AgentError::Store(StoreError::Leased { .. }))), "{taken:?}");
        }
        let mut following = other.clone().observer(Events::new()).open(&id).await.unwrap();
        let followed = tokio::spawn(async move { following.follow().await });
        millis(50).await;
        driven.abort();
        let reply =
            tokio::time::timeout(Duration::from_secs(30), followed).await.expect("it waits for an hour").unwrap();
        assert_eq!(reply.unwrap().phase, Phase::Suspended, "a person is asked what came of the call");
        assert_eq!(effects.count("slow begins"), 1);
    }
}
