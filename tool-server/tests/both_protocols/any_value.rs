//! Tests that every value can be given: as the answer to a question, as the output of a call that the page executes, and as an
//! edit of a call.

use std::sync::Arc;

use axum::{
    Router,
    body::{Body, to_bytes},
    http::{Request, header},
};
use futures_util::stream;
use serde_json::{Value, json};
use tool_runtime::{
    Agent, Message, Part,
    model::{Delta, FinishReason, FunctionModel},
    tool, toolset,
};
use tool_server::{AgUi, Server};
use tool_stores::sealed::{Key, Keyring, MemoryNonces};
use tool_test_kit::every_kind;
use tower::ServiceExt;

use crate::{
    kit::{self, Response},
    tools::ask_for,
};

/// Let the page return anything.
#[tool(external, output = Value)]
#[allow(non_camel_case_types, reason = "a tool's name")]
struct anything {}

/// Let the page return a text.
#[tool(external, output = String)]
#[allow(non_camel_case_types, reason = "a tool's name")]
struct text {}

/// Let the page return a text or nothing.
#[tool(external, output = Option<String>)]
#[allow(non_camel_case_types, reason = "a tool's name")]
struct maybe_text {}

/// Let the page return a number or nothing.
#[tool(external, output = Option<f64>)]
#[allow(non_camel_case_types, reason = "a tool's name")]
struct maybe_number {}

/// Return the argument.
#[tool(approval = always)]
fn keep(
    /** Anything. */
    value: Value,
) -> Value {
    json!([value])
}

/// A server whose model calls the tool that the user names, and then repeats the result that it received.
fn server(is_sealed: bool) -> Router {
    let model = FunctionModel::streaming(|request| {
        let deltas = match request.messages.last() {
            Some(Message::Tool(result)) => {
                let text: String = result.content.iter().filter_map(Part::as_text).collect();
                vec![Delta::Text(format!("got: {text}")), Delta::Finish(FinishReason::Stop)]
            }
            Some(Message::User { content }) => {
                let script = content[0].as_text().unwrap().to_owned();
                let (name, arguments) = script.split_once(' ').unwrap();
                vec![
                    Delta::CallStart { index: 0, id: "c1".to_owned(), name: name.to_owned() },
                    Delta::CallArguments { index: 0, text: arguments.to_owned() },
                    Delta::CallEnd { index: 0 },
                    Delta::Finish(FinishReason::ToolCalls),
                ]
            }
            other => panic!("{other:?}"),
        };
        stream::iter(deltas.into_iter().map(Ok))
    });
    let tools = toolset!(ask_for, anything, text, maybe_text, maybe_number, keep);
    let server = Server::new(Agent::new(model).tools(tools)).ag_ui(AgUi::new());
    if is_sealed {
        let keys = Keyring::new("test", Key::from_bytes([7; 32]));
        return server.stateless(&keys, "desk", Arc::new(MemoryNonces::new())).router();
    }
    server.router()
}

async fn post(router: &Router, path: &str, body: &Value) -> Response {
    let request = Request::post(format!("http://localhost{path}")).header(header::CONTENT_TYPE, "application/json");
    let response = router.clone().oneshot(request.body(Body::from(body.to_string())).unwrap()).await.unwrap();
    let status = response.status().as_u16();
    let bytes = to_bytes(response.into_body(), usize::MAX).await.unwrap();
    Response { status, text: String::from_utf8(bytes.to_vec()).unwrap() }
}

/// The text that the model says after `got: `.
fn spoken_text(response: &Response, kind: &str) -> String {
    let text = response.text.strip_suffix("data: [DONE]\n\n").unwrap_or(&response.text).to_owned();
    let events = Response { status: response.status, text }.events();
    let deltas = events.iter().filter(|event| event["type"] == kind).filter_map(|event| event["delta"].as_str());
    let all: String = deltas.collect();
    all.split_once("got: ").unwrap_or_else(|| panic!("{}", response.text)).1.to_owned()
}

/// Returns the text that a model receives of a value.
fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// A chat of the AI SDK in which a call waits.
struct Chat {
    router: Router,
    asked: Response,
    messages: Vec<Value>,
}

impl Chat {
    async fn begin(is_sealed: bool, script: &str) -> Self {
        let router = server(is_sealed);
        let messages = vec![json!({ "id": "m1", "role": "user", "parts": [{ "type": "text", "text": script }] })];
        let mut asked = post(&router, "/api/chat", &json!({ "id": "c", "messages": messages })).await;
        asked.text = asked.text.replace("data: [DONE]\n\n", "");
        Self { router, asked, messages }
    }

