//! The scripted model: what it says stands in the user's last message.

use std::{
    collections::BTreeSet,
    sync::{Mutex, PoisonError},
};

use futures_util::{Stream, StreamExt, stream};
use serde::Deserialize;
use serde_json::{Value, json};
use tool_runtime::{
    Message, Part,
    message::{ProviderPart, ProviderPartKind, ToolMessage},
    model::{Asked, Delta, FinishReason, ModelError, ModelErrorKind},
};

/// How many characters a piece of text has.
const PIECE: usize = 12;

#[derive(Default, Deserialize)]
struct Script {
    steps: Vec<Vec<Item>>,
}

#[derive(Clone, Deserialize)]
#[serde(untagged)]
enum Item {
    Text {
        text: String,
    },
    Echo {
        #[allow(dead_code, reason = "its being there is the meaning")]
        echo: bool,
    },
    Call {
        call: Call,
    },
    /// The turn breaks off here, the first time.
    Fail {
        fail: String,
    },
    Provided {
        provided: Provided,
    },
}

/// What a tool does that the model's provider executes.
#[derive(Clone, Deserialize)]
struct Provided {
    id: String,
    name: String,
    input: Value,
    output: Value,
}

#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Call {
    id: String,
    tool: String,
    input: Option<Value>,
    input_text: Option<String>,
    #[serde(default = "eight")]
    chunk: usize,
}

fn eight() -> usize {
    8
}

/// The next turn of the script, a piece at a time.
#[allow(clippy::needless_pass_by_value, reason = "models are asked so")]
pub(crate) fn play(asked: Asked) -> impl Stream<Item = Result<Delta, ModelError>> + Send + 'static {
    let deltas = turn(&asked.messages);
    stream::iter(deltas).then(|delta| async {
        tokio::task::yield_now().await;
        delta
    })
}

/// Whether the turn called `name` fails: once.
fn fails(name: &str) -> bool {
    static FAILED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    FAILED.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned())
}

fn turn(messages: &[Message]) -> Vec<Result<Delta, ModelError>> {
    let last = messages.iter().rposition(|message| matches!(message, Message::User { .. }));
    let (script, since) = match last {
        Some(at) => (script(&messages[at]), &messages[at + 1..]),
        None => (Script::default(), messages),
    };
    let played = since.iter().filter(|message| matches!(message, Message::Assistant { .. })).count();
    let ended = vec![Item::Text { text: "(script ended)".to_owned() }];
    let items = script.steps.get(played).cloned().unwrap_or(ended);
    let mut deltas = Vec::new();
    let mut calls = 0;
    for item in items {
        match item {
            Item::Text { text } => deltas.extend(pieces(&text, PIECE).map(Delta::Text)),
            Item::Echo { .. } => deltas.extend(pieces(&echo(since), PIECE).map(Delta::Text)),
            Item::Fail { fail } if fails(&fail) => {
                let mut turn: Vec<_> = deltas.into_iter().map(Ok).collect();
                turn.push(Err(ModelError::new(ModelErrorKind::Unavailable, "the script says so")));
                return turn;
            }
            Item::Fail { .. } => {}
            Item::Provided { provided: Provided { id, name, input, output } } => {
                let part = |kind, block: Value| {
                    Delta::Provider(ProviderPart::new("script", &*id, &*name, kind, block.to_string()))
                };
                deltas.push(part(ProviderPartKind::Call, json!({ "input": input })));
                deltas.push(part(ProviderPartKind::Result, json!({ "content": output })));
            }
            Item::Call { call } => {
                let index = calls;
                calls += 1;
                let text = call.input_text.unwrap_or_else(|| call.input.unwrap_or_else(|| json!({})).to_string());
                deltas.push(Delta::CallStart { index, id: call.id, name: call.tool });
                deltas.extend(pieces(&text, call.chunk.max(1)).map(|text| Delta::CallArguments { index, text }));
                deltas.push(Delta::CallEnd { index });
            }
        }
    }
    deltas.push(Delta::Finish(if calls > 0 { FinishReason::ToolCalls } else { FinishReason::Stop }));
    deltas.into_iter().map(Ok).collect()
}

/// The script in what the user said: the last text of it that is one.
fn script(message: &Message) -> Script {
    let Message::User { content } = message else { return Script::default() };
    let scripts = content.iter().rev().filter_map(Part::as_text);
    let mut found = scripts.filter_map(|text| serde_json::from_str(text.trim().strip_prefix("SCRIPT")?).ok());
    found.next().unwrap_or_default()
}

fn pieces(text: &str, size: usize) -> impl Iterator<Item = String> {
    let all: Vec<char> = text.chars().collect();
    let pieces: Vec<String> = all.chunks(size).map(|piece| piece.iter().collect()).collect();
    pieces.into_iter()
}

/// What the model has seen of its calls.
fn echo(since: &[Message]) -> String {
    // A call is answered in the model's order, so the results are in the order of the calls.
    let results = since.iter().filter_map(|message| match message {
        Message::Tool(result) => Some(seen(result)),
        _ => None,
    });
    format!("SEEN {}", Value::from(results.collect::<Vec<_>>()))
}

/// The sentences by which a model is told that a call was denied, up to the reason.
const DENIALS: [&str; 2] = ["a policy does not allow the call; it did not run", "the call was denied, and did not run"];

fn seen(result: &ToolMessage) -> Value {
    let text = result.content.iter().filter_map(Part::as_text).collect::<Vec<_>>().join("\n");
    let denied = DENIALS.iter().find_map(|denial| text.strip_prefix(denial));
    let (status, value) = match (&result.content[..], denied) {
        (_, Some(reason)) => ("denied", reason.strip_prefix(": ").map_or(Value::Null, Value::from)),
        (_, None) if result.is_error => ("error", text.into()),
        ([Part::Json { json }], None) => ("ok", serde_json::from_str(json).unwrap_or(Value::Null)),
        _ => ("ok", text.into()),
    };
    json!({ "toolCallId": result.call_id, "status": status, "value": value })
}
