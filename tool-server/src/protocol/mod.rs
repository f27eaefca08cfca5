//! Pure mappings between a run's events ([`Event`]) and the protocols of frontends.
//!
//! A mapping owns no clock, no socket and no run. It receives events and times from its caller, and writes bytes into a
//! `Vec<u8>`.

#[cfg(feature = "ag-ui")]
pub mod ag_ui;
pub mod ai_sdk;
mod coalesce;
mod json_object;
mod media;
mod unread;
mod visibility;

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use serde::Deserialize as _;
use tool_run::run::{Digest, PromptPosition};
use tool_runtime::agent::{AgentError, Event};
use tool_runtime::message::{AssistantPart, Message};
use tool_runtime::run::{Call, CallId, Decision, Interrupt, InterruptId, Principal, Run, RunId};
use tool_runtime::store::StoreError;
use tool_schema::feedback::visible;

pub use visibility::Visibility;
pub(crate) use visibility::VisibilityRule;

/// Returns the id by which clients know an interrupt. It is bound to the run, to the time of the question and to the shown
/// call. In another chat, or after the run asks about the call again, the id matches nothing.
pub fn approval_id(run: &RunId, open: &Interrupt) -> String {
    let bound = format!("{run}\n{}\n{}\n{}", open.id, open.opened_at.0, open.shown.digest());
    let digest = Digest::of(bound.as_bytes()).to_string();
    format!("{}-{}", open.id, digest.get(..16).unwrap_or(&digest))
}

/// Returns the call that the request `approval` was about, if that request is closed. An answer to it came too late.
pub(crate) fn settled_call<'a>(run: &'a Run, approval: &str) -> Option<&'a Call> {
    let id: InterruptId = approval.rsplit_once('-')?.0.parse().ok()?;
    let call = run.call(id.call())?;
    let is_closed = run.interrupt(&id).is_none() && call.interrupt_ids().any(|known| known == id);
    is_closed.then_some(call)
}

/// Returns the messages of `run` after the turn with the call `id`, if they belong to the same answer: no prompt came later.
pub(crate) fn rest_of_answer(run: &Run, id: &CallId) -> Option<Range<usize>> {
    let has_call = |message: &Message| {
        matches!(message, Message::Assistant { content }
            if content.iter().any(|part| matches!(part, AssistantPart::Call(call) if call.id == id.as_str())))
    };
    let at = run.messages().iter().rposition(has_call)?;
    let is_later =
        |prompt: &PromptPosition| !prompt.steers && usize::try_from(prompt.at).is_ok_and(|prompt| prompt > at);
    (!run.prompts().iter().any(is_later)).then(|| at + 1..run.messages().len())
}

/// Returns the text that says whom a call waits for.
pub(crate) fn waits_for(deciders: &[Principal]) -> String {
    let names: Vec<_> = deciders.iter().map(|decider| visible(decider.as_str())).collect();
    format!("{} has to decide", names.join(" or "))
}

/// Returns the text about an answer that a guard or a check called `by` blocked. The reason is the application's, for its users.
pub(crate) fn blocked(by: &str, reason: &str) -> String {
    format!("{} blocked the answer: {}", visible(by), visible(reason))
}

/// The answer to a decision about a call that others decide about.
pub(crate) const NOT_YOURS: &str = "your answer does not count";

/// Returns the code and the text of an error of the store that the client can do something about; `None` for any other error.
pub(crate) fn store_failure(error: &StoreError) -> Option<(&'static str, &'static str)> {
    Some(match error {
        StoreError::Full { of_owner: true } => {
            ("chats_full", "your chats take up all the room that you have; delete one of them, and try again")
        }
        StoreError::Full { of_owner: false } => {
            ("store_full", "the server has no room for more; delete a chat that you no longer need, or try again later")
        }
        StoreError::Ended(_) => ("ended", "an operator has ended this chat; begin a new one"),
        StoreError::TooLarge { .. } => ("too_large", "the store of this chat cannot take so much at once; send less"),
        _ => return None,
    })
}

/// Returns the id of a person's message: the client's own, or one made of its position in the conversation.
pub(crate) fn prompt_id(id: Option<&str>, at: usize) -> String {
    id.map_or_else(|| format!("prompt-{at}"), str::to_owned)
}

