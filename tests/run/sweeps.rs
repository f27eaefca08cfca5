//! Tests that a sweep continues the runs that no process drives, each as its owner.

use serde_json::json;
use tool_runtime::{Context, agent::Decision, model::Turn, run::Phase, tool, toolset};

use crate::kit::{agent, stores, tool_results};

/// Returns the principal of the call.
#[tool(effect = read_only, approval = always)]
fn whoami(#[context] cx: &Context) -> String {
    cx.principal().unwrap_or("nobody").to_owned()
}

#[tokio::test]
async fn a_sweep_drives_each_run_on_behalf_of_its_owner() {
    for store in stores().await {
        let turns = || [Turn::call("whoami", json!({})), Turn::say("ok")];
        let of = |owner: &str| agent(&store, toolset!(whoami), turns()).principal(owner);
        let mut runs = Vec::new();
        for owner in ["anna", "ben"] {
            let agent = of(owner);
            let mut session = agent.session();
            session.send("go").await.unwrap();
            let interrupt = session.interrupts().next().unwrap().id.clone();
            agent.decide(session.id(), &interrupt, Decision::Approve, owner).await.unwrap();
            runs.push((owner, session.id().clone()));
        }
        // The model answers both runs.
        let sweeper = agent(&store, toolset!(whoami), [Turn::say("ok"), Turn::say("ok")]).principal("carl");
        assert_eq!(sweeper.sweep().await.unwrap(), 2);
        for (owner, id) in runs {
            let session = sweeper.open(&id).await.unwrap();
            assert_eq!(tool_results(&session), [owner]);
            assert_eq!((session.run().phase(), session.run().owner().as_str()), (Phase::Finished, owner));
            assert!(!sweeper.resume_run(&"unknown".into()).await.unwrap());
        }
    }
}
