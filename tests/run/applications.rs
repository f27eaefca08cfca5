//! Tests that a worker touches only runs of its own application, and only those whose tools it has.

use std::sync::Arc;

use serde_json::json;
use tool_runtime::{
    Agent, Toolset,
    agent::{CallOutcome, Decision, Suspend},
    model::{ScriptedModel, Turn},
    run::{Phase, RunId},
    store::{MemoryStore, Store},
    tool, toolset,
};

use crate::kit::{Effects, agent, note, stores, tool_results, tools};

/// Highlights a place on the page.
#[tool(external, output = String)]
struct Highlight {
    place: String,
}

/// Begins a run that waits for the approval of `pay`, approves it, and leaves it to a worker.
async fn approved(agent: &Agent) -> RunId {
    let mut session = agent.session();
    assert_eq!(session.send("Pay.").await.unwrap().phase, Phase::Suspended);
    let open = session.interrupts().next().unwrap().id.clone();
    agent.decide(session.id(), &open, Decision::Approve, agent.owner()).await.unwrap();
    session.id().clone()
}

fn payment() -> [Turn; 2] {
    [Turn::call("pay", json!({ "amount": 1 })), Turn::say("Paid.")]
}

async fn revision(store: &Arc<dyn Store>, run: &RunId) -> u64 {
    store.load(run).await.unwrap().unwrap().rebuild().unwrap().rev()
}

#[tokio::test]
async fn a_worker_leaves_runs_of_other_applications_alone() {
    for store in stores().await {
        let effects = Effects::new();
        let run = approved(&agent(&store, tools(&effects), payment()).name("travel")).await;
        let before = revision(&store, &run).await;

        // The tools do not matter: only the names do.
        let billing = agent(&store, tools(&effects), [Turn::say("billing")]).name("billing");
        assert_eq!(billing.sweep().await.unwrap(), 0);
        assert!(!billing.resume_run(&run).await.unwrap());
        let unnamed = agent(&store, tools(&effects), [Turn::say("unnamed")]);
        assert_eq!(unnamed.sweep().await.unwrap(), 0);
        assert_eq!((revision(&store, &run).await, effects.all().len()), (before, 0));
        // Nor has one of them taken the lease.
        assert_eq!(store.due(billing.now(), 10).await.unwrap(), std::slice::from_ref(&run));

        let travel = agent(&store, tools(&effects), [Turn::say("Paid.")]).name("travel");
        assert_eq!(travel.sweep().await.unwrap(), 1);
        let session = travel.open(&run).await.unwrap();
        assert_eq!((session.run().phase(), tool_results(&session).len()), (Phase::Finished, 1));
        assert_eq!(session.run().made_by(), Some("travel"));
        assert_eq!(effects.all(), ["pay 1 to Ann"]);
    }
}

#[tokio::test]
async fn runs_without_a_name_belong_to_agents_without_a_name() {
    for store in stores().await {
        let effects = Effects::new();
        let run = approved(&agent(&store, tools(&effects), payment())).await;
        let named = agent(&store, tools(&effects), [Turn::say("Paid.")]).name("travel");
        assert_eq!(named.sweep().await.unwrap(), 0);
        // An empty name is none.
        let unnamed = agent(&store, tools(&effects), [Turn::say("Paid.")]).name("");
        assert_eq!(unnamed.sweep().await.unwrap(), 1);
        assert_eq!(unnamed.open(&run).await.unwrap().run().made_by(), None);
        assert_eq!(unnamed.session().run().made_by(), None);
    }
}

#[tokio::test]
async fn an_agent_continues_the_runs_of_its_earlier_names() {
    for store in stores().await {
        let effects = Effects::new();
        for name in ["trips", "", "billing"] {
            approved(&agent(&store, tools(&effects), payment()).name(name)).await;
        }
        let turns = [Turn::say("Paid."), Turn::say("Paid.")];
        let travel = agent(&store, tools(&effects), turns).name("travel").earlier_names(["trips", ""]);
        assert_eq!(travel.sweep().await.unwrap(), 2);
        assert_eq!(effects.all().len(), 2);
    }
}

