//! Tests of guarantees 9 to 12 and 14: cut turns, limits, hidden tools, and panics.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use futures_util::future::BoxFuture;
use serde_json::json;
use tool_runtime::{
    Agent, AgentError, Failure,
    agent::{ApprovalRequest, Decision, Event, Observer, Operator, Session, Suspend},
    model::{FinishReason, ScriptedModel, Turn, Usage},
    run::{AbortCause, CallResult, OnPrompt, Phase, Refusal, StopReason},
    tool, toolset,
    toolset::{Permission, PolicyCall},
};
use tool_test_kit::AllAndSome as _;

use crate::kit::{
    Effects, Events, OnBackend as _, Person, call_results, payments, send_and_resume, sleep_millis, tool_results,
    tools, wait_until,
};

/// Looks early.
#[tool(effect = read_only, eager)]
async fn early(
    /// The item.
    what: String,
    #[state] effects: &Effects,
) -> String {
    effects.record(format!("early {what}"));
    what
}

/// Fails in a way that may pass.
#[tool(effect = read_only, retries = 9)]
async fn flaky(#[state] effects: &Effects) -> Result<(), Failure> {
    effects.record("flaky");
    Err(Failure::new("busy").retryable())
}

/// Runs until three calls have run at once, and a moment longer. It counts the calls that run at once.
#[tool(effect = read_only)]
async fn busy(#[state] gauge: &Gauge) -> usize {
    let now = gauge.now.fetch_add(1, Ordering::SeqCst) + 1;
    gauge.most.fetch_max(now, Ordering::SeqCst);
    wait_until(|| gauge.most.load(Ordering::SeqCst) >= 3).await;
    sleep_millis(20).await;
    gauge.now.fetch_sub(1, Ordering::SeqCst);
    now
}

#[derive(Default)]
struct Gauge {
    now: AtomicUsize,
    most: AtomicUsize,
}

/// Returns a session of an agent with the given change.
fn session(
    turns: impl IntoIterator<Item = Turn>,
    tools: tool_runtime::Toolset,
    change: impl FnOnce(Agent) -> Agent,
) -> Session {
    change(Agent::new(ScriptedModel::new(turns)).tools(tools).observer(Events::new()).operator(Suspend))
        .anywhere()
        .session()
}

#[tokio::test]
async fn s09_a_cut_or_filtered_turn_executes_only_complete_eager_calls() {
    let all = [
        (FinishReason::Length, AbortCause::Length),
        (FinishReason::ContentFilter, AbortCause::ContentFilter),
        (FinishReason::Other("odd".into()), AbortCause::UnfinishedTurn),
    ];
    for (finish, by) in all {
        let effects = Effects::new();
        let turn = Turn::call("early", json!({"what": "a"}))
            .then_call("early", json!({"what": 1}))
            .then_call("note", json!({"text": "b"}))
            .then_call("pay", json!({"amount": 5}))
            .then_call("early", json!({"what": "behind another"}))
            .then_call("early", "{\"what\":\"cu")
            .with_finish(finish.clone());
        let tools = tools(&effects).merge(toolset!(Arc::clone(&effects); early)).unwrap();
        let mut session = session([turn], tools, |agent| agent);
        assert_eq!(session.send("go").await.unwrap().phase, Phase::Stopped(StopReason::TurnCut(finish)));
        // The turn may be cut before the call starts.
        assert!(effects.all().iter().all(|did| did == "early a"), "{:?}", effects.all());
        let ends = call_results(&session);
        assert_eq!(ends.len(), 6, "every call is answered");
        for end in &ends[2..] {
            assert_eq!(*end, CallResult::Aborted { by });
        }
        assert!(
            tool_results(&session)[2..].iter().all_and_some(|result| result.ends_with("it did not run")),
            "{:?}",
            tool_results(&session)
        );
    }
}

#[tokio::test]
async fn s09_incomplete_or_wrong_arguments_reach_no_policy() {
    let (effects, asked) = (Effects::new(), Arc::new(AtomicUsize::new(0)));
    let count = Arc::clone(&asked);
    let turn = Turn::call("pay", "{\"amount\":5").then_call("pay", json!({"amount": 1000})).then_call("pay", "[]");
    let mut session = session([turn, Turn::say("ok")], tools(&effects), |agent| {
        agent.policy(move |_: &PolicyCall<'_>| {
            count.fetch_add(1, Ordering::SeqCst);
            Permission::Allow
        })
    });
    session.send("go").await.unwrap();
    assert!(call_results(&session).iter().all_and_some(|end| matches!(end, CallResult::Rejected { .. })));
    assert_eq!((asked.load(Ordering::SeqCst), effects.all().len()), (0, 0));
}

