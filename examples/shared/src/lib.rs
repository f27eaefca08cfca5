//! The model that the examples use, and the search of the example `middleware`. A separate crate keeps `cargo run` small, and lets
//! tests use the search.

pub mod middleware;
pub mod model;
