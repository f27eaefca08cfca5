//! Tests of runs that refuse entries of their own steps, because somebody changed their stored form.

use std::sync::Arc;

use serde_json::{Value, json};
use tool_runtime::{
    Agent, AgentError,
    agent::{Decision, Suspend},
    model::{ScriptedModel, Turn},
    run::Run,
    store::{MemoryStore, Store},
    tool, toolset,
};

use crate::kit::Effects;

/// Writes a line.
#[tool(approval = always)]
async fn write(#[state] effects: &Effects) {
    effects.record("written");
}

fn agent(effects: &Arc<Effects>) -> Agent {
    let model = ScriptedModel::new([Turn::call("write", json!({})), Turn::say("Done.")]);
    Agent::new(model).tools(toolset!(Arc::clone(effects); write)).operator(Suspend)
}

/// Returns the stored form of `run` as if its call had not been checked, and its tool had not been on offer.
fn contradict(run: &Run) -> String {
    let mut record: Value = serde_json::from_str(&run.freeze()).unwrap();
    let data = &mut record["data"];
    data["offered"] = json!(["another"]);
    let call = &mut data["calls"][0];
    (call["state"], call["tool"], call["past"]) = (json!("proposed"), Value::Null, Value::Null);
    record.to_string()
}

fn is_inconsistent<T>(done: Result<T, AgentError>) -> bool {
    matches!(done, Err(AgentError::Inconsistent { reason }) if reason.contains("was not on offer"))
}

#[tokio::test]
async fn an_inconsistent_run_answers_every_further_use_with_this_error() {
    let effects = Effects::new();
    let agent = agent(&effects);
    let mut session = agent.session();
    session.send("Write.").await.unwrap();
    let wrong = Run::thaw(&contradict(session.run())).unwrap();
    let mut session = agent.session_from_run(wrong);
    let (rev, interrupt) = (session.run().rev(), session.run().calls()[0].id.clone());
    for _ in 0..2 {
        assert!(is_inconsistent(session.resume().await));
        assert!(is_inconsistent(session.send("Go on.").await));
        assert!(is_inconsistent(session.cancel().await));
        let interrupt = format!("{}.1", interrupt.as_str()).parse().unwrap();
        assert!(is_inconsistent(session.decide(&interrupt, Decision::Approve, agent.owner()).await));
    }
    assert_eq!(session.run().rev(), rev);
    assert!(Run::thaw(&session.run().freeze()).is_err(), "nobody can pass it on");
    assert!(effects.all().is_empty());
}

#[tokio::test]
async fn a_stored_run_is_read_again_after_it_was_inconsistent() {
    let (effects, store) = (Effects::new(), Arc::new(MemoryStore::new()));
    let agent = agent(&effects).store(Arc::clone(&store) as Arc<dyn Store>);
    let mut session = agent.session();
    session.send("Write.").await.unwrap();
    let (id, rev) = (session.id().clone(), session.run().rev());
    store.save_snapshot(&id, rev, contradict(session.run())).await.unwrap();
    let mut session = agent.open(&id).await.unwrap();
    assert!(is_inconsistent(session.resume().await) && is_inconsistent(session.resume().await));
    assert_eq!(store.read(&id, rev).await.unwrap(), [], "nothing of it is stored");
    // The run was loaded again, so it can be left behind.
    session.cancel().await.unwrap();
    assert_eq!(session.send("Go on.").await.unwrap().text, "Done.");
    assert!(effects.all().is_empty());
}
