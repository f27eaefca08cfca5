//! Faults on Restate: the server is away, a log has entries that nobody can read, a build is replaced.

#[path = "../engine/mod.rs"]
mod engine;
#[path = "../../../tests/engines/faults.rs"]
mod faults;
