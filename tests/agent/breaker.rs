//! The circuit breaker, and limits on parallel calls of each tool.

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
    layer::{CircuitBreaker, ConcurrencyLimit, TimeLimit},
    tool, toolset,
};
use tool_test_kit::AllAndSome as _;

#[derive(Default)]
struct World {
    works: AtomicBool,
    calls: AtomicUsize,
    now: AtomicUsize,
    most: AtomicUsize,
}

/// Works, or fails.
#[tool]
async fn shaky(how: String, #[state] world: &World) -> Result<&'static str, Failure> {
    world.calls.fetch_add(1, Ordering::SeqCst);
    match how.as_str() {
        _ if world.works.load(Ordering::SeqCst) => Ok("done"),
        "refuse" => Err(Rejection::from_message("not like that").into()),
        "panic" => panic!("ouch"),
        "hang" => std::future::pending().await,
        _ => Err(Failure::new("broken")),
    }
}

/// Always works.
#[tool]
async fn sound(#[state] world: &World) {
    let now = world.now.fetch_add(1, Ordering::SeqCst) + 1;
    world.most.fetch_max(now, Ordering::SeqCst);
    tokio::time::sleep(Duration::from_millis(50)).await;
    world.now.fetch_sub(1, Ordering::SeqCst);
}

const PAUSE: Duration = Duration::from_secs(30);

fn tools(world: &Arc<World>) -> Toolset {
    toolset!(Arc::clone(world); shaky, sound)
        .layer(TimeLimit::new(Duration::from_secs(5)))
        .layer(CircuitBreaker::new(3, PAUSE))
}

async fn call(tools: &Toolset, how: &str) -> Result<tool_runtime::Output, CallError> {
    tools.call("shaky", &format!("{{\"how\":\"{how}\"}}"), &Context::new("c")).await
}

fn is_open(result: &Result<tool_runtime::Output, CallError>) -> bool {
    matches!(result, Err(CallError::OverBudget { limit }) if limit.starts_with("`shaky` has failed several times in a row"))
}

#[tokio::test(start_paused = true)]
async fn the_breaker_opens_after_failures_and_probes_after_a_pause() {
    let world = Arc::new(World::default());
    let tools = tools(&world);
    for how in ["fail", "panic", "hang"] {
        let failed = call(&tools, how).await;
        assert!(failed.is_err() && !is_open(&failed), "{failed:?}");
    }
    let refused = call(&tools, "fail").await;
    assert!(is_open(&refused));
    assert!(refused.unwrap_err().to_string().contains("for 30 s; go on without it"), "the model can act on it");
    assert_eq!(world.calls.load(Ordering::SeqCst), 3);
    tools.call("sound", "{}", &Context::new("c")).await.expect("each tool has a breaker of its own");

    tokio::time::advance(PAUSE).await;
    let (first, second) = tokio::join!(call(&tools, "hang"), call(&tools, "fail"));
    assert!(matches!(first, Err(CallError::TimedOut { .. })) && is_open(&second), "one call looks whether it works");
    assert!(is_open(&call(&tools, "fail").await), "it does not, for another pause");

    tokio::time::advance(PAUSE).await;
    world.works.store(true, Ordering::SeqCst);
    for _ in 0..2 {
        call(&tools, "fail").await.expect("it works again");
    }
}

#[tokio::test(start_paused = true)]
async fn a_success_between_failures_and_refusals_do_not_open_it() {
    let world = Arc::new(World::default());
    let tools = tools(&world);
    for _ in 0..3 {
        for how in ["fail", "fail"] {
            assert!(!is_open(&call(&tools, how).await));
        }
        world.works.store(true, Ordering::SeqCst);
        call(&tools, "fail").await.unwrap();
        world.works.store(false, Ordering::SeqCst);
    }
    for _ in 0..9 {
        assert!(!is_open(&call(&tools, "refuse").await), "what is wrong with arguments is not wrong with the tool");
    }
}

#[tokio::test(start_paused = true)]
async fn a_dropped_probe_frees_its_place() {
    let world = Arc::new(World::default());
    let tools = tools(&world);
    for _ in 0..3 {
        let _ = call(&tools, "fail").await;
    }
    tokio::time::advance(PAUSE).await;
    let dropped = tokio::time::timeout(Duration::from_millis(1), call(&tools, "hang")).await;
    assert!(dropped.is_err());
    world.works.store(true, Ordering::SeqCst);
    call(&tools, "fail").await.expect("the next call looks");
}

#[tokio::test(start_paused = true)]
async fn a_limit_for_each_tool_is_its_own() {
    let world = Arc::new(World::default());
    let one = || toolset!(Arc::clone(&world); sound);
    let tools = one().merge(one().rename("sound", "other").unwrap()).unwrap().layer(ConcurrencyLimit::each(2));
    let cx = Context::new("c");
    let calls = (0..8).map(|at| tools.call(if at < 4 { "sound" } else { "other" }, "{}", &cx));
    assert!(join_all(calls).await.iter().all_and_some(Result::is_ok));
    assert_eq!(world.most.load(Ordering::SeqCst), 4, "two of each");
}