#[tokio::test]
async fn s10_size_and_depth_of_arguments_are_bounded() {
    let effects = Effects::new();
    let deep = format!("{{\"text\":{}{}}}", "[".repeat(50), "]".repeat(50));
    let turn = Turn::call("note", json!({"text": "x".repeat(200)}))
        .then_call("note", deep)
        .then_call("note", json!({"text": "ok"}));
    let mut session = session([turn, Turn::say("ok")], tools(&effects), |agent| {
        agent.options(|options| (options.limits.argument_bytes, options.limits.argument_depth) = (150, 20))
    });
    session.send("go").await.unwrap();
    let tool_results = tool_results(&session);
    assert_eq!(tool_results[0], "the arguments are too large: the limit is 150 bytes; it did not run");
    assert_eq!(tool_results[1], "the arguments are nested too deeply: the limit is 20 levels; it did not run");
    assert_eq!(effects.all(), ["note ok"]);
    assert_eq!(&*session.run().calls()[0].arguments().text, "", "arguments that are too large are not stored");
}

#[tokio::test]
async fn s10_a_conversation_that_is_too_large_stops() {
    let effects = Effects::new();
    let turns = (0..9).map(|_| Turn::call("note", json!({"text": "x".repeat(500)})));
    let mut session =
        session(turns, tools(&effects), |agent| agent.options(|options| options.limits.message_bytes = 1200));
    let stopped = session.send("go").await.unwrap().phase;
    assert_eq!(stopped, Phase::Stopped(StopReason::LimitReached("the conversation has more than 1200 bytes".into())));
    assert_eq!(effects.all().len(), 3);
}

#[tokio::test]
async fn s10_results_count_before_the_next_request() {
    let effects = Effects::new();
    // The results alone exceed the limit: the model is not asked with them.
    let turns = [Turn::call("look", json!({"what": "a"})).then_call("look", json!({"what": "b".repeat(900)}))];
    let mut looking =
        session(turns, tools(&effects), |agent| agent.options(|options| options.limits.message_bytes = 1200));
    let stopped = looking.send("go").await.unwrap().phase;
    assert_eq!(stopped, Phase::Stopped(StopReason::LimitReached("the conversation has more than 1200 bytes".into())));
    assert_eq!(effects.count(&format!("look {}", "b".repeat(900))), 1, "the calls of the turn ran");

    // A conversation that is too large accepts nothing more, and does not grow.
    let messages = looking.run().messages().to_vec();
    for refused in [looking.resume().await, looking.send("And now?").await] {
        let refusal =
            Refusal::LimitReached { limit: "the conversation has more than 1200 bytes; begin another one".into() };
        assert!(matches!(&refused, Err(AgentError::Refused(found)) if *found == refusal), "{refused:?}");
    }
    assert_eq!(looking.run().messages(), messages);

    // A prompt that does not fit is refused, and one that fits is not.
    let turns = [Turn::call("note", json!({"text": "a"})), Turn::say("ok")];
    let mut writing =
        session(turns, tools(&effects), |agent| agent.options(|options| options.limits.message_bytes = 1200));
    let refused = writing.send("x".repeat(1201)).await;
    let refusal =
        Refusal::LimitReached { limit: "the conversation would have more than 1200 bytes; begin another one".into() };
    assert!(matches!(&refused, Err(AgentError::Refused(found)) if *found == refusal), "{refused:?}");
    assert_eq!(writing.send("x".repeat(1000)).await.unwrap().phase, Phase::Finished);
}

#[tokio::test]
async fn s10_prompts_that_wait_count_and_begin_no_turn_beyond_the_limit() {
    let effects = Effects::new();
    let turns = [payments(&[5]), Turn::say("x".repeat(1000)), Turn::say("never")];
    let mut session = session(turns, tools(&effects), |agent| {
        agent.options(|options| (options.on_prompt, options.limits.message_bytes) = (OnPrompt::Queue, 1200))
    });
    session.send("go").await.unwrap();
    assert_eq!(session.send("y".repeat(500)).await.unwrap().phase, Phase::Suspended);
    let refused = session.send("z".repeat(700)).await;
    assert!(matches!(&refused, Err(AgentError::Refused(Refusal::LimitReached { .. }))), "{refused:?}");
    let interrupt = session.interrupts().next().unwrap().id.clone();
    session.decide(&interrupt, Decision::Approve, "").await.unwrap();
    let stopped = session.resume().await.unwrap().phase;
    assert_eq!(stopped, Phase::Stopped(StopReason::LimitReached("the conversation has more than 1200 bytes".into())));
    assert_eq!(session.run().queue().len(), 1, "the prompt is kept, and began no turn");

    // A prompt that the run drops does not count any more.
    let mut cancelled = self::session([payments(&[5]), Turn::say("ok")], tools(&effects), |agent| {
        agent.options(|options| (options.on_prompt, options.limits.message_bytes) = (OnPrompt::Queue, 1200))
    });
    cancelled.send("go").await.unwrap();
    cancelled.send("y".repeat(1000)).await.unwrap();
    cancelled.cancel().await.unwrap();
    assert_eq!(cancelled.send("z".repeat(900)).await.unwrap().phase, Phase::Finished);
}

