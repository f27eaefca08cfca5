#![allow(deprecated)]

use tool_runtime::{Calls, tool};

/// Look.
#[tool]
fn look(query: String) -> String {
    query
}

#[derive(Calls)]
enum AppCall {
    Look(look),
    Other(String),
}

fn main() {}