/// A run of another application stays due, so it is at the front of each list of due runs.
#[tokio::test]
async fn foreign_runs_do_not_starve_own_ones() {
    for store in stores().await {
        let effects = Effects::new();
        for _ in 0..150 {
            approved(&agent(&store, tools(&effects), payment()).name("billing")).await;
        }
        let travel = agent(&store, tools(&effects), [Turn::say("1"), Turn::say("2")]).name("travel");
        for count in 1..=2 {
            approved(&agent(&store, tools(&effects), payment()).name("travel")).await;
            assert_eq!(travel.sweep().await.unwrap(), 1);
            assert_eq!(effects.all().len(), count);
        }
        assert_eq!(travel.sweep().await.unwrap(), 0);
    }
}

#[tokio::test]
async fn a_sweep_continues_at_most_64_runs() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let effects = Effects::new();
    for _ in 0..70 {
        approved(&agent(&store, tools(&effects), payment())).await;
    }
    let worker = agent(&store, tools(&effects), (0..70).map(|_| Turn::say("Paid.")));
    assert_eq!((worker.sweep().await.unwrap(), worker.sweep().await.unwrap()), (64, 6));
}

/// The application itself is never refused.
#[tokio::test]
async fn the_application_opens_runs_of_every_name() {
    for store in stores().await {
        let effects = Effects::new();
        let travel = agent(&store, tools(&effects), payment()).name("travel");
        let mut session = travel.session();
        session.send("Pay.").await.unwrap();
        let (run, open) = (session.id().clone(), session.interrupts().next().unwrap().id.clone());
        drop(session);

        let support = agent(&store, tools(&effects), [Turn::say("Paid."), Turn::say("Hello.")]).name("support");
        support.rename(&run, "a payment", support.owner()).await.unwrap();
        support.decide(&run, &open, Decision::Approve, support.owner()).await.unwrap();
        let mut session = support.open(&run).await.unwrap();
        assert_eq!(session.resume().await.unwrap().text, "Paid.");
        session.change_agent(|agent| agent.name("specialist"));
        assert_eq!(session.send("Hello?").await.unwrap().text, "Hello.");
        // The agent that acts does not change the name.
        assert_eq!(travel.open(&run).await.unwrap().run().made_by(), Some("travel"));
        // A run that begins with this conversation is another run.
        assert_eq!(support.branch("fork", session.run(), 1).run().made_by(), Some("support"));
    }
}

#[tokio::test]
async fn a_worker_leaves_a_run_alone_whose_tool_it_lacks() {
    for store in stores().await {
        let effects = Effects::new();
        let both = || tools(&effects);
        let run = approved(&agent(&store, both(), payment())).await;
        let before = revision(&store, &run).await;
        let lacks = agent(&store, toolset!(Arc::clone(&effects); note), [Turn::say("no")]);
        for _ in 0..2 {
            assert_eq!(lacks.sweep().await.unwrap(), 0);
        }
        assert_eq!(revision(&store, &run).await, before);
        let reason = lacks.reason_to_leave(lacks.open(&run).await.unwrap().run()).unwrap();
        assert!(reason.contains("needs the tool `pay`, which this agent does not have"), "{reason}");

        // The tool comes later, like those of a remote server.
        assert_eq!(lacks.clone().tools(both()).sweep().await.unwrap(), 1);
        assert_eq!(effects.all(), ["pay 1 to Ann"]);
    }
}

/// A change by a person makes the worker look again.
#[tokio::test]
async fn a_run_that_changes_is_looked_at_again() {
    for store in stores().await {
        let effects = Effects::new();
        let full = agent(
            &store,
            tools(&effects),
            [Turn::call("pay", json!({ "amount": 1 })).then_call("note", json!({ "text": "a" }))],
        );
        let mut session = full.session();
        session.send("Pay.").await.unwrap();
        let open = session.interrupts().next().unwrap().id.clone();
        let run = session.id().clone();
        let worker = agent(&store, toolset!(Arc::clone(&effects); note), [Turn::say("Denied.")]);
        assert!(!worker.resume_run(&run).await.unwrap());
        worker.decide(&run, &open, Decision::deny("no"), worker.owner()).await.unwrap();
        assert_eq!(worker.sweep().await.unwrap(), 1);
        assert_eq!(worker.open(&run).await.unwrap().run().phase(), Phase::Finished);
    }
}

