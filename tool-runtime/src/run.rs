//! A run as data, from [`tool_run`]: a pure state machine, whose whole state follows from its log.
//!
//! [`Agent`](crate::Agent) drives it. This module has the types with which an application reads a run, decides about its calls
//! and sets its options. To write another driver, use the state machine, its log and its records in [`tool_run::run`].

#[doc(no_inline)]
pub use tool_run::run::{AbortCause, CallOrder, Decision, Grant, GrantedBy, SupersededBy};
pub use tool_run::run::{
    ArgumentPattern, Call, CallId, CallResult, Extent, Interrupt, InterruptId, InterruptKind, Limits, OnDeny, OnPrompt,
    OnTaint, Phase, Principal, Prompt, Refusal, Run, RunId, RunOptions, StopReason, Timestamp,
};

use crate::tool::Tool;

/// A decision about a call of the tool `T`, with types: an edit carries the tool's input, and a response its output.
///
/// ```
/// # #[cfg(feature = "derive")] {
/// use serde::{Deserialize, Serialize};
/// use tool_runtime::{Context, Execute, Failure, run::{Decision, DecisionFor}, tool};
///
/// /// Deletes a file.
/// #[tool(approval = always)]
/// #[derive(Serialize)]
/// struct Delete {
///     /// The file.
///     path: String,
/// }
///
/// impl Execute for Delete {
///     type Output = bool;
///     type Error = Failure;
///
///     async fn execute(self, _cx: &Context) -> Result<bool, Failure> {
///         Ok(std::fs::remove_file(self.path).is_ok())
///     }
/// }
///
/// let instead: DecisionFor<Delete> = Decision::Edit { arguments: Delete { path: "other".into() } };
/// assert_eq!(instead.erase().unwrap(), Decision::Edit { arguments: serde_json::json!({ "path": "other" }) });
/// # }
/// ```
pub type DecisionFor<T> = Decision<<T as Tool>::Input, <T as Tool>::Output>;
