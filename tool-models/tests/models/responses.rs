//! Tests with recorded streams of the Responses API. A slow reader of the raw events computes what a turn must have. The repository
//! lacks the recordings, as for `replay`.

use std::{collections::HashMap, fs};

use serde_json::{Map, Value, json};
use tool_models::{OpenAi, openai::Api};
use tool_runtime::{
    message::{AssistantPart, Message, Part, ToolMessage},
    model::{FinishReason, Model, ModelErrorKind, Request, Turn, Usage},
    toolset::ToolList,
};

use super::{
    Format,
    replay::recordings,
    server::{Server, end, event, head},
    turn,
};

/// The types of items that wait for the application.
const WAITING: [&str; 5] =
    ["mcp_approval_request", "local_shell_call", "apply_patch_call", "custom_tool_call", "tool_search_call"];

/// A turn as the last events of its items state it.
#[derive(Debug, Default, PartialEq)]
struct Expected {
    text: String,
    reasoning: String,
    calls: Vec<(String, String, Value)>,
    /// The items of reasoning with content, and the items of the provider's tools.
    items: Vec<Value>,
    usage: Usage,
    finish: Option<FinishReason>,
}

/// Reads the raw events. Fails with the kind of the error that the turn must end with.
fn expect(events: &[Value]) -> Result<Expected, ModelErrorKind> {
    let mut expected = Expected::default();
    let mut done: Vec<(u64, &Value)> = Vec::new();
    for event in events {
        match event["type"].as_str().unwrap() {
            "response.output_item.done" => done.push((event["output_index"].as_u64().unwrap(), &event["item"])),
            "error" | "response.failed" => return Err(ModelErrorKind::Refused),
            "response.completed" => expected.usage = usage(&event["response"]["usage"]),
            _ => {}
        }
    }
    if !deltas_begin_their_texts(events) {
        return Err(ModelErrorKind::Protocol);
    }
    let texts = |list: &Value| -> Vec<String> {
        let list = list.as_array().into_iter().flatten();
        list.filter_map(|part| part["text"].as_str().map(str::to_owned)).collect()
    };
    for (_, item) in &done {
        let r#type = item["type"].as_str().unwrap();
        match r#type {
            "message" => expected.text += &texts(&item["content"]).concat(),
            "reasoning" => {
                expected.reasoning += &texts(&item["summary"]).join("\n\n");
                expected.reasoning += &texts(&item["content"]).concat();
                if item["encrypted_content"].is_string()
                    || item["content"].as_array().is_some_and(|list| !list.is_empty())
                {
                    expected.items.push((*item).clone());
                }
            }
            "function_call" => expected.calls.push((
                item["call_id"].as_str().unwrap().to_owned(),
                item["name"].as_str().unwrap().to_owned(),
                serde_json::from_str(item["arguments"].as_str().unwrap()).unwrap(),
            )),
            "tool_search_call" if item["execution"] == "server" => expected.items.push((*item).clone()),
            r#type
                if WAITING.contains(&r#type) && !item["call_id"].as_str().is_some_and(|id| id.starts_with("xs_")) =>
            {
                return Err(ModelErrorKind::Configuration);
            }
            _ => expected.items.push((*item).clone()),
        }
    }
    let is_answered = |call: &Value| {
        done.iter().any(|(_, item)| item["type"] == "shell_call_output" && item["call_id"] == call["call_id"])
    };
    if done.iter().any(|(_, item)| item["type"] == "shell_call" && !is_answered(item)) {
        return Err(ModelErrorKind::Configuration);
    }
    let reason = if expected.calls.is_empty() { FinishReason::Stop } else { FinishReason::ToolCalls };
    expected.finish = Some(reason);
    expected.items.sort_by_key(Value::to_string);
    Ok(expected)
}

/// Returns whether the deltas of each text are its beginning. People have shortened some recordings.
fn deltas_begin_their_texts(events: &[Value]) -> bool {
    let mut texts: HashMap<(Value, Value, Value), String> = HashMap::new();
    events.iter().all(|event| {
        let r#type = event["type"].as_str().unwrap();
        let (stream, end) = r#type.rsplit_once('.').unwrap_or_default();
        let key = (stream.into(), event["output_index"].clone(), event["content_index"].clone());
        let is_text = ["response.output_text", "response.reasoning_text"].contains(&stream);
        match (is_text, end) {
            (true, "delta") => texts.entry(key).or_default().push_str(event["delta"].as_str().unwrap()),
            (true, "done") => {
                return event["text"].as_str().unwrap().starts_with(texts.get(&key).map_or("", String::as_str));
            }
            _ => {}
        }
        true
    })
}

