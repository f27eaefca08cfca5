//! Many tools.

mod list;

pub use list::{ListFormat, ToolList};
