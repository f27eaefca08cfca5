//! Connections that are lost at any moment of a request: what was approved runs once, or can be approved again.

mod client;
mod drops;
mod slow;
mod waits;
mod world;
