//! Agents of the examples that run without a person. Their tools stand apart from the programs, so that the recorded cases
//! can be run on them.

pub mod censorship;
pub mod consensus;
mod conversation;
pub mod middleware;
