//! The workspace as a user sees it.

mod agent;
mod agreement;
mod declare;
mod idempotency;
mod layers;
mod schema;
mod shared;
mod toolset;
