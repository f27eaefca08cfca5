//! Runs that are driven on Restate: they wait, get decisions from other processes, and go on.

use std::{sync::Arc, time::Duration};

use serde_json::json;
use tokio::sync::Barrier;
use tool_restate::RestateStore;
use tool_runtime::{
    Agent, AgentError, Context, Part,
    agent::{Decision, Suspend},
    model::{ModelError, ModelErrorKind, ScriptedModel, ScriptedTurn, Turn},
    run::{CallResult, Phase, Refusal, StopReason},
    store::{Store as _, StoreError, WaitingFilter},
    tool, toolset,
};

use crate::{
    kit::{Effects, payments, tool_results, tools},
    service::{connection, front, session, session_with, wait_until},
};

#[tokio::test]
async fn a_prompt_is_answered_by_the_service() {
    let effects = Effects::new();
    let mut session = session(tools(&effects), [Turn::call("look", json!({"what": "sky"})), Turn::say("It is blue.")]);
    let reply = session.send("Which colour?").await.unwrap();
    assert_eq!((reply.text.as_str(), reply.phase, reply.steps), ("It is blue.", Phase::Finished, 2));
    assert_eq!(effects.all(), ["look sky"]);
}

#[tokio::test]
async fn a_conversation_goes_on_with_a_second_prompt() {
    let mut session = session(toolset!(), [Turn::say("One."), Turn::say("Two.")]);
    assert_eq!(session.send("1?").await.unwrap().text, "One.");
    assert_eq!(session.send("2?").await.unwrap().text, "Two.");
    assert_eq!(session.messages().len(), 4);
}

#[tokio::test]
async fn an_approval_comes_from_another_process_and_the_call_runs_once() {
    let effects = Effects::new();
    let mut session = session(tools(&effects), [payments(&[5]), Turn::say("paid it")]);
    assert_eq!(session.send("go").await.unwrap().phase, Phase::Suspended);
    // Only the id and another connection are left.
    let (id, other) = (session.id().clone(), front(tools(&effects)));
    let items = other.waiting(&WaitingFilter::new().in_run(id.clone())).await.unwrap();
    assert_eq!((items.len(), items[0].interrupt.shown.tool.as_str()), (1, "pay"));
    other.decide(&id, &items[0].interrupt.id, Decision::Approve, "").await.unwrap();
    let run = wait_until(&other, &id, |run| run.phase() == Phase::Finished).await;
    assert_eq!((run.run().last_text().as_str(), effects.all()), ("paid it", vec!["pay 5 to Ann".to_owned()]));
    // The first session reads what happened.
    assert_eq!(session.resume().await.unwrap().text, "paid it");
    assert_eq!(effects.all().len(), 1);
}

#[tokio::test]
async fn edits_and_denials_hold_as_for_any_store() {
    let effects = Effects::new();
    let mut session = session(tools(&effects), [payments(&[5, 6]), Turn::say("ok")]);
    session.send("go").await.unwrap();
    let open: Vec<_> = session.interrupts().map(|open| open.id.clone()).collect();
    let wrong = session.decide(&open[0], Decision::Edit { arguments: json!({"amount": 1000}) }, "").await;
    assert!(matches!(wrong, Err(AgentError::Refused(Refusal::Invalid { .. }))), "{wrong:?}");
    session.decide(&open[0], Decision::Edit { arguments: json!({"amount": 7}) }, "").await.unwrap();
    session.decide(&open[1], Decision::Deny { reason: None }, "").await.unwrap();
    assert_eq!(session.resume().await.unwrap().text, "ok");
    assert_eq!(effects.all(), ["pay 7 to Ann"]);
    assert!(matches!(session.run().calls()[1].result(), Some(CallResult::Denied { .. })));
}

