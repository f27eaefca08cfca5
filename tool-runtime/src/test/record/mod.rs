//! Model traffic, recorded once and replayed as often as needed.

mod difference;
mod form;
mod replay;

use std::{
    fmt,
    fs::{File, OpenOptions},
    io::{self, Write},
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use futures_util::stream::{self, BoxStream, StreamExt};

use crate::model::{Delta, Model, ModelError, Request};
use form::{Ending, Header, Turn};

pub use replay::Replayer;

/// A model that writes down what it is asked and what it answers: a file of JSON lines for a [`Replayer`].
///
/// The first line says which version it is, and each other is a turn: the request, the deltas, and how it ended. Of the tools
/// on offer there is the name and the fingerprint. Keys and headers are not in it, and neither are parameters marked
/// `#[arg(secret)]`: no model sees them. A secret that a person or a tool says is, unless [`Recorder::hide`] names it.
pub struct Recorder<M> {
    model: M,
    tape: Arc<Tape>,
    hidden: Vec<String>,
}

/// Where turns are written.
struct Tape {
    file: Mutex<File>,
}

impl<M: Model> Recorder<M> {
    /// Records what `model` does into a new file, in place of one that is there.
    pub fn create(model: M, path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref();
        let file = OpenOptions::new().write(true).create(true).truncate(true).open(path);
        let mut file = file.map_err(|error| form::about(path, &error))?;
        writeln!(file, "{}", serde_json::to_string(&Header::new(model.name()))?)?;
        Ok(Self { model, tape: Arc::new(Tape { file: Mutex::new(file) }), hidden: Vec::new() })
    }

    /// Writes `[hidden]` wherever `secret` is in one message, argument or delta.
    pub fn hide(mut self, secret: impl Into<String>) -> Self {
        self.hidden.push(secret.into());
        self
    }
}

/// `live` where there is no recording at `path` yet, and it is made; otherwise the recording. Remove the file to record anew.
///
/// Fails when the file cannot be made, or is no recording.
pub fn recorded<M: Model + 'static>(path: impl AsRef<Path>, live: impl FnOnce() -> M) -> io::Result<Box<dyn Model>> {
    let path = path.as_ref();
    Ok(if path.exists() { Box::new(Replayer::open(path)?) } else { Box::new(Recorder::create(live(), path)?) })
}

impl<M: Model> Model for Recorder<M> {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn stream<'a>(&'a self, request: Request<'a>) -> BoxStream<'a, Result<Delta, ModelError>> {
        let begin = async move {
            let mut taking = Taking {
                turn: Turn::new(form::request(request)),
                tape: Arc::clone(&self.tape),
                hidden: self.hidden.clone(),
            };
            let all = self.model.stream(request).map(Some).chain(stream::iter([None]));
            all.filter_map(move |delta| {
                taking.take(delta.as_ref());
                std::future::ready(delta)
            })
        };
        stream::once(begin).flatten().boxed()
    }
}

impl<M: Model> fmt::Debug for Recorder<M> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Recorder").field("model", &self.model.name()).finish_non_exhaustive()
    }
}

/// A turn that is under way. It is written when it is over, however that comes.
struct Taking {
    turn: Turn,
    tape: Arc<Tape>,
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
        let line = form::hide(line, &self.hidden);
        let mut file = self.tape.file.lock().unwrap_or_else(PoisonError::into_inner);
        // A recording that is not whole fails when it is replayed; the run that is recorded is not to blame.
        let _ = writeln!(file, "{line}");
    }
}
