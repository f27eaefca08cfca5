//! Slow tests and tests with hostile input: killed processes, many clients, changed records and requests.
//!
//! Tests that measure the process run alone: see [`process_locks`].

#![allow(deprecated, reason = "the parameters of test tools need no descriptions")]
#![cfg(unix)]

mod fuzz;
mod kills;
mod linear;
mod load;
mod process_locks;
mod random_requests;

#[global_allocator]
static ALLOCATOR: tool_test_kit::memory::Counting = tool_test_kit::memory::Counting;
