//! Kills of a service, and of the server of Restate. `scripts/kills` does many.

mod engine;
#[path = "../../../tests/engines/kills.rs"]
mod kills;
