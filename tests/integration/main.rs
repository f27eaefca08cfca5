//! The workspace as a user sees it.

mod agent;
mod declare;
mod schema;
mod shared;
