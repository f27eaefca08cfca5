//! Tests of layers that count calls of principals or keys by themselves, and of the turns in their queues.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::{FutureExt as _, future::join_all};
use tokio::time::Instant;
use tool_runtime::{
    CallError, CallFuture, Context, Failure, Output, Toolset,
    layer::{ByKey, CircuitBreaker, ConcurrencyLimit, RateLimit},
    tool, toolset,
    toolset::{Invocation, Layer, Next},
};

/// The calls that began, in order: their principals, and the times since the test began.
struct Began {
    since: Instant,
    calls: Mutex<Vec<(String, u64)>>,
    running: AtomicUsize,
    most: AtomicUsize,
}

impl Began {
    fn new() -> Arc<Self> {
        let (running, most) = Default::default();
        Arc::new(Self { since: Instant::now(), calls: Mutex::default(), running, most })
    }

    fn position(&self, principal: &str) -> usize {
        self.calls.lock().unwrap().iter().position(|(began, _)| began == principal).unwrap()
    }

    fn count(&self) -> usize {
        self.calls.lock().unwrap().len()
    }
}

/// Works for some milliseconds.
#[tool]
async fn work(ms: u64, #[state] began: &Began, #[context] cx: &Context) {
    let principal = cx.principal().unwrap_or("nobody").to_owned();
    let at = u64::try_from(began.since.elapsed().as_millis()).unwrap();
    began.calls.lock().unwrap().push((principal, at));
    let running = began.running.fetch_add(1, Ordering::SeqCst) + 1;
    began.most.fetch_max(running, Ordering::SeqCst);
    tokio::time::sleep(Duration::from_millis(ms)).await;
    began.running.fetch_sub(1, Ordering::SeqCst);
}

/// Fails.
#[tool]
async fn fail(works: bool) -> Result<(), Failure> {
    if works { Ok(()) } else { Err(Failure::new("broken")) }
}

fn tools(began: &Arc<Began>) -> Toolset {
    toolset!(Arc::clone(began); work)
}

async fn call(tools: &Toolset, name: &str, arguments: &str, principal: &str) -> Result<Output, CallError> {
    let cx = Context::new("c").with_principal(principal);
    tools.call(name, arguments, &cx).await
}

