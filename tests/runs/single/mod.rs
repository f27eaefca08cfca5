//! Calls without a conversation: most need no run, and nobody can tell the difference.

mod tools;

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tool_runtime::{
    Agent, Cancellation, Context,
    agent::{ApprovalRequest, Called, Decision, Event, ExternalCall, Front, Later, QuestionRequest},
    run::Principal,
    toolset,
};

use crate::kit::{Person, World, until};
use tools::{Place, hang, tools};

/// Who watches and decides.
#[derive(Clone)]
struct Watch {
    person: Option<Person>,
    told: Arc<Mutex<Vec<String>>>,
    runs: Arc<AtomicUsize>,
}

impl Front for Watch {
    fn event(&self, event: Event<'_>) {
        match event {
            Event::RunStarted(_) => drop(self.runs.fetch_add(1, SeqCst)),
            Event::CallProgress(progress) => self.told.lock().unwrap().push(format!("{progress:?}")),
            _ => {}
        }
    }

    fn attends(&self) -> bool {
        self.person.is_some()
    }

    fn approve<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Decision> {
        self.asked(format!("{:?}", request.obligation.shown));
        self.person.as_ref().map_or_else(|| Later.approve(request), |person| person.approve(request))
    }

    fn execute<'a>(&'a self, call: &'a ExternalCall) -> BoxFuture<'a, Option<String>> {
        self.asked(call.arguments.to_string());
        self.person.as_ref().map_or_else(|| Later.execute(call), |person| person.execute(call))
    }

    fn answer<'a>(&'a self, request: &'a QuestionRequest) -> BoxFuture<'a, Decision> {
        self.asked(format!("{:?} {:?}", request.question, request.call_id));
        self.person.as_ref().map_or_else(|| Later.answer(request), |person| person.answer(request))
    }
}

impl Watch {
    fn new(person: Option<Person>) -> Self {
        Self { person, told: Arc::default(), runs: Arc::default() }
    }

    fn asked(&self, what: String) {
        self.told.lock().unwrap().push(what);
    }
}

