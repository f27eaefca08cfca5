//! Many runs that wait for an approval at once, on Temporal.

#[path = "../engine/mod.rs"]
mod engine;
#[path = "../../../tests/engines/waiting_runs.rs"]
mod waiting_runs;
