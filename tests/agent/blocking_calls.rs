//! Tests of calls whose failure blocks their run.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering::SeqCst},
};

use tool_runtime::{
    Agent, AgentError, CallError, CallFuture, Context, Failure, Toolset,
    layer::{ProblemReports, SecretFilter},
    model::{ScriptedModel, Turn},
    run::{CallResult, Phase, StopReason},
    store::{MemoryStore, Store},
    tool, toolset,
    toolset::{Invocation, Layer, Next},
};

/// Sends a text.
#[tool]
fn send(
    #[state] sent: &AtomicUsize,
    /** The text. */
    text: String,
) -> usize {
    let _ = text;
    sent.fetch_add(1, SeqCst)
}

/// Waits until it is cancelled.
#[tool(effect = read_only)]
async fn wait(#[context] cx: &Context) -> u8 {
    cx.cancellation().cancelled().await;
    7
}

/// Fails, and blocks the run.
#[tool]
fn refuse() -> Result<u8, Failure> {
    Err(Failure::new("this account is closed").retryable().block_run("accounts"))
}

/// A layer that lets no key through, in arguments and in outputs.
struct Keys;

impl Layer for Keys {
    fn call<'a>(&'a self, call: Invocation<'a>, mut next: Next<'a>) -> CallFuture<'a> {
        let found = call.arguments.contains("sk-");
        Box::pin(async move {
            if found {
                return Err(Failure::new("the arguments have a key").block_run("keys").into());
            }
            next.run().await
        })
    }
}

fn tools(sent: &Arc<AtomicUsize>) -> Toolset {
    toolset!(Arc::clone(sent); send, wait, refuse).layer(Keys)
}

fn blocked_by<T: std::fmt::Debug>(done: Result<T, AgentError>) -> (String, String) {
    match done {
        Err(AgentError::Blocked { by, reason }) => (by, reason),
        other => panic!("nothing blocked the run: {other:?}"),
    }
}

#[tokio::test]
async fn a_layer_ends_the_run() {
    let (sent, store): (_, Arc<dyn Store>) = (Arc::default(), Arc::new(MemoryStore::new()));
    let turns = [Turn::call("wait", "{}").then_call("send", r#"{"text":"sk-1"}"#), Turn::say("Done.")];
    let agent = Agent::new(ScriptedModel::new(turns)).tools(tools(&sent)).store(Arc::clone(&store));
    let mut session = agent.session();
    let blocked = blocked_by(session.send("Send it.").await);
    assert_eq!(blocked, ("keys".to_owned(), "the arguments have a key".to_owned()));
    let phase = Phase::Stopped(StopReason::Blocked { by: blocked.0, reason: blocked.1 });
    assert_eq!((session.run().phase(), sent.load(SeqCst)), (phase.clone(), 0));
    let results: Vec<_> =
        session.run().calls().iter().map(|call| call.result().expect("every call has ended")).collect();
    assert!(matches!(results[..], [CallResult::Cancelled, CallResult::Failed { .. }]), "{results:?}");
    // Nobody sees the end of the call without that of the run.
    let records = store.read(session.id(), 0).await.unwrap();
    let end = records.iter().find(|record| record.text.contains("the arguments have a key")).expect("the end");
    assert!(end.text.contains(r#""stopped""#), "{}", end.text);
    // Another process sees the reason, and the next prompt goes on.
    let mut other = agent.open(session.id()).await.unwrap();
    assert_eq!(other.run().phase(), phase);
    assert_eq!(other.send("Go on.").await.unwrap().text, "Done.");
}

/// A failure that blocks the run is not retried, whatever it says.
#[tokio::test]
async fn a_tool_ends_the_run() {
    let agent = Agent::new(ScriptedModel::new([Turn::call("refuse", "{}")])).tools(tools(&Arc::default()));
    let mut session = agent.session();
    let blocked = blocked_by(session.send("Pay.").await);
    assert_eq!(blocked, ("accounts".to_owned(), "this account is closed".to_owned()));
    assert_eq!(session.run().calls()[0].attempts, 1);
}

/// Layers further out that change the text keep the block.
#[tokio::test]
async fn layers_that_change_the_failure_keep_the_block() {
    let filtered = |filter: SecretFilter| tools(&Arc::default()).layer(ProblemReports::new()).layer(filter);
    let filter = || SecretFilter::new(["closed"]);
    for (tools, reason) in [(filtered(filter()), "secret"), (filtered(filter().redact("…")), "this account is …")] {
        let agent = Agent::new(ScriptedModel::new([Turn::call("refuse", "{}")])).tools(tools);
        let blocked = blocked_by(agent.run("Pay.").await);
        assert!(blocked.0 == "accounts" && blocked.1.contains(reason) && !blocked.1.contains("closed"), "{blocked:?}");
    }
}

/// The run around an inner one goes on: it has its own guards.
#[tokio::test]
async fn an_inner_run_is_blocked_by_itself() {
    let inner = Agent::new(ScriptedModel::new([Turn::call("refuse", "{}")])).tools(tools(&Arc::default()));
    let outer = Agent::new(ScriptedModel::new([Turn::call("pay", r#"{"task":"Pay."}"#), Turn::say("Sorry.")]));
    let mut session = outer.tools(tool_runtime::Toolset::new().with(inner.as_tool("pay", "Pays.")).unwrap()).session();
    assert_eq!(session.send("Pay.").await.unwrap().text, "Sorry.");
    let CallResult::Failed { error, .. } = session.run().calls()[0].result().unwrap() else { panic!("it failed") };
    assert!(error.contains("accounts blocked the run: this account is closed"), "{error}");
}

/// Outside of a run, it is a failure like any other.
#[tokio::test]
async fn a_call_without_a_run_fails() {
    let failed = tools(&Arc::default()).call("refuse", "{}", &Context::new("call_1")).await.unwrap_err();
    let CallError::Failed(failure) = &failed else { panic!("{failed}") };
    assert_eq!((failure.blocked_by(), failed.to_string()), (Some("accounts"), "this account is closed".to_owned()));
}
