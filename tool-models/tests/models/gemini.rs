//! Tests of Gemini's two APIs: requests over a real socket, and streams that vercel/ai (Apache-2.0) and pydantic-ai (MIT) recorded. The
//! repository lacks the recordings. A second, slow reader computes from the raw events what a turn must have.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};
use tool_models::{Gemini, gemini::Api};
use tool_runtime::{
    Message, Part,
    message::{AssistantPart, ToolMessage},
    model::{FinishReason, Model, ModelErrorKind, Request, Turn},
    toolset::ToolList,
};

use super::{
    Format, ask,
    server::{Server, end, event, head, reply},
    turn,
};

/// The content of a turn, in the order of the response.
#[derive(Debug, Default, PartialEq)]
struct Contents {
    text: String,
    thoughts: String,
    /// The name and the arguments of each call.
    calls: Vec<(String, Value)>,
    signatures: Vec<String>,
    /// The number of steps of tools that Google ran, and of citations.
    provided: usize,
    tokens: u64,
}

impl Contents {
    fn of(turn: &Turn) -> Self {
        let mut contents = Self::default();
        for part in &turn.content {
            match part {
                AssistantPart::Text { text } => contents.text.push_str(text),
                AssistantPart::Reasoning { text, signature } => {
                    contents.thoughts.push_str(text);
                    // The part to which it belongs is before the colon.
                    let value = signature.iter().map(|signature| signature.value.split_once(':').unwrap().1.to_owned());
                    contents.signatures.extend(value);
                }
                AssistantPart::Call(call) => {
                    contents.calls.push((call.name.clone(), serde_json::from_str(&call.arguments).unwrap()));
                }
                AssistantPart::Provider(_) => contents.provided += 1,
            }
        }
        contents.tokens = turn.usage.input_tokens + turn.usage.output_tokens;
        contents
    }

    fn sign(&mut self, signature: &Value) {
        self.signatures.extend(signature.as_str().filter(|signature| !signature.is_empty()).map(str::to_owned));
    }

    fn of_interaction(events: &[Value]) -> Self {
        let mut contents = Self::default();
        let mut arguments = String::new();
        for event in events {
            let (step, delta) = (&event["step"], &event["delta"]);
            if let Some(kind) = step["type"].as_str() {
                contents.sign(&step["signature"]);
                contents.provided += usize::from(kind.starts_with("google_search"));
                if kind == "function_call" {
                    contents.calls.push((step["name"].as_str().unwrap().to_owned(), json!({})));
                    arguments.clear();
                }
            }
            match delta["type"].as_str().unwrap_or_default() {
                "text" => contents.text.push_str(delta["text"].as_str().unwrap()),
                "thought_signature" => contents.sign(&delta["signature"]),
                "arguments_delta" => {
                    arguments.push_str(delta["arguments"].as_str().unwrap());
                    contents.calls.last_mut().unwrap().1 = serde_json::from_str(&arguments).unwrap_or_default();
                }
                "text_annotation_delta" | "text_annotation" => {
                    contents.provided += delta["annotations"].as_array().unwrap().len();
                }
                _ => {}
            }
            contents.tokens = event["interaction"]["usage"]["total_tokens"].as_u64().unwrap_or(contents.tokens);
        }
        contents
    }

    fn of_generated(events: &[Value]) -> Self {
        let mut contents = Self::default();
        for event in events {
            for part in event["candidates"][0]["content"]["parts"].as_array().into_iter().flatten() {
                contents.sign(&part["thoughtSignature"]);
                let text = part["text"].as_str().unwrap_or_default();
                if part["thought"] == true { &mut contents.thoughts } else { &mut contents.text }.push_str(text);
                if let Some(name) = part["functionCall"]["name"].as_str() {
                    contents.calls.push((name.to_owned(), part["functionCall"]["args"].clone()));
                }
            }
            contents.tokens = event["usageMetadata"]["totalTokenCount"].as_u64().unwrap_or(contents.tokens);
        }
        contents
    }
}

