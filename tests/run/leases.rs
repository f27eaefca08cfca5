//! Tests of a run's lease: a worker that stalls loses it, and a worker that does not stall keeps it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use serde_json::json;
use tokio::sync::Semaphore;
use tool_runtime::{
    Agent, AgentError,
    agent::Suspend,
    model::Turn,
    run::{Phase, Timestamp},
    store::{Store, StoreError},
    test::TestClock,
    tool, toolset,
};
use tool_test_kit::within;

use crate::{
    kit::{Effects, Events, agent, open_interrupts, sleep_millis, store, stores, tools, wait_until},
    store_hooks::Wrapped,
};

/// Never ends.
#[tool]
async fn slow(#[state] effects: &Effects) {
    effects.record("slow begins");
    std::future::pending::<()>().await;
}

/// Never ends, and may run again.
#[tool(effect = read_only)]
async fn watch(#[state] effects: &Effects) {
    effects.record("slow begins");
    std::future::pending::<()>().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s13_a_stalled_worker_does_not_continue_a_run_that_another_took_over() {
    for name in ["slow", "watch"] {
        let (store, effects) = (store(), Effects::new());
        let all = toolset!(Arc::clone(&effects); slow, watch);
        let agent = agent(&store, all, [Turn::call(name, json!({}))]).lease_time(Duration::from_millis(40));
        let (asleep, wakes) = (Arc::new(AtomicBool::new(false)), Arc::new(Semaphore::new(0)));
        let (is_asleep, may_wake) = (Arc::clone(&asleep), Arc::clone(&wakes));
        let sleepy = Wrapped::new(&store).before_read(move |_| {
            let (sleeps, may_wake) = (is_asleep.swap(false, Ordering::SeqCst), Arc::clone(&may_wake));
            Box::pin(async move {
                if sleeps {
                    may_wake.acquire().await.unwrap().forget();
                }
                Ok(())
            })
        });
        let mut session = agent.clone().store(sleepy).session();
        let id = session.id().clone();
        let first = tokio::spawn(async move { session.send("go").await });
        wait_until(|| effects.count("slow begins") == 1).await;
        asleep.store(true, Ordering::SeqCst);
        wait_until(|| !asleep.load(Ordering::SeqCst)).await;
        // When the lease has ended, another worker takes the run over and finds the call lost.
        let mut newer = agent.open(&id).await.unwrap();
        let taking = Box::pin(async {
            loop {
                match newer.resume().await {
                    Err(AgentError::Store(StoreError::Leased { .. })) => sleep_millis(10).await,
                    taken => break taken,
                }
            }
        });
        if name == "slow" {
            let taken = within("a takeover", taking).await.unwrap();
            assert_eq!(taken.phase, Phase::Suspended, "a person decides about the lost call");
            assert_eq!(open_interrupts(&agent, &id).await.len(), 1);
        } else {
            tokio::select! {
                taken = taking => panic!("the repeated call ended: {taken:?}"),
                () = wait_until(|| effects.count("slow begins") == 2) => {}
            }
        }
        wakes.add_permits(1);
        let ended = within("a worker that was asleep", first).await.unwrap();
        let is_fenced = matches!(ended, Err(AgentError::Store(StoreError::Fenced | StoreError::Leased { .. })));
        assert!(is_fenced || name == "slow", "{ended:?}");
        assert!(agent.open(&id).await.unwrap().run().calls()[0].result().is_none());
    }
}

#[tokio::test(start_paused = true)]
async fn a_lease_is_renewed_while_a_model_never_pauses() {
    let (store, clock) = (store(), TestClock::new());
    let model = tool_runtime::model::FunctionModel::streaming(|_| {
        futures_util::stream::unfold(0u32, |count| async move {
            if count == 300 {
                return None;
            }
            sleep_millis(1).await;
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
        .clock(&clock)
        .observer(Events::new())
        .operator(Suspend);
    let mut session = agent.session();
    let id = session.id().clone();
    let run = tokio::spawn(async move { session.send("go").await });
    for _ in 0..15 {
        sleep_millis(15).await;
        let taken = store.lease(&id, "thief", clock.now(), Duration::from_secs(1)).await;
        assert!(matches!(taken, Err(StoreError::Leased { .. })) || run.is_finished(), "{taken:?}");
    }
    run.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_store_that_is_slower_than_the_lease_does_not_stop_the_run() {
    let (store, effects) = (store(), Effects::new());
    let late = Wrapped::new(&store).before_read(|_| {
        Box::pin(async {
            sleep_millis(5).await;
            Ok(())
        })
    });
    let turns = [Turn::call("look", json!({"what": "sky"})), Turn::say("done")];
    let agent = agent(&store, tools(&effects), turns).store(late).lease_time(Duration::from_millis(4));
    let mut session = agent.session();
    let sent = within("a run in a slow store", Box::pin(session.send("go"))).await;
    assert_eq!(sent.unwrap().phase, Phase::Finished);
    assert_eq!(effects.all(), ["look sky"]);
}

/// The clock of the machine is moved by an hour. A live driver loses its run at worst, and the run of one that is gone is taken over
/// within the time of a lease: not an hour later.
#[tokio::test(flavor = "multi_thread")]
async fn s13_a_clock_that_is_moved_by_an_hour_neither_repeats_a_call_nor_locks_its_run() {
    const START: u64 = 1_767_225_600_000;
    for store in stores().await {
        for moved in [3_600_000_i64, -3_600_000] {
            let effects = Effects::new();
            let turns = [Turn::call("slow", json!({})), Turn::say("done")];
            let agent = agent(&store, toolset!(Arc::clone(&effects); slow), turns).lease_time(Duration::from_secs(3));
            let before = agent.clone().clock(&TestClock::at(Timestamp(START)));
            let mut session = before.session();
            let id = session.id().clone();
            let driven = tokio::spawn(async move { session.send("go").await });
            wait_until(|| effects.count("slow begins") == 1).await;
            driven.abort();
            // A process that begins after the change.
            let after =
                agent.clock(&TestClock::at(Timestamp(START.saturating_add_signed(moved)))).observer(Events::new());
            let taken_over = async {
                while after.sweep().await.unwrap() == 0 {
                    sleep_millis(100).await;
                }
            };
            within("a sweep", Box::pin(taken_over)).await;
            let run = after.open(&id).await.unwrap();
            assert_eq!(run.run().phase(), Phase::Suspended, "a person decides about the lost call");
            assert_eq!(effects.count("slow begins"), 1);
        }
    }
}

/// A worker whose clock is an hour ahead takes over no run that is driven. One whose clock is an hour behind takes over a run as
/// soon as its lease has ended.
#[tokio::test(flavor = "multi_thread")]
async fn s13_clocks_an_hour_apart_change_nothing_in_postgresql() {
    let store = stores().await.pop().expect("PostgreSQL is the last one");
    let clock = |ahead: u64| TestClock::at(Timestamp(1_767_225_600_000 + ahead * 3_600_000));
    for (here, there) in [(0, 1), (1, 0)] {
        let effects = Effects::new();
        let turns = [Turn::call("slow", json!({})), Turn::say("done")];
        let agent = agent(&store, toolset!(Arc::clone(&effects); slow), turns).lease_time(Duration::from_secs(6));
        let driver = agent.clone().clock(&clock(here));
        let other = agent.clone().clock(&clock(there)).observer(Events::new());
        let mut session = driver.session();
        let id = session.id().clone();
        let driven = tokio::spawn(async move { session.send("go").await });
        wait_until(|| effects.count("slow begins") == 1).await;
        // Longer than a lease, which the driver renews.
        for _ in 0..35 {
            sleep_millis(200).await;
            assert_eq!(other.sweep().await.unwrap(), 0);
            let taken = other.open(&id).await.unwrap().resume().await;
            assert!(matches!(taken, Err(AgentError::Store(StoreError::Leased { .. }))), "{taken:?}");
        }
        let mut following = other.clone().observer(Events::new()).open(&id).await.unwrap();
        let followed = tokio::spawn(async move { following.follow().await });
        sleep_millis(50).await;
        driven.abort();
        // This waits for less than an hour.
        let reply = within("a follower", followed).await.unwrap();
        assert_eq!(reply.unwrap().phase, Phase::Suspended, "a person decides about the lost call");
        assert_eq!(effects.count("slow begins"), 1);
    }
}
