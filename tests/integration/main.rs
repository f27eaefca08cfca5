//! The workspace as a user sees it.

mod agent;
mod agreement;
mod declare;
mod schema;
mod shared;
