//! Tests that a follower reports the model's turn while it grows, from pieces that the store passes on beside the log.

use std::{sync::Arc, time::Duration};

use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};
use tokio::{sync::Semaphore, task::JoinHandle};
use tool_runtime::{
    Agent, AgentError, Toolset,
    agent::{EventKind, Reply, Session, Suspend},
    message::{Message, Signature},
    model::{Delta, FinishReason, FunctionModel, ModelError, ModelErrorKind},
    run::{Phase, RunId},
    store::Store,
    test::{Events, TestClock},
};
use tool_test_kit::{
    stores::{File, Schema, Stores},
    within,
};

use crate::{
    kit::{Effects, tools},
    store_hooks::Wrapped,
};

type Deltas = Vec<Result<Delta, ModelErrorKind>>;

/// A run whose model sends a delta for each permit.
struct Gated {
    store: Arc<dyn Store>,
    gate: Arc<Semaphore>,
    agent: Agent,
    clock: TestClock,
    id: RunId,
    /// The events that its driver reports.
    events: Events,
    driven: JoinHandle<(Result<Reply, AgentError>, Session)>,
}

impl Gated {
    /// Begins a run in `driver`, and waits until its model is asked. `turns` are those of the model.
    async fn begin(driver: &Arc<dyn Store>, turns: Vec<Deltas>) -> Self {
        let (gate, clock) = (Arc::new(Semaphore::new(0)), TestClock::new());
        let permits = Arc::clone(&gate);
        let asked = std::sync::atomic::AtomicUsize::new(0);
        let model = FunctionModel::streaming(move |_| {
            let turn = turns.get(asked.fetch_add(1, std::sync::atomic::Ordering::SeqCst)).cloned().unwrap_or_default();
            let permits = Arc::clone(&permits);
            stream::iter(turn).then(move |delta| {
                let permits = Arc::clone(&permits);
                async move {
                    permits.acquire().await.unwrap().forget();
                    delta.map_err(|kind| ModelError::new(kind, "it broke off"))
                }
            })
        });
        let events = Events::unchecked();
        let agent = Agent::new(model).tools(all_tools()).operator(Suspend).clock(&clock).model_retries(1);
        let mut session = agent.clone().store(Arc::clone(driver)).observer(events.clone()).session();
        let id = session.id().clone();
        let driven = tokio::spawn(async move { (session.send("go").await, session) });
        // Before the driver has the lease, a follower would take the run over.
        wait_until(|| events.all().iter().any(|seen| matches!(seen, EventKind::StepStarted { .. }))).await;
        Self { store: Arc::clone(driver), gate, agent, clock, id, events, driven }
    }

    /// Follows the run from its beginning, with another handle of its store.
    async fn follow(&self, store: &Arc<dyn Store>) -> (Events, JoinHandle<Result<Reply, AgentError>>) {
        let events = Events::new();
        let first = store.read(&self.id, 0).await.unwrap().swap_remove(0);
        let run = tool_runtime::store::StoredRun::new(None, vec![first]).rebuild().unwrap();
        let mut session = self.agent.clone().store(Arc::clone(store)).observer(events.clone()).session_from_run(run);
        (events, tokio::spawn(async move { session.follow().await }))
    }

    fn let_pass(&self, deltas: usize) {
        self.gate.add_permits(deltas);
    }

    /// Waits for the end of both processes. Both must report the same contents.
    async fn end(self, (events, followed): (Events, JoinHandle<Result<Reply, AgentError>>)) {
        self.let_pass(1000);
        let (reply, _) = self.driven.await.unwrap();
        let copy = followed.await.unwrap();
        assert_eq!(copy.unwrap(), reply.unwrap());
        assert_eq!(contents(&events), contents(&self.events));
    }
}

fn all_tools() -> Toolset {
    tools(&Effects::new())
}

/// Returns the contents of the turns: each text, reasoning and call, with its pieces as one, and each end of a turn.
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
                all.iter_mut().rfind(|(kind, _)| *kind == id.as_str()).unwrap().1.push_str(&text);
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
    // A follower reports the beginning of a step with its first piece.
    all.pop_if(|(kind, _)| kind.starts_with("step"));
    all
}

/// Waits until a condition holds.
async fn wait_until(is_so: impl Fn() -> bool) {
    let waiting = async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    within("a follower", waiting).await;
}

/// Waits until a follower has reported everything that the driver has.
async fn wait_for_follower(follower: &Events, driver: &Events) {
    wait_until(|| contents(follower) == contents(driver)).await;
}

#[allow(clippy::unnecessary_wraps, reason = "items of a stream that can fail")]
fn text(text: &str) -> Result<Delta, ModelErrorKind> {
    Ok(Delta::Text(text.to_owned()))
}

