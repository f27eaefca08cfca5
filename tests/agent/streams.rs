//! Tests of tools whose output is a stream: preliminary outputs, the final output, cancellation and back-pressure.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::{
    future::BoxFuture,
    stream::{self, BoxStream, Stream, StreamExt},
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tool_runtime::{
    CallError, Cancellation, Context, Failure, Tool, Toolset,
    agent::{Event, Observer},
    model::{ScriptedModel, Turn},
    run::{CallId, CallResult},
    tool, tools, toolset,
    toolset::RuntimeTool,
};
use tool_test_kit::within;

use crate::run_loop::watched;

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
struct Count {
    n: u32,
}

/// Counts down.
#[tool]
fn countdown(
    /// The start.
    from: u32,
) -> impl Stream<Item = Count> {
    stream::iter((0..=from).rev().map(|n| Count { n }))
}

/// Counts down, and fails at a number.
#[tool]
async fn fragile(
    /// The start.
    from: u32,
    #[state] broken: &AtomicUsize,
) -> impl Stream<Item = Result<Count, Failure>> {
    stream::iter((0..=from).rev()).map(move |n| match n as usize {
        n if n == broken.load(Ordering::SeqCst) => Err(Failure::new("it broke")),
        _ => Ok(Count { n }),
    })
}

/// Counts, in a box.
#[tool]
fn boxed() -> BoxStream<'static, Count> {
    stream::iter([Count { n: 1 }, Count { n: 2 }]).boxed()
}

/// Streams nothing.
#[tool]
fn nothing() -> impl Stream<Item = Count> + Send {
    stream::empty()
}

/// Counts created items and dropped streams.
#[derive(Clone, Default)]
struct Counter {
    made: Arc<AtomicUsize>,
    dropped: Arc<AtomicUsize>,
}

struct CountDrop<'a>(&'a AtomicUsize);

impl Drop for CountDrop<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[tools]
impl Counter {
    /// Counts, and never pauses.
    #[tool(timeout = "50ms")]
    fn endlessly(&self) -> impl Stream<Item = usize> {
        let dropped = CountDrop(&self.dropped);
        stream::repeat_with(move || {
            let _ = &dropped;
            self.made.fetch_add(1, Ordering::SeqCst)
        })
    }

    /// Counts slowly, and never ends.
    #[tool]
    async fn slowly(&self) -> impl Stream<Item = usize> {
        let dropped = CountDrop(&self.dropped);
        stream::unfold(0, move |n| {
            let _ = &dropped;
            async move {
                self.made.fetch_add(1, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_millis(1)).await;
                Some((n, n + 1))
            }
        })
    }
}

/// Calls a tool. Returns the preliminary outputs, and the result.
async fn call(tools: &Toolset, name: &str, arguments: Value) -> (Vec<Value>, Result<Value, CallError>) {
    let shown = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&shown);
    let cx = Context::new("c").with_progress(move |progress| sink.lock().unwrap().extend(progress.preliminary));
    let output = tools.call(name, &arguments.to_string(), &cx).await;
    let shown = shown.lock().unwrap().clone();
    (shown, output.map(|output| output.decode().unwrap()))
}

