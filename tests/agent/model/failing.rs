//! Tests of models that fail: requests are repeated or sent to another model, and no call runs twice.

use std::{
    error::Error,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use tool_runtime::{
    Agent, AgentError,
    message::AssistantPart,
    model::{Delta, FinishReason, ModelError, ModelErrorKind, ScriptedModel, Turn},
    run::{Phase, StopReason},
    store::StoreError,
};

use crate::model::kit::{Listener, Piece, Runs, call, count, pieces_of, streaming, tools, unavailable, usage};

fn broken(kind: ModelErrorKind) -> ModelError {
    ModelError::new(kind, "it failed")
}

#[tokio::test(start_paused = true)]
async fn temporary_failures_are_retried_before_the_next_model() {
    let cases = [
        // The kind of failure, and the number of requests to the first model with two retries.
        (ModelErrorKind::Unavailable, 3),
        (ModelErrorKind::RateLimited, 3),
        (ModelErrorKind::Protocol, 3),
        (ModelErrorKind::Refused, 1),
        (ModelErrorKind::Unauthorized, 1),
        (ModelErrorKind::Configuration, 1),
    ];
    for (kind, asked) in cases {
        let first = Arc::new(ScriptedModel::new((0..9).map(|_| broken(kind))));
        let listener = Arc::<Listener>::default();
        let agent = Agent::new(Arc::clone(&first)).model_retries(2).observer(Arc::clone(&listener));
        let agent = agent.fallback(ScriptedModel::new([Turn::say("here I am"), Turn::say("again")]));
        let mut session = agent.session();
        let reply = session.send("go").await.unwrap();
        assert_eq!((reply.text.as_str(), reply.steps), ("here I am", 1), "{kind:?}: a failed request is not a step");
        assert_eq!(first.requests().len(), asked, "{kind:?}");
        assert_eq!(listener.lines().iter().filter(|line| *line == "failed, again: it failed").count(), asked);
        assert_eq!(session.run().retries() as usize, asked);
        // The next prompt begins with the first model again.
        session.send("and?").await.unwrap();
        assert_eq!(first.requests().len(), 2 * asked);
    }
}

#[tokio::test(start_paused = true)]
async fn without_another_model_the_run_stops_and_can_be_resumed() {
    let model = Arc::new(ScriptedModel::new([unavailable(), unavailable()]).then(Turn::say("back")));
    let mut session = Agent::new(Arc::clone(&model)).model_retries(1).session();
    let Err(AgentError::Model(error)) = session.send("go").await else { panic!("the model is unavailable") };
    assert_eq!((error.to_string().as_str(), model.requests().len()), ("down", 2));
    assert_eq!(session.run().phase(), Phase::Stopped(StopReason::ModelFailed("down".into())));
    assert_eq!(session.resume().await.unwrap().text, "back");
    let script = Arc::new(ScriptedModel::new(Vec::<Turn>::new()));
    let fallback = Arc::new(ScriptedModel::new([Turn::say("no")]));
    let result = Agent::new(script).fallback(Arc::clone(&fallback)).run("go").await;
    assert!(
        matches!(result, Err(AgentError::Model(_))) && fallback.requests().is_empty(),
        "the fallback does not replace a script without an answer"
    );
}

#[test]
fn a_report_of_the_causes_has_each_text_once() {
    fn texts(error: &(dyn Error + 'static)) -> Vec<String> {
        let causes = std::iter::successors(Some(error), |error| (*error).source());
        causes.map(ToString::to_string).collect()
    }
    let unreachable = unavailable().with_source(std::io::Error::other("no route"));
    assert_eq!(texts(&AgentError::from(unreachable)), ["the model failed: down", "no route"]);
    let store = StoreError::unavailable(broken(ModelErrorKind::Refused).with_source(std::fmt::Error));
    let expected = ["the store is unavailable: it failed", &std::fmt::Error.to_string()];
    assert_eq!(texts(&AgentError::from(store)), expected);
    assert_eq!(texts(&AgentError::from(StoreError::Conflict)).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn retry_delays_double_and_respect_the_provider() {
    let retry_after = |seconds| {
        ModelError::new(ModelErrorKind::RateLimited, "slow").with_retry_after(Some(Duration::from_secs(seconds)))
    };
    let started = tokio::time::Instant::now();
    let model = ScriptedModel::new([unavailable(), unavailable(), retry_after(7)]).then(Turn::say("ok"));
    Agent::new(model).model_retries(5).run("go").await.unwrap();
    let waited = started.elapsed();
    assert!(waited >= Duration::from_millis(7_750) && waited < Duration::from_secs(9), "{waited:?}");
    // If another model is available, the run does not wait an hour.
    let started = tokio::time::Instant::now();
    let agent = Agent::new(ScriptedModel::new([retry_after(3_600)]))
        .model_retries(5)
        .fallback(ScriptedModel::new([Turn::say("ok")]));
    agent.run("go").await.unwrap();
    assert!(started.elapsed() < Duration::from_secs(1));
}

#[tokio::test(start_paused = true)]
async fn all_retries_of_a_run_share_one_budget() {
    let model = Arc::new(ScriptedModel::new((0..9).map(|_| unavailable())));
    let agent = Agent::new(Arc::clone(&model)).model_retries(8).options(|options| options.limits.retries = 3);
    assert!(matches!(agent.run("go").await, Err(AgentError::Model(_))));
    assert_eq!(model.requests().len(), 4);
}

/// A complete early call stays in the run when the turn breaks off. No retry repeats it.
#[tokio::test(start_paused = true)]
async fn a_turn_that_breaks_off_never_runs_a_call_twice() {
    for fails in [true, false] {
        let model = streaming(move |request| match request {
            1 => {
                let mut pieces = vec![Piece::Delta(Delta::Text("I add".into()))];
                pieces.extend(pieces_of(call(1).then_call("done", "{")));
                // The second call is cut in the middle of its arguments.
                pieces.retain(|piece| !matches!(piece, Piece::Delta(Delta::CallEnd { index: 1 } | Delta::Finish(_))));
                pieces.push(Piece::Pause(Duration::from_millis(50)));
                pieces.extend(fails.then_some(Piece::Failure(ModelErrorKind::Unavailable)));
                pieces
            }
            _ => pieces_of(Turn::say("it is 2")),
        });
        let runs = Arc::<Runs>::default();
        let listener = Arc::<Listener>::default();
        let agent = Agent::new(model).tools(tools(&runs)).model_retries(1).observer(Arc::clone(&listener));
        let mut session = agent.session();
        let reply = session.send("go").await.unwrap();
        assert_eq!((reply.text.as_str(), reply.phase), ("it is 2", Phase::Finished));
        assert_eq!(count(&runs), 1, "the complete call ran once, and the cut one did not run");
        let calls = session.run().calls();
        assert!(calls.len() == 1 && calls[0].result().unwrap().is_success());
        let has_text = session.messages().iter().any(|message| format!("{message:?}").contains("I add"));
        assert!(!has_text, "the rest of the turn is dropped");
        assert_eq!(reply.usage, usage(10, 5), "the usage of the broken turn counts");
        let lines = listener.lines();
        assert!(lines.iter().any(|line| line.starts_with("failed, again")), "{lines:?}");
    }
}

/// The fallback continues after the calls of the first model, in the middle of the stream.
#[tokio::test]
async fn another_model_continues_a_turn_that_broke_off() {
    let first = streaming(|_| {
        let mut pieces = pieces_of(call(1));
        pieces.retain(|piece| !matches!(piece, Piece::Delta(Delta::Finish(_))));
        pieces.push(Piece::Failure(ModelErrorKind::Unavailable));
        pieces
    });
    let second = Arc::new(ScriptedModel::new([call(2), Turn::say("done")]));
    let runs = Arc::<Runs>::default();
    let reply = Agent::new(first).tools(tools(&runs)).fallback(Arc::clone(&second)).run("go").await.unwrap();
    assert_eq!((reply.text.as_str(), count(&runs)), ("done", 2));
    assert_eq!(second.requests()[0].messages.len(), 3, "the other model receives the prompt, the call and its result");
    let names: Vec<_> = reply.by_model().into_iter().map(|(name, _)| name.to_owned()).collect();
    assert_eq!(names, ["function", "scripted"]);
}

#[tokio::test]
async fn a_model_that_panics_is_replaced() {
    let model = tool_runtime::model::FunctionModel::new(|_| -> Turn { panic!("oh no") });
    let agent = Agent::new(model).fallback(ScriptedModel::new([Turn::say("ok")]));
    assert_eq!(agent.run("go").await.unwrap().text, "ok");
}

/// If a provider pauses a long turn, the run requests the rest and keeps the first part.
#[tokio::test]
async fn a_paused_turn_continues() {
    let paused = Turn::say("I search").with_finish(FinishReason::Paused);
    let model = Arc::new(ScriptedModel::new([paused, Turn::say("and found it")]));
    let mut session = Agent::new(Arc::clone(&model)).session();
    let reply = session.send("go").await.unwrap();
    assert_eq!((reply.text.as_str(), reply.steps, reply.phase), ("and found it", 2, Phase::Finished));
    let has_text = |message: &tool_runtime::Message| format!("{message:?}").contains("I search");
    assert!(model.requests()[1].messages.iter().any(has_text));
    let has = |part: &AssistantPart| matches!(part, AssistantPart::Text { text } if text == "and found it");
    assert!(
        matches!(session.messages().last(), Some(tool_runtime::Message::Assistant { content }) if content.iter().any(has))
    );
}

/// A failed turn does not count as a step.
#[tokio::test(start_paused = true)]
async fn the_last_step_is_retried() {
    let runs = Arc::<Runs>::default();
    let model = ScriptedModel::new([call(1)]).then(unavailable()).then(Turn::say("end"));
    let reply = Agent::new(model).tools(tools(&runs)).max_steps(2).model_retries(1).run("go").await.unwrap();
    assert_eq!((reply.text.as_str(), reply.steps, runs.0.load(Ordering::SeqCst)), ("end", 2, 1));
}
