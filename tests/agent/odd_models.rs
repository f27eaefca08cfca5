//! Tests of models that never end, break off or repeat themselves.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use futures_util::stream::{self, BoxStream, StreamExt};
use serde_json::json;
use tool_runtime::{
    Agent, AgentError, Context,
    agent::EventKind,
    message::{Message, Signature},
    model::{Delta, FinishReason, FunctionModel, Model, ModelError, ModelErrorKind, Request, ScriptedModel, Turn},
    run::CallResult,
    run::{Phase, StopReason},
    test::Events,
    tool, toolset,
};
use tool_test_kit::within;

use crate::run_loop::watched;

/// Counts its calls.
#[tool]
fn count(
    /// Anything.
    text: String,
    #[state] times: &AtomicUsize,
) -> usize {
    times.fetch_add(1, Ordering::SeqCst);
    text.len()
}

fn results(session: &tool_runtime::agent::Session) -> Vec<CallResult> {
    session.run().calls().iter().filter_map(|call| call.result().cloned()).collect()
}

#[tokio::test]
async fn calls_beyond_the_limit_are_over_budget() {
    let turn = (0..10_000).fold(Turn::default(), |turn, n| turn.then_call("count", json!({ "text": n.to_string() })));
    let times = Arc::new(AtomicUsize::new(0));
    let model = ScriptedModel::new([turn, Turn::say("done")]);
    let mut session = watched(model).tools(toolset!(Arc::clone(&times); count)).session();
    let reply = within("a turn of ten thousand calls", Box::pin(session.send("go"))).await.unwrap();
    assert_eq!((reply.text.as_str(), reply.phase), ("done", Phase::Finished));
    assert_eq!(times.load(Ordering::SeqCst), 64, "a turn may call 64 tools");
    let results = results(&session);
    let over = results.iter().filter(|result| matches!(result, CallResult::LimitReached { .. })).count();
    assert_eq!((results.len(), over), (10_000, 10_000 - 64));
}

/// A model that never ends and never pauses.
fn endless(delta: impl Fn(usize) -> Delta + Clone + Send + Sync + 'static) -> FunctionModel {
    FunctionModel::streaming(move |_| {
        let delta = delta.clone();
        stream::iter((0..).map(move |n| Ok(delta(n))))
    })
}

