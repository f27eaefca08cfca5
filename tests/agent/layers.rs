//! Tests of the stock layers, of their order, and of an application's own layers.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::future::join_all;
use serde_json::json;
use tokio::time::Instant;
use tool_runtime::{
    CallError, CallFuture, Cancellation, Context, Failure, Output, Toolset,
    layer::{CallLog, ConcurrencyLimit, RateLimit, Retry, Timeout},
    tool,
    tool::{Effect, ToolSpec},
    toolset,
    toolset::{Invocation, Layer, Next},
};
use tool_test_kit::AllAndSome as _;

#[derive(Default)]
struct Seen {
    runs: AtomicUsize,
    running: AtomicUsize,
    most: AtomicUsize,
}

/// Works for a while.
#[tool]
async fn work(ms: u64, #[state] seen: &Seen) -> usize {
    let count = seen.runs.fetch_add(1, Ordering::SeqCst) + 1;
    let running = seen.running.fetch_add(1, Ordering::SeqCst) + 1;
    seen.most.fetch_max(running, Ordering::SeqCst);
    tokio::time::sleep(Duration::from_millis(ms)).await;
    seen.running.fetch_sub(1, Ordering::SeqCst);
    count
}

/// Reads, and is busy twice.
#[tool(effect = read_only)]
async fn look(passing: bool, #[state] seen: &Seen) -> Result<usize, Failure> {
    fail_twice(passing, seen)
}

/// Writes, and is busy twice.
#[tool]
async fn write(passing: bool, #[state] seen: &Seen) -> Result<usize, Failure> {
    fail_twice(passing, seen)
}

/// Writes the same again, and is busy twice.
#[tool(idempotent)]
async fn put(passing: bool, #[state] seen: &Seen) -> Result<usize, Failure> {
    fail_twice(passing, seen)
}

fn fail_twice(passing: bool, seen: &Seen) -> Result<usize, Failure> {
    match (seen.runs.fetch_add(1, Ordering::SeqCst), passing) {
        (count @ 2.., _) => Ok(count),
        (_, true) => Err(Failure::new("busy").retryable()),
        (_, false) => Err(Failure::new("no such thing")),
    }
}

/// Needs an approval.
#[tool(approval = always, effect = destructive)]
fn wipe(#[state] seen: &Seen) {
    seen.runs.fetch_add(1, Ordering::SeqCst);
}

fn tools_with_counts() -> (Toolset, Arc<Seen>) {
    let seen = Arc::new(Seen::default());
    (toolset!(Arc::clone(&seen); work, look, write, put, wipe), seen)
}

async fn call(tools: &Toolset, name: &str, arguments: &str) -> Result<Output, CallError> {
    tools.call(name, arguments, &Context::new("c")).await
}

