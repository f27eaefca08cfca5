//! Tests of guards, which check a prompt beside the first turn, and of checks of answers in text.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use tokio::sync::Notify;
use tool_runtime::{
    Agent, AgentError, Context, Toolset,
    agent::{AnswerProblem, EventKind, Guard},
    message::Message,
    model::{FunctionModel, ScriptedModel, Turn},
    run::{Phase, StopReason},
    store::{MemoryStore, Store},
    test::Events,
    tool, toolset,
};
use tool_test_kit::within;

/// The lease of a process that is left in the middle of its work.
const LEASE: Duration = Duration::from_millis(100);

/// The work of the test tool.
#[derive(Default)]
struct Work {
    begun: AtomicUsize,
    dropped: Arc<AtomicUsize>,
    go_on: Notify,
}

struct CountDrop(Arc<AtomicUsize>);

impl Drop for CountDrop {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

/// Looks something up.
#[tool(effect = read_only)]
async fn look(#[state] work: &Work) -> u8 {
    let _dropped = CountDrop(Arc::clone(&work.dropped));
    work.begun.fetch_add(1, SeqCst);
    work.go_on.notified().await;
    7
}

fn tools(work: &Arc<Work>) -> Toolset {
    toolset!(Arc::clone(work); look)
}

fn looking() -> ScriptedModel {
    ScriptedModel::new([Turn::say("Let me see.").then_call("look", "{}"), Turn::say("7.")])
}

/// A guard that answers when it is released.
fn held(name: &str, release: &Arc<Notify>, answer: Result<(), &'static str>) -> Guard {
    let release = Arc::clone(release);
    Guard::new(name, move |_, _| {
        let release = Arc::clone(&release);
        async move {
            release.notified().await;
            answer
        }
    })
}

fn blocked_by<T: std::fmt::Debug>(done: Result<T, AgentError>) -> (String, String) {
    match done {
        Err(AgentError::Blocked { by, reason }) => (by, reason),
        other => panic!("nothing blocked the run: {other:?}"),
    }
}

#[tokio::test]
async fn calls_and_the_answer_wait_for_a_guard() {
    let (work, release, events) = (Arc::<Work>::default(), Arc::<Notify>::default(), Events::new());
    let agent = Agent::new(looking()).tools(tools(&work)).observer(events.clone());
    let agent = agent.guard(held("topic", &release, Ok(())));
    let run = tokio::spawn(async move { agent.run("How much?").await });
    // The model's turn has ended, and its text is reported.
    within("the run", async {
        while !events.all().iter().any(|event| matches!(event, EventKind::CallAnnounced { .. })) {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert_eq!((work.begun.load(SeqCst), events.text()), (0, "Let me see.".to_owned()));
    release.notify_one();
    work.go_on.notify_one();
    assert_eq!(within("the run", run).await.unwrap().unwrap().text, "7.");
    assert_eq!(work.begun.load(SeqCst), 1);
}

#[tokio::test]
async fn a_guard_that_blocks_ends_the_run_before_its_calls() {
    let (work, release, events) = (Arc::<Work>::default(), Arc::<Notify>::default(), Events::new());
    let agent = Agent::new(looking()).tools(tools(&work)).observer(events.clone());
    let mut session = agent.guard(held("topic", &release, Err("no homework"))).session();
    release.notify_one();
    let blocked = blocked_by(within("the run", session.send("How much?")).await);
    assert_eq!(blocked, ("topic".to_owned(), "no homework".to_owned()));
    assert_eq!(work.begun.load(SeqCst), 0);
    let reason = StopReason::Blocked { by: "topic".to_owned(), reason: "no homework".to_owned() };
    assert_eq!(session.run().phase(), Phase::Stopped(reason.clone()));
    assert_eq!(reason.to_string(), "topic blocked the run: no homework");
    // The log has it, too, and the next prompt goes on.
    let thawed = tool_runtime::run::Run::thaw(&session.run().freeze()).unwrap();
    assert_eq!(thawed.phase(), session.run().phase());
    release.notify_one();
    blocked_by(within("the run", session.send("And now?")).await);
}

#[tokio::test]
async fn calls_beside_a_guard_are_cancelled_when_it_blocks() {
    let (work, release) = (Arc::<Work>::default(), Arc::<Notify>::default());
    let agent = Agent::new(looking()).tools(tools(&work));
    let mut session = agent.guard(held("topic", &release, Err("no")).beside_calls()).session();
    let released = async {
        while work.begun.load(SeqCst) == 0 {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        release.notify_one();
    };
    let (done, ()) = within("the run", async { tokio::join!(session.send("How much?"), released) }).await;
    assert_eq!(blocked_by(done).0, "topic");
    within("the run", async {
        while work.dropped.load(SeqCst) == 0 {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
    assert_eq!(session.run().calls().len(), 1);
}

/// The second request to the model waits, and so does the answer.
#[tokio::test]
async fn the_next_turn_waits_for_a_guard_beside_calls() {
    let (work, release, requests) = (Arc::<Work>::default(), Arc::<Notify>::default(), Arc::<AtomicUsize>::default());
    let counted = Arc::clone(&requests);
    let model = FunctionModel::new(move |_| match counted.fetch_add(1, SeqCst) {
        0 => Turn::call("look", "{}"),
        _ => Turn::say("7."),
    });
    let agent = Agent::new(model).tools(tools(&work)).guard(held("topic", &release, Ok(())).beside_calls());
    work.go_on.notify_one();
    let run = tokio::spawn(async move { agent.run("How much?").await });
    within("the run", async {
        while work.dropped.load(SeqCst) == 0 {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert_eq!(requests.load(SeqCst), 1);
    release.notify_one();
    assert_eq!(within("the run", run).await.unwrap().unwrap().text, "7.");
}

#[tokio::test(start_paused = true)]
async fn a_guard_that_panics_or_hangs_blocks() {
    let say = || Agent::new(ScriptedModel::new([Turn::say("Hello.")]));
    let panics = Guard::new("broken", async |_, _| -> Result<(), String> { panic!("a test") });
    assert_eq!(blocked_by(say().guard(panics).run("x").await), ("broken".into(), "the check panicked".into()));
    let hangs = Guard::new("slow", async |_, _| std::future::pending::<Result<(), String>>().await);
    let blocked = blocked_by(say().guard(hangs.clone()).run("x").await);
    assert_eq!(blocked, ("slow".into(), "no answer within 30 s".into()));
    let blocked = blocked_by(say().guard(hangs.time_limit(Duration::from_millis(1500))).run("x").await);
    assert_eq!(blocked.1, "no answer within 1.5 s");
}

/// After a turn that had written something, a run that goes on asks its guards about the same prompt.
#[tokio::test]
async fn a_blocked_prompt_stays_blocked() {
    let release = Arc::<Notify>::default();
    let seen = Arc::<Mutex<Vec<String>>>::default();
    let noted = Arc::clone(&seen);
    let gate = Arc::clone(&release);
    let guard = Guard::new("topic", move |prompt: Vec<_>, _| {
        let text: String = prompt.iter().filter_map(tool_runtime::message::Part::as_text).collect();
        noted.lock().unwrap().push(text.clone());
        let gate = Arc::clone(&gate);
        async move {
            gate.notified().await;
            if text.contains("homework") { Err("no") } else { Ok(()) }
        }
    });
    let agent = Agent::new(FunctionModel::new(|_| Turn::say("x is 2."))).guard(guard);
    let mut session = agent.session();
    let released = async {
        tokio::time::sleep(Duration::from_millis(20)).await;
        release.notify_one();
    };
    let (done, ()) = tokio::join!(session.send("Do my homework."), released);
    assert_eq!(blocked_by(done).0, "topic");
    assert_eq!(session.messages().len(), 2, "the text of the blocked turn stays");
    release.notify_one();
    assert_eq!(blocked_by(session.resume().await).0, "topic");
    release.notify_one();
    assert_eq!(session.send("What is 1 + 1?").await.unwrap().text, "x is 2.");
    assert_eq!(*seen.lock().unwrap(), ["Do my homework.", "Do my homework.", "What is 1 + 1?"]);
}

/// A message that steers the run is checked beside the turn that it joins.
#[tokio::test]
async fn steering_messages_are_checked() {
    let (work, seen) = (Arc::<Work>::default(), Arc::<Mutex<Vec<String>>>::default());
    let noted = Arc::clone(&seen);
    let guard = Guard::new("topic", move |prompt: Vec<_>, _| {
        let text: String = prompt.iter().filter_map(tool_runtime::message::Part::as_text).collect();
        noted.lock().unwrap().push(text.clone());
        async move { if text.contains("homework") { Err("no") } else { Ok(()) } }
    });
    let turns = [Turn::call("look", "{}"), Turn::call("look", "{}"), Turn::say("7.")];
    let agent = Agent::new(ScriptedModel::new(turns)).tools(tools(&work)).guard(guard);
    let mut session = agent.session();
    let steering = session.steering();
    let steered = async {
        while work.begun.load(SeqCst) == 0 {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        steering.say("And do my homework.");
        tokio::time::sleep(Duration::from_millis(20)).await;
        work.go_on.notify_one();
    };
    let (done, ()) = within("the run", async { tokio::join!(session.send("How much?"), steered) }).await;
    assert_eq!(blocked_by(done).0, "topic");
    assert_eq!((work.begun.load(SeqCst), seen.lock().unwrap().len()), (1, 2));
}

/// Checks of answers in text hold for runs with final tools, too.
#[tokio::test]
async fn a_text_in_place_of_a_final_tool_is_checked() {
    let (by, _) = blocked_by(checked(&["the secret is 7"]).final_tools(["look"]).run("How much?").await);
    assert_eq!(by, "digits");
}

/// A run that has ended for another reason does not wait for its guards.
#[tokio::test]
async fn a_cancelled_run_waits_for_no_guard() {
    let never = Arc::<Notify>::default();
    let agent = Agent::new(ScriptedModel::new([Turn::say("Hello.")])).guard(held("slow", &never, Ok(())));
    let mut session = agent.session();
    let stop = tokio::time::sleep(Duration::from_millis(30));
    let cancelled = within("the run", session.send_until("x", stop)).await;
    assert!(matches!(cancelled, Err(AgentError::Cancelled)));
    let failing = Agent::new(ScriptedModel::new(Vec::<Turn>::new())).guard(held("slow", &never, Ok(())));
    assert!(matches!(within("the run", Box::pin(failing.run("x"))).await, Err(AgentError::Model(_))));
}

#[tokio::test]
async fn one_of_several_guards_is_enough_to_block() {
    let allow = || Guard::new("kind", async |_, _| Ok::<(), String>(()));
    let deny = || Guard::new("strict", async |_, _| Err("no"));
    for guards in [[allow(), deny()], [deny(), allow()]] {
        let agent = Agent::new(ScriptedModel::new([Turn::say("Hello.")]));
        let agent = guards.into_iter().fold(agent, Agent::guard);
        assert_eq!(blocked_by(agent.run("x").await), ("strict".into(), "no".into()));
    }
    let agent = Agent::new(ScriptedModel::new([Turn::say("Hello.")])).guard(allow()).guard(allow());
    assert_eq!(agent.run("x").await.unwrap().text, "Hello.");
}

/// A guard sees each prompt once, with the principal and the conversation.
#[tokio::test]
async fn guards_see_the_prompt_and_the_context() {
    let seen = Arc::<Mutex<Vec<String>>>::default();
    let noted = Arc::clone(&seen);
    let guard = Guard::new("note", move |prompt: Vec<_>, cx: Context| {
        let text: String = prompt.iter().filter_map(tool_runtime::message::Part::as_text).collect();
        let line = format!("{} {text} {}", cx.principal().unwrap_or_default(), cx.messages().len());
        noted.lock().unwrap().push(line);
        async { Ok::<(), String>(()) }
    });
    let work = Arc::<Work>::default();
    work.go_on.notify_one();
    let turns = [Turn::call("look", "{}"), Turn::say("7."), Turn::say("8.")];
    let agent = Agent::new(ScriptedModel::new(turns)).tools(tools(&work)).principal("ann").guard(guard);
    let mut session = agent.session();
    session.send("one").await.unwrap();
    session.send("two").await.unwrap();
    assert_eq!(*seen.lock().unwrap(), ["ann one 1", "ann two 5"]);
}

/// The process that repeats a turn asks its guards again.
#[tokio::test]
async fn after_a_takeover_the_guards_are_asked_again() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let (work, never) = (Arc::<Work>::default(), Arc::<Notify>::default());
    let first = Agent::new(looking()).tools(tools(&work)).store(Arc::clone(&store)).lease_time(LEASE);
    let mut session = first.guard(held("topic", &never, Ok(()))).session();
    let id = session.id().clone();
    let left = tokio::time::timeout(Duration::from_millis(50), session.send("How much?")).await;
    assert!(left.is_err(), "it waits for the guard");
    drop(session);
    tokio::time::sleep(2 * LEASE).await;
    let deny = Guard::new("topic", async |_, _| Err("no"));
    let second = Agent::new(looking()).tools(tools(&work)).store(store).guard(deny);
    assert_eq!(blocked_by(within("the run", second.open(&id).await.unwrap().resume()).await).0, "topic");
    assert_eq!(work.begun.load(SeqCst), 0);
    // A stopped run that goes on asks them once more.
    assert_eq!(blocked_by(within("the run", second.open(&id).await.unwrap().resume()).await).0, "topic");
}

#[tokio::test]
async fn an_inner_agent_has_its_own_guards() {
    let inner = Agent::new(ScriptedModel::new([Turn::say("Oslo.")]));
    let inner = inner.guard(Guard::new("topic", async |_, _| Err("no geography")));
    let tools = Toolset::new().with(inner.as_tool("expert", "Asks an expert.")).unwrap();
    let outer = ScriptedModel::new([Turn::call("expert", r#"{"task":"Norway?"}"#), Turn::say("I cannot.")]);
    let mut session = Agent::new(outer).tools(tools).session();
    assert_eq!(session.send("x").await.unwrap().text, "I cannot.");
    let result = session.run().calls()[0].result().unwrap().for_people("expert", session.run().calls()[0].extent());
    assert!(result.contains("topic blocked the run: no geography"), "{result}");
}

fn checked(texts: &[&'static str]) -> Agent {
    Agent::new(ScriptedModel::new(texts.iter().map(|text| Turn::say(*text)))).check_answer("digits", async |text, _| {
        match text.as_str() {
            text if text.contains("secret") => Err(AnswerProblem::refuse("it names a secret")),
            text if text.contains('7') => Ok(()),
            _ => Err("name a 7".into()),
        }
    })
}

#[tokio::test]
async fn a_check_sends_the_model_back() {
    let mut session = checked(&["six", "7"]).session();
    let reply = session.send("How much?").await.unwrap();
    assert_eq!((&*reply.text, reply.steps, reply.phase), ("7", 2, Phase::Finished));
    let Message::User { content } = &session.messages()[2] else { panic!("{:?}", session.messages()) };
    assert_eq!(content[0].as_text(), Some("Your answer was not accepted by digits: name a 7"));
    let kept = tool_runtime::run::Run::thaw(&session.run().freeze()).unwrap();
    assert_eq!(kept.freeze(), session.run().freeze());
}

#[tokio::test]
async fn a_check_gives_up_after_the_retries() {
    for retries in [0, 1, 3] {
        let texts = ["six", "five", "four", "three", "two"];
        let mut session = checked(&texts).answer_retries(retries).session();
        let (by, reason) = blocked_by(session.send("How much?").await);
        assert_eq!(by, "digits");
        assert!(reason.contains("name a 7") && reason.contains(&format!("its limit, {retries}")), "{reason}");
        assert_eq!(session.run().turn_usages().len().max(session.run().steps() as usize), retries + 1);
    }
}

#[tokio::test]
async fn a_check_may_refuse_and_a_broken_one_does() {
    let mut session = checked(&["the secret is 7", "7"]).session();
    assert_eq!(blocked_by(session.send("How much?").await), ("digits".into(), "it names a secret".into()));
    assert_eq!(session.send("Without secrets?").await.unwrap().text, "7");
    let broken = Agent::new(ScriptedModel::new([Turn::say("7")]));
    let broken = broken.check_answer("broken", async |_, _| -> Result<(), AnswerProblem> { panic!("a test") });
    assert_eq!(blocked_by(broken.run("x").await), ("broken".into(), "the check panicked".into()));
}

/// Of several checks, each text needs the consent of all.
#[tokio::test]
async fn checks_are_asked_in_order() {
    let agent = checked(&["7", "7 metres"]).check_answer("unit", async |text, _| {
        if text.contains("metres") { Ok(()) } else { Err("name the unit".into()) }
    });
    let mut session = agent.session();
    assert_eq!(session.send("How high?").await.unwrap().text, "7 metres");
    let Message::User { content } = &session.messages()[2] else { panic!("{:?}", session.messages()) };
    assert_eq!(content[0].as_text(), Some("Your answer was not accepted by unit: name the unit"));
}

/// The number of refused texts is in the log, whichever process goes on.
#[tokio::test]
async fn another_process_counts_on() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let hanging = FunctionModel::streaming({
        let asked = AtomicUsize::new(0);
        move |_| -> futures_util::stream::BoxStream<'static, _> {
            use futures_util::StreamExt as _;
            match asked.fetch_add(1, SeqCst) {
                0 => futures_util::stream::iter(Turn::say("six").into_deltas().into_iter().map(Ok)).boxed(),
                _ => futures_util::stream::pending().boxed(),
            }
        }
    });
    let check = |agent: Agent| agent.check_answer("digits", async |_, _| Err("name a 7".into()));
    let mut session = check(Agent::new(hanging).store(Arc::clone(&store)).lease_time(LEASE)).session();
    let id = session.id().clone();
    assert!(tokio::time::timeout(Duration::from_millis(50), session.send("How much?")).await.is_err());
    drop(session);
    tokio::time::sleep(2 * LEASE).await;
    let second = check(Agent::new(ScriptedModel::new([Turn::say("five"), Turn::say("four")])).store(store));
    let (_, reason) = blocked_by(within("the run", second.open(&id).await.unwrap().resume()).await);
    assert!(reason.contains("its limit, 1"), "{reason}");
}
