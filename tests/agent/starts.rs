//! Tests of starts: a function begins only while its call stands, and a call that waits for its start has not run.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use futures_util::future::BoxFuture;
use tokio::sync::Semaphore;
use tool_runtime::{
    Agent, AgentError, CallFuture, Context, Failure, Output, ToolSpec, Toolset,
    agent::{Decision, EventKind, Operator, Session, Timeouts},
    feedback::Rejection,
    layer::{ConcurrencyLimit, Idempotency, RateLimit, Retry, Timeout},
    model::{ScriptedModel, Turn},
    run::{CallResult, Interrupt, Phase, Principal},
    schema::Schema,
    test::{Events, Person},
    tool,
    tool::{AcceptedCall, CallError, ErasedTool, PrepareFuture},
    toolset,
    toolset::{Invocation, Layer, Next},
};
use tool_test_kit::within;

/// The functions that have begun, and a gate that holds them.
struct Works {
    begun: AtomicUsize,
    gate: Semaphore,
}

impl Works {
    fn new() -> Arc<Self> {
        Arc::new(Self { begun: AtomicUsize::new(0), gate: Semaphore::new(0) })
    }

    /// Creates functions whose gate opens at the end of the test, so that no thread stays behind.
    fn opened_at_the_end() -> (Arc<Self>, Opens) {
        let works = Self::new();
        (Arc::clone(&works), Opens(works))
    }

    fn begun(&self) -> usize {
        self.begun.load(Ordering::SeqCst)
    }

