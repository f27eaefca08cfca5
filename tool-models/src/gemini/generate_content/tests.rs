//! Tests of decoding and encoding, without a network. Errors, filters and parallel calls in one stream are not recorded. They are in the
//! form of the specification (`@google/genai` 2.32.0, read on 2026-11-28) and of public reports.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{super::Api, super::Gemini, *};
use crate::http::response::testing::{decode, turn_of};
use tool_runtime::{
    message::{AssistantPart, Media, Message, Part, ProviderPart, ProviderPartKind, Signature, ToolCall, ToolMessage},
    model::{
        Delta, FinishReason, ModelError, ModelErrorKind, ModelSettings, ReasoningEffort, Request, ToolChoice, Turn,
        Usage,
    },
    schema::Schema,
    tool::ToolSpec,
    toolset::{ListFormat, ProviderTool, ToolList},
};

const ORIGIN: &str = "generate_content@generativelanguage.googleapis.com";

fn decode_events(events: &[Value]) -> Result<Vec<Delta>, ModelError> {
    let decoder = Decoder::new(&[], &ToolList::default()).with_origin(ORIGIN);
    decode(decoder, events.iter().map(Value::to_string))
}

fn turn(events: &[Value]) -> Turn {
    turn_of(decode_events(events).unwrap())
}

fn parts(parts: &Value) -> Value {
    json!({"candidates": [{"content": {"role": "model", "parts": parts}, "index": 0}]})
}

fn end(reason: &str) -> Value {
    json!({"candidates": [{"content": {"role": "model", "parts": [{"text": ""}]}, "finishReason": reason}]})
}

fn model(name: &str) -> Gemini {
    Gemini::new(name).api(Api::GenerateContent)
}

fn body(model: &Gemini, request: &Request<'_>) -> Value {
    serde_json::from_slice(&request::write_body(model, request)).unwrap()
}

/// Returns the contents of a request with these messages.
fn contents(model: &Gemini, messages: &[Message]) -> Value {
    body(model, &Request::new(messages, &ToolList::default()))["contents"].take()
}

fn call(id: &str, name: &str, arguments: &str) -> AssistantPart {
    AssistantPart::Call(ToolCall { id: id.into(), name: name.into(), arguments: arguments.into() })
}

fn signed(text: &str, signature: &str) -> AssistantPart {
    AssistantPart::Reasoning { text: text.into(), signature: Some(Signature::new(ORIGIN, signature)) }
}

fn text(text: &str) -> AssistantPart {
    AssistantPart::Text { text: text.into() }
}

fn result(id: &str, tool: &str, content: Vec<Part>) -> Message {
    Message::Tool(ToolMessage { call_id: id.into(), tool: tool.into(), content, is_error: false })
}

