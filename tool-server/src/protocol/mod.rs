//! Pure mappings between a run's events ([`Event`]) and the protocols of frontends.
//!
//! A mapping owns no clock, no socket and no run: events and times arrive from outside, bytes are written into a `Vec<u8>`.

pub mod ag_ui;
mod held;
mod members;
pub mod ui_stream;

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use tool_run::run::Digest;
use tool_runtime::agent::{AgentError, Event};
use tool_runtime::run::{Interrupt, Run, RunId};

/// Returns the id under which a client is asked. It names this interrupt only: an answer that is moved to another chat, or
/// to the same call asked anew, names nothing.
pub fn approval_id(run: &RunId, open: &Interrupt) -> String {
    let bound = format!("{run}\n{}\n{}\n{}", open.id, open.since.0, open.shown.digest());
    let digest = Digest::of(bound.as_bytes()).to_string();
    format!("{}-{}", open.id, digest.get(..16).unwrap_or(&digest))
}

/// An encoder of one answer to a frontend: it turns a run's events into bytes.
///
/// Times are since the answer began.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not write what a frontend reads",
    label = "`Encoder` is not implemented",
    note = "`UiStream` and AG-UI's `Writer` do; implement `Encoder` for another protocol"
)]
pub trait Encoder: Send {
    /// Writes the beginning of the answer.
    fn begin(&mut self, out: &mut Vec<u8>);

    /// Writes `event`. Some bytes may be held back, to be sent together with more.
    fn event(&mut self, event: Event<'_>, now: Duration, out: &mut Vec<u8>);

    /// Returns when held bytes are to be sent, if there are any.
    fn due(&self) -> Option<Duration> {
        None
    }

    /// Writes bytes that were held back too long.
    fn flush(&mut self, now: Duration, out: &mut Vec<u8>) {
        let _ = (now, out);
    }

    /// Writes the end of the answer. Nothing comes after it.
    fn end(&mut self, end: End<'_>, out: &mut Vec<u8>);

    /// Writes the frames of [`begin`](Self::begin) for another request, called `request`, that reads this answer too. By
    /// default frames name no request.
    fn begin_for(&self, request: &str, out: &mut Vec<u8>) {
        let _ = (request, out);
    }

    /// Writes the last frame of [`end`](Self::end) again, if it names the request: for `request`, or as it was.
    fn end_for(&self, request: Option<&str>, out: &mut Vec<u8>) {
        let _ = (request, out);
    }
}

/// How an answer ended.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct End<'a> {
    /// The run as it was left; `None` where that is unknown, because its driver failed.
    pub run: Option<&'a Run>,
    /// Why it could not go on.
    pub failure: Option<&'a AgentError>,
    /// The sealed run, where the frontend keeps it and not the server. It is empty where the run is too large, so that the
    /// frontend forgets its earlier one.
    pub sealed: Option<&'a str>,
}

impl<'a> End<'a> {
    /// Returns the end of an answer whose run was left like this.
    pub fn new(run: Option<&'a Run>, failure: Option<&'a AgentError>) -> Self {
        Self { run, failure, sealed: None }
    }

    /// Adds the sealed run.
    pub fn with_sealed(mut self, sealed: Option<&'a str>) -> Self {
        self.sealed = sealed;
        self
    }
}

/// Messages of tools to a frontend beside the events of their run, and a function that is called when there is one.
struct Outbox<T> {
    state: Mutex<T>,
    wake: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

impl<T> Outbox<T> {
    fn new(state: T) -> Self {
        Self { state: Mutex::new(state), wake: OnceLock::new() }
    }

    /// Sets what is called when there is something to send. Only the first call has an effect.
    fn on_change(&self, wake: impl Fn() + Send + Sync + 'static) {
        let _ = self.wake.set(Box::new(wake));
    }

    fn lock(&self) -> MutexGuard<'_, T> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reports a change, which the woken reader reads.
    fn wake(&self, changed: MutexGuard<'_, T>) {
        drop(changed);
        if let Some(wake) = self.wake.get() {
            wake();
        }
    }
}