#[tokio::test]
async fn a_turn_that_never_ends_is_cut_at_the_byte_limit() {
    let texts = endless(|_| Delta::Text("and on ".repeat(100)));
    let mut session = watched(texts).options(|options| options.limits.message_bytes = 1 << 20).session();
    let reply = session.send("go").await.unwrap();
    assert_eq!(reply.phase, Phase::Stopped(StopReason::TurnCut(FinishReason::Length)));
    assert!((1 << 19..=1 << 20).contains(&reply.text.len()), "the text before the limit is kept");

    // Arguments that never end are cut, too, and nothing runs.
    let times = Arc::new(AtomicUsize::new(0));
    let arguments = endless(|n| match n {
        0 => Delta::CallStart { index: 0, id: "a".into(), name: "count".into() },
        1 => Delta::CallArguments { index: 0, text: "{\"text\":\"".into() },
        _ => Delta::CallArguments { index: 0, text: "x".repeat(1000) },
    });
    let agent = watched(arguments).tools(toolset!(Arc::clone(&times); count));
    let mut session = agent.options(|options| options.limits.message_bytes = 1 << 20).session();
    assert_eq!(session.send("go").await.unwrap().phase, Phase::Stopped(StopReason::TurnCut(FinishReason::Length)));
    assert_eq!(times.load(Ordering::SeqCst), 0);

    // Calls that never end are cut, too.
    let calls = endless(|n| Delta::CallStart { index: n, id: String::new(), name: "count".into() });
    let mut session = watched(calls).tools(toolset!(Arc::clone(&times); count)).session();
    assert_eq!(session.send("go").await.unwrap().phase, Phase::Stopped(StopReason::TurnCut(FinishReason::Length)));
    assert_eq!(times.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_turn_cut_in_its_arguments_runs_nothing_and_is_retried() {
    let start = || Delta::CallStart { index: 0, id: "a".into(), name: "count".into() };
    let some = || Delta::CallArguments { index: 0, text: "{\"text\":\"ab".into() };
    let unavailable = || ModelError::new(ModelErrorKind::Unavailable, "the line is dead");
    let broken: Vec<Vec<Result<Delta, ModelError>>> =
        vec![vec![Ok(start()), Ok(some()), Err(unavailable())], vec![Ok(start()), Ok(some())]];
    for deltas in broken {
        let times = Arc::new(AtomicUsize::new(0));
        let model = ScriptedModel::new([deltas]).then(Turn::say("There I am."));
        let mut session = watched(model).tools(toolset!(Arc::clone(&times); count)).session();
        let error = session.send("go").await.unwrap_err();
        assert!(matches!(error, AgentError::Model(_)), "{error}");
        assert_eq!(session.resume().await.unwrap().text, "There I am.");
        assert_eq!(times.load(Ordering::SeqCst), 0);
        assert!(session.run().calls().is_empty(), "an incomplete call is not in the run");
    }
}

#[tokio::test]
async fn a_repeated_call_runs_each_time_until_the_step_limit() {
    let times = Arc::new(AtomicUsize::new(0));
    let again = FunctionModel::new(|_| Turn::call("count", json!({ "text": "same" })));
    let agent = watched(again).tools(toolset!(Arc::clone(&times); count)).max_steps(5);
    let reply = agent.run("go").await.unwrap();
    assert_eq!((reply.phase, times.load(Ordering::SeqCst)), (Phase::Stopped(StopReason::StepLimit), 5));
}

#[tokio::test]
async fn a_megabyte_of_arguments_in_small_pieces_arrives_whole() {
    let text = "0123456789abcdefghij".repeat(50_000);
    let arguments = json!({ "text": text }).to_string();
    let mut deltas = vec![Delta::CallStart { index: 0, id: "a".into(), name: "count".into() }];
    let pieces = arguments.as_bytes().chunks(20).map(|piece| String::from_utf8(piece.to_vec()).unwrap());
    deltas.extend(pieces.map(|text| Delta::CallArguments { index: 0, text }));
    deltas.extend([Delta::CallEnd { index: 0 }, Delta::Finish(FinishReason::ToolCalls)]);
    let model = ScriptedModel::new([deltas]).then(Turn::say("ok"));
    let mut session = watched(model).tools(toolset!(AtomicUsize::new(0); count)).session();
    session.send("go").await.unwrap();
    let results = results(&session);
    assert!(matches!(&results[0], CallResult::Succeeded { .. }), "{results:?}");
    assert_eq!(session.run().calls()[0].arguments().text.len(), arguments.len());
}

/// A model with one call in each of several steps. It records the address and the length of each request's conversation.
struct AddressRecorder {
    left: AtomicUsize,
    conversations: Mutex<Vec<(usize, usize)>>,
}

impl Model for AddressRecorder {
    fn name(&self) -> &'static str {
        "steps"
    }

    fn stream<'a>(&'a self, request: Request<'a>) -> BoxStream<'a, Result<Delta, ModelError>> {
        let first = std::ptr::from_ref(&request.messages[0]).addr();
        self.conversations.lock().unwrap().push((first, request.messages.len()));
        let left = self.left.fetch_sub(1, Ordering::SeqCst);
        let turn = if left == 0 { Turn::say("done") } else { Turn::call("count", json!({ "text": "x" })) };
        stream::iter(turn.into_deltas().into_iter().map(Ok)).boxed()
    }
}

#[tokio::test]
async fn a_long_run_does_not_copy_its_history() {
    for steps in [500, 1000] {
        let model = Arc::new(AddressRecorder { left: AtomicUsize::new(steps), conversations: Mutex::default() });
        let agent = watched(Arc::clone(&model)).tools(toolset!(AtomicUsize::new(0); count));
        let agent = agent.instructions("Count.").max_steps(steps + 1).context(Context::new(""));
        let reply = agent.run("go").await.unwrap();
        assert_eq!((reply.steps, reply.phase), (steps + 1, Phase::Finished));
        let conversations = model.conversations.lock().unwrap();
        assert_eq!(
            conversations.last().unwrap().1,
            2 * steps + 2,
            "instructions, prompt, and two messages for each step"
        );
        // The conversation grows in place. It moves only when its capacity is used up, which then doubles.
        let moves = conversations.windows(2).filter(|pair| pair[0].0 != pair[1].0).count();
        assert!(moves <= 14, "{moves} moves in {steps} steps");
    }
}

/// Providers' decoders begin a part of reasoning with an empty delta. Nobody has to draw it.
#[tokio::test]
async fn a_delta_without_text_is_no_event() {
    let deltas = || {
        let seal = Signature::new("a@b", "seal");
        let text = |text: &str| Delta::Reasoning(text.to_owned());
        [
            text(""),
            Delta::ReasoningSignature(seal),
            text(""),
            text("hm"),
            Delta::Text("x".into()),
            Delta::Finish(FinishReason::Stop),
        ]
    };
    let model = FunctionModel::streaming(move |_| stream::iter(deltas().map(Ok)));
    let events = Events::new();
    let mut session = Agent::new(model).observer(events.clone()).session();
    session.send("go").await.unwrap();
    let thoughts: Vec<_> = events.all().into_iter().filter(|event| matches!(event, EventKind::Reasoning(_))).collect();
    assert_eq!(thoughts, [EventKind::Reasoning("hm".into())]);
    let content = match session.run().messages().last() {
        Some(Message::Assistant { content }) => content.len(),
        other => panic!("{other:?}"),
    };
    assert_eq!(content, 3, "the conversation keeps the signature");
}
