//! Tests of stored runs: waiting, decisions, crashes, and hostile clients.
//!
//! `suite` has the tests that hold wherever a run is kept, and every engine runs them, too. The modules here are about stores, or
//! about the process that drives.

// Runs under a lease, which no engine gives.
mod followers;
mod leases;
mod pieces;
mod sweeps;
mod workers;
// A process that ends in the middle of a run is one that drives. The tests `kills` of each engine end real ones.
mod crashes;
mod steps;
// A sweep, or a clock that the test moves, lets time pass. An engine has timers of its own.
mod expiry;
mod paused_clock;
mod random;
// A store that changes what it has read.
mod older_records;
// Hooks, a keeper, and a person, of the process that drives.
mod direct_calls;
mod hooks;
mod keepers;

mod place;
#[path = "suite.rs"]
mod suite;

use suite::{kit, store_hooks};
