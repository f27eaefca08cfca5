//! Tests of checks that fail closed: approvals, deadlines, queues, external outputs and exact numbers.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tool_runtime::{
    Agent, CallError, Context, Output, Toolset,
    layer::{Idempotency, RateLimit, Timeout},
    model::{ScriptedModel, Turn},
    schema::Dialect,
    test::{Events, Person},
    tool,
    tool::ErasedTool,
    toolset,
    toolset::RuntimeTool,
};
use tool_test_kit::within_blocking;

/// Pays.
#[tool(approval = when(|input| 100 / input.amount > 1), challenge = "Pay {amount}?")]
fn pay(amount: u128) -> u128 {
    amount
}

/// Returns the milliseconds until the deadline.
#[tool(effect = read_only)]
fn time_left(#[context] cx: &Context) -> Option<u64> {
    cx.time_left().map(|left| u64::try_from(left.as_millis()).unwrap_or(u64::MAX))
}

/// Waits, and counts its runs.
#[tool]
async fn wait(ms: u64, #[state] runs: &AtomicUsize) -> usize {
    let run = runs.fetch_add(1, Ordering::SeqCst) + 1;
    tokio::time::sleep(Duration::from_millis(ms)).await;
    run
}

/// Waits, counts its runs, and may be called twice.
#[tool(idempotent)]
async fn wait_again(ms: u64, #[state] runs: &AtomicUsize) -> usize {
    let run = runs.fetch_add(1, Ordering::SeqCst) + 1;
    tokio::time::sleep(Duration::from_millis(ms)).await;
    run
}

/// Asks the person.
#[tool(external, output = String)]
struct Ask {}

async fn call(tools: &Toolset, name: &str, arguments: &str) -> Result<Output, CallError> {
    tools.call(name, arguments, &Context::new("c")).await
}

