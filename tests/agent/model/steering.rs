//! Tests of messages that steer a running agent.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use tool_runtime::{
    Agent, AgentError, Message, Part,
    agent::{Event, Observer, Steering, Suspend},
    model::{Delta, ScriptedModel, Turn},
    run::{Decision, Phase, Refusal},
    store::{MemoryStore, Store},
    tool, toolset,
};

use crate::model::kit::{Listener, Piece, Runs, call, count, pieces_of, streaming, tools};

fn prompt_text(message: &Message) -> Option<String> {
    match message {
        Message::User { content } => Some(content.iter().filter_map(Part::as_text).collect()),
        _ => None,
    }
}

/// An observer that sends a message when the first call has ended.
struct SteeringObserver {
    steering: Mutex<Option<Steering>>,
    listener: Listener,
}

impl Observer for SteeringObserver {
    fn on_event(&self, event: Event<'_>) {
        self.listener.on_event(event);
        if let Event::CallEnded { .. } = event
            && let Some(steering) = self.steering.lock().unwrap().take()
        {
            assert!(steering.say("rather in Rome") && steering.say("and soon"));
        }
    }
}

#[tokio::test]
async fn a_steering_message_reaches_the_next_turn() {
    let model = Arc::new(ScriptedModel::new([call(1), call(2), Turn::say("Rome it is")]));
    let runs = Arc::<Runs>::default();
    let meddler = Arc::new(SteeringObserver { steering: Mutex::default(), listener: Listener::default() });
    let mut session = Agent::new(Arc::clone(&model)).tools(tools(&runs)).observer(Arc::clone(&meddler)).session();
    *meddler.steering.lock().unwrap() = Some(session.steering());
    let reply = session.send("go to Oslo").await.unwrap();
    assert_eq!((reply.phase, reply.steps), (Phase::Finished, 3), "a steering message uses no step of its own");
    let asked = model.requests();
    let prompts: Vec<String> = asked.last().unwrap().messages.iter().filter_map(prompt_text).collect();
    assert_eq!(prompts, ["go to Oslo", "rather in Rome", "and soon"]);
    assert_eq!(count(&runs), 2);
    let lines = meddler.listener.lines();
    let at = |line: &str| lines.iter().position(|seen| seen == line).unwrap_or_else(|| panic!("{line}: {lines:?}"));
    assert!(at("queued: rather in Rome") < at("prompted: rather in Rome"));
    assert!(at("prompted: rather in Rome") < at("prompted: and soon"));
}

#[tokio::test(start_paused = true)]
async fn a_steering_message_during_the_last_turn_continues_the_run() {
    let model = streaming(|request| match request {
        1 => vec![Piece::Delta(Delta::Text("Oslo".into())), Piece::Pause(Duration::from_secs(9))]
            .into_iter()
            .chain(pieces_of(Turn::say(" it is")))
            .collect(),
        _ => pieces_of(Turn::say("Rome then")),
    });
    let mut session = Agent::new(model).session();
    let steering = session.steering();
    let run = tokio::spawn(async move {
        let reply = session.send("where?").await.unwrap();
        (reply, session)
    });
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(steering.say("not Oslo"));
    let (reply, mut session) = run.await.unwrap();
    assert_eq!((reply.text.as_str(), reply.steps), ("Rome then", 2));
    // No process drives the run, so the message waits for the next prompt.
    assert!(steering.say("by train"));
    session.send("and how?").await.unwrap();
    let prompts: Vec<String> = session.messages().iter().filter_map(prompt_text).collect();
    assert_eq!(prompts, ["where?", "not Oslo", "and how?", "by train"]);
    drop(session);
    assert!(!steering.say("hello?"), "the session is gone");
}