#[tokio::test]
async fn the_first_of_two_decisions_from_two_processes_wins() {
    for _ in 0..5 {
        let effects = Effects::new();
        let mut session = session(tools(&effects), [payments(&[5]), Turn::say("ok")]);
        session.send("go").await.unwrap();
        let open = session.interrupts().next().unwrap().id.clone();
        let (one, other, id) = (front(tools(&effects)), front(tools(&effects)), session.id().clone());
        let deny = Decision::Deny { reason: None };
        let (approved, denied) =
            tokio::join!(one.decide(&id, &open, Decision::Approve, ""), other.decide(&id, &open, deny, ""));
        assert!(approved.is_ok() != denied.is_ok(), "{approved:?} {denied:?}");
        let run = wait_until(&one, &id, |run| run.phase() == Phase::Finished).await;
        assert_eq!(run.run().calls()[0].result().unwrap().is_success(), approved.is_ok());
        assert_eq!(effects.all().len(), usize::from(approved.is_ok()));
        // A repetition of the decision that was made succeeds, and changes nothing.
        if approved.is_ok() {
            other.decide(&id, &open, Decision::Approve, "").await.unwrap();
            assert_eq!(effects.all().len(), 1);
        }
    }
}

/// Waits for seven others.
#[tool]
async fn meet(#[state] all: &Barrier) -> i64 {
    all.wait().await;
    1
}

#[tokio::test]
async fn eight_calls_of_a_turn_overlap() {
    let turn = (0..8).fold(Turn::default(), |turn, _| turn.then_call("meet", "{}"));
    // Each call ends only when all eight run.
    let mut session = session(toolset!(Arc::new(Barrier::new(8)); meet), [turn, Turn::say("met")]);
    assert_eq!(session.send("go").await.unwrap().text, "met");
}

/// Hangs.
#[tool]
async fn hang(#[state] effects: &Effects) {
    effects.record("hangs");
    std::future::pending::<()>().await;
}

#[tokio::test]
async fn a_cancellation_stops_the_call_under_way() {
    let effects = Effects::new();
    let tools = toolset!(Arc::clone(&effects); hang);
    let mut session = session(tools.clone(), [Turn::call("hang", "{}"), Turn::say("next")]);
    let (id, other) = (session.id().clone(), front(tools));
    let cancelled = tokio::spawn(async move {
        wait_until(&other, &id, |run| run.calls().iter().any(tool_runtime::run::Call::may_have_run)).await;
        other.cancel(&id, "").await.unwrap();
    });
    assert!(matches!(session.send("go").await, Err(AgentError::Cancelled)));
    cancelled.await.unwrap();
    assert_eq!(session.run().phase(), Phase::Stopped(StopReason::Cancelled));
    assert_eq!(session.send("go on").await.unwrap().text, "next");
}

#[tokio::test]
async fn a_decision_reaches_a_run_whose_other_call_still_runs() {
    let effects = Effects::new();
    let tools = tools(&effects).merge(toolset!(Arc::clone(&effects); hang)).unwrap();
    let mut session = session(tools.clone(), [payments(&[5]).then_call("hang", "{}"), Turn::say("never")]);
    let (id, other) = (session.id().clone(), front(tools));
    let sent = tokio::spawn(async move { session.send("go").await });
    let run = wait_until(&other, &id, |run| run.interrupts().next().is_some()).await;
    let open = run.interrupts().next().unwrap().id.clone();
    other.decide(&id, &open, Decision::Approve, "").await.unwrap();
    wait_until(&other, &id, |run| run.calls()[0].result().is_some()).await;
    assert!(effects.all().contains(&"pay 5 to Ann".to_owned()));
    other.cancel(&id, "").await.unwrap();
    assert!(matches!(sent.await.unwrap(), Err(AgentError::Cancelled)));
}

#[tokio::test]
async fn an_approval_expires_on_a_timer_of_the_server() {
    let effects = Effects::new();
    let driver = Agent::new(ScriptedModel::new([payments(&[5]), Turn::say("too late")])).tools(tools(&effects));
    let mut front = session_with(tools(&effects), driver.operator(Suspend));
    front.change_agent(|agent| agent.options(|options| options.approval_expiry = Some(Duration::from_secs(1))));
    let mut session = front.agent().session_with_id(front.id().clone(), Vec::new());
    session.send("go").await.unwrap();
    let run = wait_until(front.agent(), front.id(), |run| run.phase() == Phase::Finished).await;
    assert_eq!(run.run().calls()[0].result(), Some(&CallResult::Expired));
    assert_eq!((run.run().last_text().as_str(), effects.all().len()), ("too late", 0));
}

