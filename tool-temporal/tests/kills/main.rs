//! Kills of a process that drives runs, and of the Temporal server. `scripts/kills` does many.

mod engine;
#[path = "../../../tests/engines/kills.rs"]
mod kills;
