//! Model traffic that is recorded once and replayed as often as needed.

use std::{
    fmt,
    fs::{self, File, OpenOptions},
    io::{self, Write},
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_util::stream::{self, BoxStream, StreamExt};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::feedback::FeedbackFormat;
use crate::message::Part;
use crate::model::{Delta, Model, ModelError, ModelErrorKind, Request};
use crate::sync::lock;
use tool_run::tool::Fingerprint;
use tool_schema::feedback::excerpt;

/// A model that records its requests and answers into a file of JSON lines for a [`ReplayModel`].
///
/// The first line has the version and the model's name. Each other line is a turn: the request, the deltas, and the ending. Of
/// a tool on offer, the line has only the name and the fingerprint. Keys, headers and parameters marked `#[arg(secret)]` are
/// not recorded, because no model sees them. A secret in a message of a person or a tool is recorded, unless
/// [`RecordingModel::hide`] names it.
pub struct RecordingModel<M> {
    model: M,
    file: Arc<Mutex<File>>,
    hidden: Vec<String>,
}

impl<M: Model> RecordingModel<M> {
    /// Records the traffic of `model` into a new file, which replaces an existing one. Fails when the file cannot be written.
    pub fn create(model: M, path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref();
        let file = OpenOptions::new().write(true).create(true).truncate(true).open(path);
        let mut file = file.map_err(|error| about(path, &error))?;
        let header = Header { recording: VERSION, model: model.name().to_owned() };
        writeln!(file, "{}", serde_json::to_string(&header)?)?;
        Ok(Self { model, file: Arc::new(Mutex::new(file)), hidden: Vec::new() })
    }

    /// Writes `[hidden]` in place of `secret` within a single message, argument or delta.
    pub fn hide(mut self, secret: impl Into<String>) -> Self {
        self.hidden.push(secret.into());
        self
    }
}

/// Returns the recording at `path`. If there is none yet, returns `live`, whose traffic is recorded there. Remove the file to
/// record anew.
///
/// Fails when the file cannot be created, or is not a recording of this version.
pub fn record_or_replay<M: Model + 'static>(
    path: impl AsRef<Path>,
    live: impl FnOnce() -> M,
) -> io::Result<Box<dyn Model>> {
    let path = path.as_ref();
    Ok(if path.exists() { Box::new(ReplayModel::open(path)?) } else { Box::new(RecordingModel::create(live(), path)?) })
}

impl<M: Model> Model for RecordingModel<M> {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn takes(&self, part: &Part) -> bool {
        self.model.takes(part)
    }

    fn feedback_format(&self) -> FeedbackFormat {
        self.model.feedback_format()
    }

    fn stream<'a>(&'a self, request: Request<'a>) -> BoxStream<'a, Result<Delta, ModelError>> {
        let begin = async move {
            let turn = Turn { request: request_json(request), deltas: Vec::new(), ending: Ending::Dropped };
            let mut taking = Taking { turn, file: Arc::clone(&self.file), hidden: self.hidden.clone() };
            let all = self.model.stream(request).map(Some).chain(stream::iter([None]));
            all.filter_map(move |delta| {
                taking.take(delta.as_ref());
                std::future::ready(delta)
            })
        };
        stream::once(begin).flatten().boxed()
    }
}

impl<M: Model> fmt::Debug for RecordingModel<M> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("RecordingModel").field("model", &self.model.name()).finish_non_exhaustive()
    }
}

/// A turn in progress. It is written when it is over, in whatever way it ends.
struct Taking {
    turn: Turn,
    file: Arc<Mutex<File>>,
    hidden: Vec<String>,
}

impl Taking {
    fn take(&mut self, delta: Option<&Result<Delta, ModelError>>) {
        match delta {
            Some(Ok(delta)) => {
                self.turn.deltas.push(delta.clone());
                if matches!(delta, Delta::Finish(_)) {
                    self.turn.ending = Ending::Finished;
                }
            }
            Some(Err(error)) => self.turn.ending = Ending::Failed(error.into()),
            None if self.turn.ending == Ending::Dropped => self.turn.ending = Ending::CutOff,
            None => {}
        }
    }
}

impl Drop for Taking {
    fn drop(&mut self) {
        let Ok(line) = serde_json::to_string(&self.turn) else { return };
        let line = redact(line, &self.hidden);
        let mut file = lock(&self.file);
        // An incomplete recording fails when it is replayed; the recorded run must not fail because of it.
        let _ = writeln!(file, "{line}");
    }
}