    /// Waits until a function has begun.
    async fn wait_for_start(&self) {
        while self.begun() == 0 {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    /// Blocks the thread until the gate opens.
    fn block(&self) {
        self.begun.fetch_add(1, Ordering::SeqCst);
        while self.gate.available_permits() == 0 {
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    async fn wait(&self) {
        self.begun.fetch_add(1, Ordering::SeqCst);
        drop(self.gate.acquire().await);
    }

    fn open(&self) {
        self.gate.add_permits(100);
    }
}

/// Opens the gate when it is dropped.
struct Opens(Arc<Works>);

impl Drop for Opens {
    fn drop(&mut self) {
        self.0.open();
    }
}

/// Charges a card.
#[tool(blocking, effect = destructive, approval = always)]
fn charge(#[state] works: &Works) {
    works.block();
}

/// Sends a mail.
#[tool]
async fn send_mail(#[state] works: &Works) {
    works.wait().await;
}

/// Sends a letter.
#[tool(blocking, timeout = "60ms")]
fn send_letter(#[state] works: &Works) {
    works.begun.fetch_add(1, Ordering::SeqCst);
    std::thread::sleep(Duration::from_millis(20));
}

fn calls(tool: &str, count: usize) -> Turn {
    (0..count).fold(Turn::default(), |turn, _| turn.then_call(tool, "{}"))
}

/// A layer of the application that lets one call in at a time.
struct OneAtATime(tokio::sync::Mutex<()>);

impl Layer for OneAtATime {
    fn call<'a>(&'a self, _: Invocation<'a>, mut next: Next<'a>) -> CallFuture<'a> {
        Box::pin(async move {
            let _turn = self.0.lock().await;
            next.run().await
        })
    }
}

/// Returns the tools behind each kind of queue that lets one call in at a time.
fn queues(tools: impl Fn() -> Toolset) -> [(&'static str, Toolset); 3] {
    [
        ("a limit of calls at a time", tools().layer(ConcurrencyLimit::new(1))),
        ("a limit of calls in a period", tools().layer(RateLimit::new(1, Duration::from_hours(1)))),
        ("a layer of the application", tools().layer(OneAtATime(tokio::sync::Mutex::new(())))),
    ]
}

/// Sends a prompt, and cancels the run when a function has begun.
async fn cancel_after_start(session: &mut Session, works: &Works) {
    let handle = session.handle();
    let cancelling = async {
        works.wait_for_start().await;
        handle.cancel();
    };
    let (sent, ()) = tokio::join!(session.send("go"), cancelling);
    assert!(matches!(sent, Err(AgentError::Cancelled)), "{sent:?}");
}

/// Returns the texts of the results for people.
fn texts(session: &Session) -> Vec<String> {
    let calls = session.run().calls();
    calls
        .iter()
        .map(|call| call.result().map_or_else(String::new, |result| result.for_people(&call.name, call.extent())))
        .collect()
}

#[tokio::test]
async fn a_cancelled_call_that_waits_never_begins_and_says_so() {
    for name in ["charge", "send_mail"] {
        for at in 0..3 {
            let (works, _opens) = Works::opened_at_the_end();
            let (queue, tools) =
                queues(|| toolset!(Arc::clone(&works); charge, send_mail)).into_iter().nth(at).unwrap();
            // The observer checks the order of the events.
            let agent = Agent::new(ScriptedModel::new([calls(name, 3), Turn::say("x")]))
                .tools(tools)
                .observer(Events::new())
                .operator(Person::approving());
            let mut session = agent.session();
            cancel_after_start(&mut session, &works).await;
            let effects = texts(&session);
            let ran = |text: &&String| text.as_str() == "the call was cancelled; it may have had effects";
            assert_eq!(effects.iter().filter(ran).count(), 1, "{queue}: {effects:?}");
            let waited = |text: &&String| text.as_str() == "the call was cancelled; it did not run";
            assert_eq!(effects.iter().filter(waited).count(), 2, "{queue}: {effects:?}");
            works.open();
            tokio::time::sleep(Duration::from_millis(50)).await;
            assert_eq!(works.begun(), 1, "{queue}: a function began after its call had ended");
        }
    }
}

#[tokio::test]
async fn a_call_of_a_dropped_run_never_begins() {
    let (works, _opens) = Works::opened_at_the_end();
    let tools = toolset!(Arc::clone(&works); charge).layer(ConcurrencyLimit::new(1));
    let agent = Agent::new(ScriptedModel::new([calls("charge", 3)])).tools(tools).operator(Person::approving());
    let mut session = agent.session();
    tokio::select! {
        sent = session.send("go") => panic!("{sent:?}"),
        () = works.wait_for_start() => {}
    }
    works.open();
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(works.begun(), 1);
}

#[tokio::test]
async fn the_time_limit_of_a_run_ends_waiting_calls_as_not_run() {
    let (works, _opens) = Works::opened_at_the_end();
    let tools = toolset!(Arc::clone(&works); send_mail).layer(ConcurrencyLimit::new(1));
    let agent = Agent::new(ScriptedModel::new([calls("send_mail", 2)])).tools(tools);
    let mut session = agent.max_time(Duration::from_millis(50)).session();
    let reply = session.send("go").await.unwrap();
    assert!(matches!(reply.phase, Phase::Stopped(_)), "{:?}", reply.phase);
    let mut effects = texts(&session);
    effects.sort();
    assert_eq!(effects, ["the call was cancelled; it did not run", "the call was cancelled; it may have had effects"]);
}

#[tokio::test]
async fn the_time_in_a_queue_does_not_count_for_a_time_limit() {
    let works = Works::new();
    let tools = toolset!(Arc::clone(&works); send_letter).layer(ConcurrencyLimit::new(1));
    let agent = Agent::new(ScriptedModel::new([calls("send_letter", 8), Turn::say("sent")])).tools(tools);
    let mut session = agent.session();
    let reply = session.send("go").await.unwrap();
    assert_eq!((reply.text.as_str(), works.begun()), ("sent", 8));
    let all = |call: &tool_runtime::run::Call| call.result().is_some_and(CallResult::is_success);
    assert!(session.run().calls().iter().all(all), "{:?}", texts(&session));
}

#[tokio::test]
async fn a_wait_for_the_start_has_a_limit_of_its_own() {
    let (works, _opens) = Works::opened_at_the_end();
    let tools = toolset!(Arc::clone(&works); send_mail).layer(ConcurrencyLimit::new(1));
    let agent = Agent::new(ScriptedModel::new([calls("send_mail", 2), Turn::say("x")])).tools(tools);
    let agent = agent.timeouts(Timeouts { start: Some(Duration::from_millis(40)), ..Timeouts::default() });
    let mut session = agent.session();
    let opening = async {
        works.wait_for_start().await;
        tokio::time::sleep(Duration::from_millis(200)).await;
        works.open();
    };
    let (sent, ()) = tokio::join!(session.send("go"), opening);
    sent.unwrap();
    let mut effects = texts(&session);
    effects.sort();
    assert_eq!(effects, ["null", "the call waited longer than 0.04 s for its turn; it did not run"]);
    assert_eq!(works.begun(), 1);
}

#[tokio::test]
async fn a_call_that_a_layer_ends_while_it_waits_did_not_run() {
    let works = Works::new();
    let gate = Arc::new(OneAtATime(tokio::sync::Mutex::new(())));
    let tools = toolset!(Arc::clone(&works); send_mail, send_letter).layer(Arc::clone(&gate));
    let turn = Turn::call("send_mail", "{}").then_call("send_letter", "{}");
    let agent = Agent::new(ScriptedModel::new([turn, Turn::say("x")]))
        .tools(tools.layer(Timeout::new(Duration::from_millis(60))));
    let _held = gate.0.lock().await;
    let mut session = agent.session();
    session.send("go").await.unwrap();
    assert_eq!(texts(&session), ["the call waited longer than 0.06 s for its turn; it did not run"; 2]);
    assert_eq!(works.begun(), 0);
}

/// A layer that panics before its tool begins.
struct Panics;

impl Layer for Panics {
    fn call<'a>(&'a self, _: Invocation<'a>, _: Next<'a>) -> CallFuture<'a> {
        panic!("a bug of the layer")
    }
}

#[tokio::test]
async fn a_layer_that_panics_before_the_function_did_not_run_it() {
    let works = Works::new();
    let agent = Agent::new(ScriptedModel::new([calls("send_mail", 1), Turn::say("x")]))
        .tools(toolset!(Arc::clone(&works); send_mail).layer(Panics));
    let mut session = agent.session();
    session.send("go").await.unwrap();
    assert_eq!(texts(&session), ["the call failed before the tool began; it did not run"]);
    assert_eq!(works.begun(), 0);
}

/// Reads a page.
#[tool(effect = read_only, retries = 1)]
async fn read_page(#[state] works: &Works) {
    works.begun.fetch_add(1, Ordering::SeqCst);
}

/// Its retry waits as long, and the log does not know that neither start began.
#[tokio::test]
async fn a_repeatable_call_that_a_layer_ends_while_it_waits_is_retried_and_claims_no_effects() {
    let works = Works::new();
    let gate = Arc::new(OneAtATime(tokio::sync::Mutex::new(())));
    let tools = toolset!(Arc::clone(&works); read_page).layer(Arc::clone(&gate));
    let agent = Agent::new(ScriptedModel::new([calls("read_page", 1), Turn::say("x")]))
        .tools(tools.layer(Timeout::new(Duration::from_millis(60))));
    let _held = gate.0.lock().await;
    let mut session = agent.session();
    session.send("go").await.unwrap();
    assert_eq!(texts(&session), ["the call waited longer than 0.06 s for its turn"]);
    assert_eq!((session.run().calls()[0].retries, works.begun()), (1, 0));
}

/// Waits in a layer, and fails twice.
#[tool(effect = read_only)]
async fn look(#[state] works: &Works) -> Result<(), Failure> {
    works.begun.fetch_add(1, Ordering::SeqCst);
    Err(Failure::new("busy").retryable())
}

#[tokio::test]
async fn a_retry_does_not_begin_after_the_end_of_its_call() {
    let works = Works::new();
    let tools = toolset!(Arc::clone(&works); look).layer(Retry::new(1).wait(Duration::from_millis(40)));
    let agent = Agent::new(ScriptedModel::new([calls("look", 1)])).tools(tools);
    let mut session = agent.session();
    cancel_after_start(&mut session, &works).await;
    assert_eq!(texts(&session), ["the call was cancelled"]);
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(works.begun(), 1);
}

/// A layer that runs its tool in the context of another call.
struct OtherContext;

impl Layer for OtherContext {
    fn call<'a>(&'a self, _: Invocation<'a>, mut next: Next<'a>) -> CallFuture<'a> {
        Box::pin(async move { next.run_with(&Context::new("other")).await })
    }
}