fn usage(usage: &Value) -> Usage {
    let count = |value: &Value| value.as_u64().unwrap_or_default();
    Usage {
        input_tokens: count(&usage["input_tokens"]),
        output_tokens: count(&usage["output_tokens"]),
        cached_tokens: count(&usage["input_tokens_details"]["cached_tokens"]),
        reasoning_tokens: count(&usage["output_tokens_details"]["reasoning_tokens"]),
    }
}

fn read(turn: &Turn) -> Expected {
    let mut read =
        Expected { text: turn.text(), usage: turn.usage, finish: turn.finish.clone(), ..Expected::default() };
    for part in &turn.content {
        match part {
            AssistantPart::Reasoning { text, signature } => {
                read.reasoning += text;
                let json = signature.as_ref().map(|signature| serde_json::from_str::<Value>(&signature.value).unwrap());
                // The members of a message or a call are no item.
                read.items.extend(json.filter(|json| json.get("type").is_some()));
            }
            AssistantPart::Call(call) => {
                let arguments = if call.arguments.is_empty() { "{}" } else { &call.arguments };
                read.calls.push((call.id.clone(), call.name.clone(), serde_json::from_str(arguments).unwrap()));
            }
            AssistantPart::Provider(part) if part.provider == "openai" => {
                assert!(part.name.contains("citation"), "{part:?}");
            }
            AssistantPart::Provider(part) => {
                assert!(!part.name.is_empty(), "{part:?}");
                read.items.push(serde_json::from_str(&part.block).unwrap());
            }
            AssistantPart::Text { .. } => {}
        }
    }
    read.items.sort_by_key(Value::to_string);
    read
}

/// Decodes each response in `data`, the data of events: with one event per chunk, with one byte per chunk, and without its deltas.
/// Returns the number of responses, and of those that people have shortened.
fn check(name: &str, data: &[&str]) -> [usize; 2] {
    let mut responses: Vec<Vec<&str>> = Vec::new();
    for event in data {
        if event.contains("\"response.created\"") || responses.is_empty() {
            responses.push(Vec::new());
        }
        responses.last_mut().unwrap().push(event);
    }
    let mut shortened = 0;
    for response in &responses {
        let raw: Vec<Value> = response.iter().map(|event| serde_json::from_str(event).unwrap()).collect();
        let origin = if name.starts_with("xai") { "responses@api.x.ai" } else { "responses@api.openai.com" };
        let decode = |events: &[&str]| {
            let sse: Vec<String> = events.iter().map(|event| format!("data: {event}\n\n")).collect();
            let whole = Format::Responses.decode_of(origin, sse.iter().map(String::as_bytes));
            let cut = Format::Responses.decode_of(origin, sse.concat().as_bytes().chunks(1));
            match (&whole, cut) {
                (Ok(whole), Ok(cut)) => assert_eq!(&cut, whole, "{name}, cut"),
                (Err(whole), Err(cut)) => assert_eq!(cut.to_string(), whole.to_string(), "{name}, cut"),
                (whole, cut) => panic!("{name}: {whole:?}, cut {cut:?}"),
            }
            whole.map(|deltas| read(&turn(deltas))).map_err(|error| error.kind())
        };
        let expected = expect(&raw);
        assert_eq!(decode(response), expected, "{name}");
        let (ends, raw): (Vec<&str>, Vec<Value>) = response
            .iter()
            .copied()
            .zip(raw)
            .filter(|(_, raw)| raw["type"].as_str().unwrap().rsplit('.').next() != Some("delta"))
            .unzip();
        assert_eq!(decode(&ends), expect(&raw), "{name} without deltas");
        shortened += usize::from(expected == Err(ModelErrorKind::Protocol));
    }
    [responses.len(), shortened]
}

#[test]
#[ignore = "needs ../shared, which is not part of the repository"]
fn recorded_by_vercel() {
    let (mut files, mut responses, mut shortened) = (0, 0, 0);
    for folder in fs::read_dir(recordings("vercel-ai")).unwrap() {
        for file in fs::read_dir(folder.unwrap().path()).unwrap() {
            let file = file.unwrap();
            let text = fs::read_to_string(file.path()).unwrap();
            let name = file.file_name().into_string().unwrap();
            // Its first and its last event lack their last brace.
            let text = if name.starts_with("parallel-tool-call-wrapper") {
                let kind = Format::Responses.decode([format!("data: {text}\n\n").as_bytes()]).unwrap_err().kind();
                assert_eq!(kind, ModelErrorKind::Protocol, "{name}");
                text.replace("\"metadata\":{}}", "\"metadata\":{}}}")
            } else {
                text
            };
            let data: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
            if data.first().is_some_and(|first| first.contains("\"response.created\"")) {
                files += 1;
                let counts = check(&name, &data);
                responses += counts[0];
                shortened += counts[1];
            }
        }
    }
    assert_eq!((files, responses, shortened), (49, 56, 1), "recordings, responses, and shortened ones");
}

