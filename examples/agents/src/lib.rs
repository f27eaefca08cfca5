//! The model that the examples use, and the search of the example `middleware`. They are a crate of their own, so that `cargo run`
//! builds little, and tests can use the search.

pub mod middleware;
pub mod model;
