//! Tests of the agent's loop: calls, approvals, limits and panics.

use std::{
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tool_runtime::{
    Agent, AgentError, Cancellation, Context, Failure, Message,
    agent::{Decision, Handle},
    message::ToolMessage,
    model::{FinishReason, Model, ScriptedModel, Turn},
    run::{Phase, StopReason},
    test::{Events, Person},
    tool, toolset,
};
use tool_test_kit::within;

/// Doubles a number.
#[tool(effect = read_only)]
async fn double(
    /// The number.
    #[arg(range(..=1000))]
    n: i64,
) -> i64 {
    n * 2
}

/// Deletes a file.
#[tool(approval = always, effect = destructive)]
fn delete(
    /// The file.
    path: String,
    #[state] deleted: &Mutex<Vec<String>>,
) -> String {
    deleted.lock().unwrap().push(path.clone());
    format!("deleted {path}")
}

/// Never returns.
#[tool(timeout = "50ms")]
async fn hang() {
    std::future::pending::<()>().await;
}

/// A flag that lets [`block`] continue.
static IS_RELEASED: AtomicBool = AtomicBool::new(false);

/// Releases [`block`] when it is dropped, so that a failed test does not wait for its thread forever.
struct Release;

impl Drop for Release {
    fn drop(&mut self) {
        IS_RELEASED.store(true, Ordering::SeqCst);
    }
}

/// Blocks its thread until the test releases it.
#[tool(timeout = "50ms", blocking)]
fn block() {
    while !IS_RELEASED.load(Ordering::SeqCst) {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Panics.
#[tool]
async fn panics() -> i64 {
    panic!("secret detail")
}

/// Fails at first.
#[tool(effect = read_only, retries = 3)]
fn flaky(#[state] tries: &AtomicUsize) -> Result<usize, Failure> {
    match tries.fetch_add(1, Ordering::SeqCst) {
        count @ 2.. => Ok(count),
        _ => Err(Failure::new("busy").retryable()),
    }
}

/// Returns an agent whose order of events is checked.
pub(crate) fn watched(model: impl Model + 'static) -> Agent {
    Agent::new(model).observer(Events::new())
}

fn results(messages: &[Message]) -> Vec<(String, bool)> {
    let result = |message: &Message| match message {
        Message::Tool(ToolMessage { content, is_error, .. }) => {
            Some((content.iter().filter_map(|part| part.as_text()).collect(), *is_error))
        }
        _ => None,
    };
    messages.iter().filter_map(result).collect()
}

#[tokio::test]
async fn a_run_continues_until_the_model_calls_no_tool() {
    let model = Arc::new(ScriptedModel::new([
        Turn::call("double", json!({"n": 4})).then_call("double", json!({"n": 5000})).then_call("duble", json!({})),
        Turn::say("Eight."),
    ]));
    let events = Events::new();
    let agent =
        Agent::new(Arc::clone(&model)).tools(toolset!(double)).observer(events.clone()).instructions("Calculate.");
    let mut session = agent.session();
    let reply = session.send("Double 4.").await.unwrap();
    assert_eq!((reply.text.as_str(), reply.steps, reply.phase), ("Eight.", 2, Phase::Finished));
    assert_eq!(events.text(), "Eight.");
    let results = results(session.messages());
    assert_eq!(results[0], ("8".to_owned(), false));
    assert!(results[1].1 && results[1].0.starts_with("The call was rejected. Correct these problems"), "{results:?}");
    assert_eq!(results[2], ("there is no tool called `duble`; did you mean `double`?".to_owned(), true));
    assert_eq!(model.requests()[1].messages[0], Message::system("Calculate."));
}

async fn run_with(decisions: Vec<Decision>) -> (Vec<String>, Vec<(String, bool)>, Person) {
    let person = Person::deciding(decisions);
    let deleted = Arc::new(Mutex::new(Vec::new()));
    let model = ScriptedModel::new([Turn::call("delete", json!({"path": "a"})), Turn::say("ok")]);
    let agent =
        watched(model).tools(toolset!(Arc::clone(&deleted); delete)).observer(Events::new()).operator(person.clone());
    let mut session = agent.session();
    session.send("Delete a.").await.unwrap();
    let deleted = deleted.lock().unwrap().clone();
    (deleted, results(session.messages()), person)
}

#[tokio::test]
async fn an_approved_call_runs() {
    let (deleted, results, person) = run_with(vec![Decision::Approve]).await;
    assert_eq!((deleted, results), (vec!["a".to_owned()], vec![("deleted a".to_owned(), false)]));
    assert_eq!(person.approvals()[0].arguments, json!({"path": "a"}));
}

#[tokio::test]
async fn a_denied_call_does_not_run() {
    let (deleted, results, _) = run_with(vec![Decision::Deny { reason: Some("too important".into()) }]).await;
    assert_eq!(deleted, [""; 0]);
    assert_eq!(results, [("the call was denied, and did not run: too important".to_owned(), true)]);
}

#[tokio::test]
async fn an_edited_call_runs_with_the_edited_arguments() {
    let edits =
        vec![Decision::Edit { arguments: json!({"path": 1}) }, Decision::Edit { arguments: json!({"path": "b"}) }];
    let (deleted, _, person) = run_with(edits).await;
    assert_eq!(deleted, ["b"]);
    assert!(person.approvals()[1].feedback.is_some(), "a wrong edit is shown again with its problems");
}

#[tokio::test]
async fn without_an_operator_calls_are_denied() {
    let deleted = Arc::new(Mutex::new(Vec::new()));
    let model = ScriptedModel::new([Turn::call("delete", json!({"path": "a"})), Turn::say("ok")]);
    watched(model).tools(toolset!(Arc::clone(&deleted); delete)).run("x").await.unwrap();
    assert!(deleted.lock().unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn no_tool_blocks_the_run() {
    let _release = Release;
    let calls = Turn::call("hang", json!({})).then_call("block", json!({})).then_call("panics", json!({}));
    let model = ScriptedModel::new([calls, Turn::say("ok")]);
    let mut session = watched(model).tools(toolset!(hang, block, panics)).session();
    // The tool blocks its thread until the test ends.
    within("a run with a tool that blocks", Box::pin(session.send("x"))).await.unwrap();
    let results = results(session.messages());
    assert_eq!(results[0].0, "the tool did not answer within 0.05 s; it may have had effects");
    assert_eq!(results[1].0, "the tool did not answer within 0.05 s; it may have had effects");
    assert_eq!(results[2].0, "the tool failed; it may have had effects", "the model does not receive the panic's text");
}

/// Reads without an end.
#[tool(effect = read_only, timeout = "50ms")]
async fn read_for_ever() {
    std::future::pending::<()>().await;
}

/// Reads, and panics.
#[tool(effect = read_only)]
async fn read_badly() -> i64 {
    panic!("secret detail")
}

/// Cancels the run while it reads.
#[tool(effect = read_only)]
async fn read_to_the_end(#[state] handle: &OnceLock<Handle>) {
    handle.get().unwrap().cancel();
    std::future::pending::<()>().await;
}

#[tokio::test]
async fn no_text_says_that_a_tool_that_only_reads_may_have_had_effects() {
    let calls = Turn::call("read_for_ever", json!({})).then_call("read_badly", json!({}));
    let model = ScriptedModel::new([calls, Turn::call("read_to_the_end", json!({}))]);
    let handle = Arc::new(OnceLock::new());
    let tools = toolset!(Arc::clone(&handle); read_for_ever, read_badly, read_to_the_end);
    let mut session = watched(model).tools(tools).session();
    handle.set(session.handle()).unwrap();
    assert!(matches!(session.send("x").await, Err(AgentError::Cancelled)));
    let texts: Vec<String> = results(session.messages()).into_iter().map(|(text, _)| text).collect();
    assert_eq!(texts, ["the tool did not answer within 0.05 s", "the tool failed", "the call was cancelled"]);
}

#[tokio::test]
async fn temporary_failures_are_retried() {
    let model = ScriptedModel::new([Turn::call("flaky", json!({})), Turn::say("ok")]);
    let mut session = watched(model).tools(toolset!(AtomicUsize::new(0); flaky)).session();
    session.send("x").await.unwrap();
    assert_eq!(results(session.messages()), [("2".to_owned(), false)]);
}

#[tokio::test]
async fn a_call_of_a_cut_turn_does_not_run() {
    let model = ScriptedModel::new([Turn::call("double", json!({"n": 4})).with_finish(FinishReason::Length)]);
    let mut session = watched(model).tools(toolset!(double)).session();
    let reply = session.send("x").await.unwrap();
    assert_eq!(reply.phase, Phase::Stopped(StopReason::TurnCut(FinishReason::Length)));
    assert_eq!(results(session.messages()).len(), 1, "the call is answered");
}

#[tokio::test]
async fn a_run_stops_at_the_step_limit_and_at_cancellation() {
    let endless = || ScriptedModel::new((0..9).map(|_| Turn::call("double", json!({"n": 1}))));
    let agent = watched(endless()).tools(toolset!(double)).max_steps(3);
    let reply = agent.run("x").await.unwrap();
    assert_eq!((reply.steps, reply.phase), (3, Phase::Stopped(StopReason::StepLimit)));

    let stop = Cancellation::new();
    let agent = watched(ScriptedModel::new([Turn::call("hang", json!({}))]))
        .tools(toolset!(hang))
        .context(Context::new("").with_cancellation(stop.clone()));
    let run = tokio::spawn(async move { agent.run("x").await });
    tokio::time::sleep(Duration::from_millis(10)).await;
    stop.cancel();
    assert!(matches!(run.await.unwrap(), Err(AgentError::Cancelled)));
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Sum {
    total: i64,
}

#[tokio::test]
async fn a_typed_answer_is_returned() {
    let model = ScriptedModel::new([
        Turn::call("double", json!({"n": 4})),
        Turn::call("final_answer", json!({"total": "8"})),
        Turn::call("final_answer", json!({"total": 8})),
    ]);
    let mut session = watched(model).tools(toolset!(double)).session();
    assert_eq!(session.ask("x").typed::<Sum>().await.unwrap().value, Sum { total: 8 });

    let model = ScriptedModel::new([Turn::say("five"), Turn::call("final_answer", json!({"answer": 5}))]);
    assert_eq!(watched(model).ask("x").typed::<i64>().await.unwrap().value, 5);
}

#[tokio::test]
async fn calls_with_equal_ids_get_ids_of_their_own() {
    let mut turn = Turn::call("double", json!({"n": 1})).then_call("double", json!({"n": 2}));
    for part in &mut turn.content {
        if let tool_runtime::message::AssistantPart::Call(call) = part {
            call.id = "same".to_owned();
        }
    }
    let mut session = watched(ScriptedModel::new([turn, Turn::say("ok")])).tools(toolset!(double)).session();
    session.send("x").await.unwrap();
    let ids: Vec<&str> = session
        .messages()
        .iter()
        .filter_map(|message| match message {
            Message::Tool(answer) => Some(answer.call_id.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(ids.len(), 2);
    assert_ne!(ids[0], ids[1]);
}
