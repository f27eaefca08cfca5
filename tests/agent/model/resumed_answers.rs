//! Tests of typed answers that another process receives than the one that requested them.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tool_runtime::{
    Agent, AgentError,
    agent::Suspend,
    model::{ScriptedModel, Turn},
    run::Decision,
    run::Phase,
    store::{MemoryStore, Store},
};

use crate::model::kit::{Runs, tools, unavailable};

#[derive(Debug, Deserialize, JsonSchema, PartialEq)]
struct Trip {
    city: String,
    #[serde(default)]
    days: u8,
}

fn answer(city: &str) -> Turn {
    Turn::call("final_answer", json!({ "city": city, "days": 3 }))
}

fn rome() -> Trip {
    Trip { city: "Rome".into(), days: 3 }
}

#[tokio::test]
async fn an_answer_follows_a_decision() {
    let runs = Arc::<Runs>::default();
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let model = Arc::new(ScriptedModel::new([Turn::call("pay", "{}"), answer("Rome"), answer("Oslo")]));
    let agent = Agent::new(Arc::clone(&model)).tools(tools(&runs)).store(Arc::clone(&store)).operator(Suspend);
    let mut session = agent.session();
    let result = session.ask("Where to?").typed::<Trip>().await;
    assert!(
        matches!(&result, Err(AgentError::NoAnswer { reason }) if reason.contains("it waits for a decision")),
        "{result:?}"
    );
    let id = session.id().clone();
    let open = session.interrupts().next().unwrap().id.clone();
    drop(session);
    agent.decide(&id, &open, Decision::Approve, "").await.unwrap();
    let mut other = agent.open(&id).await.unwrap();
    assert_eq!(other.resume_ask().typed::<Trip>().await.unwrap().value, rome());
    assert!(model.requests()[1].tools.contains(&"final_answer".to_owned()));
    // A second request returns the same answer without asking the model.
    assert_eq!(agent.open(&id).await.unwrap().resume_ask().typed::<Trip>().await.unwrap().value, rome());
    assert_eq!(model.left(), 1);
}

/// `sweep` and `resume` do not know the type, but the run's record does.
#[tokio::test]
async fn a_process_without_the_type_continues_the_run() {
    let runs = Arc::<Runs>::default();
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let turns = [Turn::call("pay", "{}"), Turn::call("final_answer", json!({ "city": 7 })), answer("Rome")];
    let model = Arc::new(ScriptedModel::new(turns));
    let agent = Agent::new(Arc::clone(&model)).tools(tools(&runs)).store(Arc::clone(&store)).operator(Suspend);
    let mut session = agent.session();
    session.ask("Where to?").typed::<Trip>().await.unwrap_err();
    let id = session.id().clone();
    let open = session.interrupts().next().unwrap().id.clone();
    drop(session);
    agent.decide(&id, &open, Decision::Approve, "").await.unwrap();
    let mut other = agent.open(&id).await.unwrap();
    assert_eq!(other.resume().await.unwrap().phase, Phase::Finished);
    let first = other.run().calls()[1].result().unwrap().clone();
    assert!(!first.is_success(), "the answer is checked against the schema: {first:?}");
    assert_eq!(other.resume_ask().typed::<Trip>().await.unwrap().value, rome());
    let mut plain = agent.session();
    assert!(
        matches!(plain.resume_ask().typed::<Trip>().await, Err(AgentError::NoAnswer { .. })),
        "no answer was requested"
    );
}

#[tokio::test]
async fn an_answer_is_given_after_the_model_failed() {
    let model = ScriptedModel::new([unavailable()]).then(Turn::say("I do not know")).then(answer("Rome"));
    let mut session = Agent::new(model).session();
    assert!(matches!(session.ask("Where to?").typed::<Trip>().await, Err(AgentError::Model(_))));
    assert_eq!(session.resume_ask().typed::<Trip>().await.unwrap().value, rome());
}
