//! The cases are beside this file, by area; `ui.rs` runs them.
