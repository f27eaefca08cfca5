//! Tests of final answers of a requested type.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use schemars::JsonSchema;
use serde::{Deserialize, de::DeserializeOwned};
use tool_runtime::{
    Agent, AgentError, Toolset,
    agent::Suspend,
    message::Message,
    model::{FunctionModel, ScriptedModel, Turn},
    run::{Decision, Phase, StopReason},
    store::{MemoryStore, Store},
    tool, toolset,
};
use tool_test_kit::AllAndSome as _;

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Rating {
    /// From 1 to 5.
    #[schemars(range(min = 1, max = 5))]
    stars: u8,
    #[serde(default)]
    words: Vec<String>,
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Verdict {
    Good,
    Bad { why: String },
}

/// Requests an answer of a type. Returns the answer, and the refusals that the model received before it.
async fn ask<T: DeserializeOwned + JsonSchema + Send + 'static>(
    answers: &[&str],
) -> (Result<T, AgentError>, Vec<String>) {
    let turns: Vec<Turn> = answers.iter().map(|answer| Turn::call("final_answer", *answer)).collect();
    let model = Arc::new(ScriptedModel::new(turns));
    let mut session = Agent::new(Arc::clone(&model)).max_steps(answers.len()).answer_retries(answers.len()).session();
    let given = session.ask("x").typed::<T>().await.map(|answered| answered.value);
    let results = session.messages().iter().filter_map(|message| match message {
        Message::Tool(answer) if answer.is_error => answer.content[0].as_text().map(str::to_owned),
        _ => None,
    });
    (given, results.collect())
}