#[test]
fn a_predicate_that_panics_requires_an_approval() {
    let tools = toolset!(pay);
    let cx = Context::new("c");
    let needs_approval = |arguments: &str| tools.prepare("pay", arguments, &cx).now().unwrap().unwrap().needs_approval;
    assert!(needs_approval(r#"{"amount":0}"#), "the predicate divides by 0, and panics");
    assert!(needs_approval(r#"{"amount":3}"#) && !needs_approval(r#"{"amount":90}"#));
}

#[tokio::test]
async fn an_approval_shows_every_digit() {
    const AMOUNT: &str = "123456789012345678901234567890";
    let tools = toolset!(pay);
    let written = tools.get("pay").unwrap().spec().argument_texts(&format!("{{ \"amount\" :\n {AMOUNT} }}")).unwrap();
    assert_eq!(written, [("amount".to_owned(), AMOUNT.to_owned())]);

    let person = Person::approving();
    // The arguments are the model's own text. A `Value` would round the number.
    let turn = Turn::call("wire", format!(r#"{{"amount":{AMOUNT}}}"#));
    let agent = Agent::new(ScriptedModel::new(vec![turn, Turn::say("done")]))
        .tools(toolset!(wire))
        .observer(Events::new())
        .operator(person.clone());
    agent.session().send("pay").await.unwrap();
    let asked = person.approvals();
    assert_eq!(asked[0].argument_texts, [("amount".to_owned(), AMOUNT.to_owned())]);
    assert_eq!(asked[0].spec.challenge(&asked[0].argument_texts), Some(format!("Pay {AMOUNT}?")));
}

/// Pays, always with an approval.
#[tool(approval = always, challenge = "Pay {amount}?")]
fn wire(amount: u128) -> String {
    amount.to_string()
}

#[tokio::test]
async fn the_shortest_time_limit_is_the_deadline() {
    let tools = toolset!(time_left);
    assert_eq!(call(&tools, "time_left", "").await.unwrap().as_json(), Some("null"));
    let tools = tools.layer(Timeout::new(Duration::from_mins(5))).layer(Timeout::new(Duration::from_mins(50)));
    let left: u64 = call(&tools, "time_left", "").await.unwrap().decode().unwrap();
    assert!((240_000..=300_000).contains(&left), "{left}");
    let endless = toolset!(time_left).layer(Timeout::new(Duration::MAX));
    assert!(call(&endless, "time_left", "").await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_stops_waiting_leaves_the_queue() {
    let runs = Arc::new(AtomicUsize::new(0));
    let tools = toolset!(Arc::clone(&runs); wait).layer(RateLimit::new(1, Duration::from_secs(10)));
    let begin = tokio::time::Instant::now();
    assert!(call(&tools, "wait", r#"{"ms":0}"#).await.is_ok());
    for _ in 0..3 {
        let waiting = call(&tools, "wait", r#"{"ms":0}"#);
        assert!(tokio::time::timeout(Duration::from_secs(1), waiting).await.is_err());
    }
    assert!(call(&tools, "wait", r#"{"ms":0}"#).await.is_ok());
    assert_eq!(begin.elapsed().as_secs(), 10, "callers that stopped waiting do not delay the next call");
    assert_eq!(runs.load(Ordering::SeqCst), 2);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_call_does_not_run_twice() {
    let runs = Arc::new(AtomicUsize::new(0));
    let tools = toolset!(Arc::clone(&runs); wait, wait_again).layer(Idempotency::new(10));
    for name in ["wait", "wait_again"] {
        let dropped = call(&tools, name, r#"{"ms":100}"#);
        assert!(tokio::time::timeout(Duration::from_millis(10), dropped).await.is_err());
    }
    for _ in 0..2 {
        let refused = call(&tools, "wait", r#"{"ms":100}"#).await.unwrap_err();
        assert!(refused.to_string().contains("interrupted"), "{refused}");
    }
    assert_eq!(runs.load(Ordering::SeqCst), 2);
    assert!(call(&tools, "wait_again", r#"{"ms":100}"#).await.is_ok(), "an idempotent call may run again");
    assert!(call(&tools, "wait", r#"{"ms":101}"#).await.is_ok(), "a call with other arguments runs");
}

#[test]
fn external_outputs_are_limited_in_size_and_depth() {
    let free = RuntimeTool::new("free", "").external().unwrap();
    let tools = toolset!(Ask).with(free).unwrap().max_argument_bytes(100);
    assert!(tools.read_external_output("Ask", "\"yes\"").is_ok() && tools.read_external_output("free", "[1]").is_ok());
    for name in ["Ask", "free"] {
        let large = tools.read_external_output(name, &format!("\"{}\"", "x".repeat(100))).unwrap_err();
        assert!(large.to_string().contains("at most 100 bytes of output"), "{large}");
    }
    let tools = tools.max_argument_bytes(10_000);
    assert!(matches!(tools.read_external_output("free", &"[".repeat(5_000)), Err(CallError::Rejected(_))));
    assert!(matches!(tools.read_external_output("fre", "1"), Err(CallError::NotAvailable { .. })));
    assert!(matches!(toolset!(time_left).read_external_output("time_left", "1"), Err(CallError::NotExecuted)));
}

#[test]
fn an_invalid_keyword_is_not_sent() {
    let schema = json!({"type": "objekt", "properties": {"a": {"type": 3, "description": "The first."}, "b": 5}});
    let tool = RuntimeTool::new("odd", "Odd.").input(schema).handler(|given, _| async { Ok(given) }).unwrap();
    assert!(tool.warnings()[0].starts_with("arguments: ") && !tool.spec().options.unvalidated);
    let outline = json!({"type": "object", "properties": {"a": {"description": "The first."}, "b": {}}});
    assert_eq!(*tool.spec().input.neutral(), outline);
    for dialect in Dialect::ALL {
        let sent = tool.spec().input.lowered(dialect).json().get();
        assert!(!sent.contains("objekt"), "{dialect:?}: {sent}");
    }
}

#[tokio::test]
async fn a_schema_of_lists_takes_lists() {
    let schema = json!({"type": ["array", "null"], "items": {"type": "integer"}});
    let tool = RuntimeTool::new("sum", "Adds numbers.").input(schema).handler(|given, _| async { Ok(given) }).unwrap();
    let sent = tool.spec().input.lowered(Dialect::Portable).clone();
    let tools = Toolset::new().with(tool).unwrap();
    let cx = Context::new("call_1");
    for (written, taken) in [(r#"{"value":[1,2]}"#, "[1,2]"), (r#"{"value":null}"#, "null"), ("[3]", "[3]")] {
        assert_eq!(tools.call("sum", &sent.raise(written), &cx).await.unwrap().as_json(), Some(taken), "{written}");
    }
    for wrong in ["{}", r#"{"value":["1"]}"#, r#"["1"]"#, "1"] {
        let refused = tools.call("sum", &sent.raise(wrong), &cx).await.unwrap_err();
        assert!(matches!(refused, CallError::Rejected(_)), "{wrong}: {refused}");
    }
}

/// Comparing all pairs of branches as JSON would take minutes.
#[test]
fn a_union_of_thousands_is_lowered_and_checked_in_time() {
    let branch = |n: usize| json!({"type": "object", "properties": {"kind": {"const": n}, "v": {"type": "string"}}});
    let branches: Vec<Value> = (0..2_000).map(branch).collect();
    let schema = json!({"type": "object", "properties": {"a": {"anyOf": branches}}});
    within_blocking("a union of thousands", || {
        let tool = RuntimeTool::new("wide", "").input(schema).handler(|given, _| async { Ok(given) }).unwrap();
        assert!(!tool.spec().options.unvalidated, "{:?}", tool.warnings());
        for dialect in Dialect::ALL {
            tool.spec().input.lowered(dialect);
        }
        let tools = Toolset::new().with(tool).unwrap();
        let cx = Context::new("c");
        assert!(tools.prepare("wide", r#"{"a":{"kind":1999,"v":1}}"#, &cx).now().unwrap().is_err());
        assert!(tools.prepare("wide", r#"{"a":{"kind":1999,"v":"x"}}"#, &cx).now().unwrap().is_ok());
    });
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Verdict {
    ok: bool,
    problems: Vec<String>,
}

/// Judges.
#[tool(effect = read_only)]
fn judge(ok: bool) -> Verdict {
    Verdict { ok, problems: vec!["too late".into()] }
}

#[tokio::test]
async fn an_output_that_looks_like_a_refusal_is_wrapped() {
    let tools = toolset!(judge);
    let output = call(&tools, "judge", r#"{"ok":false}"#).await.unwrap();
    assert_eq!(output.text(), r#"{"ok":true,"value":{"ok":false,"problems":["too late"]}}"#);
    assert_eq!(output.as_json(), Some(r#"{"ok":false,"problems":["too late"]}"#), "the application receives the value");
    let output = call(&tools, "judge", r#"{"ok":true}"#).await.unwrap();
    assert_eq!(output.text(), r#"{"ok":true,"problems":["too late"]}"#);
}
