//! Tests of the circuit breaker, and of limits on parallel calls of each tool.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::future::join_all;
use tool_runtime::{
    CallError, Context, Failure, Rejection, Toolset,
    layer::{CircuitBreaker, ConcurrencyLimit, Timeout},
    tool,
    tool::CallFuture,
    toolset,
    toolset::{Invocation, Layer, Next},
};
use tool_test_kit::AllAndSome as _;

#[derive(Default)]
struct Counters {
    works: AtomicBool,
    calls: AtomicUsize,
    running: AtomicUsize,
    most: AtomicUsize,
}

/// Works, or fails.
#[tool]
async fn shaky(how: String, #[state] counters: &Counters) -> Result<&'static str, Failure> {
    counters.calls.fetch_add(1, Ordering::SeqCst);
    match how.as_str() {
        _ if counters.works.load(Ordering::SeqCst) => Ok("done"),
        "refuse" => Err(Rejection::from_message("not like that").into()),
        "panic" => panic!("ouch"),
        "hang" => std::future::pending().await,
        _ => Err(Failure::new("broken")),
    }
}

/// Always works.
#[tool]
async fn sound(#[state] counters: &Counters) {
    let running = counters.running.fetch_add(1, Ordering::SeqCst) + 1;
    counters.most.fetch_max(running, Ordering::SeqCst);
    tokio::time::sleep(Duration::from_millis(50)).await;
    counters.running.fetch_sub(1, Ordering::SeqCst);
}

const PAUSE: Duration = Duration::from_secs(30);

fn tools(counters: &Arc<Counters>) -> Toolset {
    toolset!(Arc::clone(counters); shaky, sound)
        .layer(Timeout::new(Duration::from_secs(5)))
        .layer(CircuitBreaker::new(3, PAUSE))
}

async fn call(tools: &Toolset, how: &str) -> Result<tool_runtime::Output, CallError> {
    tools.call("shaky", &format!("{{\"how\":\"{how}\"}}"), &Context::new("c")).await
}

fn is_open(result: &Result<tool_runtime::Output, CallError>) -> bool {
    matches!(result, Err(CallError::LimitReached { limit }) if limit.starts_with("`shaky` has failed several times in a row"))
}

#[tokio::test(start_paused = true)]
async fn the_breaker_opens_after_failures_and_probes_after_a_pause() {
    let counters = Arc::new(Counters::default());
    let tools = tools(&counters);
    for how in ["fail", "panic", "hang"] {
        let failed = call(&tools, how).await;
        assert!(failed.is_err() && !is_open(&failed), "{failed:?}");
    }
    let refused = call(&tools, "fail").await;
    assert!(is_open(&refused));
    assert!(
        refused.unwrap_err().to_string().contains("for 30 s; go on without it"),
        "the refusal tells the model what to do"
    );
    assert_eq!(counters.calls.load(Ordering::SeqCst), 3);
    tools.call("sound", "{}", &Context::new("c")).await.expect("the breaker of another tool stays closed");

    tokio::time::advance(PAUSE).await;
    let (first, second) = tokio::join!(call(&tools, "hang"), call(&tools, "fail"));
    assert!(
        matches!(first, Err(CallError::TimedOut { .. })) && is_open(&second),
        "one call probes the tool, and the other is refused"
    );
    assert!(is_open(&call(&tools, "fail").await), "the breaker stays open for another pause");

    tokio::time::advance(PAUSE).await;
    counters.works.store(true, Ordering::SeqCst);
    for _ in 0..2 {
        call(&tools, "fail").await.expect("the breaker is closed again");
    }
}

#[tokio::test(start_paused = true)]
async fn failures_with_successes_between_them_and_refusals_do_not_open_the_breaker() {
    let counters = Arc::new(Counters::default());
    let tools = tools(&counters);
    for _ in 0..3 {
        for how in ["fail", "fail"] {
            assert!(!is_open(&call(&tools, how).await));
        }
        counters.works.store(true, Ordering::SeqCst);
        call(&tools, "fail").await.unwrap();
        counters.works.store(false, Ordering::SeqCst);
    }
    for _ in 0..9 {
        assert!(!is_open(&call(&tools, "refuse").await), "a refusal of arguments is not a failure of the tool");
    }
}

#[tokio::test(start_paused = true)]
async fn the_call_after_a_dropped_probe_is_the_next_probe() {
    let counters = Arc::new(Counters::default());
    let tools = tools(&counters);
    for _ in 0..3 {
        let _ = call(&tools, "fail").await;
    }
    tokio::time::advance(PAUSE).await;
    let dropped = tokio::time::timeout(Duration::from_millis(1), call(&tools, "hang")).await;
    assert!(dropped.is_err());
    counters.works.store(true, Ordering::SeqCst);
    call(&tools, "fail").await.expect("the next call probes the tool");
}

/// A layer that refuses calls while it is set.
struct Refusing(Arc<AtomicBool>);

impl Layer for Refusing {
    fn call<'a>(&'a self, _: Invocation<'a>, mut next: Next<'a>) -> CallFuture<'a> {
        Box::pin(async move {
            if self.0.load(Ordering::SeqCst) {
                return Err(CallError::LimitReached { limit: "not now".into() });
            }
            next.run().await
        })
    }
}

#[tokio::test(start_paused = true)]
async fn the_call_after_a_probe_that_did_not_run_is_the_next_probe() {
    let (counters, refuses) = (Arc::new(Counters::default()), Arc::new(AtomicBool::new(false)));
    let tools = toolset!(Arc::clone(&counters); shaky)
        .layer(Refusing(Arc::clone(&refuses)))
        .layer(CircuitBreaker::new(3, PAUSE));
    for _ in 0..3 {
        let _ = call(&tools, "fail").await;
    }
    tokio::time::advance(PAUSE).await;
    refuses.store(true, Ordering::SeqCst);
    let refused = call(&tools, "fail").await;
    assert!(matches!(&refused, Err(CallError::LimitReached { limit }) if limit == "not now"), "{refused:?}");
    refuses.store(false, Ordering::SeqCst);
    assert!(!is_open(&call(&tools, "fail").await), "the next call probes the tool");
    assert!(is_open(&call(&tools, "fail").await), "its failure opens the breaker again");
}

#[tokio::test(start_paused = true)]
async fn a_breaker_may_pause_a_tool_for_ever() {
    let counters = Arc::new(Counters::default());
    let tools = toolset!(Arc::clone(&counters); shaky).layer(CircuitBreaker::new(1, Duration::MAX));
    assert!(!is_open(&call(&tools, "fail").await));
    assert!(is_open(&call(&tools, "fail").await));
}

#[tokio::test(start_paused = true)]
async fn each_tool_has_a_concurrency_limit_of_its_own() {
    let counters = Arc::new(Counters::default());
    let one = || toolset!(Arc::clone(&counters); sound);
    let tools = one().merge(one().rename("sound", "other").unwrap()).unwrap().layer(ConcurrencyLimit::each(2));
    let cx = Context::new("c");
    let calls = (0..8).map(|at| tools.call(if at < 4 { "sound" } else { "other" }, "{}", &cx));
    assert!(join_all(calls).await.iter().all_and_some(Result::is_ok));
    assert_eq!(counters.most.load(Ordering::SeqCst), 4, "two calls of each tool run at once");
}