#[tokio::test]
async fn an_answer_that_does_not_fit_its_schema_is_refused() {
    let wrong = [
        "",
        "not json",
        "[]",
        "{}",
        r#"{"stars":6}"#,
        r#"{"stars":4,"stars":5}"#,
        r#"{"stars":4,"word":[]}"#,
        r#"{"stars":"4"}"#,
        r#"{"stars":4} and so on"#,
        r#"[4,["a"]]"#,
    ];
    let all: Vec<&str> = wrong.into_iter().chain([r#"{"stars":4,"words":["fine"]}"#]).collect();
    let (given, results) = ask::<Rating>(&all).await;
    assert_eq!(given.unwrap(), Rating { stars: 4, words: vec!["fine".into()] });
    assert_eq!(results.len(), wrong.len(), "{results:#?}");
    assert!(results[4].contains("from 1 to 5") && results[5].contains("more than once"), "{results:#?}");
    assert!(
        results
            .iter()
            .all_and_some(|text| text.starts_with("The call was rejected. Correct these problems and call again:\n"))
    );
}

#[tokio::test]
async fn a_scalar_answer_is_wrapped_in_an_object() {
    let wrong =
        ["good", r#"{"answer":"perhaps"}"#, r#"{"answer":{"good":null}}"#, r#"{"answer":"good","more":1}"#, "{}"];
    let all: Vec<&str> = wrong.into_iter().chain([r#"{"answer":{"bad":{"why":"cold"}}}"#]).collect();
    let (given, results) = ask::<Verdict>(&all).await;
    assert_eq!(given.unwrap(), Verdict::Bad { why: "cold".into() });
    assert_eq!(results.len(), wrong.len(), "{results:#?}");
    assert_eq!(ask::<Verdict>(&[r#"{"answer":"good"}"#]).await.0.unwrap(), Verdict::Good);
    assert_eq!(ask::<Option<u8>>(&[r#"{"answer":null}"#]).await.0.unwrap(), None);
}

#[tokio::test]
async fn a_missing_answer_is_an_error() {
    let model = ScriptedModel::new([Turn::say("five"), Turn::say("still five")]);
    let error = Agent::new(model).session().ask("x").typed::<u8>().await.unwrap_err();
    assert!(error.to_string().contains("still five"), "{error}");
}

/// The form of an answer: an object is the arguments themselves, any other type is their field `answer`.
#[tokio::test]
async fn an_answer_that_is_no_object_is_wrapped() {
    let rows = ask::<Vec<Rating>>(&[r#"[{"stars":1}]"#, r#"{"answer":[{"stars":4}]}"#]).await;
    assert_eq!(rows.0.unwrap(), [Rating { stars: 4, words: Vec::new() }]);
    assert!(rows.1[0].contains("object with `answer`"), "{:?}", rows.1);
    assert!(ask::<bool>(&[r#"{"answer":true}"#]).await.0.unwrap());
    assert_eq!(ask::<String>(&[r#"{"answer":"Rome"}"#]).await.0.unwrap(), "Rome");
    assert_eq!(ask::<(u8, bool)>(&[r#"{"answer":[7,true]}"#]).await.0.unwrap(), (7, true));
    let rating = ask::<Option<Rating>>(&[r#"{"answer":{"stars":4}}"#]).await.0.unwrap();
    assert_eq!(rating, Some(Rating { stars: 4, words: Vec::new() }));
    let map = ask::<BTreeMap<String, u8>>(&[r#"{"Rome":3}"#]).await.0.unwrap();
    assert_eq!(map, BTreeMap::from([("Rome".to_owned(), 3)]), "a map is an object");
}

/// Returns a model that always answers with `answer`, and the number of its requests.
fn always(answer: &'static str) -> (FunctionModel, Arc<AtomicUsize>) {
    let requests = Arc::<AtomicUsize>::default();
    let counted = Arc::clone(&requests);
    let model = FunctionModel::new(move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
        Turn::call("final_answer", answer)
    });
    (model, requests)
}

fn reason<T: std::fmt::Debug>(given: Result<T, AgentError>) -> String {
    match given {
        Err(AgentError::NoAnswer { reason }) => reason,
        other => panic!("there is an answer, or another error: {other:?}"),
    }
}

#[tokio::test]
async fn a_wrong_answer_is_tried_again_a_few_times() {
    for (retries, expected) in [(None, 2), (Some(0), 1), (Some(3), 4)] {
        let (model, requests) = always(r#"{"answer":1000}"#);
        let agent = Agent::new(model);
        let agent = if let Some(retries) = retries { agent.answer_retries(retries) } else { agent };
        let mut session = agent.session();
        let reason = reason(session.ask("x").typed::<u8>().await);
        assert_eq!(requests.load(Ordering::SeqCst), expected);
        let limit = format!("the number of retries has reached its limit, {}", expected - 1);
        assert!(reason.contains(&limit) && reason.contains("got 1000"), "{reason}");
        // Continuing the run gives one more try, not all of them.
        reason_of_resumed(&mut session).await;
        assert_eq!(requests.load(Ordering::SeqCst), expected + 1);
        // Another prompt begins anew.
        session.ask("y").typed::<u8>().await.unwrap_err();
        assert_eq!(requests.load(Ordering::SeqCst), 2 * expected + 1);
    }
}

async fn reason_of_resumed(session: &mut tool_runtime::agent::Session) {
    let reason = reason(session.resume_ask().typed::<u8>().await);
    assert!(reason.contains("got 1000"), "{reason}");
}

#[tokio::test]
async fn several_wrong_answers_of_one_turn_are_one_try() {
    let wrong = || Turn::call("final_answer", r#"{"answer":1000}"#).then_call("final_answer", r#"{"answer":-1}"#);
    let model = ScriptedModel::new([wrong(), Turn::call("final_answer", r#"{"answer":7}"#)]);
    assert_eq!(Agent::new(model).ask("x").typed::<u8>().await.unwrap().value, 7);
}

#[tokio::test]
async fn other_stops_keep_their_reason() {
    let (model, _) = always(r#"{"answer":1000}"#);
    let reason = reason(Agent::new(model).answer_retries(9).max_steps(3).ask("x").typed::<u8>().await);
    assert!(reason.contains("no steps are left") && reason.contains("got 1000"), "{reason}");
}

/// Looks something up.
#[tool(effect = read_only)]
fn look() -> u8 {
    7
}

/// Pays.
#[tool(approval = always)]
fn pay() {}

fn tools() -> Toolset {
    toolset!(look, pay)
}

#[tokio::test]
async fn calls_of_other_tools_are_no_answers() {
    let turns = (0..5).map(|_| Turn::call("look", "{}"));
    let model = ScriptedModel::new(turns.chain([Turn::call("final_answer", r#"{"answer":7}"#)]));
    assert_eq!(Agent::new(model).tools(tools()).ask("x").typed::<u8>().await.unwrap().value, 7);
}

/// The number of tries is in the run's log, whichever process continues the run.
#[tokio::test]
async fn another_process_does_not_begin_anew() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let (wrong, asked) = always(r#"{"answer":1000}"#);
    let turns = [Turn::call("final_answer", r#"{"answer":-1}"#), Turn::call("pay", "{}")];
    let first = Agent::new(ScriptedModel::new(turns)).tools(tools()).store(Arc::clone(&store)).operator(Suspend);
    let mut session = first.session();
    let waits = reason(session.ask("x").typed::<u8>().await);
    assert!(waits.contains("it waits for a decision") && waits.contains("got -1"), "{waits}");
    let (id, open) = (session.id().clone(), session.interrupts().next().unwrap().id.clone());
    drop(session);
    first.decide(&id, &open, Decision::Approve, "").await.unwrap();
    let second = Agent::new(wrong).tools(tools()).store(store).operator(Suspend);
    let reason = reason(second.open(&id).await.unwrap().resume_ask().typed::<u8>().await);
    assert!(reason.contains("got 1000"), "{reason}");
    assert_eq!(asked.load(Ordering::SeqCst), 1);
    // Without the type, too, and from a snapshot.
    let mut other = second.open(&id).await.unwrap();
    assert!(matches!(other.resume().await.unwrap().phase, Phase::Stopped(StopReason::LimitReached(_))));
    let thawed = tool_runtime::run::Run::thaw(&other.run().freeze()).unwrap();
    second.clone().without_store().session_from_run(thawed).resume().await.unwrap();
    assert_eq!(asked.load(Ordering::SeqCst), 3);
}

/// A number of seats, which the application checks.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(try_from = "u8")]
#[schemars(with = "u8")]
struct Seats(u8);

impl TryFrom<u8> for Seats {
    type Error = String;

    fn try_from(seats: u8) -> Result<Self, String> {
        if seats < 5 { Ok(Self(seats)) } else { Err("expected guests, but `seats` is above 4".to_owned()) }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Booking {
    seats: Seats,
}

#[tokio::test]
async fn the_words_of_the_answer_s_own_type_are_shown_as_they_are() {
    let (given, results) = ask::<Booking>(&[r#"{"seats":9}"#, r#"{"seats":4}"#]).await;
    assert_eq!(given.unwrap().seats.0, 4);
    let problem = "seats: expected guests, but `seats` is above 4\n";
    assert!(matches!(&results[..], [text] if text.contains(problem)), "{results:?}");
    let (model, _) = always(r#"{"answer":9}"#);
    let reason = reason(Agent::new(model).ask("x").typed::<Seats>().await);
    assert!(reason.ends_with("refused: `answer`: expected guests, but `seats` is above 4"), "{reason}");
}

#[tokio::test]
async fn the_problems_of_a_json_text_reach_the_model_and_the_error() {
    let texts = [r#"{"stars": 0}"#, "```json\n{\"stars\": 9}\n```", r#"{"stars": 8}"#];
    let model = ScriptedModel::new(texts.map(Turn::say));
    let error = Agent::new(model.clone()).ask("?").typed::<Rating>().await.unwrap_err().to_string();
    let asked = &model.requests()[1].messages;
    let reminder = "Your answer was not accepted: `stars`: expected a whole number from 1 to 5, got 0";
    assert_eq!(asked.last(), Some(&Message::user(reminder)));
    assert!(error.contains("`stars`: expected a whole number from 1 to 5, got 9"), "{error}");
    // A list alone is the field `answer`, and so are its problems.
    let model = ScriptedModel::new(["[1, 300]", r#"{"answer": [1, 300]}"#].map(Turn::say));
    let error = Agent::new(model.clone()).ask("?").typed::<Vec<u8>>().await.unwrap_err().to_string();
    let reminder = "Your answer was not accepted: `answer.1`: expected a whole number from 0 to 255, got 300";
    assert_eq!(model.requests()[1].messages.last(), Some(&Message::user(reminder)));
    assert!(error.contains("`answer.1`: expected a whole number from 0 to 255, got 300"), "{error}");
    // Prose, and a list of another type inside of it, has no problems of its own.
    let model = ScriptedModel::new(["It has {three} stars.", "[1, 2] stars"].map(Turn::say));
    let error = Agent::new(model.clone()).ask("?").typed::<Rating>().await.unwrap_err().to_string();
    assert_eq!(model.requests()[1].messages.last(), Some(&Message::user("Give the answer by calling `final_answer`.")));
    assert!(!error.contains("expected"), "{error}");
}
