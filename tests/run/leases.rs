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
    run::Phase,
    store::{Store, StoreError},
    tool, toolset,
};

use crate::{
    kit::{Events, World, agent, memory, millis, open, tools, until},
    workers::slow,
    wrapped::Wrapped,
};

/// The same, and may be run again.
#[tool(effect = read_only)]
async fn watch(
    /// How many milliseconds.
    time: u64,
    #[state] world: &World,
) {
    world.did("slow begins");
    millis(time).await;
    world.did("slow ends");
}

#[tokio::test(flavor = "multi_thread")]
async fn s13_a_stalled_worker_does_not_continue_a_run_that_another_took_over() {
    for name in ["slow", "watch"] {
        let (store, world) = (memory(), World::new());
        let all = toolset!(Arc::clone(&world); slow, watch);
        let agent = agent(&store, all, [Turn::call(name, json!({"time": 250}))]).lease(Duration::from_millis(40));
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
        until(|| world.count("slow begins") == 1).await;
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
    let store = memory();
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
        .lease(Duration::from_millis(100))
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
    let (store, world) = (memory(), World::new());
    let late = Wrapped::new(&store).before_read(|_| {
        Box::pin(async {
            millis(5).await;
            Ok(())
        })
    });
    let turns = [Turn::call("look", json!({"what": "sky"})), Turn::say("done")];
    let agent = agent(&store, tools(&world), turns).store(late).lease(Duration::from_millis(4));
    let mut session = agent.session();
    let sent = tokio::time::timeout(Duration::from_secs(5), session.send("go")).await.expect("it never ends");
    assert_eq!(sent.unwrap().phase, Phase::Finished);
    assert_eq!(world.seen(), ["look sky"]);
}
