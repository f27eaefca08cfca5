//! Tests at the limits of the server: an operator ends a run, a text or a log is long, a worker leaves. The worker is a process of
//! its own, as in production.

use std::{
    env,
    io::Read as _,
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
use tool_runtime::{
    Agent, AgentError, Message, Part, Toolset,
    agent::{Decision, Session, Suspend},
    model::{FunctionModel, Turn},
    run::{CallResult, InterruptKind, Phase, Refusal, RunId, StopReason},
    store::{Store as _, StoreError, WaitingFilter},
    tool, toolset,
};
use tool_temporal::TemporalStore;
use tool_test_kit::within;

use crate::service::address;

const QUEUE: &str = "TOOL_LIMITS_QUEUE";

/// Returns a text of this length.
#[tool(effect = read_only)]
fn fetch(
    /// The number of bytes.
    bytes: usize,
) -> String {
    "x".repeat(bytes)
}

/// Publishes a text.
#[tool(approval = always, effect = destructive)]
fn post(
    /// The text.
    text: String,
) -> String {
    format!("posted {} bytes", text.len())
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

/// Returns an agent whose prompts are a tool, an argument, the number of turns that call it, and the number of calls of each.
fn agent() -> Agent {
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
            "fetch" if made < turns * calls => {
                (0..calls).fold(Turn::default(), |turn, _| turn.then_call("fetch", json!({ "bytes": number })))
            }
            "post" if made == 0 => Turn::call("post", json!({ "text": "z".repeat(number) })),
            "work" if made == 0 => Turn::call("work", json!({ "ms": number })),
            _ => Turn::say(format!("done after {made} calls")),
        }
    });
    let tools: Toolset = toolset!(fetch, post, work);
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
    store.serve_until(|_| agent(), stop).await.unwrap();
}

/// A worker in a process of its own.
struct Worker(Child);

impl Worker {
    fn start(queue: &str) -> Self {
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(["limits::worker", "--exact", "--ignored"]).env(QUEUE, queue);
        Self(command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap())
    }