#[tokio::test(start_paused = true)]
async fn a_time_limit_ends_the_call_and_drops_its_work() {
    let (tools, seen) = tools_with_counts();
    let tools = tools.layer(Timeout::new(Duration::from_millis(50)));
    assert!(call(&tools, "work", r#"{"ms":49}"#).await.is_ok());
    let late = call(&tools, "work", r#"{"ms":51}"#).await.unwrap_err();
    assert!(matches!(late, CallError::TimedOut { limit } if limit == Duration::from_millis(50)));
    assert!(!late.did_not_run(), "the call may have had effects");
    // The error does not know whether its tool only reads.
    assert!(!late.to_string().contains("it may have had effects"), "{late}");
    let texts = [Effect::ReadOnly, Effect::Write].map(|effect| late.text_of(effect));
    let begin = "the tool did not answer within 0.05 s";
    assert_eq!(texts, [begin.to_owned(), format!("{begin}; it may have had effects")]);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(seen.running.load(Ordering::SeqCst), 1, "the dropped work did not continue");
}

#[tokio::test(start_paused = true)]
async fn a_concurrency_limit_bounds_running_calls() {
    let (tools, seen) = tools_with_counts();
    let limit = ConcurrencyLimit::new(3);
    let (one, two) = (tools.clone().layer(limit.clone()), tools.layer(limit));
    let started = Instant::now();
    let calls = (0..12).map(|n| call(if n % 2 == 0 { &one } else { &two }, "work", r#"{"ms":10}"#));
    assert!(join_all(calls).await.iter().all_and_some(Result::is_ok));
    assert_eq!(seen.most.load(Ordering::SeqCst), 3, "clones share the limit");
    assert_eq!(started.elapsed(), Duration::from_millis(40));
    let (tools, _) = tools_with_counts();
    assert!(
        call(&tools.layer(ConcurrencyLimit::new(0)), "work", r#"{"ms":1}"#).await.is_ok(),
        "a limit of 0 allows one call"
    );
}

/// Returns the start times of the calls, in milliseconds.
async fn record_starts(limit: RateLimit, calls: usize) -> Vec<u128> {
    let begin = Instant::now();
    let starts = Arc::new(Mutex::new(Vec::new()));
    let recorded = Arc::clone(&starts);
    let tools = tools_with_counts()
        .0
        .layer(Note(move || recorded.lock().unwrap().push(begin.elapsed().as_millis())))
        .layer(limit);
    join_all((0..calls).map(|_| call(&tools, "work", r#"{"ms":0}"#))).await;
    let starts = starts.lock().unwrap();
    starts.clone()
}

struct Note<F>(F);

impl<F: Fn() + Send + Sync + 'static> Layer for Note<F> {
    fn call<'a>(&'a self, _: Invocation<'a>, mut next: Next<'a>) -> CallFuture<'a> {
        (self.0)();
        next.run()
    }
}

#[tokio::test(start_paused = true)]
async fn a_rate_limit_holds_in_every_window() {
    let starts = record_starts(RateLimit::new(3, Duration::from_secs(1)), 10).await;
    assert_eq!(starts.len(), 10, "each call runs");
    assert_eq!(starts[..3], [0, 0, 0], "the calls of a window may start at once");
    for window in starts.windows(4) {
        assert!(window[3] - window[0] >= 1000, "{starts:?}");
    }
    assert!(starts[9] <= 3010, "no call waits too long: {starts:?}");
}

#[tokio::test(start_paused = true)]
async fn a_rate_limit_refuses_if_configured() {
    let (tools, seen) = tools_with_counts();
    let tools = tools.layer(RateLimit::new(2, Duration::from_secs(1)).refuse());
    for _ in 0..2 {
        assert!(call(&tools, "work", r#"{"ms":0}"#).await.is_ok());
    }
    let refused = call(&tools, "work", r#"{"ms":0}"#).await.unwrap_err();
    assert!(refused.did_not_run() && refused.to_string().contains("at most 2 calls in 1 s"), "{refused}");
    tokio::time::sleep(Duration::from_millis(1001)).await;
    assert!(call(&tools, "work", r#"{"ms":0}"#).await.is_ok(), "a refused call does not count");
    assert_eq!(seen.runs.load(Ordering::SeqCst), 3);
    let tools = tools_with_counts().0.layer(RateLimit::new(1, Duration::from_millis(500)).refuse());
    assert!(call(&tools, "work", r#"{"ms":0}"#).await.is_ok());
    let refused = call(&tools, "work", r#"{"ms":0}"#).await.unwrap_err().to_string();
    assert!(refused.contains("at most 1 call in 0.5 s"), "{refused}");
}

#[tokio::test(start_paused = true)]
async fn only_temporary_failures_of_repeatable_calls_are_retried() {
    for (name, arguments, expected) in [
        ("look", r#"{"passing":true}"#, Ok("2")),
        ("put", r#"{"passing":true}"#, Ok("2")),
        ("write", r#"{"passing":true}"#, Err(1)),
        ("look", r#"{"passing":false}"#, Err(1)),
        ("put", r#"{"passing":"wrong"}"#, Err(0)),
    ] {
        let (tools, seen) = tools_with_counts();
        let result = call(&tools.layer(Retry::new(5)), name, arguments).await;
        match (&result, expected) {
            (Ok(output), Ok(expected)) => assert_eq!(output.as_json(), Some(expected)),
            (Err(_), Err(runs)) => assert_eq!(seen.runs.load(Ordering::SeqCst), runs, "{name} {arguments}"),
            _ => panic!("{name} {arguments}: {result:?}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn retries_are_limited_and_back_off() {
    let (tools, seen) = tools_with_counts();
    let begin = Instant::now();
    let failed = call(&tools.clone().layer(Retry::new(1)), "look", r#"{"passing":true}"#).await;
    assert!(failed.is_err() && seen.runs.load(Ordering::SeqCst) == 2);
    assert_eq!(begin.elapsed().as_millis(), 100);
    let (tools, _) = tools_with_counts();
    let retry = Retry::new(u32::MAX).wait(Duration::from_millis(7));
    assert!(call(&tools.clone().layer(retry), "look", r#"{"passing":true}"#).await.is_ok());
    assert_eq!(begin.elapsed().as_millis(), 100 + 7 + 14);

    let stop = Cancellation::new();
    let (tools, seen) = tools_with_counts();
    let (tools, cx) = (tools.layer(Retry::new(9)), Context::new("c").with_cancellation(stop.clone()));
    let waiting = tools.call("look", r#"{"passing":true}"#, &cx);
    let (result, ()) = tokio::join!(waiting, async {
        tokio::time::sleep(Duration::from_millis(10)).await;
        stop.cancel();
    });
    assert!(result.is_err() && seen.runs.load(Ordering::SeqCst) == 1, "a cancelled call is not retried");

    let (tools, _) = tools_with_counts();
    let endless = tools.layer(Retry::new(2).wait(Duration::MAX));
    let result = tokio::time::timeout(Duration::from_mins(1), call(&endless, "look", r#"{"passing":true}"#)).await;
    assert!(result.is_err(), "the longest wait does not overflow: {result:?}");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_timed_out_in_an_inner_layer_is_retried() {
    let (tools, seen) = tools_with_counts();
    let tools = tools.layer(Timeout::new(Duration::from_millis(5))).layer(Retry::new(2)).layer(ReadOnly);
    assert!(matches!(call(&tools, "work", r#"{"ms":50}"#).await, Err(CallError::TimedOut { .. })));
    assert_eq!(seen.runs.load(Ordering::SeqCst), 1, "a layer does not see the spec of outer layers");
    let (tools, seen) = tools_with_counts();
    let tools = tools.layer(ReadOnly).layer(Timeout::new(Duration::from_millis(5))).layer(Retry::new(2));
    assert!(call(&tools, "work", r#"{"ms":50}"#).await.is_err());
    assert_eq!(seen.runs.load(Ordering::SeqCst), 3);
}

/// A layer that declares every tool as read-only, under another name.
struct ReadOnly;

impl Layer for ReadOnly {
    fn call<'a>(&'a self, _: Invocation<'a>, mut next: Next<'a>) -> CallFuture<'a> {
        next.run()
    }

    fn spec(&self, spec: &Arc<ToolSpec>) -> Arc<ToolSpec> {
        let mut spec = ToolSpec::clone(spec);
        spec.options.effect = tool_runtime::tool::Effect::ReadOnly;
        spec.description.push_str(" (tried again)");
        spec.name = "another".to_owned();
        Arc::new(spec)
    }
}

#[tokio::test]
async fn a_layer_changes_the_spec_but_not_the_name() {
    let (tools, _) = tools_with_counts();
    let tools = tools.layer(ReadOnly);
    let specs = tools.list().specs();
    assert!(specs.iter().all_and_some(|spec| spec.description.ends_with("(tried again)")));
    assert_eq!(tools.names().collect::<Vec<_>>(), ["work", "look", "write", "put", "wipe"], "names stay unique");
    assert!(specs.iter().zip(tools.names()).all_and_some(|(spec, name)| spec.name == name));
    assert!(call(&tools, "work", r#"{"ms":0}"#).await.is_ok());
}

/// A layer that answers in place of the tool.
struct Canned;

impl Layer for Canned {
    fn call<'a>(&'a self, call: Invocation<'a>, _: Next<'a>) -> CallFuture<'a> {
        Box::pin(async move { Ok(Output::json(&json!({ "canned": call.spec.name }))?) })
    }
}

#[tokio::test]
async fn a_layer_can_answer_without_the_tool() {
    let (tools, seen) = tools_with_counts();
    let tools = tools.layer(Canned);
    assert_eq!(call(&tools, "work", r#"{"ms":0}"#).await.unwrap().as_json(), Some(r#"{"canned":"work"}"#));
    assert!(
        matches!(call(&tools, "work", r#"{"ms":"x"}"#).await, Err(CallError::Rejected(_))),
        "arguments are read before a layer is called"
    );
    assert_eq!(seen.runs.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_layer_never_sees_a_call_that_does_not_run() {
    let (tools, _) = tools_with_counts();
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let tools = tools.layer(Note(move || _ = counted.fetch_add(1, Ordering::SeqCst))).layer(CallLog::new(|_| ()));
    let cx = Context::new("c");
    let started = tools.prepare("wipe", "{}", &cx).now().unwrap().unwrap();
    assert!(started.needs_approval);
    drop(started);
    drop(call(&tools, "work", "[]").await);
    assert_eq!(count.load(Ordering::SeqCst), 0, "a denied and a refused call reach no layer");
    call(&tools, "wipe", "{}").await.unwrap();
    assert_eq!(count.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn the_layer_added_last_is_the_outermost() {
    let order = Arc::new(Mutex::new(Vec::new()));
    let note = |name: &'static str| {
        let order = Arc::clone(&order);
        Note(move || order.lock().unwrap().push(name))
    };
    let tools = tools_with_counts().0.layer(note("inner")).layer(note("middle"));
    let tools = tools.merge(toolset!(Seen::default(); work).prefix("late_").unwrap()).unwrap().layer(note("outer"));
    call(&tools, "work", r#"{"ms":0}"#).await.unwrap();
    assert_eq!(std::mem::take(&mut *order.lock().unwrap()), ["outer", "middle", "inner"]);
    call(&tools, "late_work", r#"{"ms":0}"#).await.unwrap();
    assert_eq!(*order.lock().unwrap(), ["outer"], "tools that are merged later do not get the earlier layers");
}

/// Fails with a text of two lines.
#[tool]
fn break_off() -> Result<(), Failure> {
    Err(Failure::new("no\nroom"))
}

#[tokio::test]
async fn a_record_of_a_call_is_one_line() {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let written = Arc::clone(&lines);
    let log = CallLog::new(move |record| written.lock().unwrap().push(record.to_string()));
    assert!(call(&toolset!(break_off).layer(log), "break_off", "{}").await.is_err());
    let lines = lines.lock().unwrap();
    assert!(lines[0].contains("no\\u{a}room") && lines[0].lines().count() == 1, "{lines:?}");
}
