//! Tests of runs that an engine keeps: it has a journal and notifications of its own, and gives no leases.

use std::{
    ops::Range,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::{
    future::BoxFuture,
    stream::{self, BoxStream, StreamExt as _},
};
use serde_json::json;
use tokio::sync::{Semaphore, watch};
use tool_run::run::{LogInput, advance};
use tool_runtime::{
    Agent, AgentError, Context, Failure, Message, Part,
    agent::{Decision, EventKind, Session, Suspend},
    message::AssistantPart,
    model::{Delta, FinishReason, FunctionModel, ScriptedModel, Turn},
    run::{OnPrompt, Phase, Principal, Prompt, RunId, StopReason, Timestamp},
    store::{
        Append, Keeper, Lease, LogLength, LogLengths, MemoryStore, Record, RunItem, Store, StoreError, StoredRun,
        WaitingFilter, WaitingItem,
    },
    test::{Events, Person},
    tool, toolset,
};

use crate::kit::{Effects, agent, payments, tool_results, tools, wait_until};

type Promise<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

/// An engine in memory. It gives no leases, and needs no sweeps.
#[derive(Clone)]
struct Engine {
    shared: Arc<Shared>,
    /// Set in the process in which runs are driven.
    drives: bool,
    /// Set if each wait for entries of others ends at once, although there are none.
    is_restless: bool,
    /// The maximum size of an append's text.
    max_bytes: usize,
    /// Set if a drive ends before the second request to the model.
    ends_drives: bool,
}

#[derive(Default)]
struct Shared {
    log: MemoryStore,
    /// Changes with each append of any process.
    added: watch::Sender<()>,
    lengths: LogLengths,
    /// The number of drives that have begun.
    drives: AtomicUsize,
    /// The times at which the run must be resumed, one of each append.
    wakes: Mutex<Vec<Option<Timestamp>>>,
}

impl Engine {
    fn new() -> Arc<Self> {
        let shared = Arc::default();
        Arc::new(Self { shared, drives: true, is_restless: false, max_bytes: usize::MAX, ends_drives: false })
    }

    /// Returns the engine as another process uses it.
    fn elsewhere(&self) -> Arc<dyn Store> {
        Arc::new(Self { drives: false, ..self.clone() })
    }

    /// Drives the runs that are due, one after the other, after each append.
    async fn serve(self: Arc<Self>, agent: Agent) {
        let mut added = self.shared.added.subscribe();
        loop {
            for run in self.shared.log.due(Timestamp(0), 64).await.unwrap() {
                let _ = agent.open(&run).await.unwrap().resume().await;
            }
            added.changed().await.unwrap();
        }
    }
}

/// The keeper of one run.
struct EngineKeeper {
    run: RunId,
    engine: Engine,
    length: Arc<LogLength>,
    has_appended: bool,
}

impl Keeper for EngineKeeper {
    fn append(&mut self, append: Append) -> Promise<'_, ()> {
        assert_eq!(append.lease, None);
        assert!(append.text.len() <= self.engine.max_bytes, "{} bytes", append.text.len());
        self.has_appended = true;
        Box::pin(async move {
            let due = append.head.due_at();
            self.engine.append(&self.run, append).await?;
            self.engine.shared.wakes.lock().unwrap().push(due);
            Ok(())
        })
    }

    fn read(&mut self, known: u64) -> Promise<'_, Vec<Record>> {
        self.engine.read(&self.run, known)
    }

    fn wait(&mut self, known: u64, _: bool) -> BoxFuture<'static, ()> {
        if self.engine.is_restless {
            return Box::pin(async {});
        }
        let added = Arc::clone(&self.length).wait_for_more_than(known);
        Box::pin(async move {
            added.await;
        })
    }

    fn drives(&self) -> bool {
        self.engine.drives
    }

    fn max_append_bytes(&self) -> usize {
        self.engine.max_bytes
    }

    fn ends_drive(&self) -> bool {
        self.engine.ends_drives && self.has_appended
    }
}

impl Store for Engine {
    fn append<'a>(&'a self, run: &'a RunId, append: Append) -> Promise<'a, ()> {
        let length = append.expected + append.count;
        Box::pin(async move {
            self.shared.log.append(run, append).await?;
            self.shared.lengths.report(run, length);
            self.shared.added.send_replace(());
            Ok(())
        })
    }

