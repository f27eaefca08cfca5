//! Tests of typed answers while the model still gives them.

use futures_util::stream;
use schemars::JsonSchema;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::json;
use tool_runtime::{
    Agent, Toolset,
    agent::{EventKind, PartialAnswer},
    model::{Delta, FinishReason, FunctionModel, ModelError, ScriptedModel, Turn},
};

#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
struct Whale {
    name: String,
    meters: f64,
}

fn whale(name: &str, meters: f64) -> Whale {
    Whale { name: name.to_owned(), meters }
}

/// Returns the deltas of a turn that calls `final_answer`, with these pieces of arguments.
fn call(pieces: &[&str]) -> Vec<Result<Delta, ModelError>> {
    let start = Delta::CallStart { index: 0, id: "a".into(), name: "final_answer".into() };
    let pieces = pieces.iter().map(|piece| Delta::CallArguments { index: 0, text: (*piece).into() });
    let end = [Delta::CallEnd { index: 0 }, Delta::Finish(FinishReason::ToolCalls)];
    [start].into_iter().chain(pieces).chain(end).map(Ok).collect()
}

fn say(pieces: &[&str]) -> Vec<Result<Delta, ModelError>> {
    let pieces = pieces.iter().map(|piece| Delta::Text((*piece).into()));
    pieces.chain([Delta::Finish(FinishReason::Stop)]).map(Ok).collect()
}

/// Asks an agent whose turns are these for a `T`. Reads one event at a time, and returns the distinct answers so far, and the last.
async fn ask<T>(turns: Vec<Vec<Result<Delta, ModelError>>>) -> (Vec<T>, T)
where
    T: DeserializeOwned + JsonSchema + Send + PartialEq + 'static,
{
    let turns = std::sync::Mutex::new(turns.into_iter());
    let model = FunctionModel::streaming(move |_| {
        let turn = turns.lock().unwrap().next().expect("a turn");
        // Each piece is read before the next one comes, so they are not joined.
        stream::unfold(turn.into_iter(), |mut turn| async {
            for _ in 0..50 {
                tokio::task::yield_now().await;
            }
            Some((turn.next()?, turn))
        })
    });
    let mut run = Agent::new(model).session().stream_with(|session| session.ask("?").typed::<T>().into_future());
    let (mut answer, mut seen) = (PartialAnswer::<T>::new(), Vec::new());
    while let Some(event) = run.next().await {
        seen.extend(answer.read(&event));
    }
    seen.dedup();
    (seen, run.finish().await.unwrap().value)
}

#[tokio::test]
async fn elements_of_a_list_appear_one_by_one() {
    let pieces =
        [r#"{"answer": [{"name": "Bl"#, r#"ue", "meters": 2"#, r#"5.5}, {"na"#, r#"me": "Orca", "meters": 7}"#, "]}"];
    let (seen, last) = ask::<Vec<Whale>>(vec![call(&pieces)]).await;
    let (blue, orca) = (whale("Blue", 25.5), whale("Orca", 7.0));
    let whole = vec![blue.clone(), orca];
    assert_eq!(seen, [vec![], vec![whale("Blue", 2.0)], vec![blue], whole.clone()]);
    assert_eq!(last, whole);
}

#[tokio::test]
async fn an_object_and_a_text_of_json_are_read() {
    let (seen, last) = ask::<Whale>(vec![call(&[r#"{"name": "Blue", "#, r#""meters": 25}"#])]).await;
    assert_eq!((seen, last), (vec![whale("Blue", 25.0)], whale("Blue", 25.0)));
    // A text is the answer alone, or the arguments of the call.
    for text in [r#"["a", "b"]"#, r#"{"answer": ["a", "b"]}"#] {
        let (first, second) = text.split_at(text.find(", \"b").unwrap());
        let (seen, last) = ask::<Vec<String>>(vec![say(&[first, second])]).await;
        assert_eq!(seen.last().unwrap(), &last, "{text}");
        assert_eq!(seen[0], ["a"], "{text}");
    }
}

#[tokio::test]
async fn another_answer_begins_anew_and_prose_is_none() {
    let turns = vec![
        say(&["It is ", "[about] 7."]),
        call(&[r#"{"answer": ["x"#, r#"", 7]}"#]),
        call(&[r#"{"answer": ["y"#, r#"z"]}"#]),
    ];
    let (seen, last) = ask::<Vec<String>>(turns).await;
    assert_eq!(seen, [["x"], ["y"], ["yz"]]);
    assert_eq!(last, ["yz"]);
}

#[tokio::test]
async fn answers_of_inner_agents_are_not_read() {
    let inner = Agent::new(ScriptedModel::new([Turn::call("final_answer", json!({"answer": 1}))]));
    let tools = Toolset::new().with(inner.as_tool("expert", "Asks.").output::<u8>().unwrap()).unwrap();
    let outer = [Turn::call("expert", json!({"task": "?"})), Turn::call("final_answer", json!({"answer": 2}))];
    let session = Agent::new(ScriptedModel::new(outer)).tools(tools).session();
    let mut run = session.stream_with(|session| session.ask("?").typed::<u8>().into_future());
    let (mut answer, mut seen) = (PartialAnswer::<u8>::new(), Vec::new());
    while let Some(event) = run.next().await {
        seen.extend(answer.read(&event));
    }
    assert_eq!((seen, run.finish().await.unwrap().value), (vec![2], 2));
}

/// The name of the first field of a text may become `answer`, so an incomplete object is no answer yet.
#[tokio::test]
async fn a_text_that_begins_like_the_answer_is_not_read_too_early() {
    let (seen, last) = ask::<serde_json::Value>(vec![say(&[r#"{"ans"#, r#"wer": [1"#, "]}"])]).await;
    assert_eq!((seen, last), (vec![json!([1])], json!([1])));
    let (seen, _) =
        ask::<Option<std::collections::BTreeMap<String, u8>>>(vec![say(&["{\"ans", "wer\": {\"a\": 1", "}}"])]).await;
    assert!(seen.iter().all(|map| map.as_ref().is_some_and(|map| !map.contains_key("answer"))), "{seen:?}");
}

/// A run that another process drives reports no requests to its model.
#[tokio::test]
async fn an_answer_is_read_by_its_steps_alone() {
    let kinds = [
        EventKind::StepStarted { step: 1 },
        EventKind::Text(r#"{"answer": 3"#.to_owned()),
        EventKind::TurnFailed { error: "gone".to_owned(), again: true },
        EventKind::Text(r#"{"answer": 300}"#.to_owned()),
        EventKind::StepStarted { step: 2 },
        EventKind::Text(r#"{"answer": 7}"#.to_owned()),
    ];
    let mut any = None;
    let mut run = Agent::new(ScriptedModel::new([Turn::say("x")])).stream("?");
    while let Some(event) = run.next().await {
        any = Some(event);
    }
    let mut event = any.expect("a run has events");
    let (mut answer, mut seen) = (PartialAnswer::<u8>::new(), Vec::new());
    for kind in kinds {
        event.kind = kind;
        seen.push(answer.read(&event));
    }
    assert_eq!(seen, [None, Some(3), None, None, None, Some(7)]);
}
