#![allow(deprecated)]

use tool_runtime::tool;

/// Pay somebody.
#[tool]
struct Pay {
    amount: u32,
}

fn main() {}