    fn load<'a>(&'a self, run: &'a RunId) -> Promise<'a, Option<StoredRun>> {
        self.shared.log.load(run)
    }

    fn read<'a>(&'a self, run: &'a RunId, rev: u64) -> Promise<'a, Vec<Record>> {
        self.shared.log.read(run, rev)
    }

    fn save_snapshot<'a>(&'a self, _: &'a RunId, _: u64, _: String) -> Promise<'a, ()> {
        panic!("an engine stores no snapshots")
    }

    fn lease<'a>(&'a self, _: &'a RunId, _: &'a str, _: Timestamp, _: Duration) -> Promise<'a, Lease> {
        panic!("the engine needs no lease")
    }

    fn release<'a>(&'a self, _: &'a RunId, _: &'a Lease) -> Promise<'a, ()> {
        panic!("the engine needs no lease")
    }

    fn waiting<'a>(&'a self, filter: &'a WaitingFilter) -> Promise<'a, Vec<WaitingItem>> {
        self.shared.log.waiting(filter)
    }

    fn due(&self, _: Timestamp, _: usize) -> Promise<'_, Vec<RunId>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn list<'a>(&'a self, owner: &'a Principal, page: Range<usize>) -> Promise<'a, Vec<RunItem>> {
        self.shared.log.list(owner, page)
    }

    fn delete<'a>(&'a self, run: &'a RunId) -> Promise<'a, bool> {
        Box::pin(async move {
            let was_there = self.shared.log.delete(run).await?;
            self.shared.lengths.report(run, u64::MAX);
            Ok(was_there)
        })
    }

    fn publish(&self, run: &RunId, piece: String) {
        self.shared.log.publish(run, piece);
    }

    fn pieces(&self, run: &RunId) -> Option<BoxStream<'static, String>> {
        self.shared.log.pieces(run)
    }

    fn watch_readers(&self, run: &RunId) -> Option<BoxStream<'static, bool>> {
        self.shared.log.watch_readers(run)
    }

    fn keeper(&self, run: &RunId) -> Option<Box<dyn Keeper>> {
        let length = self.shared.lengths.of(run);
        self.shared.drives.fetch_add(usize::from(self.drives), Ordering::Relaxed);
        Some(Box::new(EngineKeeper { run: run.clone(), engine: self.clone(), length, has_appended: false }))
    }
}

#[tokio::test]
async fn a_run_is_driven_approved_and_resumed_without_leases() {
    let (engine, effects) = (Engine::new(), Effects::new());
    let store: Arc<dyn Store> = engine.clone();
    let agent = agent(&store, tools(&effects), [payments(&[5]), Turn::say("paid it")]);
    let mut session = agent.session();
    assert_eq!(session.send("go").await.unwrap().phase, Phase::Suspended);
    let open = session.interrupts().next().unwrap().id.clone();
    agent.decide(session.id(), &open, Decision::Approve, "").await.unwrap();
    // The session does not know of the decision yet. Its first append would conflict, but it reads before.
    assert_eq!(session.resume().await.unwrap().text, "paid it");
    assert_eq!(effects.all(), ["pay 5 to Ann"]);
    assert_eq!(agent.sweep().await.unwrap(), 0);
}

#[tokio::test]
async fn each_append_carries_the_time_at_which_the_run_must_be_resumed() {
    let (engine, effects) = (Engine::new(), Effects::new());
    let store: Arc<dyn Store> = engine.clone();
    let agent = agent(&store, tools(&effects), [payments(&[5]), Turn::say("never")]);
    let agent = agent.options(|options| options.approval_expiry = Some(Duration::from_hours(1)));
    let mut session = agent.session();
    session.send("go").await.unwrap();
    let since = session.interrupts().next().unwrap().opened_at;
    let wakes = engine.shared.wakes.lock().unwrap().clone();
    // While the run goes on by itself, it must be resumed at once. Then it waits for a person, and for the hour.
    assert!(wakes.contains(&Some(Timestamp(0))), "{wakes:?}");
    assert_eq!(wakes.last(), Some(&Some(since.saturating_add(Duration::from_hours(1)))));
}

