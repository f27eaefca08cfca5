//! Slow and hostile cases: killed processes, many clients, changed records and requests.
//!
//! Tests that measure the process run alone: see [`alone`].

#![allow(deprecated, reason = "the parameters of test tools need no descriptions")]
#![cfg(unix)]

mod fuzz;
mod kills;
mod linear;
mod load;
mod process_locks;
mod requests;

#[global_allocator]
static ALLOCATOR: tool_test_kit::memory::Counting = tool_test_kit::memory::Counting;
