#![allow(deprecated)]

use tool_runtime::{tool, toolset};

/// Search the shop.
#[tool]
fn search(query: String) -> String {
    query
}

/// Look.
#[tool]
fn look(query: String) -> String {
    query
}

fn main() {
    let _ = toolset!(search, look, search, look);
}