#[tokio::test]
async fn a_call_from_outside_runs_in_the_service() {
    let effects = Effects::new();
    let mut session = session(tools(&effects), [Turn::say("never")]);
    let call = session.call("look", r#"{"what":"up"}"#).await.unwrap();
    assert!(call.result().unwrap().is_success());
    assert_eq!(effects.all(), ["look up"]);
}

#[tokio::test]
async fn a_model_that_fails_stops_the_run_and_a_retry_goes_on() {
    let busy = ModelError::new(ModelErrorKind::Unavailable, "it is busy");
    let model = ScriptedModel::new([ScriptedTurn::from(busy), ScriptedTurn::from(Turn::say("now"))]);
    let mut session = session_with(toolset!(), Agent::new(model));
    assert!(matches!(session.send("go").await, Err(AgentError::Model(_))));
    let phase = session.run().phase();
    assert!(matches!(phase, Phase::Stopped(StopReason::ModelFailed(_))), "{phase:?}");
    assert_eq!(session.resume().await.unwrap().text, "now");
}

#[tokio::test]
async fn a_message_for_a_run_that_has_ended_is_refused() {
    let mut session = session(toolset!(), [Turn::say("done")]);
    session.send("go").await.unwrap();
    let late = session.agent().steer(session.id(), vec![Part::text("wait")], "").await;
    assert!(matches!(late, Err(AgentError::Refused(Refusal::NotActive))), "{late:?}");
}

/// Returns the principal of the call.
#[tool(effect = read_only)]
fn whoami(#[context] cx: &Context) -> String {
    cx.principal().unwrap_or("nobody").to_owned()
}

#[tokio::test]
async fn a_call_sees_the_owner_of_its_run() {
    let of_nobody = session(toolset!(whoami), [Turn::call("whoami", "{}"), Turn::say("done")]);
    let anna = of_nobody.agent().clone().principal("anna");
    let mut session = anna.session_with_id(of_nobody.id().clone(), Vec::new());
    session.send("go").await.unwrap();
    assert_eq!(tool_results(&session), ["anna"]);
}

#[tokio::test]
async fn runs_are_listed_read_and_deleted() {
    let owner = format!("owner {}", std::process::id());
    let agent = front(toolset!()).context(tool_runtime::Context::new("").with_principal(owner.clone()));
    let mut sessions = Vec::new();
    for title in ["first", "second"] {
        let mut made = session(toolset!(), [Turn::say("hello")]);
        made.change_agent(|_| agent.clone());
        let mut made = agent.session_with_id(made.id().clone(), Vec::new());
        made.send(title).await.unwrap();
        sessions.push(made);
    }
    let store = connection();
    let list = store.list(&owner.clone().into(), 0..10).await.unwrap();
    assert_eq!(list.iter().map(|item| item.title.as_deref()).collect::<Vec<_>>(), [Some("second"), Some("first")]);
    let id = sessions[0].id().clone();
    assert!(store.delete(&id).await.unwrap() && !store.delete(&id).await.unwrap());
    assert!(matches!(agent.open(&id).await, Err(AgentError::Store(StoreError::NotFound))));
    assert!(matches!(store.read(&id, 0).await, Err(StoreError::NotFound)));
}

#[tokio::test]
async fn a_server_that_is_away_is_an_error_and_nothing_else() {
    let away = RestateStore::new("http://127.0.0.1:1", "http://127.0.0.1:1").unwrap();
    let effects = Effects::new();
    let agent =
        Agent::new(ScriptedModel::new([payments(&[5])])).tools(tools(&effects)).operator(Suspend).store(away.clone());
    let sent = agent.session().send("go").await;
    assert!(matches!(&sent, Err(AgentError::Store(StoreError::Unavailable(_)))), "{sent:?}");
    assert!(matches!(away.register("http://127.0.0.1:2").await, Err(StoreError::Unavailable(_))));
    assert!(RestateStore::new("not an address", "http://127.0.0.1:1").is_err());
    assert!(effects.all().is_empty());
}