async fn fails(tools: &Toolset, principal: &str) -> bool {
    is_refused(&call(tools, "fail", r#"{"works":false}"#, principal).await)
}

fn is_refused(result: &Result<Output, CallError>) -> bool {
    matches!(result, Err(CallError::LimitReached { .. }))
}

const PAUSE: Duration = Duration::from_secs(30);

#[tokio::test(start_paused = true)]
async fn a_breaker_counts_the_failures_of_each_principal() {
    let breaker = CircuitBreaker::new(3, PAUSE);
    let tools = toolset!(fail).layer(breaker.clone());
    for _ in 0..3 {
        assert!(!fails(&tools, "ann").await);
    }
    assert!(fails(&tools, "ann").await, "the breaker of this principal is open");
    call(&tools, "fail", r#"{"works":true}"#, "bob").await.expect("the breaker of another principal is closed");
    tokio::time::advance(PAUSE).await;
    call(&tools, "fail", r#"{"works":true}"#, "ann").await.expect("the test closes it");

    let tools = toolset!(fail).layer(breaker.clone().for_all());
    for principal in ["ann", "bob", "eve"] {
        assert!(!fails(&tools, principal).await);
    }
    assert!(fails(&tools, "dan").await, "the failures of all principals count together");

    let team = |call: &Invocation<'_>| call.cx.principal().map(|name| name[..1].to_owned());
    let tools = toolset!(fail).layer(breaker.key(team));
    for principal in ["a1", "a2", "a3", "b1"] {
        assert!(!fails(&tools, principal).await);
    }
    assert!(fails(&tools, "a4").await && !fails(&tools, "b2").await);
}

#[tokio::test(start_paused = true)]
async fn calls_without_a_principal_share_a_breaker() {
    let tools = toolset!(fail).layer(CircuitBreaker::new(2, PAUSE));
    for _ in 0..2 {
        let failed = tools.call("fail", r#"{"works":false}"#, &Context::new("c")).await;
        assert!(!is_refused(&failed));
    }
    assert!(is_refused(&tools.call("fail", r#"{"works":false}"#, &Context::new("c")).await));
    assert!(!fails(&tools, "").await, "an empty name is a principal of its own");
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_principals_closes_no_open_breaker() {
    let tools = toolset!(fail).layer(CircuitBreaker::new(1, PAUSE));
    assert!(!fails(&tools, "ann").await);
    for n in 0..12_000 {
        call(&tools, "fail", r#"{"works":true}"#, &format!("new {n}")).await.unwrap();
    }
    assert!(fails(&tools, "ann").await);
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_principals_resets_no_limit_in_use() {
    let began = Began::new();
    let tools = tools(&began).layer(RateLimit::new(1, Duration::from_mins(1)).by_principal().refuse());
    call(&tools, "work", r#"{"ms":0}"#, "ann").await.unwrap();
    let mut refused = 0;
    for n in 0..12_000 {
        refused += usize::from(is_refused(&call(&tools, "work", r#"{"ms":0}"#, &format!("new {n}")).await));
    }
    assert!(is_refused(&call(&tools, "work", r#"{"ms":0}"#, "ann").await));
    assert!(refused >= 2_000, "principals without room share a limit: {refused}");
    tokio::time::advance(Duration::from_secs(61)).await;
    call(&tools, "work", r#"{"ms":0}"#, "ann").await.unwrap();
    call(&tools, "work", r#"{"ms":0}"#, "late").await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn limits_of_each_principal() {
    let began = Began::new();
    let limited = tools(&began).layer(ConcurrencyLimit::new(1).by_principal());
    let calls = ["ann", "bob", "eve", "ann"].map(|principal| call(&limited, "work", r#"{"ms":100}"#, principal));
    join_all(calls).await;
    assert_eq!((began.most.load(Ordering::SeqCst), began.since.elapsed().as_millis()), (3, 200));

    let limited = tools(&began).layer(RateLimit::new(1, Duration::from_secs(9)).by_principal().refuse());
    for (principal, refused) in [("ann", false), ("ann", true), ("bob", false)] {
        assert_eq!(is_refused(&call(&limited, "work", r#"{"ms":0}"#, principal).await), refused, "{principal}");
    }
    let by_tool = RateLimit::new(1, Duration::from_secs(9)).key(|call| Some(call.spec.name.clone())).refuse();
    let both = tools(&began).merge(tools(&began).rename("work", "other").unwrap()).unwrap().layer(by_tool);
    for (tool, refused) in [("work", false), ("other", false), ("work", true)] {
        assert_eq!(is_refused(&call(&both, tool, r#"{"ms":0}"#, "ann").await), refused, "{tool}");
    }
}

/// Returns the position of the first call of `bob`, who comes after a thousand calls of `ann`.
async fn position_of_late_principal(tools: Toolset, began: &Arc<Began>) -> usize {
    let anns = join_all((0..1000).map(|_| call(&tools, "work", r#"{"ms":10}"#, "ann")));
    let bobs = async {
        tokio::time::sleep(Duration::from_millis(15)).await;
        join_all((0..3).map(|_| call(&tools, "work", r#"{"ms":10}"#, "bob"))).await
    };
    let (anns, bobs) = tokio::join!(anns, bobs);
    assert!(anns.iter().chain(&bobs).all(Result::is_ok) && anns.len() == 1000);
    began.position("bob")
}

#[tokio::test(start_paused = true)]
async fn principals_take_turns_in_a_queue_for_all() {
    let began = Began::new();
    let at = position_of_late_principal(tools(&began).layer(ConcurrencyLimit::new(2)), &began).await;
    assert!(at <= 6, "{at}");
    assert_eq!(began.most.load(Ordering::SeqCst), 2);

    let began = Began::new();
    let limit = RateLimit::new(1, Duration::from_millis(20));
    let at = position_of_late_principal(tools(&began).layer(limit), &began).await;
    assert!(at <= 2, "{at}");
    let calls = began.calls.lock().unwrap();
    assert!(calls.windows(2).all(|two| two[1].1 - two[0].1 >= 20), "the rate holds");
    let last = calls.iter().rposition(|(principal, _)| principal == "bob").unwrap();
    assert!(last <= 6, "each of the three calls of `bob` waits for one of `ann`: {last}");
}

#[tokio::test(start_paused = true)]
async fn the_calls_of_a_principal_keep_their_order() {
    let order = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&order);
    let began = Began::new();
    let tools = tools(&began)
        .layer(NoteArguments(noted))
        .layer(RateLimit::new(1, Duration::from_millis(10)))
        .layer(ConcurrencyLimit::new(1));
    let arguments: Vec<String> = (0..20).map(|ms| format!("{{\"ms\":{ms}}}")).collect();
    join_all(arguments.iter().map(|arguments| call(&tools, "work", arguments, "ann"))).await;
    assert_eq!(*order.lock().unwrap(), arguments);
}

struct NoteArguments(Arc<Mutex<Vec<String>>>);

impl Layer for NoteArguments {
    fn call<'a>(&'a self, call: Invocation<'a>, mut next: Next<'a>) -> CallFuture<'a> {
        self.0.lock().unwrap().push(call.arguments.to_owned());
        next.run()
    }
}

/// Tests that calls that are dropped while they wait, or when they have just got a place, free it.
async fn drop_waiting_calls(tools: Toolset, began: &Arc<Began>, period: Duration) {
    let first = call(&tools, "work", r#"{"ms":10}"#, "ann");
    let dropped: Vec<_> = (0..50)
        .map(|n| Box::pin(call(&tools, "work", r#"{"ms":10}"#, if n % 2 == 0 { "ann" } else { "eve" })))
        .collect();
    let mut first = Box::pin(first);
    assert!(first.as_mut().now_or_never().is_none());
    let mut dropped: Vec<_> = dropped;
    for waiting in &mut dropped {
        assert!(waiting.as_mut().now_or_never().is_none());
    }
    let mut last = Box::pin(call(&tools, "work", r#"{"ms":10}"#, "bob"));
    assert!(last.as_mut().now_or_never().is_none());
    // Half of the calls are dropped while the first one runs. The others are dropped at the moment at which places are given
    // out, but never polled again.
    dropped.truncate(25);
    first.await.unwrap();
    tokio::time::advance(period).await;
    let before = began.count();
    drop(dropped);
    let end = tokio::time::timeout(period * 4 + Duration::from_millis(100), last).await;
    end.expect("dropped calls have freed their places").unwrap();
    assert_eq!(began.count(), before + 1, "no dropped call began");
    for _ in 0..3 {
        call(&tools, "work", r#"{"ms":1}"#, "ann").await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_dropped_call_frees_its_place() {
    let period = Duration::from_millis(50);
    let limits: [fn(Toolset, Duration) -> Toolset; 4] = [
        |tools, _| tools.layer(ConcurrencyLimit::new(1)),
        |tools, period| tools.layer(RateLimit::new(1, period)),
        |tools, period| tools.layer(RateLimit::new(1, period)).layer(ConcurrencyLimit::new(1)),
        |tools, period| {
            tools.layer(ConcurrencyLimit::new(1).key(|_| None)).layer(RateLimit::new(1, period).key(|_| None))
        },
    ];
    for limited in limits {
        let began = Began::new();
        drop_waiting_calls(limited(tools(&began), period), &began, period).await;
    }
}

#[tokio::test(start_paused = true)]
async fn the_call_that_waits_for_the_time_may_be_dropped() {
    let began = Began::new();
    let tools = tools(&began).layer(RateLimit::new(1, Duration::from_secs(1)));
    call(&tools, "work", r#"{"ms":0}"#, "ann").await.unwrap();
    let (dropped, kept) = tokio::join!(
        tokio::time::timeout(Duration::from_millis(500), call(&tools, "work", r#"{"ms":0}"#, "ann")),
        tokio::time::timeout(Duration::from_millis(1500), call(&tools, "work", r#"{"ms":0}"#, "bob")),
    );
    assert!(dropped.is_err() && kept.is_ok());
    assert_eq!(began.count(), 2, "the dropped call uses nothing up");
}

/// A layer of an application: it lets each principal make so many calls.
struct CallsOfEach {
    calls: ByKey<AtomicUsize>,
    most: usize,
}

impl Layer for CallsOfEach {
    fn call<'a>(&'a self, call: Invocation<'a>, mut next: Next<'a>) -> CallFuture<'a> {
        Box::pin(async move {
            let made = self.calls.get(call.cx.principal());
            if made.fetch_add(1, Ordering::SeqCst) >= self.most {
                return Err(CallError::LimitReached { limit: "enough".to_owned() });
            }
            next.run().await
        })
    }
}

#[tokio::test(start_paused = true)]
async fn a_layer_of_an_application_counts_by_key() {
    let calls = ByKey::new(100, AtomicUsize::default).keep_while(|made| made.load(Ordering::SeqCst) >= 2);
    let began = Began::new();
    let tools = tools(&began).layer(CallsOfEach { calls, most: 2 });
    for (principal, refused) in [("ann", false), ("ann", false), ("ann", true), ("bob", false)] {
        assert_eq!(is_refused(&call(&tools, "work", r#"{"ms":0}"#, principal).await), refused, "{principal}");
    }
    for n in 0..1000 {
        call(&tools, "work", r#"{"ms":0}"#, &n.to_string()).await.unwrap();
    }
    assert!(is_refused(&call(&tools, "work", r#"{"ms":0}"#, "ann").await), "this state is kept");
}
