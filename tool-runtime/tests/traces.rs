//! Traces of runs.
//!
//! These tests need a separate process. If other tests run without a subscriber at the same time, `tracing` may disable a span
//! until the process ends.

use futures_util::stream::{self, StreamExt};
use serde_json::json;
use tool_runtime::{
    Agent, Cancellation, Context, Failure, Toolset,
    agent::{Decision, Suspend},
    model::{Delta, FunctionModel, ScriptedModel, Turn, Usage},
    store::{MemoryStore, Store},
    test::{Events, Person, SpanTree, Spans},
    tool, toolset,
};
use tracing::{info, info_span, subscriber::set_default};

/// Looks something up.
#[tool(effect = read_only)]
async fn look(
    /** The item. */
    what: String,
    #[arg(secret)] key: String,
) -> Result<String, Failure> {
    let span = info_span!("lookup");
    let _entered = span.enter();
    info!("looking");
    assert_eq!(key, "k-123");
    if what == "nothing" { Err(Failure::new("there is nothing")) } else { Ok(format!("all of {what}")) }
}

/// Counts, on a thread of its own.
#[tool(effect = read_only, blocking)]
fn count(#[arg(range(..=9))] n: u32) -> u32 {
    info!("counting");
    n
}

/// Fails at first.
#[tool(effect = read_only, retries = 1)]
async fn flaky() -> Result<u32, Failure> {
    Err(Failure::new("busy").retryable())
}

/// Pays.
#[tool(approval = always)]
async fn pay(amount: u32) -> u32 {
    amount
}

/// Takes too long.
#[tool(timeout = "20ms")]
async fn slow() {
    std::future::pending::<()>().await;
}

/// Asks another agent.
#[tool]
async fn delegate() -> String {
    let inner = Agent::new(ScriptedModel::new([Turn::say("from inside")])).name("inner");
    inner.run("go").await.map(|reply| reply.text).unwrap_or_default()
}

fn tools() -> Toolset {
    toolset!(look, count, flaky, pay, slow, delegate)
}

fn used(input: u64, output: u64) -> Usage {
    Usage { input_tokens: input, output_tokens: output, ..Usage::default() }
}

/// Returns the trace of a run.
async fn traced(agent: Agent) -> Spans {
    let spans = Spans::new();
    let _guard = set_default(spans.clone());
    let _ = agent.context(Context::new("").with_secret("key", "k-123")).tools(tools()).run("the prompt").await;
    spans
}