/// An encoder of one response to a frontend. It turns a run's events into the bytes of a protocol.
///
/// Times are durations since the response began.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an encoder of a protocol",
    label = "`Encoder` is not implemented",
    note = "`AiSdkEncoder` and `AgUiEncoder` are encoders; implement `Encoder` for another protocol"
)]
pub trait Encoder: Send {
    /// Writes the beginning of the response.
    fn begin(&mut self, out: &mut Vec<u8>);

    /// Writes `event`. The encoder may hold bytes back, to send them together with later ones.
    fn event(&mut self, event: Event<'_>, now: Duration, out: &mut Vec<u8>);

    /// Returns the time at which the bytes that are held back must be written, if there are any.
    fn due(&self) -> Option<Duration> {
        None
    }

    /// Writes the bytes that are due at `now`, and data of tools that are not events.
    fn flush(&mut self, now: Duration, out: &mut Vec<u8>) {
        let _ = (now, out);
    }

    /// Writes the end of the response, up to the frame of [`end_for`](Self::end_for). The caller sends no events after it.
    fn end(&mut self, end: End<'_>, out: &mut Vec<u8>);

    /// Writes the frames of [`begin`](Self::begin) for another request that also reads this response. They name the id
    /// `request`, or for `None` the request that began the response. By default, writes nothing: the frames of most protocols
    /// name no request.
    fn begin_for(&self, request: Option<&str>, out: &mut Vec<u8>) {
        let _ = (request, out);
    }

    /// Writes the state of the frontend as it was when the response began, for a client that does not have it. By default, writes
    /// nothing.
    fn write_state(&self, out: &mut Vec<u8>) {
        let _ = out;
    }

    /// Writes the last frame after [`end`](Self::end), if that frame names a request. It names `request`, or for `None` the
    /// request that began the response. By default, writes nothing.
    fn end_for(&self, request: Option<&str>, out: &mut Vec<u8>) {
        let _ = (request, out);
    }
}

/// The end of a response.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct End<'a> {
    /// The run in its last state; `None` if its driver failed, so that the state is unknown.
    pub run: Option<&'a Run>,
    /// The error that stopped the run.
    pub failure: Option<&'a AgentError>,
    /// The sealed run, if the frontend keeps runs. It is empty if the run is too large; then the frontend drops its earlier
    /// sealed run.
    pub sealed: Option<&'a str>,
}

impl<'a> End<'a> {
    /// Creates the end of a response from its run's last state, without a sealed run.
    pub fn new(run: Option<&'a Run>, failure: Option<&'a AgentError>) -> Self {
        Self { run, failure, sealed: None }
    }

    /// Adds the sealed run.
    pub fn with_sealed(mut self, sealed: Option<&'a str>) -> Self {
        self.sealed = sealed;
        self
    }
}

/// Messages of tools to a frontend that are not events of the run, with a function to call when a tool has added a message.
struct Outbox<T> {
    state: Mutex<T>,
    wake: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

impl<T> Outbox<T> {
    fn new(state: T) -> Self {
        Self { state: Mutex::new(state), wake: OnceLock::new() }
    }

    /// Sets the function to call when there is something to send. Only the first call has an effect.
    fn on_change(&self, wake: impl Fn() + Send + Sync + 'static) {
        let _ = self.wake.set(Box::new(wake));
    }

    fn lock(&self) -> MutexGuard<'_, T> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Releases the lock, and calls the function that reports the change.
    fn wake(&self, changed: MutexGuard<'_, T>) {
        drop(changed);
        if let Some(wake) = self.wake.get() {
            wake();
        }
    }
}

/// Reads a decision as JSON. Fails if it has a member that its kind does not have: arguments without `edit` would otherwise approve
/// others.
pub(crate) fn parse_decision(json: &serde_json::Value) -> Result<Decision, String> {
    let decision = Decision::deserialize(json).map_err(|error| error.to_string())?;
    let own = serde_json::to_value(&decision).unwrap_or_default();
    let unknown =
        json.as_object().into_iter().flatten().find(|(name, value)| own.get(name).is_none() && !value.is_null());
    match unknown {
        Some((name, _)) => Err(format!("the decision {} takes no `{name}`", own["decision"])),
        None => Ok(decision),
    }
}
