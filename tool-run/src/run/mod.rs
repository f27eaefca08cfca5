//! A run as data: a pure state machine, whose log is all there is to it.
//!
//! [`step`] says what follows from an [`StepEvent`]: what goes into the log, and what is to be done. A driver appends to the
//! log first, and only then does it. [`Run::fold`] makes the run of its log again, in this process or in another.
//! Nothing here knows a clock, chance or a thread: times arrive with the events, and ids are counted.
//!
//! An agent is such a driver. What is public here is for those who write another, show what waits, or keep runs somewhere.

mod call;
mod event;
mod fold;
mod id;
mod interrupt;
pub(crate) mod judge;
mod log;
mod state;
mod step;

pub use call::{
    Answered, ArgumentRevision, Author, Call, CallResult, CallState, InterruptedBy, Stage, StepResult, SupersededBy,
    ToolRef,
};
pub use event::{Action, Prompt, Refusal, Said, StepEvent, TurnPart};
pub use id::{CallId, InterruptId, NoInterrupt, Principal, RunId, Time};
pub use interrupt::{Allowance, Decision, Interrupt, InterruptKind, Pattern, Shown};
pub use judge::{CheckedCall, CheckedDecision, Grant, GrantedBy};
pub use log::{Corrupt, LogEvent};
#[doc(no_inline)]
pub use record::RecordError;
pub use state::{
    Execution, Limits, NestedUsage, OnDeny, OnPrompt, OnTaint, Phase, Run, RunOptions, StopReason, TurnUsage,
};
pub use step::{pending, step, step_into};

pub use crate::tool::spec::Digest;
pub use crate::tool::{Question, QuestionAnswer};

/// Returns whether a field has its default, and is not stored.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

pub mod record {
    //! Log entries as text, with the version that wrote them.

    pub use super::log::{RECORD_VERSION, RecordError, decode, encode};
}
