//! The model that the examples use. It is a package of its own, so that `cargo run` builds the airline without the servers and
//! databases of the package `examples`.

pub mod model;
