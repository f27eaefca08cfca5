use tool_runtime::tool;

/// Look something up.
#[tool(allow(undescribed))]
fn look(query: String) -> Found {
    query
}

fn main() {}
