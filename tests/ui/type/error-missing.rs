#![allow(deprecated)]

use tool_runtime::tool;

/// Look something up.
#[tool]
fn look(query: String) -> Result<String> {
    Ok(query)
}

fn main() {}
