//! Tests of calls without a conversation: each has its own run.

mod tools;

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering::SeqCst},
};

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tool_runtime::{
    Agent, Cancellation, Context,
    agent::{
        ApprovalRequest, CallOutcome, Decision, Event, ExternalCall, Observer, Operator, QuestionRequest, Suspend,
    },
    run::Principal,
    toolset,
};

use crate::kit::{Effects, Person, wait_until};
use tools::{SharedEffects, hang, tools};

/// An observer and operator for one call.
#[derive(Clone)]
struct Watch {
    person: Option<Person>,
    lines: Arc<Mutex<Vec<String>>>,
    runs: Arc<AtomicUsize>,
}

impl Observer for Watch {
    fn on_event(&self, event: Event<'_>) {
        match event {
            Event::RunStarted(_) => drop(self.runs.fetch_add(1, SeqCst)),
            Event::CallProgress(progress) => self.lines.lock().unwrap().push(format!("{progress:?}")),
            _ => {}
        }
    }
}

impl Operator for Watch {
    fn can_decide(&self) -> bool {
        self.person.is_some()
    }

    fn approve<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, Decision> {
        self.record(format!("{:?}", request.interrupt.shown));
        self.person.as_ref().map_or_else(|| Suspend.approve(request), |person| person.approve(request))
    }

    fn execute<'a>(&'a self, call: &'a ExternalCall) -> BoxFuture<'a, Option<String>> {
        self.record(call.arguments.to_string());
        self.person.as_ref().map_or_else(|| Suspend.execute(call), |person| person.execute(call))
    }

    fn answer<'a>(&'a self, request: &'a QuestionRequest) -> BoxFuture<'a, Decision> {
        self.record(format!("{:?} {:?}", request.question, request.call_id));
        self.person.as_ref().map_or_else(|| Suspend.answer(request), |person| person.answer(request))
    }
}

impl Watch {
    fn new(person: Option<Person>) -> Self {
        Self { person, lines: Arc::default(), runs: Arc::default() }
    }

    fn record(&self, what: String) {
        self.lines.lock().unwrap().push(what);
    }
}

/// Makes a call. Returns its end, the effects of the tool, the events and requests, and the number of runs.
async fn make_call(
    name: &str,
    arguments: &str,
    person: Option<Person>,
    has_hooks: bool,
) -> (String, Vec<String>, usize) {
    let (effects, watch) = (Effects::new(), Watch::new(person));
    let agent =
        Agent::tools_only(tools(&effects)).instructions("Be brief.").observer(watch.clone()).operator(watch.clone());
    let agent = agent.edit_context(|cx: Context| cx.with_principal("anna").with(7_u8).with_taint(["old".to_owned()]));
    let agent = if has_hooks { agent.hook(|_| {}) } else { agent };
    let end = match agent.call(name, arguments).await {
        Ok(CallOutcome::Ended(ended)) => {
            format!("{:?} {:?} {:?}", ended.result, ended.extent, ended.for_model())
        }
        Ok(CallOutcome::Waits(session)) => {
            let open: Vec<String> =
                session.interrupts().map(|open| format!("{:?} {:?}", open.kind, open.shown)).collect();
            // Times differ in each run.
            format!("waits for {open:?}").replace(|digit: char| digit.is_ascii_digit(), "")
        }
        Err(error) => error.to_string(),
    };
    let mut seen = effects.all();
    seen.append(&mut watch.lines.lock().unwrap());
    (end, seen, watch.runs.load(SeqCst))
}

/// Makes a call without and with hooks. Asserts that hooks do not change its end and that it takes one run, and returns its end.
async fn call_both_ways(name: &str, arguments: &str, person: impl Fn() -> Option<Person>) -> String {
    let (end, seen, runs) = make_call(name, arguments, person(), false).await;
    let (hooked, seen_hooked, hooked_runs) = make_call(name, arguments, person(), true).await;
    assert_eq!((&end, &seen, runs), (&hooked, &seen_hooked, hooked_runs), "{name} {arguments}");
    assert_eq!(runs, 1, "{name} {arguments}");
    end
}

