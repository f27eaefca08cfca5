//! A run that waits in a file for a decision. Each of the three parts could run in its own process, days apart.
//!
//! `cargo run -p examples --bin suspend` prints:
//!
//! ```text
//! monday: the run waits for a person
//! tuesday: refund {"amount":40} waits; ann approves
//! wednesday: Done.
//! ```

use std::path::Path;

use tool_runtime::{
    Agent, AgentError,
    agent::{Decision, Suspend},
    model::{ScriptedModel, Turn},
    run::Phase,
    store::WaitingFilter,
    tool, toolset,
};
use tool_stores::SqliteStore;

/// Pay money back.
#[tool(approval = always, effect = destructive)]
async fn refund(
    /// In euros.
    amount: u32,
) -> String {
    format!("{amount} euros were paid back")
}

/// Creates the agent. Each process creates it for itself.
fn agent(runs: &Path, turn: Turn) -> Result<Agent, AgentError> {
    let store = SqliteStore::open(runs)?;
    Ok(Agent::new(ScriptedModel::new([turn])).tools(toolset!(refund)).store(store).operator(Suspend).principal("ann"))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = std::env::temp_dir().join(format!("suspend-{}", std::process::id()));
    std::fs::create_dir_all(&directory)?;
    let runs = directory.join("runs.db");

    let monday = agent(&runs, Turn::call("refund", r#"{"amount": 40}"#))?;
    let mut session = monday.session();
    if session.send("Refund 40 euros.").await?.phase == Phase::Suspended {
        println!("monday: the run waits for a person");
    }
    let run = session.id().clone();
    drop((session, monday));

    // A decision asks no model, so this turn is never used.
    let tuesday = agent(&runs, Turn::say("unused"))?;
    for item in tuesday.waiting(&WaitingFilter::new().for_principal("ann")).await? {
        println!("tuesday: {} {} waits; ann approves", item.interrupt.shown.tool, item.interrupt.shown.arguments);
        tuesday.decide(&item.run, &item.interrupt.id, Decision::Approve, "ann").await?;
    }
    drop(tuesday);

    let wednesday = agent(&runs, Turn::say("Done."))?;
    let reply = wednesday.open(&run).await?.resume().await?;
    println!("wednesday: {}", reply.text);
    drop(wednesday);
    std::fs::remove_dir_all(directory)?;
    Ok(())
}
