//! The types that a log uses about a tool: its definition, output, failures, questions and resources.

pub(crate) mod error;
pub(crate) mod fingerprint;
mod output;
mod question;
mod resources;
mod spec;

pub use crate::name::{is_valid_name, to_valid_name};
pub use error::{CallError, Failure, ToolError};
pub use fingerprint::{Fingerprint, KnownFingerprints};
pub use output::Output;
pub(crate) use question::UNDECIDED;
pub use question::{Need, Question, QuestionAnswer};
pub use resources::TouchedResources;
pub use spec::{Approval, Effect, Permission, ToolOptions, ToolSpec, Ui};
