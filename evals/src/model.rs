//! The next calls of a real model after different answers, through a server of chat completions.

use std::{
    collections::HashSet,
    fs::{File, OpenOptions},
    io::{self, BufRead, BufReader, Write},
    path::Path,
    time::Duration,
};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::answers::Case;
use crate::tools;
use crate::variants;

/// The largest number of tokens of an answer.
const MAX_TOKENS: u32 = 160;

/// The instructions of each conversation.
const INSTRUCTIONS: &str = "You are a helpful assistant. Call one function to do what the user asks.";

/// The time limit of one request. A small machine answers slowly.
const TIME_LIMIT: Duration = Duration::from_mins(10);

/// The place of calls in a conversation.
#[derive(Clone, Copy, Debug)]
pub enum Calls {
    /// In the fields that the protocol has for tools. Many servers let such a model write only what fits the schema.
    InProtocol,
    /// In the text, as JSON in a code fence. Nothing guides the model.
    InText,
}

/// The answer of a model: a line of the file of results.
#[derive(Debug, Serialize, Deserialize)]
pub struct Answered {
    pub case: usize,
    pub variant: String,
    /// The name of the model, as the server gives it.
    pub model: String,
    /// The text, or the call as JSON if the server has read it.
    pub text: String,
}

/// Asks the model at `url` for the next call of each case after each of `wanted`, and appends what it answers to `results`. Answers
/// that are there already are not asked for again.
pub async fn ask(
    url: &str,
    model: &str,
    calls: Calls,
    cases: &[Case],
    wanted: &[&str],
    results: &Path,
) -> Result<(), String> {
    let known: HashSet<(usize, String)> = match File::open(results) {
        Ok(file) => read(BufReader::new(file))?.into_iter().map(|line| (line.case, line.variant)).collect(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => HashSet::new(),
        Err(error) => return Err(format!("{}: {error}", results.display())),
    };
    let file = OpenOptions::new().create(true).append(true).open(results);
    let mut file = file.map_err(|error| format!("{}: {error}", results.display()))?;
    let client =
        reqwest::Client::builder().no_proxy().timeout(TIME_LIMIT).build().map_err(|error| error.to_string())?;
    let url = format!("{}/chat/completions", url.trim_end_matches('/'));
    let (own, mut count) = (tools::all(), 0);
    for case in cases {
        let tools = case.tools(&own);
        // The variants of a case follow each other, so that a server reads the beginning of the prompt once.
        for variant in wanted.iter().filter(|variant| !known.contains(&(case.id, (**variant).to_owned()))) {
            let Some(answer) = variants::text(variant, &tools, case).await else {
                return Err(format!("case {} has no answer `{variant}`", case.id));
            };
            let Some(request) = prompt(case, &answer, model, calls) else {
                return Err(format!("case {} has no request of a person: make the cases from a data set", case.id));
            };
            let sent = client.post(&url).header("content-type", "application/json").body(request.to_string()).send();
            let body = async { sent.await?.error_for_status()?.text().await };
            let body = body.await.map_err(|error| format!("case {}, `{variant}`: {error}", case.id))?;
            let (model, text) = read_answer(&body).ok_or_else(|| format!("case {}: an odd answer: {body}", case.id))?;
            let line = json!(Answered { case: case.id, variant: (*variant).to_owned(), model, text });
            writeln!(file, "{line}").map_err(|error| format!("{}: {error}", results.display()))?;
        }
        count += 1;
        if count % 10 == 0 {
            eprintln!("{count} of {} cases", cases.len());
        }
    }
    Ok(())
}

/// Returns the request for the call after the wrong one.
fn prompt(case: &Case, answer: &str, model: &str, calls: Calls) -> Option<Value> {
    let request = case.request.as_ref()?;
    let sent = Value::from(case.sent.clone()).to_string();
    let tool = json!({ "type": "function", "function": {
        "name": case.tool, "description": request.description, "parameters": request.parameters,
    } });
    let (messages, tools) = match calls {
        Calls::InProtocol => {
            let messages = json!([
                { "role": "system", "content": INSTRUCTIONS },
                { "role": "user", "content": request.text },
                { "role": "assistant", "content": "", "tool_calls": [
                    { "id": "call_1", "type": "function", "function": { "name": case.tool, "arguments": sent } },
                ] },
                { "role": "tool", "tool_call_id": "call_1", "content": answer },
            ]);
            (messages, json!([tool]))
        }
        Calls::InText => {
            let system = format!(
                "{INSTRUCTIONS}\n\n# Tools\n\nYou may call one or more functions to assist with the user query.\n\nYou are \
                 provided with function signatures within <tools></tools> XML tags:\n<tools>\n{tool}\n</tools>\n\nFor each \
                 function call, return a json object with function name and arguments within a json code fence:\n```json\n\
                 {{\"name\": <function-name>, \"arguments\": <args-json-object>}}\n```"
            );
            let name = Value::from(case.tool.as_str());
            let messages = json!([
                { "role": "system", "content": system },
                { "role": "user", "content": request.text },
                { "role": "assistant", "content": format!("```json\n{{\"name\": {name}, \"arguments\": {sent}}}\n```") },
                { "role": "user", "content": format!("<tool_response>\n{answer}\n</tool_response>") },
            ]);
            (messages, Value::Null)
        }
    };
    let mut body =
        json!({ "model": model, "temperature": 0, "seed": 1, "max_tokens": MAX_TOKENS, "messages": messages });
    if !tools.is_null() {
        body["tools"] = tools;
    }
    Some(body)
}

/// Returns the model's name, and its text or its first call, from the body of a response.
fn read_answer(body: &str) -> Option<(String, String)> {
    let body: Value = serde_json::from_str(body).ok()?;
    let message = &body["choices"][0]["message"];
    let call = &message["tool_calls"][0]["function"];
    let text = match call["arguments"].as_str() {
        Some(arguments) => format!(r#"{{"name": {}, "arguments": {arguments}}}"#, call["name"]),
        None => message["content"].as_str().unwrap_or_default().to_owned(),
    };
    Some((body["model"].as_str().unwrap_or_default().to_owned(), text))
}

/// Reads results, one a line. A last line that was cut is left out.
pub fn read(lines: impl BufRead) -> Result<Vec<Answered>, String> {
    let mut results = Vec::new();
    let mut cut = None;
    for line in lines.lines() {
        if let Some(error) = cut {
            return Err(error);
        }
        let line = line.map_err(|error| error.to_string())?;
        match serde_json::from_str(&line) {
            Ok(result) => results.push(result),
            Err(error) => cut = Some(format!("a result cannot be read: {error}: {line}")),
        }
    }
    Ok(results)
}

/// The call in the text of a model.
#[derive(Deserialize)]
struct NextCall {
    name: String,
    arguments: Map<String, Value>,
}

/// Returns the first object of the text that is a call.
fn next_call(text: &str) -> Option<NextCall> {
    text.match_indices('{').find_map(|(at, _)| {
        let mut values = serde_json::Deserializer::from_str(&text[at..]).into_iter::<NextCall>();
        values.next()?.ok()
    })
}

/// The next call of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It has the right tool, and each value is one that the data set allows.
    Right,
    /// It has the arguments of the call before.
    Repeated,
    Other,
}

/// Returns the outcome of a text for a case.
pub fn judge(case: &Case, text: &str) -> Outcome {
    let Some(call) = next_call(text) else { return Outcome::Other };
    if is_right(case, &call) {
        Outcome::Right
    } else if call.name == case.tool && call.arguments == case.sent {
        Outcome::Repeated
    } else {
        Outcome::Other
    }
}

fn is_right(case: &Case, call: &NextCall) -> bool {
    let allowed = case.request.as_ref().map(|request| &request.allowed);
    let other_values = |name: &str| allowed.and_then(|allowed| allowed.get(name)).and_then(Value::as_array);
    let is_allowed = |name: &str, value: &Value| {
        let others = other_values(name).into_iter().flatten().filter(|value| *value != "");
        case.right.get(name).into_iter().chain(others).any(|right| is_same(right, value))
    };
    let is_given = |name: &String| {
        let may_be_left_out = other_values(name).is_some_and(|values| values.iter().any(|value| value == ""));
        may_be_left_out || call.arguments.contains_key(name)
    };
    call.name == case.tool
        && case.right.keys().all(is_given)
        && call.arguments.iter().all(|(name, value)| is_allowed(name, value))
}

/// Returns whether two values are equal, numbers by their value.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(key, value)| other.get(key).is_some_and(|it| is_same(value, it)))
        }
        _ => one == other,
    }
}