fn names(spans: &[SpanTree]) -> Vec<&str> {
    spans.iter().map(|span| span.name.as_str()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_is_a_tree_across_tasks_and_threads() {
    let calls = Turn::call("look", json!({"what": "the sky"}))
        .then_call("count", json!({"n": 4}))
        .then_call("look", json!({"what": "nothing"}))
        .with_usage(used(10, 3));
    let model = ScriptedModel::new([calls, Turn::say("the answer").with_usage(used(20, 5))]);
    let spans = traced(Agent::new(model).name("clerk")).await;
    let roots = spans.roots();
    assert_eq!(names(&roots), ["invoke_agent clerk"], "{spans}");
    let run = &roots[0];
    assert!(run.took.is_some());
    for (field, value) in [
        ("otel.kind", "internal"),
        ("gen_ai.operation.name", "invoke_agent"),
        ("gen_ai.agent.name", "clerk"),
        ("gen_ai.request.model", "scripted"),
        ("gen_ai.response.finish_reasons", r#"["stop"]"#),
        ("gen_ai.usage.input_tokens", "30"),
        ("gen_ai.usage.output_tokens", "8"),
        ("tool.run.phase", "finished"),
    ] {
        assert_eq!(run.get(field), Some(value), "{field}: {spans}");
    }
    assert!(run.get("gen_ai.conversation.id").is_some_and(|id| id.len() > 10) && run.get("error.type").is_none());
    let (first, last) = (run.children.first().unwrap(), run.children.last().unwrap());
    assert_eq!((first.name.as_str(), last.name.as_str()), ("chat scripted", "chat scripted"));
    assert_eq!(first.get("otel.kind"), Some("client"));
    assert_eq!(first.get("gen_ai.response.finish_reasons"), Some(r#"["tool_calls"]"#));
    assert_eq!(
        (first.get("gen_ai.usage.input_tokens"), last.get("gen_ai.usage.output_tokens")),
        (Some("10"), Some("5"))
    );

    let tools: Vec<_> = run.children.iter().filter(|span| span.name.starts_with("execute_tool ")).collect();
    assert_eq!(
        tools.iter().map(|span| span.name.as_str()).collect::<Vec<_>>(),
        ["execute_tool look", "execute_tool count", "execute_tool look"]
    );
    assert_eq!(tools[0].get("gen_ai.tool.name"), Some("look"));
    assert_eq!(tools[0].get("gen_ai.tool.call.id"), Some("call_1_0"));
    assert_eq!(tools[0].get("gen_ai.tool.type"), Some("function"));
    assert_eq!(names(&tools[0].children), ["lookup"], "the tool's own spans are below it: {spans}");
    assert_eq!(tools[0].children[0].event_values("message").collect::<Vec<_>>(), ["looking"]);
    assert!(tools[1].event_values("message").any(|text| text == "counting"), "on a thread of its own: {spans}");
    assert_eq!((tools[0].get("error.type"), tools[2].get("error.type")), (None, Some("failed")));
    assert_eq!(tools[2].get("otel.status_code"), Some("ERROR"));
}

#[tokio::test]
async fn metrics_are_events_with_units() {
    let turn = Turn::say("hello").with_usage(used(7, 2));
    let spans = traced(Agent::new(ScriptedModel::new([turn]))).await;
    let chat = spans.find("chat scripted").unwrap();
    let tokens: Vec<&str> = chat.event_values("histogram.gen_ai.client.token.usage").collect();
    assert_eq!(tokens, ["7", "2"]);
    assert_eq!(chat.event_values("gen_ai.token.type").collect::<Vec<_>>(), ["input", "output"]);
    assert_eq!(chat.event_values("unit").collect::<Vec<_>>(), ["s", "{token}", "{token}", "s"]);
    assert_eq!(chat.event_values("histogram.gen_ai.client.operation.duration").count(), 1);
    assert_eq!(chat.event_values("histogram.gen_ai.client.operation.time_to_first_chunk").count(), 1);
    let run = spans.find("invoke_agent").unwrap();
    let seconds: Vec<f64> =
        run.event_values("histogram.gen_ai.client.operation.duration").map(|text| text.parse().unwrap()).collect();
    assert!(seconds.len() == 1 && seconds[0] > 0.0 && seconds[0] < 60.0, "{seconds:?}");
}

#[tokio::test]
async fn content_is_traced_only_if_enabled() {
    let model = || {
        ScriptedModel::new([Turn::call("look", json!({"what": "the sky"})).then_reason("hm"), Turn::say("the answer")])
    };
    let quiet = traced(Agent::new(model()).instructions("Be nice.")).await.to_string();
    for found in ["the prompt", "Be nice", "the sky", "all of", "the answer", "Looks something up.\"", "k-123"] {
        assert!(!quiet.contains(found), "{found}: {quiet}");
    }
    let spans = traced(Agent::new(model()).instructions("Be nice.").trace_content(true)).await;
    let run = &spans.roots()[0];
    let last = run.children.last().unwrap();
    assert_eq!(last.get("gen_ai.system_instructions"), Some(r#"[{"type":"text","content":"Be nice."}]"#));
    let asked: serde_json::Value = serde_json::from_str(last.get("gen_ai.input.messages").unwrap()).unwrap();
    assert_eq!(
        asked,
        json!([
            {"role": "user", "parts": [{"type": "text", "content": "the prompt"}]},
            {"role": "assistant", "parts": [
                {"type": "tool_call", "id": "call_1_0", "name": "look", "arguments": {"what": "the sky"}},
                {"type": "reasoning", "content": "hm"}
            ]},
            {"role": "tool", "parts": [{"type": "tool_call_response", "id": "call_1_0", "response": "all of the sky"}]}
        ])
    );
    let found: serde_json::Value = serde_json::from_str(last.get("gen_ai.output.messages").unwrap()).unwrap();
    assert_eq!(
        found,
        json!([
            {"role": "assistant", "parts": [{"type": "text", "content": "the answer"}], "finish_reason": "stop"}
        ])
    );
    assert!(last.get("gen_ai.tool.definitions").unwrap().contains("\"name\":\"look\""));
    let tool = spans.find("execute_tool look").unwrap();
    assert_eq!(tool.get("gen_ai.tool.call.arguments"), Some(r#"{"what":"the sky"}"#));
    assert_eq!(tool.get("gen_ai.tool.call.result"), Some("all of the sky"));
    assert!(!spans.to_string().contains("k-123"), "a secret is in no trace: {spans}");
}

#[tokio::test]
async fn approvals_and_waiting_are_events() {
    let model = || ScriptedModel::new([Turn::call("pay", json!({"amount": 5})), Turn::say("ok")]);
    let spans = traced(Agent::new(model()).observer(Events::new()).operator(Person::approving())).await;
    let run = &spans.roots()[0];
    let found: Vec<&str> = run.event_values("message").collect();
    assert_eq!(found, ["waiting for a decision: approval", "decided: approve"], "{spans}");
    assert_eq!(run.event_values("call").collect::<Vec<_>>(), ["call_1_0", "call_1_0"]);

    let denied =
        traced(Agent::new(model()).observer(Events::new()).operator(Person::deciding([Decision::deny("no")]))).await;
    let run = &denied.roots()[0];
    assert_eq!(run.event_values("message").last(), Some("the call was denied, and did not run"), "{denied}");
    assert!(denied.find("execute_tool pay").is_none());

    let later = traced(Agent::new(model()).operator(Suspend)).await;
    let run = &later.roots()[0];
    assert_eq!(run.event_values("message").last(), Some("waiting for a decision"), "{later}");
    assert_eq!((run.get("tool.run.phase"), run.get("error.type")), (Some("suspended"), None));
}

#[tokio::test]
async fn errors_have_a_type() {
    let calls = Turn::call("slow", json!({})).then_call("flaky", json!({})).then_call("count", json!({"n": 10}));
    let spans = traced(Agent::new(ScriptedModel::new([calls]))).await;
    let run = &spans.roots()[0];
    let errors: Vec<_> = run.children.iter().map(|span| (span.name.as_str(), span.get("error.type"))).collect();
    let flaky = errors.iter().filter(|error| **error == ("execute_tool flaky", Some("failed"))).count();
    assert_eq!(flaky, 2, "each attempt is a span: {spans}");
    assert!(errors.contains(&("execute_tool slow", Some("timed_out"))), "{spans}");
    assert!(
        run.event_values("message").any(|text| text == "the arguments were rejected; the call did not run"),
        "{spans}"
    );
    assert_eq!(errors.last(), Some(&("chat scripted", Some("script"))), "{spans}");
    assert_eq!((run.get("error.type"), run.get("otel.status_code")), (Some("script"), Some("ERROR")));
}

#[tokio::test]
async fn an_agent_in_a_tool_is_below_the_tool() {
    let model = ScriptedModel::new([Turn::call("delegate", json!({})), Turn::say("ok")]);
    let spans = traced(Agent::new(model).name("outer")).await;
    let tool = spans.find("execute_tool delegate").unwrap();
    assert_eq!(names(&tool.children), ["invoke_agent inner"], "{spans}");
    assert_eq!(names(&tool.children[0].children), ["chat scripted"]);
}

#[tokio::test]
async fn a_cancelled_turn_is_marked() {
    let stop = Cancellation::new();
    let stopping = stop.clone();
    // The model cancels after its first delta. So the turn has begun, even on a slow machine.
    let model = FunctionModel::streaming(move |_| {
        let stopping = stopping.clone();
        let silent = stream::once(async move {
            stopping.cancel();
            std::future::pending().await
        });
        stream::iter([Ok(Delta::Text("a".into()))]).chain(silent)
    });
    let spans = Spans::new();
    let guard = set_default(spans.clone());
    let done = Agent::new(model).context(Context::new("").with_cancellation(stop)).run("go").await;
    drop(guard);
    assert!(done.is_err());
    let chat = spans.find("chat function").unwrap();
    assert_eq!((chat.get("error.type"), chat.took.is_some()), (Some("cancelled"), true), "{spans}");
    assert_eq!(spans.roots()[0].get("error.type"), Some("cancelled"));
}

#[tokio::test]
async fn a_worker_reports_a_run_that_it_leaves_alone_once() {
    let store = std::sync::Arc::new(MemoryStore::new());
    let agent = |turns: [Turn; 1]| Agent::new(ScriptedModel::new(turns)).operator(Suspend).store(store.clone());
    let owner = agent([Turn::call("pay", json!({"amount": 1}))]).tools(toolset!(pay));
    let mut session = owner.session();
    session.send("go").await.unwrap();
    let (run, open) = (session.id().clone(), session.interrupts().next().unwrap().id.clone());
    owner.decide(&run, &open, Decision::Approve, owner.owner()).await.unwrap();

    let spans = Spans::new();
    let _guard = set_default(spans.clone());
    let worker = agent([Turn::say("never")]);
    for _ in 0..3 {
        assert_eq!(worker.sweep().await.unwrap(), 0);
        assert!(!worker.resume_run(&run).await.unwrap());
    }
    // While another process drives the run, it is not due. That process is lost.
    let driver = owner.clone().lease_time(std::time::Duration::from_millis(200));
    let mut session = driver.open(&run).await.unwrap();
    session.before_next_effect(std::future::pending());
    let looking = async {
        while !store.due(worker.now(), 1).await.unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
        worker.sweep().await
    };
    tokio::select! {
        done = session.resume() => panic!("{done:?}"),
        swept = looking => assert_eq!(swept.unwrap(), 0),
    }
    drop(session);
    while store.due(worker.now(), 1).await.unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    assert_eq!(worker.sweep().await.unwrap(), 0);
    // Another application is no reason to act, so this event has the level `DEBUG`.
    assert_eq!(worker.clone().name("other").sweep().await.unwrap(), 0);
    let outside = spans.outside();
    let reasons = ["the tool `pay`, which this agent does not have", "made the run, and this agent is `other`"];
    assert_eq!(outside.len(), reasons.len(), "{outside:?}");
    for (event, reason) in outside.iter().zip(reasons) {
        let value = |name: &str| &event.iter().find(|(field, _)| field == name).unwrap().1;
        assert_eq!(value("run"), run.as_str());
        assert!(value("message").contains(reason), "{event:?}");
    }
}
