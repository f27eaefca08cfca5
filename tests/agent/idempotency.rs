//! Tests of the layers that keep calls: `Idempotency` and `CallLog`.

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
    layer::{CallLog, Idempotency, Timeout},
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

/// Needs an approval.
#[tool(approval = always)]
async fn refund(#[state] runs: &AtomicUsize) -> usize {
    runs.fetch_add(1, Ordering::SeqCst) + 1
}

/// Panics.
#[tool]
fn broken() -> u8 {
    panic!("the secret text")
}

fn tools_with_count() -> (Toolset, Arc<AtomicUsize>) {
    let runs = Arc::new(AtomicUsize::new(0));
    (toolset!(Arc::clone(&runs); pay, balance, refund, broken), runs)
}

async fn call(tools: &Toolset, name: &str, arguments: &str) -> Result<Output, CallError> {
    tools.call(name, arguments, &Context::new("c")).await
}

async fn call_pay(tools: &Toolset, amount: u64) -> Result<usize, CallError> {
    Ok(call(tools, "pay", &format!(r#"{{"amount":{amount}}}"#)).await?.decode().unwrap())
}

#[tokio::test(start_paused = true)]
async fn fifty_concurrent_duplicates_run_once() {
    let (tools, runs) = tools_with_count();
    let layer = Idempotency::new(10);
    let (one, two) = (tools.clone().layer(layer.clone()), tools.layer(layer));
    let all = join_all((0..50).map(|n| call_pay(if n % 2 == 0 { &one } else { &two }, 5))).await;
    assert!(all.iter().all_and_some(|paid| matches!(paid, Ok(1))), "{all:?}");
    assert_eq!(runs.load(Ordering::SeqCst), 1);
    assert_eq!(call_pay(&one, 5).await.unwrap(), 1, "the call is remembered");
    assert_eq!(call_pay(&one, 6).await.unwrap(), 2, "a call with other arguments runs");
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_forgotten() {
    let (tools, runs) = tools_with_count();
    let tools = tools.layer(Idempotency::new(10));
    assert!(call_pay(&tools, 0).await.is_err() && call_pay(&tools, 0).await.is_err());
    assert_eq!(runs.load(Ordering::SeqCst), 2);
    let (tools, runs) = tools_with_count();
    let short = tools.layer(Timeout::new(Duration::from_millis(1))).layer(Idempotency::new(10));
    assert!(call_pay(&short, 1).await.is_err() && call_pay(&short, 1).await.is_err());
    assert_eq!(runs.load(Ordering::SeqCst), 2);
    assert!(matches!(call(&short, "broken", "{}").await, Err(CallError::Panicked { .. })));
    assert!(
        matches!(call(&short, "broken", "{}").await, Err(CallError::Panicked { .. })),
        "a call that panicked is not remembered"
    );
}

#[tokio::test(start_paused = true)]
async fn read_only_calls_are_never_remembered() {
    let (tools, runs) = tools_with_count();
    let tools = tools.layer(Idempotency::new(10));
    assert_eq!(call(&tools, "balance", "").await.unwrap().as_json(), Some("1"));
    assert_eq!(call(&tools, "balance", "").await.unwrap().as_json(), Some("2"));
    assert_eq!(runs.load(Ordering::SeqCst), 2);
}

#[tokio::test(start_paused = true)]
async fn calls_of_different_principals_are_different_calls() {
    let (tools, runs) = tools_with_count();
    let tools = tools.layer(Idempotency::new(10));
    let pay_as = |principal: Option<&str>| {
        let cx = Context::new("c");
        let cx = match principal {
            Some(principal) => cx.with_principal(principal),
            None => cx,
        };
        let tools = tools.clone();
        async move { tools.call("pay", r#"{"amount":1}"#, &cx).await.unwrap().decode::<usize>().unwrap() }
    };
    assert_eq!(pay_as(Some("ann")).await, 1);
    assert_eq!(pay_as(Some("bob")).await, 2);
    assert_eq!(pay_as(None).await, 3);
    assert_eq!(pay_as(Some("")).await, 4, "an empty principal differs from no principal");
    assert_eq!(pay_as(Some("3:pay")).await, 5);
    assert_eq!((pay_as(Some("ann")).await, pay_as(None).await), (1, 3));
    assert_eq!(runs.load(Ordering::SeqCst), 5);
}

#[tokio::test(start_paused = true)]
async fn the_number_of_remembered_calls_is_limited() {
    let (tools, runs) = tools_with_count();
    let layer = Idempotency::new(3);
    let tools = tools.layer(layer.clone());
    for amount in 1..=1000 {
        call_pay(&tools, amount).await.unwrap();
    }
    assert!(format!("{layer:?}").contains("remembered: 3"), "{layer:?}");
    assert_eq!(call_pay(&tools, 1000).await.unwrap(), 1000, "the last calls are remembered");
    assert_eq!(call_pay(&tools, 998).await.unwrap(), 998);
    assert_eq!(call_pay(&tools, 997).await.unwrap(), 1001, "older calls are forgotten");
    assert_eq!(runs.load(Ordering::SeqCst), 1001);
}

#[tokio::test(start_paused = true)]
async fn a_running_call_is_never_forgotten() {
    let (tools, runs) = tools_with_count();
    let tools = tools.layer(Idempotency::new(1));
    let many = (1..=40).chain(1..=40).map(|amount| call_pay(&tools, amount));
    let all: Vec<usize> = join_all(many).await.into_iter().map(Result::unwrap).collect();
    assert_eq!(all[..40], all[40..], "each call ran once, although only one stays remembered");
    assert_eq!(runs.load(Ordering::SeqCst), 40);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_does_not_run_is_not_remembered() {
    let (tools, _) = tools_with_count();
    let layer = Idempotency::new(1);
    let tools = tools.layer(layer.clone());
    call_pay(&tools, 7).await.unwrap();
    let cx = Context::new("c");
    for arguments in ["{}", " {}", "  {}"] {
        assert!(tools.prepare("refund", arguments, &cx).now().unwrap().unwrap().needs_approval);
    }
    drop(call(&tools, "pay", r#"{"amount":"x"}"#).await);
    assert_eq!(call_pay(&tools, 7).await.unwrap(), 1, "denied and refused calls push no call out of the memory");
}

#[tokio::test(start_paused = true)]
async fn the_application_defines_equal_calls() {
    let (tools, runs) = tools_with_count();
    let by_call = Idempotency::new(9).key(|call| Some(call.cx.call_id().to_owned()).filter(|id| id != "any"));
    let tools = tools.layer(by_call);
    let pay_with = |id: &'static str| {
        let tools = tools.clone();
        async move { tools.call("pay", r#"{"amount":1}"#, &Context::new(id)).await.unwrap().decode::<usize>().unwrap() }
    };
    assert_eq!([pay_with("a").await, pay_with("a").await, pay_with("b").await], [1, 1, 2]);
    assert_eq!([pay_with("any").await, pay_with("any").await], [3, 4], "a call without a key is not remembered");
    assert_eq!(runs.load(Ordering::SeqCst), 4);
}

#[tokio::test(start_paused = true)]
async fn the_log_receives_every_call_that_ran() {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&lines);
    let (tools, _) = tools_with_count();
    let tools = tools.layer(CallLog::new(move |entry| {
        let kind = entry.result.as_ref().map(|_| ()).map_err(tool_runtime::CallError::did_not_run);
        assert!(entry.call.arguments.starts_with('{') && entry.took < Duration::from_secs(5));
        sink.lock().unwrap().push((entry.to_string(), kind));
    }));
    call_pay(&tools, 3).await.unwrap();
    call_pay(&tools, 0).await.unwrap_err();
    drop(call(&tools, "pay", "[]").await);
    let lines = lines.lock().unwrap();
    assert!(lines[0].0.starts_with("c pay ok ("), "{lines:?}");
    assert!(lines[1].0.contains("failed: nothing to pay: \"the secret cause\""), "{lines:?}");
    assert_eq!(lines.iter().map(|line| line.1).collect::<Vec<_>>(), [Ok(()), Err(false)]);
}

#[tokio::test]
async fn the_log_receives_a_panic() {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&lines);
    let (tools, _) = tools_with_count();
    let tools = tools.layer(CallLog::new(move |entry| sink.lock().unwrap().push(entry.to_string())));
    let failure = call(&tools, "broken", "{}").await.unwrap_err();
    assert!(!failure.for_model().as_text().unwrap().contains("secret"));
    let lines = lines.lock().unwrap();
    assert!(lines.len() == 1 && lines[0].contains("panicked: the secret text"), "{lines:?}");
}