#[allow(clippy::unnecessary_wraps, reason = "items of a stream that can fail")]
fn start(index: usize, id: &str, name: &str) -> Result<Delta, ModelErrorKind> {
    Ok(Delta::CallStart { index, id: id.to_owned(), name: name.to_owned() })
}

#[allow(clippy::unnecessary_wraps, reason = "items of a stream that can fail")]
fn arguments(index: usize, text: &str) -> Result<Delta, ModelErrorKind> {
    Ok(Delta::CallArguments { index, text: text.to_owned() })
}

/// Returns a turn with everything that a follower reports, and a second one.
fn turns() -> Vec<Deltas> {
    let first = vec![
        Ok(Delta::Reasoning("I th".to_owned())),
        Ok(Delta::Reasoning("ink.".to_owned())),
        Ok(Delta::ReasoningSignature(Signature::new("", "sealed"))),
        text("Gr"),
        text("üße, \"漢\"\n"),
        start(0, "one", "note"),
        arguments(0, "{\"te"),
        start(1, "two", "look"),
        arguments(1, "{\"what\":"),
        arguments(0, "xt\": \"a note\"}"),
        arguments(1, "\"the sky\"}"),
        Ok(Delta::Finish(FinishReason::ToolCalls)),
    ];
    vec![first, vec![text("All "), text("is done."), Ok(Delta::Finish(FinishReason::Stop))]]
}