#[tokio::test]
async fn a_tool_of_a_page_is_no_reason_to_leave_a_run_alone() {
    for store in stores().await {
        let effects = Effects::new();
        let turn = Turn::call("pay", json!({ "amount": 1 })).then_call("Highlight", json!({ "place": "here" }));
        let page = tools(&effects).merge(toolset!(Highlight)).unwrap();
        let run = approved(&agent(&store, page.clone(), [turn])).await;
        // The page is gone, so the worker does not have its tool.
        let worker = agent(&store, tools(&effects), [Turn::say("no")]);
        assert_eq!(worker.sweep().await.unwrap(), 1);
        assert_eq!(effects.all(), ["pay 1 to Ann"]);
        // The call waits for the page, which comes back.
        let session = worker.open(&run).await.unwrap();
        assert_eq!(session.run().phase(), Phase::Suspended);
        let open = session.interrupts().next().unwrap().id.clone();
        let page = agent(&store, page, [Turn::say("Done.")]);
        page.decide(&run, &open, Decision::Respond { output: json!("shown") }, page.owner()).await.unwrap();
        assert_eq!(page.open(&run).await.unwrap().resume().await.unwrap().text, "Done.");
    }
}

/// Returns an agent with the tool `assistant`, an agent with these tools, whose name is its own.
fn outer(store: &Arc<dyn Store>, inner: Toolset, turns: impl IntoIterator<Item = Turn>) -> Agent {
    let inner = Agent::new(ScriptedModel::new(payment())).tools(inner).name("assistant");
    let tools = Toolset::new().with(inner.as_tool("assistant", "Assists.")).unwrap();
    agent(store, tools, turns).name("travel")
}

#[tokio::test]
async fn a_run_inside_belongs_to_the_application_of_the_outer_run() {
    for store in stores().await {
        let effects = Effects::new();
        let call = Turn::call("assistant", json!({ "task": "Pay." }));
        let run = approved(&outer(&store, tools(&effects), [call, Turn::say("no")])).await;
        let before = revision(&store, &run).await;
        // The name of the inner agent does not count.
        assert_eq!(outer(&store, tools(&effects), [Turn::say("no")]).name("assistant").sweep().await.unwrap(), 0);
        // A tool that the inner agent lacks does.
        let lacks = outer(&store, toolset!(Arc::clone(&effects); note), [Turn::say("no")]);
        assert_eq!(lacks.sweep().await.unwrap(), 0);
        let reason = lacks.reason_to_leave(lacks.open(&run).await.unwrap().run()).unwrap();
        assert!(reason.contains("the tool `pay`"), "{reason}");
        assert_eq!((revision(&store, &run).await, effects.all().len()), (before, 0));

        assert_eq!(outer(&store, tools(&effects), [Turn::say("Paid.")]).sweep().await.unwrap(), 1);
        assert_eq!(effects.all(), ["pay 1 to Ann"]);
    }
}

/// A call from outside is a run like any other.
#[tokio::test]
async fn a_call_from_outside_belongs_to_its_application() {
    for store in stores().await {
        let effects = Effects::new();
        let desk = Agent::tools_only(tools(&effects)).name("desk").operator(Suspend).store(Arc::clone(&store));
        let CallOutcome::Waits(session) = desk.call("pay", r#"{"amount":1}"#).await.unwrap() else {
            panic!("no approval")
        };
        let open = session.interrupts().next().unwrap().id.clone();
        desk.decide(session.id(), &open, Decision::Approve, desk.owner()).await.unwrap();
        drop(session);
        assert_eq!(desk.clone().name("other").sweep().await.unwrap(), 0);
        assert_eq!(desk.sweep().await.unwrap(), 1);
        assert_eq!(effects.all(), ["pay 1 to Ann"]);
    }
}
