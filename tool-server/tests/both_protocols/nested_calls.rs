//! Tests of a nested agent's call that the client executes, over both protocols.

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{Request, header},
};
use serde_json::{Value, json};
use tool_runtime::{
    Agent, Message, Part, Toolset,
    model::{FunctionModel, Request as ModelRequest, Turn},
    tool, toolset,
};
use tool_server::{AgUi, Server};
use tower::ServiceExt;

use crate::kit::{input, post, user};

/// Get the position of the user from the browser.
#[tool(external, effect = read_only, output = Value)]
struct Locate {
    /// The number of digits.
    digits: u8,
}

/// Returns a model that calls a tool, and then writes the call's result.
fn calling_model(name: &'static str, arguments: &'static str) -> FunctionModel {
    FunctionModel::new(move |request: ModelRequest<'_>| match request.messages.last() {
        Some(Message::Tool(message)) => {
            let texts = message.content.iter().map(|part| match part {
                Part::Json { json } => json.as_str(),
                part => part.as_text().unwrap_or_default(),
            });
            Turn::say(format!("got {}", texts.collect::<String>()))
        }
        _ => Turn::call(name, arguments),
    })
}

fn router() -> Router {
    let guide = Agent::new(calling_model("Locate", r#"{"digits":2}"#)).tools(toolset!(Locate));
    let tools = Toolset::new().with(guide.as_tool("guide", "Finds the way.")).unwrap();
    Server::new(Agent::new(calling_model("guide", r#"{"task":"home"}"#)).tools(tools)).ag_ui(AgUi::new()).router()
}

/// Sends the messages of a chat of the AI SDK, and returns the chunks of the response.
async fn chat(router: &Router, messages: &Value) -> Vec<Value> {
    let body = json!({ "id": "c", "messages": messages }).to_string();
    let request = Request::post("http://localhost/api/chat").header(header::CONTENT_TYPE, "application/json");
    let response = router.clone().oneshot(request.body(Body::from(body)).unwrap()).await.unwrap();
    let bytes = to_bytes(response.into_body(), usize::MAX).await.unwrap();
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    let frames = text.split("\n\n").filter_map(|frame| frame.strip_prefix("data: "));
    frames.filter(|data| *data != "[DONE]").map(|data| serde_json::from_str(data).unwrap()).collect()
}

#[tokio::test]
async fn a_client_of_the_ai_sdk_executes_it_as_a_call_of_its_own() {
    let router = router();
    let prompt = json!({ "id": "m1", "role": "user", "parts": [{ "type": "text", "text": "where to?" }] });
    let first = chat(&router, &json!([prompt])).await;
    let kinds: Vec<_> = first.iter().map(|chunk| chunk["type"].as_str().unwrap()).collect();
    // The call is in a step of its own, because clients go on when all calls of the last step have ended.
    assert_eq!(
        kinds[kinds.len() - 5..],
        ["finish-step", "start-step", "tool-input-available", "finish-step", "finish"]
    );
    let call = &first[first.len() - 3];
    assert_eq!((&call["toolName"], &call["input"]), (&json!("Locate"), &json!({ "digits": 2 })));
    let part = |output: Value| {
        let part = json!({
            "type": "tool-Locate", "toolCallId": call["toolCallId"], "state": "output-available",
            "input": call["input"], "output": output,
        });
        json!([prompt, { "id": "a", "role": "assistant", "parts": [{ "type": "step-start" }, part] }])
    };
    let second = chat(&router, &part(json!("59.9, 10.7"))).await;
    let output = second.iter().find(|chunk| chunk["type"] == "tool-output-available").unwrap();
    assert!(output["output"].as_str().unwrap().contains("got 59.9, 10.7"), "{output}");
    assert_ne!(output["toolCallId"], call["toolCallId"]);
    // The first result counts. The next gets the answer to it.
    let third = chat(&router, &part(json!("elsewhere"))).await;
    assert!(third.iter().any(|chunk| chunk["delta"] == "got got 59.9, 10.7"), "{third:?}");
}

#[tokio::test]
async fn a_client_of_ag_ui_answers_an_interrupt() {
    let router = router();
    let first = post(&router, input("t", &json!([user("m1", "where to?")]), &json!({}))).await;
    let asked = first.event("RUN_FINISHED")["outcome"]["interrupts"][0].clone();
    assert_eq!(asked["reason"], "input_required", "{}", first.text);
    assert_eq!(
        (&asked["metadata"]["tool"], &asked["metadata"]["arguments"]),
        (&json!("Locate"), &json!({ "digits": 2 }))
    );
    let answer = json!({ "resume": [{ "interruptId": asked["id"], "status": "resolved", "payload": "59.9, 10.7" }] });
    let second = post(&router, input("t", &json!([]), &answer)).await;
    assert!(
        second.event("TOOL_CALL_RESULT")["content"].as_str().unwrap().contains("got 59.9, 10.7"),
        "{}",
        second.text
    );
}
