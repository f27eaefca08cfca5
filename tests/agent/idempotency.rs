//! The layers with a memory: idempotency, and the log.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::future::join_all;
use tool_runtime::{
    CallError, Context, Failure, Output, Toolset,
    layer::{CallLog, Idempotency, TimeLimit},
    tool, toolset,
};
use tool_test_kit::AllAndSome as _;

/// Pays.
#[tool]
async fn pay(
    /// In cents.
    amount: u64,
    #[state] runs: &AtomicUsize,
) -> Result<usize, Failure> {
    let run = runs.fetch_add(1, Ordering::SeqCst) + 1;
    tokio::time::sleep(Duration::from_millis(10)).await;
    if amount == 0 { Err(Failure::new("nothing to pay").source("the secret cause")) } else { Ok(run) }
}

/// Reads the balance.
#[tool(effect = read_only)]
fn balance(#[state] runs: &AtomicUsize) -> usize {
    runs.fetch_add(1, Ordering::SeqCst) + 1
}

/// Needs a yes.
#[tool(approval = always)]
async fn refund(#[state] runs: &AtomicUsize) -> usize {
    runs.fetch_add(1, Ordering::SeqCst) + 1
}

/// Panics.
#[tool]
fn broken() -> u8 {
    panic!("the secret text")
}

fn set() -> (Toolset, Arc<AtomicUsize>) {
    let runs = Arc::new(AtomicUsize::new(0));
    (toolset!(Arc::clone(&runs); pay, balance, refund, broken), runs)
}

async fn call(tools: &Toolset, name: &str, arguments: &str) -> Result<Output, CallError> {
    tools.call(name, arguments, &Context::new("c")).await
}

