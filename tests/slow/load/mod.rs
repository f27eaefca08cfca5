//! Many clients, slow clients and clients that vanish, with a server on loopback that has two workers.
//!
//! The allocator counts memory, and the server's own runtime counts tasks. The tests run one after the other, so that they do not
//! count each other's.

mod kit;
mod many;
mod model;
mod slow;
mod vanish;
mod waiting;