/// Waits until `counter` has reached `count`.
async fn wait_for_count(counter: &AtomicUsize, count: usize) {
    let reached = async {
        while counter.load(Ordering::SeqCst) < count {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    within("a stream", reached).await;
}

/// Returns the text of a failure that the model receives.
fn describe(output: &Result<Value, CallError>) -> String {
    output.as_ref().unwrap_err().for_model().as_text().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn each_item_is_shown_and_the_last_is_the_output() {
    let tools = toolset!(AtomicUsize::new(9); countdown, fragile, boxed, nothing);
    let three = [json!({"n": 2}), json!({"n": 1}), json!({"n": 0})];
    for name in ["countdown", "fragile"] {
        let (shown, output) = call(&tools, name, json!({"from": 2})).await;
        assert_eq!((&shown[..], output.unwrap()), (&three[..], json!({"n": 0})), "{name}");
    }
    let (shown, output) = call(&tools, "boxed", json!({})).await;
    assert_eq!((shown.len(), output.unwrap()), (2, json!({"n": 2})));
    // The schema describes an item.
    for name in ["countdown", "fragile", "boxed"] {
        let schema = tools.get(name).unwrap().spec().output.as_ref().unwrap().neutral().clone();
        assert_eq!(schema["$ref"], "#/$defs/Count", "{name}: {schema}");
    }
    let _: Count = <countdown as Tool>::Output::clone(&Count { n: 1 });
}

#[tokio::test]
async fn an_error_ends_a_stream_and_an_empty_stream_is_an_error() {
    let tools = toolset!(AtomicUsize::new(1); fragile, nothing);
    let (shown, output) = call(&tools, "fragile", json!({"from": 3})).await;
    assert_eq!(shown, [json!({"n": 3}), json!({"n": 2})]);
    assert_eq!(describe(&output), "it broke");
    let (shown, output) = call(&tools, "nothing", json!({})).await;
    assert_eq!(shown, Vec::<Value>::new());
    assert_eq!(describe(&output), "the tool ended without an output");
}

#[tokio::test]
async fn an_endless_stream_is_dropped_at_its_time_limit_and_at_cancellation() {
    let counter = Counter::default();
    let model = ScriptedModel::new([Turn::call("endlessly", json!({})), Turn::say("ok")]);
    let mut session = watched(model).tools(counter.clone().toolset()).session();
    session.send("go").await.unwrap();
    assert!(matches!(session.run().calls()[0].result(), Some(CallResult::TimedOut { .. })));
    wait_for_count(&counter.dropped, 1).await;
    assert_eq!(counter.dropped.load(Ordering::SeqCst), 1, "a stream that never pauses is dropped once");

    let (stop, made) = (Cancellation::new(), counter.made.load(Ordering::SeqCst));
    let agent = watched(ScriptedModel::new([Turn::call("slowly", json!({}))]))
        .tools(counter.clone().toolset())
        .context(Context::new("").with_cancellation(stop.clone()));
    let run = tokio::spawn(async move { agent.run("go").await });
    wait_for_count(&counter.made, made + 1).await;
    stop.cancel();
    assert!(run.await.unwrap().is_err());
    wait_for_count(&counter.dropped, 2).await;
    assert_eq!(counter.dropped.load(Ordering::SeqCst), 2);
}

/// An observer that passes preliminary outputs to a slow receiver.
struct Slow {
    received: AtomicUsize,
    shown: AtomicUsize,
    room: Semaphore,
}

impl Observer for Slow {
    fn on_event(&self, event: Event<'_>) {
        if let Event::CallProgress(progress) = event {
            assert!(progress.preliminary.is_some());
            self.shown.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn wait_for_room<'a>(&'a self, _: &'a CallId) -> Option<BoxFuture<'a, ()>> {
        Some(Box::pin(async {
            self.room.acquire().await.unwrap().forget();
            self.received.fetch_add(1, Ordering::SeqCst);
        }))
    }
}

#[tokio::test]
async fn a_tool_waits_for_an_observer_that_receives_one_output_at_a_time() {
    let counter = Counter::default();
    let slow = Arc::new(Slow { received: AtomicUsize::new(0), shown: AtomicUsize::new(0), room: Semaphore::new(0) });
    let model = ScriptedModel::new([Turn::call("slowly", json!({}))]);
    let agent = watched(model).tools(counter.clone().toolset()).observer(Arc::clone(&slow));
    let run = tokio::spawn(async move { agent.run("go").await });
    for count in 1..=5 {
        wait_for_count(&slow.shown, count).await;
        tokio::time::sleep(Duration::from_millis(5)).await;
        let made = counter.made.load(Ordering::SeqCst);
        assert_eq!((made, slow.shown.load(Ordering::SeqCst)), (count, count), "the tool is at most one output ahead");
        slow.room.add_permits(1);
    }
    run.abort();
}

/// Works, and shows its progress.
#[tool]
async fn work(#[context] cx: &Context) -> Count {
    for n in 0..3 {
        cx.show_preliminary_of::<work>(&Count { n });
        cx.wait_for_room().await;
    }
    Count { n: 3 }
}

/// An output that panics when it is serialized. Without a receiver, nothing may serialize it.
struct Unseen;

impl Serialize for Unseen {
    fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        panic!("an output without a receiver is serialized")
    }
}

#[tokio::test]
async fn a_tool_shows_preliminary_outputs_through_its_context() {
    let (shown, output) = call(&toolset!(work), "work", json!({})).await;
    assert_eq!(shown, [json!({"n": 0}), json!({"n": 1}), json!({"n": 2})]);
    assert_eq!(output.unwrap(), json!({"n": 3}));
    Context::new("c").show_preliminary(Unseen);
}

#[tokio::test]
async fn a_runtime_tool_can_stream() {
    let count = RuntimeTool::new("count", "Counts.").streaming(|arguments, cx| {
        let last = arguments["last"].as_u64().unwrap_or_default();
        let id = cx.call_id().to_owned();
        stream::iter(0..=last).map(move |n| if n < 3 { Ok(json!([id, n])) } else { Err(Failure::new("too far")) })
    });
    let tools = Toolset::new().with(count.unwrap()).unwrap();
    let (shown, output) = call(&tools, "count", json!({"last": 1})).await;
    assert_eq!((shown.len(), output.unwrap()), (2, json!(["c", 1])));
    let (shown, output) = call(&tools, "count", json!({"last": 9})).await;
    assert_eq!((shown.len(), describe(&output).as_str()), (3, "too far"));
}