/// Waits until the other payment was made.
#[tool]
async fn watch_payment(#[state] effects: &Effects) -> String {
    while effects.count("pay 5 to Ann") == 0 {
        tokio::task::yield_now().await;
    }
    "it was made".to_owned()
}

#[tokio::test(start_paused = true)]
async fn a_decision_reaches_the_driver_by_notification_alone() {
    let (engine, effects) = (Engine::new(), Effects::new());
    let store: Arc<dyn Store> = engine.clone();
    let tools = tools(&effects).merge(toolset!(Arc::clone(&effects); watch_payment)).unwrap();
    let agent = agent(&store, tools, [payments(&[5]).then_call("watch_payment", "{}"), Turn::say("done")]);
    let mut session = agent.session();
    let (id, decider) = (session.id().clone(), agent.clone());
    let started = tokio::time::Instant::now();
    let decided = tokio::spawn(async move {
        loop {
            if let Some(item) = decider.waiting(&WaitingFilter::new().in_run(id.clone())).await.unwrap().pop() {
                return decider.decide(&id, &item.interrupt.id, Decision::Approve, "").await.unwrap();
            }
            tokio::task::yield_now().await;
        }
    });
    assert_eq!(session.send("go").await.unwrap().phase, Phase::Finished);
    decided.await.unwrap();
    // No timer has fired: the paused clock would have moved.
    assert_eq!(started.elapsed(), Duration::ZERO);
}

#[tokio::test]
async fn entries_that_another_process_added_first_are_read() {
    let (engine, effects) = (Engine::new(), Effects::new());
    let store: Arc<dyn Store> = engine.clone();
    let agent = agent(&store, tools(&effects), [payments(&[5]), Turn::say("paid it")]);
    let mut session = agent.session();
    session.send("go").await.unwrap();
    let id = session.id().clone();
    let open = session.interrupts().next().unwrap().id.clone();
    // Between the session's reading and its append, another process adds a title.
    let other = agent.clone();
    session.decide(&open, Decision::Approve, "").await.unwrap();
    session.before_next_effect(async move {
        other.rename(&id, "Payments", "").await?;
        Ok(())
    });
    assert_eq!(session.resume().await.unwrap().text, "paid it");
    assert_eq!((session.run().title(), effects.count("pay 5 to Ann")), (Some("Payments"), 1));
}

/// Hangs.
#[tool(timeout = "10ms", effect = read_only)]
async fn hang_briefly() {
    std::future::pending::<()>().await;
}

#[tokio::test]
async fn a_keeper_that_never_rests_starves_nothing() {
    let effects = Effects::new();
    let store: Arc<dyn Store> = Arc::new(Engine { is_restless: true, ..Engine::clone(&Engine::new()) });
    let turns =
        [payments(&[5]).then_call("look", json!({"what": "up"})).then_call("hang_briefly", "{}"), Turn::say("done")];
    let tools = tools(&effects).merge(toolset!(hang_briefly)).unwrap();
    // The operator answers, calls run and check, a time limit ends, and the model is asked.
    let agent = agent(&store, tools, turns).operator(Person::approving());
    let mut session = agent.session();
    let sent = tokio::time::timeout(Duration::from_secs(30), session.send("go"));
    assert_eq!(sent.await.expect("the run starves").unwrap().text, "done");
    let ok: Vec<bool> = session.run().calls().iter().map(|call| call.result().unwrap().is_success()).collect();
    assert_eq!((ok, effects.count("pay 5 to Ann")), (vec![true, true, false], 1));
}

/// Returns a text.
#[tool(effect = read_only)]
fn fetch(
    /// Its size.
    bytes: usize,
) -> String {
    "x".repeat(bytes)
}