#[tokio::test]
async fn s11_counts_of_a_provider_do_not_lift_the_limit_of_tokens() {
    let most = Usage { input_tokens: u64::MAX, output_tokens: u64::MAX, ..Usage::default() };
    let turn = |n: usize| Turn::call("look", json!({"what": n.to_string()})).with_usage(most);
    let effects = Effects::new();
    let mut one = session((0..9).map(turn), tools(&effects), |agent| agent.max_tokens(10));
    assert!(matches!(one.send("go").await.unwrap().phase, Phase::Stopped(StopReason::LimitReached(_))));
    assert_eq!(effects.all(), ["look 0"]);

    // With a limit that such counts do not exceed, the run sums several turns.
    let mut several = session((0..9).map(turn), tools(&effects), |agent| agent.max_tokens(u64::MAX).max_steps(3));
    assert!(matches!(several.send("go").await.unwrap().phase, Phase::Stopped(StopReason::LimitReached(_))));
    let small = Usage { input_tokens: 1, ..Usage::default() };
    let turns = [Turn::call("look", json!({"what": "c"})).with_usage(small), turn(3), Turn::say("no").with_usage(most)];
    let mut summed = session(turns, tools(&effects), |agent| agent.max_tokens(10));
    assert!(matches!(summed.send("go").await.unwrap().phase, Phase::Stopped(StopReason::LimitReached(_))));
    assert_eq!(summed.run().remaining().tokens, Some(0));
}

#[tokio::test]
async fn s11_calls_per_turn_and_per_run_are_capped() {
    let effects = Effects::new();
    let turn = || (0..3).fold(Turn::default(), |turn, n| turn.then_call("note", json!({"text": n.to_string()})));
    let mut session = session([turn(), turn(), Turn::say("ok")], tools(&effects), |agent| {
        agent.options(|options| (options.limits.calls_per_turn, options.limits.calls) = (2, 4))
    });
    session.send("go").await.unwrap();
    let tool_results = tool_results(&session);
    assert_eq!(tool_results[2], "at most 2 calls are run in one turn; it did not run");
    // Refused calls count too, so that a model cannot fill the log with them.
    assert_eq!(tool_results[4], "at most 4 calls are made in one run; it did not run");
    assert_eq!(effects.sorted(), ["note 0", "note 0", "note 1"]);
}

#[tokio::test]
async fn s11_calls_in_flight_open_interrupts_and_steps_are_capped() {
    let gauge = Arc::new(Gauge::default());
    let turn = (0..9).fold(Turn::default(), |turn, _| turn.then_call("busy", json!({})));
    let mut running =
        session([turn, Turn::say("ok")], toolset!(Arc::clone(&gauge); busy), |agent| agent.max_parallel_calls(3));
    running.send("go").await.unwrap();
    assert_eq!(gauge.most.load(Ordering::SeqCst), 3);
    assert_eq!(call_results(&running).len(), 9);

    let effects = Effects::new();
    let mut waiting = session([payments(&[1, 2, 3]), Turn::say("ok")], tools(&effects), |agent| {
        agent.options(|options| options.limits.open_interrupts = 2)
    });
    waiting.send("go").await.unwrap();
    assert_eq!(waiting.interrupts().count(), 2);
    assert!(
        matches!(&call_results(&waiting)[..], [CallResult::LimitReached { limit }] if limit.contains("too many calls wait"))
    );

    let endless = (0..9).map(|_| Turn::call("look", json!({"what": "a"})));
    let mut steps = session(endless, tools(&effects), |agent| agent.max_steps(3));
    let reply = steps.send("go").await.unwrap();
    assert_eq!((reply.steps, reply.phase), (3, Phase::Stopped(StopReason::StepLimit)));
}

