//! Tests of random scripts, with decisions and crashes at random moments: no permission runs a call twice, nothing is lost, and the
//! run ends.

use std::{collections::HashMap, future::poll_fn, pin::pin, sync::Arc, task::Poll, time::Duration};

use futures_util::future::BoxFuture;
use proptest::{collection::vec, prelude::*};
use serde_json::json;
use tokio::task::yield_now;
use tool_run::run::{Author, LogEntry, record};
use tool_runtime::{
    Agent, AgentError, Context, Failure, Message,
    agent::{Decision, Reply, Suspend},
    message::AssistantPart,
    model::{FunctionModel, Turn},
    run::{CallId, CallResult, GrantedBy, Interrupt, InterruptKind, Phase, Run, RunId},
    store::{Store, StoreError},
    tool, toolset,
};

use crate::{
    kit::{Effects, Events, open_interrupts, store},
    store_hooks::Wrapped,
};

async fn pause(times: u8) {
    for _ in 0..times {
        yield_now().await;
    }
}

macro_rules! counted {
    ($(#[$attribute:meta])* $name:ident) => {
        /// Leaves a trace.
        $(#[$attribute])*
        async fn $name(
            /// The number of the call.
            n: u32,
            /// The time that it takes.
            times: u8,
            #[state] effects: &Effects,
        ) -> u32 {
            pause(times).await;
            effects.record(n.to_string());
            pause(times).await;
            n
        }
    };
}

counted!(
    #[tool(effect = read_only, eager)]
    safe
);
counted!(
    #[tool]
    write
);
counted!(
    #[tool(approval = always, effect = destructive)]
    destroy
);
counted!(
    #[tool(sequential)]
    single
);

/// Asks in the middle of its work.
#[tool]
async fn ask(n: Number, times: u8, #[state] effects: &Effects, #[context] cx: &Context) -> Result<String, Failure> {
    let step = async {
        pause(times).await;
        Ok::<_, Failure>(n.0)
    };
    cx.step("first", step).await?;
    let word: String = cx.ask("Which word?").await?;
    cx.request_approval("Go on?").await?;
    effects.record(n.0.to_string());
    Ok(word)
}

/// The number of the call.
#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Number(u32);

/// Is executed elsewhere.
#[tool(external, approval = always, output = u32)]
struct Elsewhere {
    /// The number of the call.
    n: u32,
    /// The time that it takes.
    times: u8,
}

const TOOLS: [&str; 6] = ["safe", "write", "destroy", "single", "ask", "Elsewhere"];

type Script = Vec<Vec<(usize, u8)>>;

/// Returns a model whose turn depends on the number of its earlier turns.
fn model(script: Script) -> FunctionModel {
    FunctionModel::new(move |request| {
        let turn = request.messages.iter().filter(|message| matches!(message, Message::Assistant { .. })).count();
        let Some(calls) = script.get(turn) else { return Turn::say("done") };
        calls.iter().enumerate().fold(Turn::say("well"), |answer, (index, (tool, times))| {
            // Every other number is a text, which the run reads.
            let n = turn * 10 + index;
            let n = if index % 2 == 1 { json!(n.to_string()) } else { json!(n) };
            answer.then_call(TOOLS[*tool], json!({"n": n, "times": times}))
        })
    })
}

fn decision(open: &Interrupt, how: u8) -> Decision {
    match (&open.kind, how % 5) {
        (_, 0) => Decision::deny("no"),
        (InterruptKind::Approval { .. }, 1) => {
            let mut arguments = open.shown.arguments.clone();
            arguments["times"] = json!(1);
            Decision::Edit { arguments }
        }
        (InterruptKind::Reconcile, 1) => Decision::Fail { error: "it failed".into() },
        (InterruptKind::External, 1) => Decision::Fail { error: "the tab was closed".into() },
        (InterruptKind::Approval { .. } | InterruptKind::Reconcile, 2) | (InterruptKind::External, _) => {
            Decision::Respond { output: json!(7) }
        }
        (InterruptKind::Question { question }, _) if question.schema.is_some() => {
            Decision::Answer { value: json!("word") }
        }
        _ => Decision::Approve,
    }
}

/// Decides one open interrupt, with a decision that it accepts.
async fn decide(agent: &Agent, id: &RunId, how: u8) {
    let interrupts = open_interrupts(agent, id).await;
    let Some(open) = interrupts.get(usize::from(how) % interrupts.len().max(1)) else { return };
    // The interrupt may be closed meanwhile, and an edit may not be a number.
    match agent.decide(id, &open.id, decision(open, how), "").await {
        Ok(_) | Err(AgentError::Refused(_)) => {}
        Err(error) => panic!("{error}"),
    }
}

/// Returns a store with a delay, so that a crash or another decision can come before an append.
fn slow(store: &Arc<dyn Store>) -> Arc<dyn Store> {
    let moment = || -> BoxFuture<'static, _> {
        Box::pin(async {
            yield_now().await;
            Ok(())
        })
    };
    Wrapped::new(store).before_append(move |_| moment()).before_read(move |_| moment()).alone().shared()
}

/// Drives a script to its end, with the interruptions in `choices`.
async fn play(script: Script, choices: Vec<u8>, store: &Arc<dyn Store>, effects: &Arc<Effects>) -> Run {
    let tools = toolset!(Arc::clone(effects); safe, write, destroy, single, ask, Elsewhere).lenient();
    let events = Events::new();
    let agent = Agent::new(model(script)).tools(tools).store(slow(store)).observer(events.clone()).operator(Suspend);
    let mut session = agent.session();
    let id = session.id().clone();
    let mut choices = choices.into_iter();
    let mut rounds = 0;
    loop {
        let is_new = agent.open(&id).await.map_or(true, |known| known.run().phase() == Phase::Idle);
        let ended: Option<Result<Reply, AgentError>> = {
            let mut life = pin!(async { if is_new { session.send("go").await } else { session.resume().await } });
            loop {
                rounds += 1;
                if rounds == 20_000 {
                    let log = log(store, &id).await;
                    panic!("the run does not end: {:#?}", &log[log.len().saturating_sub(8)..]);
                }
                if let Poll::Ready(ended) = poll_fn(|cx| Poll::Ready(life.as_mut().poll(cx))).await {
                    break Some(ended);
                }
                yield_now().await;
                match choices.next().map(|choice| (choice % 10, choice / 10)) {
                    // The program crashes.
                    Some((0, _)) => break None,
                    Some((1 | 2, how)) if !is_new => decide(&agent, &id, how).await,
                    Some((3, _)) => tokio::time::advance(Duration::from_millis(250)).await,
                    Some(_) => {}
                    None => tokio::time::advance(Duration::from_millis(50)).await,
                }
            }
        };
        match ended {
            Some(Ok(reply)) if reply.phase == Phase::Finished && session.run().phase() == Phase::Finished => break,
            Some(Ok(_)) => decide(&agent, &id, choices.next().unwrap_or(3)).await,
            None | Some(Err(AgentError::Store(StoreError::Leased { .. } | StoreError::Fenced))) => events.broke_off(),
            Some(Err(error)) => panic!("{error}"),
        }
        if choices.next().unwrap_or(0).is_multiple_of(2)
            && let Ok(opened) = agent.open(&id).await
        {
            session = opened;
        }
    }
    store.load(&id).await.unwrap().unwrap().rebuild().unwrap()
}

async fn log(store: &Arc<dyn Store>, id: &RunId) -> Vec<LogEntry> {
    let records = store.read(id, 0).await.unwrap();
    records.iter().flat_map(|record| record::decode(&record.text).unwrap()).collect()
}

/// The entries of the log about one call.
#[derive(Default)]
struct History {
    grants: usize,
    starts: usize,
    automatic: usize,
    steps: usize,
    ends: usize,
    was_reported: bool,
}

fn histories(log: &[LogEntry]) -> HashMap<CallId, History> {
    let mut all: HashMap<CallId, History> = HashMap::new();
    for event in log {
        match event {
            LogEntry::CallGranted { call, by, .. } => {
                let history = all.entry(call.clone()).or_default();
                history.grants += 1;
                history.automatic += usize::from(matches!(by, GrantedBy::Retry | GrantedBy::Rerun));
            }
            LogEntry::CallStarted { call, .. } => {
                let history = all.entry(call.clone()).or_default();
                history.starts += 1;
                assert!(history.starts <= history.grants, "{call} starts without a permission of its own");
            }
            LogEntry::DurableStepEnded { call, .. } => all.entry(call.clone()).or_default().steps += 1,
            LogEntry::CallEnded { call, .. } => all.entry(call.clone()).or_default().ends += 1,
            LogEntry::Decided { interrupt, decision: Decision::Respond { .. }, .. } => {
                all.entry(interrupt.call().clone()).or_default().was_reported = true;
            }
            _ => {}
        }
    }
    all
}

fn check(run: &Run, log: &[LogEntry], effects: &Effects) {
    assert_eq!(Run::fold(log.to_vec()).unwrap().freeze(), run.freeze());
    let histories = histories(log);
    for call in run.calls() {
        let History { grants, starts, automatic, steps, ends, was_reported } = &histories[&call.id];
        let arguments: serde_json::Value = serde_json::from_str(&call.arguments().text).unwrap();
        let times = effects.count(&arguments["n"].to_string());
        let (result, name) = (call.result().unwrap(), call.name.as_str());
        let outcome = format!("{name} {arguments}: {result:?}");
        let revisions = call.revisions().iter().chain([call.arguments()]);
        let read = revisions.filter(|revision| revision.author == Author::Reading).count();
        assert!(read <= usize::from(call.index % 2 == 1), "a call is read once: {outcome}");
        assert!(!arguments["n"].is_string() || *grants == 0, "a call is granted that was not read: {outcome}");
        assert_eq!(*ends, 1, "{outcome}");
        assert!(times <= *starts && starts <= grants, "{outcome}");
        assert!(*steps <= 1, "the log has a step twice: {outcome}");
        if name != "safe" {
            assert_eq!(*automatic, 0, "a call started again without a decision: {outcome}");
        }
        match result {
            CallResult::Succeeded { .. } if !was_reported => assert!(times > 0, "{outcome}"),
            CallResult::Denied { .. } | CallResult::Responded { .. } => assert_eq!(times, 0, "{outcome}"),
            _ => {}
        }
    }
    // Every call has one answer, in order, directly after its turn.
    let mut due = Vec::new();
    for message in run.messages() {
        match message {
            Message::Assistant { content } => {
                assert_eq!(due, [""; 0]);
                due.extend(content.iter().rev().filter_map(|part| match part {
                    AssistantPart::Call(call) => Some(call.id.as_str()),
                    _ => None,
                }));
            }
            Message::Tool(answer) => assert_eq!(due.pop(), Some(answer.call_id.as_str())),
            _ => assert_eq!(due, [""; 0]),
        }
    }
    assert_eq!(due, [""; 0]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn interrupted_runs_repeat_nothing_and_lose_nothing(
        script in vec(vec((0..TOOLS.len(), 0..4u8), 0..4), 1..4),
        choices in vec(any::<u8>(), 0..160),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let (store, effects) = (store(), Effects::new());
            let run = play(script, choices, &store, &effects).await;
            check(&run, &log(&store, run.id()).await, &effects);
        });
    }
}
