//! Tests of requests for typed answers: the body of a request is that of one without the answer's tool, with the provider's format.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::{
    anthropic::{self, Anthropic},
    gemini::{self, Gemini, generate_content, interactions},
    openai::{self, OpenAi},
};
use tool_runtime::{
    message::Message,
    model::{ModelSettings, ReasoningEffort, Request, ToolChoice},
    schema::{Dialect, Schema},
    tool::ToolSpec,
    toolset::{ListFormat, ToolList},
};

const NAME: &str = "final_answer";

fn trip() -> Value {
    json!({
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": false
    })
}

fn tools(answer: Option<&Value>, has_other: bool) -> ToolList {
    let spec = |name: &str, schema: &Value| Arc::new(ToolSpec::new(name, "does it", Schema::new(schema.clone())));
    let other = has_other.then(|| spec("search", &trip()));
    ToolList::new(other.into_iter().chain(answer.map(|schema| spec(NAME, schema))).collect())
}

/// Writes the body of a request for an answer of this schema.
fn body(write: impl Fn(&Request<'_>) -> Vec<u8>, answer: &Value, has_other: bool, choice: &ToolChoice) -> Value {
    let (messages, tools) = ([Message::user("Where to?")], tools(Some(answer), has_other));
    let mut request = Request::new(&messages, &tools).with_choice(choice);
    request.answer_tool = Some(NAME);
    serde_json::from_slice(&write(&request)).unwrap()
}

/// Writes the body of a request without a typed answer.
fn plain_body(write: impl Fn(&Request<'_>) -> Vec<u8>, has_other: bool, choice: &ToolChoice) -> Value {
    let (messages, tools) = ([Message::user("Where to?")], tools(None, has_other));
    serde_json::from_slice(&write(&Request::new(&messages, &tools).with_choice(choice))).unwrap()
}

fn chat(model: OpenAi) -> impl Fn(&Request<'_>) -> Vec<u8> {
    let model = model.api(openai::Api::Chat);
    move |request| openai::chat::request::write_body(&model, request)
}

fn responses(model: OpenAi) -> impl Fn(&Request<'_>) -> Vec<u8> {
    move |request| openai::responses::request::write_body(&model, request)
}

fn messages(model: Anthropic) -> impl Fn(&Request<'_>) -> Vec<u8> {
    move |request| anthropic::request::write_body(&model, request)
}

fn contents(model: Gemini) -> impl Fn(&Request<'_>) -> Vec<u8> {
    let model = model.api(gemini::Api::GenerateContent);
    move |request| generate_content::request::write_body(&model, request)
}

fn steps(model: Gemini) -> impl Fn(&Request<'_>) -> Vec<u8> {
    move |request| interactions::request::write_body(&model, request)
}

type Encoder = Box<dyn Fn(&Request<'_>) -> Vec<u8>>;

/// Returns the encoder of each format, with or without the option.
fn encoders(ask: bool) -> [(ListFormat, Encoder); 5] {
    let openai = OpenAi::new("gpt-5.6-sol").structured_output(ask);
    let gemini = Gemini::new("gemini-3.5-flash").structured_output(ask);
    [
        (ListFormat::OpenAi, Box::new(chat(openai.clone()))),
        (ListFormat::Responses, Box::new(responses(openai))),
        (ListFormat::Anthropic, Box::new(messages(Anthropic::new("claude-opus-5-5").structured_output(ask)))),
        (ListFormat::Gemini, Box::new(contents(gemini.clone()))),
        (ListFormat::GeminiInteractions, Box::new(steps(gemini))),
    ]
}

/// Returns the member of the body that has the format of a trip.
fn format_of(format: ListFormat) -> (&'static str, Value) {
    let of_google = Schema::new(trip()).lowered(Dialect::Gemini).json().get().parse::<Value>().unwrap();
    match format {
        ListFormat::OpenAi => {
            let schema = json!({"name": "final_answer", "schema": trip(), "strict": true});
            ("response_format", json!({"type": "json_schema", "json_schema": schema}))
        }
        ListFormat::Responses => {
            let format = json!({"type": "json_schema", "name": "final_answer", "schema": trip(), "strict": true});
            ("text", json!({"format": format}))
        }
        ListFormat::Anthropic => ("output_config", json!({"format": {"type": "json_schema", "schema": trip()}})),
        ListFormat::Gemini => {
            ("generationConfig", json!({"responseMimeType": "application/json", "responseJsonSchema": of_google}))
        }
        _ => ("response_format", json!({"type": "text", "mime_type": "application/json", "schema": of_google})),
    }
}

#[test]
fn the_tool_of_the_answer_becomes_the_format() {
    let called = ToolChoice::Tool(NAME.to_owned());
    let choices = [
        (ToolChoice::Auto, ToolChoice::Auto),
        (ToolChoice::Required, ToolChoice::Auto),
        (ToolChoice::None, ToolChoice::None),
        (called, ToolChoice::None),
    ];
    for (format, write) in encoders(true) {
        for has_other in [false, true] {
            for (choice, sent) in &choices {
                let (member, value) = format_of(format);
                let mut expected = plain_body(&write, has_other, sent);
                assert_eq!(expected[member], Value::Null, "{format:?}");
                expected[member] = value;
                assert_eq!(body(&write, &trip(), has_other, choice), expected, "{format:?} {choice:?}");
            }
        }
    }
}

#[test]
fn the_whole_body_at_openai() {
    let sent = body(chat(OpenAi::new("m").structured_output(true)), &trip(), false, &ToolChoice::Required);
    let expected = json!({
        "model": "m",
        "messages": [{"role": "user", "content": "Where to?"}],
        "stream": true,
        "stream_options": {"include_usage": true},
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "final_answer", "schema": trip(), "strict": true}
        }
    });
    assert_eq!(sent, expected);
}

#[test]
fn nothing_changes_without_the_option_or_without_a_typed_answer() {
    for ((format, off), (_, on)) in encoders(false).into_iter().zip(encoders(true)) {
        let sent = body(&off, &trip(), true, &ToolChoice::Auto);
        assert!(sent.to_string().contains(NAME) && sent[format_of(format).0] == Value::Null, "{format:?} {sent}");
        let plain = |write| plain_body(write, true, &ToolChoice::Required);
        assert_eq!(plain(&on), plain(&off), "{format:?}");
        // This turn cannot be the answer.
        let other = ToolChoice::Tool("search".to_owned());
        assert_eq!(body(&on, &trip(), true, &other), body(&off, &trip(), true, &other), "{format:?}");
    }
}

/// Asserts whether the answer stays a tool.
#[track_caller]
fn assert_stays(write: impl Fn(&Request<'_>) -> Vec<u8>, answer: &Value, has_other: bool, stays: bool) {
    let sent = body(write, answer, has_other, &ToolChoice::Auto);
    let is_tool = sent["tools"].to_string().contains(NAME);
    let has_format = ["json_schema", "application/json"].iter().any(|word| sent.to_string().contains(word));
    assert_eq!((is_tool, has_format), (stays, !stays), "{sent}");
}

#[test]
fn the_tool_stays_where_the_provider_refuses_the_format() {
    let openai = |model: &str, url: &str| OpenAi::new(model).base_url(url).structured_output(true);
    let google = "https://generativelanguage.googleapis.com/v1beta/openai";
    for has_other in [false, true] {
        assert_stays(chat(openai("llama", "https://api.groq.com/openai/v1")), &trip(), has_other, has_other);
        assert_stays(chat(openai("deepseek-chat", "https://api.deepseek.com")), &trip(), has_other, true);
        assert_stays(chat(openai("gemini-2.5-pro", google)), &trip(), has_other, has_other);
        assert_stays(chat(openai("gemini-3.5-flash", google)), &trip(), has_other, false);
        assert_stays(chat(openai("any", "http://127.0.0.1:8080/v1")), &trip(), has_other, false);
        for (model, stays) in [("gemini-2.5-flash", has_other), ("gemini-3.5-flash", false)] {
            let model = Gemini::new(model).structured_output(true);
            assert_stays(contents(model.clone()), &trip(), has_other, stays);
            assert_stays(steps(model), &trip(), has_other, stays);
        }
    }
}

#[test]
fn a_schema_that_no_strict_mode_has() {
    let map = json!({"type": "object", "additionalProperties": {"type": "integer"}});
    let optional = json!({
        "type": "object",
        "properties": {"city": {"type": "string"}, "words": {"type": "array", "items": {"type": "string"}}},
        "required": ["city"],
        "additionalProperties": false
    });
    for answer in [&map, &optional] {
        let portable: Value = Schema::new(answer.clone()).lowered(Dialect::Portable).json().get().parse().unwrap();
        let expected = json!({"name": NAME, "schema": portable, "strict": false});
        let model = OpenAi::new("m").structured_output(true);
        let sent = body(chat(model), answer, false, &ToolChoice::Auto);
        assert_eq!(sent["response_format"]["json_schema"], expected);
    }
    let claude = || messages(Anthropic::new("claude-opus-5-5").structured_output(true));
    assert_stays(claude(), &map, false, true);
    assert_stays(claude(), &optional, false, false);
}

#[test]
fn members_that_the_application_sets() {
    let openai = || OpenAi::new("m").structured_output(true);
    let (_, format) = format_of(ListFormat::Responses);
    let sent = body(responses(openai().extra("text", json!({"verbosity": "low"}))), &trip(), false, &ToolChoice::Auto);
    assert_eq!(sent["text"], json!({"verbosity": "low", "format": format["format"]}));
    let (_, format) = format_of(ListFormat::Anthropic);
    let claude = || Anthropic::new("claude-opus-5-5").structured_output(true);
    let with_effort = claude().extra("output_config", json!({"effort": "max"}));
    let sent = body(messages(with_effort), &trip(), false, &ToolChoice::Auto);
    assert_eq!(sent["output_config"], json!({"effort": "max", "format": format["format"]}));
    // A format of the application wins, so the answer stays a tool.
    let own = json!({"format": {"type": "text"}});
    let sends_tool = |sent: Value| sent["tools"].to_string().contains(NAME);
    for sent in [
        body(responses(openai().extra("text", own.clone())), &trip(), false, &ToolChoice::Auto),
        body(chat(openai().extra("response_format", json!({"type": "text"}))), &trip(), false, &ToolChoice::Auto),
        body(messages(claude().extra("output_config", own)), &trip(), false, &ToolChoice::Auto),
    ] {
        assert!(sends_tool(sent));
    }
    let gemini = || Gemini::new("gemini-3.5-flash").structured_output(true);
    let plain_text = gemini().extra("generationConfig", json!({"responseMimeType": "text/plain"}));
    assert!(sends_tool(body(contents(plain_text), &trip(), false, &ToolChoice::Auto)));
}

/// Claude reasons beside the format. It would not beside a forced call.
#[test]
fn the_effort_of_reasoning_is_beside_the_format() {
    let settings = ModelSettings { reasoning_effort: Some(ReasoningEffort::High), ..ModelSettings::default() };
    let (messages, tools) = ([Message::user("Where to?")], tools(Some(&trip()), false));
    let mut request = Request::new(&messages, &tools).with_choice(&ToolChoice::Required).with_settings(&settings);
    request.answer_tool = Some(NAME);
    let model = Anthropic::new("claude-opus-5-5").structured_output(true);
    let sent: Value = serde_json::from_slice(&anthropic::request::write_body(&model, &request)).unwrap();
    let (_, format) = format_of(ListFormat::Anthropic);
    assert_eq!(sent["output_config"], json!({"effort": "high", "format": format["format"]}));
    assert_eq!(sent["thinking"], json!({"type": "adaptive"}));
}