/// The parts of a turn with every kind of part, each in an event.
fn whole_turn() -> Vec<Value> {
    vec![
        json!({"text": "hm", "thought": true}),
        json!({"text": "!", "thought": true, "thoughtSignature": "T1"}),
        json!({"text": "I ", "thoughtSignature": "T2"}),
        json!({"text": "look"}),
        json!({"text": "", "thoughtSignature": "T3"}),
        json!({"executableCode": {"id": "x", "language": "PYTHON", "code": "1"}, "thoughtSignature": "T4"}),
        json!({"codeExecutionResult": {"id": "x", "outcome": "OUTCOME_FAILED", "output": "no"}}),
        json!({"toolCall": {"id": "y", "toolType": "GOOGLE_SEARCH_WEB", "args": {}}}),
        json!({"text": "why", "thought": true}),
        json!({"functionCall": {"name": "f", "args": {"x": 1}}, "thoughtSignature": "T5"}),
        json!({"functionCall": {"name": "f", "args": {"x": 1}}}),
        json!({"functionCall": {"name": "g", "id": "96c1su3s"}}),
        json!({"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}}),
    ]
}

fn events_of(turn: Vec<Value>) -> Vec<Value> {
    turn.into_iter().map(|part| parts(&json!([part]))).chain([end("STOP")]).collect()
}

#[test]
fn a_turn_keeps_the_order_of_its_parts() {
    let mut events = events_of(whole_turn());
    // What some servers send first ends nothing.
    events.insert(0, end("STOP"));
    events.push(
        json!({"usageMetadata": {"promptTokenCount": 10, "toolUsePromptTokenCount": 1000, "cachedContentTokenCount": 4,
        "candidatesTokenCount": 20, "thoughtsTokenCount": 300}}),
    );
    events.push(json!({"usageMetadata": {"trafficType": "ON_DEMAND"}}));
    let turn = turn(&events);
    let provided = |id: &str, name: &str, kind, block: &Value| {
        AssistantPart::Provider(ProviderPart::new(ORIGIN, id, name, kind, block.to_string()))
    };
    let sent = whole_turn();
    assert_eq!(
        turn.content,
        [
            signed("hm!", "thought:T1"),
            signed("", "text:T2"),
            text("I "),
            AssistantPart::Reasoning { text: String::new(), signature: None },
            text("look"),
            signed("", "empty:T3"),
            provided("x", "code_execution", ProviderPartKind::Call, &sent[5]),
            provided("x", "code_execution", ProviderPartKind::Failure, &sent[6]),
            provided("y", "GOOGLE_SEARCH_WEB", ProviderPartKind::Call, &sent[7]),
            signed("why", "call:T5"),
            call("call_0_0", "f", "{\"x\":1}"),
            call("call_0_1", "f", "{\"x\":1}"),
            call("96c1su3s", "g", "{}"),
            provided("", "inlineData", ProviderPartKind::Result, &sent[12]),
        ]
    );
    assert_eq!(turn.usage, Usage { input_tokens: 1010, output_tokens: 320, cached_tokens: 4, reasoning_tokens: 300 });
    assert_eq!(turn.finish, Some(FinishReason::ToolCalls));
}

#[test]
fn a_turn_goes_back_as_it_came() {
    let turn = turn(&events_of(whole_turn()));
    let answers = [("call_0_0", "f", "1"), ("call_0_1", "f", "2"), ("96c1su3s", "g", "3")];
    let answers = answers.map(|(id, tool, text)| result(id, tool, vec![Part::text(text)]));
    let messages = [&[Message::user("go"), Message::Assistant { content: turn.content }], &answers[..]].concat();
    let sent = contents(&model("gemini-3.5-flash"), &messages);
    let mut expected = whole_turn();
    expected[0] = json!({"text": "hm!", "thought": true, "thoughtSignature": "T1"});
    expected.remove(1);
    // A thought without a signature does not go back. The call without arguments has an empty object.
    expected.remove(7);
    expected[9]["functionCall"]["args"] = json!({});
    assert_eq!(sent[1], json!({"role": "model", "parts": expected}));
    let answer = |name: &str, output: &str| json!({"functionResponse": {"name": name, "response": {"output": output}}});
    let mut last = answer("g", "3");
    last["functionResponse"]["id"] = "96c1su3s".into();
    assert_eq!(sent[2], json!({"role": "user", "parts": [answer("f", "1"), answer("f", "2"), last]}));
}

#[test]
fn an_id_goes_back_only_if_it_is_not_made_here() {
    let messages = |id: &str| {
        let turn = Message::Assistant { content: vec![call(id, "f", "{}")] };
        [Message::user("go"), turn, result(id, "f", vec![])]
    };
    for made in ["call_0_0", "call_12_3", "call_12_3_2"] {
        let sent = contents(&model("gemini-2.5-flash"), &messages(made));
        assert_eq!(
            (&sent[1]["parts"][0]["functionCall"]["id"], &sent[2]["parts"][0]["functionResponse"]["id"]),
            (&Value::Null, &Value::Null),
            "{made}"
        );
    }
    for given in ["96c1su3s", "call_8GZvm5Bs4q0YSJIFH8hZeIcp", "call_1", "call_1_", "toolu_1_2"] {
        let sent = contents(&model("gemini-2.5-flash"), &messages(given));
        assert_eq!(
            (&sent[1]["parts"][0]["functionCall"]["id"], &sent[2]["parts"][0]["functionResponse"]["id"]),
            (&json!(given), &json!(given))
        );
    }
}

#[test]
fn a_step_of_another_model_has_the_documented_signature_once() {
    let messages = [
        Message::user("go"),
        Message::Assistant {
            content: vec![
                AssistantPart::Reasoning { text: "hm".into(), signature: Some(Signature::new("anthropic", "seal")) },
                AssistantPart::Reasoning {
                    text: String::new(),
                    signature: Some(Signature::new("interactions@generativelanguage.googleapis.com", "call:S")),
                },
                call("a", "f", "{}"),
                call("b", "f", "{}"),
            ],
        },
        result("a", "f", vec![]),
        result("b", "f", vec![]),
        Message::Assistant {
            content: vec![text("next"), signed("", "call:S"), call("c", "f", "{}"), call("d", "f", "{}")],
        },
        result("c", "f", vec![]),
        result("d", "f", vec![]),
    ];
    let signatures = |name: &str| -> Vec<Value> {
        let contents = contents(&model(name), &messages);
        let parts = contents.as_array().unwrap().iter().flat_map(|content| content["parts"].as_array().unwrap());
        parts.filter(|part| part.get("functionCall").is_some()).map(|part| part["thoughtSignature"].clone()).collect()
    };
    let documented = json!("skip_thought_signature_validator");
    assert_eq!(signatures("gemini-3-pro-preview"), [documented, Value::Null, json!("S"), Value::Null]);
    assert_eq!(signatures("gemini-2.5-flash"), [Value::Null, Value::Null, json!("S"), Value::Null]);
}

#[test]
fn reasons_to_stop() {
    let of = |reason: &str| turn(&[parts(&json!([{"text": "x"}])), end(reason)]).finish.unwrap();
    assert_eq!(of("STOP"), FinishReason::Stop);
    assert_eq!(of("MAX_TOKENS"), FinishReason::Length);
    for reason in ["SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY"] {
        assert_eq!(of(reason), FinishReason::ContentFilter);
    }
    assert_eq!(of("OTHER"), FinishReason::Other("OTHER".into()));
    let bare = json!({"candidates": [{"finishReason": "STOP"}]});
    assert_eq!(turn(&[parts(&json!([{"text": "x"}])), bare.clone()]).finish, Some(FinishReason::Stop));
    assert_eq!(turn(&[parts(&json!([{"functionCall": {"name": "f"}}])), bare]).finish, Some(FinishReason::ToolCalls));
    let late = [parts(&json!([{"text": "x"}])), end("STOP"), parts(&json!([{"text": "", "thoughtSignature": "S"}]))];
    assert_eq!(turn(&late).content, [text("x"), signed("", "empty:S")], "a late signature is no content after the end");
}

#[test]
fn a_broken_stream_is_an_error() {
    let ended = |reason: &str, message: &str| json!({"candidates": [{"content": {}, "finishReason": reason, "finishMessage": message}]});
    let partial =
        json!([{"functionCall": {"partialArgs": [{"jsonPath": "$.a", "stringValue": "A"}], "willContinue": true}}]);
    let cases = [
        ("malformed", vec![ended("MALFORMED_FUNCTION_CALL", "print(1)")], ModelErrorKind::Protocol, "print(1)"),
        (
            "unexpected",
            vec![ended("UNEXPECTED_TOOL_CALL", "no tool")],
            ModelErrorKind::Protocol,
            "UNEXPECTED_TOOL_CALL",
        ),
        ("blocked", vec![json!({"promptFeedback": {"blockReason": "SAFETY"}})], ModelErrorKind::Refused, "(SAFETY)"),
        (
            "blocked with words",
            vec![json!({"promptFeedback": {"blockReason": "OTHER", "blockReasonMessage": "bad words"}})],
            ModelErrorKind::Refused,
            "bad words",
        ),
        (
            "busy",
            vec![
                parts(&json!([{"text": "x"}])),
                json!({"error": {"code": 503, "message": "busy", "status": "UNAVAILABLE"}}),
            ],
            ModelErrorKind::Unavailable,
            "busy",
        ),
        ("limited", vec![json!([{"error": {"code": 429, "message": "slow"}}])], ModelErrorKind::RateLimited, "slow"),
        ("cut off", vec![parts(&json!([{"text": "x"}]))], ModelErrorKind::Unavailable, "ended before"),
        (
            "ended before its text",
            vec![end("STOP"), parts(&json!([{"text": "x"}]))],
            ModelErrorKind::Unavailable,
            "ended before",
        ),
        ("nothing", vec![json!({})], ModelErrorKind::Unavailable, "ended before"),
        ("pieces of no call", vec![parts(&partial)], ModelErrorKind::Protocol, "name"),
        (
            "to be continued",
            vec![parts(&json!([{"functionCall": {"name": "f", "willContinue": true}}]))],
            ModelErrorKind::Unavailable,
            "ended before",
        ),
        (
            "no name",
            vec![parts(&json!([{"functionCall": {"args": {}}}])), end("STOP")],
            ModelErrorKind::Protocol,
            "name",
        ),
        ("not a part", vec![parts(&json!(["?"]))], ModelErrorKind::Protocol, "part"),
        ("not an event", vec![json!([1])], ModelErrorKind::Protocol, "generateContent"),
    ];
    for (what, events, kind, words) in cases {
        let error = decode_events(&events).unwrap_err();
        assert_eq!(error.kind(), kind, "{what}: {error}");
        assert!(error.to_string().contains(words), "{what}: {error}");
    }
}

#[test]
fn a_conversation_as_a_request() {
    let image = Part::Image(Media::base64("image/png", "iVBORw0KGgo="));
    let failed = Message::Tool(ToolMessage {
        call_id: "b".into(),
        tool: "f".into(),
        content: vec![Part::text("no"), Part::text("disk")],
        is_error: true,
    });
    let messages = [
        Message::system("be brief"),
        Message::User { content: vec![Part::text("look"), image.clone(), Part::text("")] },
        Message::User {
            content: vec![Part::Document(Media::url("https://a/b.pdf").with_media_type("application/pdf"))],
        },
        Message::system("be kind"),
        Message::Assistant {
            content: vec![text(" "), call("a", "f", "{\"x\": 1}"), call("b", "f", ""), call("c", "f", "{oops")],
        },
        result("a", "f", vec![Part::text("here"), image]),
        failed,
        result("c", "f", vec![Part::Json { json: "{\"n\":1}".into() }]),
        Message::user("hurry"),
        Message::Assistant { content: vec![signed("hm", "thought:alone"), signed("", "empty:alone")] },
        Message::Assistant { content: vec![text("Well")] },
    ];
    let specs = vec![Arc::new(ToolSpec::new("f", "does f", Schema::new(json!({"type": "object"}))))];
    let tools =
        ToolList::with_provided(specs.clone(), vec![ProviderTool::new(ListFormat::Gemini, "googleSearch").arg("a", 1)]);
    let settings = ModelSettings {
        max_tokens: Some(7),
        temperature: Some(0.5),
        allow_parallel_calls: Some(false),
        reasoning_effort: Some(ReasoningEffort::Low),
    };
    let choice = ToolChoice::Tool("f".into());
    let request = Request::new(&messages, &tools).with_settings(&settings).with_choice(&choice);
    let thoughts = json!({"thinkingConfig": {"includeThoughts": true}});
    let new =
        model("gemini-3.5-flash").extra("cachedContent", "c").extra("contents", 1).extra("generationConfig", thoughts);
    let declarations: Value = serde_json::from_str(ToolList::new(specs).json(ListFormat::Gemini).get()).unwrap();
    assert!(declarations[0]["parametersJsonSchema"].is_object());
    let asked = |id: &str, args: Value| json!({"functionCall": {"id": id, "name": "f", "args": args}});
    let mut first = asked("a", json!({"x": 1}));
    first["thoughtSignature"] = "skip_thought_signature_validator".into();
    let picture = json!({"inlineData": {"mimeType": "image/png", "data": "iVBORw0KGgo="}});
    let answer = |id: &str, response: Value| json!({"functionResponse": {"id": id, "name": "f", "response": response}});
    let mut shown = answer("a", json!({"output": "here"}));
    shown["functionResponse"]["parts"] = json!([picture]);
    let file = json!({"fileData": {"mimeType": "application/pdf", "fileUri": "https://a/b.pdf"}});
    let (no, yes) = (answer("b", json!({"error": "no\ndisk"})), answer("c", json!({"output": {"n": 1}})));
    let mut expected = json!({
        "contents": [
            {"role": "user", "parts": [{"text": "look"}, picture, file]},
            {"role": "model", "parts": [first, asked("b", json!({})), asked("c", json!({"INVALID_JSON": "{oops"}))]},
            {"role": "user", "parts": [shown, no, yes]},
            {"role": "model", "parts": [{"text": "OK."}]},
            {"role": "user", "parts": [{"text": "hurry"}]},
            {"role": "model", "parts": [{"text": "Well"}]},
            {"role": "user", "parts": [{"text": "Go on."}]},
        ],
        "systemInstruction": {"parts": [{"text": "be brief"}, {"text": "be kind"}]},
        "tools": [{"functionDeclarations": declarations}, {"googleSearch": {"a": 1}}],
        "toolConfig": {
            "functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["f"]},
            "includeServerSideToolInvocations": true,
        },
        "generationConfig": {"maxOutputTokens": 7, "temperature": 0.5,
            "thinkingConfig": {"includeThoughts": true, "thinkingLevel": "LOW"}},
        "cachedContent": "c",
    });
    assert_eq!(body(&new, &request), expected);
    // Before Gemini 3, a result has only text, and an effort is a number of tokens.
    let old = body(&model("gemini-2.5-flash"), &request);
    expected["contents"][1]["parts"][0].as_object_mut().unwrap().remove("thoughtSignature");
    let shown = answer("a", json!({"output": "here\n(an image, shown below)"}));
    let label = json!({"text": "The image that `f` gave for call a:"});
    expected["contents"][2]["parts"] = json!([shown, no, yes]);
    expected["contents"][4]["parts"] = json!([label, picture, {"text": "hurry"}]);
    assert_eq!(old["contents"], expected["contents"]);
    assert_eq!(old["generationConfig"]["thinkingConfig"], json!({"thinkingBudget": 1024}));
}

#[test]
fn a_request_without_tools_and_settings_is_small() {
    let tools = ToolList::default();
    let request = Request::new(&[], &tools).with_choice(&ToolChoice::Required);
    let expected = json!({"contents": [{"role": "user", "parts": [{"text": "Hello."}]}]});
    assert_eq!(body(&model("m"), &request), expected);
}

#[test]
fn vertex_reads_addresses_of_buckets() {
    let vertex = model("gemini-3.5-flash")
        .base_url("https://europe-west4-aiplatform.googleapis.com/v1/projects/p/locations/europe-west4");
    let picture = |url: &str| Part::Image(Media::url(url).with_media_type("image/png"));
    let sent = |model: &Gemini, part: Part| {
        let is_taken = tool_runtime::model::Model::takes(model, &part);
        let sent = contents(model, &[Message::User { content: vec![part] }])[0]["parts"][0].take();
        assert_eq!(sent.get("fileData").is_some(), is_taken, "{sent}");
        sent
    };
    let expected = json!({"fileData": {"mimeType": "image/png", "fileUri": "gs://bucket/a.png"}});
    assert_eq!(sent(&vertex, picture("gs://bucket/a.png")), expected);
    // Vertex needs the type, and no other server can read the address.
    for (model, part) in [
        (&vertex, Part::Image(Media::url("gs://bucket/a.png"))),
        (&vertex, picture("gs://")),
        (&vertex, picture("gs://bucket/a b.png")),
        (&model("gemini-3.5-flash"), picture("gs://bucket/a.png")),
        (&vertex.clone().api(Api::Interactions), picture("gs://bucket/a.png")),
    ] {
        if model.api == Api::GenerateContent {
            assert!(sent(model, part.clone())["text"].is_string(), "{part:?}");
        }
        assert!(!tool_runtime::model::Model::takes(model, &part), "{part:?}");
    }
}
