//! The tests of runs that hold wherever a run is kept: over stores in this package, and over each engine in its crate, which
//! includes this file. `place` says where.

pub(crate) mod kit;
pub(crate) mod store_hooks;

mod cancelling;
mod decisions;
pub(crate) mod dynamic;
mod exact_numbers;
pub(crate) mod grants;
mod interruptions;
mod limits;
pub(crate) mod lost_clients;
mod questions;
mod repairs;
mod resources;
mod streaming;
pub(crate) mod subagents;
mod suspended;
pub(crate) mod together;
mod turns;
