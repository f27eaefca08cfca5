//! Streams in which providers, gateways and local servers differ from the protocol, with the right outcome of each.
//!
//! The rules are data: `tests/data/stream_rules.json`. Each has a stream, what the server does differently, how a decoder must read
//! it, and its source. The test `stream_rules` of `tool-models` decodes them.

use std::sync::LazyLock;

use serde_json::Value;

use crate::streams::WireFormat;

static RULES: LazyLock<Vec<StreamRule>> = LazyLock::new(|| {
    let rules: Vec<Value> = serde_json::from_str(include_str!("../../data/stream_rules.json")).expect("valid JSON");
    rules
        .iter()
        .map(|rule| StreamRule {
            hosts: list(&rule["hosts"]),
            does: text(rule, "does"),
            then: text(rule, "then"),
            seen: text(rule, "seen"),
            source: text(rule, "source"),
            date: text(rule, "date"),
            stream: OddStream::new(rule, text(rule, "does")),
        })
        .collect()
});

/// A stream that differs from the protocol.
pub struct StreamRule {
    /// The providers and servers that send such streams.
    pub hosts: Vec<String>,
    /// The difference, as a sentence.
    pub does: String,
    /// The result of the decoder, as a sentence.
    pub then: String,
    /// `reported` or `recorded`.
    pub seen: String,
    /// The address of the source.
    pub source: String,
    /// The date of the source, or the day on which we read it.
    pub date: String,
    /// The smallest such stream.
    pub stream: OddStream,
}

/// A stream with its outcome.
pub struct OddStream {
    /// The oddity.
    pub what: String,
    /// The protocol: `chat_completions`, `messages`, `responses`, `interactions` or `generate_content`.
    pub format: WireFormat,
    /// The names of the tools on offer.
    pub tools: Vec<String>,
    /// The stream as the server sends it.
    pub sse: String,
    /// The outcome: `text`, `calls`, `finish` and others, or `error` and a part of its text in `says`.
    pub expect: Value,
}

/// Returns all rules.
pub fn stream_rules() -> &'static [StreamRule] {
    &RULES
}

/// Returns the streams of a list in the form of the rules, without their sources.
pub fn odd_streams(json: &str) -> Vec<OddStream> {
    let streams: Vec<Value> = serde_json::from_str(json).expect("valid JSON");
    streams.iter().map(|stream| OddStream::new(stream, text(stream, "what"))).collect()
}

impl OddStream {
    fn new(stream: &Value, what: String) -> Self {
        let format = match stream["format"].as_str() {
            Some("chat_completions") => WireFormat::Chat,
            Some("messages") => WireFormat::Anthropic,
            Some("responses") => WireFormat::Responses,
            Some("interactions") => WireFormat::Interactions,
            Some("generate_content") => WireFormat::GenerateContent,
            other => panic!("there is no format {other:?}"),
        };
        // An event is JSON, a text of its own such as `[DONE]`, or the bytes between events.
        let event = |event: &Value| match (event, event["raw"].as_str()) {
            (_, Some(raw)) => raw.to_owned(),
            (Value::String(data), _) => format!("data: {data}\n\n"),
            (json, _) => format!("data: {json}\n\n"),
        };
        let tools = if stream["tools"].is_null() {
            ["get_weather", "ping"].map(str::to_owned).to_vec()
        } else {
            list(&stream["tools"])
        };
        let sse = stream["events"].as_array().expect("a list of events").iter().map(event).collect();
        Self { what, format, tools, sse, expect: stream["expect"].clone() }
    }
}

fn text(of: &Value, name: &str) -> String {
    of[name].as_str().unwrap_or_else(|| panic!("no `{name}` in {of}")).to_owned()
}

fn list(of: &Value) -> Vec<String> {
    of.as_array().expect("a list").iter().map(|text| text.as_str().expect("a text").to_owned()).collect()
}
