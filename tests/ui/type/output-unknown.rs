#![allow(deprecated)]

use tool_runtime::tool;

/// Look something up.
#[tool]
fn look(query: String) -> Found {
    query
}

fn main() {}
