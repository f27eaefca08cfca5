//! Tests of a toolset as a server of the revision without sessions: the client keeps the sealed state of unfinished calls.

use std::sync::atomic::{AtomicUsize, Ordering};

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ElicitResult, InputRequiredResult, InputResponses, ServerNotification,
    SubscriptionFilter,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tool_runtime::{Context, Failure, Toolset, tool, toolset};
use tool_server::mcp::McpServer;

use crate::mcp::kit::{Client, Person, client, params, text};

static SENT: AtomicUsize = AtomicUsize::new(0);

/// Send money.
#[tool(effect = destructive, approval = always)]
fn send_money(
    /** The amount. */
    amount: u32,
) -> String {
    SENT.fetch_add(1, Ordering::SeqCst);
    format!("{amount} sent")
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct UserName {
    name: String,
}

/// Greet the user in two steps.
#[tool(effect = read_only)]
async fn greet(#[context] cx: &Context) -> Result<String, Failure> {
    let UserName { name } = cx.ask("Who?").await?;
    cx.request_approval(format!("Greet {name}?")).await?;
    Ok(format!("Hello, {name}!"))
}

/// Add up numbers.
#[tool(effect = read_only)]
fn add_up(
    /** The numbers. */
    numbers: Vec<i64>,
) -> i64 {
    numbers.iter().sum()
}

fn tools() -> Toolset {
    toolset!(send_money, greet, add_up)
}

/// Connects a client of the revision without sessions.
async fn connect(server: &McpServer) -> Client {
    let person: fn(&str) -> ElicitResult = |_| unreachable!("in this revision a server asks with its result");
    client(server, Person::new(Some(person)), true).await
}

/// Returns the result, which must ask for input.
fn expect_input_required(response: CallToolResponse) -> InputRequiredResult {
    match response {
        CallToolResponse::InputRequired(result) => result,
        other => panic!("{other:?}"),
    }
}

/// Returns the error flag and the text of the result, which must be complete.
fn expect_complete(response: CallToolResponse) -> (bool, String) {
    match response {
        CallToolResponse::Complete(result) => (result.is_error == Some(true), text(&result)),
        other => panic!("{other:?}"),
    }
}

/// Returns the call with the accepted form `content`.
fn retry(call: CallToolRequestParams, result: &InputRequiredResult, content: &Value) -> CallToolRequestParams {
    let key = result.input_requests.as_ref().unwrap().keys().next().unwrap().clone();
    let mut call = call;
    call.request_state = result.request_state.clone();
    call.input_responses = Some(InputResponses::from([(key, json!({ "action": "accept", "content": content }))]));
    call
}

#[tokio::test]
async fn an_approval_comes_back_with_the_sealed_call_and_counts_once() {
    let server = McpServer::new(tools());
    let client = connect(&server).await;
    let call = || params("send_money", json!({ "amount": 5 }));
    let first = expect_input_required(client.call_tool_once(call()).await.unwrap());
    assert_eq!(SENT.load(Ordering::SeqCst), 0);
    let approved = retry(call(), &first, &json!({ "decision": "approve" }));
    assert_eq!(expect_complete(client.call_tool_once(approved.clone()).await.unwrap()), (false, "5 sent".to_owned()));
    // This client and another send the same request again.
    let other = connect(&server).await;
    for client in [&client, &other] {
        let refused = client.call_tool_once(approved.clone()).await.unwrap_err().to_string();
        assert!(refused.contains("-32602") && refused.contains("used before"), "{refused}");
    }
    assert_eq!(SENT.load(Ordering::SeqCst), 1);

    // Fifty requests at once have one effect.
    let second = expect_input_required(client.call_tool_once(call()).await.unwrap());
    let approved = retry(call(), &second, &json!({ "decision": "approve" }));
    let all = (0..50).map(|_| client.call_tool_once(approved.clone()));
    let results = futures_util::future::join_all(all).await;
    assert_eq!(results.iter().filter(|result| result.is_ok()).count(), 1);
    assert_eq!(SENT.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_state_counts_unchanged_for_its_call_and_server_only() {
    let server = McpServer::new(tools());
    let client = connect(&server).await;
    let call = || params("send_money", json!({ "amount": 7 }));
    let approve = json!({ "decision": "approve" });
    let sealed = expect_input_required(client.call_tool_once(call()).await.unwrap());
    let state = sealed.request_state.clone().unwrap();
    let mut tampered = retry(call(), &sealed, &approve);
    let other = if state.ends_with('A') { 'B' } else { 'A' };
    tampered.request_state = Some(format!("{}{other}", &state[..state.len() - 1]));
    let dearer = retry(params("send_money", json!({ "amount": 7_000_000 })), &sealed, &approve);
    let foreign = retry(call(), &sealed, &approve);
    let elsewhere = connect(&McpServer::new(tools())).await;
    assert!(client.call_tool_once(tampered).await.is_err());
    assert!(elsewhere.call_tool_once(foreign).await.is_err(), "another process has another key");
    let refused = client.call_tool_once(dearer).await.unwrap_err().to_string();
    assert!(refused.contains("another call"), "{refused}");
}

static MOVED: AtomicUsize = AtomicUsize::new(0);

/// Move money, which takes a while.
#[tool(effect = destructive, approval = always)]
async fn move_money(
    /** The amount. */
    amount: u32,
) -> String {
    for _ in 0..5 {
        tokio::task::yield_now().await;
    }
    MOVED.fetch_add(1, Ordering::SeqCst);
    format!("{amount} moved")
}

#[tokio::test]
async fn a_lost_connection_uses_up_no_approval() {
    for turns in 0..40 {
        let before = MOVED.load(Ordering::SeqCst);
        let client = connect(&McpServer::new(toolset!(move_money))).await;
        let call = || params("move_money", json!({ "amount": 5 }));
        let first = expect_input_required(client.call_tool_once(call()).await.unwrap());
        // An invalid request spends nothing, either.
        let dearer = retry(params("move_money", json!({ "amount": 6 })), &first, &json!({ "decision": "approve" }));
        assert!(client.call_tool_once(dearer).await.unwrap_err().to_string().contains("another call"));
        let approved = retry(call(), &first, &json!({ "decision": "approve" }));
        let mut lost = Box::pin(client.call_tool_once(approved.clone()));
        assert!(futures_util::future::poll_immediate(&mut lost).await.is_none());
        for _ in 0..turns {
            tokio::task::yield_now().await;
        }
        drop(lost);
        for _ in 0..200 {
            tokio::task::yield_now().await;
        }
        let between = MOVED.load(Ordering::SeqCst) - before;
        let second = client.call_tool_once(approved).await;
        assert_eq!(MOVED.load(Ordering::SeqCst) - before, 1, "{turns} turns: {between} before, then {second:?}");
    }
}

#[tokio::test]
async fn a_denial_ends_the_call_and_an_unclear_answer_does_not() {
    let client = connect(&McpServer::new(tools())).await;
    let call = || params("send_money", json!({ "amount": 9 }));
    let first = expect_input_required(client.call_tool_once(call()).await.unwrap());
    // After an unclear answer, the server asks again with a new state. A denial ends the call.
    let second = expect_input_required(
        client.call_tool_once(retry(call(), &first, &json!({ "decision": "yes" }))).await.unwrap(),
    );
    assert_ne!(first.request_state, second.request_state);
    let message = serde_json::to_string(&second.input_requests).unwrap();
    assert!(message.contains("Not accepted"), "{message}");
    let (is_error, text) = expect_complete(
        client.call_tool_once(retry(call(), &second, &json!({ "decision": "deny", "reason": "no" }))).await.unwrap(),
    );
    assert!(is_error && text.contains("did not run: no"), "{text}");
}

#[tokio::test]
async fn a_client_without_elicitation_gets_the_missing_capability() {
    let client = client(&McpServer::new(tools()), Person::new(None), true).await;
    // The first tool needs an approval before its call runs, and the second asks a question in the middle of its call.
    for (name, arguments, expected) in
        [("send_money", json!({ "amount": 11 }), "did not run"), ("greet", json!({}), "supports no elicitation")]
    {
        let error = client.call_tool_once(params(name, arguments)).await.unwrap_err().to_string();
        assert!(error.contains("-32021") && error.contains(expected), "{error}");
    }
    assert!(client.call_tool_once(params("add_up", json!({ "numbers": [1] }))).await.is_ok());
}

#[tokio::test]
async fn a_call_goes_on_where_it_asked() {
    let client = connect(&McpServer::new(tools())).await;
    let call = || params("greet", json!({}));
    let who = expect_input_required(client.call_tool_once(call()).await.unwrap());
    assert!(who.input_requests.as_ref().unwrap().contains_key("user_name"));
    // After an answer of another type, the server asks again.
    let who = expect_input_required(client.call_tool_once(retry(call(), &who, &json!({ "name": 5 }))).await.unwrap());
    let may =
        expect_input_required(client.call_tool_once(retry(call(), &who, &json!({ "name": "Ada" }))).await.unwrap());
    let greeted = client.call_tool_once(retry(call(), &may, &json!({ "decision": "approve" }))).await.unwrap();
    assert_eq!(expect_complete(greeted), (false, "Hello, Ada!".to_owned()));
}

#[tokio::test]
async fn listeners_are_notified_of_changed_tools() {
    let server = McpServer::new(tools());
    let client = connect(&server).await;
    let mut filter = SubscriptionFilter::default();
    filter.tools_list_changed = Some(true);
    let mut subscription = client.peer().listen(filter).await.unwrap();
    server.replace(toolset!(add_up));
    let notification = subscription.next().await.unwrap().unwrap();
    assert!(matches!(notification, ServerNotification::ToolListChangedNotification(_)));
    assert_eq!(client.list_all_tools().await.unwrap().len(), 1);
}

#[tokio::test]
async fn outputs_need_not_be_objects() {
    let client = connect(&McpServer::new(tools())).await;
    let tools = client.list_all_tools().await.unwrap();
    assert_eq!(tools[2].output_schema.as_ref().unwrap()["type"], "integer");
    let sum = client.call_tool(params("add_up", json!({ "numbers": [1, 2] }))).await.unwrap();
    assert_eq!(sum.structured_content, Some(json!(3)));
}