#[tokio::test]
async fn a_keeper_s_limit_on_appends_ends_no_run() {
    let store: Arc<dyn Store> = Arc::new(Engine { max_bytes: 8000, ..Engine::clone(&Engine::new()) });
    let fetch_all = |sizes: &[usize]| {
        sizes.iter().fold(Turn::default(), |turn, bytes| turn.then_call("fetch", json!({ "bytes": bytes })))
    };
    let turns =
        [fetch_all(&[6000, 6000, 9000, 6000]), Turn::say("done"), Turn::say("y".repeat(20_000)), Turn::say("short")];
    let mut session = agent(&store, toolset!(fetch), turns).session();
    assert_eq!(session.send("go").await.unwrap().text, "done");
    let results = tool_results(&session);
    assert_eq!([0, 1, 3].map(|at| results[at].len()), [6000; 3]);
    assert_eq!(
        results[2],
        "`fetch` ran, but its result is lost: 9015 bytes are too much for the store, which takes at most 7000 bytes at once"
    );
    // A turn is cut, and the conversation goes on.
    let cut = session.send("talk").await.unwrap();
    assert!(matches!(cut.phase, Phase::Stopped(StopReason::TurnCut(_))), "{cut:?}");
    assert_eq!(session.send("again").await.unwrap().text, "short");
    // What was too long is not there.
    let long = session.send("p".repeat(9000)).await;
    assert!(matches!(long, Err(AgentError::Store(StoreError::TooLarge { bytes: 9027, limit: 7000 }))), "{long:?}");
    let stored = agent(&store, toolset!(fetch), [Turn::say("fine")]);
    assert_eq!(stored.open(session.id()).await.unwrap().send("short").await.unwrap().text, "fine");
    let mut session = stored.session();
    session.send("p".repeat(9000)).await.unwrap_err();
    assert!(store.load(session.id()).await.unwrap().is_none(), "no run begins with a prompt that is refused");
}

/// Fails with a text.
#[tool(effect = read_only)]
fn fail(
    /// Its size.
    bytes: usize,
) -> Result<String, Failure> {
    Err(Failure::new("x".repeat(bytes)))
}

/// Records a text, and returns whether this succeeded.
#[tool]
async fn keep(
    /// Its size.
    bytes: usize,
    #[context] cx: &Context,
) -> String {
    let kept = cx.step("keep", async move { Ok::<_, Failure>("x".repeat(bytes)) }).await;
    kept.map_or_else(|failure| failure.for_model().to_owned(), |text: String| format!("kept {} bytes", text.len()))
}

/// Asks a long question, and returns whether this succeeded.
#[tool]
async fn question(
    /// Its size.
    bytes: usize,
    #[context] cx: &Context,
) -> String {
    let answer = cx.ask::<bool>("x".repeat(bytes)).await;
    answer.map_or_else(|failure| failure.for_model().to_owned(), |answer| answer.to_string())
}

#[tokio::test]
async fn a_keeper_s_limit_on_appends_holds_for_all_that_a_call_makes() {
    let store: Arc<dyn Store> = Arc::new(Engine { max_bytes: 8000, ..Engine::clone(&Engine::new()) });
    let call = |name, bytes| Turn::call(name, json!({ "bytes": bytes }));
    let turns = [
        call("fetch", 6985),
        call("fetch", 6986),
        call("fail", 9000),
        call("keep", 6998),
        call("keep", 6999),
        call("question", 9000),
        Turn::say("done"),
    ];
    let mut session = agent(&store, toolset!(fetch, fail, keep, question), turns).session();
    assert_eq!(session.send("go").await.unwrap().text, "done");
    let too_large = |tool, what, bytes| {
        let text = "are too much for the store, which takes at most 7000 bytes at once";
        format!("`{tool}` ran, but its {what} is lost: {bytes} bytes {text}")
    };
    let results = tool_results(&session);
    let expected = [
        "x".repeat(6985),
        too_large("fetch", "result", 7001),
        too_large("fail", "error", 9025),
        "kept 6998 bytes".to_owned(),
        too_large("keep", "durable step", 7001),
    ];
    assert_eq!(results[..5], expected);
    assert!(results[5].starts_with("`question` ran, but its question is lost: 9"), "{}", results[5]);
}

/// Returns a session of a process that does not drive the runs of `engine`, and the effects of its own tools.
fn session_elsewhere(engine: &Engine) -> (Session, Arc<Effects>) {
    let effects = Effects::new();
    (agent(&engine.elsewhere(), tools(&effects), [Turn::say("never")]).session(), effects)
}

