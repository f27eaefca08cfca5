//! Tests of the text of a turn that ends early: it stays in the conversation, and the model sees it in the next request.

use std::sync::{Arc, Mutex};

use futures_util::{
    StreamExt as _,
    future::pending,
    stream::{self, BoxStream},
};
use tokio::sync::Notify;
use tool_run::run::record;
use tool_runtime::{
    Agent, AgentError, Message,
    message::AssistantPart,
    model::{Delta, FinishReason, FunctionModel, ModelError, ModelErrorKind, OwnedRequest},
    run::{Phase, Run, StopReason},
    store::{MemoryStore, Store},
    tool, toolset,
};
use tool_test_kit::within;

type Deltas = BoxStream<'static, Result<Delta, ModelError>>;

/// A model that writes half of its first answer, and the requests that it received.
#[derive(Clone, Default)]
struct World {
    asked: Arc<Mutex<Vec<Vec<Message>>>>,
    /// Notified when the first half is written.
    half: Arc<Notify>,
}

impl World {
    /// Returns an agent whose model begins its first turn with `first`, and then does `then`.
    fn agent(&self, first: Vec<Delta>, then: impl Fn(Arc<Notify>) -> Deltas + Send + Sync + 'static) -> Agent {
        let world = self.clone();
        Agent::new(FunctionModel::streaming(move |request: OwnedRequest| -> Deltas {
            let mut asked = world.asked.lock().unwrap();
            asked.push(request.messages.clone());
            if asked.len() > 1 {
                return stream::iter([Delta::Text("Whole.".into()), Delta::Finish(FinishReason::Stop)]).map(Ok).boxed();
            }
            stream::iter(first.clone()).map(Ok).chain(then(Arc::clone(&world.half))).boxed()
        }))
    }

    /// Returns the last request's messages: a word for the role, and the texts.
    fn last_request(&self) -> Vec<String> {
        texts(self.asked.lock().unwrap().last().unwrap())
    }
}

fn half() -> Vec<Delta> {
    vec![Delta::Reasoning("Hm.".into()), Delta::Text("Half ".into()), Delta::Text("of it".into())]
}

/// The rest of a turn that does not come.
fn nothing(half: Arc<Notify>) -> Deltas {
    stream::once(async move {
        half.notify_one();
        pending().await
    })
    .boxed()
}

fn failure(_: Arc<Notify>) -> Deltas {
    stream::iter([Err(ModelError::new(ModelErrorKind::Script, "it broke"))]).boxed()
}

fn texts(messages: &[Message]) -> Vec<String> {
    let line = |message: &Message| match message {
        Message::User { content } => format!("user: {}", content[0].as_text().unwrap_or_default()),
        Message::Assistant { content } => {
            let part = |part: &AssistantPart| match part {
                AssistantPart::Text { text } => text.clone(),
                AssistantPart::Call(call) => format!("<{}>", call.name),
                _ => "?".to_owned(),
            };
            format!("assistant: {}", content.iter().map(part).collect::<String>())
        }
        Message::Tool(result) => format!("result of {}", result.tool),
        Message::System { .. } => "system".to_owned(),
    };
    messages.iter().map(line).collect()
}

/// Returns the names of the log's entries after the first prompt.
async fn entries(store: &dyn Store) -> Vec<&'static str> {
    let records = store.read(&"r".into(), 0).await.unwrap();
    let entries = records.iter().flat_map(|record| record::decode(&record.text).unwrap());
    entries.map(|entry| entry.name()).skip_while(|name| *name != "prompted").collect()
}

async fn load(store: &dyn Store) -> Run {
    store.load(&"r".into()).await.unwrap().unwrap().rebuild().unwrap()
}

#[tokio::test]
async fn the_text_of_a_cancelled_turn_stays() {
    let (world, store) = (World::default(), Arc::new(MemoryStore::new()));
    let agent = world.agent(half(), nothing).store(Arc::clone(&store) as Arc<dyn Store>);
    let mut session = agent.session_with_id("r", Vec::new());
    let stopped = session.send_until("Go", world.half.notified()).await;
    assert!(matches!(stopped, Err(AgentError::Cancelled)), "{stopped:?}");
    let kept = ["user: Go", "assistant: Half of it"];
    assert_eq!(texts(session.run().messages()), kept);
    assert_eq!(texts(load(&*store).await.messages()), kept);
    assert_eq!(entries(&*store).await, ["prompted", "turn_started", "written", "turn_failed", "stopped"]);
    session.send("And then?").await.unwrap();
    assert_eq!(world.last_request(), ["user: Go", "assistant: Half of it", "user: And then?"]);
}