#[tokio::test]
async fn a_function_that_begins_in_another_context_may_have_run() {
    let (works, _opens) = Works::opened_at_the_end();
    let agent = Agent::new(ScriptedModel::new([calls("send_mail", 1)]))
        .tools(toolset!(Arc::clone(&works); send_mail).layer(OtherContext));
    let mut session = agent.session();
    cancel_after_start(&mut session, &works).await;
    assert_eq!(texts(&session), ["the call was cancelled; it may have had effects"]);
}

/// A layer that holds its executor for a while, so that its call ends before the layer can be dropped.
struct Holds(Arc<Works>);

impl Layer for Holds {
    fn call<'a>(&'a self, _: Invocation<'a>, mut next: Next<'a>) -> CallFuture<'a> {
        Box::pin(async move {
            self.0.begun.fetch_add(1, Ordering::SeqCst);
            std::thread::sleep(Duration::from_millis(300));
            next.run().await
        })
    }
}

/// The function of a tool, and that of a tool of an inner agent.
#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_function_does_not_begin_in_another_context_after_the_end_of_its_call() {
    let (works, _opens) = Works::opened_at_the_end();
    let holds = Works::new();
    let mails = || toolset!(Arc::clone(&works); send_mail, charge).layer(Holds(Arc::clone(&holds)));
    let inner = Agent::new(ScriptedModel::new([calls("send_mail", 1)])).tools(mails());
    let inner = Toolset::new().with(inner.as_tool("helper", "Helps.")).unwrap();
    let call = |tool: &str| Turn::call(tool, if tool == "helper" { r#"{"task": "x"}"# } else { "{}" });
    for (tool, tools, end) in [
        ("send_mail", mails(), "the call was cancelled; it did not run"),
        ("charge", mails(), "the call was cancelled; it did not run"),
        ("helper", inner, "the call was cancelled; it may have had effects"),
    ] {
        holds.begun.store(0, Ordering::SeqCst);
        let agent = Agent::new(ScriptedModel::new([call(tool)])).tools(tools.layer(OtherContext));
        let mut session = agent.operator(Person::approving()).session();
        cancel_after_start(&mut session, &holds).await;
        assert_eq!(texts(&session), [end], "{tool}");
        tokio::time::sleep(Duration::from_millis(400)).await;
        assert_eq!(works.begun(), 0, "{tool}");
    }
}

/// The run sees the begin of a function that waits in a layer in the context of another call.
#[tokio::test]
async fn a_call_that_waits_in_another_context_has_not_run() {
    let (works, _opens) = Works::opened_at_the_end();
    let tools = toolset!(Arc::clone(&works); send_mail).layer(ConcurrencyLimit::new(1)).layer(OtherContext);
    let agent = Agent::new(ScriptedModel::new([calls("send_mail", 2)])).tools(tools.layer(OtherContext));
    let mut session = agent.session();
    cancel_after_start(&mut session, &works).await;
    let mut effects = texts(&session);
    effects.sort();
    assert_eq!(effects, ["the call was cancelled; it did not run", "the call was cancelled; it may have had effects"]);
}

#[tokio::test]
async fn a_direct_call_of_a_cancelled_context_does_not_begin() {
    let (works, _opens) = Works::opened_at_the_end();
    let cx = Context::new("call");
    cx.cancellation().cancel();
    for tools in [toolset!(Arc::clone(&works); send_mail), toolset!(Arc::clone(&works); send_mail).layer(Retry::new(1))]
    {
        assert!(matches!(tools.call("send_mail", "{}", &cx).await, Err(CallError::Cancelled)));
    }
    assert_eq!(works.begun(), 0);
}

/// The names of the threads on which the layer and the tool ran.
type Threads = Mutex<Vec<String>>;

struct Where(Arc<Threads>);

fn here() -> String {
    std::thread::current().name().unwrap_or_default().to_owned()
}

impl Layer for Where {
    fn call<'a>(&'a self, _: Invocation<'a>, mut next: Next<'a>) -> CallFuture<'a> {
        Box::pin(async move {
            self.0.lock().unwrap().push(format!("before: {}", here()));
            tokio::time::sleep(Duration::from_millis(1)).await;
            let result = next.run().await;
            tokio::time::sleep(Duration::from_millis(1)).await;
            self.0.lock().unwrap().push(format!("after: {}", here()));
            result
        })
    }
}

