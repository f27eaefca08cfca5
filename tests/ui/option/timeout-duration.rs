use tool_runtime::tool;

/// Look something up.
#[tool(timeout = Duration::from_secs(3))]
fn look(query: String) -> String {
    query
}

fn main() {}
