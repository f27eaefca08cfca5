//! The workspace as a user sees it.

mod declare;
mod schema;
mod shared;