async fn pays(tools: &Toolset, amount: u64) -> Result<usize, CallError> {
    Ok(call(tools, "pay", &format!(r#"{{"amount":{amount}}}"#)).await?.decode().unwrap())
}

#[tokio::test(start_paused = true)]
async fn fifty_concurrent_duplicates_run_once() {
    let (tools, runs) = set();
    let layer = Idempotency::new(10);
    let (one, two) = (tools.clone().layer(layer.clone()), tools.layer(layer));
    let all = join_all((0..50).map(|n| pays(if n % 2 == 0 { &one } else { &two }, 5))).await;
    assert!(all.iter().all_and_some(|paid| matches!(paid, Ok(1))), "{all:?}");
    assert_eq!(runs.load(Ordering::SeqCst), 1);
    assert_eq!(pays(&one, 5).await.unwrap(), 1, "and it is remembered");
    assert_eq!(pays(&one, 6).await.unwrap(), 2, "other arguments are another call");
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_forgotten() {
    let (tools, runs) = set();
    let tools = tools.layer(Idempotency::new(10));
    assert!(pays(&tools, 0).await.is_err() && pays(&tools, 0).await.is_err());
    assert_eq!(runs.load(Ordering::SeqCst), 2);
    let (tools, runs) = set();
    let short = tools.layer(TimeLimit::new(Duration::from_millis(1))).layer(Idempotency::new(10));
    assert!(pays(&short, 1).await.is_err() && pays(&short, 1).await.is_err());
    assert_eq!(runs.load(Ordering::SeqCst), 2);
    assert!(matches!(call(&short, "broken", "{}").await, Err(CallError::Panicked { .. })));
    assert!(matches!(call(&short, "broken", "{}").await, Err(CallError::Panicked { .. })), "a panic holds nothing");
}

#[tokio::test(start_paused = true)]
async fn reading_is_never_remembered() {
    let (tools, runs) = set();
    let tools = tools.layer(Idempotency::new(10));
    assert_eq!(call(&tools, "balance", "").await.unwrap().as_json(), Some("1"));
    assert_eq!(call(&tools, "balance", "").await.unwrap().as_json(), Some("2"));
    assert_eq!(runs.load(Ordering::SeqCst), 2);
}

#[tokio::test(start_paused = true)]
async fn principals_are_kept_apart() {
    let (tools, runs) = set();
    let tools = tools.layer(Idempotency::new(10));
    let of = |principal: Option<&str>| {
        let cx = Context::new("c");
        let cx = match principal {
            Some(principal) => cx.with_principal(principal),
            None => cx,
        };
        let tools = tools.clone();
        async move { tools.call("pay", r#"{"amount":1}"#, &cx).await.unwrap().decode::<usize>().unwrap() }
    };
    assert_eq!(of(Some("ann")).await, 1);
    assert_eq!(of(Some("bob")).await, 2);
    assert_eq!(of(None).await, 3);
    assert_eq!(of(Some("")).await, 4, "an empty name is not nobody");
    assert_eq!(of(Some("3:pay")).await, 5);
    assert_eq!((of(Some("ann")).await, of(None).await), (1, 3));
    assert_eq!(runs.load(Ordering::SeqCst), 5);
}

#[tokio::test(start_paused = true)]
async fn the_number_of_remembered_calls_is_limited() {
    let (tools, runs) = set();
    let layer = Idempotency::new(3);
    let tools = tools.layer(layer.clone());
    for amount in 1..=1000 {
        pays(&tools, amount).await.unwrap();
    }
    assert!(format!("{layer:?}").contains("remembered: 3"), "{layer:?}");
    assert_eq!(pays(&tools, 1000).await.unwrap(), 1000, "the last ones are");
    assert_eq!(pays(&tools, 998).await.unwrap(), 998);
    assert_eq!(pays(&tools, 997).await.unwrap(), 1001, "older ones are not");
    assert_eq!(runs.load(Ordering::SeqCst), 1001);
}

#[tokio::test(start_paused = true)]
async fn a_running_call_is_never_forgotten() {
    let (tools, runs) = set();
    let tools = tools.layer(Idempotency::new(1));
    let many = (1..=40).chain(1..=40).map(|amount| pays(&tools, amount));
    let all: Vec<usize> = join_all(many).await.into_iter().map(Result::unwrap).collect();
    assert_eq!(all[..40], all[40..], "each ran once, although only one is kept when they are done");
    assert_eq!(runs.load(Ordering::SeqCst), 40);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_does_not_run_takes_no_place() {
    let (tools, _) = set();
    let layer = Idempotency::new(1);
    let tools = tools.layer(layer.clone());
    pays(&tools, 7).await.unwrap();
    let cx = Context::new("c");
    for arguments in ["{}", " {}", "  {}"] {
        assert!(tools.start("refund", arguments, &cx).now().unwrap().unwrap().needs_approval);
    }
    drop(call(&tools, "pay", r#"{"amount":"x"}"#).await);
    assert_eq!(pays(&tools, 7).await.unwrap(), 1, "calls that were denied or refused push nothing out");
}

#[tokio::test(start_paused = true)]
async fn the_application_defines_equal_calls() {
    let (tools, runs) = set();
    let by_call = Idempotency::new(9).by(|call| Some(call.cx.call_id().to_owned()).filter(|id| id != "any"));
    let tools = tools.layer(by_call);
    let with = |id: &'static str| {
        let tools = tools.clone();
        async move { tools.call("pay", r#"{"amount":1}"#, &Context::new(id)).await.unwrap().decode::<usize>().unwrap() }
    };
    assert_eq!([with("a").await, with("a").await, with("b").await], [1, 1, 2]);
    assert_eq!([with("any").await, with("any").await], [3, 4], "no key, no memory");
    assert_eq!(runs.load(Ordering::SeqCst), 4);
}

#[tokio::test(start_paused = true)]
async fn the_log_gets_every_call_that_ran() {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&lines);
    let (tools, _) = set();
    let tools = tools.layer(CallLog::new(move |entry| {
        let kind = entry.result.as_ref().map(|_| ()).map_err(tool_runtime::CallError::did_not_run);
        assert!(entry.call.arguments.starts_with('{') && entry.took < Duration::from_secs(5));
        sink.lock().unwrap().push((entry.to_string(), kind));
    }));
    pays(&tools, 3).await.unwrap();
    pays(&tools, 0).await.unwrap_err();
    drop(call(&tools, "pay", "[]").await);
    let lines = lines.lock().unwrap();
    assert!(lines[0].0.starts_with("c pay ok ("), "{lines:?}");
    assert!(lines[1].0.contains("failed: nothing to pay: \"the secret cause\""), "{lines:?}");
    assert_eq!(lines.iter().map(|line| line.1).collect::<Vec<_>>(), [Ok(()), Err(false)]);
}

#[tokio::test]
async fn the_log_gets_a_panic() {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&lines);
    let (tools, _) = set();
    let tools = tools.layer(CallLog::new(move |entry| sink.lock().unwrap().push(entry.to_string())));
    let failure = call(&tools, "broken", "{}").await.unwrap_err();
    assert!(!failure.for_model().as_text().unwrap().contains("secret"));
    let lines = lines.lock().unwrap();
    assert!(lines.len() == 1 && lines[0].contains("panicked: the secret text"), "{lines:?}");
}