/// What came of a call: its end, what the tool did, what was told and asked, and how many runs there were.
async fn made(name: &str, arguments: &str, person: Option<Person>, heard: bool) -> (String, Vec<String>, usize) {
    let (world, watch) = (World::new(), Watch::new(person));
    let agent = Agent::without_model(tools(&world)).instructions("Be brief.").front(watch.clone());
    let agent = agent.with_context(|cx: Context| cx.with_principal("anna").with(7_u8).with_taint(["old".to_owned()]));
    let agent = if heard { agent.hooks(|_: &Event<'_>| {}) } else { agent };
    let end = match agent.call(name, arguments).await {
        Ok(Called::Ended(ended)) => {
            format!("{:?} {} {:?}", ended.result, ended.may_have_run, ended.for_model())
        }
        Ok(Called::Waits(session)) => {
            let open: Vec<String> =
                session.obligations().map(|open| format!("{:?} {:?}", open.kind, open.shown)).collect();
            // Without the times in it.
            format!("waits for {open:?}").replace(|digit: char| digit.is_ascii_digit(), "")
        }
        Err(error) => error.to_string(),
    };
    let mut seen = world.seen();
    seen.append(&mut watch.told.lock().unwrap());
    (end, seen, watch.runs.load(SeqCst))
}

/// The same call with and without a run. How many runs it took where it need not have one.
async fn agree(name: &str, arguments: &str, person: impl Fn() -> Option<Person>) -> (String, usize) {
    let (end, seen, runs) = made(name, arguments, person(), false).await;
    let (in_run, seen_in_run, all) = made(name, arguments, person(), true).await;
    assert_eq!((&end, &seen, 1), (&in_run, &seen_in_run, all), "{name} {arguments}");
    (end, runs)
}

#[tokio::test]
async fn a_call_without_a_run_is_what_it_would_be_with_one() {
    let deep = format!("{}1{}", "[".repeat(200), "]".repeat(200));
    let large = format!(r#"{{"number":"{}"}}"#, "x".repeat(5 * 1024 * 1024));
    // How many runs each takes, and a part of how it ends.
    let calls = [
        ("double", r#"{"number":21}"#, 0, "\"42\""),
        ("double", "", 0, "Rejected"),
        ("double", r#"{"number":"x","extra":1}"#, 0, "Rejected"),
        ("double", "{", 0, "Rejected"),
        ("double", &deep, 1, "nested at most"),
        ("double", &large, 1, "at most 4194304 bytes"),
        ("doubl", "{}", 1, "did you mean"),
        ("fail", r#"{"hidden":true}"#, 0, "Failed"),
        ("fail", r#"{"hidden":false}"#, 0, "out of paper"),
        ("flaky", "{}", 1, "busy"),
        ("panics", "{}", 0, "Failed"),
        ("slow", "{}", 0, "TimedOut { limit: 30 }"),
        ("block", "{}", 0, "done"),
        ("draw", "{}", 0, "image/png"),
        ("odd", "{}", 0, r#"\"ok\":true"#),
        ("report", "{}", 0, "Succeeded"),
        ("know", "{}", 0, "call_1"),
        ("delegate", "{}", 1, "waits for [\"Inner"),
        ("pay", r#"{"amount":5}"#, 1, "Denied"),
        ("tip", r#"{"amount":5}"#, 0, "Succeeded"),
        ("tip", r#"{"amount":50}"#, 1, "Denied"),
        ("Confirm", r#"{"what":"it"}"#, 1, "true"),
        ("book", r#"{"seats":4}"#, 1, "Succeeded"),
        ("book", r#"{"seats":0}"#, 1, "Succeeded"),
        ("book", r#"{"seats":3}"#, 1, "an even number"),
        ("limited", "{}", 0, "TimedOut { limit: 20 }"),
        ("guarded", r#"{"number":1}"#, 0, "Succeeded"),
        ("guarded", r#"{"number":12}"#, 1, "Denied"),
        ("guarded", r#"{"number":13}"#, 0, "not that"),
    ];
    for (name, arguments, runs, part) in calls {
        let (end, made) = agree(name, arguments, || Some(Person::denying("no").executing(["true"]))).await;
        let shown: String = arguments.chars().take(60).collect();
        assert_eq!((made, end.contains(part)), (runs, true), "{name} {shown}: {end}");
    }
}

#[tokio::test]
async fn a_call_that_asks_in_the_middle_goes_on_in_a_run() {
    let answers = || {
        let given = |value: Value| Decision::Answer { value };
        Some(Person::deciding([given(json!(5)), given(json!("red")), Decision::Approve]))
    };
    let (end, runs) = agree("ask", "{}", answers).await;
    assert!(runs == 1 && end.contains("7 5 red"), "{end}");
    let (_, seen, _) = made("ask", "{}", answers(), false).await;
    assert_eq!(seen.iter().filter(|did| *did == "begin").count(), 1, "the tool runs once");
    let (end, _) = agree("ask", "{}", || None).await;
    assert!(end.contains("Which size?"), "{end}");
    let denials = || Some(Person::deciding(["never", "no", "no"].map(Decision::deny)));
    let (end, _) = agree("ask", "{}", denials).await;
    assert!(end.contains("did not allow it: no"), "{end}");
}

#[tokio::test]
async fn a_call_that_waits_is_a_run_that_others_go_on_with() {
    let world = World::new();
    let agent = Agent::without_model(tools(&world)).front(Later);
    let Called::Waits(mut session) = agent.call("ask", "{}").await.unwrap() else { panic!("it asks") };
    for value in [json!(5), json!("red")] {
        let open = session.obligations().next().unwrap().id.clone();
        session.decide(&open, Decision::Answer { value }, Principal::anonymous()).await.unwrap();
        session.resume().await.unwrap();
    }
    let open = session.obligations().next().unwrap().id.clone();
    session.decide(&open, Decision::Approve, Principal::anonymous()).await.unwrap();
    session.resume().await.unwrap();
    assert!(session.run().calls()[0].result().unwrap().is_success());
    assert_eq!(session.run().calls()[0].steps().len(), 1, "the step is kept");
}

#[tokio::test]
async fn a_call_that_nobody_wants_any_more_is_given_up() {
    for heard in [false, true] {
        for by_drop in [false, true] {
            let (world, cancellation) = (World::new(), Cancellation::new());
            let agent = Agent::without_model(toolset!(Place(Arc::clone(&world)); hang));
            let agent = if heard { agent.hooks(|_: &Event<'_>| {}) } else { agent };
            let agent = agent.with_context(|cx| cx.with_cancellation(cancellation.clone()));
            let call = agent.call("hang", "{}");
            if by_drop {
                assert!(tokio::time::timeout(Duration::from_millis(20), call).await.is_err());
            } else {
                let cancel = async {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    cancellation.cancel();
                };
                let (called, ()) = tokio::join!(call, cancel);
                assert_eq!(called.unwrap_err().to_string(), "the run was cancelled");
            }
            until(|| world.count("dropped") == 1 && world.count("told") == 1).await;
        }
    }
}
