//! Recorded turns, given again.

use std::{
    fs, io,
    path::Path,
    sync::{Mutex, MutexGuard, PoisonError},
};

use futures_util::stream::{self, BoxStream, StreamExt};
use serde_json::Value;

use super::{
    difference::difference,
    form::{self, Ending, Header, Turn, VERSION},
};
use crate::model::{Delta, Model, ModelError, ModelErrorKind, Request};

/// A model that answers as it was recorded by a [`Recorder`](super::Recorder): to the same request, the same deltas, each
/// turn once.
///
/// A request that was not recorded fails the turn, and tells how it differs from the next one that was.
///
/// ```
/// use tool_runtime::{Agent, model::{ScriptedModel, Turn}, test::{Recorder, Replayer}};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// # let path = std::env::temp_dir().join(format!("tool-recording-{}.jsonl", std::process::id()));
/// let live = ScriptedModel::new([Turn::say("Good morning.")]); // or a model over HTTP
/// Agent::new(Recorder::create(live, &path)?).run("Hello.").await?;
///
/// let replayed = Agent::new(Replayer::open(&path)?);
/// assert_eq!(replayed.run("Hello.").await?.text, "Good morning.");
/// let error = Agent::new(Replayer::open(&path)?).run("Hullo.").await.unwrap_err();
/// assert!(error.to_string().contains(r#"messages[0].content[0].text: recorded "Hello.", asked "Hullo.""#), "{error}");
/// # std::fs::remove_file(path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).unwrap();
/// ```
#[derive(Debug)]
pub struct Replayer {
    model: String,
    turns: Mutex<Vec<(usize, Turn)>>,
    hidden: Vec<String>,
}

impl Replayer {
    /// Reads a recording.
    ///
    /// Fails when it cannot be read, or is none, or is of another version.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref();
        let text = fs::read_to_string(path).map_err(|error| form::about(path, &error))?;
        Self::read(&text).map_err(|error| form::about(path, &error))
    }

    /// The same from the text of a file, such as one that is compiled in (`include_str!`).
    pub fn read(text: &str) -> io::Result<Self> {
        let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let wrong =
            |line: usize, what: String| io::Error::new(io::ErrorKind::InvalidData, format!("line {line}: {what}"));
        let (_, first) =
            lines.next().ok_or_else(|| wrong(1, "it is empty; a recording begins with its version".into()))?;
        let header: Header =
            serde_json::from_str(first).map_err(|error| wrong(1, format!("no recording begins like this: {error}")))?;
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

    /// Hides what was hidden when it was recorded.
    pub fn hide(mut self, secret: impl Into<String>) -> Self {
        self.hidden.push(secret.into());
        self
    }

    /// How many turns were not asked for yet.
    pub fn left(&self) -> usize {
        self.lock().len()
    }

    fn take(&self, asked: &Value) -> Result<Turn, ModelError> {
        let mut turns = self.lock();
        if let Some(at) = turns.iter().position(|(_, turn)| turn.request == *asked) {
            return Ok(turns.remove(at).1);
        }
        let message = match turns.first() {
            None => "the recording holds no answer to this request: every turn of it was given".to_owned(),
            Some((line, next)) => {
                let difference = difference(&next.request, asked);
                format!("this request was not recorded; the next one that was (line {line}) differs:\n{difference}")
            }
        };
        Err(ModelError::new(ModelErrorKind::Script, message))
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(usize, Turn)>> {
        self.turns.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Model for Replayer {
    fn name(&self) -> &str {
        &self.model
    }

    fn stream<'a>(&'a self, request: Request<'a>) -> BoxStream<'a, Result<Delta, ModelError>> {
        let begin = async move {
            let asked = form::hide(form::request(request).to_string(), &self.hidden);
            let asked = serde_json::from_str(&asked).unwrap_or_default();
            let turn = match self.take(&asked) {
                Ok(turn) => turn,
                Err(error) => return stream::iter([Err(error)]).boxed(),
            };
            let said = stream::iter(turn.deltas).map(Ok);
            match turn.ending {
                Ending::Finished | Ending::CutOff => said.boxed(),
                Ending::Failed(failed) => said.chain(stream::iter([Err(failed.into())])).boxed(),
                // Nobody waited for more when it was recorded either.
                Ending::Dropped => said.chain(stream::pending()).boxed(),
            }
        };
        stream::once(begin).flatten().boxed()
    }
}
