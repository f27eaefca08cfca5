//! Replays recorded tasks and compares what the tools answer and change with the recording.

use std::fmt;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value};
use tool_runtime::{Context, Part, Toolset};

use crate::python;
use crate::store::{Database, Store};
use crate::tools;

/// A task of τ-bench: what a perfect agent calls, and what comes of it.
#[derive(Debug, Deserialize)]
pub(crate) struct Task {
    pub(crate) id: String,
    actions: Vec<Action>,
    /// The final records that differ from the database: table, id, record.
    changed: Value,
}

#[derive(Debug, Deserialize)]
struct Action {
    name: String,
    arguments: Map<String, Value>,
    result: Value,
}

/// Where a replay first differed from its recording.
#[derive(Debug)]
pub(crate) enum Mismatch {
    Action { index: usize, name: String, expected: String, got: String },
    Changed { expected: String, got: String },
}

impl Task {
    /// The id without the domain: `test-17`.
    pub(crate) fn short_id(&self) -> &str {
        self.id.strip_prefix("retail-").unwrap_or(&self.id)
    }

    /// Runs the actions one after the other on a fresh store.
    pub(crate) async fn replay(&self, database: &Arc<Database>) -> Result<(), Mismatch> {
        let store = Arc::new(Store::new(Arc::clone(database)));
        let tools = tools::of(Arc::clone(&store));
        for (index, action) in self.actions.iter().enumerate() {
            let got = perform(&tools, action, &Context::new(index.to_string())).await;
            if !agrees(&action.result, &got) {
                let expected = text(&action.result);
                return Err(Mismatch::Action { index, name: action.name.clone(), expected, got });
            }
        }
        let got = serde_json::to_value(store.changed()).unwrap_or_default();
        if equal(&self.changed, &got) {
            Ok(())
        } else {
            Err(Mismatch::Changed { expected: written(&self.changed), got: written(&got) })
        }
    }
}

/// Returns the text for the model after this call: an output, a refusal of the shop, or a rejection of the arguments.
async fn perform(tools: &Toolset, action: &Action, cx: &Context) -> String {
    let arguments = Value::Object(action.arguments.clone()).to_string();
    match tools.call(&action.name, &arguments, cx).await {
        Ok(output) => output.for_model().iter().map(as_recorded).collect(),
        Err(error) => as_recorded(&error.for_model()),
    }
}

/// JSON with the spaces of the recording, anything else as it is.
fn as_recorded(part: &Part) -> String {
    match part {
        Part::Json { json } => serde_json::from_str(json).map_or_else(|_| json.clone(), |value| written(&value)),
        other => other.as_text().unwrap_or_default().to_owned(),
    }
}

/// A string as it is, anything else as JSON.
fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| written(value), str::to_owned)
}

fn written(value: &Value) -> String {
    python::to_json(value).unwrap_or_else(|error| error.to_string())
}

/// Recorded text is compared byte for byte, recorded JSON by value.
fn agrees(expected: &Value, got: &str) -> bool {
    match expected {
        Value::String(text) => text == got,
        _ => serde_json::from_str(got).is_ok_and(|got| equal(expected, &got)),
    }
}

/// Equal where `1` and `1.0` are.
fn equal(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one == other || one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| equal(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(key, one)| other.get(key).is_some_and(|other| equal(one, other)))
        }
        _ => one == other,
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (expected, got) = match self {
            Self::Action { index, name, expected, got } => {
                write!(formatter, "action {index} {name}: ")?;
                (expected, got)
            }
            Self::Changed { expected, got } => {
                formatter.write_str("changed records: ")?;
                (expected, got)
            }
        };
        let from = first_difference(expected, got);
        write!(formatter, "expected {}, got {}", Excerpt { text: expected, from }, Excerpt { text: got, from })
    }
}

/// How many leading characters the texts share.
fn first_difference(one: &str, other: &str) -> usize {
    one.chars().zip(other.chars()).take_while(|(one, other)| one == other).count()
}

/// The part of a text around a character, so that a difference in a long record can be seen.
struct Excerpt<'a> {
    text: &'a str,
    from: usize,
}

impl fmt::Display for Excerpt<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        const BEFORE: usize = 60;
        const SHOWN: usize = 160;
        let skipped = self.from.saturating_sub(BEFORE);
        let shown: String = self.text.chars().skip(skipped).take(SHOWN).collect();
        let before = if skipped > 0 { "…" } else { "" };
        let after = if self.text.chars().count() > skipped + SHOWN { "…" } else { "" };
        write!(formatter, "{before}{shown}{after}")
    }
}
