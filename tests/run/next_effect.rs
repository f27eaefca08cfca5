//! Tests of sessions that go on after the condition of their next effect failed.

use std::{
    future::pending,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use tool_runtime::{
    Agent, AgentError,
    agent::{Session, Suspend},
    model::{FunctionModel, Turn},
    run::{Decision, OnPrompt, Phase, Refusal, Run, StopReason},
    store::{MemoryStore, Store, StoreError},
};

use crate::kit::{Effects, payments, tools};

/// The stores of these tests: none, and one.
fn stores() -> [Option<Arc<dyn Store>>; 2] {
    [None, Some(Arc::new(MemoryStore::new()))]
}

/// Returns an agent whose model pays 5 for the prompt "pay", and otherwise says the number of prompts. Also returns the number of
/// its requests.
fn agent(store: Option<&Arc<dyn Store>>, effects: &Arc<Effects>) -> (Agent, Arc<AtomicUsize>) {
    let asked = Arc::<AtomicUsize>::default();
    let counted = Arc::clone(&asked);
    let model = FunctionModel::new(move |request| {
        counted.fetch_add(1, Ordering::SeqCst);
        let prompts = request.messages.iter().filter_map(|message| match message {
            tool_runtime::Message::User { content } => content[0].as_text(),
            _ => None,
        });
        match prompts.clone().next_back() {
            Some("pay") if !matches!(request.messages.last(), Some(tool_runtime::Message::Tool(_))) => payments(&[5]),
            _ => Turn::say(format!("{} prompts", prompts.count())),
        }
    });
    let agent = Agent::new(model).tools(tools(effects)).operator(Suspend);
    (if let Some(store) = store { agent.store(Arc::clone(store)) } else { agent }, asked)
}

/// Returns a session whose call of `pay` was decided, and goes on with `resume`.
async fn decided(agent: &Agent, decision: Decision) -> Session {
    let mut session = agent.session();
    session.send("pay").await.unwrap();
    let open = session.interrupts().next().unwrap().id.clone();
    session.decide(&open, decision, "").await.unwrap();
    session
}

fn refuse(session: &mut Session) {
    session.before_next_effect(async { Err(StoreError::Conflict.into()) });
}

fn is_refused<T>(done: &Result<T, AgentError>) -> bool {
    matches!(done, Err(AgentError::Store(StoreError::Conflict)))
}

#[tokio::test]
async fn a_run_stops_if_the_model_may_not_be_asked() {
    for store in stores() {
        let (agent, asked) = agent(store.as_ref(), &Effects::new());
        let mut session = agent.session();
        for after in ["resume", "send"] {
            refuse(&mut session);
            assert!(is_refused(&session.send("one").await));
            let Phase::Stopped(StopReason::Condition(reason)) = session.run().phase() else { panic!("{after}") };
            assert_eq!(reason, "the condition of the next effect failed");
            let requests = asked.load(Ordering::SeqCst);
            match after {
                "resume" => assert_eq!(session.resume().await.unwrap().text, "1 prompts"),
                _ => assert_eq!(session.send("two").await.unwrap().text, "3 prompts"),
            }
            assert_eq!(asked.load(Ordering::SeqCst), requests + 1);
        }
        // A store has the same run.
        if store.is_some() {
            assert_eq!(agent.open(session.id()).await.unwrap().run().prompts().len(), 3);
        }
    }
}

#[tokio::test]
async fn a_typed_prompt_and_a_call_from_outside_go_on_too() {
    for store in stores() {
        let (agent, _) = agent(store.as_ref(), &Effects::new());
        let mut session = agent.session();
        refuse(&mut session);
        assert!(is_refused(&session.ask("one").typed::<u8>().await));
        refuse(&mut session);
        assert!(is_refused(&session.resume().await));
        refuse(&mut session);
        assert!(is_refused(&session.call("look", r#"{"what":"up"}"#).await));
        assert!(session.call("look", r#"{"what":"up"}"#).await.unwrap().result().unwrap().is_success());
    }
}

/// Prompts that wait are not lost, and do not begin a turn without the condition.
#[tokio::test]
async fn waiting_prompts_join_the_stopped_run() {
    let effects = Effects::new();
    let (agent, asked) = agent(None, &effects);
    let mut session = agent.options(|options| options.on_prompt = OnPrompt::Queue).session();
    session.send("pay").await.unwrap();
    assert_eq!(session.send("later").await.unwrap().phase, Phase::Suspended);
    let open = session.interrupts().next().unwrap().id.clone();
    session.decide(&open, Decision::deny("no"), "").await.unwrap();
    refuse(&mut session);
    assert!(is_refused(&session.resume().await));
    assert!(matches!(session.run().phase(), Phase::Stopped(_)), "{:?}", session.run().phase());
    assert_eq!((session.run().prompts().len(), asked.load(Ordering::SeqCst)), (2, 1));
    assert_eq!(session.resume().await.unwrap().text, "2 prompts");
}

#[tokio::test]
async fn an_approved_call_that_may_not_start_is_still_approved() {
    for store in stores() {
        let effects = Effects::new();
        let (agent, _) = agent(store.as_ref(), &effects);
        let mut session = decided(&agent, Decision::Approve).await;
        for _ in 0..2 {
            refuse(&mut session);
            assert!(is_refused(&session.resume().await));
            assert_eq!((session.run().phase(), effects.all().len()), (Phase::Acting, 0));
        }
        // The text about a prompt in between names what helps: no interrupt is open.
        let Err(AgentError::Refused(busy @ Refusal::Busy)) = session.send("two").await else { panic!("it is busy") };
        assert!(busy.to_string().contains("resume it"), "{busy}");
        if store.is_none() {
            // A client that keeps the run gets it as it was, with the approval.
            let kept = Run::thaw(&session.run().freeze()).unwrap();
            assert_eq!(kept.interrupts().count(), 0);
        }
        assert_eq!(session.resume().await.unwrap().text, "1 prompts");
        assert_eq!(effects.all(), ["pay 5 to Ann"]);
    }
}

#[tokio::test]
async fn a_cancelled_run_goes_on_after_a_condition_failed() {
    for store in stores() {
        let effects = Effects::new();
        let (agent, _) = agent(store.as_ref(), &effects);
        let mut session = decided(&agent, Decision::Approve).await;
        refuse(&mut session);
        assert!(is_refused(&session.resume().await));
        session.cancel().await.unwrap();
        assert_eq!(session.send("two").await.unwrap().text, "2 prompts");
        assert!(effects.all().is_empty());
    }
}

/// A dropped future does not lose the condition.
#[tokio::test]
async fn a_condition_that_was_not_awaited_to_its_end_still_holds() {
    let (agent, asked) = agent(None, &Effects::new());
    let mut session = agent.session();
    session.before_next_effect(async {
        pending::<()>().await;
        Ok(())
    });
    for _ in 0..2 {
        let sent = tokio::time::timeout(std::time::Duration::from_millis(5), session.resume_or_send()).await;
        assert!(sent.is_err(), "the condition is not ready");
    }
    assert_eq!(asked.load(Ordering::SeqCst), 0);
}

trait ResumeOrSend {
    async fn resume_or_send(&mut self) -> Result<(), AgentError>;
}

impl ResumeOrSend for Session {
    async fn resume_or_send(&mut self) -> Result<(), AgentError> {
        let is_idle = self.run().phase() == Phase::Idle;
        if is_idle { self.send("one").await.map(drop) } else { self.resume().await.map(drop) }
    }
}
