//! A run as data: a pure state machine, whose log is all there is to it.
//!
//! [`step`] says what follows from an [`Event`]: what goes into the log, and what is to be done. A driver appends to the
//! log first, and only then does it. [`Run::fold`] makes the run of its log again, in this process or in another.
//! Nothing here knows a clock, chance or a thread: times arrive with the events, and ids are counted.
//!
//! [`Agent`](crate::Agent) is such a driver. What is public here is for those who write another, show what waits, or keep
//! runs somewhere.

mod call;
mod event;
mod fold;
mod grant;
mod held;
mod id;
mod inside;
mod inspection;
mod inspector;
mod log;
mod obligation;
mod options;
mod past;
mod phase;
mod place;
mod prompt;
mod reading;
pub mod record;
mod refusal;
mod result;
mod said;
#[cfg(test)]
mod search;
mod shown;
mod snapshot;
mod spent;
mod state;
mod step;

pub use call::{Call, CallState, Stage, ToolRef};
pub use event::{Effect, Event};
pub use grant::{Grant, GrantedBy};
pub use id::{CallId, Minted, NoObligation, ObligationId, Principal, RunId, Time};
pub use inspection::{Inspection, Ruling};
pub use inspector::Inspector;
pub use log::{Corrupt, LogEvent};
pub use obligation::{Allowance, Decision, DecisionFor, Obligation, ObligationKind, Pattern};
pub use options::{Execution, Limits, OnDeny, OnPrompt, OnTaint, RunOptions};
pub use past::{Answered, ArgsRev, Author, StepRecord};
pub use phase::{Phase, StopReason, TurnUsage};
pub use prompt::Prompt;
#[cfg(feature = "agent")]
pub(crate) use reading::{Asking, Read, Reading};
pub use record::RecordError;
pub use refusal::Refusal;
pub use result::{CallResult, InterruptedBy, SupersededBy};
pub use said::{Said, TurnPart};
pub use shown::Shown;
pub use spent::Spent;
pub use state::Run;
#[cfg(feature = "agent")]
pub(crate) use step::step_into;
pub use step::{pending, step};

pub use crate::digest::Digest;
pub use crate::tool::{Question, journal::Answer};