#[tokio::test]
async fn the_text_of_a_model_that_failed_stays() {
    let world = World::default();
    let mut session = world.agent(half(), failure).session();
    assert!(matches!(session.send("Go").await, Err(AgentError::Model(_))));
    assert_eq!(texts(session.run().messages()), ["user: Go", "assistant: Half of it"]);
    assert!(matches!(session.run().phase(), Phase::Stopped(StopReason::ModelFailed(_))));
    // Providers get a message of the user behind it.
    session.resume().await.unwrap();
    assert_eq!(world.last_request(), ["user: Go", "assistant: Half of it"]);
    assert_eq!(texts(session.run().messages()), ["user: Go", "assistant: Half of it", "assistant: Whole."]);
}

/// The model writes the answer again, from its beginning.
#[tokio::test]
async fn the_text_of_a_turn_that_is_repeated_is_void() {
    let (world, store) = (World::default(), Arc::new(MemoryStore::new()));
    let fails = |_| stream::iter([Err(ModelError::new(ModelErrorKind::Unavailable, "it is busy"))]).boxed();
    let agent = world.agent(half(), fails).store(Arc::clone(&store) as Arc<dyn Store>).model_retries(1);
    let mut session = agent.session_with_id("r", Vec::new());
    session.send("Go").await.unwrap();
    assert_eq!(texts(session.run().messages()), ["user: Go", "assistant: Whole."]);
    assert!(!entries(&*store).await.contains(&"written"));
}

#[tokio::test]
async fn a_stop_by_another_process_keeps_the_text() {
    let (world, store) = (World::default(), Arc::new(MemoryStore::new()));
    let agent = world.agent(half(), nothing).store(Arc::clone(&store) as Arc<dyn Store>);
    let other = agent.clone();
    let drive = tokio::spawn(async move { agent.session_with_id("r", Vec::new()).send("Go").await });
    within("the first half", world.half.notified()).await;
    other.cancel(&"r".into(), "").await.unwrap();
    let stopped = within("the stop", drive).await.unwrap();
    assert!(matches!(stopped, Err(AgentError::Cancelled)), "{stopped:?}");
    assert_eq!(entries(&*store).await, ["prompted", "turn_started", "turn_failed", "stopped", "written"]);
    let mut session = other.open(&"r".into()).await.unwrap();
    assert_eq!(texts(session.run().messages()), ["user: Go", "assistant: Half of it"]);
    session.send("And then?").await.unwrap();
    assert_eq!(world.last_request(), ["user: Go", "assistant: Half of it", "user: And then?"]);
}

/// Look something up.
#[tool(effect = read_only, eager)]
async fn early() -> &'static str {
    "found"
}

/// Look something up later.
#[tool(effect = read_only)]
fn late() -> &'static str {
    panic!("a call of a turn that was cut runs")
}

fn call(index: usize, name: &str) -> [Delta; 2] {
    [
        Delta::CallStart { index, id: format!("call_{index}"), name: name.to_owned() },
        Delta::CallArguments { index, text: "{}".to_owned() },
    ]
}

/// The text is before the calls that began early. Other calls of the turn never run.
#[tokio::test]
async fn calls_of_a_cut_turn_are_behind_its_text() {
    let by_other = [false, true];
    for is_elsewhere in by_other {
        let (world, store) = (World::default(), Arc::new(MemoryStore::new()));
        let calls = [
            &call(0, "early")[..],
            &[Delta::CallEnd { index: 0 }],
            &call(1, "late"),
            &[Delta::CallEnd { index: 1 }],
            &call(2, "late"),
        ];
        let first = [half(), calls.concat()].concat();
        let agent =
            world.agent(first, nothing).tools(toolset!(early, late)).store(Arc::clone(&store) as Arc<dyn Store>);
        let other = agent.clone();
        let half = Arc::clone(&world.half);
        let drive = tokio::spawn(async move {
            let mut session = agent.session_with_id("r", Vec::new());
            if is_elsewhere {
                session.send("Go").await.map(drop)
            } else {
                session.send_until("Go", half.notified()).await.map(drop)
            }
        });
        if is_elsewhere {
            within("the first half", world.half.notified()).await;
            other.cancel(&"r".into(), "").await.unwrap();
        }
        assert!(within("the stop", drive).await.unwrap().is_err());
        let run = load(&*store).await;
        assert_eq!(
            texts(run.messages()),
            ["user: Go", "assistant: Half of it<early>", "result of early"],
            "{is_elsewhere}"
        );
        assert_eq!(run.calls().len(), 1);
        let mut session = other.open(&"r".into()).await.unwrap();
        session.send("And then?").await.unwrap();
        assert_eq!(session.run().calls().len(), 1);
    }
}
