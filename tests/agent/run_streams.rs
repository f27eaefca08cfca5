//! Tests of runs as streams: order, origins, slow readers, dropped streams, panics.

use std::{sync::Arc, time::Duration};

use futures_util::{StreamExt, TryStreamExt, stream};
use serde_json::json;
use tokio::sync::{Notify, Semaphore};
use tool_runtime::{
    Agent, AgentError, Toolset,
    agent::{Decision, Event, EventKind, Observer, RunEvent, RunStream, Suspend},
    message::Part,
    model::{Delta, FinishReason, FunctionModel, ModelError, ModelErrorKind, ScriptedModel, ScriptedTurn, Turn},
    run::{CallId, CallResult, Phase, StopReason},
    store::MemoryStore,
    test::Events,
    tool, toolset,
};
use tool_test_kit::within;

/// Doubles a number.
#[tool(effect = read_only)]
fn double(
    /// The number.
    n: i64,
) -> i64 {
    n * 2
}

/// The two sides of a call of [`charge`]: it has begun, and it may end.
struct Gates {
    begun: Semaphore,
    end: Notify,
}

impl Gates {
    fn new() -> Arc<Self> {
        Arc::new(Self { begun: Semaphore::new(0), end: Notify::new() })
    }

    async fn wait_for_begin(&self) {
        within("the run", self.begun.acquire()).await.unwrap().forget();
    }
}

/// Charges a card.
#[tool(approval = always, effect = destructive)]
async fn charge(#[state] gates: &Gates) -> &'static str {
    gates.begun.add_permits(1);
    gates.end.notified().await;
    "charged"
}

/// Writes a file.
#[tool(effect = write)]
async fn write(#[state] gates: &Gates) -> &'static str {
    gates.begun.add_permits(1);
    gates.end.notified().await;
    "written"
}

/// A model that writes the text `"a"` `count` times. After each `pause` of them, others run.
fn chatty(count: usize, pause: usize) -> FunctionModel {
    FunctionModel::streaming(move |_| {
        let texts = stream::iter(0..count).then(move |at| async move {
            if at % pause == 0 {
                tokio::task::yield_now().await;
            }
            Ok(Delta::Text("a".to_owned()))
        });
        texts.chain(stream::iter([Ok(Delta::Finish(FinishReason::Stop))]))
    })
}

/// An observer that waits for a run to be at rest.
#[derive(Default)]
struct Rest(Notify);

impl Rest {
    async fn wait(&self) {
        within("the run", self.0.notified()).await;
    }
}

impl Observer for Rest {
    fn on_event(&self, event: Event<'_>) {
        if let Event::RunAtRest(_) = event {
            self.0.notify_one();
        }
    }
}

async fn read_all<T: Send + 'static>(run: &mut RunStream<T>) -> Vec<RunEvent> {
    within("the run", run.by_ref().collect()).await
}

fn asks(tool: &str) -> Turn {
    Turn::call(tool, json!({"task": "go"}))
}

#[tokio::test]
async fn the_stream_has_the_events_of_the_observer_in_their_order() {
    let events = Events::new();
    let turns = [Turn::call("double", json!({"n": 4})).then_call("halve", json!({})), Turn::say("Eight.")];
    let agent = Agent::new(ScriptedModel::new(turns)).name("calculator").tools(toolset!(double));
    let session = agent.observer(events.clone()).session();
    let id = session.id().clone();
    let mut run = session.stream("Double 4.");
    let seen = read_all(&mut run).await;
    assert!(seen.iter().all(|event| event.run == id && &*event.agent == "calculator" && event.calls.is_empty()));
    let kinds: Vec<EventKind> = seen.into_iter().map(|event| event.kind).collect();
    assert_eq!(kinds, events.all());
    assert_eq!(kinds.first(), Some(&EventKind::RunStarted));
    assert_eq!(kinds.last(), Some(&EventKind::RunAtRest(Phase::Finished)));
    assert!(kinds.contains(&EventKind::Text("Eight.".to_owned())));
    assert_eq!(run.finish().await.unwrap().text, "Eight.");
}

