//! The lines of the log about failures, as a plain `tracing_subscriber::fmt` writes them.
//!
//! These tests need a process of their own, like those of traces.

use std::{
    io,
    sync::{Arc, Mutex, Once},
    time::Duration,
};

use futures_util::{StreamExt, stream};
use serde_json::json;
use tool_runtime::{
    Agent, AgentError, Context, Failure,
    agent::{Decision, Suspend},
    layer::CallLog,
    model::{Delta, FunctionModel, Model, ModelError, ModelErrorKind, ScriptedModel, Turn},
    run::{CallResult, Phase, RunId, StopReason},
    store::MemoryStore,
    test::{Events, Person, TestClock},
    tool, toolset,
    toolset::{Permission, PolicyCall},
};
use tracing::{Level, subscriber::DefaultGuard};

/// The log of a test.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl io::Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Written {
    /// Begins to write the log of this thread, down to `level`.
    ///
    /// A subscriber of the whole process wants all events. Otherwise, `tracing` turns an event off in all threads when a thread without
    /// a subscriber comes to it first.
    fn begin(level: Level) -> (Self, DefaultGuard) {
        static EVERYTHING: Once = Once::new();
        EVERYTHING.call_once(|| {
            let plain = tracing_subscriber::fmt().with_max_level(Level::TRACE).with_writer(io::sink);
            tracing::subscriber::set_global_default(plain.finish()).expect("the only one");
        });
        let (written, clone) = Self::default().twice();
        let plain = tracing_subscriber::fmt().with_max_level(level).with_ansi(false).without_time();
        let subscriber = plain.with_writer(move || clone.clone()).finish();
        (written, tracing::subscriber::set_default(subscriber))
    }

    fn twice(self) -> (Self, Self) {
        (self.clone(), self)
    }

    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }

    /// Returns the lines, with `R` in place of the id of `run`. Leaves out that a busy machine held a call up.
    fn lines(&self, run: &RunId) -> Vec<String> {
        self.text()
            .lines()
            .filter(|line| !line.contains("held its executor"))
            .map(|line| line.trim_start().replace(run.as_str(), "R"))
            .collect()
    }
}

/// Drives a run of `agent` with the prompt. Returns its lines, and the end.
async fn log_of(agent: Agent) -> (Vec<String>, Result<Phase, AgentError>) {
    let (written, _guard) = Written::begin(Level::INFO);
    let mut session = agent.session();
    let done = session.send("the prompt").await.map(|reply| reply.phase);
    (written.lines(session.id()), done)
}

async fn lines_of(agent: Agent) -> Vec<String> {
    log_of(agent).await.0
}

/// Returns an agent whose model calls `tool`, and then says goodbye.
fn calling(tool: &str, arguments: serde_json::Value) -> Agent {
    Agent::new(ScriptedModel::new([Turn::call(tool, arguments), Turn::say("the goodbye")])).tools(tools())
}

/// A model that fails this often, and then speaks.
fn failing(times: usize, error: impl Fn() -> ModelError + Send + Sync + 'static) -> impl Model {
    let left = Mutex::new(times);
    FunctionModel::streaming(move |_| {
        let mut left = left.lock().unwrap();
        if *left == 0 {
            let deltas = [Delta::Text("hello".into()), Delta::Finish(tool_runtime::model::FinishReason::Stop)];
            return stream::iter(deltas.map(Ok)).boxed();
        }
        *left -= 1;
        let error = Err(error());
        stream::iter([error]).boxed()
    })
}

fn unreachable() -> ModelError {
    ModelError::new(ModelErrorKind::Unavailable, "localhost:9 cannot be reached")
        .with_source(io::Error::other("connection refused"))
        .with_retry_after(Some(Duration::ZERO))
}

/// The bank is away.
#[derive(Debug)]
struct Away(io::Error);

impl std::fmt::Display for Away {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("the bank is away")
    }
}

