//! Connections that are lost at any moment of a request: what was approved runs once, or can be approved again.

mod client;
mod dropped_requests;
mod slow;
mod waiting_approvals;
mod world;
