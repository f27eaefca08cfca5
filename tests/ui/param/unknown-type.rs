#![allow(deprecated)]

use tool_runtime::tool;

/// Look something up.
#[tool]
fn look(query: Query) -> u8 {
    3
}

fn main() {}
