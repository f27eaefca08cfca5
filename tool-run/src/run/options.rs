//! The limits of a run, and its behaviour where systems differ.

use serde::{Deserialize, Serialize};

use crate::json::is_deeper;

/// The limits of a run. A call over a limit gets a result that says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Limits {
    /// Turns of the model after one prompt, or after somebody lets a stopped run go on.
    pub steps: u32,
    /// Calls of one turn.
    pub calls_per_turn: u32,
    /// Calls that run side by side.
    pub in_flight: u32,
    /// Calls of the whole run.
    pub calls: u32,
    /// Calls that wait for somebody at one time.
    pub open: u32,
    /// Tries again of failed calls and of failed turns of the model, in the whole run.
    pub retries: u32,
    /// Tokens that the model may use after one prompt, or after somebody lets a stopped run go on, asked and answered
    /// together; `None` for any number. Looked at between turns, so the last turn may be over it.
    pub tokens: Option<u64>,
    /// Milliseconds that the run may work after one prompt, or after somebody lets it go on; `None` for any time. The time
    /// in which it waits for somebody is not counted. Whoever drives the run keeps it ([`Event::Stop`](super::Event::Stop)),
    /// and begins anew in another process.
    pub time: Option<u64>,
    /// Bytes of the arguments of one call.
    pub argument_bytes: usize,
    /// How deep arguments may be nested.
    pub depth: u32,
    /// Bytes of all messages; the run stops when it has more.
    pub bytes: u64,
    /// Recorded steps and answers of one call.
    pub records: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            steps: 32,
            calls_per_turn: 64,
            in_flight: 8,
            calls: 4096,
            open: 256,
            retries: 64,
            tokens: None,
            time: None,
            argument_bytes: 4 * 1024 * 1024,
            depth: 127,
            bytes: 256 * 1024 * 1024,
            records: 1024,
        }
    }
}

impl Limits {
    /// Returns which limit on the arguments of one call these are over.
    pub fn too_large(&self, arguments: &str) -> Option<String> {
        if arguments.len() > self.argument_bytes {
            return Some(format!("arguments have at most {} bytes", self.argument_bytes));
        }
        if is_deeper(arguments, self.depth) {
            return Some(format!("arguments are nested at most {} deep", self.depth));
        }
        None
    }
}

/// The limits of a run, and its behaviour where systems differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct RunOptions {
    /// The limits.
    pub limits: Limits,
    /// The treatment of a prompt while the run is busy or waits.
    pub on_prompt: OnPrompt,
    /// The treatment of a turn when a person denies one of its calls.
    pub on_deny: OnDeny,
    /// The order in which the calls of one turn run.
    pub execution: Execution,
    /// The consequence of untrusted text in the run.
    pub on_taint: OnTaint,
    /// After how many milliseconds an approval or a question that nobody answered ends; `None` for never.
    pub approval_expiry: Option<u64>,
    /// After how many milliseconds an external call that nobody answered ends; `None` for never.
    pub external_expiry: Option<u64>,
    /// How many milliseconds an approval that was given, and not used yet, is good for; `None` for ever.
    pub grant_expiry: Option<u64>,
}

/// The treatment of a prompt while the run is busy or waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnPrompt {
    /// It waits until the calls have ended.
    Block,
    /// It ends the calls; those that wait are superseded, those that run are cancelled.
    Supersede,
    /// It is refused.
    #[default]
    Refuse,
}

/// The treatment of a turn when a person denies one of its calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnDeny {
    /// The model is told, and goes on.
    #[default]
    Continue,
    /// Calls of the turn that have not started are superseded, and the run stops.
    StopTurn,
}

/// The order in which the calls of one turn run. Calls of tools declared `sequential` run alone in either case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Execution {
    /// Side by side, up to [`Limits::in_flight`].
    #[default]
    Parallel,
    /// One after the other, in the model's order.
    Sequential,
}

/// The consequence of untrusted text in the run: outputs of tools declared `untrusted` or `open_world`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnTaint {
    /// Nothing by itself. Policies see it.
    #[default]
    Ignore,
    /// Every call that is not read-only needs an approval from then on.
    Ask,
}
