//! Tests of guarantee 13, and of the other guarantees, for several processes that share a run under a lease.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::future::BoxFuture;
use serde_json::json;
use tool_run::run::Stage;
use tool_runtime::{
    Agent, AgentError, Toolset,
    agent::{ApprovalRequest, Decision, Event, Observer, Operator, Suspend},
    model::{ScriptedModel, Turn},
    run::{CallResult, OnDeny, Phase, RunId, StopReason},
    store::{Store, StoreError},
    tool, toolset,
};
use tool_test_kit::{AllAndSome as _, within};

use crate::{
    kit::{
        Effects, Events, Person, agent, call_results, open_interrupts, payments, resume, sleep_millis, start_waiting,
        store, stores, tools, wait_until,
    },
    store_hooks::Wrapped,
    suite::{
        lost_clients::{is_cancelled, tools as slow_tools},
        subagents::call,
    },
};

#[tokio::test]
async fn s13_a_worker_without_a_lease_appends_and_starts_nothing() {
    for store in stores().await {
        let effects = Effects::new();
        let (agent, id, interrupts) = start_waiting(&store, tools(&effects), payments(&[5])).await;
        agent.decide(&id, &interrupts[0].id, Decision::Approve, "").await.unwrap();
        // The older worker stalls just before it logs the start. Meanwhile its lease ends, and another worker continues.
        let (newer, first) = (agent.clone(), AtomicBool::new(true));
        let (run, done) = (id.clone(), Arc::clone(&effects));
        let stalled = Wrapped::new(&store).before_append(move |append| {
            let is_start = append.text.contains("\"call_started\"") && first.swap(false, Ordering::SeqCst);
            let (newer, run, done) = (newer.clone(), run.clone(), Arc::clone(&done));
            Box::pin(async move {
                if is_start {
                    sleep_millis(60).await;
                    resume(&newer, &run).await;
                    assert_eq!(done.all(), ["pay 5 to Ann"]);
                }
                Ok(())
            })
        });
        let older = agent.clone().store(stalled).lease_time(Duration::from_millis(30));
        let mut session = older.open(&id).await.unwrap();
        match session.resume().await {
            Err(AgentError::Store(StoreError::Fenced | StoreError::Leased { .. })) => {}
            other => panic!("{other:?}"),
        }
        assert_eq!(effects.all(), ["pay 5 to Ann"]);
        // The older session is usable again: it has the other worker's entries.
        session.resume().await.unwrap();
        assert_eq!((effects.all().len(), call_results(&session).len()), (1, 1));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_waiting_run_is_read_only_after_appends_if_the_store_notifies() {
    let mut notifying = 0;
    for store in stores().await {
        let effects = Effects::new();
        let (agent, id, interrupts) = start_waiting(&store, tools(&effects), payments(&[5])).await;
        if store.watch(&id).is_none() {
            continue;
        }
        notifying += 1;
        let count = Arc::new(AtomicUsize::new(0));
        let reads = Arc::clone(&count);
        let counted = Wrapped::new(&store).before_read(move |_| {
            reads.fetch_add(1, Ordering::SeqCst);
            Box::pin(async { Ok(()) })
        });
        let person = Person::deciding([]);
        let there = agent.clone().store(counted).operator(person.clone());
        let mut session = there.open(&id).await.unwrap();
        let run = tokio::spawn(async move { session.resume().await });
        wait_until(|| person.approvals().len() == 1).await;
        // The connection for notifications may be made only now, and then the run is read once.
        let is_unread = async {
            let mut before = usize::MAX;
            while count.load(Ordering::SeqCst) != before {
                before = count.load(Ordering::SeqCst);
                sleep_millis(1500).await;
            }
        };
        within("a run that is read now and then", is_unread).await;
        agent.decide(&id, &interrupts[0].id, Decision::Approve, "").await.unwrap();
        assert_eq!(run.await.unwrap().unwrap().phase, Phase::Finished);
        assert_eq!(effects.all(), ["pay 5 to Ann"]);
    }
    assert_eq!(notifying, 2);
}

#[tokio::test]
async fn the_first_of_two_simultaneous_decisions_wins() {
    for on_deny in [OnDeny::Continue, OnDeny::StopTurn] {
        for store in stores().await {
            let effects = Effects::new();
            let (agent, id, interrupts) = start_waiting(&store, tools(&effects), payments(&[5, 6])).await;
            // Another principal approves just before the person's denial is logged.
            let (other, first) = (agent.clone(), AtomicBool::new(true));
            let (run, interrupt) = (id.clone(), interrupts[0].id.clone());
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
            assert_eq!(effects.sorted(), ["pay 5 to Ann", "pay 6 to Ann"], "{on_deny:?}");
            assert!(call_results(&session).iter().all_and_some(CallResult::is_success));
        }
    }
}

/// An operator that never decides, and an observer of the decisions of inner runs.
#[derive(Clone, Default)]
struct Waiting {
    inner_deciders: Arc<Mutex<Vec<String>>>,
}

impl Operator for Waiting {
    fn approve<'a>(&'a self, _: &'a ApprovalRequest) -> BoxFuture<'a, Decision> {
        Box::pin(std::future::pending())
    }
}

impl Observer for Waiting {
    fn on_event(&self, event: Event<'_>) {
        if let Event::Inner { event: Event::CallDecided { by, .. }, .. } = event {
            self.inner_deciders.lock().unwrap().push(by.to_string());
        }
    }
}

#[tokio::test]
async fn the_inner_log_names_the_person_who_decides_in_place_of_the_operator() {
    let effects = Effects::new();
    let inner = Agent::new(ScriptedModel::new([payments(&[5]), Turn::say("paid")]))
        .tools(tools(&effects))
        .deciders(|_, _| vec!["".into(), "bob".into()]);
    let helper = Toolset::new().with(inner.as_tool("helper", "Helps.")).unwrap();
    let waiting = Waiting::default();
    let agent = agent(&store(), helper, [call("helper"), Turn::say("done")])
        .observer(waiting.clone())
        .operator(waiting.clone());
    let mut session = agent.session();
    let id = session.id().clone();
    let bob = async {
        let open = loop {
            match open_interrupts(&agent, &id).await.pop() {
                Some(open) => break open,
                None => sleep_millis(10).await,
            }
        };
        agent.decide(&id, &open.id, Decision::Approve, "bob").await.unwrap();
    };
    let (reply, ()) = tokio::join!(session.send("go"), bob);
    assert_eq!((reply.unwrap().phase, effects.all()), (Phase::Finished, vec!["pay 5 to Ann".to_owned()]));
    assert_eq!(*waiting.inner_deciders.lock().unwrap(), ["bob"]);
}

#[tokio::test]
async fn a_run_that_others_end_at_the_last_moment_does_not_hang() {
    let (store, effects) = (store(), Effects::new());
    let (agent, id, interrupts) = start_waiting(&store, tools(&effects), payments(&[5])).await;
    let agent = agent.options(|_| ());
    let count = Arc::new(AtomicUsize::new(0));
    let (other, run, interrupt) = (agent.clone(), id.clone(), interrupts[0].id.clone());
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
    let reply = within("a run that others ended", Box::pin(session.resume())).await.unwrap();
    assert_eq!(reply.phase, Phase::Finished);
    assert!(count.load(Ordering::SeqCst) >= 2);
}

#[tokio::test]
async fn a_failing_store_starts_nothing_and_the_session_continues_later() {
    for is_appended in [false, true] {
        let (store, effects) = (store(), Effects::new());
        let (agent, id, interrupts) = start_waiting(&store, tools(&effects), payments(&[5])).await;
        agent.decide(&id, &interrupts[0].id, Decision::Approve, "").await.unwrap();
        let first = AtomicBool::new(true);
        let (inner, run) = (Arc::clone(&store), id.clone());
        // The connection breaks before or after the start is stored.
        let broken = Wrapped::new(&store).before_append(move |append| {
            let breaks = append.text.contains("\"call_started\"") && first.swap(false, Ordering::SeqCst);
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
        assert_eq!(effects.all(), [""; 0]);
        let reply = session.resume().await.unwrap();
        // Only the log counts: if it has the start, a person must give the outcome.
        let expected = if is_appended { Phase::Suspended } else { Phase::Finished };
        assert_eq!(reply.phase, expected);
        assert_eq!(effects.all().len(), usize::from(!is_appended));
    }
}

#[tokio::test]
async fn a_sweep_takes_up_abandoned_runs_and_survives_unreadable_ones() {
    let (store, effects) = (store(), Effects::new());
    let mut left = Vec::new();
    for _ in 0..3 {
        let (agent, id, interrupts) = start_waiting(&store, tools(&effects), payments(&[5])).await;
        agent.decide(&id, &interrupts[0].id, Decision::Approve, "").await.unwrap();
        left.push(id);
    }
    let bad = Mutex::new(Some(left[1].to_string()));
    let tampered = Wrapped::new(&store).tampered(move |text| match &*bad.lock().unwrap() {
        Some(id) if text.contains(id.as_str()) => text.replace("\"v\":1", "\"v\":9"),
        _ => text,
    });
    let model = || ScriptedModel::new([Turn::say("done"), Turn::say("done"), Turn::say("done")]);
    let sweeper = Agent::new(model()).tools(tools(&effects)).operator(Suspend).store(tampered.shared());
    assert!(sweeper.sweep().await.is_err(), "the sweep reports the run that it cannot read");
    assert_eq!(effects.all().len(), 2, "the sweep continues the other runs");
    let sweeper = Agent::new(model()).tools(tools(&effects)).operator(Suspend).store(Arc::clone(&store));
    assert_eq!(sweeper.sweep().await.unwrap(), 1);
    assert_eq!(sweeper.sweep().await.unwrap(), 0);
    assert_eq!(effects.all().len(), 3);
    let session = sweeper.open(&left[1]).await.unwrap();
    assert_eq!(session.run().calls()[0].stage(), Stage::Done);
}

#[tokio::test]
async fn only_the_owner_continues_a_run_that_was_stopped() {
    for store in stores().await {
        let effects = Effects::new();
        let (agent, id, _) = start_waiting(&store, tools(&effects), payments(&[5])).await;
        agent.cancel(&id, "").await.unwrap();
        assert!(!agent.resume_run(&id).await.unwrap(), "the run was stopped after the worker found it");
        // A session that knows of the first stop only does not continue after the second.
        let mut late = agent.open(&id).await.unwrap();
        let other = self::agent(&store, tools(&effects), [payments(&[6]), Turn::say("never")]);
        let mut session = other.open(&id).await.unwrap();
        assert_eq!(session.send("again").await.unwrap().phase, Phase::Suspended);
        other.cancel(&id, "").await.unwrap();
        drop(late.resume().await);
        let stopped = Phase::Stopped(StopReason::Cancelled);
        assert_eq!((late.run().phase(), other.open(&id).await.unwrap().run().phase()), (stopped.clone(), stopped));
    }
}

/// A tool of one client.
#[tool(external, output = bool)]
struct Ring;

#[tokio::test]
async fn a_worker_without_the_tool_of_a_client_leaves_its_call_open() {
    for store in stores().await {
        let (agent, id, interrupts) = start_waiting(&store, toolset!(Ring), Turn::call("Ring", json!({}))).await;
        let worker = self::agent(&store, Toolset::new(), [Turn::say("never")]);
        assert_eq!(worker.open(&id).await.unwrap().resume().await.unwrap().phase, Phase::Suspended);
        // The client has executed the call meanwhile.
        agent.decide(&id, &interrupts[0].id, Decision::Respond { output: json!(true) }, "").await.unwrap();
        let session = resume(&agent, &id).await;
        assert!(matches!(call_results(&session)[..], [CallResult::Succeeded { .. }]), "{:?}", call_results(&session));
    }
}

/// Another process approves a call while the run is cancelled.
#[tokio::test]
async fn a_call_that_is_approved_before_a_cancellation_runs() {
    for store in stores().await {
        let effects = Effects::new();
        let turns = || [Turn::call("slow", json!({})).then_call("pay", json!({ "amount": 5 })), Turn::say("never")];
        let other = agent(&store, slow_tools(&effects), turns());
        let raced = Arc::new(AtomicBool::new(false));
        let (decider, once) = (other.clone(), Arc::clone(&raced));
        let id = RunId::from("raced");
        let racing: Arc<dyn Store> = Wrapped::new(&store)
            .before_append(move |append| {
                let (decider, once, id) = (decider.clone(), Arc::clone(&once), id.clone());
                Box::pin(async move {
                    if append.text.contains("\"stopped\"") && !once.swap(true, Ordering::SeqCst) {
                        let open = decider.open(&id).await.unwrap().interrupts().next().unwrap().id.clone();
                        decider.decide(&id, &open, Decision::Approve, "").await.unwrap();
                    }
                    Ok(())
                })
            })
            .shared();
        let driven = agent(&racing, slow_tools(&effects), turns());
        let mut session = driven.session_with_id("raced", Vec::new());
        let handle = session.handle();
        let (ended, ()) = tokio::join!(session.send("go"), async {
            wait_until(|| effects.count("begins") == 1).await;
            handle.client_left();
        });
        assert!(is_cancelled(&ended) && raced.load(Ordering::SeqCst));
        assert_eq!(effects.count("pay 5 to Ann"), 1);
        assert!(call_results(&session)[1].is_success(), "{:?}", call_results(&session));
    }
}

#[tokio::test]
async fn approved_calls_of_a_lost_client_run_without_another_turn() {
    for store in stores().await {
        let effects = Effects::new();
        effects.record("go on");
        let agent = agent(&store, slow_tools(&effects), [Turn::call("careful", json!({})), Turn::say("never")]);
        let mut session = agent.session();
        session.send("go").await.unwrap();
        let open = session.interrupts().next().unwrap().id.clone();
        agent.decide(session.id(), &open, Decision::Approve, "").await.unwrap();
        // The client leaves before the call has started.
        session.handle().client_left();
        assert!(is_cancelled(&session.resume().await));
        assert_eq!(effects.count("ends"), 1);
        assert!(call_results(&session)[0].is_success());
        assert_eq!(session.run().phase(), Phase::Stopped(StopReason::Cancelled));
        assert_eq!(agent.open(session.id()).await.unwrap().messages(), session.messages(), "the store has the result");
    }
}