#[tokio::test]
async fn s11_retries_draw_from_a_budget_of_the_run() {
    let effects = Effects::new();
    let turn = Turn::call("flaky", json!({})).then_call("flaky", json!({}));
    let mut session = session([turn, Turn::say("ok")], toolset!(Arc::clone(&effects); flaky), |agent| {
        agent.options(|options| options.limits.retries = 2)
    });
    session.send("go").await.unwrap();
    assert_eq!(effects.count("flaky"), 4, "two calls, and two retries of the run");
    assert_eq!(tool_results(&session), ["busy", "busy"]);
}

#[tokio::test]
async fn s12_hidden_tools_cannot_be_called_and_the_log_keeps_the_offer() {
    let effects = Effects::new();
    let (person, events) = (Person::deciding([]), Events::new());
    let turn = Turn::call("pay", json!({"amount": 5})).then_call("look", json!({"what": "nothing"}));
    // Only the process that drives has details that the log does not have.
    let details: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = Arc::clone(&details);
    let mut session = session([turn, Turn::say("ok")], tools(&effects).hide("pay"), |agent| {
        agent.observer(events.clone()).operator(person.clone()).hook(move |event| {
            if let Event::CallEnded { detail: Some(detail), .. } = event {
                seen.lock().unwrap().push((*detail).to_owned());
            }
        })
    });
    session.send("go").await.unwrap();
    assert!(matches!(call_results(&session)[0], CallResult::NotAvailable { .. }));
    let tool_results = tool_results(&session);
    assert_eq!(tool_results[1], "there is nothing");
    events.assert_order(&["failed: there is nothing"]);
    assert_eq!(*details.lock().unwrap(), ["there is nothing: \"the database at 10.0.0.7 is empty\""]);
    let kept = session.run().freeze();
    assert!(!kept.contains("10.0.0.7") && !format!("{:?}", session.messages()).contains("10.0.0.7"));
}

/// Panics.
#[tool]
async fn panics() -> i64 {
    panic!("secret detail")
}

/// Has a predicate that panics.
#[tool(approval = when(|_| panic!("predicate")))]
fn explodes(#[state] effects: &Effects) {
    effects.record("exploded");
}

struct PanickingUi;

impl Observer for PanickingUi {
    fn on_event(&self, _: Event<'_>) {
        panic!("the screen broke")
    }
}

impl Operator for PanickingUi {
    fn approve<'a>(&'a self, _: &'a ApprovalRequest) -> BoxFuture<'a, Decision> {
        panic!("the keyboard broke")
    }
}

#[tokio::test]
async fn s14_a_panic_ends_that_call_only() {
    let effects = Effects::new();
    let all = tools(&effects).merge(toolset!(Arc::clone(&effects); panics, explodes)).unwrap();
    let turn = Turn::call("panics", json!({}))
        .then_call("explodes", json!({}))
        .then_call("pay", json!({"amount": 5}))
        .then_call("note", json!({"text": "fine"}));
    let mut session =
        session([turn, Turn::say("on we go")], all, |agent| agent.observer(PanickingUi).operator(PanickingUi));
    let reply = send_and_resume(&mut session, "go").await;
    assert_eq!((reply.text.as_str(), reply.phase), ("on we go", Phase::Finished));
    assert_eq!(effects.all(), ["note fine"]);
    let tool_results = tool_results(&session);
    assert_eq!(
        tool_results[0], "the tool failed; it may have had effects",
        "the model does not receive the panic's text"
    );
    assert!(!tool_results[1].contains("predicate") && !call_results(&session)[1].is_success(), "{tool_results:?}");
    assert!(tool_results[2].starts_with("the call was denied, and did not run"), "{tool_results:?}");
}

#[tokio::test]
async fn s14_a_panicking_policy_asks_and_without_an_operator_denies() {
    let effects = Effects::new();
    let turn = || Turn::call("note", json!({"text": "a"})).then_call("look", json!({"what": "b"}));
    let policy = |call: &PolicyCall<'_>| {
        assert!(call.spec.name != "note", "the policy server is gone");
        Permission::Allow
    };
    let mut later = session([turn(), Turn::say("ok")], tools(&effects), |agent| agent.policy(policy));
    assert_eq!(later.send("go").await.unwrap().phase, Phase::Suspended);
    assert_eq!(effects.all(), ["look b"]);
    let mut never = session([turn(), Turn::say("ok")], tools(&effects), |agent| {
        agent.policy(policy).operator(tool_runtime::agent::DenyAll)
    });
    assert_eq!(send_and_resume(&mut never, "go").await.phase, Phase::Finished);
    assert_eq!(effects.all(), ["look b", "look b"]);
    assert!(matches!(call_results(&never)[0], CallResult::Denied { .. }));
}
