//! Recorded calls, replayed in order against a fresh desk. No person is asked, so a recording has only calls that were allowed.
//!
//! A recording is a JSONL file: each line has a call and, if it is known, its outcome. The replay prints the same lines with the
//! outcomes of this desk. So its output is a recording, too, and `diff` compares two of them:
//!
//! ```text
//! {"name": "cancel_booking", "arguments": {"booking": "B1001", "reason": "plans"}, "outcome": {"rejected": ["reason"]}}
//! ```
//!
//! | outcome | meaning |
//! |---|---|
//! | `{"output": …}` | the output of the call |
//! | `{"rejected": ["flights", "payments"]}` | the names of the parameters with a problem, sorted; `call` is one of the whole call. A parameter that only waits for another one is not among them |
//! | `{"failed": "…"}` | any other error, as text |
//!
//! `arguments` is an object, or a text with JSON, as OpenAI records it. A line may have more entries, which are ignored.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::{fs, io};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tool_runtime::{CallError, Context, Toolset};

use crate::{data::Desk, tools};

/// A line of a recording.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Recorded {
    pub name: String,
    pub arguments: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
}

/// The outcome of a call.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Output(Value),
    Rejected(BTreeSet<String>),
    Failed(String),
}

/// Reads a recording. An error names the line.
pub fn read(text: &str) -> io::Result<Vec<Recorded>> {
    let lines = text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty());
    let read = |(line, number): (&str, u32)| {
        serde_json::from_str(line)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, format!("line {number}: {error}")))
    };
    lines.map(read).collect()
}

/// Replays the calls of a file, and prints each with its outcome. Fails if an outcome differs from the recorded one.
pub async fn run(file: &str) -> io::Result<()> {
    let (calls, tools) = (read(&fs::read_to_string(file)?)?, tools(Arc::new(Desk::open()?)));
    let (count, mut different) = (calls.len(), 0);
    for (index, call) in calls.into_iter().enumerate() {
        let (outcome, text) = replay(&tools, &call, index).await;
        let expected = call.outcome.filter(|expected| *expected != outcome);
        println!("{}", serde_json::to_string(&Recorded { outcome: Some(outcome), ..call })?);
        if let Some(expected) = expected {
            different += 1;
            eprintln!("call {}: expected {}, got: {text}", index + 1, serde_json::to_string(&expected)?);
        }
    }
    if different == 0 { Ok(()) } else { Err(io::Error::other(format!("{different} of {count} outcomes differ"))) }
}

/// Makes one call. Returns its outcome, and the text that a model would receive.
pub async fn replay(tools: &Toolset, call: &Recorded, index: usize) -> (Outcome, String) {
    let arguments = call.arguments.as_str().map_or_else(|| call.arguments.to_string(), str::to_owned);
    match tools.call(&call.name, &arguments, &Context::new(format!("call_{index}"))).await {
        Ok(output) => {
            let value = output.as_json().and_then(|json| serde_json::from_str(json).ok()).unwrap_or(Value::Null);
            (Outcome::Output(value), output.text())
        }
        Err(CallError::Rejected(rejection)) => {
            let answer = rejection.to_json();
            let reports = answer["validationResults"].as_object().into_iter().flatten();
            let mut named: BTreeSet<String> =
                reports.filter(|(_, report)| report.get("problems").is_some()).map(|(name, _)| name.clone()).collect();
            if answer.get("problems").is_some() {
                named.insert("call".to_owned());
            }
            (Outcome::Rejected(named), rejection.to_text())
        }
        Err(error) => (Outcome::Failed(error.to_string()), error.to_string()),
    }
}