/// Says where it runs.
#[tool(blocking, effect = read_only, retries = 1)]
fn place(#[state] threads: &Threads, #[context] cx: &Context) -> Result<(), Failure> {
    let mut threads = threads.lock().unwrap();
    threads.push(format!("tool {}: {}", cx.call_id(), here()));
    assert!(tokio::runtime::Handle::try_current().is_ok(), "a blocking tool may use the runtime");
    if threads.iter().filter(|line| line.starts_with("tool")).count() == 1 {
        Err(Failure::new("again").retryable())
    } else {
        Ok(())
    }
}

/// A blocking function runs on a thread of its own, the layers around it on the executor. A panic stays a failure of the call.
#[tokio::test]
async fn only_the_function_of_a_blocking_tool_leaves_the_executor() {
    let threads: Arc<Threads> = Arc::default();
    let tools = toolset!(Arc::clone(&threads); place).layer(Where(Arc::clone(&threads)));
    let agent =
        Agent::new(ScriptedModel::new([Turn::call("place", "{}"), Turn::say("x")])).tools(tools.layer(Retry::new(1)));
    let mut session = agent.session();
    session.send("go").await.unwrap();
    assert_eq!(texts(&session), ["null"]);
    let threads = threads.lock().unwrap();
    let of = |start: &str| threads.iter().filter(|line| line.starts_with(start)).collect::<Vec<_>>();
    assert!(of("tool").iter().all(|line| line.ends_with(": tool")) && of("tool").len() == 2, "{threads:?}");
    assert!(of("before").iter().chain(&of("after")).all(|line| !line.ends_with(": tool")), "{threads:?}");
}

