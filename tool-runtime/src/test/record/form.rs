//! What a recording is made of.

use std::{io, path::Path, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::model::{Delta, ModelError, ModelErrorKind, Request};
use crate::tool::Fingerprint;

/// The version of recordings that this version writes and reads.
pub(super) const VERSION: u32 = 1;

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Header {
    pub(super) recording: u32,
    pub(super) model: String,
}

impl Header {
    pub(super) fn new(model: &str) -> Self {
        Self { recording: VERSION, model: model.to_owned() }
    }
}

/// One turn.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Turn {
    pub(super) request: Value,
    pub(super) deltas: Vec<Delta>,
    pub(super) ending: Ending,
}

impl Turn {
    pub(super) fn new(request: Value) -> Self {
        Self { request, deltas: Vec::new(), ending: Ending::Dropped }
    }
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Ending {
    Finished,
    Failed(Failed),
    /// The stream ended before the model had.
    CutOff,
    /// Nobody waited for the rest.
    Dropped,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Failed {
    kind: ModelErrorKind,
    message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    retry_after: Option<Duration>,
}

impl From<&ModelError> for Failed {
    fn from(error: &ModelError) -> Self {
        Self { kind: error.kind(), message: error.to_string(), retry_after: error.wait() }
    }
}

impl From<Failed> for ModelError {
    fn from(failed: Failed) -> Self {
        Self::new(failed.kind, failed.message).retry_after(failed.retry_after)
    }
}

/// All that a model is asked. Of the tools, what tells one definition from another.
pub(super) fn request(request: Request<'_>) -> Value {
    let tools = request.tools.specs().iter().map(|spec| (spec.name.clone(), json!(Fingerprint::with_texts(spec))));
    json!({
        "messages": request.messages,
        "tools": tools.collect::<Map<_, _>>(),
        "tool_choice": request.tool_choice,
        "settings": request.settings,
    })
}

/// A line without what is to be hidden: in texts, and in the texts of arguments, which are quoted once more.
pub(super) fn hide(mut line: String, hidden: &[String]) -> String {
    for secret in hidden.iter().filter(|secret| !secret.is_empty()) {
        let once = quoted(secret);
        let twice = quoted(&once);
        line = line.replace(&twice, "[hidden]").replace(&once, "[hidden]");
    }
    line
}

/// A text as it stands between the quotes of JSON.
fn quoted(text: &str) -> String {
    let json = Value::from(text).to_string();
    json[1..json.len() - 1].to_owned()
}

pub(super) fn about(path: &Path, error: &dyn std::fmt::Display) -> io::Error {
    io::Error::other(format!("{}: {error}", path.display()))
}
