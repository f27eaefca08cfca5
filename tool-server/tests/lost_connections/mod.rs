//! Tests of connections that are lost at any point of a request: an approved call runs once, or can be approved again.

mod client;
mod dropped_requests;
pub(crate) mod slow;
mod waiting_approvals;
mod world;
