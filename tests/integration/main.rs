//! The workspace as a user sees it.

mod agent;
mod agreement;
mod declare;
mod explain;
mod schema;
mod shared;
