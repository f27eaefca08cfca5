//! Many clients at once, slow ones, and ones that vanish: against a server that listens on loopback, with two workers.
//!
//! Memory is counted by the allocator, tasks by the server's own runtime. The tests take turns, so that they do not count
//! each other's.

mod kit;
mod many;
mod model;
mod slow;
mod vanish;
