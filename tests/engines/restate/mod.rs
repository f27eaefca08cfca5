//! Faults on Restate.

mod engine;
#[path = "../faults.rs"]
mod faults;
#[path = "../kills.rs"]
mod kills;
mod limits;
#[path = "../waiting_runs.rs"]
mod waiting_runs;
