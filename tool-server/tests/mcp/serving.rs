//! Tests of a toolset as a server, for clients of revisions with sessions.

use std::{
    convert::Infallible,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
    time::Duration,
};

use rmcp::model::{ElicitResult, ElicitationAction, PaginatedRequestParams};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tool_runtime::{
    Agent, Context, Execute, Failure, Image, Text, Toolset,
    model::{FunctionModel, Turn},
    tool, toolset,
    toolset::{Permission, PolicyCall, RuntimeTool},
};
use tool_server::mcp::McpServer;
use tool_test_fixtures::declared;
use tool_test_kit::AllAndSome as _;

use crate::mcp::kit::{Person, client, params, text, wait_until};

/// Draw an image.
#[tool(effect = read_only)]
fn draw() -> Image {
    Image { media_type: "image/png".to_owned(), data: "aGk=".to_owned() }
}

/// Panic.
#[tool(effect = read_only)]
fn break_down() -> Text {
    panic!("secret detail")
}

static DELETED: AtomicUsize = AtomicUsize::new(0);

/// Delete a record.
#[tool(effect = destructive, approval = always, challenge = "Delete {name}?")]
fn delete(
    /** The name. */
    name: String,
) -> String {
    DELETED.fetch_add(1, Ordering::SeqCst);
    format!("{name} is gone")
}

/// Report progress.
#[tool(effect = read_only)]
async fn report(#[context] cx: &Context) -> Text {
    for done in [1.0, 1.0, 0.5, 2.0] {
        cx.report_progress(done, Some(3.0), "on");
    }
    cx.show_preliminary(json!({ "half": true }));
    Text("done".to_owned())
}

/// Report progress, with a preliminary output between two reports.
#[tool(effect = read_only)]
async fn report_both(#[context] cx: &Context) -> Text {
    for done in 0..3 {
        cx.report_progress(f64::from(done), Some(3.0), "on");
        cx.show_preliminary(json!({ "done": done }));
    }
    Text("done".to_owned())
}

static BEGUN: AtomicBool = AtomicBool::new(false);
static DROPPED: AtomicUsize = AtomicUsize::new(0);

struct Guard;

impl Drop for Guard {
    fn drop(&mut self) {
        DROPPED.fetch_add(1, Ordering::SeqCst);
    }
}