#[tokio::test]
async fn a_session_follows_a_run_that_is_driven_elsewhere() {
    let (engine, effects) = (Engine::new(), Effects::new());
    let store: Arc<dyn Store> = engine.clone();
    let driver = agent(&store, tools(&effects), [payments(&[5]), Turn::say("paid it")]);
    let served = tokio::spawn(Arc::clone(&engine).serve(driver));
    let (mut session, own) = session_elsewhere(&engine);
    let events = Events::new();
    session.change_agent(|agent| agent.observer(events.clone()));
    assert_eq!(session.send("go").await.unwrap().phase, Phase::Suspended);
    let open = session.interrupts().next().unwrap().id.clone();
    session.decide(&open, Decision::Approve, "").await.unwrap();
    assert_eq!(session.resume().await.unwrap().text, "paid it");
    assert_eq!((effects.all(), own.all()), (vec!["pay 5 to Ann".to_owned()], Vec::new()));
    // Its observer receives each turn, although the model was asked elsewhere.
    let seen = events.all();
    assert!(seen.contains(&EventKind::Text("paid it".to_owned())), "{seen:?}");
    let begun = seen.iter().filter(|event| matches!(event, EventKind::StepStarted { .. })).count();
    assert_eq!(begun, 2, "{seen:?}");
    served.abort();
}

#[tokio::test]
async fn the_model_s_pieces_reach_a_session_that_follows() {
    let (engine, effects) = (Engine::new(), Effects::new());
    let store: Arc<dyn Store> = engine.clone();
    let gate = Arc::new(Semaphore::new(0));
    let permits = Arc::clone(&gate);
    let model = FunctionModel::streaming(move |_| {
        let permits = Arc::clone(&permits);
        let deltas =
            [Delta::Text("Half".to_owned()), Delta::Text(" of it".to_owned()), Delta::Finish(FinishReason::Stop)];
        stream::iter(deltas).then(move |delta| {
            let permits = Arc::clone(&permits);
            async move {
                permits.acquire().await.unwrap().forget();
                Ok(delta)
            }
        })
    });
    let driver = Agent::new(model).tools(tools(&effects)).store(store).operator(Suspend);
    let served = tokio::spawn(Arc::clone(&engine).serve(driver));
    let (mut session, _) = session_elsewhere(&engine);
    let events = Events::new();
    session.change_agent(|agent| agent.observer(events.clone()));
    let sent = tokio::spawn(async move { session.send("go").await });
    for text in ["Half", "Half of it"] {
        gate.add_permits(1);
        wait_until(|| events.text() == text).await;
    }
    gate.add_permits(1);
    assert_eq!(sent.await.unwrap().unwrap().text, "Half of it");
    assert_eq!(events.text(), "Half of it");
    served.abort();
}

#[tokio::test]
async fn a_call_from_outside_runs_where_the_run_is_driven() {
    let (engine, effects) = (Engine::new(), Effects::new());
    let store: Arc<dyn Store> = engine.clone();
    let served = tokio::spawn(Arc::clone(&engine).serve(agent(&store, tools(&effects), [Turn::say("never")])));
    let (mut session, own) = session_elsewhere(&engine);
    let call = session.call("look", r#"{"what":"up"}"#).await.unwrap();
    assert!(call.result().unwrap().is_success());
    assert_eq!((effects.all(), own.all()), (vec!["look up".to_owned()], Vec::new()));
    served.abort();
}

/// Never ends.
#[tool]
async fn hang(#[state] effects: &Effects) {
    effects.record("hangs");
    std::future::pending::<()>().await;
}

#[tokio::test]
async fn a_cancellation_reaches_the_process_that_drives() {
    let (engine, effects) = (Engine::new(), Effects::new());
    let store: Arc<dyn Store> = engine.clone();
    let driver = agent(&store, toolset!(Arc::clone(&effects); hang), [Turn::call("hang", "{}"), Turn::say("never")]);
    let served = tokio::spawn(Arc::clone(&engine).serve(driver));
    let (mut session, _) = session_elsewhere(&engine);
    let handle = session.handle();
    let cancelled = Arc::clone(&effects);
    tokio::spawn(async move {
        while cancelled.count("hangs") == 0 {
            tokio::task::yield_now().await;
        }
        handle.cancel();
    });
    assert!(matches!(session.send("go").await, Err(AgentError::Cancelled)));
    assert_eq!(session.run().phase(), Phase::Stopped(StopReason::Cancelled));
    // The driver has ended, too, so it serves the next prompt.
    assert!(session.send("again").await.is_ok());
    served.abort();
}

/// Returns an agent that drives runs in `engine`. The first turn of its model says "old" and ends after `end`; the second says
/// "new". Also returns the number of turns.
fn agent_with_two_turns(
    engine: &Arc<Engine>,
    end: impl Future<Output = ()> + Send + 'static,
) -> (Agent, Arc<AtomicUsize>) {
    let (turns, store): (_, Arc<dyn Store>) = (Arc::<AtomicUsize>::default(), engine.clone());
    let (counted, end) = (Arc::clone(&turns), Mutex::new(Some(Box::pin(end))));
    let model = FunctionModel::streaming(move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
        let end = end.lock().unwrap().take();
        let text = if end.is_some() { "old" } else { "new" };
        let finish = async move {
            if let Some(end) = end {
                end.await;
            }
            Ok(Delta::Finish(FinishReason::Stop))
        };
        stream::iter([Ok(Delta::Text(text.to_owned()))]).chain(stream::once(finish))
    });
    let agent = Agent::new(model).store(store);
    (agent.options(|options| options.on_prompt = OnPrompt::Supersede), turns)
}

