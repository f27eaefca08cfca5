//! The workspace as a user sees it.

mod agent;
mod agreement;
mod bad_input;
mod declare;
mod idempotency;
mod layers;
mod schema;
mod shared;
mod toolset;
