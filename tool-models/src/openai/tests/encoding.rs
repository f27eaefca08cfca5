//! From a request to a body.

use serde_json::{Value, json};

use super::tool;
use crate::{
    http::Http,
    openai::{OpenAi, request},
};
use tool_runtime::{
    message::{AssistantPart, Contents, Message, Part, ToolCall, ToolMessage},
    model::{Request, Settings, ToolChoice},
    toolset::{ListFormat, ToolList},
};

fn sent(model: &OpenAi, request: Request<'_>) -> Value {
    serde_json::from_slice(&request::body(model, &request)).unwrap()
}

#[test]
fn a_conversation_as_a_request() {
    let image = Part::Image { media_type: "image/png".into(), data: "AAAA".into() };
    let sound = Part::Audio { media_type: "audio/wav".into(), data: "AAAA".into() };
    let file = |uri: &str, contents| Part::Resource { uri: uri.into(), media_type: None, contents };
    let bytes = Contents::Base64("AAAA".into());
    let answer = |id: &str, content: Vec<Part>, is_error| {
        Message::Tool(ToolMessage { call_id: id.into(), tool: "f".into(), content, is_error })
    };
    let asked = |id: &str, arguments: &str| {
        AssistantPart::Call(ToolCall { id: id.into(), name: "f".into(), arguments: arguments.into() })
    };
    let thought = AssistantPart::Reasoning { text: "hm".into(), signature: None };
    let messages = [
        Message::system("be brief"),
        Message::User { content: vec![Part::text("what is this?"), image.clone()] },
        Message::Assistant { content: vec![thought, asked("a", "{\"x\":1}"), asked("b", ""), asked("c", "{oops")] },
        answer("a", vec![image], false),
        answer("b", vec![Part::text("no disk")], true),
        answer("c", vec![Part::Json { json: "{\"ok\":false}".into() }], true),
        answer("d", vec![sound, file("file:///a", Contents::Text("A".into())), file("file:///b", bytes)], false),
        Message::user("go on"),
    ];
    let tools = ToolList::new(vec![tool("f", false, json!({"type": "object"}))]);
    let settings = Settings { max_tokens: Some(7), temperature: Some(0.5), parallel_calls: Some(false) };
    let choice = ToolChoice::Tool("f".into());
    let request = Request::new(&messages, &tools).with_settings(&settings).with_choice(&choice);
    let model = OpenAi::new("m").base_url("http://localhost/v1").extra("seed", 1).extra("model", "no");
    let call = |id: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": "f", "arguments": arguments}});
    let url = "data:image/png;base64,AAAA";
    let picture = json!({"type": "image_url", "image_url": {"url": url}});
    assert_eq!(
        sent(&model, request),
        json!({
            "model": "m",
            "messages": [
                {"role": "system", "content": "be brief"},
                {"role": "user", "content": [{"type": "text", "text": "what is this?"}, picture]},
                {"role": "assistant", "content": null, "tool_calls":
                    [call("a", "{\"x\":1}"), call("b", "{}"), call("c", "{\"INVALID_JSON\":\"{oops\"}")]},
                {"role": "tool", "tool_call_id": "a", "content": "(an image, shown below)"},
                {"role": "tool", "tool_call_id": "b", "content": "error: no disk"},
                {"role": "tool", "tool_call_id": "c", "content": "{\"ok\":false}"},
                {"role": "tool", "tool_call_id": "d",
                    "content": "(sound, audio/wav)\nA\n(file:///b, which is no text)"},
                {"role": "user", "content": [{"type": "text", "text": "The image that `f` gave for call a:"}, picture]},
                {"role": "user", "content": "go on"},
            ],
            "tools": serde_json::from_str::<Value>(tools.json(ListFormat::OpenAi).get()).unwrap(),
            "tool_choice": {"type": "function", "function": {"name": "f"}},
            "parallel_tool_calls": false,
            "max_tokens": 7,
            "temperature": 0.5,
            "stream": true,
            "stream_options": {"include_usage": true},
            "seed": 1,
        })
    );
}

#[test]
fn what_is_not_asked_for_is_not_sent() {
    let messages = [
        Message::user("hi"),
        Message::Assistant { content: vec![AssistantPart::Reasoning { text: "hm".into(), signature: None }] },
    ];
    let (tools, choice) = (ToolList::default(), ToolChoice::Required);
    let settings = Settings { max_tokens: Some(7), parallel_calls: Some(true), ..Settings::default() };
    let request = Request::new(&messages, &tools).with_settings(&settings).with_choice(&choice);
    assert_eq!(
        sent(&OpenAi::new("m").usage(false).send_reasoning(true), request),
        json!({
            "model": "m",
            "messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "", "reasoning_content": "hm"}],
            "max_completion_tokens": 7,
            "stream": true,
        })
    );
}

#[test]
fn a_turn_is_as_long_as_its_settings_say_or_else_the_model() {
    let (messages, tools, settings) =
        ([], ToolList::default(), Settings { max_tokens: Some(7), ..Settings::default() });
    let model = OpenAi::new("m").base_url("http://localhost/v1").max_tokens(512);
    let request = Request::new(&messages, &tools);
    assert_eq!(sent(&model, request)["max_tokens"], 512);
    assert_eq!(sent(&model, request.with_settings(&settings))["max_tokens"], 7);
}

#[test]
fn the_key_is_not_shown() {
    let model = OpenAi::new("m").api_key("sk-secret").http(Http::new().header("x-key", "sk-other"));
    let shown = format!("{model:?}");
    assert!(!shown.contains("sk-"), "{shown}");
}