/// Blocks for a minute.
#[tool(blocking, timeout = "20ms")]
fn block_long() {
    std::thread::sleep(Duration::from_mins(1));
}

/// The end of a runtime does not wait for a function that blocks.
#[test]
fn a_runtime_ends_although_a_function_blocks() {
    let since = Instant::now();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let agent = Agent::new(ScriptedModel::new([Turn::call("block_long", "{}"), Turn::say("x")]))
            .tools(toolset!(block_long));
        let mut session = agent.session();
        session.send("go").await.unwrap();
        assert_eq!(texts(&session), ["the tool did not answer within 0.02 s; it may have had effects"]);
    });
    drop(runtime);
    assert!(since.elapsed() < Duration::from_secs(50), "the runtime waited for the function");
}

/// Holds its executor.
#[tool]
fn hog() {
    std::thread::sleep(Duration::from_millis(250));
}

#[tokio::test]
async fn a_tool_that_holds_its_executor_is_reported() {
    let events = Events::new();
    let turn = Turn::call("hog", "{}").then_call("send_letter", "{}");
    let agent = Agent::new(ScriptedModel::new([turn, Turn::say("x")]))
        .tools(toolset!(Works::new(); hog, send_letter))
        .observer(events.clone());
    agent.run("go").await.unwrap();
    let detail = |event: &EventKind| match event {
        EventKind::CallEnded { detail, .. } => Some(detail.clone()),
        _ => None,
    };
    let details: Vec<_> = events.all().iter().filter_map(detail).flatten().collect();
    assert_eq!(details.len(), 1, "{details:?}");
    assert!(details[0].contains("held its executor for 0.") && details[0].contains("`blocking`"), "{details:?}");
}

