//! What is slow or hostile: killed processes, many clients at once, changed records and requests.
//!
//! What measures its process runs alone: see [`alone`].

#![allow(deprecated, reason = "the parameters of test tools need no descriptions")]
#![cfg(unix)]

mod alone;
mod fuzz;
mod kills;
mod linear;
mod load;
mod requests;

#[global_allocator]
static ALLOCATOR: tool_test_kit::memory::Counting = tool_test_kit::memory::Counting;