/// Returns the data of the events in `text`.
fn data(text: &str) -> Vec<&str> {
    text.lines().filter_map(|line| line.strip_prefix("data: ")).filter(|data| *data != "[DONE]").collect()
}

/// An exchange of a cassette: the body of the request, and the text of the response.
struct Exchange {
    request: Value,
    response: String,
}

/// Returns the exchanges of the Responses API in a cassette.
fn exchanges(cassette: &str) -> Vec<Exchange> {
    let mut found = Vec::new();
    for exchange in cassette.split("\n- request:\n").skip(1) {
        let (request, response) = exchange.split_once("\n  response:\n").unwrap();
        let is_ours = request.lines().any(|line| line.starts_with("    uri: ") && line.contains("/responses"));
        let Some((_, string)) = response.split_once("\n      string: |").filter(|_| is_ours) else { continue };
        let lines = string.lines().skip(1).take_while(|line| line.is_empty() || line.starts_with("        "));
        let text: Vec<&str> = lines.map(|line| line.get(8..).unwrap_or_default()).collect();
        let body = request.split_once("\n    parsed_body:\n").map_or("", |(_, body)| body);
        let mut lines = body.lines().take_while(|line| line.starts_with("      ")).map(indented).collect::<Vec<_>>();
        lines.reverse();
        found.push(Exchange { request: read_yaml(&mut lines, 6), response: text.join("\n") });
    }
    found
}

fn indented(line: &str) -> (usize, &str) {
    let text = line.trim_start();
    (line.len() - text.len(), text)
}

/// Reads a block of YAML, as far as the cassettes use it: maps, lists and scalars. The next line is last in `lines`.
fn read_yaml(lines: &mut Vec<(usize, &str)>, indent: usize) -> Value {
    let Some(&(at, first)) = lines.last() else { return Value::Null };
    if first.starts_with("- ") && at == indent {
        let mut list = Vec::new();
        while let Some((at, text)) = lines.pop_if(|(at, text)| *at == indent && text.starts_with("- ")) {
            // The rest of the line is the first one of the entry.
            lines.push((at + 2, &text[2..]));
            list.push(read_yaml(lines, at + 2));
        }
        return list.into();
    }
    let mut map = Map::new();
    while let Some((_, text)) = lines.pop_if(|(at, text)| *at == indent && !text.starts_with("- ")) {
        let Some((key, rest)) = text.split_once(':').filter(|(key, _)| !key.starts_with(['\'', '"'])) else {
            return read_scalar(text, lines, indent);
        };
        let rest = rest.trim();
        let value = match lines.last() {
            Some(&(next, text)) if rest.is_empty() && (next > indent || text.starts_with("- ")) => {
                read_yaml(lines, next)
            }
            _ => read_scalar(rest, lines, indent),
        };
        map.insert(key.to_owned(), value);
    }
    map.into()
}

/// Reads a scalar, which may go on in deeper lines.
fn read_scalar(first: &str, lines: &mut Vec<(usize, &str)>, indent: usize) -> Value {
    let mut text = first.to_owned();
    while let Some((_, more)) = lines.pop_if(|(at, _)| *at > indent) {
        text = format!("{text} {more}");
    }
    if let Some(quoted) = text.strip_prefix('\'').and_then(|text| text.strip_suffix('\'')) {
        return quoted.replace("''", "'").into();
    }
    match text.as_str() {
        "null" | "" => Value::Null,
        "[]" => json!([]),
        "{}" => json!({}),
        _ => serde_json::from_str(&text).unwrap_or_else(|_| text.into()),
    }
}

#[test]
#[ignore = "needs ../shared, which is not part of the repository"]
fn recorded_by_pydantic() {
    let (mut files, mut responses) = (0, 0);
    for file in fs::read_dir(recordings("pydantic-ai-cassettes")).unwrap() {
        let file = file.unwrap();
        let found = exchanges(&fs::read_to_string(file.path()).unwrap());
        files += usize::from(!found.is_empty());
        for exchange in found {
            let counts = check(&file.file_name().into_string().unwrap(), &data(&exchange.response));
            assert_eq!(counts[1], 0);
            responses += counts[0];
        }
    }
    assert_eq!((files, responses), (24, 38), "cassettes and responses");
}

