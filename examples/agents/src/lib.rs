//! Agents of the examples that run without a person, and the model that the examples use. They are a crate of their own, so
//! that recorded cases can run on their tools.

pub mod censorship;
pub mod consensus;
mod conversation;
pub mod middleware;
pub mod model;
