//! What happens in a run, for whoever watches.

use crate::model::{FinishReason, Usage};
use crate::run::{Call, CallId, CallResult, Decision, Obligation, ObligationId, Phase, Principal};
use crate::tool::Progress;

/// Something that happened in a run. What changes the run is told after it is in the run's log.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// The model is asked.
    StepStarted {
        /// Which turn of the model since the prompt, from 1.
        step: usize,
    },
    /// The model said more.
    Text(&'a str),
    /// The model thought more.
    Reasoning(&'a str),
    /// The model begins a call; its arguments follow.
    CallAnnounced {
        /// The call's id.
        id: &'a CallId,
        /// The tool's name, as the model wrote it.
        name: &'a str,
    },
    /// More of a call's arguments.
    CallArguments {
        /// The call's id.
        id: &'a CallId,
        /// The next piece of text.
        text: &'a str,
    },
    /// The model's turn ended.
    StepFinished {
        /// Why.
        reason: &'a FinishReason,
        /// Tokens used by the turn.
        usage: Usage,
    },
    /// A call waits for somebody: for an approval, an answer, or whoever executes it.
    CallOpened {
        /// The call.
        call: &'a Call,
        /// What it waits for.
        obligation: &'a Obligation,
    },
    /// Somebody decided about a call.
    CallDecided {
        /// The call.
        call: &'a Call,
        /// About what.
        obligation: &'a ObligationId,
        /// What.
        decision: &'a Decision,
        /// Who.
        by: &'a Principal,
    },
    /// A call's arguments were accepted, it was approved if it had to be, and it runs now.
    CallStarted(&'a Call),
    /// A running call reports.
    CallProgress(&'a Progress),
    /// A call ended.
    CallFinished {
        /// The call.
        call: &'a Call,
        /// What came of it.
        result: &'a CallResult,
        /// What only the log is told about a failure.
        detail: Option<&'a str>,
    },
    /// The run finished, was stopped, or waits until somebody decides.
    RunPaused(&'a Phase),
}