/// Returns the items of a request in the shortest form, with its calls numbered, because the recordings' client changed ids. The items
/// of a search of tools are not there: the client sends only some of them back.
fn simplified(body: &Value) -> Vec<Value> {
    let items = body["input"].as_array().unwrap().iter();
    let is_search = |item: &&Value| item["type"].as_str().is_some_and(|kind| kind.starts_with("tool_search"));
    let mut items: Vec<Value> = items.filter(|item| !is_search(item)).map(simplify).collect();
    let mut ids = Vec::new();
    for item in &mut items {
        if let Some(id) = item.get("call_id").cloned() {
            let number = ids.iter().position(|known| *known == id).unwrap_or(ids.len());
            if number == ids.len() {
                ids.push(id);
            }
            item["call_id"] = number.into();
        }
    }
    items
}

/// Returns an item of a request without the members that mean nothing without a store, and in the shortest form.
fn simplify(item: &Value) -> Value {
    let mut item = item.clone();
    let members = item.as_object_mut().unwrap();
    match members.get("type").and_then(Value::as_str).unwrap_or("message").to_owned().as_str() {
        "message" => {
            let texts =
                members["content"].as_array().map(|parts| parts.iter().map(|part| part["text"].as_str().unwrap()));
            let text: Option<String> = texts.map(Iterator::collect);
            let text = text.or_else(|| members["content"].as_str().map(str::to_owned)).unwrap();
            // The recordings of requests have plain quotes.
            let plain = text.replace(['‘', '’'], "'").replace(['“', '”'], "\"");
            members.insert("content".to_owned(), plain.into());
            members.retain(|name, _| ["role", "content", "phase"].contains(&name.as_str()));
        }
        "reasoning" => {
            members.retain(|name, value| {
                ["type", "encrypted_content", "summary", "content"].contains(&name.as_str())
                    && !value.is_null()
                    && *value != json!([])
            });
        }
        "function_call" | "function_call_output" => {
            members.remove("id");
        }
        _ => {}
    }
    item
}

/// Plays a cassette: the model receives each recorded response, and each following request is compared with the recorded one.
async fn replay(name: &str, expected_requests: usize) {
    let cassette = fs::read_to_string(recordings("pydantic-ai-cassettes").join(name)).unwrap();
    let exchanges = exchanges(&cassette);
    let replies = exchanges.iter().map(|exchange| {
        let events = data(&exchange.response).into_iter().map(event);
        std::iter::once(head()).chain(events).chain([end()]).collect::<Vec<_>>()
    });
    let server = Server::start(replies).await;
    let model = OpenAi::new("m").base_url(&server.url).api(Api::Responses);
    let results = |exchange: &Exchange| -> Vec<Value> {
        let input = exchange.request["input"].as_array().cloned().unwrap_or_default();
        input.into_iter().filter(|item| item["type"] == "function_call_output").collect()
    };
    let mut messages = vec![Message::user(exchanges[0].request["input"][0]["content"].as_str().unwrap())];
    let mut compared = 0;
    for (number, exchange) in exchanges.iter().enumerate() {
        let tools = ToolList::default();
        let mut stream = model.stream(Request::new(&messages, &tools));
        let mut turn = Turn::default();
        while let Some(delta) = futures_util::StreamExt::next(&mut stream).await {
            turn.push(delta.unwrap());
        }
        drop(stream);
        let sent: Value = serde_json::from_str(&server.requests()[number].body).unwrap();
        assert_eq!((&sent["store"], sent.get("previous_response_id")), (&json!(false), None));
        assert_eq!(simplified(&sent), simplified(&exchange.request), "{name}, request {number}");
        compared += 1;
        let calls: Vec<_> = turn.calls().cloned().collect();
        messages.push(Message::Assistant { content: turn.content });
        let Some(next) = exchanges.get(number + 1) else { break };
        let outputs = results(next);
        for (call, output) in calls.iter().zip(&outputs[outputs.len() - calls.len()..]) {
            let content =
                vec![Part::text(output["output"].as_str().map_or_else(|| output["output"].to_string(), str::to_owned))];
            let (call_id, tool) = (call.id.clone(), call.name.clone());
            messages.push(Message::Tool(ToolMessage { call_id, tool, content, is_error: false }));
        }
    }
    assert_eq!(compared, expected_requests, "{name}");
}

/// The reasoning goes back before its call, `phase` with its message, and the namespace with its call. The cassette of the client's
/// tool search is not here, because such a turn fails.
#[tokio::test]
#[ignore = "needs ../shared, which is not part of the repository"]
async fn later_requests_are_those_of_the_recordings() {
    for (name, requests) in [
        ("test_bedrock_mantle--test_reused_tool_call_ids[stream].yaml", 3),
        ("test_deepseek_responses--test_deepseek_responses[function_tool_stream].yaml", 2),
        ("test_openai_responses--test_openai_responses_phase_streamed_on_part_start.yaml", 2),
        ("test_openai_responses--test_openai_responses_stream.yaml", 2),
        ("test_tool_search--test_openai_native_tool_search_streaming.yaml", 2),
    ] {
        replay(name, requests).await;
    }
}
