//! A run as data: a pure state machine, whose log is all there is to it.
//!
//! [`step`] says what follows from an [`Event`]: what goes into the log, and what is to be done. A driver appends to the
//! log first, and only then does it. [`Run::fold`] makes the run of its log again, in this process or in another.
//! Nothing here knows a clock, chance or a thread: times arrive with the events, and ids are counted.
//!
//! An agent is such a driver. What is public here is for those who write another, show what waits, or keep runs somewhere.

mod call;
mod event;
mod evidence;
mod fold;
mod id;
mod interrupt;
pub(crate) mod judge;
mod log;
mod options;
mod past;
mod phase;
mod prompt;
pub mod record;
mod refusal;
mod result;
mod shown;
mod snapshot;
mod state;
mod step;

pub use call::{Call, CallState, Stage, ToolRef};
pub use event::{Action, Event};
pub use evidence::{CheckedCall, CheckedDecision, Grant, GrantedBy};
pub use id::{CallId, InterruptId, IssuedIds, NoInterrupt, Principal, RunId, Time};
pub use interrupt::{Allowance, Decision, Interrupt, InterruptKind, Pattern, Verb};
pub use log::{Corrupt, LogEvent};
pub use options::{Execution, Limits, OnDeny, OnPrompt, OnTaint, RunOptions};
pub use past::{Answered, ArgumentRevision, Author, StepResult};
pub use phase::{NestedUsage, Phase, StopReason, TurnUsage};
pub use prompt::{Prompt, Said, TurnPart};
pub use record::RecordError;
pub use refusal::Refusal;
pub use result::{CallResult, InterruptedBy, SupersededBy};
pub use shown::Shown;
pub use state::Run;
pub use step::{pending, step, step_into};

pub use crate::digest::Digest;
pub use crate::tool::{Answer, Question};