/// A layer that asks a person before it runs the tool.
struct Asks;

impl Layer for Asks {
    fn call<'a>(&'a self, call: Invocation<'a>, mut next: Next<'a>) -> CallFuture<'a> {
        Box::pin(async move {
            call.cx.request_approval("May it?").await?;
            tokio::time::sleep(Duration::from_millis(10)).await;
            next.run().await
        })
    }
}

/// A person that needs some time to approve.
struct SlowPerson;

impl Operator for SlowPerson {
    fn can_decide(&self) -> bool {
        true
    }

    fn decide(
        &self,
        _: &str,
        _: &Interrupt,
        _: Option<&Rejection>,
    ) -> Option<BoxFuture<'static, (Decision, Option<Principal>)>> {
        Some(Box::pin(async {
            tokio::time::sleep(Duration::from_millis(200)).await;
            (Decision::Approve, None)
        }))
    }
}

#[tokio::test]
async fn the_time_of_a_person_does_not_count_for_the_wait() {
    let works = Works::new();
    works.open();
    let agent = Agent::new(ScriptedModel::new([calls("send_mail", 1), Turn::say("x")]))
        .tools(toolset!(Arc::clone(&works); send_mail).layer(Asks))
        .operator(SlowPerson)
        .timeouts(Timeouts { start: Some(Duration::from_millis(100)), ..Timeouts::default() });
    let mut session = agent.session();
    session.send("go").await.unwrap();
    assert_eq!(texts(&session), ["null"]);
}

/// Fails once.
/// Reads a page.
#[tool(effect = read_only, retries = 1)]
async fn flaky(#[state] works: &Works) -> Result<(), Failure> {
    if works.begun.fetch_add(1, Ordering::SeqCst) == 0 { Err(Failure::new("once").retryable()) } else { Ok(()) }
}

#[tokio::test]
async fn an_endless_limit_of_the_wait_is_no_limit() {
    let works = Works::new();
    let agent = Agent::new(ScriptedModel::new([calls("flaky", 1), Turn::say("fine")]))
        .tools(toolset!(Arc::clone(&works); flaky))
        .timeouts(Timeouts { start: Some(Duration::MAX), ..Timeouts::default() });
    assert_eq!(agent.run("go").await.unwrap().text, "fine");
}

#[tokio::test]
async fn a_call_that_waited_behind_idempotency_may_be_made_again() {
    let works = Works::new();
    works.open();
    let gate = Arc::new(OneAtATime(tokio::sync::Mutex::new(())));
    let tools = toolset!(Arc::clone(&works); send_mail).layer(Arc::clone(&gate)).layer(Idempotency::new(10));
    let model = ScriptedModel::new([calls("send_mail", 1), calls("send_mail", 1), Turn::say("x")]);
    let agent = Agent::new(model).tools(tools);
    let agent = agent.timeouts(Timeouts { start: Some(Duration::from_millis(60)), ..Timeouts::default() });
    let held = gate.0.lock().await;
    let mut session = agent.session();
    let releasing = async {
        tokio::time::sleep(Duration::from_millis(90)).await;
        drop(held);
    };
    let (sent, ()) = tokio::join!(session.send("go"), releasing);
    sent.unwrap();
    assert_eq!(texts(&session), ["the call waited longer than 0.06 s for its turn; it did not run", "null"]);
}