#[tokio::test]
async fn a_suspended_run_keeps_steering_messages() {
    let runs = Arc::<Runs>::default();
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let turns = [Turn::call("pay", "{}"), Turn::say("paid, in Rome")];
    let model = Arc::new(ScriptedModel::new(turns));
    let agent = Agent::new(Arc::clone(&model)).tools(tools(&runs)).store(Arc::clone(&store)).operator(Suspend);
    let mut session = agent.session();
    assert_eq!(session.send("pay").await.unwrap().phase, Phase::Suspended);
    // Another process sends the message.
    let run = agent.steer(session.id(), vec![Part::text("in Rome")], "").await.unwrap();
    assert_eq!((run.phase(), run.queue().len()), (Phase::Suspended, 1));
    let stranger = agent.steer(session.id(), vec![Part::text("to me")], "stranger").await;
    assert!(matches!(stranger, Err(AgentError::Refused(Refusal::Forbidden))));
    let open = session.interrupts().next().unwrap().id.clone();
    session.decide(&open, Decision::Approve, "").await.unwrap();
    let reply = session.resume().await.unwrap();
    assert_eq!((reply.text.as_str(), count(&runs)), ("paid, in Rome", 1));
    let prompts: Vec<String> = model.requests()[1].messages.iter().filter_map(prompt_text).collect();
    assert_eq!(prompts, ["pay", "in Rome"]);
    let late = agent.steer(session.id(), vec![Part::text("still there?")], "").await;
    assert!(matches!(late, Err(AgentError::Refused(Refusal::NotActive))), "{late:?}");
}

/// The driver finds messages from another process when it appends, and loses none.
#[tokio::test(start_paused = true)]
async fn another_process_steers_a_run_that_is_driven_here() {
    let runs = Arc::<Runs>::default();
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let model = streaming(|request| match request {
        1 => vec![Piece::Pause(Duration::from_millis(60))].into_iter().chain(pieces_of(call(1))).collect(),
        2 => vec![Piece::Pause(Duration::from_millis(60))].into_iter().chain(pieces_of(Turn::say("Oslo"))).collect(),
        _ => pieces_of(Turn::say("Rome")),
    });
    let agent = Agent::new(model).tools(tools(&runs)).store(Arc::clone(&store)).operator(Suspend);
    let mut session = agent.session();
    let id = session.id().clone();
    let run = tokio::spawn(async move {
        session.send("where?").await.unwrap();
        session
    });
    // Meanwhile, the model begins an answer without calls.
    tokio::time::sleep(Duration::from_millis(90)).await;
    agent.steer(&id, vec![Part::text("Rome")], "").await.unwrap();
    let session = run.await.unwrap();
    let prompts: Vec<String> = session.messages().iter().filter_map(prompt_text).collect();
    assert_eq!(prompts, ["where?", "Rome"]);
    assert_eq!((session.run().phase(), session.run().last_text()), (Phase::Finished, "Rome".to_owned()));
    assert!(session.run().queue().is_empty());
}

/// Takes less time than a driver waits before it reads its store by itself.
#[tool(effect = read_only)]
async fn stroll() {
    tokio::time::sleep(Duration::from_millis(500)).await;
}

#[tokio::test(start_paused = true)]
async fn poll_store_lets_the_driver_read_messages_before_the_next_turn() {
    let model = Arc::new(ScriptedModel::new([Turn::call("stroll", "{}"), Turn::say("Rome")]));
    let agent = Agent::new(Arc::clone(&model)).tools(toolset!(stroll)).store(MemoryStore::new());
    let mut session = agent.session();
    let (id, handle) = (session.id().clone(), session.handle());
    let run = tokio::spawn(async move { session.send("where?").await.unwrap() });
    tokio::time::sleep(Duration::from_millis(100)).await;
    agent.steer_with_id(&id, Some("m2".to_owned()), vec![Part::text("Rome")], "").await.unwrap();
    handle.poll_store();
    assert_eq!(run.await.unwrap().steps, 2);
    let prompts: Vec<String> = model.requests()[1].messages.iter().filter_map(prompt_text).collect();
    assert_eq!(prompts, ["where?", "Rome"]);
    let run = agent.open(&id).await.unwrap();
    assert_eq!(run.run().prompts()[1].id.as_deref(), Some("m2"));
}
