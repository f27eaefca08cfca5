//! A test with a real model from the environment, or with a substitute that speaks its protocol. It runs only by hand:
//! `OPENAI_BASE_URL=http://127.0.0.1:8091/v1 OPENAI_MODEL=m cargo test -p tool-models --test models live -- --ignored`.

use futures_util::StreamExt;
use tool_models::from_env;
use tool_runtime::{
    Context, Message, Toolset,
    message::ToolMessage,
    model::{FinishReason, Model, Request, Turn},
    tool, toolset,
};

/// Tells the weather in a city.
#[tool]
fn weather(
    /** the name of the city */
    city: String,
) -> String {
    format!("It rains in {city}.")
}

async fn ask(model: &dyn Model, messages: &[Message], tools: &Toolset) -> Turn {
    let mut stream = model.stream(Request::new(messages, tools.list()));
    let mut turn = Turn::default();
    while let Some(delta) = stream.next().await {
        let delta = delta.unwrap_or_else(|error| panic!("{error}: {error:?}"));
        eprintln!("{delta:?}");
        turn.push(delta);
    }
    turn
}

#[tokio::test]
#[ignore = "needs a model"]
async fn a_call_and_its_result() {
    let model = from_env().expect("the environment names a model").unwrap();
    let tools: Toolset = toolset![weather];
    let mut messages = vec![Message::user("What is the weather in Oslo? Use the tool.")];
    let turn = ask(&*model, &messages, &tools).await;
    assert!(turn.finish.as_ref().is_some_and(FinishReason::allows_calls), "{turn:?}");
    let calls: Vec<_> = turn.calls().cloned().collect();
    assert!(!calls.is_empty(), "{turn:?}");
    messages.push(Message::Assistant { content: turn.content });
    for call in calls {
        let output = tools.call(&call.name, &call.arguments, &Context::new(&call.id)).await.unwrap();
        let content = output.for_model();
        messages.push(Message::Tool(ToolMessage { call_id: call.id, tool: call.name, content, is_error: false }));
    }
    let turn = ask(&*model, &messages, &tools).await;
    assert!(!turn.content.is_empty(), "{turn:?}");
}