#[tokio::test]
async fn inner_events_name_their_agent_and_the_calls_around_it() {
    let deepest = Agent::new(ScriptedModel::new([Turn::say("deep")])).as_tool("deepest", "Digs.");
    let middle = Agent::new(ScriptedModel::new([asks("deepest"), Turn::say("middle")])).name("expert");
    let middle = middle.tools(Toolset::new().with(deepest).unwrap()).as_tool("middle", "Asks.");
    let top = Agent::new(ScriptedModel::new([asks("middle"), Turn::say("top")]));
    let agent = top.tools(Toolset::new().with(middle).unwrap());
    let mut run = agent.stream("go");
    let id = run.run().clone();
    let seen = read_all(&mut run).await;
    assert!(seen.iter().all(|event| event.run == id));
    let texts: Vec<(&str, usize, &str)> = seen
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::Text(text) => Some((&*event.agent, event.calls.len(), text.as_str())),
            _ => None,
        })
        .collect();
    assert_eq!(texts, [("deepest", 2, "deep"), ("expert", 1, "middle"), ("", 0, "top")]);
    // The first call of the path is one of the streamed run, and the second one of the run inside of it.
    let started = |depth: usize| {
        let is_it = |event: &&RunEvent| event.calls.len() == depth && matches!(event.kind, EventKind::CallStarted(_));
        seen.iter().find(is_it).and_then(|event| event.kind.call()).unwrap()
    };
    let deep = seen.iter().find(|event| event.calls.len() == 2).unwrap();
    assert_eq!(deep.calls.iter().map(CallId::as_str).collect::<Vec<_>>(), [started(0), started(1)]);
    assert!(!seen.iter().any(|event| matches!(event.kind, EventKind::Inner { .. })));
}

#[tokio::test]
async fn a_slow_reader_gets_the_whole_text_in_few_events() {
    let rest = Arc::new(Rest::default());
    let mut run = Agent::new(chatty(1_000_000, 100)).observer(Arc::clone(&rest)).stream("go");
    rest.wait().await;
    let seen = read_all(&mut run).await;
    assert!(seen.len() <= 12, "{} events were kept", seen.len());
    let texts = seen.iter().filter_map(|event| match &event.kind {
        EventKind::Text(text) => Some(text.len()),
        _ => None,
    });
    assert_eq!(texts.collect::<Vec<_>>(), [1_000_000]);
}

#[tokio::test]
async fn texts_of_agents_that_write_at_once_are_joined_too() {
    let writer = || Agent::new(chatty(2_000, 1));
    let tools = Toolset::new().with(writer().as_tool("one", "Writes.")).unwrap();
    let tools = tools.with(writer().as_tool("two", "Writes.")).unwrap();
    let turn = asks("one").then_call("two", json!({"task": "go"}));
    let (events, rest) = (Events::new(), Arc::new(Rest::default()));
    let agent = Agent::new(ScriptedModel::new([turn, Turn::say("done")])).tools(tools).observer(Arc::clone(&rest));
    let seen = events.clone();
    let mut run = agent.hook(move |event| seen.on_event(*event)).stream("go");
    rest.wait().await;
    let writers: Vec<String> = events.all().iter().filter_map(inner_text_of).collect();
    let changes = writers.windows(2).filter(|pair| pair[0] != pair[1]).count();
    assert!(changes > 100, "the agents did not write at the same time: {changes}");
    let seen = read_all(&mut run).await;
    let mut texts: Vec<(&str, usize)> = Vec::new();
    for event in seen.iter().filter(|event| !event.calls.is_empty()) {
        if let EventKind::Text(text) = &event.kind {
            texts.push((&event.agent, text.len()));
        }
    }
    texts.sort_unstable();
    assert_eq!(texts, [("one", 2_000), ("two", 2_000)]);
}

fn inner_text_of(event: &EventKind) -> Option<String> {
    match event {
        EventKind::Inner { agent, event, .. } if matches!(**event, EventKind::Text(_)) => Some(agent.clone()),
        _ => None,
    }
}

#[tokio::test]
async fn limits_hold_while_nobody_reads() {
    let rest = Arc::new(Rest::default());
    let agent = Agent::new(FunctionModel::streaming(|_| stream::pending())).max_time(Duration::from_millis(20));
    let mut run = agent.observer(Arc::clone(&rest)).stream("go");
    rest.wait().await;
    let last = read_all(&mut run).await.pop().unwrap();
    assert!(matches!(last.kind, EventKind::RunAtRest(Phase::Stopped(StopReason::TimedOut(_)))), "{last:?}");
}