/// Runs a check with two handles of each store that passes pieces on.
async fn each_store(check: impl AsyncFn(Stores)) {
    check(Stores::memory()).await;
    let schema = Schema::new();
    check(schema.stores().await).await;
    schema.remove().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_follower_reports_each_piece_before_the_next_comes() {
    each_store(async |stores| {
        let run = Gated::begin(&stores.one, turns()).await;
        let follower = run.follow(&stores.other).await;
        for _ in turns().concat() {
            run.let_pass(1);
            wait_until(|| run.gate.available_permits() == 0).await;
            wait_for_follower(&follower.0, &run.events).await;
        }
        assert_eq!(follower.0.text(), "Grüße, \"漢\"\nAll is done.");
        run.end(follower).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_follower_that_comes_in_the_middle_gets_the_turn_so_far() {
    each_store(async |stores| {
        for before in [1, 4, 7, 9, 13] {
            let run = Gated::begin(&stores.one, turns()).await;
            run.let_pass(before);
            wait_until(|| run.gate.available_permits() == 0 && !contents(&run.events).is_empty()).await;
            let (one, other) = (run.follow(&stores.other).await, run.follow(&stores.one).await);
            for follower in [&one, &other] {
                wait_for_follower(&follower.0, &run.events).await;
            }
            run.let_pass(1);
            for follower in [&one, &other] {
                wait_for_follower(&follower.0, &run.events).await;
            }
            run.let_pass(1000);
            let copy = other.1.await.unwrap().unwrap();
            assert_eq!(copy.phase, Phase::Finished);
            let driver = run.events.clone();
            run.end(one).await;
            assert_eq!(contents(&other.0), contents(&driver));
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_follower_reports_lost_pieces_at_the_end_of_the_turn() {
    each_store(async |stores| {
        let losing = Wrapped::new(&stores.one).losing_pieces().shared();
        let run = Gated::begin(&losing, turns()).await;
        let follower = run.follow(&stores.other).await;
        run.let_pass(1);
        wait_until(|| contents(&follower.0).iter().any(|(kind, _)| kind == "reasoning")).await;
        for _ in 2..turns().concat().len() {
            run.let_pass(1);
            wait_until(|| run.gate.available_permits() == 0).await;
        }
        run.end(follower).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_pieces_a_follower_reports_the_turn_at_its_end() {
    let file = File::new();
    let stores = file.stores();
    let run = Gated::begin(&stores.one, turns()).await;
    let follower = run.follow(&stores.other).await;
    run.let_pass(5);
    wait_until(|| run.gate.available_permits() == 0).await;
    run.end(follower).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_that_fails_after_some_text_is_void_for_followers_too() {
    each_store(async |stores| {
        let failed = vec![text("This is "), text("void."), start(0, "one", "note"), Err(ModelErrorKind::Unavailable)];
        let run = Gated::begin(&stores.one, [vec![failed], turns()].concat()).await;
        let follower = run.follow(&stores.other).await;
        run.let_pass(3);
        wait_until(|| contents(&follower.0).iter().any(|(_, text)| text == "note: ")).await;
        assert_eq!(follower.0.text(), "This is void.");
        let events = follower.0.clone();
        run.end(follower).await;
        let failures =
            events.all().into_iter().filter(|seen| matches!(seen, EventKind::TurnFailed { again: true, .. }));
        assert_eq!(failures.count(), 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_follower_that_takes_the_run_over_begins_the_turn_again() {
    each_store(async |stores| {
        let turns =
            vec![vec![text("Half a"), text("never")], vec![text("All."), Ok(Delta::Finish(FinishReason::Stop))]];
        let run = Gated::begin(&stores.one, turns).await;
        let (events, followed) = run.follow(&stores.other).await;
        run.let_pass(1);
        wait_until(|| events.text() == "Half a").await;
        run.driven.abort();
        assert!(run.driven.await.is_err());
        // The lease of the driver ends.
        let more = Duration::from_mins(1);
        stores.pass(run.clock.now(), more).await;
        run.clock.advance(more);
        run.gate.add_permits(2);
        assert_eq!(followed.await.unwrap().unwrap().text, "All.");
        events.assert_order(&["step 1", "Half a", "turn failed, again", "step 1", "All.", "turn finished"]);
    })
    .await;
}

/// Waits for pieces that the driver publishes. Returns them as JSON.
async fn read_published(run: &Gated, count: usize) -> Vec<Value> {
    let mut pieces = run.store.pieces(&run.id).unwrap();
    let mut all = Vec::new();
    while all.len() < count {
        all.push(serde_json::from_str(&pieces.next().await.unwrap()).unwrap());
    }
    all
}

#[tokio::test]
async fn forged_pieces_do_not_change_the_final_contents() {
    let stores = Stores::memory();
    let run = Gated::begin(&stores.one, turns()).await;
    let follower = run.follow(&stores.other).await;
    run.let_pass(1);
    wait_until(|| contents(&follower.0).iter().any(|(kind, _)| kind == "reasoning")).await;
    let piece = read_published(&run, 1).await.remove(0);
    let changed = |change: &dyn Fn(&mut Value)| {
        let mut piece = piece.clone();
        change(&mut piece);
        piece.to_string()
    };
    let before = contents(&follower.0);
    let ignored = [
        "not JSON".to_owned(),
        "{}".to_owned(),
        json!({ "turn": 1, "asked": 0, "arguments": { "call": 7, "from": 0, "text": "x" } }).to_string(),
        changed(&|piece| piece["turn"] = json!(0)),
        changed(&|piece| piece["turn"] = json!(2)),
        changed(&|piece| piece["asked"] = json!(1)),
        changed(&|piece| piece["part"]["number"] = json!(9)),
        changed(&|piece| piece["part"]["from"] = json!(400)),
        changed(&|piece| piece["part"]["text_before"] = json!(400)),
        changed(&|piece| piece["part"]["piece"] = json!({ "text": "of another kind" })),
        changed(&|piece| {
            piece["part"] = json!({ "number": 1, "from": 0, "text_before": 0, "piece": { "text": "too early" } });
        }),
    ];
    for piece in ignored {
        run.store.publish(&run.id, piece);
    }
    run.let_pass(1);
    wait_for_follower(&follower.0, &run.events).await;
    assert_eq!(before.len(), contents(&follower.0).len());
    // A claim that another process began the turn later, and a text that the turn does not have.
    let later = json!(u64::MAX);
    run.store.publish(&run.id, changed(&|piece| piece["asked"] = later.clone()));
    let lie = json!({ "number": 0, "from": 4, "text_before": 0, "piece": { "reasoning": "never" } });
    run.store.publish(&run.id, changed(&|piece| (piece["asked"], piece["part"]) = (later.clone(), lie.clone())));
    wait_until(|| contents(&follower.0).iter().any(|(_, text)| text.ends_with("never"))).await;
    let events = follower.0.clone();
    run.let_pass(1000);
    assert!(follower.1.await.unwrap().is_ok());
    // Both times, the step is void and begins again. In the end, the contents are those of the log.
    let ends = events.all().into_iter().filter(|seen| matches!(seen, EventKind::TurnFailed { .. })).count();
    let (seen, wanted) = (contents(&events), contents(&run.events));
    assert_eq!((ends, &seen[seen.len() - wanted.len()..]), (2, &wanted[..]));
    assert!(matches!(run.driven.await.unwrap().1.messages().last(), Some(Message::Assistant { .. })));
}

#[tokio::test]
async fn a_long_text_is_cut_into_short_pieces() {
    let stores = Stores::memory();
    let long = "\u{1}漢".repeat(5000);
    let run = Gated::begin(&stores.one, vec![vec![text(&long), Ok(Delta::Finish(FinishReason::Stop))]]).await;
    run.let_pass(1);
    wait_until(|| run.events.text().len() == long.len()).await;
    let mut pieces = stores.other.pieces(&run.id).unwrap();
    let mut read = String::new();
    while read.len() < long.len() {
        let piece = pieces.next().await.unwrap();
        assert!(piece.len() <= 7000 && !piece.contains('\n'));
        let piece: Value = serde_json::from_str(&piece).unwrap();
        read.push_str(piece["part"]["piece"]["text"].as_str().unwrap());
    }
    assert_eq!(read, long);
    let follower = run.follow(&stores.other).await;
    wait_for_follower(&follower.0, &run.events).await;
    run.end(follower).await;
}
