//! A run as data: a pure state machine whose state follows from its log.
//!
//! [`advance`] computes the consequences of a [`LogInput`]: entries for the log, and actions for the driver. The driver appends
//! the entries to the log first, and only then takes the actions. [`Run::fold`] rebuilds the run from its log, in any process.
//! The state machine uses no clock, no random numbers and no threads: times arrive with the inputs, and ids are counted.
//!
//! An agent is such a driver. The public items of this module are for code that implements another driver, shows waiting
//! calls, or stores runs.

mod advance;
mod begin;
mod branch;
mod call;
mod cut_turn;
mod fold;
mod history;
mod id;
mod inner_usage;
mod input;
mod interrupt;
pub(crate) mod judge;
mod log;
mod messages;
mod state;

pub use advance::{AdvanceOptions, InputError, advance, advance_within, pending_actions};
#[doc(hidden)]
pub use call::with_readings;
pub use call::{
    AbortCause, AnsweredQuestion, ArgumentRevision, Author, Call, CallResult, CallState, DurableStep, Extent, Stage,
    SupersededBy, ToolRef,
};
pub use id::{CallId, InterruptId, ParseInterruptIdError, Principal, RunId, Timestamp};
pub use inner_usage::{InnerUsage, ModelUsage, USAGE_STEP};
pub use input::{Action, Handover, LogInput, Prompt, PromptPosition, Refusal, Summary, TurnPart, WantedAnswer};
pub use interrupt::{ArgumentPattern, CallView, Decision, Interrupt, InterruptKind, RunApproval};
pub use judge::{CheckedCall, CheckedDecision, Grant, GrantedBy};
pub use log::{CorruptLog, LogEntry};
#[doc(hidden)]
pub use messages::size as size_of;
#[doc(no_inline)]
pub use record::RecordError;
pub use state::{
    CallOrder, LimitLeft, Limits, OnDeny, OnPrompt, OnTaint, Phase, RemainingLimits, Run, RunOptions, SharedLimits,
    StopReason, TurnUsage,
};

pub use crate::tool::fingerprint::Digest;
pub use crate::tool::{Question, QuestionAnswer};

/// Returns whether a field has its default value, and need not be stored.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

pub mod record {
    //! Log entries as text, with the version that wrote them.

    pub use super::log::{RECORD_VERSION, RecordError, decode, encode};
}
