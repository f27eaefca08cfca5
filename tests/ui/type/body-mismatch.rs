use tool_runtime::tool;

/// Look something up.
#[tool(allow(undescribed))]
fn look(query: String) -> u8 {
    query
}

fn main() {}
