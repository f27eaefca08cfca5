//! Requests that nobody should send: nothing panics, nothing runs, and the server goes on.

use axum::Router;
use proptest::{collection::vec, prelude::*};
use serde_json::{Value, json};
use tool_runtime::{Agent, Toolset, model::FunctionModel};
use tool_server::protocol::ag_ui::{Check, ClientTools, Plan, RunInput};
use tool_server::{AgUi, Server};

use crate::{
    kit::{input, post, user},
    model::play,
    tools::tools,
};

fn server() -> Router {
    let agent = Agent::new(FunctionModel::streaming(play)).tools(tools());
    Server::new(agent).ag_ui(AgUi::new()).body_limit(1 << 20).router()
}

/// Any JSON, with the names that mean something here.
fn any_json() -> impl Strategy<Value = Value> {
    let names = prop::sample::select(vec![
        "threadId",
        "runId",
        "messages",
        "role",
        "content",
        "toolCalls",
        "function",
        "name",
        "arguments",
        "id",
        "type",
        "text",
        "source",
        "value",
        "mimeType",
        "toolCallId",
        "error",
        "tools",
        "parameters",
        "description",
        "resume",
        "interruptId",
        "status",
        "payload",
        "approved",
        "context",
        "state",
        "__proto__",
    ]);
    let texts = prop::sample::select(vec![
        "user",
        "assistant",
        "tool",
        "system",
        "developer",
        "reasoning",
        "activity",
        "text",
        "image",
        "data",
        "url",
        "function",
        "resolved",
        "cancelled",
        "call_1.1",
        "call_1",
        "",
        "\u{0}",
        "binary",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        texts.prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 64, 6, move |inner| {
        prop_oneof![
            vec(inner.clone(), 0..6).prop_map(Value::from),
            vec((names.clone(), inner), 0..8).prop_map(|members| members
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value))
                .collect::<serde_json::Map<_, _>>()
                .into()),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]
    #[test]
    fn any_body_is_read_or_refused(body in vec(any::<u8>(), 0..200)) {
        let _ = RunInput::read(&body);
    }

    #[test]
    fn any_json_is_read_or_refused(messages in vec(any_json(), 0..6), tools in vec(any_json(), 0..3), resume in vec(any_json(), 0..3)) {
        let body = json!({ "threadId": "t", "runId": "r", "messages": messages, "tools": tools, "resume": resume });
        if let Ok(input) = RunInput::read(body.to_string().as_bytes()) {
            let _ = Plan::new(None, &input, &Toolset::new());
            let _ = ClientTools::new(&input.tools, Check::Gate);
        }
    }
}

#[tokio::test]
async fn a_request_that_is_too_large_is_refused() {
    let answer = post(&server(), vec![b' '; (1 << 20) + 1]).await;
    assert_eq!(answer.status, 413, "{}", answer.text);
}

#[tokio::test]
async fn what_is_nested_too_deep_is_refused() {
    for open in ["[", "{\"a\":"] {
        let body = format!("{{\"threadId\":\"t\",\"runId\":\"r\",\"messages\":[],\"state\":{}", open.repeat(100_000));
        assert_eq!(post(&server(), body).await.status, 400);
    }
}

#[tokio::test]
async fn conversations_have_usable_names() {
    for thread in ["", &"x".repeat(300), "a\u{0}b", "a\nb"] {
        let answer = post(&server(), input(thread, &json!([user("m", "x")]), &json!({}))).await;
        assert_eq!(answer.status, 400, "{}", answer.text);
    }
}

#[tokio::test]
async fn tools_that_cannot_be_are_refused() {
    let many: Vec<_> = (0..600).map(|number| json!({ "name": format!("t{number}"), "description": "" })).collect();
    let answer = post(&server(), input("t", &json!([user("m", "x")]), &json!({ "tools": many }))).await;
    assert_eq!(answer.status, 422, "{}", answer.text);
    let shadowing = json!([{ "name": "fine", "description": "a better one" }]);
    let answer = post(&server(), input("t", &json!([user("m", "x")]), &json!({ "tools": shadowing }))).await;
    assert_eq!(answer.status, 422, "{}", answer.text);
    let nameless = json!([{ "name": "", "description": "" }]);
    let answer = post(&server(), input("t", &json!([user("m", "x")]), &json!({ "tools": nameless }))).await;
    assert_eq!(answer.status, 422, "{}", answer.text);
}

#[tokio::test]
async fn a_schema_that_explodes_costs_nothing() {
    let mut schema = json!({ "type": "string", "pattern": "(a+)+$" });
    for _ in 0..30 {
        schema = json!({ "anyOf": [schema.clone(), { "not": { "properties": { "a": { "type": "array" } } } }] });
    }
    let tools = json!([{ "name": "x", "description": "", "parameters": schema }]);
    let began = std::time::Instant::now();
    let answer = post(&server(), input("t", &json!([user("m", "x")]), &json!({ "tools": tools }))).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert!(began.elapsed().as_secs() < 10);
}
