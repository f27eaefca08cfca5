//! The tests that every store and every engine must pass. This package runs them over stores; the crate of each engine includes
//! this file. The module `backends` selects the store or engine.

pub(crate) mod kit;
pub(crate) mod store_hooks;

mod acting;
mod cancelling;
mod decisions;
pub(crate) mod dynamic;
mod exact_numbers;
pub(crate) mod grants;
mod interruptions;
mod lenient;
mod limits;
pub(crate) mod lost_clients;
mod questions;
mod repairs;
mod resources;
mod shared_runs;
mod streaming;
pub(crate) mod subagents;
mod suspended;
mod turns;