/// An inner call waits on a task of its own. It must not begin after the outer call has ended, even if the inner run cannot be
/// dropped at that moment.
#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn an_inner_call_does_not_begin_after_the_end_of_the_outer_one() {
    let (works, _opens) = Works::opened_at_the_end();
    let gate = Arc::new(OneAtATime(tokio::sync::Mutex::new(())));
    let tools = toolset!(Arc::clone(&works); send_mail).layer(Arc::clone(&gate));
    let tries = Works::new();
    let tools = tools.merge(toolset!(Arc::clone(&tries); flaky)).unwrap();
    let checks = Arc::new(AtomicUsize::new(0));
    let (seen, tried) = (Arc::clone(&checks), Arc::clone(&tries));
    let turn = Turn::call("send_mail", "{}").then_call("flaky", "{}");
    let inner = Agent::new(ScriptedModel::new([turn, Turn::say("done")])).tools(tools).policy(
        move |call: &tool_runtime::toolset::PolicyCall<'_>| {
            if call.spec.name == "flaky" && tried.begun() > 0 {
                seen.fetch_add(1, Ordering::SeqCst);
                std::thread::sleep(Duration::from_millis(400));
            }
            tool_runtime::toolset::Permission::Allow
        },
    );
    let helper = Toolset::new().with(inner.as_tool("helper", "Helps.")).unwrap();
    let outer = Agent::new(ScriptedModel::new([Turn::call("helper", r#"{"task": "x"}"#)])).tools(helper);
    let held = gate.0.lock().await;
    let mut session = outer.session();
    let handle = session.handle();
    let running = tokio::spawn(async move { session.send("go").await });
    while checks.load(Ordering::SeqCst) == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    handle.cancel();
    assert!(matches!(running.await.unwrap(), Err(AgentError::Cancelled)));
    drop(held);
    tokio::time::sleep(Duration::from_millis(600)).await;
    assert_eq!(works.begun(), 0, "the inner function began after the outer call had ended");
}

/// A tool that fails, and whose validator hangs from the third reading on: at the start after a retry's pause.
struct Checked {
    spec: Arc<ToolSpec>,
    asked: AtomicUsize,
}

impl ErasedTool for Checked {
    fn spec(&self) -> &Arc<ToolSpec> {
        &self.spec
    }

    fn prepare<'a>(&'a self, _: &'a str, _: &'a Context) -> PrepareFuture<'a> {
        PrepareFuture::asking(async move {
            if self.asked.fetch_add(1, Ordering::SeqCst) >= 2 {
                std::future::pending::<()>().await;
            }
            let work = async { Err(CallError::from(Failure::new("busy").retryable())) };
            Ok(AcceptedCall::new(false, Box::pin(work)))
        })
    }

    fn read_external_output(&self, _: &str) -> Result<Output, CallError> {
        Err(CallError::NotExecuted)
    }
}

#[tokio::test]
async fn a_validator_that_hangs_at_the_start_ends_the_call() {
    let mut spec = ToolSpec::new("checked", "Checks.", Schema::new(serde_json::json!({ "type": "object" })));
    spec.options.timeout = Some(Duration::from_millis(60));
    spec.options.retries = 1;
    let tools = Toolset::new().with(Checked { spec: Arc::new(spec), asked: AtomicUsize::new(0) }).unwrap();
    let model = ScriptedModel::new([calls("checked", 1), Turn::say("x")]);
    let mut session = Agent::new(model).tools(tools).session();
    within("the call", session.send("go")).await.unwrap();
    assert!(texts(&session)[0].contains("could not be checked within 0.06 s"), "{:?}", texts(&session));
}

/// Fails until its fourth try.
#[tool(retries = 3, idempotent)]
fn busy(#[state] tries: &Mutex<Vec<tokio::time::Instant>>) -> Result<(), Failure> {
    let mut tries = tries.lock().unwrap();
    tries.push(tokio::time::Instant::now());
    if tries.len() < 4 { Err(Failure::new("busy").retryable()) } else { Ok(()) }
}

/// The pause before a retry doubles.
#[tokio::test(start_paused = true)]
async fn retries_pause() {
    let tries = Arc::<Mutex<Vec<tokio::time::Instant>>>::default();
    let model = ScriptedModel::new([calls("busy", 1), Turn::say("x")]);
    Agent::new(model).tools(toolset!(Arc::clone(&tries); busy)).run("go").await.unwrap();
    let tries = tries.lock().unwrap();
    let pauses: Vec<u128> = tries.windows(2).map(|pair| (pair[1] - pair[0]).as_millis()).collect();
    assert!(matches!(pauses[..], [50..60, 100..110, 200..210]), "{pauses:?}");
}
