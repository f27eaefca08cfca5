//! Tests of models that answer from a script or a function.

use futures_util::{FutureExt as _, StreamExt as _, TryStreamExt as _, stream};
use serde_json::json;
use tool_runtime::{
    message::{FinishReason, Message, Signature, Usage},
    model::{Delta, FunctionModel, Model, ModelError, ModelErrorKind, Request, ScriptedModel, Turn},
    toolset::ToolList,
};

fn deltas(model: &impl Model, texts: &[&str]) -> Result<Vec<Delta>, ModelError> {
    let messages: Vec<Message> = texts.iter().map(|text| Message::user(*text)).collect();
    let tools = ToolList::default();
    let all = model.stream(Request::new(&messages, &tools)).try_collect();
    all.now_or_never().expect("the model does not wait")
}

fn play(model: &impl Model, text: &str) -> Result<Turn, ModelError> {
    let mut turn = Turn::default();
    deltas(model, &[text])?.into_iter().for_each(|delta| turn.push(delta));
    Ok(turn)
}

#[test]
fn a_scripted_model_gives_its_answers_in_order_and_then_fails() {
    let model = ScriptedModel::new([Turn::call("a", "{}").then_call("a", "{}")])
        .then(Turn::call("a", "{}"))
        .then(ModelError::new(ModelErrorKind::Unavailable, "down"));
    let ids = |turn: Turn| turn.calls().map(|call| call.id.clone()).collect::<Vec<_>>();
    assert_eq!(ids(play(&model, "1").unwrap()), ["call_1_0", "call_1_1"]);
    assert_eq!(ids(play(&model, "2").unwrap()), ["call_2_0"]);
    assert_eq!(play(&model, "3").unwrap_err().kind(), ModelErrorKind::Unavailable);
    assert_eq!(model.left(), 0);
    let error = play(&model, "4").unwrap_err();
    assert_eq!(error.kind(), ModelErrorKind::Script);
    assert_eq!(error.to_string(), "the script has no answer to request 4");
    let asked: Vec<_> = model.requests().into_iter().map(|asked| asked.messages).collect();
    assert_eq!(asked, ["1", "2", "3", "4"].map(|text| vec![Message::user(text)]));
}

#[test]
fn a_function_model_answers_from_the_request() {
    let model = FunctionModel::new(|request| Turn::call("count", request.messages.len()));
    let first = deltas(&model, &["a", "b"]).unwrap();
    assert_eq!(first[0], Delta::CallStart { index: 0, id: "call_1_0".into(), name: "count".into() });
    assert_eq!(first[1], Delta::CallArguments { index: 0, text: "2".into() });
    assert_ne!(deltas(&model, &["a", "b"]).unwrap()[0], first[0], "the ids of each turn are new");
}

#[test]
fn a_streaming_function_model_owns_its_request() {
    let model = FunctionModel::streaming(|asked| {
        stream::iter(asked.messages).map(|message| Ok(Delta::Text(format!("{message:?}"))))
    });
    assert_eq!(deltas(&model, &["a", "b"]).unwrap().len(), 2);
}

#[test]
fn the_deltas_of_a_turn_add_up_to_the_turn() {
    let mut signed = Turn::default().then_reason("hm");
    signed.push(Delta::ReasoningSignature(Signature::new("anthropic", "seal")));
    let turns = [
        Turn::say("hello"),
        Turn::call("a", json!({"x": 1})).then_say("and").then_call("b", "").then_call("b", "{"),
        signed.then_reason("more").then_call("a", "{}"),
        Turn::call("a", "{").with_finish(FinishReason::Length),
        Turn::say("x").with_usage(Usage { input_tokens: 3, ..Usage::default() }),
        Turn::default(),
    ];
    for turn in turns {
        let mut again = Turn::default();
        for delta in turn.clone().into_deltas() {
            again.push(delta);
        }
        assert_eq!(again, turn);
    }
}

#[test]
fn a_turns_content_determines_its_finish_reason() {
    assert_eq!(Turn::say("x").finish, Some(FinishReason::Stop));
    assert_eq!(Turn::say("x").then_call("t", "{}").then_say("y").finish, Some(FinishReason::ToolCalls));
    assert_eq!(Turn::say("x").with_finish(FinishReason::Length).then_say("y").finish, Some(FinishReason::Length));
}
