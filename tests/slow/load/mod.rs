//! Tests of many clients, slow clients and clients that vanish, with a server on loopback that has two workers.
//!
//! The allocator counts memory, and the server's own runtime counts tasks. The tests run one after the other,
//! because each measures the whole process.

mod connections;
mod kit;
mod many;
mod model;
mod slow;
mod vanish;
