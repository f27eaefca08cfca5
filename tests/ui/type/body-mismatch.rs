#![allow(deprecated)]

use tool_runtime::tool;

/// Look something up.
#[tool]
fn look(query: String) -> u8 {
    query
}

fn main() {}