/// Returns the texts of the model in the conversation.
fn texts(session: &Session) -> Vec<&str> {
    let parts = session.messages().iter().flat_map(|message| match message {
        Message::Assistant { content } => content.as_slice(),
        _ => &[],
    });
    let texts = parts.filter_map(|part| match part {
        AssistantPart::Text { text } => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

#[tokio::test]
async fn a_prompt_from_elsewhere_drops_the_turn_that_it_supersedes() {
    let engine = Engine::new();
    let (driver, turns) = agent_with_two_turns(&engine, std::future::pending());
    let mut session = driver.session_with_id("r", Vec::new());
    let driven = tokio::spawn(async move { session.send("one").await });
    wait_until(|| turns.load(Ordering::SeqCst) == 1).await;
    let elsewhere = Agent::new(ScriptedModel::new([Turn::say("never")])).store(engine.elsewhere());
    let mut second = elsewhere.open(&"r".into()).await.unwrap();
    let reply =
        tokio::time::timeout(Duration::from_secs(30), second.send("two")).await.expect("the old turn is dropped");
    assert_eq!(reply.unwrap().text, "new");
    assert_eq!(driven.await.unwrap().unwrap().text, "new");
    assert_eq!(texts(&second), ["new"]);
}

#[tokio::test]
async fn a_turn_that_ends_after_it_was_superseded_is_not_recorded() {
    let engine = Engine::new();
    let log = Arc::clone(&engine);
    // Another process appends a prompt just before the turn ends, so the driver notices it only at its own append.
    let prompted = async move {
        let id = RunId::from("r");
        let mut run = log.load(&id).await.unwrap().unwrap().rebuild().unwrap();
        let prompt = Prompt::new(vec![Part::text("two")], run.owner().clone(), Timestamp(1));
        let rev = run.rev();
        let (entries, _) = advance(&mut run, LogInput::Prompt(prompt)).unwrap();
        log.append(&id, Append::new(rev, &entries, &run, None)).await.unwrap();
    };
    let (driver, turns) = agent_with_two_turns(&engine, prompted);
    let mut session = driver.session_with_id("r", Vec::new());
    assert_eq!(session.send("one").await.unwrap().text, "new");
    assert_eq!((texts(&session), turns.load(Ordering::SeqCst)), (vec!["new"], 2));
}

#[tokio::test]
async fn a_drive_that_its_keeper_ends_goes_on_in_the_next_one() {
    let engine = Arc::new(Engine { ends_drives: true, ..Engine::clone(&Engine::new()) });
    let store: Arc<dyn Store> = engine.clone();
    let turn = || Turn::call("fetch", r#"{"bytes": 3}"#);
    let driver = agent(&store, toolset!(fetch), [turn(), turn(), Turn::say("done")]);
    let served = tokio::spawn(Arc::clone(&engine).serve(driver));
    let (mut session, _) = session_elsewhere(&engine);
    assert_eq!(session.send("go").await.unwrap().text, "done");
    // Each drive asks the model once, and the calls of its turn end in it.
    assert_eq!(engine.shared.drives.load(Ordering::Relaxed), 3);
    assert_eq!(session.run().calls().len(), 2);
    served.abort();
}
