//! The types that a log uses about a tool: its definition, output, failures, questions and resources.

pub(crate) mod error;
mod output;
mod question;
pub(crate) mod spec;

pub use error::{CallError, Failure, ToolError};
pub use output::Output;
pub use question::{Question, QuestionAnswer};
pub use spec::{Approval, Effect, Fingerprint, Identity, Permission, ToolOptions, ToolSpec, TouchedResources, Ui};
