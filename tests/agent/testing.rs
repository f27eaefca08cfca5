//! Tests of `tool_runtime::test`: recordings, persons, events and a clock.

use std::{
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    time::Duration,
};

use serde_json::json;
use tokio::time::Instant;
use tool_runtime::{
    Agent, AgentError,
    agent::EventKind,
    model::{Delta, FinishReason, ModelError, ModelErrorKind, ScriptedModel, Turn, Usage},
    run::CallResult,
    run::Phase,
    test::{Events, Person, RecordingModel, ReplayModel, TestClock, record_or_replay},
    tool, toolset,
};
use tool_test_kit::AllAndSome as _;

/// Doubles a number.
#[tool(effect = read_only)]
async fn double(
    /** The number. */
    n: i64,
) -> i64 {
    n * 2
}

/// Pays.
#[tool(approval = always)]
async fn pay(
    /** The amount. */
    amount: u32,
) -> u32 {
    amount
}

/// A file that is removed at the end of the test.
struct Tape(PathBuf);

impl Tape {
    fn new(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("tool-testing-{}-{name}.jsonl", std::process::id())))
    }
}

impl Drop for Tape {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn turns() -> ScriptedModel {
    let used = Usage { input_tokens: 7, output_tokens: 2, ..Usage::default() };
    ScriptedModel::new([
        Turn::default().then_reason("hm").then_say("I double.").then_call("double", json!({"n": 21})).with_usage(used),
        Turn::say("It is 42."),
    ])
}

async fn run_agent(agent: &Agent) -> (Events, Result<String, AgentError>) {
    let events = Events::new();
    let reply = agent.clone().observer(events.clone()).run("Double 21, my key is k-\"1\".").await;
    (events, reply.map(|reply| reply.text))
}

#[tokio::test]
async fn a_recorded_model_repeats_its_answers() {
    let tape = Tape::new("same");
    let live = RecordingModel::create(turns(), &tape.0).unwrap().hide("k-\"1\"");
    let (first, reply) = run_agent(&Agent::new(live).tools(toolset!(double))).await;
    assert_eq!(reply.unwrap(), "It is 42.");
    let text = fs::read_to_string(&tape.0).unwrap();
    assert!(text.starts_with("{\"recording\":1,\"model\":\"scripted\"}\n") && text.lines().count() == 3, "{text}");
    let settings = r#""settings":{"max_tokens":null,"temperature":null,"parallel_calls":null}"#;
    assert!(text.contains(settings), "recordings of earlier versions have these names: {text}");
    assert!(text.contains("my key is [hidden].") && !text.contains("k-"), "{text}");

    let model = std::sync::Arc::new(ReplayModel::open(&tape.0).unwrap().hide("k-\"1\""));
    let (again, reply) = run_agent(&Agent::new(std::sync::Arc::clone(&model)).tools(toolset!(double))).await;
    assert_eq!(reply.unwrap(), "It is 42.");
    assert_eq!(again.lines(), first.lines());
    assert_eq!(model.left(), 0);
    let (_, more) = run_agent(&Agent::new(model)).await;
    assert!(more.unwrap_err().to_string().contains("has no turn left"));
}

#[tokio::test]
async fn another_request_is_an_error_with_the_difference() {
    let tape = Tape::new("other");
    let agent = |model| Agent::new(model).tools(toolset!(double)).max_steps(3);
    agent(record_or_replay(&tape.0, turns).unwrap()).run("Double 21.").await.unwrap();
    let replay = || record_or_replay(&tape.0, || -> ScriptedModel { panic!("the file has a recording") }).unwrap();
    assert_eq!(agent(replay()).run("Double 21.").await.unwrap().text, "It is 42.");

    let other = agent(replay()).instructions("Be brief.").run("Double 21.").await.unwrap_err().to_string();
    assert!(other.contains("(line 2) differs"), "{other}");
    assert!(other.contains("\n  messages[0].role: recorded \"user\", asked \"system\""), "{other}");
    assert!(other.contains("\n  messages[1]: not recorded, asked {\"role\":\"user\""), "{other}");
    let other = agent(replay()).tools(toolset!(pay)).run("Double 21.").await.unwrap_err().to_string();
    assert!(other.contains("\n  tools.double: recorded \"") && other.contains("\", not asked"), "{other}");
    assert!(other.contains("\n  tools.pay: not recorded"), "{other}");
}

#[tokio::test]
async fn the_end_of_a_turn_is_recorded() {
    let tape = Tape::new("endings");
    let broken =
        ModelError::new(ModelErrorKind::RateLimited, "slow down").with_retry_after(Some(Duration::from_secs(9)));
    let live = ScriptedModel::new(Vec::<Turn>::new())
        .then(vec![Ok(Delta::Text("one".into())), Err(broken)])
        .then(vec![Delta::Text("two".into())])
        .then(Turn::say("three").with_finish(FinishReason::Other("odd".into())));
    let play = async |agent: Agent| {
        let mut session = agent.session();
        let mut endings = Vec::new();
        for prompt in ["a", "b", "c"] {
            endings.push(match session.send(prompt).await {
                Ok(reply) => format!("{:?} {}", reply.phase, reply.text),
                Err(AgentError::Model(error)) => format!("{:?} {error} {:?}", error.kind(), error.retry_after()),
                Err(error) => panic!("{error}"),
            });
        }
        endings
    };
    let first = play(Agent::new(RecordingModel::create(live, &tape.0).unwrap())).await;
    assert_eq!(first[0], "RateLimited slow down Some(9s)");
    assert!(first[1].contains("cut off"), "{first:?}");
    assert_eq!(first[2], "Stopped(TurnCut(Other(\"odd\"))) three");
    assert_eq!(play(Agent::new(ReplayModel::open(&tape.0).unwrap())).await, first);
}

#[test]
fn an_invalid_recording_is_an_error() {
    let cases = [
        ("", "line 1: it is empty"),
        ("hello", "line 1: this is not a recording"),
        ("{\"recording\":2,\"model\":\"m\"}", "a recording of version 2; this program reads version 1"),
        ("{\"recording\":1,\"model\":\"m\"}\n\n{\"request\":1}", "line 3: missing field `deltas`"),
    ];
    for (text, expected) in cases {
        let error = ReplayModel::read(text).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    let error = ReplayModel::open("/nowhere/at-all.jsonl").unwrap_err().to_string();
    assert!(error.starts_with("/nowhere/at-all.jsonl: "), "{error}");
}

fn paying_model() -> ScriptedModel {
    ScriptedModel::new([Turn::call("pay", json!({"amount": 5})), Turn::say("ok")])
}

#[tokio::test]
async fn persons_follow_their_rules() {
    let events = Events::unchecked();
    let agent = |person: &Person| {
        Agent::new(paying_model()).tools(toolset!(pay)).observer(events.clone()).operator(person.clone())
    };
    let pay_with = async |person: &Person| {
        let mut session = agent(person).session();
        session.send("go").await.unwrap();
        session.run().calls()[0].result().unwrap().clone()
    };
    let json = |result: CallResult| result.output().and_then(|output| output.as_json().map(str::to_owned));
    assert_eq!(json(pay_with(&Person::approving()).await).as_deref(), Some("5"));
    let edited = pay_with(&Person::editing(|arguments| arguments["amount"] = 3.into())).await;
    assert_eq!(json(edited).as_deref(), Some("3"));
    events.clear();
    let denied = Person::denying("no");
    assert!(matches!(pay_with(&denied).await, CallResult::Denied { reason: Some(reason), .. } if reason == "no"));
    assert_eq!(denied.approvals()[0].arguments, json!({"amount": 5}));
    events.assert_order(&["opened call_1_0 pay {\"amount\":5}: approval", "deny", "finished call_1_0 pay denied"]);
    events.assert_none("started");
}

#[tokio::test]
async fn events_are_asserted_and_explained() {
    let events = Events::new();
    Agent::new(turns()).tools(toolset!(double)).observer(events.clone()).run("go").await.unwrap();
    let of_call = events.of_call("call_1_0");
    assert!(matches!(of_call.all().first(), Some(EventKind::CallAnnounced { .. })));
    assert!(of_call.all().iter().all_and_some(|seen| seen.call() == Some("call_1_0")));
    assert_eq!(events.of_tool("double").lines(), of_call.lines());
    assert!(events.of_tool("other").all().is_empty() && events.of_call("call_2_0").all().is_empty());

    let failure = |check: &dyn Fn()| {
        let panic = catch_unwind(AssertUnwindSafe(check)).expect_err("the assertion must fail");
        *panic.downcast::<String>().expect("the panic has a formatted text")
    };
    let report = failure(&|| events.assert_order(&["step 1", "started call_1_0", "announced"]));
    assert!(report.starts_with("no event with \"announced\" after \"started call_1_0\" (it is in line "), "{report}");
    assert!(report.contains("); what happened:\n") && report.contains(" reasoning \"hm\"\n"), "{report}");
    assert_eq!(report.matches("\n> ").count(), 2, "the lines that were found are marked: {report}");
    let report = failure(&|| events.assert_none("42."));
    assert!(report.contains(" text \"It is 42.\"\n") && report.matches("\n> ").count() == 1, "{report}");
}

#[tokio::test(start_paused = true)]
async fn advancing_the_clock_wakes_the_run() {
    let (clock, person) = (TestClock::new(), Person::default());
    let agent =
        Agent::new(paying_model()).tools(toolset!(pay)).observer(Events::new()).operator(person.clone()).clock(&clock);
    let mut session = agent.options(|options| options.approval_expiry = Some(Duration::from_hours(1))).session();
    let started = clock.now();
    let run = tokio::spawn(async move {
        let reply = session.send("go").await.unwrap();
        (reply.phase, session.run().calls()[0].result().cloned())
    });
    while person.approvals().is_empty() {
        tokio::task::yield_now().await;
    }
    assert_eq!(person.approvals()[0].interrupt.expires_at.map(|at| at.0 - started.0 >= 3_600_000), Some(true));
    clock.advance(Duration::from_secs(3599));
    tokio::time::sleep(Duration::from_millis(5)).await;
    assert!(!run.is_finished());
    clock.advance(Duration::from_secs(1));
    let moved = Instant::now();
    assert_eq!(run.await.unwrap(), (Phase::Finished, Some(CallResult::Expired)));
    assert_eq!(moved.elapsed(), Duration::ZERO, "no timer woke the run");
}

/// An observer that does not record one event.
struct Lossy(Events, &'static str);
impl tool_runtime::agent::Observer for Lossy {
    fn on_event(&self, event: tool_runtime::agent::Event<'_>) {
        if !EventKind::from(event).to_string().starts_with(self.1) {
            self.0.on_event(event);
        }
    }
}

#[tokio::test]
async fn events_in_an_impossible_order_fail_the_test() {
    let model = || ScriptedModel::new([Turn::call("pay", json!({"amount": 5})), Turn::say("Paid.")]);
    for (lost, why) in [
        ("nothing", None),
        ("announced", Some("the call was not announced")),
        ("accepted", Some("its arguments were not accepted")),
        ("decided", Some("the call waits for a decision")),
        ("opened", Some("the call has no such open interrupt")),
        ("finished", Some("has not ended")),
        ("turn finished", Some("step 1 has not ended")),
    ] {
        let events = Events::new();
        let agent = Agent::new(model())
            .tools(toolset!(pay))
            .observer(Lossy(events.clone(), lost))
            .operator(Person::approving());
        agent.run("x").await.unwrap();
        let misplaced = events.take_misplaced().map(|misplaced| misplaced.why);
        match (why, misplaced) {
            (None, None) => {}
            (Some(why), Some(reply)) => assert!(reply.contains(why), "{lost}: {reply}"),
            (why, reply) => panic!("{lost}: {why:?}, {reply:?}"),
        }
    }
}
