//! Many runs that wait for an approval at once, on Restate.

#[path = "../engine/mod.rs"]
mod engine;
#[path = "../../../tests/engines/waiting_runs.rs"]
mod waiting_runs;