    /// Lets the worker end by itself.
    fn end(&mut self) {
        drop(self.0.stdin.take());
        assert!(self.0.wait().unwrap().success());
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn new_queue() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("limits-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// Returns an agent of this process, which drives nothing. One worker serves all tests that do not end it.
async fn front() -> Agent {
    static QUEUE: OnceLock<String> = OnceLock::new();
    let queue = QUEUE.get_or_init(|| {
        let queue = new_queue();
        // It ends with this process, because its standard input does.
        std::mem::forget(Worker::start(&queue));
        queue
    });
    front_of(queue).await
}

async fn front_of(queue: &str) -> Agent {
    agent().store(TemporalStore::connect(&address(), queue).await.unwrap())
}

/// Returns the handle with which an operator reaches the workflow of a run.
async fn workflow(run: &RunId) -> WorkflowHandle<Client, UntypedWorkflow> {
    let options = ConnectionOptions::new(address().parse::<url::Url>().unwrap()).build();
    let client = Client::new(Connection::connect(options).await.unwrap(), ClientOptions::new("default").build());
    client.unwrap().get_workflow_handle(format!("tool-run/{run}"))
}

/// Waits until a call of the run is in progress.
async fn call_in_progress(front: &Agent, run: &RunId) {
    let acts = async || {
        let opened = front.open(run).await;
        opened.is_ok_and(|session| session.run().phase() == Phase::Acting)
    };
    while !acts().await {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
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
    within(
        "a run",
        Box::pin(async {
            let front = front().await;
            let mut session = front.session();
            let id = session.id().clone();
            let sent =
                tokio::spawn(async move { (session.send("work 600000").await.map(|reply| reply.phase), session) });
            call_in_progress(&front, &id).await;
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
        }),
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_terminated_run_names_its_end_in_every_answer() {
    within(
        "a run",
        Box::pin(async {
            let front = front().await;
            let mut session = front.session();
            let id = session.id().clone();
            let sent = tokio::spawn(async move { (session.send("work 600000").await.map(drop), session) });
            call_in_progress(&front, &id).await;
            workflow(&id).await.terminate(WorkflowTerminateOptions::default()).await.unwrap();
            let (sent, mut session) = sent.await.unwrap();
            let store = front.run_store().unwrap().clone();
            let outcomes = [
                sent,
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
        }),
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn long_texts_are_stored_and_longer_ones_fail_once() {
    within(
        "a run",
        Box::pin(async {
            let front = front().await;
            let mut session = front.session();
            session.send("fetch 3000000").await.unwrap();
            session.send("fetch 5000000").await.unwrap();
            let results = results(&session);
            assert_eq!((results.len(), results[0].len()), (2, 3_000_000));
            let text = "failed: `fetch` ran, but its result has 5.0 MB, and the store takes at most 4.2 MB; it is lost";
            assert_eq!(results[1], text);
            assert_eq!(session.send("say 3000000").await.unwrap().text.len(), 3_000_000);
            let error = session.send("say 5000000").await.unwrap_err().to_string();
            assert!(error.contains("the model's turn has 5.0 MB, and the store takes at most 4.2 MB"), "{error}");
            let refused = session.send("p".repeat(5_000_000)).await.unwrap_err();
            assert!(matches!(&refused, AgentError::Refused(Refusal::LimitReached { .. })), "{refused}");
            // Arguments that wait for an approval are in the log several times.
            assert_eq!(session.send("post 1500000").await.unwrap().phase, Phase::Suspended);
            let (id, open) = (session.id().clone(), session.interrupts().next().unwrap().id.clone());
            assert_eq!(front.waiting(&WaitingFilter::new().in_run(id.clone())).await.unwrap().len(), 1);
            let mut all = WaitingFilter::new();
            all.limit = usize::MAX;
            while !front.waiting(&all).await.unwrap().iter().any(|item| item.run == id && item.interrupt.id == open) {}
            front.decide(&id, &open, Decision::Approve, "").await.unwrap();
            assert_eq!(session.resume().await.unwrap().phase, Phase::Finished);
            assert_eq!(self::results(&front.open(&id).await.unwrap())[2], "posted 1500000 bytes");
            // A run whose first prompt is refused is not there.
            let mut session = front.session();
            session.send("p".repeat(5_000_000)).await.unwrap_err();
            assert!(matches!(front.open(session.id()).await, Err(AgentError::Store(StoreError::NotFound))));
        }),
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_log_moves_to_new_executions_and_is_erased_whole() {
    within(
        "a run",
        Box::pin(async {
            let front = front().await;
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
        }),
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_ends_leaves_its_runs_to_another() {
    within(
        "a run",
        Box::pin(async {
            let queue = new_queue();
            let mut ends = Worker::start(&queue);
            let front = front_of(&queue).await;
            let mut session = front.session();
            let id = session.id().clone();
            let sent = tokio::spawn(async move { (session.send("work 3000").await, session) });
            call_in_progress(&front, &id).await;
            let mut stays = Worker::start(&queue);
            ends.end();
            let (sent, mut session) = sent.await.unwrap();
            assert_eq!(sent.unwrap().phase, Phase::Finished);
            // The call, which must not be repeated, ended in the first worker.
            assert_eq!(results(&session), ["worked"]);
            // A call that takes longer is lost, and a person is asked about it.
            let sent = tokio::spawn(async move { (session.send("work 600000").await, session) });
            call_in_progress(&front, &id).await;
            let _last = Worker::start(&queue);
            stays.end();
            let (sent, session) = sent.await.unwrap();
            assert_eq!(sent.unwrap().phase, Phase::Suspended);
            assert_eq!(session.interrupts().next().unwrap().kind, InterruptKind::Reconcile);
        }),
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_messages_at_once_reach_a_run_in_progress() {
    within(
        "a run",
        Box::pin(async {
            let front = front().await;
            let mut session = front.session();
            let id = session.id().clone();
            let sent = tokio::spawn(async move { (session.send("work 2000").await, session) });
            call_in_progress(&front, &id).await;
            let steered = join_all((0..60).map(|_| front.steer(&id, vec![Part::text("hello")], ""))).await;
            let accepted = steered.iter().filter(|steered| steered.is_ok()).count();
            let (sent, session) = sent.await.unwrap();
            assert_eq!(sent.unwrap().phase, Phase::Finished);
            // Those that came after the end are refused.
            assert!(
                steered.iter().all(|steered| matches!(steered, Ok(_) | Err(AgentError::Refused(_)))),
                "{steered:#?}"
            );
            let prompts = session.messages().iter().filter(|message| matches!(message, Message::User { .. })).count();
            assert!(accepted > 0 && prompts == accepted + 1, "{accepted} {prompts}");
        }),
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes"]
async fn a_drive_of_1100_turns_and_a_chat_of_3000_calls_pass() {
    let front = front().await;
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
    let front = front().await;
    let mut session = front.session();
    let id = session.id().clone();
    session.send("hello").await.unwrap();
    for title in 0..2100 {
        front.rename(&id, title.to_string(), "").await.unwrap();
    }
    assert_eq!(front.open(&id).await.unwrap().run().title(), Some("2099"));
    assert_eq!(session.send("fetch 3").await.unwrap().text, "done after 1 calls");
}
