//! The workspace as a user sees it.

mod declare;
