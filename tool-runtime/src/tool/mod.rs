//! One tool.

mod spec;

pub use spec::{Approval, Effect, ToolSpec, Traits, Ui};
