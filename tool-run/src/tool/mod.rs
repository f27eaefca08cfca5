//! Everything that the log names of a tool: its definition, output, failures, questions and resources.

mod answer;
mod failure;
mod fingerprint;
mod outcome;
mod output;
mod permission;
mod question;
mod spec;
mod touches;

pub use failure::{Failure, ToolError};
pub use fingerprint::{Fingerprint, Identity};
pub use outcome::CallError;
pub use output::Output;
pub use permission::Permission;
pub use question::{Answer, Question};
pub use spec::{Approval, Effect, ToolSpec, Traits, Ui};
pub use touches::Resources;
