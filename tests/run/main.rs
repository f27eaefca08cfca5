//! Tests of stored runs: waiting, decisions, crashes, and hostile clients.
//!
//! `suite` has the tests that every store and every engine must pass. The modules here are about stores, or about the process that
//! drives.

// Tests of runs under a lease, which no engine gives.
mod applications;
mod followed_pieces;
mod followers;
mod leases;
mod sweeps;
mod workers;
// Tests in which the process that drives ends in the middle. The tests `kills` of each engine end real processes.
mod crashes;
mod cut_turns;
mod steps;
mod tool_usage;
// Tests in which a sweep, or a clock that the test moves, lets time pass. An engine has timers of its own.
mod expiry;
mod paused_clock;
mod random_scripts;
// Tests with a store that changes the records that it reads.
mod older_records;
// Tests of suspended runs that the client keeps.
mod sealed;
// Tests of the hooks, the keeper, the operator and the conditions in the process that drives.
mod direct_calls;
mod hooks;
mod inconsistent;
mod keepers;
mod next_effect;
// Tests of the content for models.
mod rejections;

mod backends;
#[path = "suite.rs"]
mod suite;

use suite::{kit, store_hooks};