    /// Sends the client's message about the call, and returns what the model says.
    async fn answer(mut self, part: &Value, decisions: &Value) -> String {
        let response = self.send(part, decisions).await;
        spoken_text(&response, "text-delta")
    }

    async fn send(&mut self, part: &Value, decisions: &Value) -> Response {
        let metadata = self.asked.events().iter().find_map(|chunk| chunk.get("messageMetadata").cloned());
        let message = json!({ "id": "a1", "role": "assistant", "parts": [part], "metadata": metadata });
        let messages = [&self.messages[..], &[message]].concat();
        post(&self.router, "/api/chat", &json!({ "id": "c", "messages": messages, "decisions": decisions })).await
    }
}

#[tokio::test]
async fn a_client_of_the_ai_sdk_gives_every_value() {
    for is_sealed in [false, true] {
        for value in every_kind() {
            let chat = Chat::begin(is_sealed, r#"ask_for {"schema":{}}"#).await;
            let id = chat.asked.event("data-question")["id"].as_str().unwrap().to_owned();
            let part = json!({ "type": "tool-ask_for", "toolCallId": "c1", "state": "input-available" });
            let decisions = json!({ id: { "decision": "answer", "value": value } });
            assert_eq!(chat.answer(&part, &decisions).await, json!([value]).to_string());

            let chat = Chat::begin(is_sealed, "anything {}").await;
            let part =
                json!({ "type": "tool-anything", "toolCallId": "c1", "state": "output-available", "output": value });
            assert_eq!(chat.answer(&part, &json!({})).await, shown(&value));

            let chat = Chat::begin(is_sealed, r#"keep {"value":"other"}"#).await;
            let id = chat.asked.event("tool-approval-request")["approvalId"].as_str().unwrap().to_owned();
            let part = json!({
                "type": "tool-keep", "toolCallId": "c1", "state": "approval-responded",
                "input": { "value": "other" }, "approval": { "id": id, "approved": true },
            });
            let decisions = json!({ id: { "decision": "edit", "arguments": { "value": value } } });
            let spoken = chat.answer(&part, &decisions).await;
            assert!(spoken.ends_with(&json!([value]).to_string()), "{spoken}");
        }
    }
}

/// Without the edit, the approval would count for the arguments that the person has replaced.
#[tokio::test]
async fn a_decision_that_cannot_be_read_decides_nothing() {
    let deep = (0..130).fold(json!(1), |inner, _| json!([inner]));
    let too_deep = json!({ "decision": "edit", "arguments": { "value": deep } });
    let half = [json!({ "decision": "edit" }), json!({ "decision": "answer" }), json!(null), json!("approve")];
    for decision in half.into_iter().chain([too_deep]) {
        let mut chat = Chat::begin(false, r#"keep {"value":"other"}"#).await;
        let id = chat.asked.event("tool-approval-request")["approvalId"].as_str().unwrap().to_owned();
        let part = json!({
            "type": "tool-keep", "toolCallId": "c1", "state": "approval-responded",
            "input": { "value": "other" }, "approval": { "id": id, "approved": true },
        });
        let refused = chat.send(&part, &json!({ &*id: decision })).await;
        assert_eq!(refused.status, 409, "{}", refused.text);
        assert!(refused.text.contains("`decisions`"), "{}", refused.text);
        // The call still waits, and the person's decision counts.
        let decisions = json!({ id: { "decision": "edit", "arguments": { "value": false } } });
        assert!(chat.answer(&part, &decisions).await.ends_with("[false]"));
    }
}

/// A thread of AG-UI in which a call waits.
struct Thread {
    router: Router,
    asked: Response,
    prompt: Value,
}

impl Thread {
    async fn begin(is_sealed: bool, script: &str) -> Self {
        let router = server(is_sealed);
        let mut prompt = kit::user("m1", script);
        let body = kit::input("c", &json!([prompt]), &json!({}));
        let asked = post(&router, "/agent", &serde_json::from_str(&body).unwrap()).await;
        let sealed = asked.events().into_iter().find(|event| event["type"] == "REASONING_ENCRYPTED_VALUE");
        if let Some(sealed) = sealed {
            assert_eq!(sealed["entityId"], "m1");
            prompt["encryptedValue"] = sealed["encryptedValue"].clone();
        }
        Self { router, asked, prompt }
    }

    /// Answers the interrupt, and returns what the model says.
    async fn resume(self, payload: &Value) -> String {
        let id = &self.asked.event("RUN_FINISHED")["outcome"]["interrupts"][0]["id"];
        assert!(id.is_string(), "{}", self.asked.text);
        let entry = json!({ "interruptId": id, "status": "resolved", "payload": payload });
        self.send(&[], &json!({ "resume": [entry] })).await
    }

    /// Sends the result of the call, and returns what the model says.
    async fn result(self, content: &str) -> String {
        let result = json!({ "id": "t1", "role": "tool", "toolCallId": "c1", "content": content });
        self.send(&[result], &json!({})).await
    }

    async fn send(self, more: &[Value], members: &Value) -> String {
        let call = json!({ "id": "c1", "type": "function", "function": { "name": "x", "arguments": "{}" } });
        let message = json!({ "id": "a1", "role": "assistant", "toolCalls": [call] });
        let messages = [&[self.prompt, message], more].concat();
        let body = kit::input("c", &json!(messages), members);
        let response = post(&self.router, "/agent", &serde_json::from_str(&body).unwrap()).await;
        spoken_text(&response, "TEXT_MESSAGE_CONTENT")
    }
}

#[tokio::test]
async fn a_client_of_ag_ui_gives_every_value() {
    for is_sealed in [false, true] {
        for value in every_kind() {
            let thread = Thread::begin(is_sealed, r#"ask_for {"schema":{}}"#).await;
            assert_eq!(thread.resume(&value).await, json!([value]).to_string());
            let thread = Thread::begin(is_sealed, "anything {}").await;
            assert_eq!(thread.result(&value.to_string()).await, shown(&value));
            let thread = Thread::begin(is_sealed, r#"keep {"value":"other"}"#).await;
            let spoken = thread.resume(&json!({ "approved": true, "editedArgs": { "value": value } })).await;
            assert!(spoken.ends_with(&json!([value]).to_string()), "{spoken}");
        }
    }
}

/// Clients send texts as they are, and other values as JSON. `CopilotKit` sends an empty text for `null`.
#[tokio::test]
async fn the_content_of_a_result_is_read_as_its_schema_allows() {
    for (tool, content, got) in [
        ("text", "plain", "plain"),
        ("text", "", ""),
        ("text", " ", " "),
        ("text", "42", "42"),
        ("text", "null", "null"),
        ("text", "true", "true"),
        ("text", "[1, 2]", "[1, 2]"),
        ("text", r#""in quotes""#, "in quotes"),
        ("text", r#""null""#, "null"),
        ("maybe_text", "null", "null"),
        ("maybe_text", "42", "42"),
        ("maybe_text", "", ""),
        ("maybe_number", "", "null"),
        ("maybe_number", "null", "null"),
        ("maybe_number", "0", "0"),
        ("anything", "", ""),
        ("anything", "plain", "plain"),
        ("anything", "[null]", "[null]"),
    ] {
        let thread = Thread::begin(false, &format!("{tool} {{}}")).await;
        assert_eq!(thread.result(content).await, got, "{tool} {content:?}");
    }
    let wrong = Thread::begin(false, "maybe_number {}").await.result("many").await;
    assert!(wrong.contains("many"), "{wrong}");
}

/// `null` is an answer where the schema allows it, and no answer is none.
#[tokio::test]
async fn no_answer_is_not_null() {
    for (schema, status) in [(r#"{"type":["string","null"]}"#, "given"), (r#"{"type":"string"}"#, "open")] {
        for payload in [Some(json!(null)), None] {
            let thread = Thread::begin(false, &format!(r#"ask_for {{"schema":{schema}}}"#)).await;
            let id = thread.asked.event("RUN_FINISHED")["outcome"]["interrupts"][0]["id"].clone();
            let mut entry = json!({ "interruptId": id, "status": "resolved" });
            let is_given = payload.is_some() && status == "given";
            if let Some(payload) = payload {
                entry["payload"] = payload;
            }
            let body = kit::input("c", &json!([thread.prompt]), &json!({ "resume": [entry] }));
            let response = post(&thread.router, "/agent", &serde_json::from_str(&body).unwrap()).await;
            let outcome = &response.event("RUN_FINISHED")["outcome"];
            assert_eq!(outcome["type"], if is_given { "success" } else { "interrupt" }, "{schema}: {}", response.text);
            assert_eq!(response.text.contains("got: [null]"), is_given, "{}", response.text);
        }
    }
}
