//! Operators, sizes and lengths at which Restate ends, pauses or refuses something. No run hangs. The service is a process of its own,
//! as in production.

use std::{
    env,
    fs::{self, OpenOptions},
    io::Write as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tool_runtime::{
    Agent, AgentError, Message, Part, Toolset,
    agent::{Decision, Session, Suspend},
    model::{FunctionModel, Turn},
    run::{Call, InterruptKind, Phase, RunId, StopReason},
    store::{Store as _, StoreError, WaitingFilter},
    tool, toolset,
};
use tool_test_kit::{assert_idle, within};

use super::engine;
use crate::ALONE;

const EFFECTS: &str = "TOOL_LIMITS_EFFECTS";
const ADDRESS: &str = "TOOL_LIMITS_ADDRESS";

/// The file with the effects of the tools.
struct Effects(PathBuf);

impl Effects {
    fn add(&self, what: &str) {
        let mut file = OpenOptions::new().create(true).append(true).open(&self.0).unwrap();
        file.write_all(format!("{what}\n").as_bytes()).unwrap();
    }

    fn count(&self, what: &str) -> usize {
        fs::read_to_string(&self.0).unwrap().lines().filter(|line| *line == what).count()
    }

    /// Returns the file that ends the work of this name.
    fn end_of(&self, name: &str) -> PathBuf {
        self.0.with_extension(name)
    }
}

/// Returns a text.
#[tool(effect = read_only)]
async fn fetch(
    /// Its size in bytes.
    bytes: usize,
) -> String {
    "x".repeat(bytes)
}

/// Returns quotation marks, which the log escapes.
#[tool(effect = read_only)]
async fn quote(
    /// Their number.
    count: usize,
) -> String {
    "\"".repeat(count)
}

/// Works until the test ends it. A call must not be repeated.
#[tool]
async fn work(
    /// The name of the work.
    name: String,
    #[state] effects: &Effects,
) -> String {
    effects.add(&name);
    while !effects.end_of(&name).exists() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    "worked".to_owned()
}

fn tools(effects: &Path) -> Toolset {
    toolset!(Arc::new(Effects(effects.to_owned())); fetch, quote, work)
}

/// Returns the model's answer to the last prompt: `work NAME` calls that tool, `fetch COUNT BYTES` makes turns of one call each,
/// `all COUNT BYTES` makes them in one turn, `quote COUNT` calls that tool, and `say BYTES` is an answer of this size.
fn answer(messages: &[Message]) -> Turn {
    let prompt = messages.iter().rposition(|message| matches!(message, Message::User { .. })).unwrap();
    let Message::User { content } = &messages[prompt] else { unreachable!() };
    let words: Vec<&str> = content[0].as_text().unwrap().split(' ').take(4).collect();
    let number = |at: usize| words[at].parse::<usize>().unwrap();
    let made = messages[prompt..].iter().filter(|message| matches!(message, Message::Tool(_))).count();
    match words[0] {
        "work" if made == 0 => Turn::call("work", json!({ "name": words[1] })),
        "fetch" if made < number(1) => Turn::call("fetch", json!({ "bytes": number(2) })),
        "all" if made == 0 => {
            (0..number(1)).fold(Turn::default(), |turn, _| turn.then_call("fetch", json!({ "bytes": number(2) })))
        }
        "quote" if made == 0 => Turn::call("quote", json!({ "count": number(1) })),
        "say" => Turn::say("y".repeat(number(1))),
        _ => Turn::say("done"),
    }
}

/// The service, in a process of its own.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "started by the tests beside it"]
async fn service() {
    let effects = PathBuf::from(env::var_os(EFFECTS).unwrap());
    let agent = Agent::new(FunctionModel::new(|request| answer(request.messages))).tools(tools(&effects));
    let agent = agent.operator(Suspend).max_steps(10_000).options(|options| options.limits.calls = 100_000);
    let listener = TcpListener::bind(env::var(ADDRESS).unwrap()).await.unwrap();
    let end = Effects(effects).end_of("service");
    let has_ended = async move {
        while !end.exists() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    engine::connect().await.serve_until(listener, move |_| agent.clone(), has_ended).await;
}

/// The process of a service, at a new address.
struct Process {
    child: Child,
    effects: Effects,
}

impl Process {
    async fn start() -> Self {
        let address = engine::new_address().await;
        let (_, module) = module_path!().split_once("::").unwrap();
        let effects = env::temp_dir().join(format!("tool-limits-{}", address.replace(['.', ':'], "-")));
        let child = Command::new(env::current_exe().unwrap())
            .args(["--exact", &format!("{module}::service"), "--ignored"])
            .env(EFFECTS, &effects)
            .env(ADDRESS, &address)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let process = Self { child, effects: Effects(effects) };
        engine::announce(&address).await;
        process
    }

    /// Returns the agent of a process that drives no runs.
    async fn front(&self) -> Agent {
        let agent = Agent::new(FunctionModel::new(|_| Turn::say("never"))).tools(tools(&self.effects.0));
        let agent = agent.operator(Suspend).options(|options| options.limits.calls = 100_000);
        agent.max_steps(10_000).store(engine::connect().await)
    }

    /// Ends the work of this name, or the service.
    fn end(&self, name: &str) {
        fs::write(self.effects.end_of(name), "").unwrap();
    }

    fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
        for name in ["killed", "cancelled", "steered", "graceful", "service"] {
            let _ = fs::remove_file(self.effects.end_of(name));
        }
        let _ = fs::remove_file(&self.effects.0);
    }
}

/// Sends a request to the server's admin API.
fn admin(method: &str, path: &str, body: &Value) -> String {
    let url = format!("{}/{path}", env::var("ENGINE_ADMIN").unwrap());
    let headers = ["-H", "content-type: application/json", "-H", "accept: application/json"];
    let mut curl = Command::new("curl");
    curl.args(["-sS", "-X", method, &url]).args(headers).args(["-d", &body.to_string()]);
    String::from_utf8(curl.output().unwrap().stdout).unwrap()
}

fn query(sql: &str) -> Vec<Value> {
    let answer = admin("POST", "query", &json!({ "query": sql }));
    let answer: Value = serde_json::from_str(&answer).unwrap_or_else(|error| panic!("{error}: {answer}"));
    answer["rows"].as_array().unwrap().clone()
}

/// Returns the invocations of a run that have not ended.
fn open_invocations(run: &RunId) -> Vec<String> {
    let rows = query(&format!(
        "SELECT id FROM sys_invocation WHERE target_service_key = '{}' AND target_service_name = 'ToolDriver' AND status <> 'completed'",
        run.as_str()
    ));
    rows.iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect()
}

/// Ends the invocations of a run by `kill` or `cancel`, as an operator does.
fn end_invocations(run: &RunId, how: &str) {
    let open = open_invocations(run);
    assert!(!open.is_empty());
    for id in open {
        admin("PATCH", &format!("invocations/{id}/{how}"), &json!({}));
    }
}

/// Waits until a call of the run has begun.
async fn wait_for_call(front: &Agent, run: &RunId) {
    let has_begun = async || front.open(run).await.is_ok_and(|run| run.run().calls().iter().any(Call::may_have_run));
    while !has_begun().await {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Begins a run whose call works. Returns its id, and the result of the prompt with its session.
async fn begin_work(
    front: &Agent,
    name: &str,
) -> (RunId, impl Future<Output = (Result<Phase, AgentError>, Session)> + use<>) {
    let mut session = front.session();
    let (id, prompt) = (session.id().clone(), format!("work {name}"));
    let sent = tokio::spawn(async move { (session.send(prompt).await.map(|reply| reply.phase), session) });
    wait_for_call(front, &id).await;
    (id, async { within("the prompt", sent).await.unwrap() })
}

/// Checks that a run can be listed.
async fn assert_listed(front: &Agent, session: &Session) {
    let waiting = front.waiting(&WaitingFilter::new().in_run(session.id().clone())).await.unwrap();
    assert_eq!(waiting.len(), session.interrupts().count());
    let runs = front.run_store().unwrap().list(&front.owner(), 0..1000).await.unwrap();
    assert!(runs.iter().any(|item| item.run == *session.id()));
}

async fn a_killed_invocation_begins_again(process: &Process, front: &Agent) {
    let (id, sent) = begin_work(front, "killed").await;
    end_invocations(&id, "kill");
    let (phase, mut session) = sent.await;
    assert_eq!(phase.unwrap(), Phase::Suspended);
    assert_listed(front, &session).await;
    let open = session.interrupts().next().unwrap().clone();
    assert_eq!(open.kind, InterruptKind::Reconcile);
    front.decide(&id, &open.id, Decision::Respond { output: json!("yes") }, front.owner()).await.unwrap();
    assert_eq!(session.resume().await.unwrap().phase, Phase::Finished);
    assert_eq!(session.send("hello").await.unwrap().text, "done");
    assert_eq!(process.effects.count("killed"), 1, "no call is repeated");
}

async fn a_cancelled_invocation_cancels_its_run(process: &Process, front: &Agent) {
    let (id, sent) = begin_work(front, "cancelled").await;
    end_invocations(&id, "cancel");
    // The call runs to its end, whose result is kept.
    process.end("cancelled");
    let (phase, mut session) = sent.await;
    assert!(matches!(phase, Err(AgentError::Cancelled)), "{phase:?}");
    assert!(session.run().calls()[0].result().unwrap().is_success());
    assert_listed(front, &session).await;
    assert_eq!(session.send("hello").await.unwrap().text, "done");
}

async fn a_deleted_run_leaves_nothing_and_its_id_is_used_again(front: &Agent) {
    let id = RunId::from(format!("it's-{}", std::process::id()));
    let mut session = front.session_with_id(id.clone(), Vec::new());
    assert_eq!(session.send("fetch 3 10").await.unwrap().text, "done");
    let store = front.run_store().unwrap();
    assert!(store.delete(&id).await.unwrap());
    let key = id.as_str().replace('\'', "''");
    let left = async || {
        let journals = query(&format!(
            "SELECT j.id FROM sys_journal j JOIN sys_invocation i ON i.id = j.id WHERE i.target_service_key = '{key}'"
        ));
        journals.len() + query(&format!("SELECT key FROM state WHERE service_key = '{key}'")).len()
    };
    while left().await > 0 {
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let mut session = front.session_with_id(id, Vec::new());
    assert_eq!(session.send("hello").await.unwrap().text, "done");
    assert!(session.run().calls().is_empty());
}

async fn sixty_messages_at_once_reach_a_run(process: &Process, front: &Agent) {
    let (id, sent) = begin_work(front, "steered").await;
    let begun = Instant::now();
    let steered = stream::iter(0..60).map(|number| {
        let message = vec![Part::text(format!("hello {number}"))];
        front.steer(&id, message, front.owner())
    });
    let steered: Vec<_> = steered.buffer_unordered(60).collect().await;
    println!("60 messages in {:.1} s", begun.elapsed().as_secs_f64());
    assert!(steered.iter().all(Result::is_ok), "{:?}", steered.iter().find_map(|result| result.as_ref().err()));
    assert!(open_invocations(&id).len() <= 2, "at most one drive waits");
    process.end("steered");
    let (phase, session) = sent.await;
    assert_eq!(phase.unwrap(), Phase::Finished);
    let prompts = session.messages().iter().filter(|message| matches!(message, Message::User { .. })).count();
    assert_eq!(prompts, 61);
}

async fn a_fast_run_is_cancelled(front: &Agent) {
    let mut session = front.session();
    let id = session.id().clone();
    let sent = tokio::spawn(async move { session.send("fetch 9000 10").await.map(drop) });
    wait_for_call(front, &id).await;
    let begun = Instant::now();
    front.cancel(&id, front.owner()).await.unwrap();
    println!("cancelled in {:.1} s", begun.elapsed().as_secs_f64());
    let sent = sent.await.unwrap();
    assert!(matches!(sent, Err(AgentError::Cancelled)), "{sent:?}");
}

async fn what_is_too_large_is_a_recorded_failure(front: &Agent) {
    let mut session = front.session();
    // The texts that the log contains are twice as long in a message.
    assert_eq!(session.send("quote 2200000").await.unwrap().text, "done");
    assert_eq!(session.send("all 3 9000000").await.unwrap().text, "done");
    assert!(session.run().calls().iter().all(|call| call.result().unwrap().is_success()));
    assert_eq!(session.send("fetch 1 40000000").await.unwrap().text, "done");
    let failed = format!("{:?}", session.run().calls().last().unwrap().result());
    assert!(failed.contains("`fetch` ran, but its result is lost: 40.0 MB are too much for the store"), "{failed}");
    let cut = session.send("say 12000000").await.unwrap();
    assert!(matches!(cut.phase, Phase::Stopped(StopReason::TurnCut(_))), "{:?}", cut.phase);
    assert_eq!(session.send("hello").await.unwrap().text, "done");
    let mut session = front.session();
    let long = session.send("p".repeat(12_000_000)).await;
    let Err(AgentError::Store(error @ StoreError::TooLarge { .. })) = long else { panic!("it was stored") };
    assert!(error.to_string().starts_with("12.0 MB are too much for the store, which takes at most 9.1 MB"), "{error}");
    assert!(matches!(front.open(session.id()).await, Err(AgentError::Store(StoreError::NotFound))));
}

#[tokio::test(flavor = "multi_thread")]
async fn no_click_no_size_and_no_burst_hangs_a_run() {
    let _alone = ALONE.lock().await;
    let process = Process::start().await;
    let front = &process.front().await;
    within("a cancelled run", Box::pin(a_cancelled_invocation_cancels_its_run(&process, front))).await;
    assert_idle(process.child.id()).await;
    tokio::join!(
        within("a killed run", a_killed_invocation_begins_again(&process, front)),
        within("a deleted run", a_deleted_run_leaves_nothing_and_its_id_is_used_again(front)),
        within("a steered run", sixty_messages_at_once_reach_a_run(&process, front)),
        within("a fast run", a_fast_run_is_cancelled(front)),
        within("a large run", what_is_too_large_is_a_recorded_failure(front)),
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn processes_come_and_go() {
    let _alone = ALONE.lock().await;
    let mut first = Process::start().await;
    let front = first.front().await;
    let (_, sent) = begin_work(&front, "graceful").await;
    let mut second = Process::start().await;
    // The first process ends when its run is at rest.
    first.end("service");
    first.end("graceful");
    assert_eq!(sent.await.0.unwrap(), Phase::Finished);
    assert!(first.child.wait().unwrap().success());
    // The second process dies, and another one registers a new address.
    let (id, sent) = begin_work(&front, "moved").await;
    second.kill();
    let _third = Process::start().await;
    let (phase, mut session) = sent.await;
    let phase = match phase {
        // A request that was under way at the address that is gone fails. The run goes on without it.
        Err(AgentError::Store(StoreError::Unavailable(_))) => within("the run", session.resume()).await.unwrap().phase,
        phase => phase.unwrap(),
    };
    assert_eq!(phase, Phase::Suspended);
    front.cancel(&id, front.owner()).await.unwrap();
    assert_eq!(within("the next prompt", session.send("hello")).await.unwrap().text, "done");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes 20 seconds"]
async fn an_address_that_is_gone_is_an_error() {
    let _alone = ALONE.lock().await;
    let mut process = Process::start().await;
    let front = process.front().await;
    let mut session = front.session();
    session.send("hello").await.unwrap();
    process.kill();
    let id = session.id().clone();
    let (sent, opened, new) =
        tokio::join!(session.send("hello"), front.open(&id), async { front.session().send("hello").await });
    for error in [sent.map(drop), opened.map(drop), new.map(drop)] {
        let error = error.unwrap_err().to_string();
        assert!(error.contains("call `RestateStore::register` with the address of a process that serves"), "{error}");
    }
    assert!(query("SELECT id FROM sys_invocation WHERE status <> 'completed'").is_empty());
}

/// Holds conversations of this many prompts, each of which leads to `calls` calls with results of `bytes` bytes.
async fn converse(front: &Agent, prompts: usize, calls: usize, bytes: usize) {
    let mut session = front.session();
    for number in 0..prompts {
        let begun = Instant::now();
        let sent = within("a prompt", session.send(format!("fetch {calls} {bytes}"))).await;
        assert_eq!(sent.unwrap_or_else(|error| panic!("prompt {number}: {error}")).text, "done");
        println!("prompt {number}: {:.1} s", begun.elapsed().as_secs_f64());
    }
    let id = session.id();
    let begun = Instant::now();
    assert_eq!(front.open(id).await.unwrap().run().calls().len(), prompts * calls);
    println!("loaded in {:.2} s", begun.elapsed().as_secs_f64());
    front.run_store().unwrap().delete(id).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_of_more_than_32_megabytes_is_read() {
    let _alone = ALONE.lock().await;
    let process = Process::start().await;
    converse(&process.front().await, 3, 3, 4_000_000).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes: cargo test -p tool-engine-tests restate::limits -- --ignored 3000"]
async fn a_chat_of_3000_calls_passes() {
    let _alone = ALONE.lock().await;
    let process = Process::start().await;
    converse(&process.front().await, 100, 30, 10).await;
}
