//! Tests of the model that calls every tool with made-up arguments.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex},
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tool_runtime::{
    Agent, Toolset,
    agent::{RepairedCall, Session},
    run::CallResult,
    test::{EveryToolModel, Person},
    tool, toolset,
};

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Item {
    #[schemars(length(min = 2, max = 8))]
    name: String,
    #[schemars(range(min = 1, max = 9))]
    count: u8,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Payment {
    Card { number: String },
    Cash,
}

/// Order items.
#[tool(approval = always)]
fn order(
    #[arg(length(1..=3))] items: Vec<Item>,
    payment: Payment,
    #[arg(format = "date")] day: String,
    #[arg(pattern = "^[A-Z]{2}-[0-9]{3,}$")] voucher: Option<String>,
    #[state] done: &Mutex<Vec<String>>,
) -> usize {
    let _ = (payment, voucher);
    done.lock().unwrap().push(format!("order for {day}"));
    items.len()
}

/// Set a temperature.
#[tool]
fn set_temperature(
    #[arg(range(-20.0..=40.5))] degrees: f64,
    #[arg(range(1..10))] room: u32,
    #[state] done: &Mutex<Vec<String>>,
) {
    done.lock().unwrap().push(format!("room {room}"));
    let _ = degrees;
}

/// An even number. The schema does not say so.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "i64")]
struct Even(i64);

impl TryFrom<i64> for Even {
    type Error = &'static str;

    fn try_from(n: i64) -> Result<Self, Self::Error> {
        if n % 2 == 0 { Ok(Self(n)) } else { Err("an odd number") }
    }
}

/// Halve an even number.
#[tool]
fn halve(n: Even) -> i64 {
    n.0 / 2
}

async fn call_all(model: &EveryToolModel, tools: Toolset) -> Session {
    let mut session = Agent::new(model.clone()).tools(tools).operator(Person::approving()).session();
    let reply = session.send("Go.").await.unwrap();
    assert_eq!(reply.text, "Every tool was called.");
    session
}

/// Returns the message with which `assert_rejections` panics.
fn disagreement(model: &EveryToolModel, session: &Session) -> String {
    let panic = catch_unwind(AssertUnwindSafe(|| model.assert_rejections(session.run()))).unwrap_err();
    *panic.downcast::<String>().unwrap()
}

#[tokio::test]
async fn each_tool_runs_once_with_valid_arguments() {
    let done = Arc::new(Mutex::new(Vec::new()));
    for round in 0..10 {
        let model = EveryToolModel::new().round(round);
        let session = call_all(&model, toolset!(Arc::clone(&done); order, set_temperature)).await;
        model.assert_rejections(session.run());
        let names: Vec<&str> = session.run().calls().iter().map(|call| call.name.as_str()).collect();
        assert_eq!(names, ["order", "set_temperature"]);
        assert_eq!(done.lock().unwrap().drain(..).count(), 2);
    }
}

#[tokio::test]
async fn calls_that_miss_a_limit_are_rejected_and_run_nothing() {
    let done = Arc::new(Mutex::new(Vec::new()));
    let model = EveryToolModel::new().with_near_misses();
    let session = call_all(&model, toolset!(Arc::clone(&done); order, set_temperature)).await;
    model.assert_rejections(session.run());
    let calls = session.run().calls();
    let rejected = calls.iter().filter(|call| matches!(call.result(), Some(CallResult::Rejected { .. }))).count();
    assert_eq!(rejected, calls.len() - 2);
    let texts: Vec<&str> = calls.iter().map(|call| &*call.arguments().text).collect();
    for limit in [
        r#""room":0"#,
        r#""room":10"#,
        "40.50000000000001",
        "-20.000000000000004",
        r#""items":[]"#,
        r#""unknown":null"#,
    ] {
        assert!(texts.iter().any(|text| text.contains(limit)), "no call with {limit}: {texts:#?}");
    }
    assert_eq!(done.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn a_tool_that_rejects_what_its_schema_allows_is_reported() {
    let odd = EveryToolModel::new().arguments("halve", json!({"n": 3}));
    let session = call_all(&odd, toolset!(halve)).await;
    let message = disagreement(&odd, &session);
    assert!(message.contains(r#"halve {"n":3}: rejected, but the schema allows it"#), "{message}");
    assert!(message.contains("an odd number"), "{message}");
    let even = EveryToolModel::new().with_near_misses().arguments("halve", json!({"n": 4}));
    let session = call_all(&even, toolset!(halve)).await;
    even.assert_rejections(session.run());
}

#[tokio::test]
async fn a_call_that_should_have_been_rejected_is_reported() {
    let model = EveryToolModel::new().with_near_misses().arguments("halve", json!({"n": 4}));
    let agent = Agent::new(model.clone()).tools(toolset!(halve));
    let mut session = agent.repair(|_| async { Some(RepairedCall::arguments(r#"{"n":8}"#)) }).session();
    session.send("Go.").await.unwrap();
    let message = disagreement(&model, &session);
    assert!(message.contains(r#"halve {"n":"text"}: not rejected, but it misses `type` at "/n""#), "{message}");
}

#[tokio::test]
async fn a_call_that_was_not_made_is_reported() {
    let model = EveryToolModel::new().with_near_misses();
    let done = Arc::new(Mutex::new(Vec::new()));
    let agent = Agent::new(model.clone()).tools(toolset!(done; order, set_temperature)).max_steps(1);
    let mut session = agent.session();
    session.send("Go.").await.unwrap();
    assert!(disagreement(&model, &session).contains("the run ended before this call"));
}