/// A model that replays the recording of a [`RecordingModel`]. The same request gets the same deltas, and each turn is used once.
///
/// A request that was not recorded fails the turn. The error shows how it differs from the next recorded one.
///
/// ```
/// use tool_runtime::{Agent, model::{ScriptedModel, Turn}, test::{RecordingModel, ReplayModel}};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// # let path = std::env::temp_dir().join(format!("tool-recording-{}.jsonl", std::process::id()));
/// let live = ScriptedModel::new([Turn::say("Good morning.")]); // or a model over HTTP
/// Agent::new(RecordingModel::create(live, &path)?).run("Hello.").await?;
///
/// let replayed = Agent::new(ReplayModel::open(&path)?);
/// assert_eq!(replayed.run("Hello.").await?.text, "Good morning.");
/// let error = Agent::new(ReplayModel::open(&path)?).run("Hullo.").await.unwrap_err();
/// assert!(error.to_string().contains(r#"messages[0].content[0].text: recorded "Hello.", asked "Hullo.""#), "{error}");
/// # std::fs::remove_file(path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
#[derive(Debug)]
pub struct ReplayModel {
    model: String,
    turns: Mutex<Vec<(usize, Turn)>>,
    hidden: Vec<String>,
}

impl ReplayModel {
    /// Opens a recording.
    ///
    /// Fails when it cannot be read, is not a recording, or has another version.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref();
        let text = fs::read_to_string(path).map_err(|error| about(path, &error))?;
        Self::read(&text).map_err(|error| about(path, &error))
    }

    /// Reads a recording from the text of a file, such as one from `include_str!`. Fails as [`open`](Self::open) does.
    pub fn read(text: &str) -> io::Result<Self> {
        let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let wrong =
            |line: usize, what: String| io::Error::new(io::ErrorKind::InvalidData, format!("line {line}: {what}"));
        let (_, first) =
            lines.next().ok_or_else(|| wrong(1, "it is empty; a recording begins with its version".into()))?;
        let header: Header =
            serde_json::from_str(first).map_err(|error| wrong(1, format!("this is not a recording: {error}")))?;
        if header.recording != VERSION {
            let found = header.recording;
            return Err(wrong(1, format!("a recording of version {found}; this program reads version {VERSION}")));
        }
        let turn = |(at, line): (usize, &str)| {
            let turn = serde_json::from_str(line).map_err(|error| wrong(at + 1, error.to_string()))?;
            Ok((at + 1, turn))
        };
        let turns = lines.map(turn).collect::<io::Result<_>>()?;
        Ok(Self { model: header.model, turns: Mutex::new(turns), hidden: Vec::new() })
    }

    /// Writes `[hidden]` in place of `secret` in requests, as in the recording.
    pub fn hide(mut self, secret: impl Into<String>) -> Self {
        self.hidden.push(secret.into());
        self
    }

    /// Returns the number of turns that were not requested yet.
    pub fn left(&self) -> usize {
        lock(&self.turns).len()
    }

    fn take(&self, asked: &Value) -> Result<Turn, ModelError> {
        let mut turns = lock(&self.turns);
        if let Some(at) = turns.iter().position(|(_, turn)| turn.request == *asked) {
            return Ok(turns.remove(at).1);
        }
        let message = match turns.first() {
            None => "the recording has no turn left for this request".to_owned(),
            Some((line, next)) => {
                let difference = difference(&next.request, asked);
                format!("this request was not recorded; the next one that was (line {line}) differs:\n{difference}")
            }
        };
        Err(ModelError::new(ModelErrorKind::Script, message))
    }
}

impl Model for ReplayModel {
    fn name(&self) -> &str {
        &self.model
    }

    fn stream<'a>(&'a self, request: Request<'a>) -> BoxStream<'a, Result<Delta, ModelError>> {
        let begin = async move {
            let asked = redact(request_json(request).to_string(), &self.hidden);
            let asked = serde_json::from_str(&asked).unwrap_or_default();
            let turn = match self.take(&asked) {
                Ok(turn) => turn,
                Err(error) => return stream::iter([Err(error)]).boxed(),
            };
            let deltas = stream::iter(turn.deltas).map(Ok);
            match turn.ending {
                Ending::Finished | Ending::CutOff => deltas.boxed(),
                Ending::Failed(failed) => deltas.chain(stream::iter([Err(failed.into())])).boxed(),
                // In the recorded run, the reader did not wait for more either.
                Ending::Dropped => deltas.chain(stream::pending()).boxed(),
            }
        };
        stream::once(begin).flatten().boxed()
    }
}

/// The version of recordings that this crate writes and reads.
const VERSION: u32 = 1;

