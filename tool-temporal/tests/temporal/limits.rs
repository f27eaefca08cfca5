//! Tests at the limits of the server: an operator ends a run, a text or a log is long, a worker leaves. The worker is a process of
//! its own, as in production.

use std::{
    env,
    fs::{self, OpenOptions},
    io::{Read as _, Write as _},
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::{
        OnceLock,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use futures_util::future::join_all;
use serde_json::json;
use temporalio_client::{
    Client, ClientOptions, Connection, ConnectionOptions, UntypedWorkflow, WorkflowCancelOptions,
    WorkflowDescribeOptions, WorkflowHandle, WorkflowTerminateOptions, errors::WorkflowInteractionError,
};
use tokio::task::JoinHandle;
use tool_runtime::{
    Agent, AgentError, Message, Part, Toolset,
    agent::{Decision, Session, Suspend},
    model::{FunctionModel, Turn},
    run::{CallResult, InterruptKind, Phase, RunId, StopReason, SupersededBy},
    store::{Store as _, StoreError, WaitingFilter},
    tool, toolset,
};
use tool_temporal::TemporalStore;
use tool_test_kit::{assert_idle, within};

use crate::{service::address, store_hooks::Wrapped};

const QUEUE: &str = "TOOL_LIMITS_QUEUE";
const BUILD: &str = "TOOL_LIMITS_BUILD";

/// Returns a text of this length.
#[tool(effect = read_only)]
fn fetch(
    /// The number of bytes.
    bytes: usize,
) -> String {
    "x".repeat(bytes)
}

/// Returns quotation marks, each of which takes eight bytes in the history of the server.
#[tool(effect = read_only)]
fn quote(
    /// The number of bytes.
    bytes: usize,
) -> String {
    "\"".repeat(bytes)
}

/// Publishes a text.
#[tool(approval = always, effect = destructive)]
fn post(
    /// The text.
    text: String,
) -> String {
    let mut file = OpenOptions::new().create(true).append(true).open(posts(&env::var(QUEUE).unwrap())).unwrap();
    file.write_all(b"posted\n").unwrap();
    format!("posted {} bytes", text.len())
}

/// Publishes a text, as another build of [`post`] does.
#[tool(name = "post", approval = always, effect = destructive)]
fn post_of_build_2(
    /// The text.
    text: String,
    /// Its language.
    #[allow(unused_variables, reason = "it is new")]
    language: Option<String>,
) -> String {
    post(text)
}

/// Returns the file with a line for each post of the workers of a task queue.
fn posts(queue: &str) -> PathBuf {
    env::temp_dir().join(queue)
}

/// Works. A call must not be repeated.
#[tool]
async fn work(
    /// The time in milliseconds.
    ms: u64,
) -> String {
    tokio::time::sleep(Duration::from_millis(ms)).await;
    "worked".to_owned()
}

/// Returns the agent of a build. Its prompts are a tool, an argument, the number of turns that call it, and the number of calls of each.
fn agent(build: &str) -> Agent {
    let model = FunctionModel::new(|request| {
        let messages = request.messages;
        let last = messages.iter().rposition(|message| matches!(message, Message::User { .. })).unwrap();
        let Message::User { content } = &messages[last] else { unreachable!() };
        let mut words = content[0].as_text().unwrap().split(' ');
        let (tool, number) = (words.next().unwrap(), words.next().and_then(|word| word.parse::<usize>().ok()));
        let mut next = || words.next().map_or(1, |word| word.parse::<usize>().unwrap());
        let (number, turns, calls) = (number.unwrap_or(0), next(), next());
        let made = messages[last..].iter().filter(|message| matches!(message, Message::Tool(_))).count();
        match tool {
            "say" => Turn::say("y".repeat(number)),
            "fetch" | "quote" if made < turns * calls => {
                (0..calls).fold(Turn::default(), |turn, _| turn.then_call(tool, json!({ "bytes": number })))
            }
            "post" if made == 0 => Turn::call("post", json!({ "text": "z".repeat(number) })),
            "work" if made == 0 => Turn::call("work", json!({ "ms": number })),
            _ => Turn::say(format!("done after {made} calls")),
        }
    });
    let tools: Toolset = toolset!(fetch, quote, work);
    let tools = tools.merge(if build == "1" { toolset!(post) } else { toolset!(post_of_build_2) }).unwrap();
    Agent::new(model).tools(tools).operator(Suspend).max_steps(10_000)
}

/// The worker, in a process of its own. It ends when its standard input does.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "started by the tests beside it"]
async fn worker() {
    let store = TemporalStore::connect(&address(), env::var(QUEUE).unwrap()).await.unwrap();
    let stop = async {
        let _ = tokio::task::spawn_blocking(|| std::io::stdin().read(&mut [0])).await;
    };
    let build = env::var(BUILD).unwrap();
    store.serve_until(move |_| agent(&build), stop).await.unwrap();
}

/// A worker in a process of its own.
struct Worker {
    process: Child,
    queue: String,
}

impl Worker {
    /// Starts a worker of this build with a task queue of its own.
    fn start() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        Self::start_build("1", &format!("limits-{}-{number}", std::process::id()))
    }

    /// Starts another worker with the task queue of this one.
    fn start_another(&self, build: &str) -> Self {
        Self::start_build(build, &self.queue)
    }

    fn start_build(build: &str, queue: &str) -> Self {
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(["limits::worker", "--exact", "--ignored"]).env(QUEUE, queue).env(BUILD, build);
        let process = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        Self { process, queue: queue.to_owned() }
    }

    /// Returns an agent of this process, which drives nothing.
    async fn front(&self) -> Agent {
        agent("1").store(TemporalStore::connect(&address(), &self.queue).await.unwrap())
    }

    /// Lets the worker end by itself.
    fn end(&mut self) {
        drop(self.process.stdin.take());
        assert!(self.process.wait().unwrap().success());
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Runs `test` with a worker of its own, and an agent that drives nothing.
async fn with_worker(test: impl AsyncFnOnce(Worker, Agent)) {
    let worker = Worker::start();
    let front = worker.front().await;
    within("a run", Box::pin(test(worker, front))).await;
}

/// Runs `test` with an agent that drives nothing. One worker serves all these tests.
async fn with_front(test: impl AsyncFnOnce(Agent)) {
    static WORKER: OnceLock<Worker> = OnceLock::new();
    // It ends with this process, because its standard input does.
    let front = WORKER.get_or_init(Worker::start).front().await;
    within("a run", Box::pin(test(front))).await;
}

/// Returns the handle with which an operator reaches the workflow of a run.
async fn workflow(run: &RunId) -> WorkflowHandle<Client, UntypedWorkflow> {
    let options = ConnectionOptions::new(address().parse::<url::Url>().unwrap()).build();
    let client = Client::new(Connection::connect(options).await.unwrap(), ClientOptions::new("default").build());
    client.unwrap().get_workflow_handle(format!("tool-run/{run}"))
}

/// Waits until a call of the run is in progress.
async fn wait_for_call(front: &Agent, run: &RunId) {
    let acts = async || {
        let opened = front.open(run).await;
        opened.is_ok_and(|session| session.run().phase() == Phase::Acting)
    };
    while !acts().await {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Sends a prompt that leads to a call, and waits until the call is in progress. Returns the run's id, and the end of the prompt.
async fn begin(mut session: Session, prompt: &str) -> (RunId, JoinHandle<(Result<Phase, AgentError>, Session)>) {
    let (front, id, prompt) = (session.agent().clone(), session.id().clone(), prompt.to_owned());
    let sent = tokio::spawn(async move { (session.send(prompt).await.map(|reply| reply.phase), session) });
    wait_for_call(&front, &id).await;
    (id, sent)
}

fn results(session: &Session) -> Vec<String> {
    let text = |result: &CallResult| match result {
        CallResult::Succeeded { output } => output.text(),
        CallResult::Failed { error, .. } => format!("failed: {error}"),
        other => format!("{other:?}"),
    };
    session.run().calls().iter().map(|call| call.result().map_or_else(String::new, text)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_who_cancels_a_workflow_cancels_its_run() {
    with_worker(async |worker, front| {
        let (id, sent) = begin(front.session(), "work 600000").await;
        workflow(&id).await.cancel(WorkflowCancelOptions::default()).await.unwrap();
        let (sent, mut session) = sent.await.unwrap();
        assert!(matches!(sent, Err(AgentError::Cancelled)), "{sent:?}");
        assert_eq!(front.open(&id).await.unwrap().run().phase(), Phase::Stopped(StopReason::Cancelled));
        // The worker goes on with other runs, and with this one.
        assert_eq!(front.session().send("hello").await.unwrap().text, "done after 0 calls");
        assert_eq!(session.send("fetch 3").await.unwrap().text, "done after 1 calls");
        // The second cancellation of a run is like the first one, also while the run waits.
        assert_eq!(session.send("post 3").await.unwrap().phase, Phase::Suspended);
        workflow(&id).await.cancel(WorkflowCancelOptions::default()).await.unwrap();
        while session.run().interrupts().next().is_some() {
            session = front.open(&id).await.unwrap();
        }
        assert_eq!(session.run().phase(), Phase::Stopped(StopReason::Cancelled));
        assert_eq!(session.send("hello").await.unwrap().phase, Phase::Finished);
        assert_idle(worker.process.id()).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_id_of_a_deleted_run_is_used_again_with_two_workers() {
    with_worker(async |worker, front| {
        let _other = worker.start_another("1");
        let id = RunId::from(worker.queue.as_str());
        // Either worker may have the workflow and the drives of each of these runs.
        for calls in [5, 3, 1, 4, 2] {
            let mut session = front.session_with_id(id.clone(), Vec::new());
            let text = format!("done after {calls} calls");
            assert_eq!(session.send(format!("fetch 3 {calls}")).await.unwrap().text, text);
            assert_eq!(results(&front.open(&id).await.unwrap()).len(), calls);
            assert!(front.run_store().unwrap().delete(&id).await.unwrap());
            // The server erases in the background.
            while !matches!(front.open(&id).await, Err(AgentError::Store(StoreError::NotFound))) {}
        }
    })
    .await;
}

/// Approves the post of a run that waits. Returns whether it was made; otherwise, the model has read that the tool has changed.
async fn is_posted(front: &Agent, mut session: Session) -> bool {
    let open = session.interrupts().next().unwrap().id.clone();
    front.decide(session.id(), &open, Decision::Approve, "").await.unwrap();
    assert_eq!(session.resume().await.unwrap().text, "done after 1 calls");
    match session.run().calls()[0].result() {
        Some(CallResult::Succeeded { .. }) => true,
        Some(CallResult::Superseded { by: SupersededBy::ToolChanged }) => false,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_builds_at_once_run_no_call_that_was_approved_for_the_other() {
    with_worker(async |mut old, front| {
        let begin = async || {
            let mut session = front.session();
            assert_eq!(session.send("post 3").await.unwrap().phase, Phase::Suspended);
            session
        };
        let waiting = join_all((0..5).map(|_| begin())).await;
        let new = old.start_another("2");
        let (mut waiting, mut posted) = (waiting.into_iter(), 0);
        let last = waiting.next().unwrap();
        for session in waiting {
            posted += usize::from(is_posted(&front, session).await);
        }
        old.end();
        assert!(!is_posted(&front, last).await);
        assert_eq!(fs::read_to_string(posts(&new.queue)).unwrap_or_default().lines().count(), posted);
        let _ = fs::remove_file(posts(&new.queue));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminated_run_names_its_end_in_every_answer() {
    with_front(async |front| {
        let (id, sent) = begin(front.session(), "work 600000").await;
        workflow(&id).await.terminate(WorkflowTerminateOptions::default()).await.unwrap();
        let (sent, mut session) = sent.await.unwrap();
        let store = front.run_store().unwrap().clone();
        let outcomes = [
            sent.map(drop),
            session.resume().await.map(drop),
            session.send("hello").await.map(drop),
            front.open(&id).await.map(drop),
            front.cancel(&id, "").await.map(drop),
            front.waiting(&WaitingFilter::new().in_run(id.clone())).await.map(drop),
        ];
        for outcome in outcomes {
            let error = outcome.unwrap_err();
            assert!(matches!(&error, AgentError::Store(StoreError::Ended(_))), "{error:?}");
            let text = format!("an operator has ended this run: its workflow `tool-run/{id}` was terminated");
            assert!(error.to_string().starts_with(&text), "{error}");
        }
        // The server's list may be a moment behind.
        let title = async || {
            let listed = store.list(&front.owner(), 0..usize::MAX).await.unwrap();
            listed.into_iter().find(|item| item.run == id).and_then(|item| item.title)
        };
        while title().await.as_deref() != Some("work 600000 (ended by an operator)") {}
        assert!(store.delete(&id).await.unwrap());
        // The server erases in the background.
        while !matches!(front.open(&id).await, Err(AgentError::Store(StoreError::NotFound))) {}
        let mut again = front.session_with_id(id, Vec::new());
        assert_eq!(again.send("hello").await.unwrap().phase, Phase::Finished);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn long_texts_are_stored_and_longer_ones_fail_once() {
    with_front(async |front| {
        let mut session = front.session();
        // Together, these results are longer than an append.
        session.send("fetch 3000000 1 3").await.unwrap();
        session.send("fetch 9000000").await.unwrap();
        let results = results(&session);
        assert!(results.len() == 4 && results[..3].iter().all(|result| result.len() == 3_000_000));
        let text = "failed: `fetch` ran, but its result is lost: 9.0 MB are too much for the store, which takes at most 7.3 MB at once";
        assert_eq!(results[3], text);
        assert_eq!(session.send("say 3000000").await.unwrap().text.len(), 3_000_000);
        let cut = session.send("say 5000000").await.unwrap().phase;
        assert!(matches!(cut, Phase::Stopped(StopReason::TurnCut(_))), "{cut:?}");
        let refused = session.send("p".repeat(9_000_000)).await.unwrap_err().to_string();
        assert_eq!(refused, "9.0 MB are too much for the store, which takes at most 7.3 MB at once");
        // Arguments that wait for an approval are in the log several times.
        let mut session = front.session();
        assert_eq!(session.send("post 1500000").await.unwrap().phase, Phase::Suspended);
        let (id, open) = (session.id().clone(), session.interrupts().next().unwrap().id.clone());
        assert_eq!(front.waiting(&WaitingFilter::new().in_run(id.clone())).await.unwrap().len(), 1);
        let mut all = WaitingFilter::new();
        all.limit = usize::MAX;
        while !front.waiting(&all).await.unwrap().iter().any(|item| item.run == id && item.interrupt.id == open) {}
        front.decide(&id, &open, Decision::Approve, "").await.unwrap();
        assert_eq!(session.resume().await.unwrap().phase, Phase::Finished);
        assert_eq!(self::results(&front.open(&id).await.unwrap())[0], "posted 1500000 bytes");
        // A run whose first prompt is refused is not there.
        let mut session = front.session();
        session.send("p".repeat(9_000_000)).await.unwrap_err();
        assert!(matches!(front.open(session.id()).await, Err(AgentError::Store(StoreError::NotFound))));
        assert_eq!(session.send("p".repeat(3_000_000)).await.unwrap().phase, Phase::Finished);
        // The server takes less with the beginning of a run, which may have messages already.
        let mut session = front.session_with_id(front.session().id().clone(), vec![Message::user("p".repeat(2_000_000))]);
        let refused = session.send("hello").await.unwrap_err().to_string();
        assert_eq!(refused, "2.0 MB are too much for the store, which takes at most 2.0 MB at once");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_log_moves_to_new_executions_and_is_erased_whole() {
    with_front(async |front| {
        let mut session = front.session();
        let id = session.id().clone();
        session.send("hello").await.unwrap();
        let run_id = async || {
            let found = workflow(&id).await.describe(WorkflowDescribeOptions::default()).await;
            found.map(|found| found.run_id().to_owned())
        };
        let first = run_id().await.unwrap();
        // The log has 9 MB, and the history as many. The server suggests another execution at 4 MB.
        assert_eq!(session.send("fetch 30000 300").await.unwrap().text, "done after 300 calls");
        assert_ne!(run_id().await.unwrap(), first);
        let mut opened = front.open(&id).await.unwrap();
        assert_eq!(results(&opened), vec!["x".repeat(30_000); 300]);
        assert_eq!(opened.send("fetch 3").await.unwrap().text, "done after 1 calls");
        assert!(front.run_store().unwrap().delete(&id).await.unwrap());
        // The server erases in the background.
        while !matches!(run_id().await, Err(WorkflowInteractionError::NotFound(_))) {}
        assert!(matches!(front.open(&id).await, Err(AgentError::Store(StoreError::NotFound))));
        let mut again = front.session_with_id(id.clone(), Vec::new());
        assert_eq!(again.send("fetch 3").await.unwrap().text, "done after 1 calls");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_ends_leaves_its_runs_to_another() {
    with_worker(async |mut ends, front| {
        let (_, sent) = begin(front.session(), "work 1000").await;
        let mut stays = ends.start_another("1");
        ends.end();
        let (sent, session) = sent.await.unwrap();
        assert_eq!(sent.unwrap(), Phase::Finished);
        // The call, which must not be repeated, ended in the first worker.
        assert_eq!(results(&session), ["worked"]);
        // A call that takes longer is lost, and a person is asked about it.
        let (_, sent) = begin(session, "work 600000").await;
        let _last = stays.start_another("1");
        stays.end();
        let (sent, session) = sent.await.unwrap();
        assert_eq!(sent.unwrap(), Phase::Suspended);
        assert_eq!(session.interrupts().next().unwrap().kind, InterruptKind::Reconcile);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_messages_at_once_reach_a_run_in_progress() {
    with_front(async |front| {
        let (id, sent) = begin(front.session(), "work 2000").await;
        let steered = join_all((0..60).map(|_| front.steer(&id, vec![Part::text("hello")], ""))).await;
        let accepted = steered.iter().filter(|steered| steered.is_ok()).count();
        let (sent, session) = sent.await.unwrap();
        assert_eq!(sent.unwrap(), Phase::Finished);
        // Those that came after the end are refused.
        assert!(steered.iter().all(|steered| matches!(steered, Ok(_) | Err(AgentError::Refused(_)))), "{steered:#?}");
        let prompts = session.messages().iter().filter(|message| matches!(message, Message::User { .. })).count();
        assert!(accepted > 0 && prompts == accepted + 1, "{accepted} {prompts}");
    })
    .await;
}

/// The run appends many times between the moment when the process has loaded it and the moment when its append arrives.
#[tokio::test(flavor = "multi_thread")]
async fn a_slow_process_stops_a_fast_run() {
    with_front(async |front| {
        let (id, sent) = begin(front.session(), "fetch 1 1000").await;
        let slow = Wrapped::new(front.run_store().unwrap()).before_append(|_| {
            Box::pin(async {
                tokio::time::sleep(Duration::from_millis(300)).await;
                Ok(())
            })
        });
        front.clone().store(slow.shared()).stop(&id, "").await.unwrap();
        let (sent, session) = sent.await.unwrap();
        assert_eq!(sent.unwrap(), Phase::Stopped(StopReason::Requested));
        let calls = session.run().calls().len();
        assert!(calls < 200, "the run went on for {calls} calls");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes a minute"]
async fn a_step_never_fills_the_history_of_an_execution() {
    with_front(async |front| {
        // The server terminates a workflow whose history has 50 MB. The results of this turn have 82 MB there.
        let mut session = front.session();
        assert_eq!(session.send("quote 1700000 1 6").await.unwrap().text, "done after 6 calls");
        assert_eq!(results(&session), vec!["\"".repeat(1_700_000); 6]);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes"]
async fn a_drive_of_1100_turns_and_a_chat_of_3000_calls_pass() {
    let worker = Worker::start();
    let front = worker.front().await;
    let mut session = front.session();
    let id = session.id().clone();
    let begun = std::time::Instant::now();
    assert_eq!(session.send("fetch 10 1100").await.unwrap().text, "done after 1100 calls");
    println!("1,100 turns of one call: {:?}", begun.elapsed());
    for prompt in 0..64 {
        assert_eq!(session.send("fetch 10 3 10").await.unwrap().text, "done after 30 calls");
        if prompt % 16 == 0 {
            println!("{} calls: {:?}", session.run().calls().len(), begun.elapsed());
        }
    }
    assert_eq!(results(&front.open(&id).await.unwrap()), vec!["x".repeat(10); 3020]);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes"]
async fn an_idle_run_takes_more_changes_than_an_execution_takes_updates() {
    let worker = Worker::start();
    let front = worker.front().await;
    let mut session = front.session();
    let id = session.id().clone();
    session.send("hello").await.unwrap();
    for title in 0..2100 {
        front.rename(&id, title.to_string(), "").await.unwrap();
    }
    assert_eq!(front.open(&id).await.unwrap().run().title(), Some("2099"));
    assert_eq!(session.send("fetch 3").await.unwrap().text, "done after 1 calls");
}
