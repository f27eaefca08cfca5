//! Feedback on a call's arguments, for a model, a person or a form.

mod answer;
mod call_form;
mod for_model;
mod rejection;
mod report;
pub mod suggest;
mod syntax_error;
mod text;

pub use answer::{Answer, Body, KeyCollision, RejectedAnswer, Success};
pub use for_model::{FeedbackFormat, REJECTED, resembles_rejection};
pub use rejection::{Problem, ProblemKind, Rejection};
pub use report::{Choices, Reasons, Report};
#[doc(hidden)]
pub use report::{CompactReport, Reports};
pub use syntax_error::explain_syntax_error;
pub use text::{describe_error, escape, excerpt, one_line, quote_name, quote_names, summarize, truncate_name, visible};
pub(crate) use text::{join, quote_whole_name, write_whole};

/// A text for a model's instructions (the system prompt): how to fill in the arguments of tools, and what to do after a rejection.
///
/// A model can work without it, because a rejection says what to do. It is for tools with dynamic parameters, which help while a call is
/// put together. Add it once for all tools.
///
/// ```
/// use tool_schema::feedback::MODEL_INSTRUCTIONS;
///
/// let instructions = format!("You book flights.\n\n{MODEL_INSTRUCTIONS}");
/// assert!(instructions.contains("call the tool again"));
/// ```
pub const MODEL_INSTRUCTIONS: &str = "\
Call a tool as soon as you know anything, even if parameters are missing. Leave out what you do not know; never make up a value. \
If a call is rejected, nothing was done: correct it as the answer says and call the tool again without asking. \
Ask the person only for what neither they nor the tool has told you.";
