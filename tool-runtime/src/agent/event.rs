//! What happens in a run, for whoever watches.

use crate::message::ToolCall;
use crate::model::{FinishReason, Usage};
use crate::tool::{CallError, Output, Progress};

/// Something that happened in a run.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// The model is asked.
    StepStarted {
        /// Which turn of the model in this run, from 1.
        step: usize,
    },
    /// The model said more.
    Text(&'a str),
    /// The model thought more.
    Reasoning(&'a str),
    /// The model begins a call; its arguments follow.
    CallAnnounced {
        /// The call's id.
        id: &'a str,
        /// The tool's name, as the model wrote it.
        name: &'a str,
    },
    /// More of a call's arguments.
    CallArguments {
        /// The call's id.
        id: &'a str,
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
    /// A call's arguments were accepted, it was approved if it had to be, and it runs now.
    CallStarted(&'a ToolCall),
    /// A running call reports.
    CallProgress(&'a Progress),
    /// A call ended.
    CallFinished {
        /// The call.
        call: &'a ToolCall,
        /// What came of it.
        result: &'a Result<Output, CallError>,
    },
}
