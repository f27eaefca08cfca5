//! Tests of models and steps that exceed their time limits.

use std::{sync::Arc, time::Duration};

use tool_runtime::{
    Agent, AgentError,
    agent::Timeouts,
    model::{Delta, Turn},
    run::{Phase, StopReason},
    store::MemoryStore,
};

use crate::model::kit::{Listener, Piece, Runs, call, count, pieces_of, streaming, tools};

const SECOND: Duration = Duration::from_secs(1);

fn text(text: &str) -> Piece {
    Piece::Delta(Delta::Text(text.into()))
}

/// A slow model, and the expected error.
type Case = (fn() -> Vec<Piece>, &'static str);

#[tokio::test]
async fn limits_beyond_the_range_of_the_clock_are_no_limits() {
    let most = Some(Duration::MAX);
    let limits = Timeouts { step: most, model: most, first_delta: most, delta: most, start: most };
    let model = streaming(move |request| pieces_of(if request == 1 { call(1) } else { Turn::say("ok") }));
    let agent = Agent::new(model).tools(tools(&Arc::default())).timeouts(limits);
    let agent = agent.max_time(Duration::MAX).lease_time(Duration::MAX).store(Arc::new(MemoryStore::new()));
    assert_eq!(agent.run("go").await.unwrap().text, "ok");
}

#[tokio::test(start_paused = true)]
async fn a_model_that_is_too_slow_or_breaks_off_fails() {
    let limits = Timeouts {
        model: Some(10 * SECOND),
        first_delta: Some(3 * SECOND),
        delta: Some(2 * SECOND),
        ..Timeouts::default()
    };
    let hour = || Piece::Pause(3_600 * SECOND);
    let cases: [Case; 4] = [
        (|| vec![Piece::Pause(3_600 * SECOND)], "the model did not begin its answer within 3 s"),
        (
            || vec![Piece::Pause(2 * SECOND), text("a"), Piece::Pause(3_600 * SECOND)],
            "the model did not go on with its answer within 2 s",
        ),
        (
            || (0..99).flat_map(|_| [text("a"), Piece::Pause(SECOND)]).collect(),
            "the model did not finish its answer within 10 s",
        ),
        (|| vec![], "the model's answer was cut off before its end"),
    ];
    for (pieces, expected) in cases {
        let model = streaming(move |request| if request == 1 { pieces() } else { pieces_of(Turn::say("ok")) });
        let mut session = Agent::new(model).timeouts(limits).session();
        let Err(AgentError::Model(error)) = session.send("go").await else {
            panic!("the model is too slow, or breaks off")
        };
        assert_eq!(error.to_string(), expected);
        assert_eq!(session.resume().await.unwrap().text, "ok", "the run can be resumed");
    }
    // With retries, the run continues normally.
    let model = streaming(move |request| if request == 1 { vec![hour()] } else { pieces_of(Turn::say("ok")) });
    let listener = Arc::<Listener>::default();
    let agent = Agent::new(model).timeouts(limits).model_retries(1).observer(Arc::clone(&listener));
    assert_eq!(agent.run("go").await.unwrap().text, "ok");
    assert!(listener.lines().iter().any(|line| line.starts_with("failed, again: the model did not begin")));
}

#[tokio::test(start_paused = true)]
async fn deltas_in_time_keep_a_model_alive() {
    let limits = Timeouts { first_delta: Some(3 * SECOND), delta: Some(2 * SECOND), ..Timeouts::default() };
    let model = streaming(|_| {
        let mut pieces: Vec<Piece> = (0..60).flat_map(|_| [Piece::Pause(SECOND), text("a")]).collect();
        pieces.extend(pieces_of(Turn::say("b")));
        pieces
    });
    assert_eq!(Agent::new(model).timeouts(limits).run("go").await.unwrap().text.len(), 61);
}

#[tokio::test(start_paused = true)]
async fn a_step_that_takes_too_long_stops_the_run_which_can_be_resumed() {
    let limits = Timeouts { step: Some(30 * SECOND), ..Timeouts::default() };
    let model = streaming(|request| match request {
        // Each step has its own limit.
        1 | 2 => [vec![Piece::Pause(20 * SECOND)], pieces_of(call(1))].into_iter().flatten().collect(),
        3 => pieces_of(Turn::call("sleep", "{}")),
        _ => pieces_of(Turn::say("end")),
    });
    let runs = Arc::<Runs>::default();
    let mut session = Agent::new(model).tools(tools(&runs)).timeouts(limits).session();
    let reply = session.send("go").await.unwrap();
    assert_eq!(reply.phase, Phase::Stopped(StopReason::TimedOut("a step took more than 30 s".into())));
    assert_eq!((reply.steps, count(&runs)), (3, 3));
    let last = session.messages().last().map(|message| format!("{message:?}")).unwrap();
    assert!(last.contains("the call was cancelled\""), "{last}");
    assert_eq!(session.resume().await.unwrap().text, "end");
}

/// The model sends a delta at the moment at which the run's time ends.
#[tokio::test(start_paused = true)]
async fn the_time_limit_of_the_run_stops_a_model_that_never_ends() {
    let model = streaming(|_| {
        let endless = (0..100_000).flat_map(|_| [text("a"), Piece::Pause(SECOND)]);
        endless.collect()
    });
    let reply = Agent::new(model).max_time(90 * SECOND).run("go").await.unwrap();
    assert_eq!(reply.phase, Phase::Stopped(StopReason::TimedOut("the run took more than 90 s".into())));
}