impl std::error::Error for Away {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

/// Looks something up.
#[tool(effect = read_only)]
async fn look(
    /** The item. */
    what: String,
) -> Result<String, String> {
    Err(format!("there is no\n{what}"))
}

/// Asks the bank.
#[tool]
async fn transfer(#[arg(secret)] key: String) -> Result<String, Failure> {
    Err(Away(io::Error::other(format!("no route with {key}"))))?
}

/// Fails at first.
#[tool(effect = read_only, retries = 1)]
async fn flaky() -> Result<u32, Failure> {
    Err(Failure::new("busy").retryable())
}

/// Counts.
#[tool]
async fn count(#[arg(range(..=9))] n: u32) -> u32 {
    [1, 2, 3][n as usize]
}

/// Reads for long.
#[tool(effect = read_only, timeout = "20ms")]
async fn read_slowly() {
    std::future::pending::<()>().await;
}

/// Writes for long.
#[tool(timeout = "20ms")]
async fn write_slowly() {
    std::future::pending::<()>().await;
}

/// Pays.
#[tool(approval = always)]
async fn pay(amount: u32) -> u32 {
    amount
}

/// Returns the item.
#[tool(effect = read_only)]
async fn fetch(
    /** The item. */
    what: String,
) -> String {
    format!("the contents of {what}")
}

fn tools() -> tool_runtime::Toolset {
    toolset!(look, transfer, flaky, count, read_slowly, write_slowly, pay, fetch)
}

#[tokio::test]
async fn each_failure_of_a_model_is_one_line_with_its_cause() {
    let cause = "localhost:9 cannot be reached: connection refused run=\"R\" model=\"function\"";
    let (lines, done) = log_of(Agent::new(failing(1, unreachable)).model_retries(1)).await;
    assert_eq!(done.unwrap(), Phase::Finished);
    assert_eq!(lines, [format!("WARN tool_runtime: the model failed and is asked again: {cause}")]);

    let (lines, done) = log_of(Agent::new(failing(9, unreachable)).model_retries(1)).await;
    assert_eq!(done.unwrap_err().to_string(), "the model failed: localhost:9 cannot be reached");
    let last = format!("ERROR tool_runtime: the model failed, and the run stopped: {cause}");
    assert_eq!(lines, [format!("WARN tool_runtime: the model failed and is asked again: {cause}"), last.clone()]);

    let refused = || ModelError::new(ModelErrorKind::Unauthorized, "401 (check the API key)");
    let agent = Agent::new(failing(1, refused)).fallback(ScriptedModel::new([Turn::say("here")]));
    let expected = "WARN tool_runtime: the model failed, and `scripted` is asked next: 401 (check the API key) run=\"R\" \
                    model=\"function\"";
    assert_eq!(lines_of(agent).await, [expected]);

    let unprepared = Agent::new(ScriptedModel::new([Turn::say("never")]))
        .prepare_step_async(|_| async { Err(Failure::hidden("no disk")) });
    let expected = "ERROR tool_runtime: the model failed, and the run stopped: the step could not be prepared: \"no disk\" \
                    run=\"R\" model=\"scripted\"";
    assert_eq!(lines_of(unprepared).await, [expected]);
}

#[tokio::test]
async fn each_failure_of_a_tool_is_one_line_with_its_cause() {
    let cx = || Context::new("").with_secret("key", "k-123");
    let of = |tool: &'static str, arguments| async move { lines_of(calling(tool, arguments).context(cx())).await };
    let call = |tool: &str| format!("run=\"R\" call=\"call_1_0\" tool=\"{tool}\"");
    for (tool, arguments, expected) in [
        ("look", json!({"what": "x"}), "WARN tool_runtime: the tool failed: there is no x"),
        ("transfer", json!({}), "WARN tool_runtime: the tool failed: the bank is away: no route with [redacted]"),
        (
            "count",
            json!({"n": 5}),
            "ERROR tool_runtime: the tool panicked: index out of bounds: the len is 3 but the index is 5",
        ),
        ("read_slowly", json!({}), "WARN tool_runtime: the tool did not answer within 0.02 s"),
        (
            "write_slowly",
            json!({}),
            "WARN tool_runtime: the tool did not answer within 0.02 s; it may have had effects",
        ),
        ("count", json!({"n": 77}), "INFO tool_runtime: the arguments were rejected; the call did not run"),
        ("lok", json!({}), "INFO tool_runtime: there is no tool called `lok`; did you mean `look`?"),
    ] {
        assert_eq!(of(tool, arguments).await, [format!("{expected} {}", call(tool))]);
    }
    let flaky = [
        "WARN tool_runtime: the tool failed, and the call starts again: busy",
        "WARN tool_runtime: the tool failed: busy",
    ];
    assert_eq!(of("flaky", json!({})).await, flaky.map(|line| format!("{line} {}", call("flaky"))));
}

#[tokio::test]
async fn decisions_and_what_nobody_decided_are_lines() {
    let asking = || calling("pay", json!({"amount": 5}));
    let about = "run=\"R\" call=\"call_1_0\" tool=\"pay\"";
    let waits = format!("INFO tool_runtime: waiting for a decision: approval {about}");
    let denied = || asking().observer(Events::new()).operator(Person::deciding([Decision::deny("secretly")]));
    let lines = |reason: &str| {
        let decided = format!("INFO tool_runtime: decided: deny {about}");
        [waits.clone(), decided, format!("INFO tool_runtime: the call was denied, and did not run{reason} {about}")]
    };
    assert_eq!(lines_of(denied()).await, lines(""), "the words of a person are content");
    let lines = lines_of(denied().trace_content(true)).await;
    assert!(lines[2].contains("did not run: secretly"), "{lines:?}");

    let never = asking().policy(|_: &PolicyCall<'_>| Permission::deny("at night"));
    let expected = format!("INFO tool_runtime: a policy does not allow the call; it did not run: at night {about}");
    assert_eq!(lines_of(never).await, [expected]);

    let clock = TestClock::new();
    let agent = asking().operator(Suspend).store(MemoryStore::new()).clock(&clock);
    let agent = agent.options(|options| options.approval_expiry = Some(Duration::from_hours(24)));
    let (written, guard) = Written::begin(Level::INFO);
    let mut session = agent.session();
    session.send("the prompt").await.unwrap();
    clock.advance(Duration::from_hours(25));
    assert_eq!(agent.sweep().await.unwrap(), 1);
    drop(guard);
    let expired = format!("WARN tool_runtime: nobody answered in time; it did not run {about}");
    assert_eq!(written.lines(session.id()), [waits, expired]);
}

#[tokio::test]
async fn the_end_of_a_run_before_its_time_is_a_line() {
    let two = || ScriptedModel::new([Turn::call("fetch", json!({"what": "a"})), Turn::say("never")]);
    let expected =
        "WARN tool_runtime: the run stopped: no steps are left (`Agent::max_steps` sets their number) run=\"R\"";
    assert_eq!(lines_of(Agent::new(two()).tools(tools()).max_steps(1)).await, [expected]);

    // The model cancels the run in its second turn, while a call of its first runs.
    let (written, guard) = Written::begin(Level::INFO);
    let agent = Agent::new(ScriptedModel::new([Turn::call("wait", json!({}))])).tools(toolset!(wait));
    let mut session = agent.session();
    let handle = session.handle();
    let canceller = WAITS.notified();
    let cancelling = async {
        canceller.await;
        handle.cancel();
    };
    let (done, ()) = tokio::join!(session.send("the prompt"), cancelling);
    assert!(matches!(done, Err(AgentError::Cancelled)), "{done:?}");
    drop(guard);
    let about = "run=\"R\" call=\"call_1_0\" tool=\"wait\"";
    let expected = [
        format!("INFO tool_runtime: the call was cancelled; it may have had effects {about}"),
        "INFO tool_runtime: the run stopped: the run was cancelled run=\"R\"".to_owned(),
    ];
    assert_eq!(written.lines(session.id()), expected);

    let full = Agent::new(ScriptedModel::new([Turn::say("hello")])).store(MemoryStore::new().max_bytes(300));
    let (lines, done) = log_of(full).await;
    assert!(matches!(done, Err(AgentError::Store(_))), "{done:?}");
    let expected = "ERROR tool_runtime: the run cannot go on: the store is full: delete runs, raise its limit, or use a store \
                    on disk run=\"R\"";
    assert_eq!(lines, [expected]);
}

static WAITS: tokio::sync::Notify = tokio::sync::Notify::const_new();

/// Waits for ever.
#[tool]
async fn wait() {
    WAITS.notify_one();
    std::future::pending::<()>().await;
}

/// After a takeover, the new driver writes the lines. The call that its last driver lost waits for a person, who leaves it.
#[tokio::test]
async fn the_next_driver_reports_a_lost_call() {
    let (store, clock) = (Arc::new(MemoryStore::new()), TestClock::new());
    let agent = |turn: Turn| {
        let agent = Agent::new(ScriptedModel::new([turn])).tools(toolset!(lose)).operator(Suspend);
        agent.store(store.clone()).clock(&clock)
    };
    let (written, guard) = Written::begin(Level::INFO);
    let mut session = agent(Turn::call("lose", json!({}))).session();
    tokio::select! {
        done = session.send("go") => panic!("{done:?}"),
        () = LOSES.notified() => {}
    }
    let id = session.id().clone();
    drop(session);
    clock.advance(Duration::from_hours(1));
    assert_eq!(written.text(), "", "the first driver is gone, and says nothing");
    let next = agent(Turn::say("ok"));
    let mut session = next.open(&id).await.unwrap();
    session.resume().await.unwrap();
    let lost = session.interrupts().next().unwrap().id.clone();
    next.decide(&id, &lost, Decision::deny("unknown"), "").await.unwrap();
    session.resume().await.unwrap();
    drop(guard);
    let about = "run=\"R\" call=\"call_1_0\" tool=\"lose\"";
    let expected = [
        format!("INFO tool_runtime: waiting for a decision: reconcile {about}"),
        format!("INFO tool_runtime: decided: deny {about}"),
        format!(
            "WARN tool_runtime: the program that ran the call was stopped, and its outcome is unknown; it may have had \
             effects {about}"
        ),
    ];
    assert_eq!(written.lines(&id), expected);
}

static LOSES: tokio::sync::Notify = tokio::sync::Notify::const_new();

/// Never ends.
#[tool]
async fn lose() {
    LOSES.notify_one();
    std::future::pending::<()>().await;
}

#[tokio::test]
async fn a_failure_inside_of_a_call_has_its_cause_once() {
    let inner = Agent::new(failing(1, || ModelError::new(ModelErrorKind::Refused, "no such model")));
    let tools = tool_runtime::Toolset::new().with(inner.as_tool("expert", "Asks an expert.")).unwrap();
    let model = ScriptedModel::new([Turn::call("expert", json!({"task": "think"})), Turn::say("sorry")]);
    let lines = lines_of(Agent::new(model).tools(tools)).await;
    let expected = [
        "ERROR tool_runtime: the model failed, and the run stopped: no such model run=\"call_1_0\" model=\"function\"",
        "WARN tool_runtime: the tool failed: the agent's model failed run=\"R\" call=\"call_1_0\" tool=\"expert\"",
    ];
    assert_eq!(lines, expected);
}

/// A text from outside cannot write lines of its own, and its length has a limit.
#[tokio::test]
async fn texts_from_outside_are_one_short_line() {
    let text = format!("no\n ERROR tool_runtime: forged\u{1b}[2J{}", "x".repeat(9_000));
    let agent = Agent::new(failing(1, move || ModelError::new(ModelErrorKind::Refused, text.clone())));
    let lines = lines_of(agent).await;
    let [line] = &lines[..] else { panic!("{lines:?}") };
    assert!(line.starts_with(
        "ERROR tool_runtime: the model failed, and the run stopped: no ERROR tool_runtime: forged\\u001b[2J"
    ));
    assert!(line.chars().count() < 650 && line.contains("x… run="), "{line}");
}

/// Neither the log at any level nor spans have contents, unless the application wants them.
#[tokio::test]
async fn secrets_and_contents_are_not_in_the_log() {
    let unreadable = || {
        ModelError::new(ModelErrorKind::Protocol, "an event is not a chunk")
            .with_excerpt("the half answer")
            .with_source(serde_json::from_str::<u8>("\"the other half\"").unwrap_err())
            .with_retry_after(Some(Duration::ZERO))
    };
    let agent = |shows: bool| {
        let turns = Turn::call("fetch", json!({"what": "the diary"}))
            .then_call("transfer", json!({}))
            .then_call("count", json!({"n": 77_777}))
            .then_reason("the thought");
        let first = failing(1, unreadable);
        let model = ScriptedModel::new([turns, Turn::say("the goodbye")]);
        let cx = Context::new("").with_secret("key", "k-123");
        Agent::new(first)
            .model_retries(0)
            .fallback(model)
            .tools(tools())
            .context(cx)
            .instructions("Be nice.")
            .trace_content(shows)
    };
    let contents = [
        "the prompt",
        "Be nice",
        "the diary",
        "the goodbye",
        "the thought",
        "77777",
        "the half answer",
        "the other half",
    ];
    for level in [Level::INFO, Level::TRACE] {
        for shows in [false, true] {
            let (written, guard) = Written::begin(level);
            assert!(matches!(agent(shows).run("the prompt").await, Ok(reply) if reply.text == "the goodbye"));
            drop(guard);
            let text = written.text();
            assert!(!text.contains("k-123"), "{text}");
            assert!(text.contains("no route with [redacted]") && text.contains("an event is not a chunk"), "{text}");
            for content in contents {
                let is_shown = shows && (level == Level::TRACE || content.contains("half"));
                assert!(text.contains(content) || !is_shown, "{level} lacks {content}: {text}");
                assert!(!text.contains(content) || shows, "{level} has {content}: {text}");
            }
        }
    }
}

#[tokio::test]
async fn a_conversation_without_failures_writes_nothing() {
    assert_eq!(lines_of(calling("fetch", json!({"what": "a"}))).await, [""; 0]);
    let approved = calling("pay", json!({"amount": 5})).observer(Events::new()).operator(Person::approving());
    let lines = lines_of(approved).await;
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines.iter().all(|line| line.len() < 120), "{lines:?}");
}

#[tokio::test]
async fn the_log_of_calls_has_those_that_were_dropped() {
    let entries = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&entries);
    let log = CallLog::new(move |entry| sink.lock().unwrap().push(entry.to_string()));
    let tools = tools().merge(toolset!(hang)).unwrap().layer(log);
    let slow = Turn::call("read_slowly", json!({})).then_call("write_slowly", json!({}));
    let turns = [slow, Turn::call("fetch", json!({"what": "a"})), Turn::call("hang", json!({}))];
    let agent = Agent::new(ScriptedModel::new(turns)).tools(tools);
    let mut session = agent.session();
    let handle = session.handle();
    let cancelling = async {
        HANGS.notified().await;
        handle.cancel();
    };
    let (done, ()) = tokio::join!(session.send("go"), cancelling);
    assert!(done.is_err());
    assert!(matches!(session.run().phase(), Phase::Stopped(StopReason::Cancelled)));
    let results: Vec<_> = session.run().calls().iter().filter_map(|call| call.result().map(CallResult::name)).collect();
    assert_eq!(results, ["timed_out", "timed_out", "succeeded", "cancelled"]);
    // A task that was aborted is dropped a little later.
    while entries.lock().unwrap().len() < 4 {
        tokio::task::yield_now().await;
    }
    let mut entries: Vec<String> = entries.lock().unwrap().clone();
    for entry in &mut entries {
        entry.truncate(entry.rfind(" (").unwrap());
    }
    entries[..2].sort();
    let expected = [
        "call_1_0 read_slowly failed: the tool did not answer within 0.02 s",
        "call_1_1 write_slowly failed: the tool did not answer within 0.02 s",
        "call_2_0 fetch ok",
        "call_3_0 hang failed: the call was cancelled",
    ];
    assert_eq!(entries, expected);
}

static HANGS: tokio::sync::Notify = tokio::sync::Notify::const_new();

/// Hangs.
#[tool]
async fn hang() {
    HANGS.notify_one();
    std::future::pending::<()>().await;
}