/// Wait forever.
#[tool(effect = read_only)]
async fn wait() -> Text {
    let _guard = Guard;
    BEGUN.store(true, Ordering::SeqCst);
    std::future::pending().await
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Size {
    size: i64,
}

/// Ask for a size.
#[tool(effect = read_only)]
async fn ask(#[context] cx: &Context) -> Result<String, Failure> {
    let Size { size } = cx.ask("Which size?").await?;
    Ok(format!("size {size}"))
}

/// Returns the tools above, and the fixtures' tools with declarations of all kinds.
fn tools() -> Toolset {
    declared::tools().merge(toolset!(draw, break_down, delete, report, report_both, wait, ask)).expect("each name once")
}

fn accept(content: serde_json::Value) -> ElicitResult {
    ElicitResult::new(ElicitationAction::Accept).with_content(content)
}

#[tokio::test]
async fn tools_are_listed_page_by_page() {
    let server = McpServer::new(tools()).page_size(3);
    let client = client(&server, Person::new(None), false).await;
    let all = client.list_all_tools().await.unwrap();
    let names: Vec<&str> = all.iter().map(|tool| &*tool.name).collect();
    assert_eq!(names, tools().names().collect::<Vec<_>>());
    let named = |name: &str| all.iter().find(|tool| tool.name == name).unwrap();
    let add = named("add");
    assert_eq!(add.title.as_deref(), Some("Add"));
    let hints = add.annotations.as_ref().unwrap();
    assert_eq!((hints.read_only_hint, hints.destructive_hint), (Some(true), Some(false)));
    let output = serde_json::to_string(add.output_schema.as_ref().unwrap()).unwrap();
    assert!(output.contains(r#""sum":{"type":"integer""#) && output.contains(r#""type":"object""#), "{output}");
    assert!(named("add_up").output_schema.is_none(), "before 2026-07-28 an output is an object");
    assert_eq!(named("delete").annotations.as_ref().unwrap().destructive_hint, Some(true));
    let mut wrong = PaginatedRequestParams::default();
    wrong.cursor = Some("nowhere".to_owned());
    assert!(client.list_tools(Some(wrong)).await.is_err());
}

#[tokio::test]
async fn a_result_has_the_content_that_a_model_would_read() {
    let client = client(&McpServer::new(tools()), Person::new(None), false).await;
    let sum = client.call_tool(params("add", json!({ "a": 2, "b": 3 }))).await.unwrap();
    assert_eq!((text(&sum).as_str(), sum.structured_content), (r#"{"sum":5}"#, Some(json!({ "sum": 5 }))));
    let sum = client.call_tool(params("add_up", json!({ "numbers": [1, 3] }))).await.unwrap();
    assert_eq!((text(&sum).as_str(), sum.structured_content), ("4", None));
    let image = client.call_tool(params("draw", json!({}))).await.unwrap();
    assert!(image.content[0].as_image().is_some_and(|image| image.mime_type == "image/png"));
    let broken = client.call_tool(params("break_down", json!({}))).await.unwrap();
    assert_eq!((broken.is_error, text(&broken).contains("secret")), (Some(true), false));
    let unknown = client.call_tool(params("ad", json!({}))).await.unwrap_err().to_string();
    assert!(unknown.contains("-32602"), "{unknown}");
}

#[tokio::test]
async fn problems_with_arguments_are_structured() {
    let client = client(&McpServer::new(tools()), Person::new(None), false).await;
    let refused = client.call_tool(params("draw", json!({ "x": 1 }))).await.unwrap();
    assert_eq!(refused.is_error, Some(true));
    let refused = client.call_tool(params("book_seats", json!({ "row": 1, "seats": 9 }))).await.unwrap();
    assert!(text(&refused).starts_with("The call was rejected.") && text(&refused).contains("choose from 2"));
    let feedback = refused.structured_content.unwrap();
    assert_eq!(feedback["validationResults"]["seats"]["allowedValues"], json!([2]), "{feedback}");
    // If the tool has an output schema, structured content must fit it. Then the metadata has the feedback.
    let refused = client.call_tool(params("add", json!({ "a": "x" }))).await.unwrap();
    assert!(refused.structured_content.is_none() && text(&refused).contains("a: expected a"));
    assert_eq!(refused.meta.unwrap()["tool-runtime/feedback"]["ok"], false);
}

#[tokio::test]
async fn a_call_runs_after_an_approval_only() {
    let server = McpServer::new(tools());
    let call = || params("delete", json!({ "name": "a\u{1b}[2J" }));
    let before = DELETED.load(Ordering::SeqCst);
    let answers: [fn(&str) -> ElicitResult; 5] = [
        |_| accept(json!({ "decision": "deny", "reason": "mine" })),
        |_| accept(json!({})),
        |_| accept(json!({ "decision": "APPROVE" })),
        |_| ElicitResult::new(ElicitationAction::Decline),
        |_| ElicitResult::new(ElicitationAction::Cancel),
    ];
    for answer in answers {
        let result = client(&server, Person::new(Some(answer)), false).await.call_tool(call()).await.unwrap();
        assert_eq!((result.is_error, text(&result).contains("did not run")), (Some(true), true), "{result:?}");
    }
    let silent = client(&server, Person::new(None), false).await.call_tool(call()).await.unwrap();
    assert!(text(&silent).contains("supports no elicitation"), "{silent:?}");
    assert_eq!(DELETED.load(Ordering::SeqCst), before);
    let person = Person::new(Some(|_| accept(json!({ "decision": "approve" }))));
    let result = client(&server, person.clone(), false).await.call_tool(call()).await.unwrap();
    assert_eq!((result.is_error, DELETED.load(Ordering::SeqCst)), (Some(false), before + 1));
    let asked = person.received();
    assert!(asked[0].starts_with("Delete ") && !asked[0].contains('\u{1b}'), "{asked:?}");
}

#[tokio::test]
async fn questions_and_external_calls_are_forms() {
    let person = |answer: fn(&str) -> ElicitResult| Person::new(Some(answer));
    let server = McpServer::new(tools());
    let asked = client(&server, person(|_| accept(json!({ "size": 7 }))), false).await;
    assert_eq!(text(&asked.call_tool(params("ask", json!({}))).await.unwrap()), "size 7");
    let agreed = client(&server, person(|_| accept(json!({ "agreed": true }))), false).await;
    let agreed = agreed.call_tool(params("ConfirmAction", json!({ "action": "it" }))).await.unwrap();
    assert_eq!(agreed.structured_content, Some(json!({ "agreed": true })));
}

#[tokio::test]
async fn progress_grows_and_arrives_before_the_result() {
    let person = Person::new(None);
    let client = client(&McpServer::new(tools()), person.clone(), false).await;
    client.call_tool(params("report", json!({}))).await.unwrap();
    wait_until("everything was received", || person.received().len() == 5).await;
    let done: Vec<f64> =
        person.received().iter().map(|line| line.split(' ').next().unwrap().parse().unwrap()).collect();
    assert!(done.windows(2).all_and_some(|pair| pair[0] < pair[1]), "{done:?}");
    assert!(person.received()[4].contains(r#"{"half":true}"#));
}

#[tokio::test]
async fn preliminary_outputs_keep_the_numbers_and_the_total() {
    let person = Person::new(None);
    let client = client(&McpServer::new(tools()), person.clone(), false).await;
    client.call_tool(params("report_both", json!({}))).await.unwrap();
    wait_until("everything was received", || person.received().len() == 6).await;
    let progress = person.progress.lock().unwrap().clone();
    assert!(progress.windows(2).all_and_some(|pair| pair[0].0 < pair[1].0), "{progress:?}");
    assert!(progress.iter().all_and_some(|(_, total)| *total == Some(3.0)), "{progress:?}");
    // The numbers of the tool arrive as they are.
    assert_eq!(format!("{:?}", [progress[0].0, progress[2].0, progress[4].0]), "[0.0, 1.0, 2.0]");
}

#[tokio::test]
async fn cancelling_drops_the_work() {
    let client = client(&McpServer::new(tools()), Person::new(None), false).await;
    tokio::select! {
        biased;
        _ = client.call_tool(params("wait", json!({}))) => panic!("the call never ends"),
        () = wait_until("the tool has begun", || BEGUN.load(Ordering::SeqCst)) => {}
    }
    wait_until("the future is dropped", || DROPPED.load(Ordering::SeqCst) == 1).await;
    assert!(client.call_tool(params("add", json!({ "a": 1, "b": 1 }))).await.is_ok(), "the connection goes on");
}

static BLOCKS: AtomicBool = AtomicBool::new(false);
static BLOCKING_DROPPED: AtomicBool = AtomicBool::new(false);

struct BlockingGuard;

impl Drop for BlockingGuard {
    fn drop(&mut self) {
        BLOCKING_DROPPED.store(true, Ordering::SeqCst);
    }
}

/// Block the thread for a while, then wait forever.
#[tool]
async fn block() -> Text {
    let _guard = BlockingGuard;
    BLOCKS.store(true, Ordering::SeqCst);
    std::thread::sleep(Duration::from_millis(600));
    std::future::pending().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_blocking_tool_is_dropped_afterwards() {
    let client = client(&McpServer::new(toolset!(block)), Person::new(None), false).await;
    tokio::select! {
        biased;
        _ = client.call_tool(params("block", json!({}))) => panic!("the call never ends"),
        () = wait_until("the tool is busy", || BLOCKS.load(Ordering::SeqCst)) => {}
    }
    wait_until("the future is dropped", || BLOCKING_DROPPED.load(Ordering::SeqCst)).await;
}

#[tokio::test]
async fn clients_are_notified_of_changed_tools() {
    let server = McpServer::new(tools());
    let person = Person::new(None);
    let client = client(&server, person.clone(), false).await;
    client.list_all_tools().await.unwrap();
    wait_until("the client is known", || {
        server.replace(toolset!(draw));
        person.received().contains(&"list changed".to_owned())
    })
    .await;
    assert_eq!(client.list_all_tools().await.unwrap().len(), 1);
    assert!(client.call_tool(params("add_up", json!({ "numbers": [] }))).await.is_err());
}

#[tokio::test]
async fn policies_of_the_agent_hold() {
    let only_small = |call: &PolicyCall<'_>| {
        if call.arguments.contains("13") { Permission::deny("not that") } else { Permission::Allow }
    };
    let server = McpServer::of(Agent::tools_only(tools()).policy(only_small));
    let client = client(&server, Person::new(None), false).await;
    assert!(client.call_tool(params("add", json!({ "a": 1, "b": 1 }))).await.unwrap().is_error == Some(false));
    let denied = client.call_tool(params("add", json!({ "a": 13, "b": 1 }))).await.unwrap();
    assert_eq!((denied.is_error, text(&denied).contains("not that")), (Some(true), true));
}

#[tokio::test]
async fn the_model_of_the_agent_is_not_called() {
    let model = FunctionModel::new(|_| -> Turn { panic!("nobody calls the model") });
    let server = McpServer::of(Agent::new(model).tools(tools()));
    let client = client(&server, Person::new(None), false).await;
    for (name, arguments) in
        [("add", json!({ "a": "x" })), ("break_down", json!({})), ("delete", json!({ "name": "x" }))]
    {
        assert_eq!(client.call_tool(params(name, arguments)).await.unwrap().is_error, Some(true), "{name}");
    }
}

/// Look somebody up.
#[tool]
enum LookUp {
    /// By number.
    Number {
        /// The number.
        number: u64,
    },
    /// By mail.
    Mail {
        /// The address.
        #[arg(format = "idn-email")]
        mail: String,
    },
}

impl Execute for LookUp {
    type Output = bool;
    type Error = Infallible;

    async fn execute(self, _cx: &Context) -> Result<bool, Infallible> {
        Ok(matches!(self, Self::Number { number: 1.. }) || matches!(self, Self::Mail { mail } if mail.is_empty()))
    }
}

#[tokio::test]
async fn a_union_at_the_root_is_listed_as_one_object() {
    let server = McpServer::new(toolset!(LookUp));
    let listed = async |server: &McpServer| {
        let client = client(server, Person::new(None), true).await;
        let tools = client.list_all_tools().await.unwrap();
        serde_json::Value::Object((*tools[0].input_schema).clone())
    };
    let plain = listed(&server).await;
    assert_eq!(plain["type"], "object");
    assert!(["oneOf", "anyOf", "allOf", "enum", "not"].iter().all(|word| plain.get(*word).is_none()), "{plain}");
    // All else is exact.
    assert_eq!(plain["properties"]["number"]["maximum"], u64::MAX);
    assert_eq!(plain["properties"]["mail"]["format"], "idn-email");
    let exact = listed(&server.clone().exact_roots()).await;
    assert!(exact["oneOf"].is_array(), "{exact}");
    let client = client(&server, Person::new(None), true).await;
    let called = client.call_tool(params("LookUp", json!({ "kind": "number", "number": 5 }))).await.unwrap();
    assert_eq!(text(&called), "true");
    // The decoder checks the union.
    let refused = client.call_tool(params("LookUp", json!({ "kind": "mail", "number": 5 }))).await.unwrap();
    assert_eq!(refused.is_error, Some(true), "{refused:?}");
}

#[tokio::test]
async fn arguments_that_are_no_objects_are_wrapped() {
    let list = json!({"type": "array", "items": {"type": "integer"}, "minItems": 1});
    let sum = |value: serde_json::Value, _cx| async move {
        Ok(json!(value.as_array().into_iter().flatten().filter_map(serde_json::Value::as_i64).sum::<i64>()))
    };
    let tool = RuntimeTool::new("sum", "Add numbers.").input(list).require_approval().handler(sum);
    let server = McpServer::new(Toolset::new().with(tool.unwrap()).unwrap());
    let person = Person::new(Some(|_| accept(json!({ "decision": "approve" }))));
    let client = client(&server, person.clone(), true).await;
    let listed = client.list_all_tools().await.unwrap();
    let schema = serde_json::Value::Object((*listed[0].input_schema).clone());
    assert_eq!((&schema["type"], &schema["required"]), (&json!("object"), &json!(["value"])), "{schema}");
    assert_eq!(schema["properties"]["value"]["type"], "array", "{schema}");
    let called = client.call_tool(params("sum", json!({ "value": [1, 2] }))).await.unwrap();
    assert_eq!((called.is_error, text(&called)), (Some(false), "3".to_owned()), "{called:?}");
    assert_eq!(person.received().len(), 1);
    let refused = client.call_tool(params("sum", json!({ "value": [] }))).await.unwrap();
    assert_eq!(refused.is_error, Some(true), "{refused:?}");
}
