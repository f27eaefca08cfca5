//! Notifications of PostgreSQL, one in each line, to a process that follows a run. The pieces of turns in them reach a follower.
//!
//! A notification changes only the run that it names. Whatever arrives, the follower has reported what the log has, in the end.

#![no_main]

use std::{sync::Arc, time::Duration};

use futures_util::{StreamExt, stream};
use libfuzzer_sys::{Corpus, fuzz_mutator, fuzz_target};
use tool_runtime::{
    Agent, Toolset,
    agent::{EventKind, Suspend},
    model::{Delta, FinishReason, FunctionModel},
    run::RunId,
    store::{MemoryStore, Store, StoredRun},
    test::{Events, TestClock},
};
use tool_stores::{Received, receive_notifications};

/// The ids of two runs. One contains the separator of a notification.
const RUNS: [&str; 2] = ["run-1", "run 2"];

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    tool_fuzz::mutate_lines(data, size, max_size, seed)
});

fuzz_target!(|data: &[u8]| -> Corpus {
    let Ok(text) = str::from_utf8(data) else { return Corpus::Reject };
    // A notification with pieces has lines of its own: `\n` stands for their end.
    let payloads: Vec<String> = text.lines().map(|line| line.replace("\\n", "\n")).collect();
    for payload in &payloads {
        let received = receive_notifications(RUNS, [payload.as_str()]);
        for (id, received) in RUNS.iter().zip(&received) {
            assert!(
                payload.contains(id) || *received == Received::default(),
                "{payload:?} changed {id:?}: {received:?}"
            );
        }
    }
    let [received, _] = receive_notifications(RUNS, payloads.iter().map(String::as_str));
    if received.pieces.is_empty() {
        return Corpus::Keep;
    }
    tool_fuzz::runtime().block_on(follow(received.pieces));
    Corpus::Keep
});

/// Follows a run whose process sends a turn in two halves. Between them, `pieces` arrive.
async fn follow(pieces: Vec<String>) {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let events = Events::unchecked();
    let agent = Agent::new(FunctionModel::streaming(|asked| turn(asked.messages.len()).boxed()))
        .tools(Toolset::new())
        .operator(Suspend)
        .clock(&TestClock::new());
    let mut session = agent.clone().store(Arc::clone(&store)).observer(events.clone()).session();
    let id: RunId = session.id().clone();
    let driven = tokio::spawn(async move { session.send("go").await });
    tokio::time::sleep(Duration::from_secs(1)).await;
    let seen = Events::new();
    let first = store.read(&id, 0).await.expect("a run").swap_remove(0);
    let run = StoredRun::new(None, vec![first]).rebuild().expect("a run");
    let mut follower = agent.store(Arc::clone(&store)).observer(seen.clone()).session_from_run(run);
    let followed = tokio::spawn(async move { follower.follow().await });
    tokio::time::sleep(Duration::from_secs(1)).await;
    for piece in pieces {
        store.publish(&id, piece);
        tokio::task::yield_now().await;
    }
    let reply = driven.await.expect("no panic").expect("a reply");
    let copy = tokio::time::timeout(Duration::from_secs(600), followed).await.expect("the follower ends");
    assert_eq!(copy.expect("no panic").expect("a reply"), reply);
    let (seen, wanted) = (contents(&seen), contents(&events));
    assert!(seen.ends_with(&wanted), "the follower reported {seen:?}, but the log has {wanted:?}");
}

/// Returns the deltas of a turn, with a pause after the first ones.
fn turn(messages: usize) -> impl futures_util::Stream<Item = Result<Delta, tool_runtime::model::ModelError>> + Send {
    let call = [
        Delta::CallStart { index: 0, id: "one".to_owned(), name: "nothing".to_owned() },
        Delta::CallArguments { index: 0, text: "{\"te".to_owned() },
        Delta::CallArguments { index: 0, text: "xt\":1}".to_owned() },
        Delta::CallEnd { index: 0 },
    ];
    let mut deltas =
        vec![Delta::Reasoning("I th".to_owned()), Delta::Text("Gr".to_owned()), Delta::Text("üße".to_owned())];
    let mut reason = FinishReason::Stop;
    if messages < 2 {
        deltas.extend(call);
        reason = FinishReason::ToolCalls;
    }
    deltas.push(Delta::Finish(reason));
    stream::iter(deltas).enumerate().then(|(at, delta)| async move {
        if at == 2 {
            tokio::time::sleep(Duration::from_secs(10)).await;
        }
        Ok(delta)
    })
}

/// Returns the contents of the last turn: each text, reasoning and call, with its pieces as one.
fn contents(events: &Events) -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = Vec::new();
    for event in events.all() {
        let (kind, piece) = match event {
            EventKind::Text(text) => ("text".to_owned(), text),
            EventKind::Reasoning(text) => ("reasoning".to_owned(), text),
            EventKind::CallAnnounced { id, name } => {
                all.push((id.to_string(), format!("{name}: ")));
                continue;
            }
            EventKind::CallArguments { id, text } => {
                all.iter_mut().rfind(|(kind, _)| *kind == id.as_str()).expect("an announced call").1.push_str(&text);
                continue;
            }
            EventKind::StepStarted { step } => (format!("step {step}"), String::new()),
            EventKind::TurnEnded { .. } | EventKind::TurnFailed { .. } => ("end".to_owned(), String::new()),
            _ => continue,
        };
        match all.last_mut() {
            Some((last, text)) if *last == kind => text.push_str(&piece),
            _ => all.push((kind, piece)),
        }
    }
    all
}
