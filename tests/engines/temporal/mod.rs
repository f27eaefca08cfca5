//! Faults on Temporal.

mod engine;
#[path = "../faults.rs"]
mod faults;
#[path = "../kills.rs"]
mod kills;
#[path = "../waiting_runs.rs"]
mod waiting_runs;
