//! Tests of timers on tokio's paused clock, which no other process shares.

use std::{
    sync::{Arc, atomic::Ordering::SeqCst},
    time::Duration,
};

use serde_json::json;
use tool_runtime::{
    Context, Failure,
    feedback::Rejection,
    model::Turn,
    run::{AbortCause, CallResult, Phase},
    test::TestClock,
    tool, toolset,
};

use crate::{
    kit::{Effects, Events, Person, agent, call_results, payments, store, tool_results, tools},
    suite::dynamic::{ORDER, shop, tools as order},
};

/// Asks.
#[tool]
async fn ask(#[state] effects: &Effects, #[context] cx: &Context) -> Result<String, Failure> {
    let answer: Result<String, Failure> = cx.ask("What?").await;
    effects.record("went on");
    answer
}

#[tokio::test(start_paused = true)]
async fn a_timer_expires_interrupts_of_a_driven_run() {
    let (store, effects) = (store(), Effects::new());
    // The first interrupt gets no answer. The second opens when the first has expired.
    let all = tools(&effects).merge(toolset!(Arc::clone(&effects); ask)).unwrap();
    let turn = payments(&[5]).then_call("ask", json!({}));
    let agent = agent(&store, all, [turn, Turn::say("ok")])
        .clock(&TestClock::new())
        .observer(Events::new())
        .operator(Person::default())
        .options(|options| options.approval_expiry = Some(Duration::from_mins(1)));
    let mut session = agent.session();
    assert_eq!(session.send("go").await.unwrap().phase, Phase::Finished);
    assert_eq!(call_results(&session), [CallResult::Expired, CallResult::Aborted { by: AbortCause::NoAnswer }]);
    assert_eq!(tool_results(&session)[0], "nobody answered in time; it did not run");
    assert_eq!(effects.all(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_validator_that_never_answers_does_not_block_the_run() {
    let shop = shop();
    shop.held.store(true, SeqCst);
    let store = store();
    let mut session = agent(&store, order(&shop), [Turn::call("Order", ORDER), Turn::say("done")]).session();
    session.send("go").await.unwrap();
    let late = Rejection::from_message("the arguments could not be checked within 60 s").instruct("Try again later.");
    let late = late.explain("Order", &json!({}), ORDER);
    assert_eq!(call_results(&session), [CallResult::Rejected { feedback: late }]);
}