#[tokio::test]
async fn a_dropped_stream_lets_an_approved_call_end_once() {
    let (gates, store) = (Gates::new(), Arc::new(MemoryStore::new()));
    let turns = [Turn::call("charge", json!({})), Turn::say("done")];
    let agent = Agent::new(ScriptedModel::new(turns)).tools(toolset!(Arc::clone(&gates); charge)).operator(Suspend);
    let agent = agent.store(store);
    let (mut session, reply) = agent.session().stream("go").finish_session().await;
    assert_eq!(reply.unwrap().phase, Phase::Suspended);
    let open = session.interrupts().next().unwrap().id.clone();
    session.decide(&open, Decision::Approve, "").await.unwrap();
    let id = session.id().clone();
    let mut run = session.stream_with(|session| Box::pin(session.resume()));
    assert!(within("the run", run.next()).await.is_some());
    gates.wait_for_begin().await;
    drop(run);
    tokio::time::sleep(Duration::from_millis(20)).await;
    gates.end.notify_one();
    let mut session = within("the run", async {
        loop {
            let session = agent.open(&id).await.unwrap();
            if matches!(session.run().phase(), Phase::Stopped(StopReason::Cancelled)) {
                break session;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    assert!(session.run().calls()[0].result().unwrap().is_success());
    assert_eq!(within("the run", session.resume()).await.unwrap().text, "done");
    assert_eq!(gates.begun.available_permits(), 0, "the call did not run again");
}

#[tokio::test]
async fn dropping_the_future_of_finish_cancels_the_run() {
    let (gates, store) = (Gates::new(), Arc::new(MemoryStore::new()));
    let turns = [Turn::call("write", json!({})), Turn::say("never")];
    let agent = Agent::new(ScriptedModel::new(turns)).tools(toolset!(Arc::clone(&gates); write)).store(store);
    let run = agent.stream("go");
    let id = run.run().clone();
    tokio::select! {
        _ = run.finish() => panic!("the call does not end"),
        () = gates.wait_for_begin() => {}
    }
    within("the run", async {
        loop {
            let session = agent.open(&id).await.unwrap();
            if let Some(result) = session.run().calls().first().and_then(|call| call.result()) {
                assert_eq!(*result, CallResult::Cancelled);
                break;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_finished_stream_leaves_its_session_usable() {
    let agent = Agent::new(ScriptedModel::new(["one", "two", "three"].map(Turn::say)));
    let (mut session, reply) = agent.session().stream("go").finish_session().await;
    assert_eq!(reply.unwrap().text, "one");
    assert_eq!(session.send("go on").await.unwrap().text, "two");
    let parts = vec![Part::text("and on")];
    let run = session.stream_with(|session| Box::pin(session.send_parts(parts)));
    assert_eq!(run.finish().await.unwrap().text, "three");
}

#[tokio::test]
async fn a_panic_ends_the_stream_and_reaches_its_owner() {
    let agent = Agent::new(ScriptedModel::new([Turn::say("other")]));
    let mut session = agent.session();
    session.before_next_effect(async { panic!("a broken check") });
    let mut run = session.stream("go");
    let kinds: Vec<EventKind> = read_all(&mut run).await.into_iter().map(|event| event.kind).collect();
    assert!(!kinds.iter().any(|kind| matches!(kind, EventKind::RunAtRest(_))), "{kinds:?}");
    let ended = tokio::spawn(run.finish()).await.unwrap_err();
    assert_eq!(*ended.into_panic().downcast::<&str>().unwrap(), "a broken check");
    assert_eq!(agent.stream("go").finish().await.unwrap().text, "other");
}

#[tokio::test]
async fn events_of_two_runs_at_once_have_the_ids_of_their_runs() {
    let agent = Agent::new(chatty(50, 1));
    let (mut one, mut two) = (agent.stream("go"), agent.stream("go"));
    let ids = [one.run().clone(), two.run().clone()];
    assert_ne!(ids[0], ids[1]);
    let both = stream::select(one.by_ref(), two.by_ref());
    let seen: Vec<RunEvent> = within("the run", both.collect()).await;
    for id in &ids {
        let text = seen.iter().filter(|event| event.run == *id).filter_map(|event| match &event.kind {
            EventKind::Text(text) => Some(text.as_str()),
            _ => None,
        });
        assert_eq!(text.collect::<String>(), "a".repeat(50));
    }
}

#[tokio::test]
async fn texts_end_with_the_error_of_the_run() {
    let inner = Agent::new(ScriptedModel::new([Turn::say("inside")])).as_tool("inner", "Asks.");
    let failure = ModelError::new(ModelErrorKind::Unavailable, "gone");
    let first = Turn::say("outside").then_call("inner", json!({"task": "go"}));
    let turns = [ScriptedTurn::from(first), ScriptedTurn::from(failure)];
    let agent = Agent::new(ScriptedModel::new(turns)).tools(Toolset::new().with(inner).unwrap());
    let texts: Vec<Result<String, AgentError>> = within("the run", agent.stream("go").texts().collect()).await;
    assert!(matches!(&texts[..], [Ok(text), Err(AgentError::Model(_))] if text == "outside"), "{texts:?}");
    let good = Agent::new(chatty(30, 1)).stream("go").texts();
    assert_eq!(within("the run", good.try_collect::<String>()).await.unwrap(), "a".repeat(30));
}