/// Decodes a recording whole, byte by byte, and cut after each event, and compares it with the slow reader. Returns the turn.
fn check(name: &str, format: Format, sse: &str) -> Turn {
    let whole = format.decode([sse.as_bytes()]).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_eq!(format.decode(sse.as_bytes().chunks(1)).unwrap(), whole, "{name}, cut");
    let events: Vec<&str> = sse.split_inclusive("\n\n").flat_map(|text| text.split_inclusive("\r\n\r\n")).collect();
    for count in 0..events.len() {
        match format.decode([events[..count].concat().as_bytes()]) {
            Ok(deltas) => assert_eq!(deltas.last(), whole.last(), "{name}, the first {count} events"),
            Err(error) => assert!(error.is_transient(), "{name}, the first {count} events: {error}"),
        }
    }
    let turn = turn(whole);
    let data = events.iter().filter_map(|event| serde_json::from_str(event.trim().strip_prefix("data: ")?).ok());
    let data: Vec<Value> = data.collect();
    let expected = match format {
        Format::Interactions => Contents::of_interaction(&data),
        _ => Contents::of_generated(&data),
    };
    assert_eq!(Contents::of(&turn), expected, "{name}");
    let reason = if expected.calls.is_empty() { FinishReason::Stop } else { FinishReason::ToolCalls };
    assert_eq!(turn.finish, Some(reason), "{name}");
    turn
}

fn recordings(folder: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/streams").join(folder);
    assert!(root.exists(), "{} is not there", root.display());
    root
}

#[test]
#[ignore = "needs ../shared, which is not part of the repository"]
fn recorded_by_vercel() {
    let (mut interactions, mut generated) = (0, 0);
    for file in fs::read_dir(recordings("vercel-ai/google")).unwrap() {
        let file = file.unwrap();
        let name = file.file_name().into_string().unwrap();
        let text = fs::read_to_string(file.path()).unwrap();
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        let sse: String = lines.map(|line| format!("data: {line}\n\n")).collect();
        if text.contains("\"event_type\"") {
            interactions += 1;
            check(&name, Format::Interactions, &sse);
        } else if text.contains("\"partialArgs\"") {
            generated += 1;
            check_pieces(&name, &sse);
        } else if text.contains("\"candidates\"") {
            generated += 1;
            check(&name, Format::GenerateContent, &sse);
        }
    }
    assert_eq!((interactions, generated), (8, 9));
}

/// Checks that the calls have all texts that arrived in pieces, in their order.
fn check_pieces(name: &str, sse: &str) {
    let turn = turn(Format::GenerateContent.decode([sse.as_bytes()]).unwrap_or_else(|error| panic!("{name}: {error}")));
    assert_eq!(turn.finish, Some(FinishReason::ToolCalls), "{name}");
    let mut arguments: String = turn.calls().map(|call| call.arguments.as_str()).collect();
    for event in sse.lines().filter_map(|line| serde_json::from_str::<Value>(line.strip_prefix("data: ")?).ok()) {
        let parts = event["candidates"][0]["content"]["parts"].as_array().cloned().unwrap_or_default();
        let pieces = parts.iter().filter_map(|part| part["functionCall"]["partialArgs"].as_array()).flatten();
        for text in pieces.filter_map(|piece| piece["stringValue"].as_str()) {
            let escaped = serde_json::to_string(text).unwrap();
            let found = escaped.trim_matches('"').to_owned();
            let at = arguments.find(&found).unwrap_or_else(|| panic!("{name}: {found} is not in {arguments}"));
            arguments.drain(..at + found.len());
        }
    }
}

/// Returns the event streams of Gemini in a cassette. There, they are strings of YAML in double quotes.
fn streams(cassette: &str) -> Vec<String> {
    let mut streams = Vec::new();
    let mut lines = cassette.lines();
    while let Some(line) = lines.next() {
        let Some(first) = line.strip_prefix("      string: \"data: ") else { continue };
        let mut text = format!("\"data: {first}");
        while !text.ends_with('"') || text.ends_with("\\\"") {
            let line = lines.next().expect("the end of a string").trim_start();
            match text.pop() {
                Some('\\') => text.push_str(line),
                last => text.extend(last.into_iter().chain([' ']).chain(line.chars())),
            }
        }
        streams.push(serde_json::from_str(&text.replace("\\ ", " ")).expect("the escapes of JSON"));
    }
    streams
}

#[tokio::test]
#[ignore = "needs ../shared, which is not part of the repository"]
async fn recorded_by_pydantic() {
    let mut turns = 0;
    for file in fs::read_dir(recordings("pydantic-ai-cassettes")).unwrap() {
        let file = file.unwrap();
        let name = file.file_name().into_string().unwrap();
        let cassette = fs::read_to_string(file.path()).unwrap();
        if !cassette.contains(":streamGenerateContent") {
            continue;
        }
        let streams = streams(&cassette);
        turns += streams.len();
        let decoded: Vec<Turn> = streams.iter().map(|sse| check(&name, Format::GenerateContent, sse)).collect();
        // The next request of the recording has the signature in the other alphabet of base64.
        let signature = cassette.lines().find_map(|line| line.trim().strip_prefix("thoughtSignature: "));
        let signature = signature.map(|recorded| recorded.replace('-', "+").replace('_', "/"));
        assert_eq!(second_request(&decoded[0]).await, json!(signature), "{name}");
    }
    assert_eq!(turns, 7);
}