#[derive(Debug, Serialize, Deserialize)]
struct Header {
    recording: u32,
    model: String,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Turn {
    request: Value,
    deltas: Vec<Delta>,
    ending: Ending,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Ending {
    Finished,
    Failed(Failed),
    /// The stream ended before the model had finished.
    CutOff,
    /// The reader dropped the rest.
    Dropped,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Failed {
    kind: ModelErrorKind,
    message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    retry_after: Option<Duration>,
}

impl From<&ModelError> for Failed {
    fn from(error: &ModelError) -> Self {
        Self { kind: error.kind(), message: error.to_string(), retry_after: error.retry_after() }
    }
}

impl From<Failed> for ModelError {
    fn from(failed: Failed) -> Self {
        Self::new(failed.kind, failed.message).with_retry_after(failed.retry_after)
    }
}

/// Returns a request as JSON, with the fingerprint of each tool in place of its definition.
fn request_json(request: Request<'_>) -> Value {
    let tools = request.tools.specs().iter().map(|spec| (spec.name.clone(), json!(Fingerprint::with_texts(spec))));
    json!({
        "messages": request.messages,
        "tools": tools.collect::<Map<_, _>>(),
        "tool_choice": request.tool_choice,
        "settings": request.settings,
    })
}

/// Returns a line with secrets replaced: in texts, and in the texts of arguments, which JSON escapes twice.
fn redact(mut line: String, hidden: &[String]) -> String {
    for secret in hidden.iter().filter(|secret| !secret.is_empty()) {
        let once = escape_json(secret);
        let twice = escape_json(&once);
        line = line.replace(&twice, "[hidden]").replace(&once, "[hidden]");
    }
    line
}

/// Returns a text as it appears between the quotes of JSON.
fn escape_json(text: &str) -> String {
    let json = Value::from(text).to_string();
    json[1..json.len() - 1].to_owned()
}

fn about(path: &Path, error: &dyn std::fmt::Display) -> io::Error {
    io::Error::other(format!("{}: {error}", path.display()))
}

/// The maximum number of differences that an error lists.
const MAX_DIFFERENCES: usize = 5;

/// The maximum number of characters of a value that an error shows.
const MAX_SHOWN_CHARACTERS: usize = 200;

/// Returns where `asked` differs from `recorded`, a line for each place.
fn difference(recorded: &Value, asked: &Value) -> String {
    let mut found = Vec::new();
    compare("", recorded, asked, &mut found);
    let more = found.len().saturating_sub(MAX_DIFFERENCES);
    found.truncate(MAX_DIFFERENCES);
    if more > 0 {
        found.push(format!("  and {more} more"));
    }
    found.join("\n")
}

fn compare(path: &str, recorded: &Value, asked: &Value, found: &mut Vec<String>) {
    match (recorded, asked) {
        (Value::Object(before), Value::Object(now)) => {
            for name in before.keys().chain(now.keys().filter(|name| !before.contains_key(*name))) {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                compare_or(&path, before.get(name), now.get(name), found);
            }
        }
        (Value::Array(before), Value::Array(now)) => {
            for at in 0..before.len().max(now.len()) {
                compare_or(&format!("{path}[{at}]"), before.get(at), now.get(at), found);
            }
        }
        _ if recorded == asked => {}
        _ => found.push(format!(
            "  {path}: recorded {}, asked {}",
            differing_part(recorded, asked),
            differing_part(asked, recorded)
        )),
    }
}

fn compare_or(path: &str, recorded: Option<&Value>, asked: Option<&Value>, found: &mut Vec<String>) {
    match (recorded, asked) {
        (Some(recorded), Some(asked)) => compare(path, recorded, asked, found),
        (Some(recorded), None) => found.push(format!("  {path}: recorded {}, not asked", short(recorded))),
        (None, Some(asked)) => found.push(format!("  {path}: not recorded, asked {}", short(asked))),
        (None, None) => {}
    }
}

fn short(value: &Value) -> String {
    excerpt(&value.to_string(), MAX_SHOWN_CHARACTERS)
}

/// Returns a value for an error. Of a long text, it is the part where it begins to differ from `other`.
fn differing_part(value: &Value, other: &Value) -> String {
    let (Some(text), Some(other)) = (value.as_str(), other.as_str()) else { return short(value) };
    let same = text.chars().zip(other.chars()).take_while(|(one, two)| one == two).count();
    if text.chars().count() <= MAX_SHOWN_CHARACTERS || same < MAX_SHOWN_CHARACTERS / 2 {
        return short(value);
    }
    let from: String = text.chars().skip(same - MAX_SHOWN_CHARACTERS / 4).collect();
    format!("…{}", short(&Value::from(from)))
}
