//! Many runs that wait for an approval at once, on Temporal.

#[path = "../engine/mod.rs"]
mod engine;
#[path = "../../../tests/engines/waiting.rs"]
mod waiting;
