use tool_runtime::tool;

/// Look something up.
#[tool(name = "search"; title = "Search")]
fn look(query: String) -> String {
    query
}

fn main() {}
