//! Code that several examples of this package share. `example-shared` has the code that the airline needs, too.

pub mod climate;
pub mod workspace;

use std::net::SocketAddr;

pub use example_shared::model::{model, model_or, named_model};

/// Returns the names that a server at `address` is reached by: those of loopback, the address itself, and `names`.
pub fn hosts(address: SocketAddr, names: Vec<String>) -> Vec<String> {
    let own = ["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned(), address.ip().to_string()];
    own.into_iter().chain(names).collect()
}