#[tokio::test]
async fn each_call_ends_like_a_call_of_a_model() {
    let deep = format!("{}1{}", "[".repeat(200), "]".repeat(200));
    let large = format!(r#"{{"number":"{}"}}"#, "x".repeat(5 * 1024 * 1024));
    // Each call, with a part of its end.
    let calls = [
        ("double", r#"{"number":21}"#, "\"42\""),
        ("double", "", "Rejected"),
        ("double", r#"{"number":"x","extra":1}"#, "Rejected"),
        ("double", "{", "Rejected"),
        ("double", &deep, "nested too deeply"),
        ("double", &large, "the limit is 4194304 bytes"),
        ("doubl", "{}", "did you mean"),
        ("fail", r#"{"hidden":true}"#, "Failed"),
        ("fail", r#"{"hidden":false}"#, "out of paper"),
        ("flaky", "{}", "busy"),
        ("panics", "{}", "Failed"),
        ("slow", "{}", "TimedOut { limit: 30 }"),
        ("block", "{}", "done"),
        ("draw", "{}", "image/png"),
        ("odd", "{}", r#"\"ok\":true"#),
        ("report", "{}", "Succeeded"),
        ("know", "{}", "call_1"),
        ("delegate", "{}", "waits for [\"Inner"),
        ("pay", r#"{"amount":5}"#, "Denied"),
        ("tip", r#"{"amount":5}"#, "Succeeded"),
        ("tip", r#"{"amount":50}"#, "Denied"),
        ("Confirm", r#"{"what":"it"}"#, "true"),
        ("book", r#"{"seats":4}"#, "Succeeded"),
        ("book", r#"{"seats":0}"#, "Succeeded"),
        ("book", r#"{"seats":3}"#, "an even number"),
        ("limited", "{}", "TimedOut { limit: 20 }"),
        ("guarded", r#"{"number":1}"#, "Succeeded"),
        ("guarded", r#"{"number":12}"#, "Denied"),
        ("guarded", r#"{"number":13}"#, "not that"),
    ];
    for (name, arguments, part) in calls {
        let end = call_both_ways(name, arguments, || Some(Person::denying("no").executing(["true"]))).await;
        let shown: String = arguments.chars().take(60).collect();
        assert!(end.contains(part), "{name} {shown}: {end}");
    }
}

#[tokio::test]
async fn a_call_that_asks_in_the_middle_runs_once() {
    let answers = || {
        let given = |value: Value| Decision::Answer { value };
        Some(Person::deciding([given(json!(5)), given(json!("red")), Decision::Approve]))
    };
    let end = call_both_ways("ask", "{}", answers).await;
    assert!(end.contains("7 5 red"), "{end}");
    let (_, seen, _) = make_call("ask", "{}", answers(), false).await;
    assert_eq!(seen.iter().filter(|did| *did == "begin").count(), 1, "the tool runs once");
    let end = call_both_ways("ask", "{}", || None).await;
    assert!(end.contains("Which size?"), "{end}");
    let denials = || Some(Person::deciding(["never", "no", "no"].map(Decision::deny)));
    let end = call_both_ways("ask", "{}", denials).await;
    assert!(end.contains("did not allow it: no"), "{end}");
}

#[tokio::test]
async fn a_call_that_waits_is_a_run_that_a_session_continues() {
    let effects = Effects::new();
    let agent = Agent::tools_only(tools(&effects)).operator(Suspend);
    let CallOutcome::Waits(mut session) = agent.call("ask", "{}").await.unwrap() else {
        panic!("the call did not wait")
    };
    for value in [json!(5), json!("red")] {
        let open = session.interrupts().next().unwrap().id.clone();
        session.decide(&open, Decision::Answer { value }, Principal::anonymous()).await.unwrap();
        session.resume().await.unwrap();
    }
    let open = session.interrupts().next().unwrap().id.clone();
    session.decide(&open, Decision::Approve, Principal::anonymous()).await.unwrap();
    session.resume().await.unwrap();
    assert!(session.run().calls()[0].result().unwrap().is_success());
    assert_eq!(session.run().calls()[0].steps().len(), 1, "the run keeps the step");
}

#[tokio::test]
async fn a_call_without_a_caller_is_cancelled() {
    for has_hooks in [false, true] {
        for by_drop in [false, true] {
            let (effects, cancellation) = (Effects::new(), Cancellation::new());
            let agent = Agent::tools_only(toolset!(SharedEffects(Arc::clone(&effects)); hang));
            let agent = if has_hooks { agent.hook(|_| {}) } else { agent };
            let agent = agent.edit_context(|cx| cx.with_cancellation(cancellation.clone()));
            let (call, begins) = (agent.call("hang", "{}"), wait_until(|| effects.count("begins") == 1));
            if by_drop {
                tokio::select! {
                    called = call => panic!("the call ended: {called:?}"),
                    () = begins => {}
                }
            } else {
                let cancel = async {
                    begins.await;
                    cancellation.cancel();
                };
                let (called, ()) = tokio::join!(call, cancel);
                assert_eq!(called.unwrap_err().to_string(), "the run was cancelled");
            }
            wait_until(|| effects.count("dropped") == 1 && effects.count("cancelled") == 1).await;
        }
    }
}