/// Returns the signature of the call in the request that follows `turn`, and checks that the call and its result are there.
async fn second_request(turn: &Turn) -> Value {
    let stop = json!({"candidates": [{"content": {"parts": [{"text": "x"}]}, "finishReason": "STOP"}]});
    let server = Server::start([vec![head(), event(&stop.to_string()), end()]]).await;
    // The decoder of the recording has no origin, and the one of this server has another.
    let mut content = turn.content.clone();
    for part in &mut content {
        if let AssistantPart::Reasoning { signature: Some(signature), .. } = part {
            signature.origin = "generate_content@127.0.0.1".to_owned();
        }
    }
    let call = turn.calls().next().unwrap();
    let result = ToolMessage {
        call_id: call.id.clone(),
        tool: call.name.clone(),
        content: vec![Part::Json { json: "{\"return_value\":\"Mexico\"}".into() }],
        is_error: false,
    };
    let messages = [Message::user("go"), Message::Assistant { content }, Message::Tool(result)];
    let tools = ToolList::default();
    let model = Gemini::new("gemini-2.0-flash").base_url(&server.url).api(Api::GenerateContent);
    let deltas: Vec<_> = futures_util::StreamExt::collect(model.stream(Request::new(&messages, &tools))).await;
    assert!(deltas.iter().all(Result::is_ok), "{deltas:?}");
    let contents = serde_json::from_str::<Value>(&server.requests()[0].body).unwrap()["contents"].take();
    let parts = |at: usize, member: &str| contents[at]["parts"][0][member].clone();
    let id = if call.id.starts_with("call_") { Value::Null } else { json!(call.id) };
    let (called, answered) = (parts(1, "functionCall"), parts(2, "functionResponse"));
    assert_eq!((&called["name"], &called["id"], &answered["id"]), (&json!(call.name), &id, &id));
    assert_eq!(answered["response"], json!({"output": {"return_value": "Mexico"}}));
    parts(1, "thoughtSignature")
}

#[tokio::test]
async fn each_api_has_its_address_and_its_headers() {
    let text = r#"{"event_type":"step.delta","index":0,"delta":{"type":"text","text":"x"}}"#;
    let completed = r#"{"event_type":"interaction.completed","interaction":{"status":"completed"}}"#;
    let generated = r#"{"candidates":[{"content":{"parts":[{"text":"x"}]},"finishReason":"STOP"}]}"#;
    let replies = [vec![head(), event(text), event(completed), end()], vec![head(), event(generated), end()]];
    let server = Server::start(replies).await;
    let model = Gemini::new("gemini-3.5-flash").base_url(&server.url).api_key("secret-key");
    let apis = [Api::Interactions, Api::GenerateContent];
    for api in apis {
        let (_, error) = ask(&model.clone().api(api)).await;
        assert!(error.is_none(), "{error:?}");
    }
    let heads: Vec<String> = server.requests().into_iter().map(|request| request.head).collect();
    assert!(heads[0].starts_with("post /v1beta/interactions http/1.1\r\n"), "{}", heads[0]);
    let generate = "post /v1beta/models/gemini-3.5-flash:streamgeneratecontent?alt=sse http/1.1\r\n";
    assert!(heads[1].starts_with(generate), "{}", heads[1]);
    for head in &heads {
        assert!(head.lines().any(|line| line == "x-goog-api-key: secret-key"), "{head}");
    }
    assert!(heads[0].lines().any(|line| line == "api-revision: 2026-05-20"), "{}", heads[0]);
}

#[tokio::test]
async fn an_invalid_key_is_unauthorized() {
    let body = json!([{"error": {"code": 400, "message": "API key not valid: secret-key", "status": "INVALID_ARGUMENT",
        "details": [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}]}}]);
    let server = Server::start([reply("400 Bad Request", "", &body.to_string())]).await;
    let (_, error) = ask(&Gemini::new("m").base_url(&server.url).api_key("secret-key")).await;
    let error = error.unwrap();
    assert_eq!(error.kind(), ModelErrorKind::Unauthorized);
    assert!(error.to_string().contains("API key not valid: [redacted]"), "{error}");
}
