//! Tests of runs that begin before a call of another run.

use std::sync::{Arc, Mutex};

use tool_runtime::{
    Agent,
    agent::Suspend,
    message::{AssistantPart, Message},
    model::{ScriptedModel, Turn},
    run::{CallId, Decision, Phase},
    store::{MemoryStore, Store},
    tool, toolset,
};

type Played = Mutex<Vec<String>>;

/// Plays a song.
#[tool]
fn play(
    #[state] played: &Played,
    /** Its title. */
    title: String,
) -> String {
    played.lock().unwrap().push(title.clone());
    format!("plays {title}")
}

/// Deletes a song.
#[tool(approval = always)]
fn delete(
    #[state] played: &Played,
    /** Its title. */
    title: String,
) -> String {
    played.lock().unwrap().push(format!("-{title}"));
    format!("{title} is gone")
}

fn agent(played: &Arc<Played>, store: &Arc<dyn Store>) -> Agent {
    let turns = [
        Turn::say("Let me see.").then_call("play", r#"{"title":"One"}"#).then_call("play", r#"{"title":"Two"}"#),
        Turn::say("Done."),
        Turn::say("Otherwise."),
        Turn::say("Again."),
    ];
    let tools = toolset!(Arc::clone(played); play, delete);
    Agent::new(ScriptedModel::new(turns)).tools(tools).operator(Suspend).store(Arc::clone(store)).principal("ann")
}

#[tokio::test]
async fn a_call_is_made_with_other_arguments() {
    let (played, store): (Arc<Played>, Arc<dyn Store>) = (Arc::default(), Arc::new(MemoryStore::new()));
    let agent = agent(&played, &store);
    let mut first = agent.session();
    first.send("Play.").await.unwrap();
    let two = first.run().calls()[1].id.clone();
    let change = |call: &mut tool_runtime::message::ToolCall| call.arguments = r#"{"title":"Three"}"#.to_owned();
    let mut second = agent.branch_before_call("second", first.run(), &two, change).unwrap();
    assert_eq!(second.run().phase(), Phase::Acting);
    assert_eq!(second.resume().await.unwrap().text, "Otherwise.");
    // The other call of the turn does not run again.
    assert_eq!(*played.lock().unwrap(), ["One", "Two", "Three"]);
    let Message::Assistant { content } = &second.messages()[1] else { panic!("{:?}", second.messages()) };
    assert!(matches!(&content[..], [AssistantPart::Text { text }, AssistantPart::Call(_)] if text == "Let me see."));
    // The first run is as it was, and both can be loaded.
    assert_eq!((first.messages().len(), first.run().last_text()), (5, "Done.".to_owned()));
    let loaded = agent.open(&"second".into()).await.unwrap();
    assert_eq!(loaded.messages(), second.messages());
    assert_eq!(second.send("Again?").await.unwrap().text, "Again.");
}

/// Another name is a call like the model's: it asks for its approval, before and after a restart.
#[tokio::test]
async fn a_call_of_another_tool_is_judged() {
    let (played, store): (Arc<Played>, Arc<dyn Store>) = (Arc::default(), Arc::new(MemoryStore::new()));
    let agent = agent(&played, &store);
    let mut first = agent.session();
    first.send("Play.").await.unwrap();
    let one = first.run().calls()[0].id.clone();
    let mut second =
        agent.branch_before_call("second", first.run(), &one, |call| call.name = "delete".to_owned()).unwrap();
    assert_eq!(second.resume().await.unwrap().phase, Phase::Suspended);
    drop(second);
    let mut second = agent.open(&"second".into()).await.unwrap();
    let open = second.interrupts().next().unwrap().id.clone();
    second.decide(&open, Decision::Approve, "ann").await.unwrap();
    assert_eq!(second.resume().await.unwrap().text, "Otherwise.");
    assert_eq!(*played.lock().unwrap(), ["One", "Two", "-One"]);
}

#[tokio::test]
async fn a_call_that_is_wrong_or_unknown_is_refused() {
    let (played, store): (Arc<Played>, Arc<dyn Store>) = (Arc::default(), Arc::new(MemoryStore::new()));
    let agent = agent(&played, &store);
    let mut first = agent.session();
    first.send("Play.").await.unwrap();
    let one = first.run().calls()[0].id.clone();
    // What the application writes is checked like the model's text.
    let mut second =
        agent.branch_before_call("second", first.run(), &one, |call| call.arguments = "[".to_owned()).unwrap();
    second.resume().await.unwrap();
    assert!(!second.run().calls()[0].result().unwrap().is_success());
    assert_eq!(*played.lock().unwrap(), ["One", "Two"]);
    // The id of the call is not the application's.
    let third = agent.branch_before_call("third", first.run(), &one, |call| call.id = "x".to_owned()).unwrap();
    assert_eq!(third.run().calls()[0].name, "play");
    let unknown = agent.branch_before_call("fourth", first.run(), &CallId::from("none"), |_| ()).unwrap_err();
    assert!(unknown.to_string().contains("the conversation has no call with this id"), "{unknown}");
}
