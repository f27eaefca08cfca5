//! Code that the examples share with the programs of tests: the model, and the host names of a server. It is a package of its
//! own, so that `cargo run` builds the airline without the servers and databases of the package `examples`.

pub mod model;

use std::net::SocketAddr;

/// Returns the names by which clients reach a server at `address`: those of loopback, the address itself, and `names`.
pub fn hosts(address: SocketAddr, names: Vec<String>) -> Vec<String> {
    let own = ["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned(), address.ip().to_string()];
    own.into_iter().chain(names).collect()
}
