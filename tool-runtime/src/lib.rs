//! Declare tools for language models, and run them.

#![forbid(unsafe_code)]

pub mod feedback;
pub mod message;
pub mod model;
pub mod schema;
pub mod tool;
pub mod toolset;
