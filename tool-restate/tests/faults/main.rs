//! Faults on Restate: a service or the server dies, a log has entries that nobody can read, a build is replaced. Many runs wait
//! at once. No two tests use the server at once. `scripts/kills` runs more kills, and `scripts/waiting` more runs.

mod engine;
#[path = "../../../tests/engines/faults.rs"]
mod faults;
#[path = "../../../tests/engines/kills.rs"]
mod kills;
#[path = "../../../tests/engines/waiting_runs.rs"]
mod waiting_runs;
