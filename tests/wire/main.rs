//! What crosses the wire: the answers of tools, their schema, and cases that were recorded elsewhere.

mod agree;
#[path = "../fuzz/mutate.rs"]
#[allow(dead_code, reason = "shared with the fuzz tests")]
mod mutate;
mod runner;
