use tool_runtime::tool;

/// Look something up.
#[tool]
#[tool(name = "search")]
fn look(query: String) -> String {
    query
}

fn main() {}
