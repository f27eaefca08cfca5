//! Tests of final answers of a requested type.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tool_runtime::{
    Agent, AgentError,
    message::Message,
    model::{ScriptedModel, Turn},
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
    let mut session = Agent::new(Arc::clone(&model)).max_steps(answers.len()).session();
    let given = session.send_for::<T>("x").await;
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
        results.iter()
            .all_and_some(|text| serde_json::from_str::<Value>(text).is_ok_and(|results| results["ok"] == json!(false)))
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
    let error = Agent::new(model).session().send_for::<u8>("x").await.unwrap_err();
    assert!(error.to_string().contains("still five"), "{error}");
}
