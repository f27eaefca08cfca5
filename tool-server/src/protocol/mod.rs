//! Pure mappings between what happens in a run ([`Event`]) and what frontends speak.
//!
//! A mapping owns no clock, no socket and no run: events and times arrive from outside, bytes are written into a `Vec<u8>`.

pub mod ag_ui;
mod members;
pub mod ui_stream;
mod whole;

use std::time::Duration;

use tool_runtime::agent::{AgentError, Event};
use tool_runtime::run::Digest;
use tool_runtime::run::{Obligation, Run, RunId};

/// The id under which a client is asked. It names the obligation, and is good for this one only: an answer to it that is
/// moved to another chat, or to the same call asked anew, names nothing.
pub fn approval_id(run: &RunId, open: &Obligation) -> String {
    let bound = format!("{run}\n{}\n{}\n{}", open.id, open.since.0, open.shown.digest());
    let digest = Digest::of(bound.as_bytes()).to_string();
    format!("{}-{}", open.id, digest.get(..16).unwrap_or(&digest))
}

/// One answer to a frontend: turns what happens in a run into bytes.
///
/// Times are since the answer began.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not write what a frontend reads",
    label = "`Wire` is not implemented",
    note = "`UiStream` and AG-UI's `Writer` do; implement `Wire` for another protocol"
)]
pub trait Wire: Send {
    /// What is sent before anything happens.
    fn begin(&mut self, out: &mut Vec<u8>);

    /// What is sent because of `event`. Some of it may be held back, to be sent together with more.
    fn event(&mut self, event: Event<'_>, now: Duration, out: &mut Vec<u8>);

    /// When what is held back is to be sent, if anything is.
    fn due(&self) -> Option<Duration> {
        None
    }

    /// Sends what is held back too long.
    fn flush(&mut self, now: Duration, out: &mut Vec<u8>) {
        let _ = (now, out);
    }

    /// What is sent last. Nothing comes after it.
    fn end(&mut self, end: End<'_>, out: &mut Vec<u8>);
}

/// How an answer ended.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct End<'a> {
    /// The run as it was left; `None` where nobody knows, because its driver failed.
    pub run: Option<&'a Run>,
    /// Why it could not go on.
    pub failure: Option<&'a AgentError>,
    /// The run, sealed, where the frontend keeps it and not the server; empty where it is too large for that, so that the
    /// frontend forgets the one that it has.
    pub sealed: Option<&'a str>,
}

impl<'a> End<'a> {
    /// The end of an answer whose run was left like this.
    pub fn new(run: Option<&'a Run>, failure: Option<&'a AgentError>) -> Self {
        Self { run, failure, sealed: None }
    }

    /// The same, with the sealed run.
    pub fn with_sealed(mut self, sealed: Option<&'a str>) -> Self {
        self.sealed = sealed;
        self
    }
}
